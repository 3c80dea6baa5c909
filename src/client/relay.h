/*
 * What a job writes, on its way to our own standard output and error: where a partition's name is
 * put before each line (`zkleader run --tag`), or where its end is to be told (`ping-url`). A
 * process of its own passes it on, and waits for slow readers in place of the job's supervisors.
 */
#ifndef ZKLEADER_CLIENT_RELAY_H
#define ZKLEADER_CLIENT_RELAY_H

#include <stdbool.h>
#include <sys/types.h>

#include "client/kept.h"

struct relay {
	pid_t pid;
	int into[2];	   /* pipes in place of standard output and error; -1: that is left alone */
	struct kept *kept; /* NULL: nothing is */
};

/*
 * name: it and a blank come before each line; NULL: all is passed on as it is, and what is a
 * terminal is left to the job. keep: the end of it is kept. 0, or a negative errno: there is no
 * relay, -ENOTTY: as there is nothing to pass on.
 */
int relay_begin(struct relay *r, const char *name, bool keep);
/* In the job's own process: it writes into the relay. */
void relay_become(const struct relay *r);
/* In the processes around it: the job alone holds its ends. r may be NULL. */
void relay_hold(struct relay *r);
/* No process of the job is left: waits a moment for what it wrote to be kept. r may be NULL. */
void relay_settle(const struct relay *r);
/* Waits until all of it has been passed on. */
void relay_end(struct relay *r);

#endif
