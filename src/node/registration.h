/*
 * This node's own record under ROOT/workers: made, replaced when it changes, and found again after
 * a restart.
 */
#ifndef ZKLEADER_NODE_REGISTRATION_H
#define ZKLEADER_NODE_REGISTRATION_H

#include "node/registry.h"

void registration_init(struct registry *r);
void registration_done(struct registry *r);
/* Registers, or replaces the record by what this node is now; later, if it cannot be done yet. */
void registration_send(struct registry *r);
/* Our record is gone, as far as we know: if it is there after all, it is read like another's. */
void registration_forget_self(struct registry *r);
/* Left over by a sidecar that was killed between two steps: nobody acts for that worker. */
bool registration_is_left_over(const struct registry *r, const char *id,
			       const struct store_reply *reply);
void registration_remove(struct registry *r, const char *id);

/*
 * registry.c's: a member comes, taken over; registered_at by the server's clock, of our own by
 * ours; or goes.
 */
void registry_add(struct registry *r, struct worker *w, int64_t session, int64_t registered_at);
void registry_forget(struct registry *r, const char *id);

#endif
