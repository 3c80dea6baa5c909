/* A program that is told of one event on its standard input. */
#ifndef ZKLEADER_NOTIFY_COMMAND_H
#define ZKLEADER_NOTIFY_COMMAND_H

#include <signal.h>
#include <sys/types.h>

/*
 * Starts the program in a session of its own, with that text as its standard input, and both
 * outputs where this program's errors go. mask: the signals as they were before ours were blocked.
 * Returns its process id, or a negative errno.
 */
pid_t command_start(char *const *argv, size_t n, const char *text, const sigset_t *mask);

#endif
