#include <criterion/criterion.h>
#include <string.h>

#include "core/time/tick.h"

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))
#define MINUTE_MS    INT64_C(60000)
#define HOUR_MS	     (60 * MINUTE_MS)
#define DAY_MS	     (24 * HOUR_MS)

Test(tick, floor)
{
	static const struct {
		int64_t wall_ms, tick_ms, zone_ms, floor_ms;
	} cases[] = {
		{0, MINUTE_MS, 0, 0},
		{MINUTE_MS - 1, MINUTE_MS, 0, 0},
		{MINUTE_MS, MINUTE_MS, 0, MINUTE_MS},
		{INT64_C(1795140059999), MINUTE_MS, 0, INT64_C(1795140000000)},
		{INT64_C(1795140059999), 1000, 0, INT64_C(1795140059000)},
		{INT64_C(1795140059999), DAY_MS, 0, INT64_C(1795132800000)},
		/* Below a day no zone matters, whatever its minutes. */
		{INT64_C(1795140059999), 60 * MINUTE_MS, 345 * MINUTE_MS, INT64_C(1795140000000)},
		{INT64_C(1795140059999), DAY_MS - 1000, -11 * HOUR_MS, INT64_C(1795112023000)},
		{INT64_C(1795140059999), 2 * DAY_MS, 22 * HOUR_MS, INT64_C(1795219200000)},
		{HOUR_MS, DAY_MS, -12 * HOUR_MS, 0}, /* before the epoch, by the local clock */
	};

	for (size_t i = 0; i < COUNT(cases); i++)
		cr_expect_eq(tick_floor(cases[i].wall_ms, cases[i].tick_ms, cases[i].zone_ms),
			     cases[i].floor_ms, "case %zu", i);
}

/* `0 1 * * *` in Europe/Berlin, where 29 March 2026 has 23 hours and 25 October has 25. */
Test(tick, one_each_night_through_the_changes_of_the_clock)
{
	static const struct {
		int64_t wall_ms, zone_ms;
		const char *tick;
	} nights[] = {
		{INT64_C(1774656000000), HOUR_MS, "2026-03-28T00:00:00Z"},
		{INT64_C(1774742400000), HOUR_MS, "2026-03-29T00:00:00Z"},
		{INT64_C(1774825200000), 2 * HOUR_MS, "2026-03-30T00:00:00Z"},
		{INT64_C(1774911600000), 2 * HOUR_MS, "2026-03-31T00:00:00Z"},
		{INT64_C(1792882800000), 2 * HOUR_MS, "2026-10-25T00:00:00Z"},
		{INT64_C(1792972800000), HOUR_MS, "2026-10-26T00:00:00Z"},
	};
	char name[TICK_NAME_SIZE];

	for (size_t i = 0; i < COUNT(nights); i++) {
		cr_expect(
			tick_name(tick_floor(nights[i].wall_ms, DAY_MS, nights[i].zone_ms), name));
		cr_expect_str_eq(name, nights[i].tick, "night %zu", i);
	}
}

Test(tick, clear_of_the_full_minute)
{
	static const struct {
		int64_t wall_ms, guard_ms, clear_ms;
	} cases[] = {
		{MINUTE_MS, 0, 0},
		{MINUTE_MS, 5000, 5000},
		{MINUTE_MS + 4999, 5000, 1},
		{MINUTE_MS + 5000, 5000, 0},
		{2 * MINUTE_MS - 5000, 5000, 0},
		{2 * MINUTE_MS - 4999, 5000, 9999},
		{2 * MINUTE_MS - 1, 5000, 5001},
		{-1, 5000, 5001}, /* a clock that runs before the epoch */
		{-5000, 5000, 0},
	};

	for (size_t i = 0; i < COUNT(cases); i++)
		cr_expect_eq(tick_clear(cases[i].wall_ms, cases[i].guard_ms), cases[i].clear_ms,
			     "case %zu", i);
}

Test(tick, name)
{
	char name[TICK_NAME_SIZE] = "untouched";

	cr_expect(tick_name(INT64_C(1795140000000), name));
	cr_expect_str_eq(name, "2026-11-20T02:00:00Z");
	cr_expect(tick_name(0, name));
	cr_expect_str_eq(name, "1970-01-01T00:00:00Z");
	cr_expect(tick_name(INT64_C(253402300799999), name));
	cr_expect_str_eq(name, "9999-12-31T23:59:59Z");
	cr_expect_not(tick_name(INT64_C(253402300800000), name));
	cr_expect_str_eq(name, "9999-12-31T23:59:59Z", "untouched on failure");
}

Test(tick, is_name)
{
	static const char good[] = "2026-11-20T02:00:00Z";
	char text[TICK_NAME_SIZE + 1];

	cr_expect(tick_is_name(good));
	/* Each character another one, of another kind than it has to be; or the end. */
	for (size_t i = 0; i < strlen(good); i++) {
		strcpy(text, good);
		text[i] = good[i] >= '0' && good[i] <= '9' ? ':' : '0';
		cr_expect_not(tick_is_name(text), "%s", text);
		text[i] = '/';
		cr_expect_not(tick_is_name(text), "%s", text);
		text[i] = '\0';
		cr_expect_not(tick_is_name(text), "%s", text);
	}
	strcpy(text, good);
	strcat(text, "Z");
	cr_expect_not(tick_is_name(text));
}

