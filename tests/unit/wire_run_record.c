#include <criterion/criterion.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "wire/pack.h"
#include "wire/records/record.h"

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))
#define TIME_MAX_MS  INT64_C(253402300799999)

static struct run_record example(void)
{
	return (struct run_record){.state = "ok",
				   .id = "3f1c2a9e-8f6e-4c4b",
				   .hostname = "app-1",
				   .node = "reports-1",
				   .run = "77b0c1",
				   .session = INT64_MAX,
				   .token = 4294967301,
				   .attempt = 2,
				   .started_at = INT64_C(1795140000000),
				   .ended_at = INT64_C(1795140001000),
				   .exit_status = 3,
				   .by = "ada@app-2",
				   .why = "status",
				   .detail = "it ended with status 3",
				   .output = "one\0\xfftwo",
				   .output_len = 8};
}

static int parse(const struct buffer *b, struct run_record *ret, const char **ret_why)
{
	return record_parse_run(b->data, b->len, ret, ret_why);
}

static void there_and_back(const struct run_record *r)
{
	struct run_record back;
	const char *why = "";
	struct buffer b;

	memset(&back, 0x55, sizeof(back));
	buffer_init(&b, RECORD_RUN_MAX);
	cr_assert_eq(record_pack_run(&b, r), 0);
	cr_assert_eq(parse(&b, &back, &why), 0, "%s", why);
	cr_assert_str_eq(back.state, r->state);
	cr_assert_str_eq(back.id, r->id);
	cr_assert_str_eq(back.hostname, r->hostname);
	cr_assert_str_eq(back.node, r->node);
	cr_assert_str_eq(back.run, r->run);
	cr_assert_eq(back.session, r->session);
	cr_assert_eq(back.token, r->token);
	cr_assert_eq(back.attempt, r->attempt);
	cr_assert_eq(back.started_at, r->started_at);
	cr_assert_eq(back.ended_at, r->ended_at);
	cr_assert_eq(back.exit_status, r->exit_status);
	cr_assert_str_eq(back.by, r->by);
	cr_assert_str_eq(back.why, r->why);
	cr_assert_str_eq(back.detail, r->detail);
	cr_assert_eq(back.output_len, r->output_len);
	cr_assert(memcmp(back.output_len ? back.output : "", r->output_len ? r->output : "",
			 r->output_len) == 0);
	buffer_done(&b);
}

Test(run_record, there_and_back)
{
	static const char *const states[] = {"running", "ok",	  "failed", "lost",
					     "claimed", "missed", "timeout"};
	struct run_record r = example();

	for (size_t i = 0; i < COUNT(states); i++) {
		strcpy(r.state, states[i]);
		there_and_back(&r);
	}
}

/* Optional keys: each is left out alone, and then all of them. */
Test(run_record, optional_keys)
{
	for (unsigned without = 0; without < 128; without++) {
		struct run_record r = example();

		if (without & 1)
			r.run[0] = '\0';
		if (without & 32)
			r.by[0] = '\0';
		if (without & 64)
			r.output_len = 0;
		if (without & 16)
			r.node[0] = '\0';
		if (without & 2)
			r.session = 0;
		if (without & 4)
			r.ended_at = 0;
		if (without & 8)
			r.exit_status = -1;
		there_and_back(&r);
	}
}

/* A record with one key that says something else than the example. */
struct change {
	const char *key;
	const char *text; /* NULL: the number */
	int64_t number;
	const char *why; /* NULL: it is good */
};

static void put(struct pack *p, const struct change *change, const char *key, const char *text,
		int64_t number)
{
	if (strcmp(change->key, key) == 0) {
		text = change->text;
		number = change->number;
	}
	if (text)
		pack_kv_str(p, key, text);
	else
		pack_kv_int(p, key, number);
}

