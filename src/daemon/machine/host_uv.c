#include "daemon/machine/host_uv.h"

#include <assert.h>
#include <stdlib.h>
#include <sys/random.h>

#include "base/clock.h"
#include "base/doing.h"
#include "base/mem.h"

int64_t host_now_ms(const struct host *h)
{
	(void)h;
	return clock_boot_ms();
}

int64_t host_wall_ms(const struct host *h)
{
	(void)h;
	return clock_wall_ms();
}

void host_random(struct host *h, void *bytes, size_t len)
{
	(void)h;
	assert(len <= 256); /* getrandom() fills so many completely */
	ssize_t got = getrandom(bytes, len, 0);
	assert(got == (ssize_t)len);
	(void)got;
}

/* --- timers --------------------------------------------------------------- */

static void on_timer(uv_timer_t *timer)
{
	struct host_timer *t = timer->data;
	const char *before = doing_begin("a timer");

	t->fn(t->arg);
	doing_end(before);
}

static void on_timer_closed(uv_handle_t *handle)
{
	free(handle);
}

void host_timer_init(struct host_timer *t, struct host *h, host_fn fn, void *arg)
{
	uv_timer_t *timer = mem_calloc(1, sizeof(*timer));

	*t = (struct host_timer){.host = h, .fn = fn, .arg = arg, .impl = timer};
	uv_timer_init(h->loop, timer);
	timer->data = t;
}

void host_timer_start(struct host_timer *t, int64_t ms)
{
	assert(t->impl);
	/*
	 * The timer counts from now on. libuv's own time is that of the beginning of this turn,
	 * which may have taken a while.
	 */
	uv_update_time(t->host->loop);
	uv_timer_start(t->impl, on_timer, ms > 0 ? (uint64_t)ms : 0, 0);
}

void host_timer_stop(struct host_timer *t)
{
	if (t->impl)
		uv_timer_stop(t->impl);
}

bool host_timer_is_set(const struct host_timer *t)
{
	return t->impl && uv_is_active(t->impl);
}

void host_timer_done(struct host_timer *t)
{
	if (!t->impl)
		return;
	uv_timer_stop(t->impl);
	uv_close(t->impl, on_timer_closed);
	t->impl = NULL;
}

/* --- the end of a turn ---------------------------------------------------- */

struct uv_turn {
	TAILQ_ENTRY(uv_turn) link;
	struct host_turn *turn;
};

static void end_turn(struct host *h)
{
	const char *before = doing_begin("the end of a turn");

	for (struct uv_turn *u = TAILQ_FIRST(&h->turns), *next; u; u = next) {
		next = TAILQ_NEXT(u, link);
		u->turn->fn(u->turn->arg);
	}
	doing_end(before);
}

/* Ends the turn after the timers have run, before the loop waits. */
static void on_prepare(uv_prepare_t *prepare)
{
	end_turn(prepare->data);
}

/* Ends the turn after the events have been handled that came while the loop waited. */
static void on_check(uv_check_t *check)
{
	end_turn(check->data);
}

void host_turn_init(struct host_turn *t, struct host *h, host_fn fn, void *arg)
{
	struct uv_turn *u = mem_calloc(1, sizeof(*u));

	*t = (struct host_turn){.host = h, .fn = fn, .arg = arg, .impl = u};
	u->turn = t;
	TAILQ_INSERT_TAIL(&h->turns, u, link);
}

void host_turn_done(struct host_turn *t)
{
	struct uv_turn *u = t->impl;

	if (!u)
		return;
	TAILQ_REMOVE(&t->host->turns, u, link);
	free(u);
	t->impl = NULL;
}

void host_init(struct host *h, uv_loop_t *loop)
{
	*h = (struct host){.loop = loop};
	TAILQ_INIT(&h->turns);
	uv_prepare_init(loop, &h->prepare);
	uv_check_init(loop, &h->check);
	h->prepare.data = h->check.data = h;
	uv_prepare_start(&h->prepare, on_prepare);
	uv_check_start(&h->check, on_check);
}
