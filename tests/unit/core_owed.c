#include <criterion/criterion.h>
#include <string.h>

#include "core/owed.h"

#define T0     INT64_C(1795140000000) /* 2026-11-20T02:00:00Z */
#define SEC    INT64_C(1000)
#define MINUTE (60 * SEC)
#define HOUR   (60 * MINUTE)
#define NEVER  OWED_NEVER
#define NONE   INT64_MIN /* nothing is run, or missed */

static struct schedule minutely;

static struct owed_rules rules(enum owed_catch_up catch_up)
{
	struct schedule_error error;

	cr_assert_eq(schedule_parse("* * * * *", "t", &minutely, &error), 0);
	return (struct owed_rules){.schedule = &minutely,
				   .catch_up = catch_up,
				   .window_ms = HOUR,
				   .wait_ms = 10 * SEC};
}

/* Times are milliseconds after T0; the schedule is due each minute. */
struct case_ {
	const char *name;
	enum owed_catch_up catch_up;
	int64_t since, active, busy, now;
	int64_t run, missed_to;
};

static const struct case_ cases[] = {
	{"nothing before its time", OWED_LAST, 0, 0, NEVER, 59999, NONE, NONE},
	{"at its instant", OWED_LAST, 0, 0, NEVER, MINUTE, MINUTE, NONE},
	{"at its instant, nothing caught up", OWED_NONE, 0, 0, NEVER, MINUTE, MINUTE, NONE},
	{"still in time", OWED_NONE, 0, 0, NEVER, MINUTE + 10 * SEC, MINUTE, NONE},
	{"in time no more", OWED_NONE, 0, 0, NEVER, MINUTE + 10 * SEC + 1, NONE, 70001},
	{"another led, and it is forgiven", OWED_NONE, 0, MINUTE + 1, NEVER, MINUTE + SEC, MINUTE,
	 NONE},
	{"another led, nothing caught up", OWED_NONE, 0, MINUTE + 1, NEVER, MINUTE + SEC + 1, NONE,
	 MINUTE + SEC + 1},
	{"another led, the last one", OWED_LAST, 0, MINUTE + 1, NEVER, MINUTE + 5 * SEC, MINUTE,
	 NONE},
	{"the last of three", OWED_LAST, 0, 190 * SEC, NEVER, 195 * SEC, 3 * MINUTE,
	 3 * MINUTE - 1},
	{"all of three, in order", OWED_ALL, 0, 190 * SEC, NEVER, 195 * SEC, MINUTE, NONE},
	{"the second of all", OWED_ALL, MINUTE, 190 * SEC, NEVER, 195 * SEC, 2 * MINUTE, NONE},
	{"none of three", OWED_NONE, 0, 190 * SEC, NEVER, 195 * SEC, NONE, 195 * SEC},
	{"all but those beyond the window", OWED_ALL, 0, 2 * HOUR, NEVER, 2 * HOUR + 5 * SEC,
	 HOUR + MINUTE, HOUR + MINUTE - 1},
	{"the window's edge", OWED_ALL, 0, 2 * HOUR, NEVER, 2 * HOUR, HOUR, HOUR - 1},
	{"nothing since a pause", OWED_ALL, 190 * SEC, 190 * SEC, NEVER, 195 * SEC, NONE, NONE},
	{"two in time, in order", OWED_LAST, 0, 0, NEVER, MINUTE, MINUTE, NONE},
	{"waits for the run before it", OWED_LAST, MINUTE, 0, MINUTE + 1, 2 * MINUTE + 9999, NONE,
	 NONE},
	{"waited long enough", OWED_LAST, MINUTE, 0, MINUTE + 1, 2 * MINUTE + 10000, NONE,
	 2 * MINUTE + 10000},
	{"owed from before the run that goes on", OWED_ALL, MINUTE, 3 * MINUTE, 3 * MINUTE + 1,
	 3 * MINUTE + 40 * SEC, NONE, NONE},
};