static int parse_changed(const struct change *change, struct run_record *ret, const char **ret_why)
{
	struct buffer b;
	struct pack p;
	int e;

	buffer_init(&b, RECORD_RUN_MAX);
	pack_init(&p, &b);
	pack_map(&p, 10);
	put(&p, change, "state", "ok", 0);
	put(&p, change, "id", "a", 0);
	put(&p, change, "hostname", "h", 0);
	put(&p, change, "run", "b", 0);
	put(&p, change, "session", NULL, 1);
	put(&p, change, "token", NULL, 1);
	put(&p, change, "attempt", NULL, 1);
	put(&p, change, "started_at", NULL, 0);
	put(&p, change, "ended_at", NULL, 1);
	put(&p, change, "exit_status", NULL, 0);
	e = parse(&b, ret, ret_why);
	buffer_done(&b);
	return e;
}

Test(run_record, values)
{
	static const struct change cases[] = {
		{"state", "running", 0, NULL},
		{"state", "", 0,
		 "state: not one of running, ok, failed, lost, claimed, missed, timeout"},
		{"state", "okay", 0,
		 "state: not one of running, ok, failed, lost, claimed, missed, timeout"},
		{"state", "o", 0,
		 "state: not one of running, ok, failed, lost, claimed, missed, timeout"},
		{"state", "runninG", 0,
		 "state: not one of running, ok, failed, lost, claimed, missed, timeout"},
		{"state", NULL, 1,
		 "state: not one of running, ok, failed, lost, claimed, missed, timeout"},
		{"id", "-", 0, "id: not a string of 1 to 64 letters, digits and hyphens"},
		{"run", "", 0, "run: not a string of 1 to 64 letters, digits and hyphens"},
		{"session", NULL, INT64_MAX, NULL},
		{"session", NULL, 0, "session: not a positive integer"},
		{"session", NULL, -1, "session: not a positive integer"},
		{"token", NULL, INT64_MAX, NULL},
		{"token", NULL, 0, "token: not a positive integer"},
		{"token", "1", 0, "token: not a positive integer"},
		{"attempt", NULL, INT32_MAX, NULL},
		{"attempt", NULL, 0, "attempt: not a positive integer"},
		{"attempt", NULL, INT64_C(1) << 31, "attempt: not a positive integer"},
		{"started_at", NULL, TIME_MAX_MS, NULL},
		{"started_at", NULL, TIME_MAX_MS + 1,
		 "started_at: not milliseconds since the epoch, before the year 10000"},
		{"ended_at", NULL, TIME_MAX_MS, NULL},
		{"ended_at", NULL, -1,
		 "ended_at: not milliseconds since the epoch, before the year 10000"},
		{"exit_status", NULL, 255, NULL},
		{"exit_status", NULL, 256, "exit_status: not a number from 0 to 255"},
		{"exit_status", NULL, -1, "exit_status: not a number from 0 to 255"},
		{"", NULL, 0, NULL},
	};

	for (size_t i = 0; i < COUNT(cases); i++) {
		struct run_record r = {.token = 77};
		const char *why = NULL;
		int e = parse_changed(&cases[i], &r, &why);

		cr_expect_eq(e, cases[i].why ? -EBADMSG : 0, "case %zu: %s", i, why);
		if (!cases[i].why)
			continue;
		cr_expect(why && strcmp(why, cases[i].why) == 0, "case %zu: %s", i, why);
		cr_expect(r.token == 77 && r.id[0] == '\0', "untouched on failure");
	}
}

/* With too little room nothing is left behind what was there; too much is never a record. */
Test(run_record, no_room)
{
	struct run_record r = example(), back;
	size_t limit = 2;
	const char *why;
	struct buffer b;
	int e = -ENOBUFS;

	for (; e < 0; limit++) {
		buffer_init(&b, limit);
		cr_assert_eq(buffer_append(&b, "ab", 2), 0);
		e = record_pack_run(&b, &r);
		cr_assert(e == 0 ? b.len == limit : e == -ENOBUFS && b.len == 2);
		buffer_done(&b);
	}
	buffer_init(&b, 2 * RECORD_RUN_MAX);
	cr_assert_eq(record_pack_run(&b, &r), 0);
	cr_assert_gt(buffer_reserve(&b, RECORD_RUN_MAX), 0);
	memset(b.data + b.len, 0, RECORD_RUN_MAX);
	buffer_added(&b, RECORD_RUN_MAX);
	cr_assert_eq(parse(&b, &back, &why), -EBADMSG);
	buffer_done(&b);
}
