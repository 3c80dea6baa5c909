/*
 * Tasks whose last run that ended well is too long ago, key alert-after. ROOT/seen/TASK says since
 * when there was none. That is the end of the last such run, written by the transaction that
 * records the end, or the first sight of the task, written by its leader. So nothing is forgotten
 * while the leader or the whole fleet is away, nor when the ledger is pruned.
 *
 * A leader reads that node once. When the time is over, it reads the node and the ledger before it
 * says so: a node of an older release may have written the ledger alone.
 */
#ifndef ZKLEADER_NODE_LEDGER_OVERDUE_H
#define ZKLEADER_NODE_LEDGER_OVERDUE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "node/host.h"
#include "node/store.h"
#include "wire/records/seen_record.h"

#define OVERDUE_LOOKS_MAX 50	/* tasks that are being read at a time */
#define OVERDUE_RETRY_MS  5000	/* after a look without a result */
#define OVERDUE_LATEST_MS 60000 /* and then the clocks are compared again: a host's may be set */

struct leaders;
struct task;

/* The overdue state of a task. */
struct task_overdue {
	struct seen_record seen;
	bool known;	     /* seen is what was read or written last */
	int64_t token;	     /* of the leadership that looked last, 0 */
	int64_t retry_ms;    /* CLOCK_BOOTTIME: no look before */
	int64_t verified_ms; /* the time that was over as it looked, the ledger included */
	int64_t told_ms;     /* the time of which the log was told that it is over */
};

struct overdues {
	struct leaders *leaders;
	size_t looks; /* outstanding */
	struct host_timer due;
};

void overdues_init(struct overdues *o, struct leaders *leaders);
/* Called after session_done(). */
void overdues_done(struct overdues *o);
/* Leadership, session or settings have changed: checked in the next turn. */
void overdues_changed(struct overdues *o);

/* The node of a task that is not led here was read: the answer to a get. */
void overdue_read(struct task *t, const struct store_reply *reply);
/* The task is about to be freed. */
void overdue_forget(struct task *t);
/* Whether the alert-after of the task is over, as far as this node knows; false without one. */
bool overdue_is(const struct task *t);
/* When the last run that ended well ended, as far as known; ms since the epoch, 0: not known. */
int64_t overdue_last_ok(const struct task *t);

#endif
