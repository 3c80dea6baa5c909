/* Counters of each task since this node started, for metrics. */
#ifndef ZKLEADER_NODE_LEDGER_COUNTS_H
#define ZKLEADER_NODE_LEDGER_COUNTS_H

#include <stdint.h>

#include "base/histogram.h"

struct task;

/* How a run can end, as its record says. */
enum counts_end {
	COUNTS_OK,
	COUNTS_FAILED,
	COUNTS_LOST,
	COUNTS_CLAIMED,
	COUNTS_TIMEOUT,
	COUNTS_ENDS
};

/* The counters of a task: only counts.c writes them. */
struct task_counts {
	uint64_t ends[COUNTS_ENDS];
	uint64_t missed;	 /* ticks */
	int64_t ok_ms;		 /* wall clock: when a run ended well here the last time; 0 */
	struct histogram run_ms; /* of ended runs, except those only claimed */
};

extern const struct histogram_bounds counts_run_bounds; /* ms */

const char *counts_end_name(enum counts_end end);
const struct task_counts *counts_of(const struct task *t);
/* The task is about to be freed. */
void counts_forget(struct task *t);
/* A run ended here with this state of its record; both times in ms since the epoch. */
void counts_run(struct task *t, const char *state, int64_t began_ms, int64_t ended_ms);
void counts_missed(struct task *t, uint64_t n);
/*
 * When a run of the task last ended well, as far as this node knows: ms since the epoch, 0: not
 * known.
 */
int64_t counts_last_ok(const struct task *t);

#endif
