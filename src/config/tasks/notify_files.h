/* The sections notify of all task files together. */
#ifndef ZKLEADER_CONFIG_TASKS_NOTIFY_FILES_H
#define ZKLEADER_CONFIG_TASKS_NOTIFY_FILES_H

#include "config/tasks/taskfile.h"

/*
 * Whether the file's sections fit with the files before it: no name twice, not too many in all.
 * Adds a problem for each misfit.
 */
bool notify_configs_fit(const struct task_files *before, const struct task_file *file,
			struct problems *problems);
/*
 * The sections of all files: an array for the caller to free(), its elements borrowed from files.
 */
const struct notify_config **notify_configs_all(const struct task_files *files, size_t *ret_n);

#endif
