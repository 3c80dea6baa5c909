/*
 * Sums over all tasks of a sidecar: their names, spread groups and elections, and the bytes that
 * they take in ZooKeeper. Each sum has a limit.
 */
#ifndef ZKLEADER_CONFIG_TASKS_TASK_ROOM_H
#define ZKLEADER_CONFIG_TASKS_TASK_ROOM_H

#include <stdbool.h>
#include <stddef.h>

#include "config/tasks/taskfile.h"

struct task_room {
	void *tree;	 /* tree of tsearch(3); the tasks are borrowed */
	void *groups;	 /* tree of tsearch(3), of struct group; owned */
	size_t n;	 /* elections of the tasks */
	size_t n_served; /* queues that the worker's record names */
	size_t prefix;	 /* bytes of a leader node's path before its name */
	size_t bytes;	 /* bytes of all these paths */
	size_t record;	 /* bytes of a worker's record that are about the tasks, at most */
};

/* Room for tasks with leader nodes whose paths have so many bytes before the task's name. */
void task_room_init(struct task_room *room, size_t prefix);
void task_room_done(struct task_room *room);
/*
 * Whether the file's tasks fit with those that have been added; adds a problem for each misfit.
 */
bool task_room_check(struct task_room *room, const struct task_file *file,
		     struct problems *problems);
/* Whether the task fits. */
bool task_room_has(struct task_room *room, const struct task_config *t);
/* Counts the tasks, which have to stay as long as the room. */
void task_room_add(struct task_room *room, struct task_config *const *tasks, size_t n);

#endif
