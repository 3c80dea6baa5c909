/*
 * This node's own record under ROOT/workers: made, replaced when it changes, and found again after
 * a restart.
 */
#ifndef ZKLEADER_NODE_FLEET_REGISTRATION_H
#define ZKLEADER_NODE_FLEET_REGISTRATION_H

#include "node/fleet/registry.h"

void registration_init(struct registry *r);
void registration_done(struct registry *r);
/* Registers, or replaces the record by the current one; later, if it is not possible yet. */
void registration_send(struct registry *r);
/*
 * Forgets our record, which seems to be gone. If it is there after all, it is read like any other.
 */
void registration_forget_self(struct registry *r);
/*
 * Whether the record was left over by a sidecar that was killed between two steps: nobody acts for
 * it.
 */
bool registration_is_left_over(const struct registry *r, const char *id,
			       const struct store_reply *reply);
void registration_remove(struct registry *r, const char *id);

/*
 * Defined in registry.c: a member joins or leaves. Takes w over. registered_at: by the server's
 * clock, for our own record by ours.
 */
void registry_add(struct registry *r, struct worker *w, int64_t session, int64_t registered_at);
void registry_forget(struct registry *r, const char *id);

#endif
