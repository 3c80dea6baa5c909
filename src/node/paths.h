/* Where the znodes are: the one place that makes their paths. */
#ifndef ZKLEADER_NODE_PATHS_H
#define ZKLEADER_NODE_PATHS_H

#include "base/worker.h"
#include "node/settings.h"
#include "node/store.h"

enum path_folder {
	PATH_WORKERS, /* registrations, by id */
	PATH_LEADERS, /* leader nodes, by task */
	PATH_POLICY,  /* decisions, by id */
	PATH_RUNS,    /* folders of records of ticks, by task */
	PATH_COUNTERS,
	PATH_ROSTER, /* all nodes that ever were, by name */
	PATH_SEEN,   /* since when no run ended well, by task */
	PATH_ROLLING,
	PATH_SPLITS, /* numbers of partitions that are in force, as TASK:N */
	PATH_LOCKS,  /* folders of those who hold and wait, by the lock's name */
	PATH_BARRIERS,
	PATH_SCHEDULES, /* what is in force of them, by task */
	PATH_NOTICES,	/* events that people are to be told of */
	PATH_LED,	/* tasks that had a leader, where people are told of the next */
	PATH_FOLDERS
};

/* ROOT/FOLDER/NAME, or ROOT/FOLDER for NULL; with an empty name it ends with the slash. */
void path_of(const struct node_settings *s, enum path_folder folder, const char *name,
	     char path[STORE_PATH_MAX]);
/* ROOT/runs/TASK/TICK, or ROOT/runs/TASK for NULL. */
void path_of_tick(const struct node_settings *s, const char *task, const char *tick,
		  char path[STORE_PATH_MAX]);
/*
 * ROOT/roster/NODE, as no name of a znode may have a slash: each byte of the node's name but
 * letters, digits, "-", "_", ":" and a "." inside is %XX. False: it is too long for a path.
 */
bool path_of_node(const struct node_settings *s, const char *node, char path[STORE_PATH_MAX]);
/* ROOT/rolling/GROUP/FOLDER/NAME; less for NULL. */
void path_of_rolling(const struct node_settings *s, const char *group, const char *folder,
		     const char *name, char path[STORE_PATH_MAX]);
/* ROOT/rolling/GROUP/slots/NODE, as path_of_node() has names. */
bool path_of_slot(const struct node_settings *s, const char *group, const char *node,
		  char path[STORE_PATH_MAX]);
/* The node that a znode in one of these folders is about; false: it is not one of those. */
bool path_is_node(const char *name, char ret_node[WORKER_NODE_MAX + 1]);

#endif
