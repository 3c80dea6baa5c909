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

struct process {
	struct node *node;
	const struct problems *problems; /* of all files, as last read */
	const struct config *start;	 /* the configuration that it started with */
	const struct config *config;	 /* that in force */
	const struct task_files *tasks;	 /* likewise */
	int64_t started_at;		 /* ms since the epoch */
	/* Microseconds that the loop worked at most between two waits, since the start. */
	int64_t (*longest_turn_us)(void *arg);
	/* Reads all files again; what is refused leaves the last good state in force. */
	void (*reload)(void *arg, struct changes *ret_changes);
	/*
	 * For what may block: work(work_arg) in another thread, then done(work_arg) on this one. 0,
	 * or a negative errno and neither is called.
	 */
	int (*offload)(void *arg, void (*work)(void *work_arg), void (*done)(void *work_arg),
		       void *work_arg);
	void *arg;
};

#endif
