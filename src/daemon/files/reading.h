/*
 * Reads and merges the configuration's files in a thread of its own, so that a slow disk or ten
 * thousand tasks do not hold up the loop. Readings do not overlap, as libconfuse's lexer is global.
 * The thread borrows what is in force, which therefore changes only between two readings.
 */
#ifndef ZKLEADER_DAEMON_FILES_READING_H
#define ZKLEADER_DAEMON_FILES_READING_H

#include <stdbool.h>
#include <sys/queue.h>
#include <uv.h>

#include "config/config.h"
#include "config/tasks/taskfile.h"
#include "control/ask/process.h"
#include "daemon/files/task_changes.h"
#include "daemon/zookeeper/zk.h"

enum reading_what {
	READING_VERSION, /* the version-file */
	READING_TASKS,	 /* the task files */
	READING_ALL,	 /* the main file with its version-file, and then the task files */
};

/* The configuration in force. */
struct reading_base {
	const char *config_file;
	const struct config *start; /* the configuration of the start */
	const struct config *config;
	const struct task_files *tasks;
};

struct reading {
	struct readings *of;
	STAILQ_ENTRY(reading) link;
	enum reading_what what;
	process_reload_fn fn; /* of the requester; NULL: none waits */
	void *arg;
	struct reading_base base;
	/*
	 * The result. The code that applies it takes over what it needs and removes that here; the
	 * rest is freed.
	 */
	struct config *config;	     /* NULL: it is refused, or was not read */
	struct zk_security security; /* of that configuration, with the ends of certificates */
	char *version;		     /* likewise */
	struct problems problems;    /* of the main file, or of the version-file alone */
	struct problems of_tasks;    /* of the task files */
	struct task_files loaded;    /* the task files as they are */
	struct task_files in_force;  /* the task files to be in force */
	/* The tasks to be in force, sorted by name, borrowed from there. */
	const struct task_config **is;
	size_t n_is;
	struct task_changes tasks, queues; /* against those that are in force now */
};

struct readings {
	uv_loop_t *loop;
	STAILQ_HEAD(reading_queue, reading) queue; /* the first goes on, the others wait */
	bool ended;
	/*
	 * begin: gives what is in force. apply: puts the result in force, and tells the requester.
	 */
	void (*begin)(void *arg, struct reading_base *ret_base);
	void (*apply)(void *arg, struct reading *r);
	void *owner;
};

void readings_init(struct readings *all, uv_loop_t *loop,
		   void (*begin)(void *arg, struct reading_base *ret_base),
		   void (*apply)(void *arg, struct reading *r), void *owner);
/*
 * Applies nothing more, and tells the waiting requesters. While the queue is not empty, a thread
 * still uses what it has borrowed.
 */
void readings_done(struct readings *all);
/*
 * Asks for a reading that begins from now on. fn, if not NULL, is called after it was applied.
 */
void readings_ask(struct readings *all, enum reading_what what, process_reload_fn fn, void *arg);
/* These read in the calling thread: for the start. */
void reading_init(struct reading *r, enum reading_what what, const struct reading_base *base);
void reading_work(struct reading *r);
void reading_done(struct reading *r);

#endif
