/*
 * Ticks that their leader lets pass: as a rule its cron is off, or its line is another. There is no
 * record of them: each node that waited in vain has them in its log and in memory. The best of
 * those beside the leader tells people, and the best two tell the callers of `zkleader run`.
 */
#ifndef ZKLEADER_NODE_LEDGER_UNCLAIMED_H
#define ZKLEADER_NODE_LEDGER_UNCLAIMED_H

#include <stddef.h>
#include <stdint.h>

#include "core/time/tick.h"

#define UNCLAIMED_TEXT_MAX 600
#define UNCLAIMED_KEPT	   500 /* ticks of a task; the oldest are forgotten */

/* As in the record of a tick that was missed, but for a record; the text names the leader. */
#define UNCLAIMED_WHY "unclaimed"
#define UNCLAIMED_DETAIL \
	"%.100s led it and did not claim the tick: is cron running there, with the same line?"

struct task;

/* Of a task: ticks that were waited for here. */
struct unclaimed {
	uint64_t row;		   /* how many of them in a row */
	char tick[TICK_NAME_SIZE]; /* the last of them */
	int64_t told_ms;	   /* when the log had one */
	/* The last ones; in a ring of `room`. */
	struct unclaimed_tick {
		char name[TICK_NAME_SIZE];
		char *leader; /* owned: who led then */
	} * kept;
	size_t n, room; /* n: ever since the start */
};

/* It was waited for so long. notice: a line for the caller, "" where other nodes tell theirs. */
void unclaimed_tell(struct task *t, const char *tick, int64_t waited_ms,
		    char notice[UNCLAIMED_TEXT_MAX]);
/* One was claimed: the row has ended. */
void unclaimed_end(struct task *t);
/* Who led as that tick was waited for here in vain; NULL: it was not. */
const char *unclaimed_find(const struct task *t, const char *tick);
/* The task is about to be freed. */
void unclaimed_forget(struct task *t);

#endif
