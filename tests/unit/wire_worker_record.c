/* The keys of a worker's record that are this project's own: all of them may be absent. */
#include <criterion/criterion.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "wire/pack.h"
#include "wire/records/record.h"

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))
#define NOT_SPLITS   "partitions: not a map of tasks to numbers from 2 to 256"
#define NOT_QUEUES   "queues: not a map of at most 1000 queues to numbers from 1 to 1000"
#define NOT_GROUPS   "groups: not an array of at most 10000 names of groups"
#define NOT_RENAMED  "renamed: not an array of at most 10000 pairs of task names"

static void pack_two_tasks(struct pack *p)
{
	pack_str(p, "tasks");
	pack_array(p, 2);
	pack_str(p, "hourly");
	pack_str(p, "nightly");
}

/* The keys of every record but tasks, in a map with room for so many more. */
static void begin(struct pack *p, size_t more)
{
	pack_map(p, 6 + more);
	pack_kv_str(p, "id", "w-1");
	pack_kv_str(p, "version", "1.0");
	pack_kv_str(p, "ip", "10.0.0.1");
	pack_str(p, "random_ints");
	pack_array(p, WORKER_RANDOM_INTS);
	for (int i = 0; i < WORKER_RANDOM_INTS; i++)
		pack_int(p, i);
	pack_kv_str(p, "hostname", "app-1");
	pack_kv_int(p, "started_at", 1);
}

/* The record with the key and a value that is MessagePack already. */
static int parse(const char *key, const void *value, size_t len, struct worker **ret,
		 const char **ret_why)
{
	struct buffer b;
	struct pack p;
	int e;

	buffer_init(&b, RECORD_WORKER_MAX + 1);
	pack_init(&p, &b);
	begin(&p, 2);
	pack_two_tasks(&p);
	pack_str(&p, key);
	cr_assert_eq(buffer_append(&b, value, len), 0);
	e = record_parse_worker(b.data, b.len, ret, ret_why);
	buffer_done(&b);
	return e;
}

static void there_and_back(const struct worker *w)
{
	struct worker *back = NULL;
	const char *why = "";
	struct buffer b;

	buffer_init(&b, RECORD_WORKER_MAX);
	cr_assert_eq(record_pack_worker(&b, w), 0);
	cr_assert_eq(record_parse_worker(b.data, b.len, &back, &why), 0, "%s", why);
	cr_expect_str_eq(back->node, w->node);
	cr_expect_str_eq(back->machine, w->machine);
	cr_expect_eq(back->clock_tolerance_ms, w->clock_tolerance_ms);
	cr_expect_eq(back->clock_offset_ms, w->clock_tolerance_ms ? w->clock_offset_ms : 0);
	cr_expect_eq(back->sick, w->sick);
	cr_expect_eq(back->returned, w->returned);
	cr_expect_eq(back->scheme, w->scheme);
	cr_assert_eq(back->n_unhealthy, w->n_unhealthy);
	for (size_t i = 0; i < w->n_unhealthy; i++)
		cr_expect_str_eq(back->unhealthy[i], w->unhealthy[i]);
	cr_assert_eq(back->n_digests, w->n_digests);
	for (size_t i = 0; i < w->n_digests; i++)
		cr_expect_eq(back->digests[i], w->digests[i]);
	worker_free(back);
	buffer_done(&b);
}

