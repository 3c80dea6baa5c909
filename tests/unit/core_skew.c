#include <criterion/criterion.h>

#include <string.h>

#include "core/time/skew.h"

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))
#define SECOND	     INT64_C(1000)
#define HOUR	     (3600 * SECOND)
#define TOLERANCE    (30 * SECOND)
#define SERVER	     INT64_C(1795140000000) /* what its clock says at our CLOCK_BOOTTIME 0 */

/* --- the server's clock ---------------------------------------------------------------------- */

Test(skew, is_measured_within_half_the_time_of_a_request)
{
	struct skew s = {.known = false};

	cr_expect_not(skew_heard(&s, 1000, 1010, SERVER + 1004, TOLERANCE));
	cr_expect(s.known);
	cr_expect_eq(s.error_ms, 5);
	cr_expect_eq(skew_server(&s, 1005), SERVER + 1004);
	cr_expect_eq(skew_server(&s, 61005), SERVER + 61004);
	/* An answer that took long may say anything within that time. */
	cr_expect_not(skew_heard(&s, 2000, 22000, SERVER + 2000, TOLERANCE));
	cr_expect_eq(s.error_ms, 5, "the better one is kept");
	/* A short one follows a slow drift. */
	cr_expect_not(skew_heard(&s, 30000, 30020, SERVER + 32000, TOLERANCE));
	cr_expect_eq(skew_server(&s, 30010), SERVER + 32000);
}

Test(skew, a_server_that_jumps_is_noticed_and_followed)
{
	static const int64_t jumps[] = {4 * SECOND, -4 * SECOND, HOUR, -HOUR};

	for (size_t i = 0; i < COUNT(jumps); i++) {
		struct skew s = {.known = false};

		skew_heard(&s, 1000, 1010, SERVER + 1005, TOLERANCE);
		cr_expect_not(
			skew_heard(&s, 2000, 2010, SERVER + 2005 + jumps[i] / 2000, TOLERANCE));
		cr_expect_eq(s.settled_ms, 0);
		cr_expect(skew_heard(&s, 3000, 3010, SERVER + 3005 + jumps[i], TOLERANCE), "%zu",
			  i);
		cr_expect_eq(s.settled_ms, 3010 + SKEW_SETTLE_MS);
		cr_expect_eq(skew_server(&s, 3005), SERVER + 3005 + jumps[i]);
	}
}

Test(skew, what_is_published_is_replaced_beyond_a_step)
{
	static const struct {
		int64_t error_ms, published_ms, offset_ms, expected_ms;
	} cases[] = {
		{0, 0, 0, 0},
		{0, 0, 3 * SECOND, 0},
		{0, 0, 3 * SECOND + 1, 3 * SECOND + 1},
		{0, 0, -3 * SECOND - 1, -3 * SECOND - 1},
		{500, 0, 3 * SECOND + 500, 0},
		{500, 0, 3 * SECOND + 501, 3 * SECOND + 501},
		{0, 40 * SECOND, 38 * SECOND, 40 * SECOND},
		{0, 40 * SECOND, 0, 0},
		{0, -HOUR, HOUR, HOUR},
	};

	for (size_t i = 0; i < COUNT(cases); i++) {
		struct skew s = {.known = true, .base_ms = SERVER, .error_ms = cases[i].error_ms};

		cr_expect_eq(skew_offset(&s, 500, SERVER + 500 + cases[i].offset_ms,
					 cases[i].published_ms, TOLERANCE),
			     cases[i].expected_ms, "case %zu", i);
	}
	struct skew unknown = {.known = false};
	cr_expect_eq(skew_offset(&unknown, 500, SERVER, 7, TOLERANCE), 7);
}

/* --- who is off ------------------------------------------------------------------------------ */

#define MOST 7

/* Each clock is of a machine of its own, but for the letters that come twice. */
static const struct {
	const char *what;
	/*
	 * A letter for each machine; '-': not known, '0': an older sidecar. A capital letter is a
	 * clone: its machine id is that of 'a', and its hostname is its own.
	 */
	const char *machines;
	int64_t offsets[MOST];
	const char *off; /* 'x' for each that is */
} fleets[] = {
	{"alone and right", "a", {0}, "."},
	{"alone: nobody can tell who is wrong", "a", {HOUR}, "."},
	{"two, and all are right", "ab", {0, 20 * SECOND}, ".."},
	{"two, one ahead", "ab", {HOUR, 0}, "x."},
	{"two, one behind", "ab", {0, -HOUR}, ".x"},
	{"two, and the server is wrong", "ab", {HOUR, HOUR + SECOND}, ".."},
	{"three, one is wrong", "abc", {0, HOUR, 0}, ".x."},
	{"three, and the server is wrong", "abc", {-HOUR, -HOUR, -HOUR}, "..."},
	{"three, the server and one on its machine are wrong", "abc", {HOUR, HOUR, 0}, "..."},
	{"three, the server and another one are wrong", "abc", {HOUR, HOUR, 5 * HOUR}, "..x"},
	{"at the edge", "abc", {TOLERANCE, TOLERANCE + 1, 0}, "..."},
	{"just off", "abc", {TOLERANCE + 1, 0, 0}, "x.."},
	{"a tie is no most", "abc", {40 * SECOND, 20 * SECOND, 0}, "..."},
	{"one that differs from all in its way", "abcd", {HOUR, -HOUR, 0, 0}, "xx.."},
	{"a machine has one clock, however many workers", "aaab", {HOUR, HOUR, HOUR, 0}, "xxx."},
	{"the right one is not outvoted by them", "baaa", {0, HOUR, HOUR, HOUR}, ".xxx"},
	{"machines that are not known have a vote each", "---", {0, HOUR, 0}, ".x."},
	{"older sidecars have none", "a00", {HOUR, 0, 0}, "..."},
	{"nor are they off", "ab0", {0, 0, HOUR}, "..."},
	{"clocks of one machine that differ are two", "aab", {0, HOUR, HOUR}, "..."},
	{"and the wrong one is found", "aaa", {0, HOUR, 0}, ".x."},
	{"clones have a vote each", "aBCDe", {HOUR, HOUR, HOUR, HOUR, 0}, "....."},
	{"and outvote one beside a wrong server",
	 "aBCDe",
	 {HOUR, HOUR, HOUR, HOUR, -HOUR},
	 "....x"},
	{"the wrong one of them is found", "aBCDe", {0, 0, HOUR, 0, 0}, "..x.."},
	{"wrong ones are, as others", "aBcde", {HOUR, HOUR, 0, 0, 0}, "xx..."},
	{"many workers of a clone have one vote", "aBBBB", {0, HOUR, HOUR, HOUR, HOUR}, ".xxxx"},
};

