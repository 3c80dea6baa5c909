/* A command as a child that nothing but its own end ends: without a guard and without a lease. */
#ifndef ZKLEADER_CLIENT_CHILD_H
#define ZKLEADER_CLIENT_CHILD_H

#include <sys/signalfd.h>
#include <sys/types.h>

#include "client/signals.h"

/* The child's process id, or a negative errno. argv ends with a NULL. */
pid_t child_start(const struct signals *signals, const char *const *argv);
/*
 * Once there is something to read from signals->fd: passes signals on to it, but what the terminal
 * has sent to it as well. Its exit status as a shell would say, or -1 while it runs.
 */
int child_look(const struct signals *signals, pid_t child);

/*
 * The parts of these, for who reads the signals by itself. child_exec() is for the child: it
 * returns, with the exit status, only where the command cannot be started.
 */
int child_exec(const struct signals *signals, const char *const *argv);
void child_pass_on(pid_t child, const struct signalfd_siginfo *info);
/* The exit status as a shell would say. */
int child_status(int status);

#endif
