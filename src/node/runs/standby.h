/*
 * Standing by for a lost run: as long as this node stands by, the fleet prefers it as the leader of
 * the task, so that the run is begun again. Standing by is a decision like those of operators,
 * under ROOT/policy, that ends by itself.
 */
#ifndef ZKLEADER_NODE_RUNS_STANDBY_H
#define ZKLEADER_NODE_RUNS_STANDBY_H

#include <stdbool.h>
#include <stdint.h>

#include "core/time/tick.h"

struct leaders;
struct task;

/* Whether runs here want to take a lost one over, and whether the fleet has been told. */
struct standby {
	unsigned runs;
	bool busy;
	int64_t again_ms;
	char tick[TICK_NAME_SIZE];
};

/* Adds or removes a run here that wants to take over the run of this tick. */
void standby_set(struct task *t, bool on, const char *tick);
/* Called after decisions have changed: takes back decisions of ours that are left over. */
void standby_check(struct leaders *l);
/* Sends reports again that failed. */
void standby_retry(struct task *t);
/* CLOCK_BOOTTIME: a report that failed is not repeated before; 0: at once. */
int64_t standby_again_ms(const struct task *t);
/* The task is about to be freed. */
void standby_forget(struct task *t);

#endif
