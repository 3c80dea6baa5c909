/* zkleader_submit(), zkleader_read_job(), zkleader_cancel_job(): jobs of queues in the C API. */
#include "api/job_api.h"

#include <assert.h>
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>

#include "api/call.h"
#include "api/handle.h"
#include "base/clock.h"
#include "base/text/uuid_text.h"
#include "core/queue/job_id.h"
#include "wire/keys.h"
#include "wire/pack.h"

/* The sizes of the structs in the first release that had them. */
#define SUBMISSION_FIRST sizeof(struct zkleader_submission)
#define JOB_FIRST	 sizeof(struct zkleader_job)
#define ID_MS		 5000		       /* the sidecar draws an id by then, or we do */
#define AT_MAX		 INT64_C(253402300799) /* the last second of the year 9999 */

static_assert(ZKLEADER_JOB_ID_SIZE == JOB_ID_MAX + 1, "an id fits, and no more");

/* --- ids ------------------------------------------------------------------ */

static int new_id(const char *queue, char ret_id[ZKLEADER_JOB_ID_SIZE])
{
	struct job_id id = {.minute = clock_wall_ms() / JOB_MINUTE_MS};
	int e = uuid_text_new(id.uuid);

	if (e < 0)
		return e;
	memcpy(id.queue, queue, strlen(queue) + 1);
	job_id_format(&id, ret_id);
	return 0;
}

static int parse_submitted(struct reader r, char ret_id[ZKLEADER_JOB_ID_SIZE]);

int job_api_ask_id(struct zkleader *z, const char *queue, char id[ZKLEADER_JOB_ID_SIZE])
{
	struct reader result;
	struct request request;
	struct pack *p = request_begin(&request, 1);
	int e;

	pack_str(p, queue);
	e = request_call(z, "job_id", &request, ID_MS, &result);
	if (e == ZKLEADER_CANNOT_TELL || e == -ENOMEM)
		return e;
	if (e == 0)
		(void)parse_submitted(result, id);
	z->message[0] = '\0';
	return 0;
}

int job_api_id(const char *queue, const char *given, char ret_id[ZKLEADER_JOB_ID_SIZE],
	       char why[ZKLEADER_TEXT_SIZE])
{
	struct job_id id;

	if (!name_is_task(queue, strlen(queue))) {
		snprintf(why, ZKLEADER_TEXT_SIZE, "\"%s\" is not the name of a queue", queue);
		return ZKLEADER_MISUSE;
	}
	if (given[0] == '\0')
		return new_id(queue, ret_id);
	if (!job_id_parse(given, strnlen(given, ZKLEADER_JOB_ID_SIZE), &id)) {
		snprintf(why, ZKLEADER_TEXT_SIZE,
			 "\"%.*s\" is not the id of a job, which is QUEUE.MINUTE.UUID",
			 ZKLEADER_JOB_ID_SIZE, given);
		return ZKLEADER_MISUSE;
	}
	if (strcmp(id.queue, queue) != 0) {
		snprintf(why, ZKLEADER_TEXT_SIZE, "%s is the id of a job of %s, and not of %s",
			 given, id.queue, queue);
		return ZKLEADER_MISUSE;
	}
	job_id_format(&id, ret_id);
	return 0;
}

static bool is_id(const char *text)
{
	struct job_id id;

	return job_id_parse(text, strnlen(text, ZKLEADER_JOB_ID_SIZE), &id);
}

/* --- submitting ----------------------------------------------------------- */

static void pack_submission(struct request *request, const struct zkleader_submission *s,
			    const char *id)
{
	struct pack *p = request_begin(request, 2);
	char at[CLOCK_TEXT_SIZE];
	size_t map;

	pack_str(p, s->queue);
	map = pack_open(p);
	pack_kv_str(p, "id", id);
	pack_kv_bin(p, "payload", s->payload ? s->payload : "", s->payload ? s->len : 0);
	if (s->at_s > 0) {
		clock_format(s->at_s * 1000, at);
		pack_kv_str(p, "at", at);
	}
	if (s->in_ms > 0)
		pack_kv_int(p, "in_ms", s->in_ms);
	if (s->key)
		pack_kv_str(p, "key", s->key);
	if (s->callback)
		pack_kv_str(p, "callback", s->callback);
	if (s->while_open)
		pack_kv_str(p, "while", "open");
	pack_close(p, map);
}

