/*
 * Tasks that were renamed: one whose file has renamed-from = "OLD" goes on where OLD ended. Nobody
 * leads it while a worker lists OLD, nor before what the ledger has of OLD is under the new name.
 * The best candidate moves it, some records at a time. Each transaction proves that nobody leads
 * OLD, so no run of OLD writes a record that has gone.
 *
 * A server that comes back with OLD goes on where the new name ended: workers publish what was
 * renamed, so it moves the other way what the ledger has, before it leads. Each claim of one of the
 * two names proves that nobody leads the other, and that the ledger has nothing of that.
 */
#ifndef ZKLEADER_NODE_ELECTION_RENAMES_H
#define ZKLEADER_NODE_ELECTION_RENAMES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/text/name.h"
#include "node/host.h"
#include "node/store.h"

struct leaders;
struct task;

#define RENAMES_OPS 4 /* of a claim, that prove what has to hold of the other name */

/* The renaming state of a task. */
struct task_rename {
	const char
		*later; /* the name that workers have it under now, one of leaders.ids; NULL, "" */
	bool learned;	/* some worker says so */
	bool listed;	/* a worker lists the former name */
	bool moved;	/* nothing is left under it, as far as this session has seen */
	const char *wants; /* the reason why the move waits, a constant text; NULL: none */
	int64_t again_ms;  /* CLOCK_BOOTTIME: not to be looked at before */
};

struct renames {
	struct leaders *leaders;
	struct host_timer due;
	int64_t pause_ms; /* CLOCK_BOOTTIME: no look before */
	bool busy;	  /* one task at a time */
	bool learns;	  /* some task has a later name */
	/* Renamings of our earlier files: pairs, as in a worker; owned, as is each. */
	char **past;
	size_t n_past;
};

void renames_init(struct renames *r, struct leaders *leaders);
void renames_done(struct renames *r);
/* The fleet, the tasks or the session have changed; called before the elections hear of it. */
void renames_look(struct renames *r);
/*
 * The files have been replaced; renamed: what the previous ones had renamed, each name followed by
 * its former one.
 */
void renames_remember(struct renames *r, const char *const *renamed, size_t n);
/* The session has ended: another may have used the former name meanwhile. */
void renames_forget(struct renames *r);
/* Whether nobody may lead the task yet. */
bool renames_bar(const struct task *t);
/* Whether the task has another name, by which it is not to be led at the same time. */
bool renames_has(const struct task *t);
/* Adds the checks that the task's claim has to pass; each path serves two of the operations. */
void renames_prove(const struct task *t, char paths[2][STORE_PATH_MAX],
		   struct store_op ops[RENAMES_OPS]);
/* A check of the claim has failed, as the answer says. */
void renames_refused(struct task *t, const struct store_reply *reply);
/* The task is about to be freed. */
void renames_task_gone(struct task *t);
/* Says why nobody may lead the task yet, and what ends that, as a sentence. */
void renames_say(const struct task *t, char *text, size_t size);

#endif
