#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "core/time/schedule.h"

static struct zone *zone;

/* The zone from the system's files, which the tests need anyhow. */
static void open_zone(const char *name)
{
	static char bytes[ZONE_BYTES_MAX];
	char path[200];
	const char *why = "";

	snprintf(path, sizeof(path), "/usr/share/zoneinfo/%s", name);
	FILE *file = fopen(path, "rb");
	cr_assert(file, "%s: tzdata is needed", path);
	size_t len = fread(bytes, 1, sizeof(bytes), file);
	fclose(file);
	cr_assert_eq(zone_parse(bytes, len, &zone, &why), 0, "%s", why);
}

static void close_zone(void)
{
	zone_free(zone);
	zone = NULL;
}

static int64_t seconds(const char *text)
{
	int64_t low = 0, high = INT64_C(253402300800);

	while (high - low > 1) {
		char shown[CLOCK_TEXT_SIZE];
		int64_t middle = low + (high - low) / 2;
		clock_format(middle * 1000, shown);
		if (strcmp(shown, text) <= 0)
			low = middle;
		else
			high = middle;
	}
	return low;
}

static struct schedule parse(const char *text)
{
	struct schedule_error error = {0};
	struct schedule s = {0};

	cr_assert_eq(schedule_parse(text, "nightly-report", &s, &error), 0, "%s: %zu: %s", text,
		     error.at, error.why);
	return s;
}

/* The instants behind `after`, "a b c": as many as are wanted. */
static void expect(const char *text, const char *after, const char *wanted)
{
	struct schedule s = parse(text);
	int64_t at = seconds(after);
	char found[400] = "";

	while (strlen(found) < strlen(wanted)) {
		char shown[CLOCK_TEXT_SIZE];
		if (!schedule_next(&s, zone, at, &at))
			break;
		clock_format(at * 1000, shown);
		if (found[0])
			strcat(found, " ");
		strcat(found, shown);
	}
	cr_expect_str_eq(found, wanted, "%s after %s", text, after);
}

