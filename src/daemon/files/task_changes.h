/*
 * The tasks, or queues, that a reload changes: names, borrowed from the configurations compared.
 * Found off the loop, as it takes a while with thousands of tasks.
 */
#ifndef ZKLEADER_DAEMON_FILES_TASK_CHANGES_H
#define ZKLEADER_DAEMON_FILES_TASK_CHANGES_H

#include <stdbool.h>
#include <stddef.h>

#include "config/tasks/taskfile.h"

struct task_changes {
	const char **removed, **added, **changed;
	size_t n_removed, n_added, n_changed;
};

/* Both lists are sorted by name. */
void task_changes_find(struct task_changes *c, const struct task_config *const *was, size_t n_was,
		       const struct task_config *const *is, size_t n_is, bool queues);
void task_changes_done(struct task_changes *c);

#endif
