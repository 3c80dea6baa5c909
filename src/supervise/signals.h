/* The signals of `zkleader run`: none is lost between its start and that of the job. */
#ifndef ZKLEADER_SUPERVISE_SIGNALS_H
#define ZKLEADER_SUPERVISE_SIGNALS_H

#include <signal.h>

struct signals {
	int fd;	       /* signalfd(2): signals to pass on to the job, and SIGCHLD and SIGCONT */
	sigset_t mask; /* the mask from before, which the job gets */
	struct sigaction chld;
};

/*
 * Blocks the signals that are passed on, except those that are ignored (as by nohup) or blocked
 * already, which remain so in the job. 0 or a negative errno.
 */
int signals_block(struct signals *s);
/* The next pending signal, or 0. */
int signals_next(const struct signals *s);
/* While no job runs: gives the signal its usual effect, which may end this process. */
void signals_obey(const struct signals *s, int sig);
/* Restores the mask and the action of SIGCHLD. */
void signals_restore(const struct signals *s);

#endif