Test(worker_record, there_and_back)
{
	static const char *const tasks[] = {"hourly", "nightly"};
	static const char *const unhealthy[] = {"nightly", "hourly", "nightly"};

	for (unsigned with = 0; with < 256; with++) {
		struct worker *w = worker_new();

		strcpy(w->id, "w-1");
		strcpy(w->version, "1.0");
		strcpy(w->ip, "::1");
		strcpy(w->hostname, "app-1");
		worker_set_tasks(w, tasks, 2);
		if (with & 1)
			strcpy(w->node, "app-1:/run/zkleader.sock");
		if (with & 64)
			strcpy(w->machine, "0123456789abcdef");
		w->clock_offset_ms = -86400000;
		w->clock_tolerance_ms = with & 128 ? 30000 : 0;
		w->sick = (with & 2) != 0;
		w->returned = (with & 32) != 0;
		if (with & 4) {
			char **names = calloc(3, sizeof(names[0]));

			cr_assert(names);
			for (size_t i = 0; i < 3; i++)
				names[i] = strdup(unhealthy[i]);
			worker_take_unhealthy(w, names, 3);
			cr_expect_eq(w->n_unhealthy, 2, "sorted and once each");
		}
		w->scheme = with & 8 ? INT32_MAX : 0;
		if (with & 16) {
			w->n_digests = 2;
			w->digests = calloc(2, sizeof(w->digests[0]));
			cr_assert(w->digests);
			w->digests[1] = UINT32_MAX;
		}
		there_and_back(w);
		worker_free(w);
	}
}

/* They take a third of a record where each is said. */
Test(worker_record, digests_that_are_all_alike_are_one)
{
	static const char *const names[] = {"daily", "hourly", "nightly"};
	struct worker *w = worker_new();
	struct buffer alike, other;

	strcpy(w->id, "01234567-89ab-cdef-0123-456789abcdef");
	strcpy(w->version, "1.0");
	strcpy(w->ip, "10.0.0.1");
	strcpy(w->hostname, "app-1");
	worker_set_tasks(w, names, COUNT(names));
	w->n_digests = COUNT(names);
	w->digests = calloc(COUNT(names), sizeof(w->digests[0]));
	cr_assert(w->digests);
	for (size_t i = 0; i < COUNT(names); i++)
		w->digests[i] = UINT32_MAX;
	there_and_back(w);
	buffer_init(&alike, RECORD_WORKER_MAX);
	buffer_init(&other, RECORD_WORKER_MAX);
	cr_expect_eq(record_pack_worker(&alike, w), 0);
	w->digests[2]--;
	there_and_back(w);
	cr_expect_eq(record_pack_worker(&other, w), 0);
	cr_expect_eq(other.len, alike.len + 2 * 5);
	buffer_done(&alike);
	buffer_done(&other);
	worker_free(w);
}

/* Every text as long as it may be, every number as big, and each list with all of the tasks. */
static void fill(struct worker *w, char **names, size_t n, const char *group)
{
	char **unhealthy = calloc(n, sizeof(names[0]));

	memset(w->id, 'a', NAME_ID_MAX);
	memset(w->version, '1', NAME_VERSION_MAX);
	strcpy(w->ip, "ffff:ffff:ffff:ffff:ffff:ffff:255.255.255.255");
	memset(w->hostname, 'h', NAME_HOST_MAX);
	memset(w->node, 'n', WORKER_NODE_MAX);
	memset(w->machine, 'm', WORKER_MACHINE_MAX);
	for (int i = 0; i < WORKER_RANDOM_INTS; i++)
		w->random_ints[i] = INT32_MIN;
	w->started_at = w->clock_tolerance_ms = INT64_C(253402300799999);
	w->clock_offset_ms = -w->started_at;
	w->timeout_ms = w->scheme = INT32_MAX;
	w->returned = w->sick = w->knows_splits = true;
	w->n_digests = w->n_groups = w->n_splits = n;
	w->n_queues = n < WORKER_QUEUES_MAX ? n : WORKER_QUEUES_MAX;
	w->digests = calloc(n, sizeof(w->digests[0]));
	w->groups = calloc(n, sizeof(w->groups[0]));
	w->splits = calloc(n, sizeof(w->splits[0]));
	w->queues = calloc(w->n_queues, sizeof(w->queues[0]));
	cr_assert(unhealthy && w->digests && w->groups && w->splits && w->queues);
	for (size_t i = 0; i < n; i++) {
		unhealthy[i] = strdup(names[i]);
		w->digests[i] = UINT32_MAX - (uint32_t)i;
		w->groups[i] = strdup(group ? group : "");
		strcpy(w->splits[i].task, names[i]);
		w->splits[i].partitions = NAME_PARTITIONS_MAX;
		if (i < w->n_queues) {
			strcpy(w->queues[i].queue, names[i]);
			w->queues[i].slots = WORKER_SLOTS_MAX;
		}
	}
	worker_take_unhealthy(w, unhealthy, n);
	worker_take_tasks(w, names, n);
}

