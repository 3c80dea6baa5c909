/*
 * Ticks that their leader lets pass, usually because its cron is off or has another line. They have
 * no record: each node that waited in vain has them in its log and in memory. The best node beside
 * the leader tells people, and the best two tell the callers of `zkleader run`.
 */
#ifndef ZKLEADER_NODE_LEDGER_UNCLAIMED_H
#define ZKLEADER_NODE_LEDGER_UNCLAIMED_H

#include <stddef.h>
#include <stdint.h>

#include "core/time/tick.h"

#define UNCLAIMED_TEXT_MAX 600
#define UNCLAIMED_KEPT	   500 /* ticks of a task; the oldest are forgotten */

/* The reason, worded as in the record of a missed tick; the text names the leader. */
#define UNCLAIMED_WHY "unclaimed"
#define UNCLAIMED_DETAIL \
	"%.100s led it and did not claim the tick: is cron running there, with the same line?"

struct task;

/* The ticks of a task that were waited for here in vain. */
struct unclaimed {
	uint64_t row;		   /* how many of them in a row */
	char tick[TICK_NAME_SIZE]; /* the last of them */
	int64_t told_ms;	   /* when the log had one */
	uint64_t told_row;	   /* how many they were then */
	/* The last ticks, in a ring of `room`. */
	struct unclaimed_tick {
		char name[TICK_NAME_SIZE];
		char *leader; /* owned: who led then */
	} * kept;
	size_t n, room; /* n: ever since the start */
};

/*
 * A tick was waited for in vain. notice: a line for the caller; "": other nodes tell their callers.
 */
void unclaimed_tell(struct task *t, const char *tick, int64_t waited_ms,
		    char notice[UNCLAIMED_TEXT_MAX]);
/* A tick was claimed: the row has ended. */
void unclaimed_end(struct task *t);
/* The leader while that tick was waited for here in vain; NULL: it was not. */
const char *unclaimed_find(const struct task *t, const char *tick);
/* The task is about to be freed. */
void unclaimed_forget(struct task *t);

#endif
