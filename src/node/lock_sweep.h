/*
 * Nothing of a lock is left behind: every now and then the first node of the fleet deletes the
 * folders that are empty, and each node what is its session's and nobody's any more, as that of the
 * sidecar before it.
 */
#ifndef ZKLEADER_NODE_LOCK_SWEEP_H
#define ZKLEADER_NODE_LOCK_SWEEP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "node/host.h"

#define LOCK_SWEEP_MS 20000 /* between sweeps */

struct locks;
struct roster;

struct lock_sweep {
	struct locks *locks;
	struct roster *roster;
	int64_t recover_ms; /* CLOCK_BOOTTIME: those of the sidecar before us are dead; 0: none */
	bool early;	    /* it counts from our beginning, as the session is not confirmed yet */
	bool recovered;	    /* nothing of it is left */
	struct lock_sweep_round *round; /* that goes on, NULL */
	struct host_timer due;
};

void lock_sweep_init(struct lock_sweep *s, struct locks *locks, struct roster *roster);
void lock_sweep_done(struct lock_sweep *s);
/* The session of the sidecar before us is tried, which may have told of leases up to so long. */
void lock_sweep_take_over(struct lock_sweep *s, int64_t timeout_ms);
void lock_sweep_up(struct lock_sweep *s);
void lock_sweep_expired(struct lock_sweep *s);

#endif