/*
 * The configuration is refused by this count (config/tasks/task_room.c). So whatever happens while the
 * sidecar runs, its record has room.
 */
Test(worker_record, the_most_that_files_may_have_fits)
{
	static const size_t lengths[] = {4, 31, 32, NAME_TASK_MAX};
	char group[NAME_TASK_MAX + 1];

	memset(group, 'g', NAME_TASK_MAX);
	group[NAME_TASK_MAX] = '\0';
	for (size_t k = 0; k < 2 * COUNT(lengths); k++) {
		size_t length = lengths[k / 2], n = 0, bytes = 0;
		struct worker *w = worker_new(), *back = NULL;
		char **names = calloc(WORKER_TASKS_MAX, sizeof(names[0]));
		const char *why = "";
		struct buffer b;

		cr_assert(names);
		while (n < WORKER_TASKS_MAX) {
			size_t more =
				worker_task_bytes(length, NAME_PARTITIONS_MAX, k % 2 ? group : NULL,
						  n < WORKER_QUEUES_MAX, NULL);
			if (bytes + more > WORKER_TASK_BYTES_MAX)
				break;
			bytes += more;
			names[n] = calloc(1, length + 1);
			cr_assert(names[n]);
			snprintf(names[n], length + 1, "%0*zu", (int)length, n);
			n++;
		}
		fill(w, names, n, k % 2 ? group : NULL);
		buffer_init(&b, RECORD_WORKER_MAX);
		cr_assert_eq(record_pack_worker(&b, w), 0);
		cr_expect_geq(b.len, bytes - 2 * 4 * n, "the count is not much too big");
		cr_assert_eq(record_parse_worker(b.data, b.len, &back, &why), 0, "%s", why);
		cr_expect_eq(back->n_tasks, n);
		worker_free(back);
		worker_free(w);
		buffer_done(&b);
	}
}

Test(worker_record, who_is_not_healthy)
{
	static const struct {
		const char *key, *value;
		size_t len;
		bool nightly, hourly;
	} cases[] = {
		{"sick", "\xc2", 1, false, false},
		{"sick", "\xc3", 1, true, true},
		{"unhealthy", "\x90", 1, false, false},
		{"unhealthy", "\x91\xa7nightly", 9, true, false},
		{"unhealthy", "\x92\xa7nightly\xa1z", 11, true, false},
		{"something-else", "\xc3", 1, false, false},
	};

	for (size_t i = 0; i < COUNT(cases); i++) {
		struct worker *w = NULL;
		const char *why = "";

		cr_assert_eq(parse(cases[i].key, cases[i].value, cases[i].len, &w, &why), 0, "%s",
			     why);
		cr_expect_eq(worker_is_unhealthy(w, "nightly"), cases[i].nightly, "%zu", i);
		cr_expect_eq(worker_is_unhealthy(w, "hourly"), cases[i].hourly, "%zu", i);
		worker_free(w);
	}
}

