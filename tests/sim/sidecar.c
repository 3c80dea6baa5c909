/* Processes: starting, stopping, pausing; timers; and what the client library says, brought to the loop. */
#include "oracle.h"
#include "ticks.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"

#define WALL_EPOCH_MS INT64_C(1795000000000)

struct sidecar sidecars[SIDECARS_MAX];

struct late_item {
	struct late_item *next;
	struct item item;
	uint64_t life;
};

int64_t sidecar_ms(const struct sidecar *s)
{
	return clock_us(&s->clock, sim.now) / MS;
}

struct election_time sidecar_time(const struct sidecar *s)
{
	return (struct election_time){sidecar_ms(s), sidecar_ms(s) + s->wall_ms,
				      session_lease_left(s) > 0};
}

/* --- timers ------------------------------------------------------------------------------------------- */

static void run_timer(struct sidecar *s, enum timer timer)
{
	switch (timer) {
	case TIMER_CONFIRM:
	case TIMER_PATIENCE:
	case TIMER_SESSION: session_timer(s, timer); break;
	case TIMER_REGISTER:
	case TIMER_LIST: registry_timer(s, timer); break;
	case TIMER_DUE:
	case TIMER_AUDIT: leaders_timer(s, timer); break;
	case TIMER_RUNS: runs_timer(s); break;
	case TIMERS: break;
	}
	runs_settle(s);
}

static void on_timer(void *arg, uint64_t number)
{
	struct sidecar *s = arg;
	enum timer timer = (enum timer)(number & 15);

	if (number >> 4 != s->timer_life[timer] || !s->running)
		return;
	s->timer_set &= ~(UINT64_C(1) << timer);
	if (s->inbox.paused)
		s->late[timer] = true;
	else if (sim.now < s->busy_until)
		event_at(s->busy_until, on_timer, arg, number);
	else
		run_timer(s, timer);
}

void timer_start(struct sidecar *s, enum timer timer, int64_t in_ms)
{
	int64_t at = clock_us(&s->clock, sim.now) + in_ms * MS;

	s->timer_life[timer]++;
	s->timer_set |= UINT64_C(1) << timer;
	s->late[timer] = false;
	event_at(clock_when(&s->clock, at), on_timer, s, s->timer_life[timer] << 4 | timer);
}

void timer_stop(struct sidecar *s, enum timer timer)
{
	s->timer_life[timer]++;
	s->timer_set &= ~(UINT64_C(1) << timer);
	s->late[timer] = false;
}

/* --- from the library to the loop ----------------------------------------------------------------------- */

static void dispatch(struct sidecar *s, const struct item *item);

static void drop_items(struct sidecar *s)
{
	while (s->items) {
		struct late_item *late = s->items;
		s->items = late->next;
		free(late->item.reply.list);
		free(late);
	}
	s->items_tail = &s->items;
}

static void on_late(void *arg, uint64_t number)
{
	struct sidecar *s = arg;

	(void)number;
	if (s->inbox.paused)
		return; /* sidecar_resume() asks again */
	if (sim.now < s->busy_until) {
		event_at(s->busy_until, on_late, s, 0);
		return;
	}
	while (s->items && !s->inbox.paused) {
		struct late_item *late = s->items;
		s->items = late->next;
		if (!s->items)
			s->items_tail = &s->items;
		if (late->life == s->lib.life)
			dispatch(s, &late->item);
		free(late->item.reply.list);
		free(late);
	}
}

static void on_item(void *arg, const struct item *item)
{
	struct sidecar *s = arg;

	if (!s->items && sim.now >= s->busy_until) {
		dispatch(s, item);
		return;
	}
	struct late_item *late = mem_calloc(1, sizeof(*late));
	late->item = *item;
	if (item->reply.list) {
		size_t size = (item->reply.n_list + 1) * sizeof(*item->reply.list);
		late->item.reply.list = mem_alloc(size);
		memcpy(late->item.reply.list, item->reply.list, size);
	}
	late->life = s->lib.life;
	*s->items_tail = late;
	s->items_tail = &late->next;
	event_at(s->busy_until, on_late, s, 0);
}

void ask(struct sidecar *s, const struct request *q, enum ask what)
{
	oracle_asked(what);
	lib_ask(&s->lib, q, sidecar_ms(s), what);
}

static void take(struct sidecar *s, const struct item *item)
{
	if (!s->running || s->state == SESSION_CLOSED)
		return;
	switch (item->kind) {
	case ITEM_CONNECTED:
	case ITEM_CONNECTING:
	case ITEM_EXPIRED: session_item(s, item); return;
	case ITEM_WATCH:
		if (item->tick != 0)
			runs_watch(s, item->task, item->tick, item->watch);
		else if (item->task == WATCH_WORKERS)
			registry_watch(s);
		else
			leaders_watch(s, item->task, item->watch);
		return;
	case ITEM_REPLY: break;
	}
	session_heard(s, item);
	switch ((enum ask)item->asked.what) {
	case ASK_FOUND: keep_reply(s, item); break;
	case ASK_CONFIRM:
	case ASK_TOUCH: session_reply(s, item); break;
	case ASK_REGISTER:
	case ASK_LIST:
	case ASK_RECORD:
	case ASK_ORPHAN: registry_reply(s, item); break;
	case ASK_NODE:
	case ASK_NODE_EXISTS:
	case ASK_CLAIM:
	case ASK_RELEASE:
	case ASK_AUDIT: leaders_reply(s, item); break;
	case ASK_TICK:
	case ASK_LEDGER:
	case ASK_LEDGER_NAMES:
	case ASK_TICK_CLAIM:
	case ASK_TICK_WRITE: runs_reply(s, item); break;
	}
}

