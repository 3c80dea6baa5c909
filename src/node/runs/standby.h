/*
 * Standing by for a run that was lost: as long as this node does, the fleet prefers it as the
 * leader of the task, so that the run is begun again. It is a decision like those of operators,
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

/* One more, or one less, of the runs here that want to take over the run of this tick. */
void standby_set(struct task *t, bool on, const char *tick);
/* After a change of what is decided: what was left over of ours is taken back. */
void standby_check(struct leaders *l);
/* Reports that failed are sent again. */
void standby_retry(struct task *t);
/* CLOCK_BOOTTIME: what could not be told is not told again before; 0: at once. */
int64_t standby_again_ms(const struct task *t);
/* The task is about to be freed. */
void standby_forget(struct task *t);

#endif
