#include <criterion/criterion.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "wire/pack.h"
#include "wire/records/recipe_record.h"

#define RAW(text) text, sizeof(text) - 1

static struct counter_record record, back;

static int counter_back(const struct buffer *b, const char **ret_why)
{
	return record_parse_counter(b->data, b->len, &back, ret_why);
}

Test(recipe_record, a_counter_there_and_back)
{
	static const size_t counts[] = {0, 1, 2, COUNTER_NODES_MAX};
	static const int64_t values[] = {0, -1, INT64_MIN, INT64_MAX};
	const char *why = "";
	struct buffer b;

	buffer_init(&b, 2 * RECORD_COUNTER_MAX);
	for (size_t i = 0; i < 4; i++) {
		memset(&record, 0, sizeof(record));
		record.value = values[i];
		record.n = counts[i];
		for (size_t k = 0; k < record.n; k++) {
			/* The biggest that there may be. */
			memset(record.last[k].node, 'n', WORKER_NODE_MAX);
			memset(record.last[k].machine, 'm', WORKER_MACHINE_MAX);
			record.last[k].op = INT64_MAX - (int64_t)k;
			record.last[k].value = values[3 - i];
		}
		buffer_truncate(&b, 0);
		cr_assert_eq(record_pack_counter(&b, &record), 0);
		cr_assert_eq(counter_back(&b, &why), 0, "%s", why);
		cr_assert_eq(memcmp(&record, &back, sizeof(back)), 0);
		/* Nothing of it may be missing. */
		for (size_t cut = 0; cut<b.len; cut += b.len> 200 ? 97 : 1)
			cr_assert_eq(record_parse_counter(b.data, cut, &back, &why), -EBADMSG);
	}
	buffer_done(&b);
}

/* Parses a counter with one entry, one thing of which may be wrong. */
static int parse_entry(size_t parts, const char *node, int64_t op, const char **ret_why)
{
	struct buffer b;
	struct pack p;

	buffer_init(&b, RECORD_COUNTER_MAX);
	pack_init(&p, &b);
	pack_map(&p, 3);
	pack_kv_str(&p, "later", "passed over");
	pack_kv_int(&p, "value", 1);
	pack_str(&p, "last");
	pack_array(&p, 1);
	pack_array(&p, parts);
	pack_str(&p, node);
	pack_str(&p, "m");
	pack_int(&p, op);
	for (size_t i = 3; i < parts; i++)
		pack_int(&p, 7);
	int e = counter_back(&b, ret_why);
	buffer_done(&b);
	return e;
}

Test(recipe_record, a_bad_counter)
{
	char longest[WORKER_NODE_MAX + 2];
	const char *why = "";

	memset(longest, 'x', sizeof(longest));
	longest[WORKER_NODE_MAX + 1] = '\0';
	cr_assert_eq(parse_entry(4, "n", 1, &why), 0, "%s", why);
	cr_assert_eq(parse_entry(5, "n", 1, &why), -EBADMSG);
	cr_assert_eq(parse_entry(3, "n", 1, &why), -EBADMSG);
	cr_assert_eq(parse_entry(4, longest, 1, &why), -EBADMSG);
	cr_assert_eq(parse_entry(4, "n", 0, &why), -EBADMSG);
	cr_assert_str_eq(why,
			 "last: not an array of at most 256 arrays of node, machine, op and value");
	cr_assert_eq(record_parse_counter("\x80", 1, &back, &why), -EBADMSG);
	cr_assert_str_eq(why, "value: missing");
}

/* Parses a counter with this MessagePack under the key "last". */
static int parse_last(const void *value, size_t len, const char **ret_why)
{
	struct buffer b;
	struct pack p;

	buffer_init(&b, 2 * RECORD_COUNTER_MAX);
	pack_init(&p, &b);
	pack_map(&p, 2);
	pack_kv_int(&p, "value", 1);
	pack_str(&p, "last");
	cr_assert_eq(buffer_append(&b, value, len), 0);
	int e = counter_back(&b, ret_why);
	buffer_done(&b);
	return e;
}

Test(recipe_record, entries_of_a_counter_that_cannot_be)
{
	static const struct {
		const char *value;
		size_t len;
	} cases[] = {
		{RAW("\x01")},
		{RAW("\x91\x01")},
		{RAW("\x91\x94\x01\xa1m\x01\x01")},
		{RAW("\x91\x94\xa1\xff\xa1m\x01\x01")}, /* no UTF-8 */
		{RAW("\x91\x94\xa1n\x01\x01\x01")},
		{RAW("\x91\x94\xa1n\xa1m\xa1x\x01")},
		{RAW("\x91\x94\xa1n\xa1m\x01\xa1x")},
	};
	const char *why = "";

	cr_assert_eq(parse_last(RAW("\x91\x94\xa1n\xa1m\x01\x01"), &why), 0, "%s", why);
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
		cr_expect_eq(parse_last(cases[i].value, cases[i].len, &why), -EBADMSG, "%zu", i);
	for (size_t n = COUNTER_NODES_MAX; n <= COUNTER_NODES_MAX + 1; n++) {
		struct buffer b;
		struct pack p;

		buffer_init(&b, RECORD_COUNTER_MAX);
		pack_init(&p, &b);
		pack_array(&p, n);
		for (size_t i = 0; i < n; i++)
			cr_assert_eq(buffer_append(&b, RAW("\x94\xa1n\xa1m\x01\x01")), 0);
		cr_expect_eq(parse_last(b.data, b.len, &why), n > COUNTER_NODES_MAX ? -EBADMSG : 0);
		buffer_done(&b);
	}
}

