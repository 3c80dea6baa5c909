/* The paths of the znodes: they are made here alone. */
#ifndef ZKLEADER_NODE_TREE_PATHS_H
#define ZKLEADER_NODE_TREE_PATHS_H

#include "base/text/worker.h"
#include "core/queue/job_id.h"
#include "node/settings.h"
#include "node/store.h"

enum path_folder {
	PATH_WORKERS, /* registrations, by id */
	PATH_LEADERS, /* leader nodes, by task */
	PATH_POLICY,  /* decisions, by id */
	PATH_RUNS,    /* folders of records of ticks, by task */
	PATH_COUNTERS,
	PATH_ROSTER,   /* all nodes that ever were, by name */
	PATH_SEEN,     /* since when no run ended well, by task */
	PATH_TROUBLES, /* what people were told of, and not yet that it is over, by task */
	PATH_ROLLING,
	PATH_SPLITS, /* numbers of partitions that are in force, as TASK:N */
	PATH_LOCKS,  /* folders of holders and waiters, by the lock's name */
	PATH_BARRIERS,
	PATH_GANGS,
	PATH_SCHEDULES, /* schedules in force, by task */
	PATH_NOTICES,	/* events that people are to be told of */
	PATH_OUTAGES,	/* nodes that were without a connection, until people are told */
	PATH_LED,	/* tasks that had a leader, where people are told of the next */
	PATH_JOBS,	/* queues of jobs, by name */
	PATH_CLOSED,	/* a mark: what holds output was closed to the world */
	PATH_LISTS,	/* what workers list, by digest */
	PATH_ROLL,	/* who joins and leaves, in a big fleet */
	PATH_FOLDERS
};

/* ROOT/FOLDER/NAME, or ROOT/FOLDER for NULL; with an empty name it ends with the slash. */
void path_of(const struct node_settings *s, enum path_folder folder, const char *name,
	     char path[STORE_PATH_MAX]);
/* The part of a path behind ROOT/FOLDER/; NULL: the znode is not in this folder. */
const char *path_behind(const struct node_settings *s, enum path_folder folder, const char *path);
/* ROOT/runs/TASK/TICK, or ROOT/runs/TASK for NULL. */
void path_of_tick(const struct node_settings *s, const char *task, const char *tick,
		  char path[STORE_PATH_MAX]);
/*
 * ROOT/roster/NODE. Each byte of the node's name but letters, digits, "-", "_", ":" and a "."
 * inside is %XX, as no name of a znode may have a slash. False: it is too long for a path.
 */
bool path_of_node(const struct node_settings *s, const char *node, char path[STORE_PATH_MAX]);
/* ROOT/rolling/GROUP/FOLDER/NAME; less for NULL. */
void path_of_rolling(const struct node_settings *s, const char *group, const char *folder,
		     const char *name, char path[STORE_PATH_MAX]);
/* ROOT/rolling/GROUP/slots/NODE, with the node's name as in path_of_node(). */
bool path_of_slot(const struct node_settings *s, const char *group, const char *node,
		  char path[STORE_PATH_MAX]);
/* ROOT/jobs/QUEUE/FOLDER/NAME; less for NULL. */
void path_of_queue(const struct node_settings *s, const char *queue, const char *folder,
		   const char *name, char path[STORE_PATH_MAX]);
/* ROOT/jobs/QUEUE/job/MINUTE/X/UUID */
void path_of_job(const struct node_settings *s, const struct job_id *id, char path[STORE_PATH_MAX]);
/* ROOT/jobs/QUEUE/job/MINUTE/X, with a digit, or less for 0. */
void path_of_job_folder(const struct node_settings *s, const char *queue, int64_t minute, char x,
			char path[STORE_PATH_MAX]);
/* ROOT/jobs/QUEUE/due/MINUTE, or with callbacks MINUTE.callback; the same from its last part. */
void path_of_due_folder(const struct node_settings *s, const char *queue, int64_t minute,
			bool callbacks, char path[STORE_PATH_MAX]);
bool path_is_due_folder(const char *name, int64_t *ret_minute, bool *ret_callbacks);
/* ROOT/jobs/QUEUE/due/MINUTE/POINTER, or that of a callback. */
void path_of_due(const struct node_settings *s, const char *queue, int64_t minute,
		 const struct job_pointer *p, char path[STORE_PATH_MAX]);
/* ROOT/jobs/QUEUE/at/NODE/POINTER, or less for NULL; the node's name as in path_of_node(). */
bool path_of_at(const struct node_settings *s, const char *queue, const char *node,
		const struct job_pointer *p, char path[STORE_PATH_MAX]);
/* The part behind ROOT/jobs/QUEUE/ of the path of a queue's znode; NULL: it is none. */
const char *path_in_queue(const struct node_settings *s, const char *path,
			  char ret_queue[NAME_TASK_MAX + 1]);
/*
 * ROOT/FOLDER/PARTY/NAME, of a gang or a barrier, with the name as in path_of_node(). With a key it
 * ends with NAMEKEY-, to which the server appends a number. False: there is not enough room.
 */
bool path_in_party(const struct node_settings *s, enum path_folder folder, const char *party,
		   const char *name, const char *key, char path[STORE_PATH_MAX]);
/* The node that a znode in one of these folders is about; false: it is not one of those. */
bool path_is_node(const char *name, char ret_node[WORKER_NODE_MAX + 1]);

#endif
