/* The record of a worker. */
#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/text/marks.h"
#include "wire/records/fields.h"
#include "wire/records/record.h"

/* --- reading values of a kind of their own -------------------------------- */

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

static bool is_group(const char *text, size_t len)
{
	return len == 0 || name_is_task(text, len);
}

/* Names before a bad one are passed out too: whoever frees the record frees them. */
static int parse_names(struct reader *r, size_t max, bool (*is_good)(const char *, size_t),
		       char ***ret_names, size_t *ret_n)
{
	size_t n, i = 0;
	int e = reader_array(r, &n);

	if (e == 0 && n > max)
		e = -EBADMSG;
	if (e < 0)
		return e;
	*ret_names = mem_calloc(n, sizeof(*ret_names[0]));
	for (; e == 0 && i < n; i++) {
		struct reader_text t;

		e = reader_str(r, &t);
		if (e == 0 && !is_good(t.data, t.len))
			e = -EBADMSG;
		if (e == 0)
			(*ret_names)[(*ret_n)++] = mem_strndup(t.data, t.len);
	}
	return e;
}

static int parse_taken(struct reader *r, void *record,
		       void (*take)(struct worker *w, char **names, size_t n))
{
	char **names = NULL;
	size_t n = 0;
	int e = parse_names(r, WORKER_TASKS_MAX, name_is_task, &names, &n);

	take(record, names, n);
	return e;
}

static int parse_tasks(struct reader *r, void *record)
{
	((struct worker *)record)->apart = false;
	return parse_taken(r, record, worker_take_tasks);
}

/* Those of a list, whose bytes are the same wherever it is made: sorted, and each once. */
static int parse_sorted(struct reader *r, void *record)
{
	struct worker *w = record;
	int e = parse_names(r, WORKER_TASKS_MAX, name_is_task, &w->tasks, &w->n_tasks);

	for (size_t i = 1; e == 0 && i < w->n_tasks; i++)
		if (strcmp(w->tasks[i - 1], w->tasks[i]) >= 0)
			e = -EBADMSG;
	return e;
}

static bool is_digest(const char *text, size_t len)
{
	static const char digits[] = "0123456789abcdef";

	for (size_t i = 0; i < len; i++)
		if (!memchr(digits, text[i], sizeof(digits) - 1))
			return false;
	return len == WORKER_LIST_LEN;
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
	int e = parse_names(r, (size_t)2 * WORKER_TASKS_MAX, name_is_task, &w->renamed,
			    &w->n_renamed);

	return e < 0 || w->n_renamed % 2 == 0 ? e : -EBADMSG;
}

static int parse_keys(struct reader *r, void *record)
{
	struct worker *w = record;

	return parse_names(r, WORKER_TASKS_MAX, marks_is, &w->keys, &w->n_keys);
}

