#include <criterion/criterion.h>
#include <string.h>

#include "core/time/owed.h"

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
	/* The tick is missed then. */
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

#define SPAN(from, until)       \
	{                       \
		(from), (until) \
	}

static const struct {
	const char *what;
	enum owed_catch_up catch_up;
	int64_t tick, active, busy, offered, clock;
	struct owed_span no_runner, led, cut;
	enum owed_why why;
} why[] = {
	{.what = "nobody led, long ago", .tick = -2 * HOUR, .why = OWED_OUTAGE},
	{.what = "nobody led", .tick = -MINUTE, .why = OWED_OUTAGE},
	{.what = "this node led it before",
	 .tick = -MINUTE,
	 .led = SPAN(-HOUR, -SEC),
	 .why = OWED_CATCH_UP},
	{.what = "it led later", .tick = -MINUTE, .led = SPAN(-30 * SEC, -SEC), .why = OWED_OUTAGE},
	{.what = "its lease was over",
	 .tick = MINUTE,
	 .cut = SPAN(SEC, 2 * MINUTE),
	 .why = OWED_OUTAGE},
	{.what = "its lease is over", .tick = MINUTE, .cut = SPAN(SEC, NEVER), .why = OWED_OUTAGE},
	{.what = "its lease was over, later",
	 .tick = MINUTE,
	 .cut = SPAN(2 * MINUTE, NEVER),
	 .why = OWED_CATCH_UP},
	{.what = "the run before it", .tick = MINUTE, .busy = 30 * SEC, .why = OWED_OVERLAP},
	{.what = "a run that came later", .tick = MINUTE, .busy = 2 * MINUTE, .why = OWED_CATCH_UP},
	{.what = "no runner, which is back",
	 .tick = -MINUTE,
	 .led = SPAN(-HOUR, 0),
	 .no_runner = SPAN(-HOUR, 0),
	 .why = OWED_RUNNER},
	{.what = "no runner yet", .tick = MINUTE, .no_runner = SPAN(0, NEVER), .why = OWED_RUNNER},
	{.what = "a runner again",
	 .tick = MINUTE,
	 .no_runner = SPAN(-HOUR, 0),
	 .why = OWED_CATCH_UP},
	{.what = "nobody has begun it", .tick = MINUTE, .offered = MINUTE, .why = OWED_RUNNER},
	{.what = "a clock that was off", .tick = MINUTE, .clock = HOUR, .why = OWED_CLOCK},
	{.what = "a clock that was off before",
	 .tick = 2 * MINUTE,
	 .clock = MINUTE,
	 .why = OWED_CATCH_UP},
	{.what = "too old", .tick = -2 * HOUR, .active = -3 * HOUR, .why = OWED_WINDOW},
	{.what = "another was run", .catch_up = OWED_LAST, .tick = MINUTE, .why = OWED_CATCH_UP},
};

Test(owed, why_a_tick_is_missed)
{
	for (size_t i = 0; i < sizeof(why) / sizeof(why[0]); i++) {
		const struct owed_rules r = rules(why[i].catch_up);
		const struct owed_sight s = {.now_ms = 10 * MINUTE,
					     .active_ms = why[i].active,
					     .busy_ms = why[i].busy ? why[i].busy : NEVER};
		struct owed_past past = OWED_NO_PAST;

		if (why[i].offered)
			past.offered_ms = why[i].offered;
		if (why[i].clock)
			past.clock_ms = why[i].clock;
		if (why[i].no_runner.until_ms || why[i].no_runner.from_ms)
			past.no_runner = why[i].no_runner;
		if (why[i].led.from_ms)
			past.led = why[i].led;
		if (why[i].cut.from_ms)
			past.cut = why[i].cut;
		unsigned whys = owed_whys(&r, &s, &past, why[i].tick);
		cr_expect_eq(owed_why(whys), why[i].why, "%s: %x", why[i].what, whys);
	}
}

/* The order of the words; what fits less is only in the text. */
Test(owed, of_several_reasons_the_first_in_order_is_told)
{
	const struct owed_rules r = rules(OWED_LAST);
	struct owed_sight s = {.now_ms = 3 * HOUR, .active_ms = MINUTE + 1, .busy_ms = 30 * SEC};
	struct owed_past past = {.no_runner = SPAN(0, NEVER),
				 .led = OWED_NO_SPAN,
				 .cut = SPAN(0, NEVER),
				 .offered_ms = MINUTE,
				 .clock_ms = HOUR};

	cr_expect_eq(owed_whys(&r, &s, &past, MINUTE),
		     (1U << OWED_OUTAGE | 1U << OWED_OVERLAP | 1U << OWED_WINDOW |
		      1U << OWED_CATCH_UP | 1U << OWED_RUNNER));
	s.active_ms = 0;
	past.cut = (struct owed_span)OWED_NO_SPAN;
	for (enum owed_why first = OWED_OVERLAP; first < OWED_WHYS; first++) {
		struct owed_rules rule = r;

		if (first > OWED_OVERLAP)
			s.busy_ms = NEVER;
		if (first > OWED_WINDOW)
			s.now_ms = 2 * MINUTE;
		if (first > OWED_CATCH_UP)
			rule.catch_up = OWED_NONE;
		if (first > OWED_RUNNER) {
			past.no_runner = (struct owed_span)OWED_NO_SPAN;
			past.offered_ms = NEVER;
		}
		cr_expect_eq(owed_why(owed_whys(&rule, &s, &past, MINUTE)), first);
	}
	for (unsigned whys = 1; whys < 1U << OWED_WHYS; whys++)
		cr_expect_eq(1U << owed_why(whys), (whys & (~whys + 1)));
}

Test(owed, a_span_begins_and_ends)
{
	struct owed_span span = OWED_NO_SPAN;

	owed_note(&span, false, 5, 6);
	cr_expect(span.from_ms == NEVER && span.until_ms == NEVER);
	owed_note(&span, true, 7, 8);
	owed_note(&span, true, 9, 9);
	cr_expect(span.from_ms == 7 && span.until_ms == NEVER);
	owed_note(&span, false, 9, 10);
	owed_note(&span, false, 11, 11);
	cr_expect(span.from_ms == 7 && span.until_ms == 10);
	owed_note(&span, true, 12, 12);
	cr_expect(span.from_ms == 12 && span.until_ms == NEVER);
}
