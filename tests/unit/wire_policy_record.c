/*
 * Records of operators' decisions: which keys go with which kind, and that nothing else is taken.
 */
#include <criterion/criterion.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "wire/pack.h"
#include "wire/records/record.h"

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))
#define TIME_MAX_MS  INT64_C(253402300799999)
#define DO_NOT_FIT   "kind: task, node or version do not fit it"
#define NOT_TIME     "not milliseconds since the epoch, before the year 10000"

/* The texts of a record; NULL: the key is not there. */
struct texts {
	const char *kind, *task, *node, *version, *reason, *by, *host;
};

static const struct texts good[] = {
	{"pause", "nightly", NULL, NULL, "a fault", "root", "app-1"},
	{"pause", "nightly", NULL, NULL, NULL, "", "app-1"},
	{"pin", "nightly", NULL, "2.0-rc1", NULL, "alice", "app-1"},
	{"drain", NULL, "app-1:/run/zkleader.sock", NULL, "new disks", "root", "app-1"},
	{"resign", "nightly", "app-1:/run/zkleader.sock", NULL, NULL, "root", "app-2"},
	{"rerun", "nightly", "app-1:/run/zkleader.sock", NULL, "lost", "zkleader run", "app-1"},
};

static void put(struct pack *p, const char *key, const char *text, size_t *n)
{
	if (!text)
		return;
	pack_kv_str(p, key, text);
	/* As it is, where it is no UTF-8, which is never packed. */
	memcpy(p->buffer->data + p->buffer->len - strlen(text), text, strlen(text));
	++*n;
}

/* Parses a record of these texts and times; until < 0: it has none. */
static int parse(const struct texts *t, int64_t since, int64_t until, struct policy_record *ret,
		 const char **ret_why)
{
	struct buffer pairs, whole;
	struct pack p;
	size_t n = 1;
	int e;

	buffer_init(&pairs, 2 * RECORD_POLICY_MAX);
	buffer_init(&whole, 2 * RECORD_POLICY_MAX);
	pack_init(&p, &pairs);
	put(&p, "kind", t->kind, &n);
	put(&p, "task", t->task, &n);
	put(&p, "node", t->node, &n);
	put(&p, "version", t->version, &n);
	put(&p, "reason", t->reason, &n);
	put(&p, "by", t->by, &n);
	put(&p, "host", t->host, &n);
	pack_kv_int(&p, "since", since);
	if (until >= 0) {
		pack_kv_int(&p, "until", until);
		n++;
	}
	pack_init(&p, &whole);
	pack_map(&p, n);
	cr_assert_eq(buffer_append(&whole, pairs.data, pairs.len), 0);
	e = record_parse_policy(whole.data, whole.len, ret, ret_why);
	buffer_done(&pairs);
	buffer_done(&whole);
	return e;
}

static void refused(const struct texts *t, int64_t since, int64_t until, const char *expected)
{
	struct policy_record r;
	const char *why = "it was taken";

	memset(&r, 0x55, sizeof(r));
	cr_expect_eq(parse(t, since, until, &r, &why), -EBADMSG, "%s", expected);
	cr_expect_str_eq(why, expected);
	cr_expect_eq(r.kind[0], 0x55, "untouched: %s", expected);
}

static const char *text_of(const char *text)
{
	return text ? text : "";
}

static void expect(const struct policy_record *r, const struct texts *t)
{
	cr_expect_str_eq(r->kind, t->kind);
	cr_expect_str_eq(r->task, text_of(t->task));
	cr_expect_str_eq(r->node, text_of(t->node));
	cr_expect_str_eq(r->version, text_of(t->version));
	cr_expect_str_eq(r->reason, text_of(t->reason));
	cr_expect_str_eq(r->by, text_of(t->by));
	cr_expect_str_eq(r->host, text_of(t->host));
}

Test(policy_record, there_and_back)
{
	for (size_t i = 0; i < COUNT(good); i++) {
		int64_t until = i % 2 ? TIME_MAX_MS : 0;
		struct policy_record r, back;
		const char *why = "";
		struct buffer b;

		cr_assert_eq(parse(&good[i], 1795140000000, until, &r, &why), 0, "%s", why);
		expect(&r, &good[i]);
		cr_expect_eq(r.since, 1795140000000);
		cr_expect_eq(r.until, until);

		buffer_init(&b, RECORD_POLICY_MAX);
		cr_assert_eq(record_pack_policy(&b, &r), 0);
		cr_assert_eq(record_parse_policy(b.data, b.len, &back, &why), 0, "%s", why);
		expect(&back, &good[i]);
		cr_expect_eq(back.since, 1795140000000);
		cr_expect_eq(back.until, until);
		buffer_done(&b);
	}
}

Test(policy_record, without_an_end_it_lasts_until_it_is_taken_back)
{
	struct policy_record r;
	const char *why = "";

	cr_assert_eq(parse(&good[0], 1, -1, &r, &why), 0, "%s", why);
	cr_expect_eq(r.until, 0);
}

