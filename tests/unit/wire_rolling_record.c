#include <criterion/criterion.h>
#include <errno.h>
#include <string.h>

#include "wire/pack.h"
#include "wire/records/rolling_record.h"

#define RAW(text) text, sizeof(text) - 1

static const char *why;

Test(rolling_record, a_group_there_and_back)
{
	struct rolling_group g = {.max_unavailable = 1}, back;
	struct buffer b;

	buffer_init(&b, RECORD_ROLLING_MAX);
	for (int i = 0; i < 2; i++) {
		buffer_truncate(&b, 0);
		cr_assert_eq(record_pack_rolling_group(&b, &g), 0);
		cr_assert_eq(record_parse_rolling_group(b.data, b.len, &back, &why), 0, "%s", why);
		cr_assert_eq(back.max_unavailable, g.max_unavailable);
		cr_assert_eq(back.halted_since, g.halted_since);
		cr_assert_str_eq(back.halted_node, g.halted_node);
		cr_assert_str_eq(back.halted_why, g.halted_why);
		for (size_t cut = 0; cut < b.len; cut++)
			cr_assert_eq(record_parse_rolling_group(b.data, cut, &back, &why),
				     -EBADMSG);
		g.max_unavailable = ROLLING_SLOTS_MAX;
		g.halted_since = 5;
		memset(g.halted_node, 'n', WORKER_NODE_MAX);
		memset(g.halted_why, 'w', POLICY_TEXT_MAX);
	}
	buffer_done(&b);
}

Test(rolling_record, a_slot_there_and_back)
{
	struct rolling_slot s = {.id = "i",
				 .drain = "d",
				 .node = "n",
				 .boot_id = "b",
				 .by = "u",
				 .host = "h",
				 .exit_status = -1},
			    back;
	struct buffer b;

	buffer_init(&b, RECORD_ROLLING_MAX);
	for (int i = 0; i < ROLLING_STATES; i++) {
		s.state = (enum rolling_state)i;
		buffer_truncate(&b, 0);
		cr_assert_eq(record_pack_rolling_slot(&b, &s), 0);
		cr_assert_eq(record_parse_rolling_slot(b.data, b.len, &back, &why), 0, "%s", why);
		cr_assert_eq(back.state, s.state);
		cr_assert_eq(back.exit_status, s.exit_status);
		cr_assert_eq(back.since, s.since);
		cr_assert(strcmp(back.id, s.id) == 0 && strcmp(back.drain, s.drain) == 0 &&
			  strcmp(back.node, s.node) == 0 && strcmp(back.machine, s.machine) == 0);
		cr_assert(strcmp(back.boot_id, s.boot_id) == 0 && strcmp(back.by, s.by) == 0 &&
			  strcmp(back.process, s.process) == 0 && strcmp(back.host, s.host) == 0);
		for (size_t cut = 0; cut < b.len; cut++)
			cr_assert_eq(record_parse_rolling_slot(b.data, cut, &back, &why), -EBADMSG);
		/* The biggest that there may be. */
		memset(s.id, 'i', NAME_ID_MAX);
		memset(s.drain, 'd', NAME_ID_MAX);
		memset(s.node, 'n', WORKER_NODE_MAX);
		memset(s.machine, 'm', WORKER_MACHINE_MAX);
		memset(s.boot_id, 'b', NAME_ID_MAX);
		memset(s.process, 'p', ROLLING_PROCESS_MAX);
		memset(s.by, 'u', POLICY_TEXT_MAX);
		memset(s.host, 'h', NAME_HOST_MAX);
		s.since = 7;
		s.exit_status = 255;
	}
	buffer_done(&b);
}

Test(rolling_record, a_waiter_there_and_back)
{
	struct rolling_waiter w = {.node = "n", .since = 3}, back;
	struct buffer b;

	buffer_init(&b, RECORD_ROLLING_MAX);
	cr_assert_eq(record_pack_rolling_waiter(&b, &w), 0);
	cr_assert_eq(record_parse_rolling_waiter(b.data, b.len, &back, &why), 0);
	cr_assert(strcmp(back.node, "n") == 0 && back.since == 3);
	buffer_done(&b);
}

static void refused(const struct buffer *b, const char *expected)
{
	struct rolling_group back = {.max_unavailable = -7};

	cr_assert_eq(record_parse_rolling_group(b->data, b->len, &back, &why), -EBADMSG);
	cr_assert_eq(back.max_unavailable, -7, "untouched");
	cr_assert(strstr(why, expected), "%s", why);
}

