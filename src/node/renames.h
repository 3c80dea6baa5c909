/*
 * Tasks that were renamed: one whose file has renamed-from = "OLD" goes on where OLD ended. Nobody
 * leads it while a worker lists OLD, nor before what the ledger has of OLD is under the new name.
 * The best candidate moves it, some records at a time. Each transaction proves that nobody leads
 * OLD, so no run of OLD writes a record that has gone.
 */
#ifndef ZKLEADER_NODE_RENAMES_H
#define ZKLEADER_NODE_RENAMES_H

#include <stdbool.h>
#include <stddef.h>

#include "node/host.h"

struct leaders;
struct task;

/* Of a task. */
struct task_rename {
	bool listed;	   /* a worker lists the former name */
	bool moved;	   /* nothing is left under it, as far as this session has seen */
	const char *wants; /* what the move waits for, a constant text; NULL: nothing */
};

struct renames {
	struct leaders *leaders;
	struct host_timer due;
	bool busy; /* one task at a time */
};

void renames_init(struct renames *r, struct leaders *leaders);
void renames_done(struct renames *r);
/* The fleet, the tasks or the session have changed: before the elections hear of it. */
void renames_look(struct renames *r);
/* The session has ended: another may have used the former name meanwhile. */
void renames_forget(struct renames *r);
/* Whether nobody may lead the task yet. */
bool renames_bar(const struct task *t);
/* Why that is so, and what ends it, as a sentence in a text of that size. */
void renames_say(const struct task *t, char *text, size_t size);

#endif
