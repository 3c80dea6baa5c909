/* NoticeRecord: what is written is read again, and what is no record is refused by name. */
#include <criterion/criterion.h>

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "wire/records/notice_record.h"
#include "wire/reader.h"

static struct notice_record whole(void)
{
	return (struct notice_record){.event = NOTICE_FAILED,
				      .id = "11111111-2222-3333-4444-555555555555",
				      .task = "nightly:3",
				      .node = "host\xc3\xa4",
				      .version = "1.5.0-rc1",
				      .time = INT64_C(1790000000000),
				      .token = 41,
				      .led = true,
				      .tick = "2026-11-20T02:00:00Z",
				      .attempt = 2,
				      .exit_status = 255,
				      .text = "it failed",
				      .why = "status",
				      .detail = "exit status 255",
				      .output = "\xff\0x",
				      .output_len = 3};
}

static int parse(const struct buffer *b, struct notice_record *r, const char **why)
{
	return record_parse_notice(b->data, b->len, r, why);
}

Test(notice_record, is_read_as_it_was_written)
{
	const struct notice_record r = whole();
	struct notice_record again;
	struct buffer b;
	const char *why;

	buffer_init(&b, RECORD_NOTICE_MAX);
	cr_assert_eq(record_pack_notice(&b, &r), 0);
	cr_assert_eq(parse(&b, &again, &why), 0);
	cr_expect_eq(again.event, r.event);
	cr_expect_str_eq(again.id, r.id);
	cr_expect_str_eq(again.task, r.task);
	cr_expect_str_eq(again.node, r.node);
	cr_expect_str_eq(again.version, r.version);
	cr_expect_str_eq(again.tick, r.tick);
	cr_expect_str_eq(again.text, r.text);
	cr_expect_str_eq(again.why, r.why);
	cr_expect_str_eq(again.detail, r.detail);
	cr_expect_eq(again.time, r.time);
	cr_expect_eq(again.token, r.token);
	cr_expect_eq(again.led, r.led);
	cr_expect_eq(again.attempt, r.attempt);
	cr_expect_eq(again.exit_status, r.exit_status);
	cr_expect_eq(again.output_len, 3);
	cr_expect_eq(memcmp(again.output, r.output, 3), 0);
	buffer_done(&b);
}

Test(notice_record, the_longest_fits_and_a_full_buffer_takes_nothing)
{
	static char output[RECORD_OUTPUT_MAX];
	struct notice_record r = whole(), again;
	struct buffer b;
	const char *why;

	memset(r.node, 'n', WORKER_NODE_MAX);
	memset(r.version, 'v', NAME_VERSION_MAX);
	memset(r.text, 't', NOTICE_TEXT_MAX);
	memset(r.id, 'i', NAME_ID_MAX);
	memset(r.why, 'w', RECORD_WHY_MAX);
	memset(r.detail, 'd', RECORD_DETAIL_MAX);
	r.output = output;
	r.output_len = sizeof(output);
	buffer_init(&b, RECORD_NOTICE_MAX);
	cr_assert_eq(record_pack_notice(&b, &r), 0);
	cr_expect_eq(parse(&b, &again, &why), 0);
	cr_expect_eq(record_pack_notice(&b, &r), -ENOBUFS);
	cr_expect_eq(parse(&b, &again, &why), 0);
	buffer_done(&b);
}

static void put(struct buffer *b, const char *event, const char *id, const char *key,
		const char *text, int64_t number)
{
	struct pack p;

	buffer_init(b, RECORD_NOTICE_MAX);
	pack_init(&p, b);
	pack_map(&p, key ? 4 : 3);
	pack_kv_str(&p, "event", event);
	pack_kv_str(&p, "id", id);
	pack_kv_int(&p, "time", 5);
	if (key && text)
		pack_kv_str(&p, key, text);
	else if (key)
		pack_kv_int(&p, key, number);
}

Test(notice_record, what_is_no_record_is_refused_by_name)
{
	static const struct {
		const char *event, *id, *key, *text, *why;
		int64_t number;
	} cases[] = {
		{"fail", "a", NULL, NULL, "event: not known", 0},
		{"lost", "a b", NULL, NULL, "id: not a string of 1 to 64", 0},
		{"lost", "a", "task", "no task", "task: not the name", 0},
		{"lost", "a", "version", "\x01", "version: not a string", 0},
		{"lost", "a", "node", "a\xff", NULL, 0},
		{"lost", "a", "tick", "\t", "tick: not a short", 0},
		{"lost", "a", "token", NULL, "token: not a number", -1},
		{"lost", "a", "attempt", NULL, "attempt: not a number", -1},
		{"lost", "a", "exit_status", NULL, "exit_status: not a status", 256},
		{"lost", "a", "led", "yes", "led: not true or false", 0},
		{"lost", "a", "output", "text", "output: not at most 2048 bytes", 0},
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct notice_record r = whole();
		const char *why = "";
		struct buffer b;

		put(&b, cases[i].event, cases[i].id, cases[i].key, cases[i].text, cases[i].number);
		/* Text that is no UTF-8 is replaced as it is packed. */
		if (!cases[i].why) {
			cr_expect_eq(parse(&b, &r, &why), 0);
			buffer_done(&b);
			continue;
		}
		cr_expect_eq(parse(&b, &r, &why), -EBADMSG, "%zu", i);
		cr_expect(strncmp(why, cases[i].why, strlen(cases[i].why)) == 0, "%s", why);
		cr_expect_eq(r.token, 41, "untouched");
		buffer_done(&b);
	}
}

