/* The records of jobs: ROOT/jobs/Q/job/MINUTE/X/UUID, and what points to them. */
#ifndef ZKLEADER_WIRE_JOB_RECORD_H
#define ZKLEADER_WIRE_JOB_RECORD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buffer.h"
#include "base/name.h"
#include "base/worker.h"
#include "wire/record.h"

#define RECORD_JOB_MAX	 (32 * 1024) /* bytes */
#define RECORD_AT_MAX	 1024
#define JOB_STATE_MAX	 9   /* "queued" "running" "ok" "dead" "lost" "cancelled" */
#define JOB_KEY_MAX	 200 /* bytes */
#define JOB_CALLBACK_MAX 1000
#define JOB_PAYLOAD_MAX	 16384

struct job_record {
	char id[200]; /* QUEUE.MINUTE.UUID */
	char queue[NAME_TASK_MAX + 1];
	char state[JOB_STATE_MAX + 1]; /* "assigned" is never written: `at` says so */
	int64_t attempt;	       /* that has begun last; 0: none yet */
	int64_t base;		   /* attempts that do not count any more, since it was requeued */
	char key[JOB_KEY_MAX + 1]; /* "": none */
	char callback[JOB_CALLBACK_MAX + 1]; /* "": none */
	char by[POLICY_TEXT_MAX + 1];
	char host[NAME_HOST_MAX + 1];
	int64_t submitted, due, started, ended; /* ms since the epoch; 0: not yet */
	char node[WORKER_NODE_MAX + 1];		/* "": none */
	int64_t exit_status;			/* -1: none */
	/* Any bytes; borrowed: parsed, from what was parsed. */
	const char *output, *payload; /* the payload until it has ended; NULL: none */
	size_t output_len, payload_len;
};

/* ROOT/jobs/Q/at/NODE/ID: to whom it was given. */
struct at_record {
	int64_t session;
	char worker[NAME_ID_MAX + 1];
	bool cancelled;	 /* while it runs */
	int64_t attempt; /* of a callback's delivery */
};

/* Appends to out; 0 or -ENOBUFS. */
int record_pack_job(struct buffer *out, const struct job_record *j);
int record_pack_at(struct buffer *out, const struct at_record *a);
/* As the others (wire/record.h): 0, or -EBADMSG and *ret_why. */
int record_parse_job(const void *data, size_t len, struct job_record *ret_job,
		     const char **ret_why);
int record_parse_at(const void *data, size_t len, struct at_record *ret_at, const char **ret_why);

#endif