/* A kind without what it is about, or with what it is not about, is for nobody to guess. */
Test(policy_record, what_each_kind_is_about)
{
	static const struct texts bad[] = {
		{"pause", NULL, NULL, NULL, NULL, "root", "h"},
		{"pause", "t", "n", NULL, NULL, "root", "h"},
		{"pause", "t", NULL, "1", NULL, "root", "h"},
		{"pin", "t", NULL, NULL, NULL, "root", "h"},
		{"pin", NULL, NULL, "1", NULL, "root", "h"},
		{"pin", "t", "n", "1", NULL, "root", "h"},
		{"drain", NULL, NULL, NULL, NULL, "root", "h"},
		{"drain", NULL, "", NULL, NULL, "root", "h"},
		{"drain", "t", "n", NULL, NULL, "root", "h"},
		{"drain", NULL, "n", "1", NULL, "root", "h"},
		{"resign", "t", NULL, NULL, NULL, "root", "h"},
		{"resign", NULL, "n", NULL, NULL, "root", "h"},
		{"resign", "t", "n", "1", NULL, "root", "h"},
		{"rerun", "t", NULL, NULL, NULL, "root", "h"},
		{"rerun", NULL, "n", NULL, NULL, "root", "h"},
		{"rerun", "t", "n", "1", NULL, "root", "h"},
	};

	for (size_t i = 0; i < COUNT(bad); i++)
		refused(&bad[i], 1, -1, DO_NOT_FIT);
}

Test(policy_record, values_that_cannot_be)
{
	char longest[POLICY_TEXT_MAX + 1], longer[POLICY_TEXT_MAX + 2], node[WORKER_NODE_MAX + 2];
	struct texts t = good[0];
	struct policy_record r;
	const char *why = "";

	snprintf(longer, sizeof(longer), "%0*d", POLICY_TEXT_MAX + 1, 0);
	snprintf(longest, sizeof(longest), "%0*d", POLICY_TEXT_MAX, 0);
	snprintf(node, sizeof(node), "%0*d", WORKER_NODE_MAX + 1, 0);
	t.reason = t.by = longest;
	cr_expect_eq(parse(&t, 0, TIME_MAX_MS, &r, &why), 0, "%s", why);
	t.reason = longer;
	refused(&t, 1, -1, "reason: not a string of at most 200 bytes of UTF-8");
	t.reason = "zw\xf6lf";
	refused(&t, 1, -1, "reason: not a string of at most 200 bytes of UTF-8");
	t.reason = NULL;
	t.by = longer;
	refused(&t, 1, -1, "by: not a string of at most 200 bytes of UTF-8");
	t.by = NULL;
	refused(&t, 1, -1, "by: missing");
	t = good[0];
	t.kind = "halt";
	refused(&t, 1, -1, "kind: not one of pause, pin, drain, resign");
	t.kind = "pausen";
	refused(&t, 1, -1, "kind: not one of pause, pin, drain, resign");
	t = good[0];
	t.task = "not a name";
	refused(&t, 1, -1, "task: not the name of a task");
	t = good[3];
	t.node = node;
	refused(&t, 1, -1, "node: not a string of at most 400 bytes of UTF-8");
	t = good[0];
	t.host = "";
	refused(&t, 1, -1, "host: not a string of 1 to 255 printable ASCII characters");
	refused(&good[0], -1, -1, "since: " NOT_TIME);
	refused(&good[0], TIME_MAX_MS + 1, -1, "since: " NOT_TIME);
	refused(&good[0], 1, TIME_MAX_MS + 1, "until: " NOT_TIME);
}

/* A NUL byte would hide what follows it from whoever reads the text. */
Test(policy_record, nul_bytes)
{
	static const char *const keys[] = {"node", "reason"};

	for (size_t i = 0; i < COUNT(keys); i++) {
		const char *why = "it was taken";
		struct policy_record r;
		struct buffer b;
		struct pack p;

		buffer_init(&b, RECORD_POLICY_MAX);
		pack_init(&p, &b);
		pack_map(&p, 6);
		pack_kv_str(&p, "kind", i == 0 ? "drain" : "pause");
		pack_kv_str(&p, "by", "root");
		pack_kv_str(&p, "host", "h");
		pack_kv_int(&p, "since", 1);
		pack_kv_str(&p, i == 0 ? "reason" : "task", "t");
		pack_str(&p, keys[i]);
		cr_assert_eq(buffer_append(&b,
					   "\xa3"
					   "a\0b",
					   4),
			     0);
		cr_expect_eq(record_parse_policy(b.data, b.len, &r, &why), -EBADMSG);
		cr_expect_eq(strncmp(why, keys[i], strlen(keys[i])), 0, "%s", why);
		buffer_done(&b);
	}
}

Test(policy_record, no_room)
{
	struct policy_record r;
	const char *why = "";
	struct buffer b;

	cr_assert_eq(parse(&good[0], 1, 2, &r, &why), 0, "%s", why);
	buffer_init(&b, 40);
	cr_assert_eq(buffer_append(&b, "before", 6), 0);
	cr_expect_eq(record_pack_policy(&b, &r), -ENOBUFS);
	cr_expect_eq(b.len, 6, "what was appended is taken back");
	buffer_done(&b);
}

Test(policy_record, kinds)
{
	for (int i = 0; i < POLICY_KINDS; i++) {
		const char *name = policy_kind_name((enum policy_kind)i);
		enum policy_kind kind = POLICY_KINDS;

		cr_expect(policy_kind_parse(name, strlen(name), &kind));
		cr_expect_eq((int)kind, i);
		cr_expect_leq(strlen(name), POLICY_KIND_MAX);
	}
}
