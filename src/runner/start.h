/* One run: a process of its own claims the tick, and keeps the job within the lease. */
#ifndef ZKLEADER_RUNNER_START_H
#define ZKLEADER_RUNNER_START_H

#include <signal.h>
#include <sys/types.h>

#include "client/command.h"
#include "config/taskfile.h"
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
	int begun; /* a socket of the runner's, see start_begun() */
};

/* In the new process: it becomes the user's, and c gets its socket and output. 0 or -errno. */
int start_become(const struct start *s, struct context *c);
/* In the new process: what it is for is claimed, and the runner is told. Closes the socket. */
void start_begun(const struct start *s);
/* The words of a command behind a name, as on a command line of `zkleader run`; ended by a NULL. */
const char **start_words(const char *name, char *const *command, size_t n);
/* The number of the process, which lives on without its parent; or a negative errno. */
pid_t start_run(const struct start *s, const struct task_config *task, const struct due *due);

#endif
