/*
 * Runs whose end nobody else tells people, if a notifier wants to know. A run whose node is gone is
 * recorded as lost by the next leader of the task, which finds it in its ledger. And where people
 * were told that another attempt follows, the leader tells them once none will: a newer tick or the
 * end of a pause has ended the retries, or no node has begun a lost run again.
 */
#ifndef ZKLEADER_NODE_RUNS_LOSSES_H
#define ZKLEADER_NODE_RUNS_LOSSES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/queue.h>

#include "node/host.h"

#define LOSSES_LOOKS_MAX 20   /* tasks being checked */
#define LOSSES_NEWEST	 10   /* records that are read of one */
#define LOSSES_RETRY_MS	 1000 /* while the fleet is not known, or a look came to nothing */
#define LOSSES_AGAIN_MS	 2000 /* between looks at what may yet be run again */
#define LOSSES_MARGIN_MS 5000 /* beyond the time for which nodes stand by for a lost run */
/* For how long the end of a run waits at most until people have been told of older ones. */
#define LOSSES_PATIENCE_MS 5000

struct leaders;
struct losses_look;
struct run_record;
struct runs;
struct task;

struct losses {
	struct leaders *leaders;
	struct runs *runs; /* their ends wait for looks; NULL: nobody's do */
	LIST_HEAD(losses_look_list, losses_look) looks; /* outstanding */
	size_t n_looks;
	struct host_timer due;
};

void losses_init(struct losses *x, struct leaders *leaders, struct runs *runs);
/* Called after session_done(). */
void losses_done(struct losses *x);
/* A leadership has begun, or the wanted events have changed: checked in the next turn. */
void losses_changed(struct losses *x);
/* The same for this task alone: does nothing if its leadership has looked already. */
void losses_task_changed(struct losses *x, const struct task *t);
/* This node has written the record of a run of the task. */
void losses_noted(struct losses *x, struct task *t, const char *tick,
		  const struct run_record *record);
/*
 * Whether another attempt may follow a run that ended as the record says, or was lost. tick: "" if
 * it has none.
 */
bool losses_follows(const struct task *t, const char *tick, const struct run_record *record);
/*
 * Whether people may be about to be told that an older run of the task is over, as a newer tick has
 * been claimed, or its leadership has not looked yet: the end of a run is noted behind that, so
 * that a good one is the last word.
 */
bool losses_pending(const struct task *t);
/* The task is about to be freed. */
void losses_forget(struct task *t);

#endif
