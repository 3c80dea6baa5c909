/*
 * Ticks that their leader lets pass: as a rule its cron is off, or its line is another. Each node
 * whose `zkleader run` waited in vain has it in its log, and the best of them tell their callers.
 */
#ifndef ZKLEADER_NODE_UNCLAIMED_H
#define ZKLEADER_NODE_UNCLAIMED_H

#include <stdint.h>

#include "core/tick.h"

#define UNCLAIMED_TEXT_MAX 600

struct task;

/* Of a task: ticks in a row that were waited for here. */
struct unclaimed {
	uint64_t row;
	char tick[TICK_NAME_SIZE]; /* the last of them */
	int64_t told_ms;	   /* when the log had one */
};

/* It was waited for so long. notice: a line for the caller, "" where other nodes tell theirs. */
void unclaimed_tell(struct task *t, const char *tick, int64_t waited_ms,
		    char notice[UNCLAIMED_TEXT_MAX]);
/* One was claimed: the row has ended. */
void unclaimed_end(struct task *t);
/* The task is about to be freed. */
void unclaimed_forget(struct task *t);

#endif
