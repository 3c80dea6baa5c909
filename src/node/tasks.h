/*
 * The tasks of this node: which there are, by the configuration, and what is left of those that
 * were.
 */
#ifndef ZKLEADER_NODE_TASKS_H
#define ZKLEADER_NODE_TASKS_H

#include "node/leaders.h"

/* The tasks are these from now on; what is said of them is copied. */
void tasks_apply(struct leaders *l, const struct node_timing *timing,
		 const struct task_settings *tasks, size_t n);
/* Numbers the tasks, and tells the fleet and the registry their names. */
void tasks_index(struct leaders *l);
/* What is in force of partitions may be another now. */
void tasks_expand(struct leaders *l);
/* A configured task by name, or a partition that is in force, T:K; NULL. */
struct task *tasks_find(const struct leaders *l, const char *name, size_t len);
/*
 * This node goes: gives everything up that no run holds, once what was promised is over, and leaves
 * the election for it. Questions are answered on.
 */
void tasks_withdraw(struct leaders *l);
/* The same, and one that is withdrawn too. */
struct task *tasks_find_any(const struct leaders *l, const char *name);
/* Frees what is withdrawn and over. */
void tasks_drop_gone(struct leaders *l);
void tasks_done(struct leaders *l);

#endif
