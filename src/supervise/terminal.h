/* The controlling terminal. One process group at a time is in its foreground. */
#ifndef ZKLEADER_SUPERVISE_TERMINAL_H
#define ZKLEADER_SUPERVISE_TERMINAL_H

#include <stdbool.h>
#include <sys/types.h>

struct terminal {
	int fd;	     /* -1: there is none */
	pid_t home;  /* our own process group, as the shell made it */
	bool wanted; /* the job has asked for it */
};

/* To be called in the process group that the shell made. */
void terminal_init(struct terminal *t);
/*
 * Whether the job gets the terminal at its start: its standard input is the terminal, and our group
 * is not a pipeline whose other processes might read.
 */
bool terminal_is_for_job(const struct terminal *t);
/*
 * Gives the terminal to the job's group, if we are in the foreground. The caller has blocked
 * SIGTTOU.
 */
bool terminal_give(struct terminal *t, pid_t group);
/* Takes the terminal back from the job's group. Returns whether that group had it. */
bool terminal_take(struct terminal *t, pid_t group);

#endif
