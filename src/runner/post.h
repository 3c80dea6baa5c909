/*
 * A job that is posted to a URL, or the end of one: one request, in a process of its own, which is
 * killed at the end of its lease with the connection that it has.
 */
#ifndef ZKLEADER_RUNNER_POST_H
#define ZKLEADER_RUNNER_POST_H

#include <stddef.h>
#include <stdint.h>

#include "supervise/job.h"

struct post {
	const char *url;
	const char *refused; /* why it must not be sent; NULL: it may */
	const char *type;    /* of the body: Content-Type */
	const void *body;
	size_t len;
	const char *job;
	int64_t attempt, token;
	struct job_delivery *delivery; /* the outcome */
};

/*
 * Sends the request, writes the body of the answer to standard output, and then what went wrong.
 * Returns the exit code of the process: 0 if the job was taken.
 */
int post_send(void *post);

#endif
