/* The signals of `zkleader run`: none is lost between its start and that of the job. */
#ifndef ZKLEADER_CLIENT_SIGNALS_H
#define ZKLEADER_CLIENT_SIGNALS_H

#include <signal.h>

struct signals {
	int fd;	       /* signalfd(2): what is passed on to the job, and SIGCHLD and SIGCONT */
	sigset_t mask; /* as it was, and as the job gets it */
	struct sigaction chld;
};

/*
 * Blocks what is passed on, but for what is ignored (as nohup does) or blocked, which then stays so in
 * the job. 0 or a negative errno.
 */
int signals_block(struct signals *s);
/* The next signal that is there, or 0. */
int signals_next(const struct signals *s);
/* As it was. */
void signals_restore(const struct signals *s);

#endif