Test(rolling_record, what_is_refused)
{
	static const int64_t bad[] = {0, -1, ROLLING_SLOTS_MAX + 1};
	static const struct {
		size_t n;
		const char *node;
		int64_t since;
	} halts[] = {{3, "", 1}, {3, "n", 0}, {2, "n", 1}};
	struct buffer b;
	struct pack p;

	buffer_init(&b, RECORD_ROLLING_MAX);
	for (size_t i = 0; i < 3; i++) {
		buffer_truncate(&b, 0);
		pack_init(&p, &b);
		pack_map(&p, 1);
		pack_kv_int(&p, "max_unavailable", bad[i]);
		refused(&b, "max_unavailable");
		buffer_truncate(&b, 0);
		pack_init(&p, &b);
		pack_map(&p, 2);
		pack_kv_int(&p, "max_unavailable", 1);
		pack_str(&p, "halted");
		pack_array(&p, halts[i].n);
		pack_str(&p, halts[i].node);
		pack_str(&p, "why");
		if (halts[i].n == 3)
			pack_int(&p, halts[i].since);
		refused(&b, "halted");
	}
	cr_assert(rolling_process_is_good("1 2", 3));
	cr_assert_not(rolling_process_is_good("\n", 1));
	buffer_done(&b);
}

/* A slot with that as the value of one key, which is MessagePack already. */
static int parse_slot(const char *key, const char *value, size_t len)
{
	static const char *const keys[] = {"id", "drain", "state", "node", "boot_id", "by", "host"};
	struct rolling_slot slot;
	struct buffer b;
	struct pack p;
	size_t n = 0;

	buffer_init(&b, 2 * RECORD_ROLLING_MAX);
	pack_init(&p, &b);
	for (size_t i = 0; i < sizeof(keys) / sizeof(keys[0]); i++)
		n += strcmp(keys[i], key) != 0;
	pack_map(&p, n + 2);
	for (size_t i = 0; i < sizeof(keys) / sizeof(keys[0]); i++)
		if (strcmp(keys[i], key) != 0)
			pack_kv_str(&p, keys[i], strcmp(keys[i], "state") == 0 ? "running" : "a-1");
	pack_kv_int(&p, "since", 1);
	pack_str(&p, key);
	cr_assert_eq(buffer_append(&b, value, len), 0);
	int e = record_parse_rolling_slot(b.data, b.len, &slot, &why);
	buffer_done(&b);
	return e;
}

Test(rolling_record, values_of_a_slot_that_cannot_be)
{
	static const struct {
		const char *key, *value;
		size_t len;
	} cases[] = {
		{"state", RAW("\x01")},
		{"state", RAW("\xa4gone")},
		{"state", RAW("\xa7RUNNING")},
		{"node", RAW("\xa0")},
		{"node", RAW("\xa1\xff")},
		{"node", RAW("\xa3"
			     "a\0b")},
		{"by", RAW("\xa1\xff")},
		{"by", RAW("\xa3"
			   "a\0b")},
		{"machine", RAW("\xa1\x01")},
		{"process", RAW("\xa0")},
		{"exit_status", RAW("\xcd\x01\x00")},
	};
	char longest[402];

	cr_expect_eq(parse_slot("machine", RAW("\xa1m")), 0, "%s", why);
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
		cr_expect_eq(parse_slot(cases[i].key, cases[i].value, cases[i].len), -EBADMSG,
			     "%zu", i);
	/* Texts of 65 bytes, one more than a machine's name and a process may have. */
	memset(longest, 'x', sizeof(longest));
	memcpy(longest, "\xd9\x41", 2);
	cr_expect_eq(parse_slot("machine", longest, 67), -EBADMSG);
	cr_expect_eq(parse_slot("process", longest, 67), -EBADMSG);
	/* And 401, for a node. */
	char node[404] = "\xda\x01\x91";
	memset(node + 3, 'x', sizeof(node) - 3);
	cr_expect_eq(parse_slot("node", node, sizeof(node)), -EBADMSG);
}

Test(rolling_record, a_halt_that_cannot_be)
{
	static const struct {
		const char *data;
		size_t len;
	} cases[] = {
		{RAW("\x82\xafmax_unavailable\x01\xa6halted\x01")},
		{RAW("\x82\xafmax_unavailable\x01\xa6halted\x92\xa1n\xa1w")},
		{RAW("\x82\xafmax_unavailable\x01\xa6halted\x93\x01\xa1w\x01")},
		{RAW("\x82\xafmax_unavailable\x01\xa6halted\x93\xa1n\x01\x01")},
		{RAW("\x82\xafmax_unavailable\x01\xa6halted\x93\xa1n\xa1w\xff")},
		{RAW("\x82\xafmax_unavailable\x01\xa6halted\x93\xa0\xa1w\x01")},
		{RAW("\x82\xafmax_unavailable\x01\xa6halted\x93\xa1n\xa1\xff\x01")},
	};
	struct rolling_group group;

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		cr_expect_eq(record_parse_rolling_group(cases[i].data, cases[i].len, &group, &why),
			     -EBADMSG);
		cr_expect_str_eq(why, "halted: not an array of node, why and since", "%zu", i);
	}
}

/* A record that does not fit leaves nothing of it behind. */
Test(rolling_record, no_room)
{
	struct rolling_waiter waiter = {.node = "n"}, seen;
	struct buffer b;

	buffer_init(&b, 8);
	cr_assert_eq(buffer_append(&b, "abc", 3), 0);
	cr_expect_eq(record_pack_rolling_waiter(&b, &waiter), -ENOBUFS);
	cr_expect_eq(b.len, 3);
	cr_expect_eq(record_parse_rolling_waiter("\x80", 1, &seen, &why), -EBADMSG);
	buffer_done(&b);
}
