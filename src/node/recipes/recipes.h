/*
 * The recipes: what fleets need beside elections. Each is a state machine of its own file, which
 * sees the session, the registry and nothing else of the node; here they are put together.
 */
#ifndef ZKLEADER_NODE_RECIPES_RECIPES_H
#define ZKLEADER_NODE_RECIPES_RECIPES_H

#include "node/fleet/own_index.h"
#include "node/recipes/counter/counter.h"
#include "node/recipes/lock/lock.h"
#include "node/recipes/party/barrier.h"
#include "node/recipes/party/gang.h"
#include "node/recipes/rolling/rolling.h"
#include "node/recipes/roster/roster.h"

struct recipes {
	struct parties barriers;
	struct counters counters;
	struct roster roster;
	struct own_index index;
	struct rolling rolling;
	struct locks locks;
	struct parties gangs;
};

void recipes_init(struct recipes *r, struct session *session, struct registry *registry,
		  const struct rolling_handlers *rolling_handlers);
void recipes_done(struct recipes *r);
/* We try the previous sidecar's session; it promised leases of up to timeout_ms. */
void recipes_take_over(struct recipes *r, int64_t timeout_ms);

/* From the session's and the registry's handlers. */
void recipes_up(struct recipes *r);
void recipes_leased(struct recipes *r);
void recipes_expired(struct recipes *r);
void recipes_watch(struct recipes *r, enum store_watch type, const char *path);
void recipes_fleet_changed(struct recipes *r);

/* Commands that may be alive, of locks and gangs. */
size_t recipes_going(const struct recipes *r);
/* Nothing is begun any more: waiters for a lock or a gang are answered. */
void recipes_stop(struct recipes *r);
/* From now on commands may not go on. */
void recipes_revoke(struct recipes *r);
/* The session goes on in the next sidecar, and with it what is held. */
void recipes_keep(struct recipes *r);

#endif
