/*
 * Captures the output of a job that was started by a schedule or a queue. Each line goes to the
 * journal, with the task and the tick, or the queue and the job, as fields, or to standard error.
 * The end of the output is kept for the record of the run. One pipe is the job's standard output
 * and error, and the guard reads it. No function blocks but capture_end().
 */
#ifndef ZKLEADER_SUPERVISE_CAPTURE_H
#define ZKLEADER_SUPERVISE_CAPTURE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "supervise/tail.h"

#define CAPTURE_LINE_MAX 2000 /* bytes; a longer line comes in pieces */

/* The names of the journal's fields that identify the job. */
struct capture_fields {
	const char *name, *id;
};

struct capture {
	struct capture_fields fields; /* by default those of a task and its tick */
	const char *name, *id;	      /* borrowed */
	const char *journal;	      /* path of the journal's socket; NULL: standard error */
	int to;			      /* descriptor: the journal's socket, or standard error */
	int from;		      /* the reading end of the pipe, non-blocking */
	int into;		      /* the writing end; -1: closed in this process */
	struct tail *tail;
	char data[CAPTURE_LINE_MAX]; /* the bytes last read; at..n are still to be handled */
	size_t at, n;
	char line[CAPTURE_LINE_MAX];
	size_t len;
	bool whole;	  /* the line is complete, and not yet written */
	int64_t retry_ms; /* CLOCK_BOOTTIME: no read before; 0: no delay */
};

/* 0, or a negative errno. The texts and the path are borrowed. */
int capture_init(struct capture *c, const char *name, const char *id, const char *journal);
/* Makes a pipe for the output of the next job. 0, or a negative errno. */
int capture_begin(struct capture *c);
/* Closes the pipe after the job. */
void capture_close(struct capture *c);
void capture_done(struct capture *c);
/* Makes the pipe the standard output and error of the job's own process, which calls this. */
void capture_become(const struct capture *c);
/* Closes the writing end in the supervisors, so that only the job holds it. */
void capture_hold(struct capture *c);
/* The descriptor to poll for reading; -1: not now, see capture_due_ms(), or c is NULL. */
int capture_fd(const struct capture *c);
/* When to call capture_read() even if nothing is readable; INT64_MAX: never, or c is NULL. */
int64_t capture_due_ms(const struct capture *c);
/* Reads what is available, up to a bound. c may be NULL. */
void capture_read(struct capture *c);
/* Reads the rest after the end of all processes of the job, and waits briefly for the journal. */
void capture_end(struct capture *c);

#endif
