/* The time zones of the schedules in task files. Each zone is loaded once for all its tasks. */
#ifndef ZKLEADER_CONFIG_TASKS_TASK_ZONES_H
#define ZKLEADER_CONFIG_TASKS_TASK_ZONES_H

#include "config/config.h"
#include "config/tasks/taskfile.h"
#include "config/text/problem.h"

/*
 * Gives each schedule its zone. A file that names a zone which cannot be loaded is refused, with a
 * problem. A schedule that names no zone gets none if the main file's is bad: that configuration
 * is refused as a whole, and nothing uses its schedules.
 */
void task_zones_set(const struct config *config, struct task_files *files,
		    struct problems *problems);

#endif
