/*
 * Passes a job's output on to our own standard output and error: to put a partition's name before
 * each line (`zkleader run --tag`), or to keep the end of it (`ping-url`, `keep-output`). A process
 * of its own does that, and waits for slow readers instead of the job's supervisors.
 */
#ifndef ZKLEADER_SUPERVISE_RELAY_H
#define ZKLEADER_SUPERVISE_RELAY_H

#include <stdbool.h>
#include <sys/types.h>

#include "supervise/tail.h"

struct relay {
	pid_t pid;
	int into[2];	   /* pipes in place of standard output and error; -1: unchanged */
	struct tail *tail; /* NULL: nothing is kept */
};

/* Which end of the output is kept. PIPED: the job keeps the streams that are terminals. */
enum relay_keep { RELAY_KEEP_NOTHING, RELAY_KEEP_PIPED, RELAY_KEEP_ALL };

/*
 * name: put before each line, with a blank; NULL: the output is passed on unchanged. 0, or a
 * negative errno if there is no relay, -ENOTTY if there is nothing to pass on.
 */
int relay_begin(struct relay *r, const char *name, enum relay_keep keep);
/* Makes the job's own process, which calls this, write into the relay. */
void relay_become(const struct relay *r);
/* Closes the job's ends in the supervisors, so that only the job holds them. r may be NULL. */
void relay_hold(struct relay *r);
/*
 * Waits after the end of the job's last process, briefly, until its output is kept. r may be NULL.
 */
void relay_settle(const struct relay *r);
/* Waits until all output has been passed on. */
void relay_end(struct relay *r);

#endif
