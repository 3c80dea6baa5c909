/* The process around a node, as the methods see it: what only it knows, and what only it can do. */
#ifndef ZKLEADER_CONTROL_PROCESS_H
#define ZKLEADER_CONTROL_PROCESS_H

#include <stdbool.h>

#include "base/buffer.h"
#include "config/config.h"
#include "config/taskfile.h"
#include "node/node.h"

/* What a reload did, as lines for people. */
struct changes {
	struct buffer text; /* one line each, terminated by a newline */
	bool refused;	    /* a file was */
};

/* Who may use the recipes, besides those who may change something. */
struct recipe_users {
	uid_t uids[TASK_USERS_MAX]; /* as far as this host knows them */
	size_t n;
	bool asked; /* and others are being looked up */
};

/* What a reload that somebody asked for has changed; NULL: the process is being ended. */
typedef void (*process_reload_fn)(void *arg, const struct changes *changes);

struct process {
	struct node *node;
	const struct problems *problems; /* of all files, as last read */
	const struct config *start;	 /* the configuration that it started with */
	const struct config *config;	 /* that in force */
	const struct task_files *tasks;	 /* likewise */
	const struct recipe_users *recipe_users;
	int64_t started_at; /* ms since the epoch */
	/*
	 * Microseconds that the loop worked at most between two waits, since the start, and the
	 * most of a processor's time meanwhile.
	 */
	void (*longest_turn)(void *arg, int64_t *ret_us, int64_t *ret_cpu_us);
	/*
	 * Reads all files again, and calls fn once that is done; what is refused leaves the last
	 * good state in force.
	 */
	void (*reload)(void *arg, process_reload_fn fn, void *fn_arg);
	/*
	 * For what may block: work(work_arg) in another thread, then done(work_arg) on this one. 0,
	 * or a negative errno and neither is called.
	 */
	int (*offload)(void *arg, void (*work)(void *work_arg), void (*done)(void *work_arg),
		       void *work_arg);
	/* Why a task cannot be run here is another now: see runners_troubles(). */
	void (*health_changed)(void *arg);
	void *arg;
};

#endif
