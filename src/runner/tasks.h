/*
 * The tasks of one user, from the same files that the sidecar reads, and which of them this user's
 * runner must not start.
 */
#ifndef ZKLEADER_RUNNER_TASKS_H
#define ZKLEADER_RUNNER_TASKS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "config/tasks/taskfile.h"
#include "config/text/trusted.h"
#include "runner/account.h"

/* The reason why a task must not be started; its texts are tasks.c's. */
struct tasks_refusal {
	const char *task, *file, *why;
};

struct tasks_entry;
struct tasks_file;

struct tasks {
	const char *config_file; /* borrowed, as is the account */
	const struct account *account;
	struct tasks_entry *list; /* tasks of the user, sorted by name */
	size_t n;
	struct tasks_file *files; /* files with these tasks */
	size_t n_files;
	uint64_t look;	/* digest of the folder when it was read */
	unsigned reads; /* how often a file was read */
};

void tasks_init(struct tasks *t, const char *config_file, const struct account *account);
void tasks_done(struct tasks *t);
/*
 * Reads the folder again if it has changed, and checks each file of the user's tasks. Returns
 * whether the refusals or their reasons have changed.
 */
bool tasks_look(struct tasks *t);
/*
 * The task to start, from its file as it is now. NULL, and why: it must not be started, and stays
 * among the refusals until the files change. Valid until the next call.
 */
const struct task_config *tasks_find(struct tasks *t, const char *name, char why[TRUSTED_WHY_SIZE]);
/* The i-th refusal; false: there are no more. */
bool tasks_refused(const struct tasks *t, size_t i, struct tasks_refusal *ret);

#endif
