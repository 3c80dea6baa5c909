#include "wire/records/record.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/text/utf8.h"
#include "wire/keys.h"
#include "wire/pack.h"
#include "wire/records/worker_queues.h"

#define TIME_MAX_MS INT64_C(253402300799999) /* the end of 9999, the last year of RFC 3339 */

/* --- values of a kind of their own ---------------------------------------- */

static int parse_random_ints(struct reader *r, void *record)
{
	int32_t *ints = ((struct worker *)record)->random_ints;
	size_t n;
	int e = reader_array(r, &n);

	if (e < 0)
		return e;
	if (n != WORKER_RANDOM_INTS)
		return -EBADMSG;
	for (size_t i = 0; i < n; i++) {
		int64_t value;

		e = keys_parse_int(r, INT32_MIN, INT32_MAX, &value);
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

/* The names before a bad one are passed out too: whoever gives the record up frees them. */
static int parse_name_list(struct reader *r, size_t max, char ***ret_names, size_t *ret_n)
{
	char **names;
	size_t n;
	int e = reader_array(r, &n);

	*ret_n = 0;
	if (e < 0)
		return e;
	if (n > max)
		return -EBADMSG;
	names = mem_calloc(n, sizeof(names[0]));
	e = parse_names(r, names, n, ret_n);
	*ret_names = names;
	return e;
}

static int parse_taken(struct reader *r, void *record,
		       void (*take)(struct worker *w, char **names, size_t n))
{
	char **names = NULL;
	size_t n;
	int e = parse_name_list(r, WORKER_TASKS_MAX, &names, &n);

	take(record, names, n);
	return e;
}

static int parse_tasks(struct reader *r, void *record)
{
	return parse_taken(r, record, worker_take_tasks);
}

static int parse_unhealthy(struct reader *r, void *record)
{
	return parse_taken(r, record, worker_take_unhealthy);
}

static int parse_answers(struct reader *r, void *record)
{
	return parse_taken(r, record, worker_take_answers);
}

static int parse_renamed(struct reader *r, void *record)
{
	struct worker *w = record;
	int e = parse_name_list(r, (size_t)2 * WORKER_TASKS_MAX, &w->renamed, &w->n_renamed);

	return e < 0 || w->n_renamed % 2 == 0 ? e : -EBADMSG;
}

static int parse_digests(struct reader *r, void *record)
{
	struct worker *w = record;
	size_t n;
	int e = reader_array(r, &n);

	if (e < 0)
		return e;
	if (n > WORKER_TASKS_MAX)
		return -EBADMSG;
	w->digests = mem_calloc(n, sizeof(w->digests[0]));
	w->n_digests = n;
	for (size_t i = 0; i < n; i++) {
		int64_t value;

		e = keys_parse_int(r, 0, UINT32_MAX, &value);
		if (e < 0)
			return e;
		w->digests[i] = (uint32_t)value;
	}
	return 0;
}

static int by_task(const void *a, const void *b)
{
	return strcmp(((const struct worker_split *)a)->task,
		      ((const struct worker_split *)b)->task);
}

/* Of a task that is there twice the record would not say how many it has. */
static bool is_distinct(const struct worker_split *splits, size_t n)
{
	for (size_t i = 1; i < n; i++)
		if (strcmp(splits[i - 1].task, splits[i].task) == 0)
			return false;
	return true;
}

static int parse_splits(struct reader *r, void *record)
{
	struct worker *w = record;
	size_t n;
	int e = reader_map(r, &n);

	if (e < 0)
		return e;
	if (n > WORKER_TASKS_MAX)
		return -EBADMSG;
	w->knows_splits = true;
	w->splits = mem_calloc(n + 1, sizeof(w->splits[0]));
	for (w->n_splits = 0; w->n_splits < n; w->n_splits++) {
		struct worker_split *split = &w->splits[w->n_splits];
		struct reader_text t;
		int64_t value;

		e = reader_str(r, &t);
		if (e < 0)
			return e;
		if (!name_is_task(t.data, t.len))
			return -EBADMSG;
		memcpy(split->task, t.data, t.len);
		e = keys_parse_int(r, 2, NAME_PARTITIONS_MAX, &value);
		if (e < 0)
			return e;
		split->partitions = (unsigned)value;
	}
	qsort(w->splits, n, sizeof(w->splits[0]), by_task);
	return is_distinct(w->splits, n) ? 0 : -EBADMSG;
}

/* A group, or "" for a task that is in none. */
static int parse_groups(struct reader *r, void *record)
{
	struct worker *w = record;
	size_t n;
	int e = reader_array(r, &n);

	if (e < 0)
		return e;
	if (n > WORKER_TASKS_MAX)
		return -EBADMSG;
	w->groups = mem_calloc(n + 1, sizeof(w->groups[0]));
	for (w->n_groups = 0; w->n_groups < n; w->n_groups++) {
		struct reader_text t;

		e = reader_str(r, &t);
		if (e < 0)
			return e;
		if (t.len > 0 && !name_is_task(t.data, t.len))
			return -EBADMSG;
		w->groups[w->n_groups] = mem_strndup(t.data, t.len);
	}
	return 0;
}

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

/* --- the tables ----------------------------------------------------------- */

#define NAMED(type, key) .name = #key, .offset = offsetof(struct type, key)
#define TEXT(type, key, is_optional, check, text)                                                 \
	{                                                                                         \
		NAMED(type, key), .kind = KEY_TEXT, .optional = (is_optional),                    \
				  .size = sizeof(((struct type *)NULL)->key), .is_good = (check), \
				  KEY_WHY(#key, text)                                             \
	}
#define INT(type, key, is_optional, least, most, text)                                        \
	{                                                                                     \
		NAMED(type, key), .kind = KEY_INT, .optional = (is_optional), .min = (least), \
				  .max = (most), KEY_WHY(#key, text)                          \
	}
#define TIME(type, key)                       \
	INT(type, key, false, 0, TIME_MAX_MS, \
	    "not milliseconds since the epoch, before the year 10000")

#define CUSTOM(key, parser, text)                                                       \
	{                                                                               \
		.name = (key), .kind = KEY_CUSTOM, .optional = true, .parse = (parser), \
		KEY_WHY(key, text)                                                      \
	}

#define NOT_ID	     "not a string of 1 to 64 letters, digits and hyphens"
#define NOT_VERSION  "not a string of 1 to 255 printable ASCII characters, no space at its ends"
#define NOT_HOST     "not a string of 1 to 255 printable ASCII characters"
#define NOT_IP	     "not a string with an IPv4 or IPv6 address"
#define NOT_POSITIVE "not a positive integer"
#define NOT_NAME     "not the name of a task"
#define NOT_MACHINE  "not a string of 1 to 32 printable ASCII characters"
#define NOT_TEXT     "not a string of at most 200 bytes of UTF-8"

static bool is_state(const char *text, size_t len)
{
	static const char *const states[] = {"running", "ok",	  "failed", "lost",
					     "claimed", "missed", "timeout"};

	for (size_t i = 0; i < sizeof(states) / sizeof(states[0]); i++)
		if (len == strlen(states[i]) && memcmp(text, states[i], len) == 0)
			return true;
	return false;
}

static bool is_kind(const char *text, size_t len)
{
	enum policy_kind kind;

	return policy_kind_parse(text, len, &kind);
}

static bool is_text(const char *text, size_t len)
{
	return utf8_is_valid(text, len) && !memchr(text, '\0', len);
}

static bool is_reason(const char *text, size_t len)
{
	return len <= POLICY_TEXT_MAX && is_text(text, len);
}

static bool is_node(const char *text, size_t len)
{
	return len <= WORKER_NODE_MAX && is_text(text, len);
}

static bool is_by(const char *text, size_t len)
{
	return len <= RECORD_BY_MAX && is_text(text, len);
}

static int parse_output(struct reader *r, void *record)
{
	struct run_record *run = record;
	struct reader_text bytes;
	int e = reader_bin(r, &bytes);

	if (e < 0)
		return e;
	if (bytes.len > RECORD_OUTPUT_MAX)
		return -EBADMSG;
	run->output = bytes.data;
	run->output_len = bytes.len;
	return 0;
}

static bool is_machine(const char *text, size_t len)
{
	return len <= WORKER_MACHINE_MAX && name_is_host(text, len);
}

static const struct key worker_keys[] = {
	TEXT(worker, id, false, name_is_id, NOT_ID),
	TEXT(worker, version, false, name_is_version, NOT_VERSION),
	TEXT(worker, ip, false, name_is_ip, NOT_IP),
	{.name = "random_ints",
	 .kind = KEY_CUSTOM,
	 .parse = parse_random_ints,
	 KEY_WHY("random_ints", "not an array of 5 int32")},
	TEXT(worker, hostname, false, name_is_host, NOT_HOST),
	{.name = "tasks",
	 .kind = KEY_CUSTOM,
	 .parse = parse_tasks,
	 KEY_WHY("tasks", "not an array of at most 10000 task names")},
	TIME(worker, started_at),
	INT(worker, timeout_ms, true, 0, INT32_MAX, "not milliseconds from 0 to 2147483647"),
	TEXT(worker, node, true, is_node, "not a string of at most 400 bytes of UTF-8"),
	{NAMED(worker, returned), .kind = KEY_BOOL, .optional = true,
	 KEY_WHY("returned", "not true or false")},
	{NAMED(worker, sick), .kind = KEY_BOOL, .optional = true,
	 KEY_WHY("sick", "not true or false")},
	CUSTOM("unhealthy", parse_unhealthy, "not an array of at most 10000 task names"),
	TEXT(worker, machine, true, is_machine, NOT_MACHINE),
	INT(worker, clock_offset_ms, true, -TIME_MAX_MS, TIME_MAX_MS, "not milliseconds"),
	INT(worker, clock_tolerance_ms, true, 0, TIME_MAX_MS, "not milliseconds from 0 on"),
	INT(worker, scheme, true, 0, INT32_MAX, "not a number from 0 to 2147483647"),
	CUSTOM("digests", parse_digests, "not an array of at most 10000 numbers of 32 bits"),
	CUSTOM("partitions", parse_splits, "not a map of tasks to numbers from 2 to 256"),
	CUSTOM("groups", parse_groups, "not an array of at most 10000 names of groups"),
	CUSTOM("queues", worker_queues_parse,
	       "not a map of at most 1000 queues to numbers from 1 to 1000"),
	CUSTOM("answers", parse_answers, "not an array of at most 10000 names of queues"),
	CUSTOM("renamed", parse_renamed, "not an array of at most 10000 pairs of task names"),
};

static const struct key leader_keys[] = {
	TEXT(leader_record, id, false, name_is_id, NOT_ID),
	TEXT(leader_record, ip, false, name_is_ip, NOT_IP),
	TEXT(leader_record, hostname, false, name_is_host, NOT_HOST),
	TEXT(leader_record, version, false, name_is_version, NOT_VERSION),
	TIME(leader_record, since),
};

static const struct key run_keys[] = {
	TEXT(run_record, state, false, is_state,
	     "not one of running, ok, failed, lost, claimed, missed, timeout"),
	TEXT(run_record, id, false, name_is_id, NOT_ID),
	TEXT(run_record, hostname, false, name_is_host, NOT_HOST),
	TEXT(run_record, node, true, is_node, "not a string of at most 400 bytes of UTF-8"),
	TEXT(run_record, run, true, name_is_id, NOT_ID),
	INT(run_record, session, true, 1, INT64_MAX, NOT_POSITIVE),
	INT(run_record, token, false, 1, INT64_MAX, NOT_POSITIVE),
	INT(run_record, attempt, false, 1, INT32_MAX, NOT_POSITIVE),
	INT(run_record, failures, true, 0, INT32_MAX, "not a number from 0 on"),
	TIME(run_record, started_at),
	INT(run_record, ended_at, true, 0, TIME_MAX_MS, "not milliseconds since the epoch"),
	INT(run_record, exit_status, true, 0, 255, "not a number from 0 to 255"),
	TEXT(run_record, by, true, is_by, "not a string of at most 456 bytes of UTF-8"),
	TEXT(run_record, why, true, is_by, "not a word of at most 15 bytes"),
	TEXT(run_record, detail, true, is_by, "not a string of at most 200 bytes of UTF-8"),
	CUSTOM("output", parse_output, "not at most 2048 bytes"),
};

static const struct key split_keys[] = {
	INT(split_record, partitions, false, 1, NAME_PARTITIONS_MAX, "not a number from 1 to 256"),
	INT(split_record, from, false, 0, NAME_PARTITIONS_MAX, "not a number from 0 to 256"),
	TEXT(split_record, reason, true, is_reason, NOT_TEXT),
	TEXT(split_record, by, true, is_reason, NOT_TEXT),
	TEXT(split_record, host, false, name_is_host, NOT_HOST),
	TIME(split_record, since),
};

struct marker_record {
	bool partitions;
};

static const struct key marker_keys[] = {
	{NAMED(marker_record, partitions), .kind = KEY_BOOL,
	 KEY_WHY("partitions", "not true or false")},
};

static const struct key policy_keys[] = {
	TEXT(policy_record, kind, false, is_kind, "not one of pause, pin, drain, resign"),
	TEXT(policy_record, task, true, name_is_election, NOT_NAME),
	TEXT(policy_record, node, true, is_node, "not a string of at most 400 bytes of UTF-8"),
	TEXT(policy_record, machine, true, is_machine, NOT_MACHINE),
	TEXT(policy_record, version, true, name_is_version, NOT_VERSION),
	TEXT(policy_record, reason, true, is_reason, NOT_TEXT),
	TEXT(policy_record, by, false, is_reason, NOT_TEXT),
	TEXT(policy_record, host, false, name_is_host, NOT_HOST),
	TIME(policy_record, since),
	INT(policy_record, until, true, 0, TIME_MAX_MS,
	    "not milliseconds since the epoch, before the year 10000"),
	TEXT(policy_record, rolling, true, name_is_task, NOT_NAME),
	{NAMED(policy_record, halted), .kind = KEY_BOOL, .optional = true,
	 KEY_WHY("halted", "not true or false")},
};

/* --- reading -------------------------------------------------------------- */

/* One that stands for all of the tasks becomes as many. */
static void spread_digests(struct worker *w)
{
	if (w->n_digests != 1 || w->n_tasks < 2)
		return;
	w->digests = mem_resize(w->digests, w->n_tasks, sizeof(w->digests[0]));
	for (size_t i = 1; i < w->n_tasks; i++)
		w->digests[i] = w->digests[0];
	w->n_digests = w->n_tasks;
}

int record_parse_worker(const void *data, size_t len, struct worker **ret_worker,
			const char **ret_why)
{
	struct worker *w = worker_new();
	int e = keys_parse(data, len, RECORD_WORKER_MAX, worker_keys, COUNT(worker_keys), w,
			   ret_why);

	if (e < 0) {
		worker_free(w);
		return e;
	}
	if (w->n_groups > 0 && w->n_groups != w->n_tasks) {
		worker_free(w);
		*ret_why = "groups: not one for each of tasks";
		return -EBADMSG;
	}
	spread_digests(w);
	*ret_worker = w;
	return 0;
}

int record_parse_leader(const void *data, size_t len, struct leader_record *ret_leader,
			const char **ret_why)
{
	struct leader_record l = {0};
	int e = keys_parse(data, len, RECORD_LEADER_MAX, leader_keys, COUNT(leader_keys), &l,
			   ret_why);

	if (e < 0)
		return e;
	*ret_leader = l;
	return 0;
}

int record_parse_run(const void *data, size_t len, struct run_record *ret_run, const char **ret_why)
{
	struct run_record r = {.failures = -1, .exit_status = -1};
	int e = keys_parse(data, len, RECORD_RUN_MAX, run_keys, COUNT(run_keys), &r, ret_why);

	if (e < 0)
		return e;
	*ret_run = r;
	return 0;
}

/* Which of task, node and version a record of this kind is about. */
static bool policy_fits(const struct policy_record *p)
{
	enum policy_kind kind;
	bool known = policy_kind_parse(p->kind, strlen(p->kind), &kind);
	bool of_node = kind == POLICY_DRAIN || kind == POLICY_RESIGN || kind == POLICY_RERUN ||
		       kind == POLICY_TRIGGER;

	return known && (p->task[0] != '\0') == (kind != POLICY_DRAIN) &&
	       (p->node[0] != '\0') == of_node && (p->version[0] != '\0') == (kind == POLICY_PIN);
}

int record_parse_policy(const void *data, size_t len, struct policy_record *ret_policy,
			const char **ret_why)
{
	struct policy_record p = {.since = 0};
	int e = keys_parse(data, len, RECORD_POLICY_MAX, policy_keys, COUNT(policy_keys), &p,
			   ret_why);

	if (e < 0)
		return e;
	if (!policy_fits(&p)) {
		*ret_why = "kind: task, node or version do not fit it";
		return -EBADMSG;
	}
	*ret_policy = p;
	return 0;
}

int record_parse_split(const void *data, size_t len, struct split_record *ret_split,
		       const char **ret_why)
{
	struct split_record r = {.from = 0};
	int e = keys_parse(data, len, RECORD_SPLIT_MAX, split_keys, COUNT(split_keys), &r, ret_why);

	if (e < 0)
		return e;
	*ret_split = r;
	return 0;
}

bool record_is_marker(const void *data, size_t len)
{
	struct marker_record marker = {.partitions = false};
	const char *why;

	return keys_parse(data, len, RECORD_LEADER_MAX, marker_keys, COUNT(marker_keys), &marker,
			  &why) == 0 &&
	       marker.partitions;
}
