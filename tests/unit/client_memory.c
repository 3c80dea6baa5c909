/*
 * The C API without memory: each allocation of its own fails once, as the linker gives it these
 * functions for malloc() and calloc(). It then says -ENOMEM, or needs none, and works again
 * afterwards.
 */
#include "client_fake.h"

#include <errno.h>

#include "zkleader.h"

#define LONG_MS	  10000
#define ATTEMPTS  64 /* more than there are allocations in one of these calls */
#define LONG_TEXT 9000

void *__real_malloc(size_t size);
void *__real_calloc(size_t n, size_t size);
void *__wrap_malloc(size_t size);
void *__wrap_calloc(size_t n, size_t size);

/* The one that fails, counted down; 0: none. Of this thread alone: the fake's needs memory. */
static _Thread_local int fails_in;

static bool fails(void)
{
	return fails_in > 0 && --fails_in == 0;
}

void *__wrap_malloc(size_t size)
{
	return fails() ? NULL : __real_malloc(size);
}

void *__wrap_calloc(size_t n, size_t size)
{
	return fails() ? NULL : __real_calloc(n, size);
}

static const struct fake_answer leads = {
	.task = "t", .leader = true, .state = "leading", .token = 42, .lease_ms = 6000};

/* A long text, so that buffers grow: the answer to a call, and then as a notification. */
static void serve_much(struct fake *f, int fd)
{
	static struct fake_request r;
	char text[LONG_TEXT];
	struct buffer b;
	struct pack p;

	memset(text, 'x', sizeof(text));
	while (fake_read(f, fd, &r)) {
		buffer_init(&b, RPC_RESPONSE_MAX);
		pack_init(&p, &b);
		rpc_pack_result(&p, r.m.msgid);
		pack_strn(&p, text, sizeof(text));
		rpc_pack_notify(&p, "n");
		pack_strn(&p, text, sizeof(text));
		fake_send_buffer(fd, &b);
	}
}

/* 0, or how it failed. */
typedef int (*use_fn)(struct zkleader *z);

static int use_check(struct zkleader *z)
{
	struct zkleader_answer a = {.size = sizeof(a), .token = 99};
	int e = zkleader_check(z, "t", 0, LONG_MS, &a);

	cr_expect_eq(a.token, e == 0 ? 42 : 99);
	return e;
}

static int use_call(struct zkleader *z)
{
	char params[LONG_TEXT + 4] = "\x91\xda\x23\x28"; /* one text of 9,000 bytes */
	const void *result;
	size_t len = 0;
	int e = zkleader_call(z, "m", params, sizeof(params), LONG_MS, &result, &len);

	cr_expect_eq(len, e == 0 ? LONG_TEXT + 3 : 0);
	return e;
}

static int use_subscription(struct zkleader *z)
{
	struct zkleader_notification n = {.size = sizeof(n)};
	const void *result;
	size_t len = 0;
	int e = zkleader_call(z, "subscribe", NULL, 0, LONG_MS, &result, &len);

	if (e == 0)
		e = zkleader_next(z, LONG_MS, &n);
	cr_expect_eq(n.len, e == 0 ? LONG_TEXT + 3 : 0);
	return e;
}

static int use_claim(struct zkleader *z)
{
	struct zkleader_tick t = {.size = sizeof(t)};

	return zkleader_claim(z, "t", 0, 0, LONG_MS, &t);
}

static int use_partitions(struct zkleader *z)
{
	struct zkleader_partition list[ZKLEADER_PARTITIONS_MAX];
	unsigned partitions;
	size_t n;

	return zkleader_partitions(z, "t", LONG_MS, list, &n, &partitions);
}

static int use_submit(struct zkleader *z)
{
	const struct zkleader_submission job = {.size = sizeof(job), .queue = "q"};
	char id[ZKLEADER_JOB_ID_SIZE] = "";

	return zkleader_submit(z, &job, LONG_MS, id);
}

static int use_job(struct zkleader *z)
{
	struct zkleader_job job = {.size = sizeof(job)};

	return zkleader_read_job(z, "q.1.01234567-89ab-cdef-0123-456789abcdef", 0, LONG_MS, &job);
}

/* How often it failed for want of memory; otherwise it returned what it does with enough. */
static int count_failures(const struct fake *f, use_fn use, int enough)
{
	int failures = 0;

	for (int i = 1; i < ATTEMPTS; i++) {
		struct zkleader *z;
		int e;

		cr_assert_eq(zkleader_open(fake_path(f), &z), 0);
		fails_in = i;
		e = use(z);
		bool failed = fails_in == 0;
		fails_in = 0;
		if (failed) {
			failures++;
			cr_expect_eq(e, -ENOMEM, "allocation %d: %d", i, e);
			cr_expect_str_eq(zkleader_message(z), "out of memory");
			e = use(z);
		}
		cr_expect_eq(e, enough, "allocation %d: %d, %s", i, e, zkleader_message(z));
		zkleader_close(z);
		if (!failed)
			break;
	}
	return failures;
}

Test(memory, a_handle)
{
	struct zkleader *z = NULL;

	fails_in = 1;
	cr_expect_eq(zkleader_open("/s", &z), -ENOMEM);
	cr_expect_null(z);
	cr_expect_eq(fails_in, 0);
	cr_expect_eq(zkleader_open("/s", &z), 0);
	zkleader_close(z);
}

Test(memory, questions)
{
	struct fake f;

	fake_start(&f, fake_serve_answer, &leads);
	cr_expect_geq(count_failures(&f, use_check, 0), 3);
	/* An answer that is none to a claim. */
	cr_expect_geq(count_failures(&f, use_claim, -EBADMSG), 3);
	cr_expect_geq(count_failures(&f, use_partitions, -EBADMSG), 3);
	cr_expect_geq(count_failures(&f, use_submit, -EBADMSG), 3);
	cr_expect_geq(count_failures(&f, use_job, -EBADMSG), 3);
	fake_stop(&f);
}

Test(memory, long_messages)
{
	struct fake f;

	fake_start(&f, serve_much, NULL);
	cr_expect_geq(count_failures(&f, use_call, 0), 3);
	cr_expect_geq(count_failures(&f, use_subscription, 0), 3);
	fake_stop(&f);
}

/* --- structs that grow ------------------------------------------------------------------------ */

Test(structs, of_another_release)
{
	struct {
		struct zkleader_answer a;
		char later[16];
	} later;
	struct zkleader_answer unset, full = {.size = sizeof(full)};
	struct zkleader *z;
	struct fake f;

	fake_start(&f, fake_serve_answer, &leads);
	cr_assert_eq(zkleader_open(fake_path(&f), &z), 0);
	/* A caller who knows more fields keeps those. */
	memset(&later, 'x', sizeof(later));
	later.a.size = sizeof(later);
	cr_assert_eq(zkleader_check(z, "t", 0, LONG_MS, &later.a), 0);
	cr_expect_eq(later.a.size, sizeof(later));
	cr_expect(later.a.leader && later.a.token == 42);
	for (size_t i = 0; i < sizeof(later.later); i++)
		cr_expect_eq(later.later[i], 'x');
	/* 0 is the struct of 0.2.0. */
	memset(&unset, 'x', sizeof(unset));
	unset.size = 0;
	cr_assert_eq(zkleader_check(z, "t", 0, LONG_MS, &unset), 0);
	cr_expect_eq(unset.token, 42);
	cr_expect_str_eq(unset.led_by_node, "");
	cr_assert_eq(zkleader_check(z, "t", 0, LONG_MS, &full), 0);
	cr_expect_eq(full.token, 42);
	zkleader_close(z);
	fake_stop(&f);
}
