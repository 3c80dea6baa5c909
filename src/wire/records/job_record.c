#include "wire/records/job_record.h"

#include <errno.h>
#include <string.h>

#include "base/text/utf8.h"
#include "wire/keys.h"
#include "wire/pack.h"

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

#define TIME_MAX_MS  INT64_C(253402300799999) /* the end of 9999 */

/* Takes back what was appended since `before`, if it is not to be. */
static int finish(const struct pack *p, size_t before, size_t max)
{
	if (p->failed == 0 && p->buffer->len - before <= max)
		return 0;
	buffer_truncate(p->buffer, before);
	return -ENOBUFS;
}

/* --- jobs ----------------------------------------------------------------- */

static bool is_state(const char *text, size_t len)
{
	static const char *const states[] = {"queued", "running", "ok",
					     "dead",   "lost",	  "cancelled"};

	for (size_t i = 0; i < COUNT(states); i++)
		if (len == strlen(states[i]) && memcmp(text, states[i], len) == 0)
			return true;
	return false;
}

static bool is_text(const char *text, size_t len)
{
	return utf8_is_valid(text, len) && !memchr(text, '\0', len);
}

static int parse_bytes(struct reader *r, size_t max, const char **ret_bytes, size_t *ret_len)
{
	struct reader_text bytes;
	int e = reader_bin(r, &bytes);

	if (e < 0)
		return e;
	if (bytes.len > max)
		return -EBADMSG;
	*ret_bytes = bytes.data;
	*ret_len = bytes.len;
	return 0;
}

static int parse_output(struct reader *r, void *record)
{
	struct job_record *j = record;

	return parse_bytes(r, RECORD_OUTPUT_MAX, &j->output, &j->output_len);
}

static int parse_payload(struct reader *r, void *record)
{
	struct job_record *j = record;

	return parse_bytes(r, JOB_PAYLOAD_MAX, &j->payload, &j->payload_len);
}

