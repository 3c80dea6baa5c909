/* Records of partitions: what is in force, the marker of a task, and what a worker says of its own. */
#include <criterion/criterion.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "wire/pack.h"
#include "wire/records/record.h"

static struct buffer data;

static void init(void)
{
	buffer_init(&data, RECORD_WORKER_MAX);
}

static void done(void)
{
	buffer_done(&data);
}

TestSuite(split_record, .init = init, .fini = done);

Test(split_record, what_is_packed_is_read)
{
	struct split_record in = {.partitions = 16, .from = 8, .since = 1790000000000}, out;
	const char *why;

	snprintf(in.host, sizeof(in.host), "host-1");
	cr_assert_eq(record_pack_split(&data, &in), 0);
	cr_assert_eq(record_parse_split(data.data, data.len, &out, &why), 0);
	cr_expect_eq(memcmp(&in, &out, sizeof(in)), 0);
	snprintf(in.by, sizeof(in.by), "anna");
	snprintf(in.reason, sizeof(in.reason), "bigger table");
	buffer_truncate(&data, 0);
	cr_assert_eq(record_pack_split(&data, &in), 0);
	cr_assert_eq(record_parse_split(data.data, data.len, &out, &why), 0);
	cr_expect_str_eq(out.by, "anna");
	cr_expect_str_eq(out.reason, "bigger table");
}

Test(split_record, numbers_that_cannot_be)
{
	static const int64_t numbers[] = {0, 257, -1};
	struct split_record in = {.since = 1}, out;
	const char *why;

	snprintf(in.host, sizeof(in.host), "host-1");
	for (size_t i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++) {
		buffer_truncate(&data, 0);
		in.partitions = numbers[i];
		cr_assert_eq(record_pack_split(&data, &in), 0);
		cr_expect_eq(record_parse_split(data.data, data.len, &out, &why), -EBADMSG);
		cr_expect_str_eq(why, "partitions: not a number from 1 to 256");
	}
	cr_expect_eq(record_parse_split("", 0, &out, &why), -EBADMSG);
}

Test(split_record, a_marker_is_told_from_a_leaders_record)
{
	struct leader_record leader = {.since = 1};

	cr_assert_eq(record_pack_marker(&data), 0);
	cr_expect(record_is_marker(data.data, data.len));
	cr_expect(!record_is_marker(data.data, data.len - 1));
	buffer_truncate(&data, 0);
	snprintf(leader.id, sizeof(leader.id), "a");
	snprintf(leader.ip, sizeof(leader.ip), "10.0.0.1");
	snprintf(leader.hostname, sizeof(leader.hostname), "host-1");
	snprintf(leader.version, sizeof(leader.version), "1.0");
	cr_assert_eq(record_pack_leader(&data, &leader), 0);
	cr_expect(!record_is_marker(data.data, data.len));
	cr_expect(!record_is_marker("", 0));
}

static struct worker *make_worker(void)
{
	static const char *const names[] = {"feed", "scan"};
	struct worker *w = worker_new();

	snprintf(w->id, sizeof(w->id), "a");
	snprintf(w->version, sizeof(w->version), "1.0");
	snprintf(w->ip, sizeof(w->ip), "10.0.0.1");
	snprintf(w->hostname, sizeof(w->hostname), "host-1");
	worker_set_tasks(w, names, 2);
	w->knows_splits = true;
	w->n_splits = 2;
	w->splits = mem_calloc(2, sizeof(*w->splits));
	snprintf(w->splits[0].task, sizeof(w->splits[0].task), "lost");
	w->splits[0].partitions = 4;
	snprintf(w->splits[1].task, sizeof(w->splits[1].task), "scan");
	w->splits[1].partitions = 256;
	w->n_groups = 2;
	w->groups = mem_calloc(2, sizeof(*w->groups));
	w->groups[0] = mem_strdup("feeds");
	w->groups[1] = mem_strdup("");
	return w;
}

Test(split_record, a_worker_says_its_partitions_and_groups)
{
	struct worker *w = make_worker(), *read;
	const char *why;

	cr_assert_eq(record_pack_worker(&data, w), 0);
	cr_assert_eq(record_parse_worker(data.data, data.len, &read, &why), 0);
	cr_expect(read->knows_splits);
	cr_expect_eq(worker_partitions(read, "lost"), 4);
	cr_expect_eq(worker_partitions(read, "scan"), 256);
	cr_expect_eq(worker_partitions(read, "feed"), 0);
	cr_expect_str_eq(worker_group(read, "feed"), "feeds");
	cr_expect_null(worker_group(read, "scan"));
	cr_expect_null(worker_group(read, "none"));
	worker_free(w);
	worker_free(read);
}

Test(split_record, a_worker_that_says_one_task_twice_is_refused)
{
	struct worker *w = make_worker(), *read;
	const char *why;

	snprintf(w->splits[0].task, sizeof(w->splits[0].task), "scan");
	cr_assert_eq(record_pack_worker(&data, w), 0);
	cr_expect_eq(record_parse_worker(data.data, data.len, &read, &why), -EBADMSG);
	cr_expect_str_eq(why, "partitions: not a map of tasks to numbers from 2 to 256");
	worker_free(w);
}

Test(split_record, groups_are_for_each_task)
{
	struct worker *w = make_worker(), *read;
	const char *why;

	buffer_truncate(&data, 0);
	free(w->groups[1]);
	w->n_groups = 1;
	cr_assert_eq(record_pack_worker(&data, w), 0);
	cr_expect_eq(record_parse_worker(data.data, data.len, &read, &why), -EBADMSG);
	cr_expect_str_eq(why, "groups: not one for each of tasks");
	worker_free(w);
}
