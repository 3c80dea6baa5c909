/*
 * A program that submits jobs by the C API, as an application would. Prints what it is told.
 *
 *	job_client submit TIMEOUT_MS ID QUEUE < PAYLOAD     ID: "" for a new one
 *	job_client read ID WAIT_MS
 *	job_client cancel ID
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <zkleader.h>

#define LONG_MS 60000

static int submit(struct zkleader *z, char **args)
{
	static unsigned char payload[ZKLEADER_PAYLOAD_MAX + 1];
	char id[ZKLEADER_JOB_ID_SIZE];
	struct zkleader_submission job = {
		.size = sizeof(job), .queue = args[2], .payload = payload};
	int e;

	snprintf(id, sizeof(id), "%s", args[1]);
	job.len = fread(payload, 1, sizeof(payload), stdin);
	e = zkleader_submit(z, &job, atoi(args[0]), id);
	puts(id);
	return e;
}

static int read_job(struct zkleader *z, char **args)
{
	struct zkleader_job job = {.size = sizeof(job)};
	int e = zkleader_read_job(z, args[0], atoi(args[1]), LONG_MS, &job);

	if (e != 0)
		return e;
	printf("%s %d %d %" PRId64 " %d %s\n", job.state, job.ended, job.ok, job.attempt,
	       job.exit_status, job.node);
	fwrite(job.output, 1, job.output_len, stdout);
	return 0;
}

static int cancel(struct zkleader *z, char **args)
{
	bool done = false;
	int e = zkleader_cancel_job(z, args[0], LONG_MS, &done);

	if (e == 0)
		puts(done ? "cancelled" : "has ended");
	return e;
}

int main(int argc, char **argv)
{
	struct zkleader *z;
	int e = argc > 2 ? zkleader_open(NULL, &z) : -1;

	if (e != 0)
		return 99;
	if (strcmp(argv[1], "submit") == 0)
		e = submit(z, argv + 2);
	else if (strcmp(argv[1], "read") == 0)
		e = read_job(z, argv + 2);
	else
		e = cancel(z, argv + 2);
	fprintf(stderr, "%s\n", zkleader_message(z));
	zkleader_close(z);
	return e < 0 ? 100 - e : e; /* an errno behind 100 */
}
