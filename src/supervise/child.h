/* Runs a command as a plain child, without a guard and without a lease. */
#ifndef ZKLEADER_SUPERVISE_CHILD_H
#define ZKLEADER_SUPERVISE_CHILD_H

#include <sys/signalfd.h>
#include <sys/types.h>

#include "supervise/signals.h"

/* The child's process id, or a negative errno. argv ends with a NULL. */
pid_t child_start(const struct signals *signals, const char *const *argv);
/*
 * Once signals->fd is readable: passes signals on to the child, except those that the terminal has
 * sent to it as well. Returns its exit status as a shell would report it, or -1 while it runs.
 */
int child_look(const struct signals *signals, pid_t child);

/*
 * The parts of these, for a caller that reads the signals itself. child_exec() is for the child: it
 * returns only if the command cannot be started, with the exit status, after a line that says why.
 */
int child_exec(const struct signals *signals, const char *const *argv);
void child_pass_on(pid_t child, const struct signalfd_siginfo *info);
/* The exit status as a shell would report it. */
int child_status(int status);

#endif
