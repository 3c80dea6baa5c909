/*
 * Runs whose node is gone, and that no node takes over: the next leader of the task finds them in
 * its ledger and records them as lost, if a notifier wants the event.
 */
#ifndef ZKLEADER_NODE_RUNS_LOSSES_H
#define ZKLEADER_NODE_RUNS_LOSSES_H

#include <stddef.h>
#include <stdint.h>

#include "node/host.h"

#define LOSSES_LOOKS_MAX 20   /* tasks being checked */
#define LOSSES_NEWEST	 10   /* records that are read of one */
#define LOSSES_RETRY_MS	 1000 /* while the fleet is not known, or a look came to nothing */

struct leaders;
struct losses_look;
struct task;

struct losses {
	struct leaders *leaders;
	struct losses_look *looks; /* outstanding */
	size_t n_looks;
	struct host_timer due;
};

void losses_init(struct losses *x, struct leaders *leaders);
/* Called after session_done(). */
void losses_done(struct losses *x);
/* A leadership has begun, or the wanted events have changed: checked in the next turn. */
void losses_changed(struct losses *x);
/* The same for this task alone: does nothing if its leadership has looked already. */
void losses_task_changed(struct losses *x, const struct task *t);
/* The task is about to be freed. */
void losses_forget(struct task *t);

#endif
