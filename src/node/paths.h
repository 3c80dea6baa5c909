/* Where the znodes are: the one place that makes their paths. */
#ifndef ZKLEADER_NODE_PATHS_H
#define ZKLEADER_NODE_PATHS_H

#include "node/settings.h"
#include "node/store.h"

enum path_folder {
	PATH_WORKERS, /* registrations, by id */
	PATH_LEADERS, /* leader nodes, by task */
	PATH_POLICY,  /* decisions, by id */
	PATH_RUNS,    /* folders of records of ticks, by task */
	PATH_FOLDERS
};

/* ROOT/FOLDER/NAME, or ROOT/FOLDER for NULL; with an empty name it ends with the slash. */
void path_of(const struct node_settings *s, enum path_folder folder, const char *name,
	     char path[STORE_PATH_MAX]);
/* ROOT/runs/TASK/TICK, or ROOT/runs/TASK for NULL. */
void path_of_tick(const struct node_settings *s, const char *task, const char *tick,
		  char path[STORE_PATH_MAX]);

#endif