/* Checks what needs no sidecar, before the request is packed. */
static int check_submission(struct zkleader *z, const struct zkleader_submission *s)
{
	if (s->at_s < 0 || s->at_s > AT_MAX || s->in_ms < 0)
		return handle_refuse(z, -EINVAL, "not a time to wait for");
	if (s->len <= ZKLEADER_PAYLOAD_MAX)
		return 0;
	handle_say(z,
		   "the payload has more than %d bytes: put it somewhere that the workers reach, "
		   "and submit where",
		   ZKLEADER_PAYLOAD_MAX);
	return ZKLEADER_MISUSE;
}

struct submitted {
	char id[ZKLEADER_JOB_ID_SIZE];
};

static const struct key submitted_keys[] = {
	MESSAGE_KEY("id", submitted, id, KEY_SHOWN, KEY_REQUIRED),
};
static const struct keys submitted_form = KEYS(submitted_keys, submitted, SIZE_MAX);

/*
 * Parses the answer: the id of the job, which may be an earlier one with the same key. 0 or
 * -EBADMSG.
 */
static int parse_submitted(struct reader r, char ret_id[ZKLEADER_JOB_ID_SIZE])
{
	struct submitted s;
	int e = keys_take(&r, &submitted_form, &s);

	if (e == 0 && !is_id(s.id))
		e = -EBADMSG;
	if (e == 0)
		memcpy(ret_id, s.id, sizeof(s.id));
	return e;
}

static int call_submit(struct zkleader *z, const struct zkleader_submission *s, int64_t timeout_ms,
		       char id[ZKLEADER_JOB_ID_SIZE])
{
	struct request request;
	struct reader result;
	int e;

	pack_submission(&request, s, id);
	e = request_call(z, "submit", &request, timeout_ms, &result);
	if (e != 0)
		return e;
	e = parse_submitted(result, id);
	return e < 0 ? handle_fail(z, e, timeout_ms) : 0;
}

int zkleader_submit(struct zkleader *z, const struct zkleader_submission *submission,
		    int64_t timeout_ms, char id[ZKLEADER_JOB_ID_SIZE])
{
	struct zkleader_submission s;
	char why[ZKLEADER_TEXT_SIZE];
	int e = handle_copy_in(&s, submission, sizeof(s), SUBMISSION_FIRST);

	z->message[0] = '\0';
	if (e < 0)
		return handle_refuse(z, e, "the submission has fields of a later release");
	e = check_submission(z, &s);
	if (e != 0)
		return e;
	bool drawn = id[0] == '\0';
	e = job_api_id(s.queue, id, id, why);
	if (e < 0)
		return handle_fail(z, e, 0);
	if (e > 0)
		return handle_refuse(z, e, why);
	if (drawn)
		e = job_api_ask_id(z, s.queue, id);
	return e != 0 ? e : call_submit(z, &s, timeout_ms, id);
}

/* --- reading a job -------------------------------------------------------- */

bool job_api_state_is_end(const char *state)
{
	static const char *const ends[] = {"ok", "dead", "lost", "cancelled"};

	for (size_t i = 0; i < sizeof(ends) / sizeof(ends[0]); i++)
		if (strcmp(state, ends[i]) == 0)
			return true;
	return false;
}

static int read_status(struct reader *r, void *to)
{
	int64_t status;

	if (reader_int(r, &status) < 0 || status < 0 || status > INT_MAX)
		return -EBADMSG;
	*(int *)to = (int)status;
	return 0;
}

/* Copies the job's output as it is: it may have many lines and any characters. */
static int read_output(struct reader *r, void *to)
{
	struct zkleader_job *job = to;
	struct reader_text text;

	if (reader_str(r, &text) < 0 || text.len >= sizeof(job->output))
		return -EBADMSG;
	memcpy(job->output, text.data, text.len);
	job->output[text.len] = '\0';
	job->output_len = text.len;
	return 0;
}

