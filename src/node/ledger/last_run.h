/*
 * The newest run of each task in the ledger, for tables: read on request, cached for some seconds.
 * The number of reads is limited, at a time and in the long run.
 */
#ifndef ZKLEADER_NODE_LEDGER_LAST_RUN_H
#define ZKLEADER_NODE_LEDGER_LAST_RUN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/queue.h>

#include "core/time/tick.h"
#include "wire/records/record.h"

#define LAST_RUN_AGE_MS	     5000 /* for which what was read is good */
#define LAST_RUN_OUTSTANDING 100  /* tasks that are being read at a time */
#define LAST_RUN_BURST	     500  /* tasks read at once at the most, by two requests each */
#define LAST_RUN_COST_MS     20	  /* after which one more may be */

struct last_read;
struct leaders;
struct task;

/* The newest run of a task; only last_run.c writes it. */
struct last_run {
	char tick[TICK_NAME_SIZE]; /* "": no run is known */
	char state[RECORD_STATE_MAX + 1];
	int64_t session;  /* in which it ran */
	int64_t ended_at; /* ms since the epoch, 0: not yet */
	int64_t asked_ms; /* CLOCK_BOOTTIME: when ZooKeeper was asked last, 0: never */
	unsigned noted;	  /* runs of this node, so that a read does not undo what is newer */
};

struct last_runs {
	struct leaders *leaders;
	void (*idle)(void *arg);
	void *arg;
	STAILQ_HEAD(last_read_queue, last_read) queue; /* the oldest first */
	size_t outstanding;
	int64_t spent_ms; /* CLOCK_BOOTTIME: by then what has been read so far is paid off */
};

void last_runs_init(struct last_runs *l, struct leaders *leaders);
/* Called after session_done(). */
void last_runs_done(struct last_runs *l);
/* idle is called when nothing is being read any more. */
void last_runs_on_idle(struct last_runs *l, void (*idle)(void *arg), void *arg);

/*
 * Begins to read the tasks that were not read lately, the longest ago first. Those beyond the limit
 * are left to the next call. Does nothing while the session is not up.
 */
void last_runs_ask(struct last_runs *l, struct task *const *tasks, size_t n);
bool last_runs_busy(const struct last_runs *l);
/*
 * The connection or the session was lost: outstanding reads may have no answer, so the next request
 * reads again.
 */
void last_runs_cut(struct last_runs *l);

/* A record that this node has written. */
void last_run_note(struct task *t, const char *tick, const struct run_record *record);
/* "running", "ok", …, from its record, or "lost" if the session that ran it is gone. */
const char *last_run_state(const struct task *t);
/* The newest run as far as it is known; all zero: nothing is. */
const struct last_run *last_run_of(const struct task *t);
/* The task is about to be freed. */
void last_run_forget(struct task *t);

#endif
