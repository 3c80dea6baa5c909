/* Schedules in words. */
#include "control_peer.h"
#include "node_site.h"

#include "control/answer/schedule_words.h"

Test(schedule_words, each_form_is_told)
{
	static const struct {
		const char *schedule, *words;
	} cases[] = {
		{"30 2 * * *", "at 02:30 every day"},
		{"@daily", "at 00:00 every day"},
		{"@hourly", "every hour at minute 0"},
		{"@yearly", "at 00:00 on day 1 of the month in January"},
		{"every 5m", "every 5 minutes"},
		{"every 90s", "every 90 seconds"},
		{"every 1d", "every day"},
		{"* * * * *", "every minute"},
		{"*/15 * * * *", "every 15 minutes"},
		{"7-59/15 * * * *", "every 15 minutes from minute 7 on"},
		{"5,10,20 * * * *", "at minutes 5, 10 and 20 of every hour"},
		{"*/10 9-17 * * MON-FRI",
		 "every 10 minutes from 09:00 to 17:50 on Monday to Friday"},
		{"0 9-17 * * *", "every hour from 09:00 to 17:00"},
		{"7 */2 * * *", "every 2 hours from 00:07 on"},
		{"7 1-23/2 * * *", "every 2 hours from 01:07 on"},
		{"7 1,2,3,7,9,11,15 * * *", "at minute 7 of the hours 1 to 3, 7, 9, 11 and 15"},
		{"0,30 2,14 * * 1,4", "at 02:00, 02:30, 14:00 and 14:30 on Monday and Thursday"},
		{"* 2 * * *", "every minute of the hour 2"},
		{"0 4 1,15 * *", "at 04:00 on days 1 and 15 of the month"},
		{"0 4 13 * 5", "at 04:00 on day 13 of the month, and on every Friday"},
		{"0 4 */1 * 5", "at 04:00 on Friday"},
		{"0 4 1-31 * 5", "at 04:00 every day"},
		{"0 4 */7 1-3 1",
		 "at 04:00 on days 1, 8, 15, 22 and 29 of the month, if that is a Monday in "
		 "January to March"},
	};
	char words[SCHEDULE_WORDS_SIZE];
	struct schedule_error error;
	struct schedule s;

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		cr_assert_eq(schedule_parse(cases[i].schedule, "t", &s, &error), 0, "%s",
			     cases[i].schedule);
		schedule_words(&s, words);
		cr_expect_str_eq(words, cases[i].words, "%s: %s", cases[i].schedule, words);
	}
}

Test(schedule_words, h_is_told_as_the_number_that_it_stands_for)
{
	char words[SCHEDULE_WORDS_SIZE], others[SCHEDULE_WORDS_SIZE];
	struct schedule_error error;
	struct schedule s;

	cr_assert_eq(schedule_parse("H H * * *", "one", &s, &error), 0);
	schedule_words(&s, words);
	cr_assert_eq(schedule_parse("H H * * *", "two", &s, &error), 0);
	schedule_words(&s, others);
	cr_expect_eq(strlen(words), strlen("at 02:30 every day"));
	cr_expect_str_neq(words, others);
}

Test(schedule_words, the_longest_fits)
{
	char words[SCHEDULE_WORDS_SIZE];
	struct schedule s = {.minutes = UINT64_C(0x555555555555555),
			     .hours = 0x555551,
			     .days = 0x55555554,
			     .months = 0xaaa,
			     .weekdays = 0x55};

	s.minutes ^= 1;
	schedule_words(&s, words);
	cr_expect_lt(strlen(words) + 1, sizeof(words));
}
