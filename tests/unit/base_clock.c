#include <criterion/criterion.h>
#include <errno.h>
#include <locale.h>
#include <stdlib.h>
#include <time.h>

#include "base/clock.h"

Test(clock, boot_runs_forward)
{
	int64_t before = clock_boot_ms();
	struct timespec t;

	cr_assert_eq(clock_gettime(CLOCK_BOOTTIME, &t), 0);
	cr_assert(before > 0);
	cr_assert(clock_boot_ms() >= before);
	cr_assert((int64_t)t.tv_sec * 1000 + t.tv_nsec / 1000000 - before < 10000);
}

Test(clock, wall_is_now)
{
	int64_t seconds = (int64_t)time(NULL);
	int64_t ms = clock_wall_ms();

	cr_assert(ms / 1000 - seconds >= 0 && ms / 1000 - seconds < 10);
}

Test(clock, format)
{
	static const struct {
		int64_t ms;
		const char *text;
	} cases[] = {
		{0, "1970-01-01T00:00:00Z"},
		{999, "1970-01-01T00:00:00Z"},
		{1000, "1970-01-01T00:00:01Z"},
		{-1, "1969-12-31T23:59:59Z"},
		{-1000, "1969-12-31T23:59:59Z"},
		{-1001, "1969-12-31T23:59:58Z"},
		{INT64_C(951782400000), "2000-02-29T00:00:00Z"},
		{INT64_C(1795140000000), "2026-11-20T02:00:00Z"},
		{INT64_C(1795140000999), "2026-11-20T02:00:00Z"},
		{INT64_C(4107542399999), "2100-02-28T23:59:59Z"},
		{INT64_C(4107542400000), "2100-03-01T00:00:00Z"},
		{INT64_C(253402300799999), "9999-12-31T23:59:59Z"},
		{INT64_C(253402300800000), "9999-12-31T23:59:59Z"},
		{INT64_MAX, "9999-12-31T23:59:59Z"},
		{INT64_C(-62167219200000), "0000-01-01T00:00:00Z"},
		{INT64_C(-62167219200001), "0000-01-01T00:00:00Z"},
		{INT64_MIN, "0000-01-01T00:00:00Z"},
	};

	/* UTC whatever the host is set to. */
	setenv("TZ", "Asia/Kolkata", 1);
	tzset();
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		char text[CLOCK_TEXT_SIZE];

		clock_format(cases[i].ms, text);
		cr_assert_str_eq(text, cases[i].text, "%s for %s", text, cases[i].text);
	}
}

Test(clock, parse)
{
	int64_t ms = 0;

	cr_expect_eq(clock_parse("2026-11-21T02:00:00Z", &ms), 0);
	cr_expect_eq(ms, 1795226400000);
	cr_expect_eq(clock_parse("2026-11-21T02:00:00.123Z", &ms), 0);
	cr_expect_eq(ms, 1795226400123);
	cr_expect_eq(clock_parse("2026-11-21T02:00:00.5+00:00", &ms), 0);
	cr_expect_eq(ms, 1795226400500);
	cr_expect_eq(clock_parse("2026-11-21T02:00:00.1230000Z", &ms), 0);
	cr_expect_eq(ms, 1795226400123);
	cr_expect_eq(clock_parse("2026-11-21T02:00:00.999000001Z", &ms), 0);
	cr_expect_eq(ms, 1795226401000);
	cr_expect_eq(clock_parse("2026-11-21T02:00:00", &ms), -EINVAL);
	cr_expect_eq(clock_parse("2026-11-21T03:30:00+01:30", &ms), 0);
	cr_expect_eq(ms, 1795226400000);
	cr_expect_eq(clock_parse("2026-11-20T22:00:00-04:00", &ms), 0);
	cr_expect_eq(ms, 1795226400000);
	cr_expect_eq(clock_parse("2026-11-21T02:00:00+1:00", &ms), -EINVAL);
	cr_expect_eq(clock_parse("2026-11-21T02:00:00+01:60", &ms), -EINVAL);
	cr_expect_eq(clock_parse("2026-11-21T02:00:00+01:00x", &ms), -EINVAL);
	cr_expect_eq(clock_parse("2026-11-21T02:00:00+", &ms), -EINVAL);
	cr_expect_eq(clock_parse("2026-11-21", &ms), -EINVAL);
	cr_expect_eq(clock_parse("2026-02-29T02:00:00Z", &ms), -EINVAL);
	cr_expect_eq(clock_parse("2026-11-21T02:00:60Z", &ms), -EINVAL);
	cr_expect_eq(clock_parse("", &ms), -EINVAL);
}