Test(tick, parse)
{
	static const struct {
		const char *name;
		int64_t ms; /* -1: none */
	} cases[] = {
		{"1970-01-01T00:00:00Z", 0},
		{"2026-11-20T02:00:00Z", INT64_C(1795140000000)},
		{"2024-02-29T23:59:59Z", INT64_C(1709251199000)},
		{"9999-12-31T23:59:59Z", INT64_C(253402300799000)},
		{"2026-02-29T00:00:00Z", -1},
		{"2026-06-31T00:00:00Z", -1},
		{"2026-00-01T00:00:00Z", -1},
		{"2026-13-01T00:00:00Z", -1},
		{"2026-01-01T24:00:00Z", -1},
		{"2026-01-01T00:60:00Z", -1},
		{"2026-01-01T00:00:60Z", -1},
		{"1969-12-31T23:59:59Z", -1},
		{"0000-01-01T00:00:00Z", -1},
		{"2026-01-01 00:00:00Z", -1},
		{"", -1},
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		int64_t ms = -1;

		cr_expect_eq(tick_parse(cases[i].name, &ms), cases[i].ms >= 0, "%s", cases[i].name);
		if (cases[i].ms >= 0)
			cr_expect_eq(ms, cases[i].ms, "%s", cases[i].name);
	}
}

Test(tick, begins_by_the_clock_that_it_is_of)
{
	cr_expect_eq(tick_begins(INT64_C(1795140059999), MINUTE_MS, 14 * HOUR_MS),
		     INT64_C(1795140000000));
	/* 04:00 in a zone that is 14 hours ahead: its day began ten hours before that of UTC. */
	cr_expect_eq(tick_begins(INT64_C(1795140000000), DAY_MS, 14 * HOUR_MS),
		     INT64_C(1795132800000) - 14 * HOUR_MS);
	cr_expect_eq(tick_begins(INT64_C(1795140000000), DAY_MS, -3 * HOUR_MS),
		     INT64_C(1795132800000) - 21 * HOUR_MS);
}

Test(tick, place)
{
	static char names[][TICK_NAME_SIZE] = {
		"2026-11-20T02:00:00Z",
		"2026-11-20T02:02:00Z",
		"2026-11-20T02:03:00Z",
		"2026-11-20T02:07:00Z",
	};
	static const struct {
		const char *tick, *floor;
		size_t n;
		const char *limit;
		enum tick_place place;
	} cases[] = {
		{"2026-11-20T02:00:00Z", "", 0, TICK_NO_LIMIT, TICK_FREE},
		{"2026-11-20T02:00:00Z", "", 4, TICK_NO_LIMIT, TICK_CLAIMED},
		{"2026-11-20T02:01:00Z", "", 4, TICK_NO_LIMIT, TICK_FREE},
		{"2026-11-20T02:02:00Z", "", 4, TICK_NO_LIMIT, TICK_CLAIMED},
		{"2026-11-20T02:03:00Z", "", 4, TICK_NO_LIMIT, TICK_CLAIMED},
		{"2026-11-20T02:04:00Z", "", 4, TICK_NO_LIMIT, TICK_FREE},
		{"2026-11-20T02:07:00Z", "", 4, TICK_NO_LIMIT, TICK_CLAIMED},
		{"2026-11-20T02:08:00Z", "", 4, TICK_NO_LIMIT, TICK_FREE},
		/* Older than the oldest that is kept: it may have been pruned. */
		{"2026-11-20T01:59:00Z", "", 4, TICK_NO_LIMIT, TICK_OLDER},
		{"2026-11-20T01:59:00Z", "", 0, TICK_NO_LIMIT, TICK_FREE},
		{"2026-11-20T02:01:00Z", "2026-11-20T02:02:00Z", 0, TICK_NO_LIMIT, TICK_OLDER},
		{"2026-11-20T02:02:00Z", "2026-11-20T02:02:00Z", 0, TICK_NO_LIMIT, TICK_FREE},
		{"2026-11-20T02:01:00Z", "2026-11-20T02:01:00Z", 1, TICK_NO_LIMIT, TICK_FREE},
		/*
		 * All that is kept was claimed by a clock that was ahead: nothing was pruned for
		 * it.
		 */
		{"2026-11-20T01:59:00Z", "", 4, "2026-11-20T01:59:30Z", TICK_FREE},
		{"2026-11-20T02:03:00Z", "", 4, "2026-11-20T01:59:30Z", TICK_CLAIMED},
		{"2026-11-20T01:59:00Z", "", 4, "2026-11-20T02:00:00Z", TICK_OLDER},
		{"2026-11-20T01:59:00Z", "2026-11-20T02:00:00Z", 4, "2026-11-20T01:59:30Z",
		 TICK_OLDER},
	};

	for (size_t i = 0; i < COUNT(cases); i++)
		cr_expect_eq(tick_place(cases[i].tick, cases[i].floor, names, cases[i].n,
					cases[i].limit),
			     cases[i].place, "case %zu", i);
}
