/*
 * Removes leftovers of locks: every LOCK_SWEEP_MS the first node of the fleet deletes empty
 * folders, and each node deletes nodes of its session without an owner, such as the previous
 * sidecar's.
 */
#ifndef ZKLEADER_NODE_RECIPES_LOCK_LOCK_SWEEP_H
#define ZKLEADER_NODE_RECIPES_LOCK_LOCK_SWEEP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "node/holder/holder.h"

#define LOCK_SWEEP_MS 20000 /* between sweeps */

struct locks;
struct roster;

struct lock_sweep {
	struct locks *locks;
	struct roster *roster;
	struct holder_former former;
	bool recovered;			/* the previous sidecar's locks are all gone */
	struct lock_sweep_round *round; /* in progress; NULL */
	struct host_timer due;
};

void lock_sweep_init(struct lock_sweep *s, struct locks *locks, struct roster *roster);
void lock_sweep_done(struct lock_sweep *s);
/* We try the previous sidecar's session; it promised leases of up to timeout_ms. */
void lock_sweep_take_over(struct lock_sweep *s, int64_t timeout_ms);
void lock_sweep_up(struct lock_sweep *s);
void lock_sweep_expired(struct lock_sweep *s);

#endif
