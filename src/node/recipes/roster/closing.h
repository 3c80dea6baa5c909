/*
 * Closes to the world what earlier releases left open although there is an identity: records of
 * ticks, keys of jobs and notices, which hold what commands wrote. The first in rank does it once
 * for the fleet, and then makes ROOT/closed.
 */
#ifndef ZKLEADER_NODE_RECIPES_ROSTER_CLOSING_H
#define ZKLEADER_NODE_RECIPES_ROSTER_CLOSING_H

#include <stdbool.h>
#include <stddef.h>

#include "node/recipes/roster/roster.h"

struct closing {
	struct session *session;
	const struct roster *roster;
	bool done;	/* ROOT/closed was seen */
	bool going;	/* until the last of its requests is answered */
	bool broken;	/* a request was not answered: begun again later */
	char **folders; /* owned, as is each; still to be listed */
	size_t n_folders;
	char **nodes; /* owned, as is each; found by the last list, still to be closed */
	size_t n_nodes, pending;
	size_t refused;
	struct host_timer timer;
};

void closing_init(struct closing *c, struct session *session, const struct roster *roster);
/* Called after the session has ended. */
void closing_done(struct closing *c);
/* The session is up. */
void closing_up(struct closing *c);

#endif
