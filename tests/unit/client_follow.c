#include "client_fake.h"

#include <errno.h>

#include "base/clock.h"
#include "api/follow.h"

#define LONG_MS 10000

enum { HOW_MANY, HOW_MUCH };

static void notify(int fd)
{
	fake_send(fd, "\x93\x02\xa1n\x91\x07", 6);
}

static void answer(int fd, uint32_t msgid, int64_t value)
{
	struct buffer b;
	struct pack p;

	buffer_init(&b, RPC_REQUEST_MAX);
	pack_init(&p, &b);
	rpc_pack_result(&p, msgid);
	pack_int(&p, value);
	fake_send_buffer(fd, &b);
}

/*
 * The first connection tells something, answers two questions at a time, the first of which nobody
 * waits for any more, and ends; the second is refused.
 */
static void serve(struct fake *f, int fd)
{
	static struct fake_request r;
	uint32_t first;

	if (!fake_read(f, fd, &r))
		return;
	cr_expect(reader_text_is(r.m.method, "subscribe"));
	if (f->connections == 2) {
		fake_error(fd, r.m.msgid, 3, "unknown task");
		return;
	}
	answer(fd, r.m.msgid, 1);
	notify(fd);
	if (!fake_read(f, fd, &r))
		return;
	first = r.m.msgid;
	notify(fd);
	if (!fake_read(f, fd, &r))
		return;
	answer(fd, first, 1);
	answer(fd, r.m.msgid, 2);
}

static struct follow_event next(struct follow *f)
{
	int64_t until = clock_boot_ms() + LONG_MS;
	struct follow_event e = {.kind = FOLLOW_NOTHING};

	while (e.kind == FOLLOW_NOTHING && clock_boot_ms() < until) {
		int64_t left = follow_due_ms(f) - clock_boot_ms();
		struct pollfd fd = {.fd = follow_fd(f), .events = POLLIN};

		follow_next(f, &e);
		if (e.kind == FOLLOW_NOTHING)
			poll(&fd, 1, left < 0 ? 0 : left < LONG_MS ? (int)left : LONG_MS);
	}
	return e;
}

static void begin(struct follow *f, struct zkleader *z, int expected)
{
	struct buffer params;

	buffer_init(&params, RPC_REQUEST_MAX);
	buffer_append(&params, "\x91\xa1t", 3);
	cr_expect_eq(follow_begin(f, z, &params, clock_boot_ms() + LONG_MS), expected);
	buffer_done(&params);
}

Test(follow, a_sidecar_that_goes_and_comes)
{
	struct buffer none;
	struct follow_event e;
	struct follow follow;
	struct zkleader *z;
	struct fake f;

	buffer_init(&none, RPC_REQUEST_MAX);
	fake_start(&f, serve, NULL);
	cr_assert_eq(zkleader_open(fake_path(&f), &z), 0);
	begin(&follow, z, 0);
	cr_expect(follow_is_asking(&follow));
	cr_expect_eq(next(&follow).kind, FOLLOW_BEGUN);
	cr_expect_not(follow_is_asking(&follow));
	e = next(&follow);
	cr_expect_eq(e.kind, FOLLOW_NEWS);
	cr_expect_str_eq(e.message.method, "n");
	cr_expect_eq(follow_due_ms(&follow), INT64_MAX);
	follow_ask(&follow, HOW_MANY, "m", &none, clock_boot_ms() + LONG_MS);
	cr_expect_eq(next(&follow).kind, FOLLOW_NEWS, "it has come there");
	follow_ask(&follow, HOW_MUCH, "m", &none, clock_boot_ms() + LONG_MS);
	e = next(&follow);
	cr_expect(e.kind == FOLLOW_ANSWER && e.question == HOW_MUCH);
	cr_expect_eq(*(const uint8_t *)e.message.data.p, 2);
	e = next(&follow);
	cr_expect(e.kind == FOLLOW_LOST && !e.again);
	cr_expect_eq(follow_fd(&follow), -1);
	cr_expect_leq(follow_due_ms(&follow), clock_boot_ms() + 1000);
	/* A question then is no reason to connect. */
	follow_ask(&follow, HOW_MANY, "m", &none, 0);
	e = next(&follow);
	cr_expect(e.kind == FOLLOW_LOST && e.again);
	e = next(&follow);
	cr_expect_eq(e.kind, FOLLOW_REFUSED);
	cr_expect_eq(e.message.code, 3);
	cr_expect_str_eq(zkleader_message(z), "unknown task");
	follow_done(&follow);
	zkleader_close(z);
	fake_stop(&f);
}

Test(follow, nobody_is_there)
{
	struct follow_event e;
	struct follow follow;
	struct zkleader *z;
	struct fake f;

	fake_bind(&f);
	cr_assert_eq(zkleader_open(fake_path(&f), &z), 0);
	begin(&follow, z, -ECONNREFUSED);
	/* A client that goes on all the same finds the sidecar once it is there. */
	e = next(&follow);
	cr_expect(e.kind == FOLLOW_LOST && !e.again);
	e = next(&follow);
	cr_expect(e.kind == FOLLOW_LOST && e.again);
	fake_serve(&f, 8, serve);
	cr_expect_eq(next(&follow).kind, FOLLOW_BEGUN);
	follow_done(&follow);
	zkleader_close(z);
	fake_stop(&f);
}