Test(worker_record, values_that_cannot_be)
{
	static const struct {
		const char *key, *value;
		size_t len;
		const char *why;
	} cases[] = {
		{"returned", "\xa0", 1, "returned: not true or false"},
		{"sick", "\x01", 1, "sick: not true or false"},
		{"sick", "\xc0", 1, "sick: not true or false"},
		{"unhealthy", "\xa1t", 2, "unhealthy: not an array of at most 10000 task names"},
		{"unhealthy", "\x92\xa1t\xa0", 4,
		 "unhealthy: not an array of at most 10000 task names"},
		{"unhealthy", "\x92\xa1t\x01", 4,
		 "unhealthy: not an array of at most 10000 task names"},
		{"digests", "\x01", 1, "digests: not an array of at most 10000 numbers of 32 bits"},
		{"digests", "\x92\x01\xff", 3,
		 "digests: not an array of at most 10000 numbers of 32 bits"},
		{"digests", "\x91\xcf\0\0\0\1\0\0\0\0", 10,
		 "digests: not an array of at most 10000 numbers of 32 bits"},
		{"scheme", "\xff", 1, "scheme: not a number from 0 to 2147483647"},
		{"scheme", "\xce\x80\0\0\0", 5, "scheme: not a number from 0 to 2147483647"},
		{"node",
		 "\xa3"
		 "a\0b",
		 4, "node: not a string of at most 400 bytes of UTF-8"},
		{"node", "\x01", 1, "node: not a string of at most 400 bytes of UTF-8"},
		{"partitions", "\x01", 1, NOT_SPLITS},
		{"partitions", "\x81\x01\x02", 3, NOT_SPLITS},
		{"partitions", "\x81\xa1/\x02", 4, NOT_SPLITS},
		{"partitions", "\x81\xa1t\x01", 4, NOT_SPLITS},
		{"partitions", "\x81\xa1t\xcd\x01\x01", 6, NOT_SPLITS},
		{"partitions", "\x82\xa1t\x02\xa1t\x03", 7, NOT_SPLITS},
		{"groups", "\xa1t", 2, NOT_GROUPS},
		{"groups", "\x92\xa1t\x01", 4, NOT_GROUPS},
		{"groups", "\x92\xa1t\xa1/", 5, NOT_GROUPS},
		{"queues", "\x01", 1, NOT_QUEUES},
		{"queues", "\x81\x01\x01", 3, NOT_QUEUES},
	};

	for (size_t i = 0; i < COUNT(cases); i++) {
		struct worker *w = NULL;
		const char *why = "it was taken";

		cr_expect_eq(parse(cases[i].key, cases[i].value, cases[i].len, &w, &why), -EBADMSG,
			     "%zu", i);
		cr_expect_str_eq(why, cases[i].why);
		cr_expect_null(w);
	}
}

/* A limit on all that is stored: one more than it is refused, however well it is written. */
Test(worker_record, too_many)
{
	for (size_t n = WORKER_TASKS_MAX; n <= WORKER_TASKS_MAX + 1; n++) {
		struct worker *w = NULL;
		const char *why = "";
		struct buffer b;
		struct pack p;

		buffer_init(&b, RECORD_WORKER_MAX);
		pack_init(&p, &b);
		pack_array(&p, n);
		for (size_t i = 0; i < n; i++)
			pack_uint(&p, i);
		cr_expect_eq(parse("digests", b.data, b.len, &w, &why),
			     n > WORKER_TASKS_MAX ? -EBADMSG : 0);
		worker_free(w);
		w = NULL;
		buffer_truncate(&b, 0);
		pack_array(&p, n);
		for (size_t i = 0; i < n; i++)
			pack_str(&p, "t");
		cr_expect_eq(parse("unhealthy", b.data, b.len, &w, &why),
			     n > WORKER_TASKS_MAX ? -EBADMSG : 0);
		worker_free(w);
		w = NULL;
		/*
		 * Groups have to be as many as the tasks, which are two: the error says which bound
		 * was met.
		 */
		cr_expect_eq(parse("groups", b.data, b.len, &w, &why), -EBADMSG);
		cr_expect_str_eq(why, n > WORKER_TASKS_MAX ? NOT_GROUPS
							   : "groups: not one for each of tasks");
		buffer_truncate(&b, 0);
		pack_map(&p, n);
		for (size_t i = 0; i < n; i++) {
			char name[16];

			snprintf(name, sizeof(name), "t%zu", i);
			pack_kv_int(&p, name, 2);
		}
		cr_expect_eq(parse("partitions", b.data, b.len, &w, &why),
			     n > WORKER_TASKS_MAX ? -EBADMSG : 0);
		worker_free(w);
		buffer_done(&b);
	}
}