/* A run goes on, and overlap allows others beside it. */
static const struct case_ going[] = {
	{"the second of all waits for the first", OWED_ALL, MINUTE, 190 * SEC, NEVER, 195 * SEC,
	 NONE, NONE},
	{"waits until it is beyond the window", OWED_ALL, MINUTE, 190 * SEC, NEVER,
	 2 * MINUTE + HOUR, NONE, NONE},
	{"and is missed then", OWED_ALL, MINUTE, 190 * SEC, NEVER, 2 * MINUTE + HOUR + 1, NONE,
	 3 * MINUTE - 1},
	{"beside one that goes on, as it comes in time", OWED_ALL, 2 * MINUTE, 0, NEVER,
	 3 * MINUTE + SEC, 3 * MINUTE, NONE},
	{"the last, beside one that goes on", OWED_LAST, MINUTE, 190 * SEC, NEVER, 195 * SEC,
	 3 * MINUTE, 3 * MINUTE - 1},
};

static void check_plans(const struct case_ *list, size_t n, bool goes)
{
	for (const struct case_ *c = list; c < list + n; c++) {
		struct owed_rules r = rules(c->catch_up);
		struct owed_sight s = {.now_ms = T0 + c->now,
				       .since_ms = T0 + c->since,
				       .active_ms = T0 + c->active,
				       .busy_ms = c->busy == NEVER ? NEVER : T0 + c->busy,
				       .going = goes};
		struct owed_plan p = owed_plan(&r, &s);

		cr_expect_eq(p.run ? p.run_ms - T0 : NONE, c->run, "%s: run %lld", c->name,
			     (long long)(p.run_ms - T0));
		cr_expect_eq(p.missed ? p.missed_to_ms - T0 : NONE, c->missed_to,
			     "%s: missed to %lld", c->name, (long long)(p.missed_to_ms - T0));
		cr_expect(p.next_ms > s.now_ms, "%s", c->name);
		cr_expect(!p.run || !p.missed || p.run_ms > p.missed_to_ms, "%s", c->name);
	}
}

Test(owed, plan)
{
	check_plans(cases, sizeof(cases) / sizeof(cases[0]), false);
}

Test(owed, what_is_caught_up_with_waits_for_what_goes_on)
{
	check_plans(going, sizeof(going) / sizeof(going[0]), true);
}

/* A tick a second: each is run, however many came in the time that a claim took. */
Test(owed, those_in_time_are_run_one_after_the_other)
{
	struct owed_rules r = rules(OWED_NONE);
	struct owed_plan p;

	minutely = (struct schedule){.every_s = 1};
	for (int64_t since = 0; since < 5 * SEC; since += SEC) {
		p = owed_plan(&r, &(struct owed_sight){.now_ms = T0 + 5 * SEC,
						       .since_ms = T0 + since,
						       .active_ms = T0,
						       .busy_ms = NEVER});
		cr_expect(p.run && !p.missed);
		cr_expect_eq(p.run_ms, T0 + since + SEC);
	}
}

Test(owed, the_next_look)
{
	struct owed_rules r = rules(OWED_LAST);
	struct owed_plan p;

	p = owed_plan(&r, &(struct owed_sight){T0 + 1, T0, T0, NEVER, false});
	cr_expect_eq(p.next_ms, T0 + MINUTE);
	/* It is missed then. */
	p = owed_plan(&r, &(struct owed_sight){T0 + MINUTE, T0, T0, T0 + 1, false});
	cr_expect_eq(p.next_ms, T0 + MINUTE + 10 * SEC);
	minutely = (struct schedule){.every_s = INT64_C(1) << 40};
	p = owed_plan(&r, &(struct owed_sight){T0, T0, T0, NEVER, false});
	cr_expect_eq(p.next_ms, INT64_MAX);
}

