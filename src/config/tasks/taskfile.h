/*
 * Task files: a single one (taskfile.c), and the folder of them with what is in force after some
 * were refused (taskdir.c).
 */
#ifndef ZKLEADER_CONFIG_TASKS_TASKFILE_H
#define ZKLEADER_CONFIG_TASKS_TASKFILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "config/config.h"
#include "config/keys/notify_config.h"
#include "config/keys/task_config.h"
#include "config/text/problem.h"
#include "config/text/settings.h"

#define TASKDIR_FILES_MAX 1000
/*
 * Bytes of the leader nodes' paths. The server cannot read back the end of a session with more than
 * 1 MiB of them (ZOOKEEPER-4306), nor take that many watches from a client that connects again.
 */
#define TASKDIR_PATHS_MAX    (512 * 1024)
#define TASK_DESCRIPTION_MAX 500  /* bytes */
#define TASK_SPREAD_MAX	     1000 /* tasks of a group */

struct task_file {
	char *name; /* in the folder; files are sorted by it (strcmp) */
	char *path; /* for opening, and as shown to people */
	bool refused;
	struct task_config *
		*tasks; /* of a refused file: its last good ones, after taskdir_merge() */
	size_t n_tasks;
	struct notify_configs notifies; /* likewise */
};

struct task_files {
	struct task_file *list;
	size_t n;
	size_t prefix;	 /* bytes of a leader node's path before the task's name */
	bool unreadable; /* the folder could not be read, though it may well be there */
};

/*
 * Reads all tasks and queues of a file, in its order, or none of them. Returns 0, or -EINVAL
 * (another negative errno if the file cannot be read) with at least one problem added. An empty
 * file has no tasks.
 */
int taskfile_load(const char *path, const char *shown, struct task_config ***ret_tasks,
		  size_t *ret_n, struct problems *problems);
/* Likewise reads the file's sections notify as well, which the caller frees. */
int taskfile_load_all(const char *path, const char *shown, struct task_config ***ret_tasks,
		      size_t *ret_n, struct notify_configs *ret_notifies,
		      struct problems *problems);
void taskfile_free(struct task_config **tasks, size_t n);
/* Frees what the file has and marks it as refused. */
void task_file_refuse(struct task_file *file);
/*
 * Reads every *.conf of the configuration's task-dir but dot files, sorted by name, and accepts or
 * refuses each by itself. A later file that has a task of an earlier one is refused. If there is no
 * folder, that is a problem and there are no files. ret_files is always filled. Returns how many
 * problems were added.
 */
size_t taskdir_load(const struct config *config, struct task_files *ret_files,
		    struct problems *problems);
/*
 * Merges what is in force: the tasks of the accepted files, and of each refused file those that it
 * had in `previous`, unless an accepted file has a task of that name. A file that is gone has no
 * tasks. Copies everything, so both may be freed. The result is the `previous` of the next time.
 */
void taskdir_merge(const struct task_files *previous, const struct task_files *loaded,
		   struct task_files *ret_effective);
void task_files_init(struct task_files *files);
void task_files_done(struct task_files *files);
/* The task or queue of that name; NULL: there is none. */
const struct task_config *task_files_find(const struct task_files *files, const char *name);
/*
 * All tasks, sorted by name: an array for the caller to free(), its elements borrowed from files.
 */
const struct task_config **task_files_tasks(const struct task_files *files, size_t *ret_n);

/*
 * All keys of a task, a queue or notify with their defaults, to compare them with the
 * documentation.
 */
const struct setting_key *taskfile_keys(size_t *ret_n);
const struct setting_key *taskfile_queue_keys(size_t *ret_n);
const struct setting_key *taskfile_notify_keys(size_t *ret_n);

/* The name of the key of a task or queue with that mark (key_marks.h); NULL: there is none. */
const char *taskfile_key_of(const char *mark);

#endif