Test(worker_record, former_names_come_in_pairs)
{
	struct worker *w = worker_new(), *back = NULL;
	const char *why = "";
	struct buffer b;

	fill(w, NULL, 0, NULL);
	w->renamed = calloc(2, sizeof(*w->renamed));
	w->renamed[w->n_renamed++] = strdup("new");
	w->renamed[w->n_renamed++] = strdup("old");
	buffer_init(&b, RECORD_WORKER_MAX);
	cr_assert_eq(record_pack_worker(&b, w), 0);
	cr_assert_eq(record_parse_worker(b.data, b.len, &back, &why), 0, "%s", why);
	cr_assert_eq(back->n_renamed, 2);
	cr_expect_str_eq(back->renamed[0], "new");
	cr_expect_str_eq(back->renamed[1], "old");
	worker_free(back);
	buffer_done(&b);
	free(w->renamed[--w->n_renamed]);
	buffer_init(&b, RECORD_WORKER_MAX);
	cr_assert_eq(record_pack_worker(&b, w), 0);
	cr_expect_lt(record_parse_worker(b.data, b.len, &back, &why), 0,
		     "one without a former name");
	buffer_done(&b);
	worker_free(w);
}

#define LIST   "0123456789abcdef0123456789abcdef"
#define SORTED "tasks: not an array of at most 10000 task names, sorted, each once"

/* A record with a list says all else by itself. */
Test(worker_record, a_list_is_named_in_place_of_what_it_says)
{
	char **names = calloc(2, sizeof(names[0]));
	struct worker *w = worker_new(), *back = NULL, *listed = NULL;
	const char *why = "";
	struct buffer record, list;

	cr_assert(names);
	names[0] = strdup("hourly");
	names[1] = strdup("nightly");
	fill(w, names, 2, "group");
	buffer_init(&record, RECORD_WORKER_MAX);
	buffer_init(&list, RECORD_LIST_MAX);
	cr_assert_eq(record_pack_list(&list, w), 0);
	w->apart = w->lists = true;
	strcpy(w->list, LIST);
	cr_assert_eq(record_pack_worker(&record, w), 0);
	cr_assert_eq(record_parse_worker(record.data, record.len, &back, &why), 0, "%s", why);
	cr_expect(back->apart && back->unlisted && back->lists);
	cr_expect_str_eq(back->list, LIST);
	cr_expect_eq(back->n_tasks + back->n_digests + back->n_groups + back->n_queues, 0);
	cr_expect_eq(back->n_unhealthy, 2, "which changes, and is not in the list");
	cr_assert_eq(record_parse_list(list.data, list.len, &listed, &why), 0, "%s", why);
	cr_expect_not(listed->apart || listed->unlisted);
	cr_assert_eq(listed->n_tasks, 2);
	cr_expect_str_eq(listed->tasks[1], "nightly");
	cr_expect_str_eq(listed->groups[1], "group");
	cr_expect_eq(listed->digests[1], UINT32_MAX - 1);
	cr_expect_eq(listed->n_queues, 2);
	worker_free(w);
	worker_free(back);
	worker_free(listed);
	buffer_done(&record);
	buffer_done(&list);
}

Test(worker_record, a_list_has_parts_that_fit)
{
	static const struct {
		const char *key, *value;
		size_t len;
		const char *why; /* NULL: it is taken */
	} cases[] = {
		{"digests", "\x91\x05", 2, NULL},
		{"digests", "\x92\x05\x06", 3, NULL},
		{"digests", "\x93\x05\x06\x07", 4, "digests: not one for each of tasks"},
		{"groups", "\x91\xa1g", 3, "groups: not one for each of tasks"},
		{"groups", "\x92\xa1g\xa0", 4, NULL},
		{"keys", "\x91\xa0", 2, "keys: not one for each of tasks"},
		{"keys", "\x92\xa0\xa0", 3, NULL},
		{"renamed", "\x91\xa1r", 3, NOT_RENAMED},
		{"tasks", "\xc0", 1, "tasks: repeated"},
	};

	for (size_t i = 0; i < COUNT(cases); i++) {
		struct worker *w = NULL;
		const char *why = NULL;
		struct buffer b;
		struct pack p;

		buffer_init(&b, RECORD_LIST_MAX);
		pack_init(&p, &b);
		pack_map(&p, 2);
		pack_two_tasks(&p);
		pack_str(&p, cases[i].key);
		cr_assert_eq(buffer_append(&b, cases[i].value, cases[i].len), 0);
		cr_expect_eq(record_parse_list(b.data, b.len, &w, &why),
			     cases[i].why ? -EBADMSG : 0, "%zu: %s", i, why ? why : "");
		if (cases[i].why)
			cr_expect_str_eq(why, cases[i].why, "%zu", i);
		worker_free(w);
		buffer_done(&b);
	}
}

