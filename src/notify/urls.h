/* The ping-url of each task, from the same files that the sidecar reads. */
#ifndef ZKLEADER_NOTIFY_URLS_H
#define ZKLEADER_NOTIFY_URLS_H

#include <stdint.h>

#include "config/tasks/taskfile.h"

#define URLS_AGE_MS 5000 /* time for which what was read is good */

struct urls {
	const char *config_file;
	struct task_files files; /* in force */
	char *problem;		 /* the problem that was logged last; NULL: none */
	int64_t read_ms;	 /* CLOCK_BOOTTIME; 0: never */
};

void urls_init(struct urls *u, const char *config_file);
void urls_done(struct urls *u);
/* Has the files read again the next time. */
void urls_forget(struct urls *u);
/* The ping-url of a task or a partition; NULL: it has none. Good until the next call. */
const char *urls_find(struct urls *u, const char *task);
/* The files in force. Good until the next call. */
const struct task_files *urls_files(struct urls *u);

#endif