Test(notice_record, what_an_event_has_none_of_is_nil_on_the_socket)
{
	const struct notice_record full = whole(),
				   bare = {.event = NOTICE_ROLLOUT, .id = "a", .exit_status = -1};
	struct buffer b;
	struct pack p;
	size_t len, n, nils = 0;

	buffer_init(&b, 2 * RECORD_NOTICE_MAX);
	pack_init(&p, &b);
	notice_pack(&p, &full);
	cr_expect_eq(reader_measure(b.data, b.len, b.len, &len), 1);
	cr_expect_eq(len, b.len);
	buffer_clear(&b);
	notice_pack(&p, &bare);
	struct reader r;
	reader_init(&r, b.data, b.len);
	cr_assert_eq(reader_map(&r, &n), 0);
	cr_assert_eq(n, 18);
	for (; n > 0; n--) {
		cr_assert_eq(reader_skip(&r), 0);
		nils += reader_nil(&r) == 0 || (reader_skip(&r), false);
	}
	cr_expect_eq(nils, 15, "all but event, id and time");
	buffer_done(&b);
}

static int value_of(const struct buffer *b, const char *key, struct reader *ret)
{
	struct reader_text name;
	size_t n;

	reader_init(ret, b->data, b->len);
	cr_assert_eq(reader_map(ret, &n), 0);
	for (; n > 0; n--) {
		cr_assert_eq(reader_str(ret, &name), 0);
		if (reader_text_is(name, key))
			return 0;
		cr_assert_eq(reader_skip(ret), 0);
	}
	return -ENOENT;
}

/* 1: true, 0: false, -1: nil. */
static int truth_of(const struct buffer *b, const char *key)
{
	struct reader r;
	bool is;

	cr_assert_eq(value_of(b, key, &r), 0, "%s", key);
	if (reader_bool(&r, &is) == 0)
		return is;
	cr_assert_eq(reader_nil(&r), 0, "%s", key);
	return -1;
}

/* Whether another attempt follows, and whether it is the first of a row of failures. */
Test(notice_record, what_the_socket_says_of_an_attempt)
{
	static const int final[NOTICE_EVENTS] = {
		[NOTICE_LEADER] = -1,	    [NOTICE_FAILED] = 1,   [NOTICE_LOST] = 1,
		[NOTICE_MISSED] = 1,	    [NOTICE_OVERDUE] = -1, [NOTICE_HALTED] = -1,
		[NOTICE_DEAD] = 1,	    [NOTICE_RETRYING] = 0, [NOTICE_RECOVERED] = -1,
		[NOTICE_DISCONNECTED] = -1, [NOTICE_ROLLOUT] = -1,
	};

	for (enum notice_event event = 0; event < NOTICE_EVENTS; event++)
		for (int failed = 0; failed < 2; failed++)
			for (int first = 0; first < 2; first++) {
				struct notice_record n = whole();
				struct buffer b;
				struct reader r;
				struct pack p;
				int64_t count;
				bool counts = failed || event == NOTICE_RECOVERED;

				n.event = event;
				n.failed = failed;
				n.first = first;
				buffer_init(&b, 2 * RECORD_NOTICE_MAX);
				pack_init(&p, &b);
				notice_pack(&p, &n);
				cr_expect_eq(truth_of(&b, "final"), final[event], "%d", event);
				cr_expect_eq(truth_of(&b, "first"),
					     failed && event != NOTICE_RECOVERED ? first : -1, "%d",
					     event);
				cr_assert_eq(value_of(&b, "failed", &r), 0);
				cr_expect_eq(reader_int(&r, &count), counts ? 0 : -EBADMSG, "%d",
					     event);
				if (counts)
					cr_expect_eq(count, failed);
				buffer_done(&b);
			}
}

/* Texts that nothing of ours packs. */
Test(notice_record, bytes_that_are_no_text)
{
	static const struct {
		const char *key, *bytes;
		size_t len;
		bool good;
	} cases[] = {
		{"text", "\xa1\xff", 2, false},
		{"text",
		 "\xa3"
		 "a\0b",
		 4, false},
		{"text", "\xa0", 1, true},
		{"task", "\xa0", 1, true},
		{"node", "\xa1\xff", 2, false},
		{"node", "\xa0", 1, true},
		{"event", "\x01", 1, false},
		{"output", "\xc4\x01\xff", 3, true},
		{"output", "\xc5\x08\x01", 3, false},
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		bool is_event = strcmp(cases[i].key, "event") == 0;
		static const char zeros[2100];
		struct notice_record r;
		const char *why = "";
		struct buffer b;
		struct pack p;

		buffer_init(&b, RECORD_NOTICE_MAX);
		pack_init(&p, &b);
		pack_map(&p, is_event ? 3 : 4);
		pack_kv_str(&p, "id", "a");
		pack_kv_int(&p, "time", 5);
		if (!is_event)
			pack_kv_str(&p, "event", "lost");
		pack_str(&p, cases[i].key);
		buffer_append(&b, cases[i].bytes, cases[i].len);
		if (i == 8)
			buffer_append(&b, zeros, 0x801);
		cr_expect_eq(parse(&b, &r, &why), cases[i].good ? 0 : -EBADMSG, "%zu: %s", i, why);
		buffer_done(&b);
	}
}