Test(worker_record, the_tasks_of_a_list_are_sorted_and_each_once)
{
	static const char *const lists[][2] = {{"a", "b"}, {"b", "a"}, {"a", "a"}};

	for (size_t i = 0; i < COUNT(lists); i++) {
		struct worker *w = NULL;
		const char *why = "";
		struct buffer b;
		struct pack p;

		buffer_init(&b, RECORD_LIST_MAX);
		pack_init(&p, &b);
		pack_map(&p, 1);
		pack_str(&p, "tasks");
		pack_array(&p, 2);
		pack_str(&p, lists[i][0]);
		pack_str(&p, lists[i][1]);
		cr_expect_eq(record_parse_list(b.data, b.len, &w, &why), i == 0 ? 0 : -EBADMSG);
		if (i > 0)
			cr_expect_str_eq(why, SORTED);
		worker_free(w);
		buffer_done(&b);
	}
}

Test(worker_record, the_name_of_a_list)
{
	static const struct {
		const char *list;
		bool good;
	} cases[] = {{LIST, true},
		     {"0123456789abcdef0123456789abcde", false},
		     {"0123456789ABCDEF0123456789abcdef", false},
		     {"../../../../0123456789abcdef0123", false}};

	for (size_t i = 0; i < COUNT(cases); i++) {
		struct worker *w = NULL;
		const char *why = "";
		struct buffer b;
		struct pack p;

		buffer_init(&b, 64);
		pack_init(&p, &b);
		pack_str(&p, cases[i].list);
		cr_expect_eq(parse("list", b.data, b.len, &w, &why), cases[i].good ? 0 : -EBADMSG);
		if (!cases[i].good)
			cr_expect_str_eq(why, "list: not 32 hexadecimal digits");
		worker_free(w);
		buffer_done(&b);
	}
}

/* A record without tasks: what it lists has to be somewhere. */
Test(worker_record, who_says_no_tasks_names_a_list)
{
	static const struct {
		const char *list, *key, *value, *why;
	} cases[] = {
		{"", "sick", "\xc2", "tasks: missing"},
		{LIST, "sick", "\xc2", NULL},
		{LIST, "digests", "\x91\x05", "list: parts of it without tasks"},
		{LIST, "partitions", "\x81\xa1t\x02", "list: parts of it without tasks"},
	};

	for (size_t i = 0; i < COUNT(cases); i++) {
		struct worker *w = NULL;
		const char *why = NULL;
		struct buffer b;
		struct pack p;

		buffer_init(&b, RECORD_WORKER_MAX);
		pack_init(&p, &b);
		begin(&p, cases[i].list[0] ? 2 : 1);
		if (cases[i].list[0])
			pack_kv_str(&p, "list", cases[i].list);
		pack_str(&p, cases[i].key);
		buffer_append(&b, cases[i].value, strlen(cases[i].value));
		cr_expect_eq(record_parse_worker(b.data, b.len, &w, &why),
			     cases[i].why ? -EBADMSG : 0, "%zu: %s", i, why ? why : "");
		if (cases[i].why)
			cr_expect_str_eq(why, cases[i].why, "%zu", i);
		worker_free(w);
		buffer_done(&b);
	}
}
