#include "wire/record.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "wire/pack.h"
#include "wire/reader.h"

#define TIME_MAX_MS INT64_C(253402300799999) /* the end of 9999, the last year of RFC 3339 */

/* What a key of a record holds, and where it goes in the struct. */
enum kind { KIND_TEXT, KIND_INT, KIND_RANDOM_INTS, KIND_TASKS };

struct key {
	const char *name;
	enum kind kind;
	bool optional;
	size_t offset;
	size_t size;			       /* KIND_TEXT: of the array */
	bool (*is_good)(const char *, size_t); /* KIND_TEXT */
	int64_t min, max;		       /* KIND_INT */
	const char *missing;
	const char *repeated;
	const char *wrong;
};

/* Constant texts, so that an error can be kept and printed without being owned by anybody. */
#define WHY(key, text) \
	.missing = key ": missing", .repeated = key ": repeated", .wrong = key ": " text

#define TEXT(type, key, check, text)                                                            \
	{                                                                                       \
		.name = #key, .kind = KIND_TEXT, .offset = offsetof(struct type, key),          \
		.size = sizeof(((struct type *)NULL)->key), .is_good = (check), WHY(#key, text) \
	}
#define TIME(type, key)                                                               \
	{                                                                             \
		.name = #key, .kind = KIND_INT, .offset = offsetof(struct type, key), \
		.max = TIME_MAX_MS,                                                   \
		WHY(#key, "not milliseconds since the epoch, before the year 10000")  \
	}

#define NOT_ID	    "not a string of 1 to 64 letters, digits and hyphens"
#define NOT_VERSION "not a string of 1 to 255 printable ASCII characters, no space at its ends"
#define NOT_HOST    "not a string of 1 to 255 printable ASCII characters"
#define NOT_IP	    "not a string with an IPv4 or IPv6 address"

static bool is_state(const char *text, size_t len)
{
	static const char *const states[] = {"running", "ok", "failed", "lost", "claimed"};

	for (size_t i = 0; i < sizeof(states) / sizeof(states[0]); i++)
		if (len == strlen(states[i]) && memcmp(text, states[i], len) == 0)
			return true;
	return false;
}

static const struct key worker_keys[] = {
	TEXT(worker, id, name_is_id, NOT_ID),
	TEXT(worker, version, name_is_version, NOT_VERSION),
	TEXT(worker, ip, name_is_ip, NOT_IP),
	{.name = "random_ints",
	 .kind = KIND_RANDOM_INTS,
	 .offset = offsetof(struct worker, random_ints),
	 WHY("random_ints", "not an array of 5 int32")},
	TEXT(worker, hostname, name_is_host, NOT_HOST),
	{.name = "tasks",
	 .kind = KIND_TASKS,
	 WHY("tasks", "not an array of at most 10000 task names")},
	TIME(worker, started_at),
	{.name = "timeout_ms",
	 .kind = KIND_INT,
	 .optional = true,
	 .offset = offsetof(struct worker, timeout_ms),
	 .max = INT32_MAX,
	 WHY("timeout_ms", "not milliseconds from 0 to 2147483647")},
};

static const struct key leader_keys[] = {
	TEXT(leader_record, id, name_is_id, NOT_ID),
	TEXT(leader_record, ip, name_is_ip, NOT_IP),
	TEXT(leader_record, hostname, name_is_host, NOT_HOST),
	TEXT(leader_record, version, name_is_version, NOT_VERSION),
	TIME(leader_record, since),
};

#define NUMBER(key, is_optional, least, most, text)                                         \
	{                                                                                   \
		.name = #key, .kind = KIND_INT, .offset = offsetof(struct run_record, key), \
		.optional = (is_optional), .min = (least), .max = (most), WHY(#key, text)   \
	}

static const struct key run_keys[] = {
	TEXT(run_record, state, is_state, "not one of running, ok, failed, lost, claimed"),
	TEXT(run_record, id, name_is_id, NOT_ID),
	TEXT(run_record, hostname, name_is_host, NOT_HOST),
	{.name = "run",
	 .kind = KIND_TEXT,
	 .optional = true,
	 .offset = offsetof(struct run_record, run),
	 .size = sizeof(((struct run_record *)NULL)->run),
	 .is_good = name_is_id,
	 WHY("run", NOT_ID)},
	NUMBER(session, true, 1, INT64_MAX, "not a positive integer"),
	NUMBER(token, false, 1, INT64_MAX, "not a positive integer"),
	NUMBER(attempt, false, 1, INT32_MAX, "not a positive integer"),
	TIME(run_record, started_at),
	NUMBER(ended_at, true, 0, TIME_MAX_MS, "not milliseconds since the epoch"),
	NUMBER(exit_status, true, 0, 255, "not a number from 0 to 255"),
};

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

static int parse_text(struct reader *r, const struct key *key, char *text)
{
	struct reader_text t;
	int e = reader_str(r, &t);

	if (e < 0)
		return e;
	if (!key->is_good(t.data, t.len))
		return -EBADMSG;
	return reader_text_copy(t, text, key->size);
}

static int parse_int(struct reader *r, int64_t min, int64_t max, int64_t *ret_value)
{
	int64_t value;
	int e = reader_int(r, &value);

	if (e < 0)
		return e;
	if (value < min || value > max)
		return -EBADMSG;
	*ret_value = value;
	return 0;
}

static int parse_random_ints(struct reader *r, int32_t *ints)
{
	size_t n;
	int e = reader_array(r, &n);

	if (e < 0)
		return e;
	if (n != WORKER_RANDOM_INTS)
		return -EBADMSG;
	for (size_t i = 0; i < n; i++) {
		int64_t value;

		e = parse_int(r, INT32_MIN, INT32_MAX, &value);
		if (e < 0)
			return e;
		ints[i] = (int32_t)value;
	}
	return 0;
}

static int parse_names(struct reader *r, char **names, size_t n, size_t *n_done)
{
	for (size_t i = 0; i < n; i++) {
		struct reader_text t;
		int e = reader_str(r, &t);

		if (e < 0)
			return e;
		if (!name_is_task(t.data, t.len))
			return -EBADMSG;
		names[i] = mem_strndup(t.data, t.len);
		*n_done = i + 1;
	}
	return 0;
}

static int parse_tasks(struct reader *r, struct worker *w)
{
	size_t n_done = 0;
	char **names;
	size_t n;
	int e = reader_array(r, &n);

	if (e < 0)
		return e;
	if (n > WORKER_TASKS_MAX)
		return -EBADMSG;
	names = mem_calloc(n, sizeof(names[0]));
	e = parse_names(r, names, n, &n_done);
	/* Also the names before a bad one: they go with the worker, which the caller gives up. */
	worker_take_tasks(w, names, n_done);
	return e;
}

static int parse_value(struct reader *r, const struct key *key, void *record)
{
	void *field = (char *)record + key->offset;

	switch (key->kind) {
	case KIND_TEXT: return parse_text(r, key, field);
	case KIND_INT: return parse_int(r, key->min, key->max, field);
	case KIND_RANDOM_INTS: return parse_random_ints(r, field);
	case KIND_TASKS: return parse_tasks(r, record);
	}
	return -EBADMSG;
}

/* The index of the next key, n_keys for one that is not known. */
static int parse_key(struct reader *r, const struct key *keys, size_t n_keys, size_t *ret_index)
{
	struct reader_text name;
	size_t i = 0;

	if (reader_str(r, &name) < 0) {
		*ret_index = n_keys;
		return reader_skip(r);
	}
	while (i < n_keys && !reader_text_is(name, keys[i].name))
		i++;
	*ret_index = i;
	return 0;
}

/* The whole data is one map: its reader at the first key, and the number of pairs. */
static int open_map(const void *data, size_t len, size_t max, struct reader *r, size_t *ret_n,
		    const char **ret_why)
{
	const char *why = NULL;
	size_t size = 0;
	int e;

	if (len == 0)
		why = "the record is empty";
	else if (len > max)
		why = "the record is too long";
	if (why) {
		*ret_why = why;
		return -EBADMSG;
	}
	reader_init(r, data, len);
	/* Known to be whole from here on, so what fails later is of the wrong kind and not cut off. */
	e = reader_measure(data, len, SIZE_MAX, &size);
	if (e == 0)
		why = "the record ends too early";
	else if (e == -EMSGSIZE)
		why = "the record is nested too deeply";
	else if (e < 0)
		why = "the record is not MessagePack";
	else if (size != len)
		why = "bytes follow the record";
	else if (reader_map(r, ret_n) < 0)
		why = "the record is not a map";
	if (!why)
		return 0;
	*ret_why = why;
	return -EBADMSG;
}

static int parse_record(const void *data, size_t len, size_t max, const struct key *keys,
			size_t n_keys, void *record, const char **ret_why)
{
	unsigned seen = 0;
	struct reader r;
	size_t n;
	int e = open_map(data, len, max, &r, &n, ret_why);

	if (e < 0)
		return e;
	for (; n > 0; n--) {
		size_t i;

		if (parse_key(&r, keys, n_keys, &i) < 0 || (i == n_keys && reader_skip(&r) < 0)) {
			*ret_why = "the record is not MessagePack";
			return -EBADMSG;
		}
		if (i == n_keys)
			continue;
		if (seen & 1U << i) {
			*ret_why = keys[i].repeated;
			return -EBADMSG;
		}
		seen |= 1U << i;
		if (parse_value(&r, &keys[i], record) < 0) {
			*ret_why = keys[i].wrong;
			return -EBADMSG;
		}
	}
	for (size_t i = 0; i < n_keys; i++) {
		if (!keys[i].optional && !(seen & 1U << i)) {
			*ret_why = keys[i].missing;
			return -EBADMSG;
		}
	}
	return 0;
}

int record_parse_worker(const void *data, size_t len, struct worker **ret_worker,
			const char **ret_why)
{
	struct worker *w = worker_new();
	int e = parse_record(data, len, RECORD_WORKER_MAX, worker_keys, COUNT(worker_keys), w,
			     ret_why);

	if (e < 0) {
		worker_free(w);
		return e;
	}
	*ret_worker = w;
	return 0;
}

int record_parse_leader(const void *data, size_t len, struct leader_record *ret_leader,
			const char **ret_why)
{
	struct leader_record l = {0};
	int e = parse_record(data, len, RECORD_LEADER_MAX, leader_keys, COUNT(leader_keys), &l,
			     ret_why);

	if (e < 0)
		return e;
	*ret_leader = l;
	return 0;
}

int record_parse_run(const void *data, size_t len, struct run_record *ret_run, const char **ret_why)
{
	struct run_record r = {.exit_status = -1};
	int e = parse_record(data, len, RECORD_RUN_MAX, run_keys, COUNT(run_keys), &r, ret_why);

	if (e < 0)
		return e;
	*ret_run = r;
	return 0;
}

/* Takes back what was appended since `before`, if it is not to be. */
static int finish(struct pack *p, size_t before, size_t max)
{
	if (!p->failed && p->buffer->len - before <= max)
		return 0;
	buffer_truncate(p->buffer, before);
	return -ENOBUFS;
}

int record_pack_worker(struct buffer *out, const struct worker *w)
{
	size_t before = out->len;
	struct pack p;

	pack_init(&p, out);
	pack_map(&p, w->timeout_ms > 0 ? 8 : 7);
	pack_kv_str(&p, "id", w->id);
	pack_kv_str(&p, "version", w->version);
	pack_kv_str(&p, "ip", w->ip);
	pack_str(&p, "random_ints");
	pack_array(&p, WORKER_RANDOM_INTS);
	for (size_t i = 0; i < WORKER_RANDOM_INTS; i++)
		pack_int(&p, w->random_ints[i]);
	pack_kv_str(&p, "hostname", w->hostname);
	pack_str(&p, "tasks");
	pack_array(&p, w->n_tasks);
	for (size_t i = 0; i < w->n_tasks; i++)
		pack_str(&p, w->tasks[i]);
	pack_kv_int(&p, "started_at", w->started_at);
	if (w->timeout_ms > 0)
		pack_kv_int(&p, "timeout_ms", w->timeout_ms);
	return finish(&p, before, RECORD_WORKER_MAX);
}

int record_pack_leader(struct buffer *out, const struct leader_record *l)
{
	size_t before = out->len;
	struct pack p;

	pack_init(&p, out);
	pack_map(&p, 5);
	pack_kv_str(&p, "id", l->id);
	pack_kv_str(&p, "ip", l->ip);
	pack_kv_str(&p, "hostname", l->hostname);
	pack_kv_str(&p, "version", l->version);
	pack_kv_int(&p, "since", l->since);
	return finish(&p, before, RECORD_LEADER_MAX);
}

int record_pack_run(struct buffer *out, const struct run_record *r)
{
	size_t before = out->len, n = 6;
	struct pack p;

	n += r->run[0] != '\0';
	n += r->session > 0;
	n += r->ended_at > 0;
	n += r->exit_status >= 0;
	pack_init(&p, out);
	pack_map(&p, n);
	pack_kv_str(&p, "state", r->state);
	pack_kv_str(&p, "id", r->id);
	pack_kv_str(&p, "hostname", r->hostname);
	pack_kv_int(&p, "token", r->token);
	pack_kv_int(&p, "attempt", r->attempt);
	pack_kv_int(&p, "started_at", r->started_at);
	if (r->run[0])
		pack_kv_str(&p, "run", r->run);
	if (r->session > 0)
		pack_kv_int(&p, "session", r->session);
	if (r->ended_at > 0)
		pack_kv_int(&p, "ended_at", r->ended_at);
	if (r->exit_status >= 0)
		pack_kv_int(&p, "exit_status", r->exit_status);
	return finish(&p, before, RECORD_RUN_MAX);
}
