/*
 * The list of tasks of this node: those that are configured, and withdrawn ones until they are
 * freed.
 */
#ifndef ZKLEADER_NODE_ELECTION_TASKS_H
#define ZKLEADER_NODE_ELECTION_TASKS_H

#include "node/election/leaders.h"

/* Sets the configured tasks; the settings are copied. */
void tasks_apply(struct leaders *l, const struct node_timing *timing,
		 const struct task_settings *tasks, size_t n);
/* Numbers the tasks, and tells the fleet and the registry their names. */
void tasks_index(struct leaders *l);
/* The partitions in force may have changed. */
void tasks_expand(struct leaders *l);
/* A configured task, or a partition in force, T:K, by its name; NULL: none. */
struct task *tasks_find(const struct leaders *l, const char *name, size_t len);
/* Whether there is a task of that name; l: struct leaders, as a survey passes it. */
bool tasks_have(const void *l, const char *name);
/*
 * The node stops: it releases every task that no run holds, once the promises for it are over, and
 * leaves its election. Requests are still answered.
 */
void tasks_withdraw(struct leaders *l);
/* Like tasks_find(), but finds withdrawn tasks too. */
struct task *tasks_find_any(const struct leaders *l, const char *name);
/* Frees the withdrawn tasks that have ended. */
void tasks_drop_gone(struct leaders *l);
void tasks_done(struct leaders *l);

#endif