/* A record that does not fit leaves nothing of it behind. */
Test(recipe_record, no_room)
{
	struct roster_record entry = {.hostname = "h"};
	struct buffer b;

	memset(&record, 0, sizeof(record));
	buffer_init(&b, 8);
	cr_assert_eq(buffer_append(&b, "abc", 3), 0);
	cr_expect_eq(record_pack_counter(&b, &record), -ENOBUFS);
	cr_expect_eq(record_pack_roster(&b, &entry), -ENOBUFS);
	cr_expect_eq(b.len, 3);
	buffer_done(&b);
}

Test(recipe_record, an_entry_of_the_roster)
{
	struct roster_record there = {
		.index = ROSTER_INDEX_MAX, .since = 1, .departed = 2, .hostname = "h"};
	struct roster_record seen = {.index = -1};
	const char *why = "";
	struct buffer b;

	buffer_init(&b, RECORD_ROSTER_MAX);
	for (int i = 0; i < 2; i++) {
		buffer_truncate(&b, 0);
		cr_assert_eq(record_pack_roster(&b, &there), 0);
		cr_assert_eq(record_parse_roster(b.data, b.len, &seen, &why), 0, "%s", why);
		cr_assert_eq(seen.index, there.index);
		cr_assert_eq(seen.since, there.since);
		cr_assert_eq(seen.departed, there.departed);
		cr_assert_str_eq(seen.hostname, there.hostname);
		there = (struct roster_record){.index = 0};
	}
	seen.index = -1;
	there.index = ROSTER_INDEX_MAX + 1;
	buffer_truncate(&b, 0);
	cr_assert_eq(record_pack_roster(&b, &there), 0);
	cr_assert_eq(record_parse_roster(b.data, b.len, &seen, &why), -EBADMSG);
	cr_assert_str_eq(why, "index: not a number from 0 to 1000000");
	cr_assert_eq(seen.index, -1, "untouched");
	buffer_done(&b);
}

Test(recipe_record, what_the_roster_begins_with)
{
	const struct roster_head there = {.next = 7};
	struct roster_head seen = {.next = -1};
	const char *why = "";
	struct buffer b;

	buffer_init(&b, RECORD_ROSTER_MAX);
	cr_assert_eq(record_pack_roster_head(&b, &there), 0);
	cr_expect_eq(record_parse_roster_head("", 0, &seen, &why), -EBADMSG);
	cr_expect_eq(seen.next, -1, "untouched");
	cr_assert_eq(record_parse_roster_head(b.data, b.len, &seen, &why), 0, "%s", why);
	cr_expect_eq(seen.next, 7);
	buffer_done(&b);
}

Test(recipe_record, a_lock_there_and_back)
{
	struct lock_record lock = {.slots = 3}, lock_seen;
	struct locker_record locker = {.node = "web1",
				       .command = "./deploy \xc3\xa4",
				       .pid = 7,
				       .held = true},
			     seen;
	const char *why = NULL;
	struct buffer b;

	buffer_init(&b, RECORD_LOCK_MAX);
	cr_assert_eq(record_pack_lock(&b, &lock), 0);
	cr_assert_eq(record_parse_lock(b.data, b.len, &lock_seen, &why), 0);
	cr_assert_eq(lock_seen.slots, 3);
	cr_assert_lt(record_parse_lock(b.data, b.len - 1, &lock_seen, &why), 0);
	cr_assert_not_null(why);
	buffer_truncate(&b, 0);
	lock.slots = 0;
	cr_assert_eq(record_pack_lock(&b, &lock), 0);
	cr_assert_lt(record_parse_lock(b.data, b.len, &lock_seen, &why), 0);
	cr_assert_str_eq(why, "slots: not a number from 1 to 1000");
	buffer_truncate(&b, 0);
	cr_assert_eq(record_pack_locker(&b, &locker), 0);
	cr_assert_eq(record_parse_locker(b.data, b.len, &seen, &why), 0);
	cr_assert_eq(memcmp(&seen, &locker, sizeof(seen)), 0);
	buffer_truncate(&b, 0);
	memset(locker.command, 'x', LOCK_COMMAND_MAX);
	cr_assert_eq(record_pack_locker(&b, &locker), 0);
	memset(memchr(b.data, 'x', b.len), 0xff, 1);
	cr_assert_lt(record_parse_locker(b.data, b.len, &seen, &why), 0);
	cr_assert_str_eq(why, "command: not a text of at most 100 bytes");
	buffer_done(&b);
}
