/* The start of a run: a process of its own claims the tick, and keeps the job within the lease. */
#ifndef ZKLEADER_RUNNER_START_H
#define ZKLEADER_RUNNER_START_H

#include <signal.h>
#include <stdbool.h>
#include <sys/types.h>

#include "api/context.h"
#include "config/tasks/taskfile.h"
#include "runner/account.h"
#include "runner/due.h"

struct start {
	const char *socket;  /* of the sidecar */
	const char *journal; /* the path of the journal's socket; NULL: standard error */
	const struct account *account;
	const sigset_t *mask; /* of signals, for the job */
	/* In the new process: gives up what is the runner's alone. */
	void (*forget)(void *arg);
	void *arg;
	int begun; /* a socket of the runner's, see start_tell() */
};

/* A message from a process to the runner. */
struct start_word {
	pid_t pid; /* the process that the runner has started */
	bool free; /* its job has ended, and it waits for another; false: it has begun one */
};

/* In the new process: becomes the user's, and gives c its socket and output. 0 or -errno. */
int start_become(const struct start *s, struct context *c);
/* Tells the runner, in the new process or in one of its own: 0, or a negative errno. */
int start_tell(const struct start *s, pid_t pid, bool is_free);
/* The words of a command behind a name, as on a command line of `zkleader run`; ended by a NULL. */
const char **start_words(const char *name, const struct command_config *c);
/*
 * Sets the environment of a user's command, in place of what was set, and its own variables. NULL:
 * of a request in place of a command, which may need a proxy. The strings are borrowed.
 */
void start_environment(const struct start *s, const struct command_config *c);
/* Starts a run. Returns the pid of its process, which outlives its parent; or a negative errno. */
pid_t start_run(const struct start *s, const struct task_config *task, const struct due *due);

#endif