#define TEXT(key, is_optional, check, text)                                           \
	{                                                                             \
		.name = #key, .kind = KEY_TEXT, .optional = (is_optional),            \
		.offset = offsetof(struct job_record, key),                           \
		.size = sizeof(((struct job_record *)NULL)->key), .is_good = (check), \
		KEY_WHY(#key, text)                                                   \
	}
#define INT(key, is_optional, most, text)                                                          \
	{                                                                                          \
		.name = #key, .kind = KEY_INT, .optional = (is_optional), .min = 0, .max = (most), \
		.offset = offsetof(struct job_record, key), KEY_WHY(#key, text)                    \
	}
#define NOT_TIME "not milliseconds since the epoch, before the year 10000"

static const struct key job_keys[] = {
	TEXT(id, false, is_text, "not the id of a job"),
	TEXT(queue, false, name_is_task, "not the name of a queue"),
	TEXT(state, false, is_state, "not one of queued, running, ok, dead, lost, cancelled"),
	INT(attempt, false, INT32_MAX, "not a number from 0 to 2147483647"),
	INT(base, true, INT32_MAX, "not a number from 0 to 2147483647"),
	TEXT(key, true, is_text, "not a string of at most 200 bytes of UTF-8"),
	TEXT(callback, true, is_text, "not a string of at most 1000 bytes of UTF-8"),
	TEXT(by, false, is_text, "not a string of at most 200 bytes of UTF-8"),
	TEXT(host, false, name_is_host, "not a string of 1 to 255 printable ASCII characters"),
	INT(submitted, false, TIME_MAX_MS, NOT_TIME),
	INT(due, false, TIME_MAX_MS, NOT_TIME),
	INT(started, true, TIME_MAX_MS, NOT_TIME),
	INT(ended, true, TIME_MAX_MS, NOT_TIME),
	TEXT(node, true, is_text, "not a string of at most 400 bytes of UTF-8"),
	INT(exit_status, true, 255, "not a number from 0 to 255"),
	TEXT(why, true, is_text, "not a string of at most 15 bytes of UTF-8"),
	TEXT(detail, true, is_text, "not a string of at most 200 bytes of UTF-8"),
	{.name = "purged",
	 .kind = KEY_BOOL,
	 .optional = true,
	 .offset = offsetof(struct job_record, purged),
	 KEY_WHY("purged", "neither true nor false")},
	{.name = "output",
	 .kind = KEY_CUSTOM,
	 .optional = true,
	 .parse = parse_output,
	 KEY_WHY("output", "not at most 2048 bytes")},
	{.name = "payload",
	 .kind = KEY_CUSTOM,
	 .optional = true,
	 .parse = parse_payload,
	 KEY_WHY("payload", "not at most 16384 bytes")},
};

int record_parse_job(const void *data, size_t len, struct job_record *ret_job, const char **ret_why)
{
	struct job_record j = {.exit_status = -1};
	int e = keys_parse(data, len, RECORD_JOB_MAX, job_keys, COUNT(job_keys), &j, ret_why);

	if (e < 0)
		return e;
	*ret_job = j;
	return 0;
}

/* Those that every record has, and those that say something. */
static size_t pairs(const struct job_record *j)
{
	size_t n = 8;

	n += j->base > 0;
	n += j->key[0] != '\0';
	n += j->callback[0] != '\0';
	n += j->started > 0;
	n += j->ended > 0;
	n += j->node[0] != '\0';
	n += j->exit_status >= 0;
	n += j->why[0] != '\0';
	n += j->detail[0] != '\0';
	n += j->purged;
	n += j->output_len > 0;
	n += j->payload != NULL;
	return n;
}

int record_pack_job(struct buffer *out, const struct job_record *j)
{
	size_t before = out->len;
	struct pack p;

	pack_init(&p, out);
	pack_map(&p, pairs(j));
	pack_kv_str(&p, "id", j->id);
	pack_kv_str(&p, "queue", j->queue);
	pack_kv_str(&p, "state", j->state);
	pack_kv_int(&p, "attempt", j->attempt);
	if (j->base > 0)
		pack_kv_int(&p, "base", j->base);
	if (j->key[0])
		pack_kv_str(&p, "key", j->key);
	if (j->callback[0])
		pack_kv_str(&p, "callback", j->callback);
	pack_kv_str(&p, "by", j->by);
	pack_kv_str(&p, "host", j->host);
	pack_kv_int(&p, "submitted", j->submitted);
	pack_kv_int(&p, "due", j->due);
	if (j->started > 0)
		pack_kv_int(&p, "started", j->started);
	if (j->ended > 0)
		pack_kv_int(&p, "ended", j->ended);
	if (j->node[0])
		pack_kv_str(&p, "node", j->node);
	if (j->exit_status >= 0)
		pack_kv_int(&p, "exit_status", j->exit_status);
	if (j->why[0])
		pack_kv_str(&p, "why", j->why);
	if (j->detail[0])
		pack_kv_str(&p, "detail", j->detail);
	if (j->purged)
		pack_kv_bool(&p, "purged", true);
	if (j->output_len > 0)
		pack_kv_bin(&p, "output", j->output, j->output_len);
	if (j->payload)
		pack_kv_bin(&p, "payload", j->payload, j->payload_len);
	return finish(&p, before, RECORD_JOB_MAX);
}

/* --- assignments ---------------------------------------------------------- */

static const struct key at_keys[] = {
	{.name = "session",
	 .kind = KEY_INT,
	 .offset = offsetof(struct at_record, session),
	 .min = INT64_MIN,
	 .max = INT64_MAX,
	 KEY_WHY("session", "not an int64")},
	{.name = "worker",
	 .kind = KEY_TEXT,
	 .offset = offsetof(struct at_record, worker),
	 .size = sizeof(((struct at_record *)NULL)->worker),
	 .is_good = name_is_id,
	 KEY_WHY("worker", "not a string of 1 to 64 letters, digits and hyphens")},
	{.name = "cancelled",
	 .kind = KEY_BOOL,
	 .optional = true,
	 .offset = offsetof(struct at_record, cancelled),
	 KEY_WHY("cancelled", "neither true nor false")},
	{.name = "attempt",
	 .kind = KEY_INT,
	 .optional = true,
	 .offset = offsetof(struct at_record, attempt),
	 .min = 0,
	 .max = INT32_MAX,
	 KEY_WHY("attempt", "not a number from 0 to 2147483647")},
};

int record_parse_at(const void *data, size_t len, struct at_record *ret_at, const char **ret_why)
{
	struct at_record a = {.session = 0};
	int e = keys_parse(data, len, RECORD_AT_MAX, at_keys, COUNT(at_keys), &a, ret_why);

	if (e < 0)
		return e;
	*ret_at = a;
	return 0;
}

int record_pack_at(struct buffer *out, const struct at_record *a)
{
	size_t before = out->len;
	struct pack p;

	pack_init(&p, out);
	pack_map(&p, 2 + (size_t)a->cancelled + (a->attempt > 0));
	pack_kv_int(&p, "session", a->session);
	pack_kv_str(&p, "worker", a->worker);
	if (a->cancelled)
		pack_kv_bool(&p, "cancelled", true);
	if (a->attempt > 0)
		pack_kv_int(&p, "attempt", a->attempt);
	return finish(&p, before, RECORD_AT_MAX);
}