static void dispatch(struct sidecar *s, const struct item *item)
{
	take(s, item);
	runs_settle(s);
}

void session_open(struct sidecar *s)
{
	s->state = SESSION_CONNECTING;
	s->opened_ms = sidecar_ms(s);
	drop_items(s);
	lib_open(&s->lib, s->id, on_item, s, s->taken_over);
}

/* --- processes -------------------------------------------------------------------------------------------- */

void sidecars_reset(void)
{
	registry_reset();
	for (unsigned i = 0; i < SIDECARS_MAX; i++) {
		struct sidecar *s = &sidecars[i];
		struct lib lib = s->lib, probe = s->probe;
		inbox_clear(&s->inbox);
		drop_items(s);
		fleet_done(&s->fleet);
		free(lib.ticks);
		struct sim_run *runs = s->runs;
		struct ledger_cache *ledgers = s->ledgers;
		memset(s, 0, sizeof(*s));
		s->id = i;
		s->runs = runs;
		s->ledgers = ledgers;
		s->lib.life = lib.life;
		s->lib.timer_life = lib.timer_life;
		s->probe.life = probe.life;
		s->probe.timer_life = probe.timer_life;
		s->items_tail = &s->items;
		inbox_init(&s->inbox);
		clock_draw(&s->clock);
		s->wall_ms = random_range(-10, 10) * 60 * 1000 + random_range(0, 59999) -
			     s->clock.start / MS + WALL_EPOCH_MS;
		s->version = (unsigned)random_range(0, 2);
		s->tasks_mask = (UINT64_C(1) << sim.n_tasks) - 1;
	}
}

void sidecar_start(struct sidecar *s)
{
	TRACE("sidecar %u starts, version %s", s->id, version_names[s->version]);
	assert(!s->running);
	s->running = true;
	s->ready = false;
	s->self = s->maybe = s->attempt = 0;
	s->again = s->listing = s->list_again = s->list_due = s->dirty = false;
	s->reads_pending = 0;
	s->n_leading = 0;
	s->leading = false;
	s->session = 0;
	s->registration = 0;
	s->probe_connected = false;
	s->busy_until = 0;
	lease_end(&s->lease);
	fleet_done(&s->fleet);
	fleet_init(&s->fleet);
	fleet_set_tasks(&s->fleet, task_names, sim.n_tasks);
	for (size_t i = 0; i < WORKER_RANDOM_INTS; i++)
		s->random_ints[i] = (int32_t)random_bits();
	runs_reset(s);
	leaders_init(s);
	keep_take_over(s);
	session_open(s);
}

static void end_process(struct sidecar *s)
{
	s->running = false;
	s->n_runs = 0;
	s->inbox.paused = false;
	s->suspended = false;
	inbox_clear(&s->inbox);
	drop_items(s);
	for (unsigned i = 0; i < TIMERS; i++)
		timer_stop(s, (enum timer)i);
	oracle_dead(s);
}

void sidecar_stop(struct sidecar *s)
{
	TRACE("sidecar %u is stopped", s->id);
	ticks_stop(s);
	keep_forget(s);
	session_stop(s);
	end_process(s);
}

void sidecar_kill(struct sidecar *s)
{
	TRACE("sidecar %u is killed", s->id);
	keep_jobs(s);
	if (random_chance(100))
		keep_forget(s); /* the folder was cleared */
	lib_close(&s->lib, false);
	lib_close(&s->probe, false);
	end_process(s);
}

void sidecar_pause(struct sidecar *s, bool suspend)
{
	TRACE("sidecar %u is %s", s->id, suspend ? "suspended" : "paused");
	s->inbox.paused = true;
	s->suspended = suspend;
	s->paused_at = sim.now;
}

static void on_resume(void *arg, uint64_t number)
{
	struct sidecar *s = arg;

	(void)number;
	for (unsigned i = 0; i < TIMERS && !s->inbox.paused && s->running; i++) {
		if (!s->late[i])
			continue;
		s->late[i] = false;
		run_timer(s, (enum timer)i);
	}
}

void sidecar_resume(struct sidecar *s)
{
	bool first = random_chance(500);

	if (!s->running || !s->inbox.paused)
		return;
	TRACE("sidecar %u goes on", s->id);
	if (s->suspended)
		s->suspended_us += sim.now - s->paused_at;
	s->suspended = false;
	inbox_resume(&s->inbox);
	/* The loop's timers, the library's and what was queued, in either order. */
	event_at(first ? sim.now : sim.now + 3 * MS, on_resume, s, 0);
	lib_resume(&s->lib, random_chance(250));
	lib_resume(&s->probe, false);
	if (s->items)
		event_at(sim.now + 1 * MS, on_late, s, 0);
}

void sidecar_slow(struct sidecar *s, int64_t for_us)
{
	TRACE("sidecar %u is busy for %lld ms", s->id, (long long)(for_us / MS));
	s->busy_until = sim.now + for_us;
}
