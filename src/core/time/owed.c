#include "core/time/owed.h"

#include <string.h>

#include "base/hash.h"
#include "base/mem.h"
#include "core/time/calendar.h"

#define SECOND_MS     1000
#define SPLAY_SEED    0x5370
#define LOOK_BACK_MIN 60 /* seconds: the first stretch that is searched for the newest ticks */

static int64_t seconds(int64_t ms)
{
	return calendar_floor(ms, SECOND_MS);
}

int64_t owed_next(const struct owed_rules *r, int64_t after_ms)
{
	int64_t at;

	if (!schedule_next(r->schedule, r->zone, seconds(after_ms), &at))
		return INT64_MAX;
	return at * SECOND_MS;
}

bool owed_is_tick(const struct owed_rules *rules, int64_t ms)
{
	return ms % SECOND_MS == 0 && owed_next(rules, ms - SECOND_MS) == ms;
}

/*
 * Counts the ticks behind `after` up to `until`, at most `most`; the last ones are kept in a ring.
 */
static size_t count(const struct owed_rules *r, int64_t after_ms, int64_t until_ms, size_t most,
		    int64_t *ring, size_t ring_size)
{
	size_t n = 0;

	for (int64_t at = owed_next(r, after_ms); at <= until_ms && n < most;
	     at = owed_next(r, at)) {
		if (ring_size > 0)
			ring[n % ring_size] = at;
		n++;
	}
	return n;
}

/* The instant behind which the newest `wanted` of them can be found by counting forward. */
static int64_t look_back(const struct owed_rules *r, int64_t after_ms, int64_t until_ms,
			 size_t wanted)
{
	int64_t from_ms = until_ms;

	for (int64_t back_s = LOOK_BACK_MIN; from_ms > after_ms; back_s *= 4) {
		from_ms = (until_ms - after_ms) / SECOND_MS > back_s ? until_ms - back_s * SECOND_MS
								     : after_ms;
		if (count(r, from_ms, until_ms, wanted, NULL, 0) == wanted)
			break;
	}
	return from_ms;
}

size_t owed_ticks(const struct owed_rules *rules, int64_t after_ms, int64_t until_ms, size_t max,
		  int64_t *ret_ticks, size_t *ret_all)
{
	mem_auto int64_t *ring = NULL;
	size_t n, kept;

	*ret_all = 0;
	if (until_ms <= after_ms || max == 0)
		return 0;
	ring = mem_calloc(max, sizeof(*ring));
	n = count(rules, look_back(rules, after_ms, until_ms, max), until_ms, SIZE_MAX, ring, max);
	kept = n < max ? n : max;
	for (size_t i = 0; i < kept; i++)
		ret_ticks[i] = ring[(n - kept + i) % max];
	*ret_all = n < max ? n : count(rules, after_ms, until_ms, OWED_COUNT_MAX, NULL, 0);
	return kept;
}

/* --- what to do ----------------------------------------------------------- */

static int64_t patience(const struct owed_rules *r)
{
	return r->wait_ms > OWED_PATIENCE_MS ? r->wait_ms : OWED_PATIENCE_MS;
}

/* The instant from which on ticks are in time: these are run whatever catch_up is. */
static int64_t in_time_from(const struct owed_sight *s, int64_t patience_ms)
{
	int64_t led = s->now_ms - patience_ms, forgiven = s->now_ms - OWED_FORGIVEN_MS;

	if (led < s->active_ms)
		led = s->active_ms;
	return led < forgiven ? led : forgiven;
}

/* The newest tick behind after_ms and up to until_ms; false: there is none. */
static bool newest(const struct owed_rules *r, int64_t after_ms, int64_t until_ms, int64_t *ret)
{
	size_t all;

	return owed_ticks(r, after_ms, until_ms, 1, ret, &all) == 1;
}

/* The first tick that is to be run, as catch_up says; INT64_MAX: none yet. */
static int64_t first_to_run(const struct owed_rules *r, const struct owed_sight *s)
{
	int64_t fresh_ms = in_time_from(s, patience(r)) - 1, late_ms = s->now_ms - r->window_ms - 1,
		at;

	if (fresh_ms < s->since_ms)
		fresh_ms = s->since_ms;
	if (late_ms < s->since_ms)
		late_ms = s->since_ms;
	at = owed_next(r, r->catch_up == OWED_ALL && late_ms < fresh_ms ? late_ms : fresh_ms);
	if (at > s->now_ms && r->catch_up == OWED_LAST && !newest(r, late_ms, s->now_ms, &at))
		at = INT64_MAX;
	return at;
}

