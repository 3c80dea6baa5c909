#include <criterion/criterion.h>
#include <errno.h>
#include <inttypes.h>

#include "base/text/duration.h"

#define UNTOUCHED INT64_C(-77)

Test(duration, parse)
{
	static const struct {
		const char *text;
		int result;
		int64_t ms;
	} cases[] = {
		{"0s", 0, 0},
		{"0ms", 0, 0},
		{"1ms", 0, 1},
		{"500ms", 0, 500},
		{"10s", 0, 10000},
		{"010s", 0, 10000},
		{"5m", 0, 300000},
		{"2h", 0, 7200000},
		{"1d", 0, 86400000},
		{"00000000000000000000000000000001d", 0, 86400000},
		{"3650d", 0, DURATION_MAX_MS},
		{"315360000000ms", 0, DURATION_MAX_MS},
		{"315360000001ms", -ERANGE, 0},
		{"315360001s", -ERANGE, 0},
		{"3651d", -ERANGE, 0},
		{"87601h", -ERANGE, 0},
		{"9223372036854775807ms", -ERANGE, 0},
		{"9223372036854775808ms", -ERANGE, 0},
		{"18446744073709551617ms", -ERANGE, 0},
		{"99999999999999999999999999999999999999d", -ERANGE, 0},
		{"99999999999999999999999999999999999999x", -EINVAL, 0},
		{"", -EINVAL, 0},
		{"s", -EINVAL, 0},
		{"ms", -EINVAL, 0},
		{"1", -EINVAL, 0},
		{"0", -EINVAL, 0},
		{"-1s", -EINVAL, 0},
		{"+1s", -EINVAL, 0},
		{" 1s", -EINVAL, 0},
		{"1s ", -EINVAL, 0},
		{"1 s", -EINVAL, 0},
		{"1S", -EINVAL, 0},
		{"1sec", -EINVAL, 0},
		{"1m30s", -EINVAL, 0},
		{"1.5s", -EINVAL, 0},
		{"0x1s", -EINVAL, 0},
		{"1w", -EINVAL, 0},
		{"1us", -EINVAL, 0},
		{"1mss", -EINVAL, 0},
		{"\xd9\xa1s", -EINVAL, 0},
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		int64_t ms = UNTOUCHED;
		int r = duration_parse(cases[i].text, &ms);

		cr_assert_eq(r, cases[i].result, "%s: %d", cases[i].text, r);
		cr_assert_eq(ms, r == 0 ? cases[i].ms : UNTOUCHED, "%s: %" PRId64, cases[i].text,
			     ms);
	}
}

Test(duration, format)
{
	static const struct {
		int64_t ms;
		const char *text;
	} cases[] = {
		{0, "0s"},
		{1, "1ms"},
		{999, "999ms"},
		{1000, "1s"},
		{1500, "1500ms"},
		{59000, "59s"},
		{60000, "1m"},
		{61000, "61s"},
		{90000, "90s"},
		{3600000, "1h"},
		{3660000, "61m"},
		{86400000, "1d"},
		{90000000, "25h"},
		{DURATION_MAX_MS, "3650d"},
		{-1500, "-1500ms"},
		{-60000, "-1m"},
		{INT64_MAX, "9223372036854775807ms"},
		{INT64_MIN, "-9223372036854775808ms"},
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		char text[DURATION_TEXT_SIZE];

		duration_format(cases[i].ms, text);
		cr_assert_str_eq(text, cases[i].text);
	}
}

Test(duration, there_and_back)
{
	for (int64_t ms = 0; ms <= DURATION_MAX_MS; ms = ms * 3 + 1) {
		char text[DURATION_TEXT_SIZE];
		int64_t back;

		duration_format(ms, text);
		cr_assert_eq(duration_parse(text, &back), 0, "%s", text);
		cr_assert_eq(back, ms);
	}
}
