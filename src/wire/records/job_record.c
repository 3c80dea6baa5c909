#include "wire/records/job_record.h"

#include "wire/records/fields.h"

static const char *const states[] = {"queued", "running", "ok", "dead", "lost", "cancelled", NULL};

static bool has_payload(const void *record)
{
	return ((const struct job_record *)record)->payload != NULL;
}

static const struct key job_keys[] = {
	UTF8_KEY(job_record, id, KEY_REQUIRED, "not the id of a job"),
	TEXT_KEY(job_record, queue, KEY_REQUIRED, name_is_task, "not the name of a queue"),
	WORD_KEY(job_record, state, KEY_REQUIRED, states,
		 "not one of queued, running, ok, dead, lost, cancelled"),
	INT_KEY(job_record, attempt, KEY_REQUIRED, 0, INT32_MAX, NOT_NUMBER),
	INT_KEY(job_record, base, KEY_OPTIONAL, 0, INT32_MAX, NOT_NUMBER),
	UTF8_KEY(job_record, key, KEY_OPTIONAL, NOT_TEXT),
	UTF8_KEY(job_record, callback, KEY_OPTIONAL, "not a string of at most 1000 bytes of UTF-8"),
	UTF8_KEY(job_record, by, KEY_REQUIRED, NOT_TEXT),
	TEXT_KEY(job_record, host, KEY_REQUIRED, name_is_host, NOT_HOST),
	TIME_KEY(job_record, submitted, KEY_REQUIRED),
	TIME_KEY(job_record, due, KEY_REQUIRED),
	TIME_KEY(job_record, started, KEY_OPTIONAL),
	TIME_KEY(job_record, ended, KEY_OPTIONAL),
	UTF8_KEY(job_record, node, KEY_OPTIONAL, NOT_NODE),
	STATUS_KEY(job_record, exit_status),
	UTF8_KEY(job_record, why, KEY_OPTIONAL, NOT_WHY),
	UTF8_KEY(job_record, detail, KEY_OPTIONAL, NOT_TEXT),
	BOOL_KEY(job_record, purged, KEY_OPTIONAL),
	BYTES_KEY(job_record, output, KEY_OPTIONAL, RECORD_OUTPUT_MAX, NOT_OUTPUT),
	BYTES_KEY(job_record, payload, KEY_OPTIONAL, JOB_PAYLOAD_MAX, "not at most 16384 bytes",
		  .is_there = has_payload),
};
RECORD_DEFINE(job, job_record, job_keys, RECORD_JOB_MAX)

static const struct key at_keys[] = {
	INT_KEY(at_record, session, KEY_REQUIRED, INT64_MIN, INT64_MAX, "not an int64"),
	TEXT_KEY(at_record, worker, KEY_REQUIRED, name_is_id, NOT_ID),
	BOOL_KEY(at_record, cancelled, KEY_OPTIONAL),
	INT_KEY(at_record, attempt, KEY_OPTIONAL, 0, INT32_MAX, NOT_NUMBER),
};
RECORD_DEFINE(at, at_record, at_keys, RECORD_AT_MAX)