Test(schedule, utc)
{
	static const struct {
		const char *text, *after, *wanted;
	} cases[] = {
		{"* * * * *", "2026-11-20T01:59:59Z", "2026-11-20T02:00:00Z 2026-11-20T02:01:00Z"},
		{"* * * * *", "2026-11-20T02:00:00Z", "2026-11-20T02:01:00Z"},
		{"0 2 * * *", "2026-11-20T02:00:00Z", "2026-11-21T02:00:00Z"},
		{"30 23 31 12 *", "2026-12-31T23:30:00Z", "2027-12-31T23:30:00Z"},
		{"*/15 9-10 * * MON-FRI", "2026-11-20T10:30:00Z",
		 "2026-11-20T10:45:00Z 2026-11-23T09:00:00Z"},
		{"5-59/20 * * * *", "2026-11-20T10:30:00Z",
		 "2026-11-20T10:45:00Z 2026-11-20T11:05:00Z"},
		{"0 0 * * 5-7", "2026-11-20T00:00:00Z",
		 "2026-11-21T00:00:00Z 2026-11-22T00:00:00Z 2026-11-27T00:00:00Z"},
		{"0 0 * * sat-sun", "2026-11-20T00:00:00Z",
		 "2026-11-21T00:00:00Z 2026-11-22T00:00:00Z"},
		{"0 0 * * 7", "2026-11-20T00:00:00Z", "2026-11-22T00:00:00Z"},
		/* Either day or weekday suffices, unless one begins with a star. */
		{"0 0 13 * 5", "2026-11-20T00:00:00Z", "2026-11-27T00:00:00Z 2026-12-04T00:00:00Z"},
		{"0 0 */2 * 5", "2026-11-20T00:00:00Z",
		 "2026-11-27T00:00:00Z 2026-12-11T00:00:00Z"},
		{"0 0 29 2 *", "2026-11-20T00:00:00Z", "2028-02-29T00:00:00Z"},
		{"0 0 29 2 *", "2096-03-01T00:00:00Z", "2104-02-29T00:00:00Z"},
		{"0 0 29 FEB */8", "2076-03-01T00:00:00Z",
		 "2088-02-29T00:00:00Z 2128-02-29T00:00:00Z"},
		{"@hourly", "2026-11-20T02:00:00Z", "2026-11-20T03:00:00Z"},
		{"@daily", "2026-11-20T02:00:00Z", "2026-11-21T00:00:00Z"},
		{"@weekly", "2026-11-20T02:00:00Z", "2026-11-22T00:00:00Z"},
		{"@monthly", "2026-11-20T02:00:00Z", "2026-12-01T00:00:00Z"},
		{"@yearly", "2026-11-20T02:00:00Z", "2027-01-01T00:00:00Z"},
		{"every 90s", "1970-01-01T00:01:29Z", "1970-01-01T00:01:30Z 1970-01-01T00:03:00Z"},
		{"every 1s", "2026-11-20T02:00:00Z", "2026-11-20T02:00:01Z"},
		{"\t0\t2  * * *  ", "2026-11-20T02:00:00Z", "2026-11-21T02:00:00Z"},
		{"0 12 31 12 *", "9999-12-31T12:00:00Z", ""},
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
		expect(cases[i].text, cases[i].after, cases[i].wanted);
}

/* Clocks go from 2:00 to 3:00 on 29 March and from 3:00 to 2:00 on 25 October 2026. */
Test(schedule, daylight_saving, .fini = close_zone)
{
	open_zone("Europe/Berlin");
	expect("30 2 * * *", "2026-03-28T12:00:00Z", "2026-03-29T01:00:00Z 2026-03-30T00:30:00Z");
	/* All times that fall into the gap, or onto its end, make one tick. */
	expect("0,30 2-3 * * *", "2026-03-29T00:30:00Z",
	       "2026-03-29T01:00:00Z 2026-03-29T01:30:00Z 2026-03-30T00:00:00Z");
	expect("*/30 * * * *", "2026-03-29T00:00:00Z",
	       "2026-03-29T00:30:00Z 2026-03-29T01:00:00Z 2026-03-29T01:30:00Z");
	expect("30 2 * * *", "2026-10-24T12:00:00Z", "2026-10-25T00:30:00Z 2026-10-26T01:30:00Z");
	expect("30 * * * *", "2026-10-24T23:59:00Z",
	       "2026-10-25T00:30:00Z 2026-10-25T01:30:00Z 2026-10-25T02:30:00Z");
	expect("0 3 * * *", "2026-10-24T12:00:00Z", "2026-10-25T02:00:00Z");
	expect("every 1h", "2026-10-25T00:00:00Z", "2026-10-25T01:00:00Z 2026-10-25T02:00:00Z");
}

/* Samoa had no 30 December 2011. */
Test(schedule, a_day_that_was_left_out, .fini = close_zone)
{
	open_zone("Pacific/Apia");
	expect("0 12 30 12 *", "2011-12-01T00:00:00Z", "2011-12-30T10:00:00Z 2012-12-29T22:00:00Z");
	expect("*/30 12 30 12 *", "2011-12-01T00:00:00Z", "2012-12-29T22:00:00Z");
}

Test(schedule, h_is_fixed_by_the_name)
{
	/* From python3-xxhash: xxh64_intdigest(b"nightly-report", seed=field) modulo the range */
	expect("H H * * *", "2026-11-20T00:00:00Z", "2026-11-20T00:53:00Z");
	expect("H(10-19) H(0-5) H * *", "2026-11-20T00:00:00Z", "2026-12-06T00:13:00Z");
	expect("H/20 4 * * *", "2026-11-20T00:00:00Z",
	       "2026-11-20T04:13:00Z 2026-11-20T04:33:00Z 2026-11-20T04:53:00Z");
}

Test(schedule, what_is_refused)
{
	static const struct {
		const char *text;
		size_t at;
		const char *why;
	} cases[] = {
		{"", 0, "five fields"},
		{"* * * *", 7, "five fields"},
		{"* * * * * *", 10, "five fields"},
		{"0 2 * * * root", 10, "five fields"},
		{"60 * * * *", 0, "0 to 59"},
		{"0 24 * * *", 2, "0 to 23"},
		{"0 0 0 * *", 4, "1 to 31"},
		{"0 0 1 13 *", 6, "1 to 12"},
		{"0 0 * * 8", 8, "0 to 7"},
		{"0 0 * * monday", 8, "sun to sat"},
		{"0 0 * foo *", 6, "jan to dec"},
		{"5/10 * * * *", 1, "range before it"},
		{"5-1 * * * *", 0, "smaller number"},
		{"*/0 * * * *", 2, "at least 1"},
		{"*/ * * * *", 2, "missing"},
		{"1, * * * *", 2, "missing"},
		{"1x * * * *", 1, "belong"},
		{"99999999999 * * * *", 0, "out of range"},
		{"H(5-1) * * * *", 2, "smaller number"},
		{"H(5) * * * *", 3, "H(a-b)"},
		{"H/99 * * * *", 4, "greater than the range"},
		{"H(x-5) * * * *", 2, "0 to 59"},
		{"H(1-x) * * * *", 4, "0 to 59"},
		{"H(1-5 * * * *", 5, ") is missing"},
		{"H/0 * * * *", 2, "at least 1"},
		{"1-x * * * *", 2, "0 to 59"},
		{"$ * * * *", 0, "missing"},
		{"{ * * * *", 0, "missing"},
		{"0 0 30 2 *", 4, "never comes"},
		{"0 0 31 2,4,6,9,11 *", 4, "never comes"},
		{"@reboot", 0, "@reboot"},
		{"@fortnightly", 0, "@daily"},
		{"every 500ms", 6, "at least 1s"},
		{"every 1500ms", 6, "whole seconds"},
		{"every day", 6, "duration"},
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct schedule_error error = {.why = ""};
		struct schedule s;
		cr_expect_neq(schedule_parse(cases[i].text, "t", &s, &error), 0, "%s",
			      cases[i].text);
		cr_expect_eq(error.at, cases[i].at, "%s: %zu", cases[i].text, error.at);
		cr_expect(strstr(error.why, cases[i].why), "%s: %s", cases[i].text, error.why);
	}
}

Test(schedule, what_is_too_long_is_refused)
{
	char text[SCHEDULE_TEXT_MAX + 2];
	struct schedule_error error = {.why = ""};
	struct schedule s;

	memset(text, ' ', sizeof(text));
	text[sizeof(text) - 1] = '\0';
	cr_expect_neq(schedule_parse(text, "t", &s, &error), 0);
	cr_expect(strstr(error.why, "too long"), "%s", error.why);
}
