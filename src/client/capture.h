/*
 * What a job writes, where nobody but us reads it: each line goes to the journal, with the task and
 * the tick, or the queue and the job, as fields, or to standard error; and the last of it is kept
 * for the record of the run. One pipe is the job's standard output and error, and the guard reads
 * it. Nothing here waits, but for capture_end().
 */
#ifndef ZKLEADER_CLIENT_CAPTURE_H
#define ZKLEADER_CLIENT_CAPTURE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "client/kept.h"

#define CAPTURE_LINE_MAX 2000 /* bytes; a longer line comes in pieces */

/* The names of the journal's fields that say of what an output is. */
struct capture_fields {
	const char *name, *id;
};

struct capture {
	struct capture_fields fields; /* of a task and its tick; the caller may set others */
	const char *name, *id;	      /* borrowed */
	const char *journal;	      /* path of the journal's socket; NULL: standard error */
	int to;			      /* a socket for the journal, or standard error */
	int from;		      /* the pipe: to be read without waiting */
	int into;		      /* its other end; -1: this process has closed it */
	struct kept *kept;
	char data[CAPTURE_LINE_MAX]; /* what was read last, and where the rest of it is */
	size_t at, n;
	char line[CAPTURE_LINE_MAX];
	size_t len;
	bool whole;	  /* the line is complete, and not yet taken */
	int64_t retry_ms; /* CLOCK_BOOTTIME: nothing is read before; 0: nothing has to wait */
};

/* 0, or a negative errno. The texts and the path stay the caller's, and there. */
int capture_init(struct capture *c, const char *name, const char *id, const char *journal);
void capture_done(struct capture *c);
/* In the job's own process: standard output and error are the pipe. */
void capture_become(const struct capture *c);
/* In the processes around it: the job alone holds its end. */
void capture_hold(struct capture *c);
/* To be polled for reading; -1: not now, see capture_due_ms(); or c is NULL. */
int capture_fd(const struct capture *c);
/* When to call capture_read() though nothing can be read; INT64_MAX: never, or c is NULL. */
int64_t capture_due_ms(const struct capture *c);
/* Takes what there is, up to a bound. c may be NULL. */
void capture_read(struct capture *c);
/* No process of the job is left: takes the rest, which the journal gets a moment for. */
void capture_end(struct capture *c);

#endif