/*
 * Whether the run has to wait for another one. Runs that are caught up with go one after the other,
 * even if `overlap` allows more. `wait` was hardly meant for them, so it is ignored here.
 */
static bool waits_its_turn(const struct owed_rules *r, const struct owed_sight *s, int64_t run)
{
	return r->catch_up == OWED_ALL && s->going && run < in_time_from(s, OWED_PATIENCE_MS);
}

struct owed_plan owed_plan(const struct owed_rules *rules, const struct owed_sight *s)
{
	struct owed_plan plan = {.next_ms = INT64_MAX};
	int64_t first = owed_next(rules, s->since_ms), run, late;

	if (first > s->now_ms) {
		plan.next_ms = first;
		return plan;
	}
	run = first_to_run(rules, s);
	/* A tick that comes during the previous run waits for wait_ms at most. */
	while (s->busy_ms != OWED_NEVER && run > s->busy_ms && run <= s->now_ms &&
	       s->now_ms - run >= rules->wait_ms)
		run = owed_next(rules, run);
	plan.next_ms = owed_next(rules, s->now_ms);
	if (run > first) {
		plan.missed = true;
		plan.missed_to_ms = run <= s->now_ms ? run - 1 : s->now_ms;
	}
	if (run > s->now_ms)
		return plan;
	if (s->busy_ms == OWED_NEVER && !waits_its_turn(rules, s, run)) {
		plan.run = true;
		plan.run_ms = run;
		return plan;
	}
	late = s->busy_ms != OWED_NEVER && run > s->busy_ms ? run + rules->wait_ms
							    : run + rules->window_ms + 1;
	if (late > s->now_ms && late < plan.next_ms)
		plan.next_ms = late;
	return plan;
}

void owed_note(struct owed_span *span, bool is, int64_t from_ms, int64_t now_ms)
{
	bool was = span->from_ms != OWED_NEVER && span->until_ms == OWED_NEVER;

	if (is && !was)
		*span = (struct owed_span){from_ms, OWED_NEVER};
	else if (!is && was)
		span->until_ms = now_ms;
}

static bool is_within(const struct owed_span *span, int64_t tick_ms)
{
	return span->from_ms != OWED_NEVER && tick_ms >= span->from_ms &&
	       (span->until_ms == OWED_NEVER || tick_ms <= span->until_ms);
}

unsigned owed_whys(const struct owed_rules *r, const struct owed_sight *s,
		   const struct owed_past *past, int64_t tick_ms)
{
	bool led = (tick_ms >= s->active_ms || is_within(&past->led, tick_ms)) &&
		   !is_within(&past->cut, tick_ms);
	bool no_runner = past->offered_ms == tick_ms || is_within(&past->no_runner, tick_ms);
	unsigned whys = 0;

	whys |= (unsigned)!led << OWED_OUTAGE;
	whys |= (unsigned)(s->busy_ms != OWED_NEVER && tick_ms > s->busy_ms) << OWED_OVERLAP;
	whys |= (unsigned)(tick_ms < s->now_ms - r->window_ms) << OWED_WINDOW;
	whys |= (unsigned)no_runner << OWED_RUNNER;
	whys |= (unsigned)(led && past->clock_ms != OWED_NEVER && tick_ms <= past->clock_ms)
		<< OWED_CLOCK;
	/*
	 * With OWED_NONE this is the reason only if there is no other; with OWED_LAST it always
	 * holds.
	 */
	if (r->catch_up == OWED_LAST || whys == 0)
		whys |= 1U << OWED_CATCH_UP;
	return whys;
}

enum owed_why owed_why(unsigned whys)
{
	enum owed_why first = OWED_OUTAGE;

	while (first < OWED_CLOCK && !(whys & 1U << first))
		first++;
	return first;
}

int64_t owed_splay(const char *task, int64_t splay_ms)
{
	return splay_ms > 0
		       ? (int64_t)(hash_bytes(task, strlen(task), SPLAY_SEED) % (uint64_t)splay_ms)
		       : 0;
}