Test(owed, ticks)
{
	struct owed_rules r = rules(OWED_LAST);
	int64_t ticks[5];
	size_t all;

	cr_expect_eq(owed_ticks(&r, T0, T0 + 3 * MINUTE, 5, ticks, &all), 3);
	cr_expect_eq(all, 3);
	cr_expect_eq(ticks[0], T0 + MINUTE);
	cr_expect_eq(ticks[2], T0 + 3 * MINUTE);
	cr_expect_eq(owed_ticks(&r, T0, T0 + 24 * HOUR - 1, 2, ticks, &all), 2);
	cr_expect_eq(all, 24 * 60 - 1);
	cr_expect_eq(ticks[0], T0 + 24 * HOUR - 2 * MINUTE);
	cr_expect_eq(ticks[1], T0 + 24 * HOUR - MINUTE);
	cr_expect_eq(owed_ticks(&r, T0, T0, 2, ticks, &all), 0);
	cr_expect_eq(owed_ticks(&r, T0, T0 + HOUR, 0, ticks, &all), 0);
	/* A year of seconds is not counted to its end. */
	minutely = (struct schedule){.every_s = 1};
	cr_expect_eq(owed_ticks(&r, T0, T0 + 365 * 24 * HOUR, 3, ticks, &all), 3);
	cr_expect_eq(all, OWED_COUNT_MAX);
	cr_expect_eq(ticks[0], T0 + 365 * 24 * HOUR - 2 * SEC);
}

Test(owed, is_tick)
{
	struct owed_rules r = rules(OWED_LAST);

	cr_expect(owed_is_tick(&r, T0));
	cr_expect_not(owed_is_tick(&r, T0 + SEC));
	cr_expect_not(owed_is_tick(&r, T0 + 1));
}

Test(owed, splay)
{
	int64_t a = owed_splay("report", HOUR);

	cr_expect(a >= 0 && a < HOUR);
	cr_expect_eq(a, owed_splay("report", HOUR));
	cr_expect_neq(a, owed_splay("backup", HOUR));
	cr_expect_eq(owed_splay("report", 0), 0);
}

Test(owed, why_a_tick_is_missed)
{
	const struct owed_rules r = rules(OWED_LAST);
	static const struct {
		const char *what;
		int64_t tick, active, busy, from, until, offered, clock;
		enum owed_why why;
	} why[] = {
		{"nobody led, long ago", -2 * HOUR, 0, NEVER, NEVER, NEVER, NEVER, NEVER,
		 OWED_OUTAGE},
		{"nobody led", -MINUTE, 0, NEVER, NEVER, NEVER, NEVER, NEVER, OWED_OUTAGE_LAST},
		{"the run before it", MINUTE, 0, 30 * SEC, NEVER, NEVER, NEVER, NEVER,
		 OWED_OVERLAP},
		{"no runner, which is back", -MINUTE, 0, NEVER, -HOUR, 0, NEVER, NEVER,
		 OWED_RUNNER},
		{"no runner yet", MINUTE, 0, NEVER, 0, NEVER, NEVER, NEVER, OWED_RUNNER},
		{"a runner again", MINUTE, 0, NEVER, -HOUR, 0, NEVER, NEVER, OWED_CATCH_UP},
		{"nobody has begun it", MINUTE, 0, NEVER, NEVER, NEVER, MINUTE, NEVER, OWED_RUNNER},
		{"a clock that was off", MINUTE, 0, NEVER, NEVER, NEVER, NEVER, HOUR, OWED_CLOCK},
		{"too old", -2 * HOUR, -3 * HOUR, NEVER, NEVER, NEVER, NEVER, NEVER, OWED_WINDOW},
		{"a clock that was off before", 2 * MINUTE, 0, NEVER, NEVER, NEVER, NEVER, MINUTE,
		 OWED_CATCH_UP},
		{"a clock that was off, while another led", -MINUTE, 0, NEVER, NEVER, NEVER, NEVER,
		 HOUR, OWED_OUTAGE_LAST},
		{"a runner, which went later", MINUTE, 0, NEVER, 2 * MINUTE, NEVER, NEVER, NEVER,
		 OWED_CATCH_UP},
		{"a run that came later", MINUTE, 0, 2 * MINUTE, NEVER, NEVER, NEVER, NEVER,
		 OWED_CATCH_UP},
		{"another was run", MINUTE, 0, NEVER, NEVER, NEVER, NEVER, NEVER, OWED_CATCH_UP},
	};

	for (size_t i = 0; i < sizeof(why) / sizeof(why[0]); i++) {
		const struct owed_sight s = {
			.now_ms = 10 * MINUTE, .active_ms = why[i].active, .busy_ms = why[i].busy};
		const struct owed_past past = {why[i].from, why[i].until, why[i].offered,
					       why[i].clock};

		cr_expect_eq(owed_why(&r, &s, &past, why[i].tick), why[i].why, "%s", why[i].what);
	}
}
