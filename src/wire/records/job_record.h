/* The records of the jobs of queues: ROOT/jobs/Q/job/MINUTE/X/UUID, and of their assignments. */
#ifndef ZKLEADER_WIRE_RECORDS_JOB_RECORD_H
#define ZKLEADER_WIRE_RECORDS_JOB_RECORD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/text/name.h"
#include "base/text/worker.h"
#include "wire/keys.h"
#include "wire/records/record.h"

#define RECORD_JOB_MAX	 (32 * 1024) /* bytes */
#define RECORD_AT_MAX	 1024
#define JOB_STATE_MAX	 9   /* "queued" "running" "ok" "dead" "lost" "cancelled" */
#define JOB_KEY_MAX	 200 /* bytes */
#define JOB_CALLBACK_MAX 1000
#define JOB_PAYLOAD_MAX	 16384

struct job_record {
	char id[200]; /* QUEUE.MINUTE.UUID */
	char queue[NAME_TASK_MAX + 1];
	char state[JOB_STATE_MAX + 1]; /* "assigned" is never written: an at_record says so */
	int64_t attempt;	       /* the last attempt that has begun; 0: none yet */
	int64_t base;		       /* attempts before it was requeued, which do not count */
	char key[JOB_KEY_MAX + 1];     /* "": none */
	char callback[JOB_CALLBACK_MAX + 1]; /* "": none */
	char by[POLICY_TEXT_MAX + 1];
	char host[NAME_HOST_MAX + 1];
	int64_t submitted, due, started, ended; /* ms since the epoch; 0: not yet */
	char node[WORKER_NODE_MAX + 1];		/* "": none */
	int64_t exit_status;			/* -1: none */
	/*
	 * Why the last attempt did not end well, as in a run's record; "": it did, or it goes on.
	 */
	char why[RECORD_WHY_MAX + 1], detail[RECORD_DETAIL_MAX + 1];
	/* Only the trace of a purged job is left, so that no job of that id is made again. */
	bool purged;
	/* Any bytes, borrowed. In a parsed record they point into the data that was parsed. */
	const char *output, *payload; /* NULL: none; an ended job has no payload */
	size_t output_len, payload_len;
};

/* ROOT/jobs/Q/at/NODE/ID: the worker to which a job is assigned. */
struct at_record {
	int64_t session;
	char worker[NAME_ID_MAX + 1];
	bool cancelled;	 /* the job was cancelled while it was running */
	int64_t attempt; /* attempt to deliver the job's callback */
};

RECORD_DECLARE(job, job_record);
RECORD_DECLARE(at, at_record);
#endif