struct job_answer {
	struct zkleader_job is;
	struct reader_text id;
};

static const struct key job_keys[] = {
	MESSAGE_KEY("id", job_answer, id, KEY_BORROWED, KEY_REQUIRED),
	MESSAGE_KEY("state", job_answer, is.state, KEY_SHOWN, KEY_REQUIRED),
	MESSAGE_KEY("attempt", job_answer, is.attempt, KEY_INT, KEY_OPTIONAL, .min = INT64_MIN,
		    .max = INT64_MAX),
	MESSAGE_KEY("node", job_answer, is.node, KEY_SHOWN, KEY_OPTIONAL, .nil = true),
	MESSAGE_KEY("exit_status", job_answer, is.exit_status, KEY_CUSTOM, KEY_OPTIONAL,
		    .nil = true, .parse = read_status),
	MESSAGE_KEY("output", job_answer, is, KEY_CUSTOM, KEY_OPTIONAL, .nil = true,
		    .parse = read_output),
};
static const struct keys job_form = KEYS(job_keys, job_answer, SIZE_MAX);

static int parse_job(struct reader r, const char *id, struct zkleader_job *ret_job)
{
	struct job_answer job = {.is = {.exit_status = -1}};
	int e = keys_take(&r, &job_form, &job);

	if (e < 0)
		return e;
	if (!reader_text_is(job.id, id))
		return -EBADMSG;
	job.is.ended = job_api_state_is_end(job.is.state);
	job.is.ok = strcmp(job.is.state, "ok") == 0;
	*ret_job = job.is;
	return 0;
}

/* Calls a method that takes the id of a job and, if wait_ms is above 0, how long to wait. */
static int call_with_id(struct zkleader *z, const char *method, const char *id, int64_t wait_ms,
			int64_t timeout_ms, struct reader *ret_result)
{
	struct request request;

	if (!is_id(id)) {
		handle_refuse(z, 0, "that is not the id of a job, which is QUEUE.MINUTE.UUID");
		return ZKLEADER_MISUSE;
	}
	struct pack *p = request_begin(&request, wait_ms > 0 ? 2 : 1);
	pack_str(p, id);
	if (wait_ms > 0) {
		pack_map(p, 1);
		pack_kv_int(p, "wait_ms", wait_ms);
	}
	return request_call(z, method, &request, timeout_ms, ret_result);
}

int zkleader_read_job(struct zkleader *z, const char *id, int64_t wait_ms, int64_t timeout_ms,
		      struct zkleader_job *ret_job)
{
	int64_t most = timeout_ms / 10 * 9; /* the answer has to come in time */
	struct zkleader_job job;
	struct reader result;
	int e;

	z->message[0] = '\0';
	if (wait_ms < 0 || wait_ms > ZKLEADER_WAIT_MAX_MS)
		return handle_refuse(z, -EINVAL, "not a time to wait");
	e = call_with_id(z, "job", id, wait_ms < most ? wait_ms : most, timeout_ms, &result);
	if (e != 0)
		return e;
	e = parse_job(result, id, &job);
	if (e < 0)
		return handle_fail(z, e, timeout_ms);
	handle_copy_out(ret_job, &job, sizeof(job), JOB_FIRST);
	return 0;
}

struct cancelled {
	bool done;
};

static const struct key cancelled_keys[] = {
	MESSAGE_KEY("done", cancelled, done, KEY_BOOL, KEY_REQUIRED),
};
static const struct keys cancelled_form = KEYS(cancelled_keys, cancelled, SIZE_MAX);

int zkleader_cancel_job(struct zkleader *z, const char *id, int64_t timeout_ms, bool *ret_done)
{
	struct cancelled c;
	struct reader result;
	int e;

	z->message[0] = '\0';
	e = call_with_id(z, "cancel", id, 0, timeout_ms, &result);
	if (e != 0)
		return e;
	e = keys_take(&result, &cancelled_form, &c);
	if (e < 0)
		return handle_fail(z, e, timeout_ms);
	*ret_done = c.done;
	return 0;
}
