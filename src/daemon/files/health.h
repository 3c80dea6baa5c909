/*
 * Health: commands and files that say whether this node, or this node for one task, may lead. An
 * unhealthy node is no candidate. Nothing here blocks the loop.
 */
#ifndef ZKLEADER_DAEMON_FILES_HEALTH_H
#define ZKLEADER_DAEMON_FILES_HEALTH_H

#include <stdbool.h>
#include <stddef.h>
#include <uv.h>

#include "config/config.h"
#include "config/tasks/taskfile.h"

#define HEALTH_RUNNING_MAX 16 /* commands at a time; the others wait for their turn */
#define HEALTH_SAYS_MAX	   200

struct probe;

struct health {
	uv_loop_t *loop;
	struct probe **probes; /* sorted by task, the node's own first */
	size_t n;
	size_t running;
	size_t n_unknown; /* checks without a result yet */
	void (*changed)(void *arg);
	void *arg;
};

/* changed: called when the results below may have changed. */
void health_init(struct health *h, uv_loop_t *loop, void (*changed)(void *arg), void *arg);
/* Kills what is running. */
void health_done(struct health *h);
/* Sets the checks. A check that stays the same keeps its result. */
void health_apply(struct health *h, const struct config *config,
		  const struct task_config *const *tasks, size_t n);

/* Whether each check has a result: before that, this node is not published. */
bool health_is_known(const struct health *h);
/* Whether the node is not healthy. */
bool health_sick(const struct health *h);
/* The names of tasks for which it is not healthy: a heap array of heap strings, for the caller. */
char **health_unhealthy(const struct health *h, size_t *ret_n);
/* The last message of a failing check, of a task or (NULL) of the node; "" if none fails. */
const char *health_says(const struct health *h, const char *task);

#endif
