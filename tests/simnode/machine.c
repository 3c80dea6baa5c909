#include "machine.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"

/* Every other look at a clock finds it up to so much later, until a turn has taken as long as it may. */
#define CREEP_STEP_US (2 * MS)
#define CREEP_MAX_US  (10 * MS)

struct machine machines[HOSTS_MAX];

/* A timer that is set; a function for the end of turns. */
struct timer {
	struct timer *next;
	struct host_timer *of;
	int64_t due_us;	 /* by the clock that stands still while the machine is suspended */
	uint64_t number; /* of those due at the same time, the first that was set rings first */
};

struct turn {
	struct turn *next;
	struct host_turn *of;
};

/* --- clocks --------------------------------------------------------------------------------------- */

int64_t machine_us(const struct machine *m)
{
	return clock_us(&m->clock, sim.now);
}

int64_t machine_when(const struct machine *m, int64_t boot_ms)
{
	return clock_when(&m->clock, boot_ms * MS);
}

/* The time that timers count, which stands still while the machine is suspended. */
static int64_t awake_us(const struct machine *m)
{
	return machine_us(m) - m->suspended_us;
}

/*
 * With --creep time goes on within a turn, as it does on a machine. Each turn has a generator of its own: what
 * the seed draws is the same without.
 */
static struct creep {
	bool on;
	uint64_t random;
	int64_t us; /* that this turn has taken */
} creep;

static void begin_to_creep(const struct machine *m)
{
	creep = (struct creep){.on = sim.options.creep,
			       .random = (uint64_t)sim.now * UINT64_C(0x9e3779b97f4a7c15) + m->id};
}

static void look_at_clock(void)
{
	if (!creep.on || creep.us >= CREEP_MAX_US)
		return;
	creep.random = creep.random * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
	if (creep.random >> 63) {
		int64_t us = (int64_t)(creep.random >> 32) % CREEP_STEP_US;
		creep.us += us;
		sim.now += us;
	}
}

int64_t host_now_ms(const struct host *h)
{
	look_at_clock();
	return machine_us(machine_of(h)) / MS;
}

int64_t host_wall_ms(const struct host *h)
{
	look_at_clock();
	return EPOCH_MS + sim.now / MS + machine_of(h)->wall_ms;
}

void host_random(struct host *h, void *bytes, size_t len)
{
	uint8_t *to = bytes;

	(void)h;
	for (size_t i = 0; i < len; i++)
		to[i] = (uint8_t)random_bits();
}

/* --- turns ---------------------------------------------------------------------------------------- */

bool machine_listens(const struct machine *m)
{
	return m->alive && !m->inbox.paused && !m->suspended && sim.now >= m->busy_until;
}

static struct timer *first_timer(const struct machine *m)
{
	struct timer *first = m->timers;

	for (struct timer *t = m->timers; t; t = t->next)
		if (t->due_us < first->due_us ||
		    (t->due_us == first->due_us && t->number < first->number))
			first = t;
	return first;
}

static void unlink_timer(struct machine *m, struct timer *t)
{
	struct timer **at = &m->timers;

	while (*at != t)
		at = &(*at)->next;
	*at = t->next;
	t->of->impl = NULL;
	free(t);
}

/* Those that were set before this turn began. */
static void ring(struct machine *m)
{
	int64_t now = awake_us(m);
	uint64_t before = m->timers_set;
	struct timer *t;

	while ((t = first_timer(m)) && t->due_us <= now) {
		host_fn fn = t->of->fn;
		void *arg = t->of->arg;
		if (t->number >= before)
			break;
		unlink_timer(m, t);
		fn(arg);
	}
}

static void set_turn(struct machine *m);

static void take_turn(struct machine *m)
{
	uint64_t life = m->life;
	bool timers_last = m->timers_last;

	m->timers_last = false;
	begin_to_creep(m);
	if (!timers_last)
		ring(m);
	stores_take(m);
	if (timers_last)
		ring(m);
	for (struct turn *t = m->turns, *next; t; t = next) {
		next = t->next;
		t->of->fn(t->of->arg);
	}
	creep.on = false;
	if (m->life == life && m->after)
		m->after(m->arg);
	if (m->life == life && m->alive)
		set_turn(m);
}

static void on_turn(void *arg, uint64_t number)
{
	struct machine *m = arg;

	if (m->turn != number || !m->alive || m->inbox.paused || m->suspended)
		return;
	m->turn_at = INT64_MAX;
	if (sim.now < m->busy_until)
		machine_wake(m, m->busy_until - sim.now);
	else
		take_turn(m);
}

void machine_wake(struct machine *m, int64_t in_us)
{
	int64_t at = sim.now + in_us;

	if (at < m->busy_until)
		at = m->busy_until;
	if (!m->alive || at >= m->turn_at)
		return;
	m->turn_at = at;
	event_at(at, on_turn, m, ++m->turn);
}

