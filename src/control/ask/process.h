/* The process around a node: the data and functions of it that the methods use. */
#ifndef ZKLEADER_CONTROL_ASK_PROCESS_H
#define ZKLEADER_CONTROL_ASK_PROCESS_H

#include <stdbool.h>

#include "base/buffer.h"
#include "config/config.h"
#include "config/tasks/taskfile.h"
#include "node/node.h"

/* The result of a reload, as lines for people. */
struct changes {
	struct buffer text; /* lines, each terminated by a newline */
	bool refused;	    /* a file was refused */
};

/* Users who may use the recipes, besides those who may make changes. */
struct recipe_users {
	uid_t uids[TASK_USERS_MAX]; /* as far as known on this host */
	size_t n;
	bool asked; /* more users are being looked up */
};

/* Called with the changes of a requested reload; NULL: the process is ending. */
typedef void (*process_reload_fn)(void *arg, const struct changes *changes);

struct process {
	struct node *node;
	const struct problems *problems; /* problems of all files, as last read */
	const struct config *start;	 /* the configuration at the start */
	const struct config *config;	 /* the configuration in force */
	const struct task_files *tasks;	 /* likewise */
	const struct recipe_users *recipe_users;
	int64_t started_at; /* ms since the epoch */
	/* Adds problems of the process itself, such as a certificate that expires soon. */
	void (*find_problems)(void *arg, struct problems *problems);
	/*
	 * The longest turn of the loop (its work between two waits) since the start, in
	 * microseconds, and the most processor time of a turn.
	 */
	void (*longest_turn)(void *arg, int64_t *ret_us, int64_t *ret_cpu_us);
	/*
	 * Reads all files again, then calls fn. Where a file is refused, the last good state
	 * remains in force.
	 */
	void (*reload)(void *arg, process_reload_fn fn, void *fn_arg);
	/*
	 * Runs blocking work: calls work(work_arg) in another thread, then done(work_arg) on this
	 * one. 0, or a negative errno and neither is called.
	 */
	int (*offload)(void *arg, void (*work)(void *work_arg), void (*done)(void *work_arg),
		       void *work_arg);
	/* The reasons why tasks cannot be run here have changed: see runners_troubles(). */
	void (*health_changed)(void *arg);
	void *arg;
};

#endif
