/* Warnings of probable mistakes in a configuration, for zkleaderd -t. */
#ifndef ZKLEADER_CONFIG_TASKS_HINTS_H
#define ZKLEADER_CONFIG_TASKS_HINTS_H

#include "config/config.h"
#include "config/tasks/taskfile.h"
#include "config/text/problem.h"

/*
 * Warns of a folder without any task, of files in it that are not read because of their names, of
 * users whom this host does not know, and of commands that cannot be started. Asks the user
 * database, which may block.
 */
void hints_warn(const struct config *config, const struct task_files *files,
		struct problems *problems);

#endif