static size_t fill(size_t at, char (*machines)[2], struct skew_clock *clocks)
{
	size_t n = strlen(fleets[at].machines);

	for (size_t i = 0; i < n; i++) {
		char machine = fleets[at].machines[i];
		bool clone = machine >= 'A' && machine <= 'Z';
		machines[i][0] = machine == '-' ? '\0' : machine;
		machines[i][1] = '\0';
		clocks[i] = (struct skew_clock){.machine = clone ? "a" : machines[i],
						.host = machines[i],
						.offset_ms = fleets[at].offsets[i],
						.tolerance_ms = machine == '0' ? 0 : TOLERANCE};
	}
	return n;
}

Test(skew, who_is_off)
{
	for (size_t i = 0; i < COUNT(fleets); i++) {
		struct skew_clock clocks[MOST];
		char machines[MOST][2];
		bool off[MOST];
		size_t n = fill(i, machines, clocks), expected = 0;

		size_t n_off = skew_judge(clocks, n, off);
		for (size_t j = 0; j < n; j++) {
			expected += fleets[i].off[j] == 'x';
			cr_expect_eq(off[j], fleets[i].off[j] == 'x', "%s: worker %zu",
				     fleets[i].what, j);
		}
		cr_expect_eq(n_off, expected, "%s", fleets[i].what);
	}
}

/* Whatever the others' clocks say: if all but one are right, those are never off. */
Test(skew, one_wrong_clock_puts_nobody_else_off)
{
	static const int64_t wrong[] = {-48 * HOUR,  -HOUR, -31 * SECOND,
					31 * SECOND, HOUR,  48 * HOUR};
	char machines[MOST][2];

	for (size_t n = 1; n <= MOST; n++) {
		for (size_t i = 0; i < COUNT(wrong); i++) {
			/*
			 * The last place is the server's: then all offsets are wrong by as much.
			 */
			for (size_t who = 0; who <= n; who++) {
				struct skew_clock clocks[MOST];
				bool off[MOST];

				for (size_t j = 0; j < n; j++) {
					machines[j][0] = (char)('a' + j);
					machines[j][1] = '\0';
					clocks[j] = (struct skew_clock){
						.machine = machines[j],
						.host = "same",
						.tolerance_ms = TOLERANCE,
						.offset_ms = who == n || who == j ? wrong[i] : 0};
				}
				size_t n_off = skew_judge(clocks, n, off);
				bool caught = who < n && n > 1;
				cr_expect_eq(n_off, caught ? 1 : 0, "%zu of %zu, case %zu", who, n,
					     i);
				if (caught)
					cr_expect(off[who]);
			}
		}
	}
}

Test(skew, jobs_go_by_what_most_clocks_say_and_in_doubt_by_the_earlier)
{
	static const struct {
		const char *what;
		size_t n;
		int64_t offsets[5], expected;
	} cases[] = {
		{"the server alone", 0, {0}, 0},
		{"all are right", 3, {0, 20 * SECOND, -20 * SECOND}, 0},
		{"one host is ahead", 1, {HOUR}, 0},
		{"or the server is", 1, {-HOUR}, -HOUR},
		{"one of two is ahead", 2, {0, HOUR}, 0},
		{"one of two is behind", 2, {-HOUR, 0}, 0},
		{"the server is behind both", 2, {HOUR, HOUR}, HOUR},
		{"the server is ahead of both", 2, {-HOUR, -HOUR - SECOND}, -HOUR},
		{"two of three differ, later", 3, {0, HOUR, HOUR}, 0},
		{"two of three differ, earlier", 3, {0, -HOUR, -HOUR}, -HOUR},
		{"three of four differ", 4, {HOUR, 0, HOUR, HOUR}, HOUR},
		{"each says another time", 4, {HOUR, 2 * HOUR, -HOUR, -2 * HOUR}, 0},
	};
	static const char *const machines[] = {"a", "b", "c", "d", "e"};

	for (size_t i = 0; i < COUNT(cases); i++) {
		struct skew_clock clocks[5];

		for (size_t j = 0; j < cases[i].n; j++)
			clocks[j] = (struct skew_clock){.machine = machines[j],
							.host = "h",
							.tolerance_ms = TOLERANCE,
							.offset_ms = cases[i].offsets[j]};
		cr_expect_eq(skew_jobs(clocks, cases[i].n, TOLERANCE), cases[i].expected, "%s",
			     cases[i].what);
	}
}
