/* Ticks that the leader lets pass: who tells its callers, and how often the log has it. */
#include "notice_site.h"

#include <unistd.h>

#include "wire/records/seen_record.h"
#include "node/ledger/unclaimed.h"

static char notice[UNCLAIMED_TEXT_MAX];
static FILE *log_file;

static void begin(void)
{
	site_begin();
	configures("report", NULL);
	joins("b", "2.0", 9);
	joins("me", "1.0", 5);
	asks("get! leaders/report", led_by("b", 50));
	log_setup(LOG_WARNING, LOG_TEXT, false);
	log_file = tmpfile();
	dup2(fileno(log_file), STDERR_FILENO);
}

TestSuite(unclaimed, .init = begin);

static size_t logged(void)
{
	char line[1000];
	size_t n = 0;

	rewind(log_file);
	while (fgets(line, sizeof(line), log_file))
		n += strstr(line, "tick not claimed") != NULL;
	return n;
}

static void waits(unsigned i)
{
	char tick[TICK_NAME_SIZE];

	snprintf(tick, sizeof(tick), "2026-11-20T%02u:%02u:00Z", i / 60 % 24, i % 60);
	unclaimed_tell(task_of("report"), tick, 10000, notice);
}

Test(unclaimed, the_best_two_beside_the_leader_tell_their_callers)
{
	waits(0);
	cr_expect_neq(strstr(notice, "host-b leads it and did not claim the tick"), NULL, "%s",
		      notice);
	joins("c", "2.0", 1);
	waits(1);
	cr_expect_str_neq(notice, "");
	joins("d", "2.0", 1);
	waits(2);
	cr_expect_str_eq(notice, "", "others are before us");
}

Test(unclaimed, of_ticks_in_a_row_the_log_has_the_1st_2nd_4th_and_8th)
{
	static const size_t lines[] = {1, 2, 2, 3, 3, 3, 3, 4, 4};

	for (unsigned i = 0; i < sizeof(lines) / sizeof(lines[0]); i++) {
		waits(i);
		waits(i); /* another caller of the same tick */
		cr_expect_eq(logged(), lines[i], "tick %u: %zu", i, logged());
	}
	cr_expect_eq(task_of("report")->unclaimed->row, 9);
}

Test(unclaimed, a_row_that_goes_on_is_in_the_log_once_an_hour)
{
	for (unsigned i = 0; i < 9; i++)
		waits(i);
	host.now_ms += 3600 * 1000;
	waits(9);
	cr_expect_eq(logged(), 5);
	waits(10);
	cr_expect_eq(logged(), 5);
}

Test(unclaimed, a_tick_that_was_claimed_ends_the_row)
{
	waits(0);
	waits(1);
	waits(2);
	cr_expect_eq(logged(), 2);
	unclaimed_end(task_of("report"));
	waits(3);
	cr_expect_eq(logged(), 3);
	cr_expect_eq(task_of("report")->unclaimed->row, 1);
}

/* --- what is known of them -------------------------------------------------------------------------------- */

static const char *tick_of(unsigned i)
{
	static char tick[TICK_NAME_SIZE];

	snprintf(tick, sizeof(tick), "2026-11-20T%02u:%02u:00Z", i / 60 % 24, i % 60);
	return tick;
}

Test(unclaimed, the_last_ones_are_known_with_their_leader)
{
	cr_expect_null(unclaimed_find(task_of("report"), tick_of(0)));
	for (unsigned i = 0; i < UNCLAIMED_KEPT; i++) {
		waits(i);
		waits(i); /* another caller of the same tick */
	}
	cr_expect_eq(task_of("report")->unclaimed->n, UNCLAIMED_KEPT);
	cr_expect_str_eq(unclaimed_find(task_of("report"), tick_of(0)), "host-b");
	waits(UNCLAIMED_KEPT);
	cr_expect_null(unclaimed_find(task_of("report"), tick_of(0)), "the oldest is forgotten");
	cr_expect_str_eq(unclaimed_find(task_of("report"), tick_of(1)), "host-b");
	cr_expect_str_eq(unclaimed_find(task_of("report"), tick_of(UNCLAIMED_KEPT)), "host-b");
}

static void wants_notices(void)
{
	static const struct notice_rule missed[] = {{.events = 1U << NOTICE_MISSED}};

	notices_begin(missed);
	n_told = 0;
}

/* ROOT/troubles/report, in which one is counted. */
static struct store_reply trouble(void)
{
	static struct buffer data;
	const struct trouble_record record = {.since = WALL_MS, .failed = 1};

	buffer_init(&data, RECORD_SEEN_MAX);
	cr_assert_eq(record_pack_trouble(&data, &record), 0);
	return holds(data.data, data.len, (struct store_stat){.version = 0});
}

Test(unclaimed, the_best_beside_the_leader_tells_people_as_often_as_its_log)
{
	const struct store_reply in_trouble = trouble();

	wants_notices();
	waits(0);
	waits(0);
	asks("get troubles/report", failed(STORE_NO_NODE));
	asks_begins("check workers/me, create troubles/report, create notices/", ok());
	pass(0);
	cr_assert_eq(n_told, 1);
	cr_expect_eq(told.failed, 1);
	cr_expect_eq(told.event, NOTICE_MISSED);
	cr_expect_str_eq(told.task, "report");
	cr_expect_str_eq(told.tick, tick_of(0));
	cr_expect_str_eq(told.why, "unclaimed");
	cr_expect(strstr(told.detail, "host-b led it"), "%s", told.detail);
	for (unsigned i = 1; i < 4; i++)
		waits(i);
	asks("get troubles/report", in_trouble);
	asks("get troubles/report", in_trouble);
	asks_begins("check workers/me, set troubles/report v0, create notices/", ok());
	asks_begins("check workers/me, set troubles/report v0, create notices/", ok());
	pass(0);
	cr_expect_eq(told.failed, 2, "the 3rd and 4th");
	cr_expect_not(told.first);
	cr_expect_eq(n_told, 3, "of four in a row the 1st, 2nd and 4th");
}

Test(unclaimed, who_is_not_the_best_beside_the_leader_tells_no_people)
{
	wants_notices();
	joins("c", "2.0", 1);
	waits(0);
	pass(0);
	cr_expect_eq(n_told, 0);
	cr_expect_str_neq(notice, "", "its callers are told");
}
