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

/* What is said of a task that is not to be started; its texts are tasks.c's. */
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
	struct tasks_file *files; /* that have them */
	size_t n_files;
	uint64_t look;	/* what the folder was like when it was read */
	unsigned reads; /* how often a file was read */
};

void tasks_init(struct tasks *t, const char *config_file, const struct account *account);
void tasks_done(struct tasks *t);
/*
 * Reads the folder anew if it is another than before, and checks each file of the user's tasks.
 * Whether something is refused now that was not, or for another reason, or no longer.
 */
bool tasks_look(struct tasks *t);
/*
 * What is to be started, from the file as it is now. NULL where that must not be, and why; then it
 * is among the refusals until the files are others. Good until the next call.
 */
const struct task_config *tasks_find(struct tasks *t, const char *name, char why[TRUSTED_WHY_SIZE]);
/* The i-th of what is refused; false: there are no more. */
bool tasks_refused(const struct tasks *t, size_t i, struct tasks_refusal *ret);

#endif
