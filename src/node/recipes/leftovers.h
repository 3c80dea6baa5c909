/*
 * Commands of the previous sidecar whose guards have not reattached yet: under locks, in gangs, and
 * jobs of queues. A sidecar that is told to stop has to wait for them, so it looks in ZooKeeper
 * then whether there are any; what has reattached is counted by its own part.
 */
#ifndef ZKLEADER_NODE_RECIPES_LEFTOVERS_H
#define ZKLEADER_NODE_RECIPES_LEFTOVERS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "node/queue/queues.h"
#include "node/recipes/lock/lock.h"
#include "node/recipes/party/gang.h"

#define LEFTOVERS_AGAIN_MS 200 /* between two looks */

struct leftovers {
	struct locks *locks;
	struct parties *gangs;
	struct queues *queues;
	struct holder_former former;
	bool blind;		     /* runs that nobody knows of may be alive as well */
	bool wanted;		     /* this sidecar is being stopped */
	bool none;		     /* there are no leftovers */
	struct leftovers_look *look; /* in progress; NULL */
	struct host_timer due;
};

void leftovers_init(struct leftovers *l, struct locks *locks, struct parties *gangs,
		    struct queues *queues);
void leftovers_done(struct leftovers *l);
/* We try the previous sidecar's session; it promised leases of up to timeout_ms. */
void leftovers_take_over(struct leftovers *l, int64_t timeout_ms, bool runs_known);
/* From the session's handlers. */
void leftovers_up(struct leftovers *l);
void leftovers_expired(struct leftovers *l);
/* This sidecar is being stopped: looks whether there are any, and again until there are none. */
void leftovers_want(struct leftovers *l);
/* 1 while there may be leftovers, else 0. */
size_t leftovers_going(const struct leftovers *l);

#endif