/* For the first timer, or for what is left. */
static void set_turn(struct machine *m)
{
	struct timer *t = first_timer(m);

	if (stores_wait(m))
		machine_wake(m, 0);
	if (!t)
		return;
	int64_t at = clock_when(&m->clock, t->due_us + m->suspended_us);
	machine_wake(m, at > sim.now ? at - sim.now : 0);
}

void host_timer_init(struct host_timer *t, struct host *h, host_fn fn, void *arg)
{
	*t = (struct host_timer){.host = h, .fn = fn, .arg = arg};
}

void host_timer_start(struct host_timer *t, int64_t ms)
{
	struct machine *m = machine_of(t->host);
	struct timer *timer = t->impl;

	if (!timer) {
		timer = mem_calloc(1, sizeof(*timer));
		timer->of = t;
		timer->next = m->timers;
		m->timers = timer;
		t->impl = timer;
	}
	/* A loop knows whole milliseconds. */
	timer->due_us = (awake_us(m) / MS + (ms > 0 ? ms : 0)) * MS;
	timer->number = m->timers_set++;
	int64_t at = clock_when(&m->clock, timer->due_us + m->suspended_us);
	machine_wake(m, at > sim.now ? at - sim.now : 0);
}

void host_timer_stop(struct host_timer *t)
{
	if (t->impl)
		unlink_timer(machine_of(t->host), t->impl);
}

bool host_timer_is_set(const struct host_timer *t)
{
	return t->impl != NULL;
}

void host_timer_done(struct host_timer *t)
{
	host_timer_stop(t);
}

void host_turn_init(struct host_turn *t, struct host *h, host_fn fn, void *arg)
{
	struct machine *m = machine_of(h);
	struct turn *turn = mem_calloc(1, sizeof(*turn));

	*t = (struct host_turn){.host = h, .fn = fn, .arg = arg, .impl = turn};
	turn->of = t;
	*m->turns_tail = turn;
	m->turns_tail = &turn->next;
}

void host_turn_done(struct host_turn *t)
{
	struct machine *m;

	if (!t->impl)
		return;
	m = machine_of(t->host);
	struct turn **at = &m->turns;
	while (*at != t->impl)
		at = &(*at)->next;
	*at = (*at)->next;
	m->turns_tail = &m->turns;
	while (*m->turns_tail)
		m->turns_tail = &(*m->turns_tail)->next;
	free(t->impl);
	t->impl = NULL;
}

/* --- what happens to it --------------------------------------------------------------------------- */

void machines_reset(void)
{
	for (unsigned i = 0; i < HOSTS_MAX; i++) {
		struct machine *m = &machines[i];
		assert(!m->alive && !m->libs && !m->timers && !m->turns);
		uint64_t life = m->life;
		inbox_clear(&m->inbox);
		memset(m, 0, sizeof(*m));
		m->id = i;
		m->life = life + 1;
		inbox_init(&m->inbox);
		clock_draw(&m->clock);
	}
}

void machine_start(struct machine *m, void (*after)(void *arg), void *arg)
{
	assert(!m->alive && !m->timers && !m->turns);
	m->alive = true;
	m->silent = false;
	m->life++;
	m->busy_until = 0;
	m->turn_at = INT64_MAX;
	m->turn++;
	m->turns_tail = &m->turns;
	m->after = after;
	m->arg = arg;
	machine_wake(m, 0);
}

void machine_end(struct machine *m)
{
	stores_end(m);
	lookups_end(m);
	assert(!m->timers && !m->turns && !m->libs);
	m->alive = false;
	m->life++;
	m->turn++;
	inbox_clear(&m->inbox);
}

void machine_pause(struct machine *m, bool suspend)
{
	TRACE("host %u is %s", m->id, suspend ? "suspended" : "paused");
	m->inbox.paused = true;
	if (suspend) {
		m->suspended = true;
		m->suspended_at = sim.now;
	}
}

void machine_resume(struct machine *m)
{
	bool timers_first = random_chance(500);

	if (!m->inbox.paused)
		return;
	TRACE("host %u goes on", m->id);
	if (m->suspended)
		m->suspended_us += sim.now - m->suspended_at;
	m->suspended = false;
	if (!m->alive) {
		m->inbox.paused = false;
		return;
	}
	inbox_resume(&m->inbox);
	for (struct lib *l = m->libs; l; l = l->next)
		lib_resume(l, timers_first);
	m->timers_last = random_chance(500);
	/* The loop goes on before or after what has come was read by the library's thread. */
	m->turn_at = INT64_MAX;
	machine_wake(m, random_range(0, 4 * MS));
}

void machine_slow(struct machine *m, int64_t for_us)
{
	TRACE("host %u is slow for %.3f s", m->id, (double)for_us / 1e6);
	m->busy_until = sim.now + for_us;
}