/* A group, or "" for a task that is in none. */
static int parse_groups(struct reader *r, void *record)
{
	struct worker *w = record;

	return parse_names(r, WORKER_TASKS_MAX, is_group, &w->groups, &w->n_groups);
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

/* Parses a pair of a map from names to numbers. */
static int parse_number(struct reader *r, char *name, int64_t least, int64_t most,
			unsigned *ret_number)
{
	int64_t value;
	int e = keys_parse_text(r, name_is_task, name, NAME_TASK_MAX + 1);

	if (e == 0)
		e = keys_parse_int(r, least, most, &value);
	if (e == 0)
		*ret_number = (unsigned)value;
	return e;
}

static int by_name(const void *a, const void *b)
{
	return strcmp(a, b);
}

/*
 * Sorts structs that begin with a name. A name that is there twice is refused, as its number would
 * be ambiguous.
 */
static int sort_distinct(void *list, size_t n, size_t size)
{
	qsort(list, n, size, by_name);
	for (size_t i = 1; i < n; i++)
		if (by_name((char *)list + (i - 1) * size, (char *)list + i * size) == 0)
			return -EBADMSG;
	return 0;
}

static_assert(offsetof(struct worker_split, task) == 0, "sorted by it");
static_assert(offsetof(struct worker_queue, queue) == 0, "sorted by it");

static int parse_splits(struct reader *r, void *record)
{
	struct worker *w = record;
	size_t n;
	int e = reader_map(r, &n);

	if (e == 0 && n > WORKER_TASKS_MAX)
		e = -EBADMSG;
	if (e < 0)
		return e;
	w->knows_splits = true;
	w->splits = mem_calloc(n + 1, sizeof(w->splits[0]));
	for (struct worker_split *s = w->splits; e == 0 && w->n_splits < n; w->n_splits++, s++)
		e = parse_number(r, s->task, 2, NAME_PARTITIONS_MAX, &s->partitions);
	return e < 0 ? e : sort_distinct(w->splits, n, sizeof(w->splits[0]));
}

static int parse_queues(struct reader *r, void *record)
{
	struct worker *w = record;
	size_t n;
	int e = reader_map(r, &n);

	if (e == 0 && n > WORKER_QUEUES_MAX)
		e = -EBADMSG;
	if (e < 0)
		return e;
	w->queues = mem_calloc(n + 1, sizeof(w->queues[0]));
	for (struct worker_queue *q = w->queues; e == 0 && w->n_queues < n; w->n_queues++, q++)
		e = parse_number(r, q->queue, 1, WORKER_SLOTS_MAX, &q->slots);
	return e < 0 ? e : sort_distinct(w->queues, n, sizeof(w->queues[0]));
}

/* --- writing them --------------------------------------------------------- */

static void pack_random_ints(struct pack *p, const void *record)
{
	const struct worker *w = record;

	pack_array(p, WORKER_RANDOM_INTS);
	for (size_t i = 0; i < WORKER_RANDOM_INTS; i++)
		pack_int(p, w->random_ints[i]);
}

static void pack_names(struct pack *p, char *const *names, size_t n)
{
	pack_array(p, n);
	for (size_t i = 0; i < n; i++)
		pack_str(p, names[i]);
}

#define PACK_NAMES(key)                                            \
	static void pack_##key(struct pack *p, const void *record) \
	{                                                          \
		const struct worker *w = record;                   \
                                                                   \
		pack_names(p, w->key, w->n_##key);                 \
	}
PACK_NAMES(tasks)
PACK_NAMES(unhealthy)
PACK_NAMES(groups)
PACK_NAMES(keys)
PACK_NAMES(answers)
PACK_NAMES(renamed)

/*
 * The number of digests to pack: one is enough if all are equal, as they usually are. This keeps
 * the record short, which every sidecar reads.
 */
static size_t digests_to_pack(const struct worker *w)
{
	for (size_t i = 1; i < w->n_digests; i++)
		if (w->digests[i] != w->digests[0])
			return w->n_digests;
	return w->n_digests == w->n_tasks ? 1 : w->n_digests;
}

static void pack_digests(struct pack *p, const void *record)
{
	const struct worker *w = record;
	size_t n = digests_to_pack(w);

	pack_array(p, n);
	for (size_t i = 0; i < n; i++)
		pack_uint(p, w->digests[i]);
}

static void pack_splits(struct pack *p, const void *record)
{
	const struct worker *w = record;

	pack_map(p, w->n_splits);
	for (size_t i = 0; i < w->n_splits; i++)
		pack_kv_int(p, w->splits[i].task, w->splits[i].partitions);
}

static void pack_queues(struct pack *p, const void *record)
{
	const struct worker *w = record;

	pack_map(p, w->n_queues);
	for (size_t i = 0; i < w->n_queues; i++)
		pack_kv_int(p, w->queues[i].queue, w->queues[i].slots);
}

static bool says_tasks(const void *record)
{
	return !((const struct worker *)record)->apart;
}

static bool knows_splits(const void *record)
{
	return ((const struct worker *)record)->knows_splits;
}

static bool knows_clock(const void *record)
{
	return ((const struct worker *)record)->clock_tolerance_ms > 0;
}

/* --- the record ----------------------------------------------------------- */

#define NOT_TASKS "not an array of at most 10000 task names"
#define LIST_KEY(key, need, why, ...)                        \
	CUSTOM_KEY(#key, need, parse_##key, pack_##key, why, \
		   .count = offsetof(struct worker, n_##key), ##__VA_ARGS__)
/* Keys of both a record and a list, behind the tasks. */
#define DIGESTS_KEY \
	LIST_KEY(digests, KEY_OPTIONAL, "not an array of at most 10000 numbers of 32 bits")
#define PARTITIONS_KEY                                                    \
	CUSTOM_KEY("partitions", KEY_OPTIONAL, parse_splits, pack_splits, \
		   "not a map of tasks to numbers from 2 to 256", .is_there = knows_splits)
#define GROUPS_KEY LIST_KEY(groups, KEY_OPTIONAL, "not an array of at most 10000 names of groups")
#define KEYS_KEY   LIST_KEY(keys, KEY_OPTIONAL, "not an array of at most 10000 texts of marks")
#define QUEUES_KEY \
	LIST_KEY(queues, KEY_OPTIONAL, "not a map of at most 1000 queues to numbers from 1 to 1000")
#define RENAMED_KEY \
	LIST_KEY(renamed, KEY_OPTIONAL, "not an array of at most 10000 pairs of task names")

static const struct key keys[] = {
	TEXT_KEY(worker, id, KEY_REQUIRED, name_is_id, NOT_ID),
	TEXT_KEY(worker, version, KEY_REQUIRED, name_is_version, NOT_VERSION),
	TEXT_KEY(worker, ip, KEY_REQUIRED, name_is_ip, NOT_IP),
	CUSTOM_KEY("random_ints", KEY_REQUIRED, parse_random_ints, pack_random_ints,
		   "not an array of 5 int32"),
	TEXT_KEY(worker, hostname, KEY_REQUIRED, name_is_host, NOT_HOST),
	LIST_KEY(tasks, KEY_OPTIONAL, NOT_TASKS, .is_there = says_tasks),
	TIME_KEY(worker, started_at, KEY_REQUIRED),
	INT_KEY(worker, timeout_ms, KEY_OPTIONAL, 0, INT32_MAX,
		"not milliseconds from 0 to 2147483647"),
	UTF8_KEY(worker, node, KEY_OPTIONAL, NOT_NODE),
	TEXT_KEY(worker, machine, KEY_OPTIONAL, name_is_host, NOT_MACHINE),
	INT_KEY(worker, clock_offset_ms, KEY_OPTIONAL, -TIME_MAX_MS, TIME_MAX_MS,
		"not milliseconds", .is_there = knows_clock),
	INT_KEY(worker, clock_tolerance_ms, KEY_OPTIONAL, 0, TIME_MAX_MS,
		"not milliseconds from 0 on"),
	BOOL_KEY(worker, returned, KEY_OPTIONAL),
	BOOL_KEY(worker, sick, KEY_OPTIONAL),
	LIST_KEY(unhealthy, KEY_OPTIONAL, NOT_TASKS),
	INT_KEY(worker, scheme, KEY_OPTIONAL, 0, INT32_MAX, NOT_NUMBER),
	DIGESTS_KEY,
	PARTITIONS_KEY,
	GROUPS_KEY,
	KEYS_KEY,
	QUEUES_KEY,
	LIST_KEY(answers, KEY_OPTIONAL, "not an array of at most 10000 names of queues"),
	RENAMED_KEY,
	BOOL_KEY(worker, lists, KEY_OPTIONAL),
	TEXT_KEY(worker, list, KEY_OPTIONAL, is_digest, "not 32 hexadecimal digits"),
};

static const char *misfit(const void *record)
{
	const struct worker *w = record;

	if (w->apart && w->list[0] == '\0')
		return "tasks: missing";
	if (w->apart &&
	    (w->n_digests + w->n_keys + w->n_queues + w->n_renamed + w->n_splits + w->n_groups) > 0)
		return "list: parts of it without tasks";
	return w->n_groups > 0 && w->n_groups != w->n_tasks ? "groups: not one for each of tasks"
							    : NULL;
}

static const struct keys worker = KEYS(keys, worker, RECORD_WORKER_MAX, .misfit = misfit);

/* A list: what a record would say of it. */
static const struct key list_keys[] = {
	CUSTOM_KEY("tasks", KEY_REQUIRED, parse_sorted, pack_tasks,
		   "not an array of at most 10000 task names, sorted, each once"),
	DIGESTS_KEY,
	PARTITIONS_KEY,
	GROUPS_KEY,
	KEYS_KEY,
	QUEUES_KEY,
	RENAMED_KEY,
};

static const char *list_misfit(const void *record)
{
	const struct worker *w = record;

	if (w->n_groups > 0 && w->n_groups != w->n_tasks)
		return "groups: not one for each of tasks";
	if (w->n_keys > 0 && w->n_keys != w->n_tasks)
		return "keys: not one for each of tasks";
	return w->n_digests > 1 && w->n_digests != w->n_tasks ? "digests: not one for each of tasks"
							      : NULL;
}

static const struct keys list = KEYS(list_keys, worker, RECORD_LIST_MAX, .misfit = list_misfit);

/* Expands a single digest, which stands for all tasks, into one for each task. */
static void spread_digests(struct worker *w)
{
	if (w->n_digests != 1 || w->n_tasks < 2)
		return;
	w->digests = mem_resize(w->digests, w->n_tasks, sizeof(w->digests[0]));
	for (size_t i = 1; i < w->n_tasks; i++)
		w->digests[i] = w->digests[0];
	w->n_digests = w->n_tasks;
}

static int parse(const void *data, size_t len, const struct keys *form, bool apart,
		 struct worker **ret_worker, const char **ret_why)
{
	struct worker *w = worker_new();
	int e;

	w->apart = apart;
	e = keys_parse(data, len, form, w, ret_why);
	if (e < 0) {
		worker_free(w);
		return e;
	}
	w->unlisted = w->apart;
	spread_digests(w);
	*ret_worker = w;
	return 0;
}

int record_parse_worker(const void *data, size_t len, struct worker **ret_worker,
			const char **ret_why)
{
	return parse(data, len, &worker, true, ret_worker, ret_why);
}

int record_parse_list(const void *data, size_t len, struct worker **ret_worker,
		      const char **ret_why)
{
	return parse(data, len, &list, false, ret_worker, ret_why);
}

int record_pack_worker(struct buffer *out, const struct worker *w)
{
	struct worker said = *w;

	if (w->apart) {
		said.n_digests = said.n_groups = said.n_keys = 0;
		said.n_queues = said.n_renamed = 0;
		said.knows_splits = false;
	}
	return keys_write(out, &worker, &said);
}

int record_pack_list(struct buffer *out, const struct worker *w)
{
	return keys_write(out, &list, w);
}
