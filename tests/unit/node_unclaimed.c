/* Ticks that the leader lets pass: who tells its callers, and how often the log has it. */
#include "node_site.h"

#include <unistd.h>

#include "node/unclaimed.h"

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

static void tell(unsigned i)
{
	char tick[TICK_NAME_SIZE];

	snprintf(tick, sizeof(tick), "2026-11-20T%02u:%02u:00Z", i / 60 % 24, i % 60);
	unclaimed_tell(task_of("report"), tick, 10000, notice);
}

Test(unclaimed, the_best_two_beside_the_leader_tell_their_callers)
{
	tell(0);
	cr_expect_neq(strstr(notice, "host-b leads it and did not claim the tick"), NULL, "%s",
		      notice);
	joins("c", "2.0", 1);
	tell(1);
	cr_expect_str_neq(notice, "");
	joins("d", "2.0", 1);
	tell(2);
	cr_expect_str_eq(notice, "", "others are before us");
}

Test(unclaimed, of_ticks_in_a_row_the_log_has_the_1st_2nd_4th_and_8th)
{
	static const size_t lines[] = {1, 2, 2, 3, 3, 3, 3, 4, 4};

	for (unsigned i = 0; i < sizeof(lines) / sizeof(lines[0]); i++) {
		tell(i);
		tell(i); /* another caller of the same tick */
		cr_expect_eq(logged(), lines[i], "tick %u: %zu", i, logged());
	}
	cr_expect_eq(task_of("report")->unclaimed->row, 9);
}

Test(unclaimed, a_row_that_goes_on_is_in_the_log_once_an_hour)
{
	for (unsigned i = 0; i < 9; i++)
		tell(i);
	host.now_ms += 3600 * 1000;
	tell(9);
	cr_expect_eq(logged(), 5);
	tell(10);
	cr_expect_eq(logged(), 5);
}

Test(unclaimed, a_tick_that_was_claimed_ends_the_row)
{
	tell(0);
	tell(1);
	tell(2);
	cr_expect_eq(logged(), 2);
	unclaimed_end(task_of("report"));
	tell(3);
	cr_expect_eq(logged(), 3);
	cr_expect_eq(task_of("report")->unclaimed->row, 1);
}
