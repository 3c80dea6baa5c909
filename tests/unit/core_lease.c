#include <criterion/criterion.h>
#include <inttypes.h>

#include "core/lease.h"

static const struct {
	int64_t timeout_ms, margin_ms, interval_ms;
	int64_t span_ms; /* what one confirmation gives; 0: no lease */
} cases[] = {
	{0, 100, 0, 0},
	{100, 126, 16, 0},
	{134, 134, 22, 0},
	{135, 134, 22, 1},
	{1000, 360, 166, 640},
	{4000, 1140, 666, 2860},
	{10000, 2700, 1666, 7300},
	{40000, 10500, 6666, 29500},
	{INT32_MAX, 558345847, 357913941, 1589137800},
};

Test(lease, spans)
{
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		const int64_t timeout = cases[i].timeout_ms, span = cases[i].span_ms;
		struct lease l;

		cr_expect_eq(lease_margin(timeout), cases[i].margin_ms, "%" PRId64, timeout);
		cr_expect_eq(lease_interval(timeout), cases[i].interval_ms, "%" PRId64, timeout);

		lease_begin(&l, timeout);
		cr_expect_eq(lease_left(&l, 5000), 0, "nothing is confirmed yet");
		lease_confirm(&l, 5000);
		cr_expect_eq(lease_left(&l, 5000), span, "%" PRId64, timeout);
		cr_expect_eq(lease_left(&l, 5000 + span), 0, "%" PRId64, timeout);
		cr_expect_eq(lease_left(&l, 5000 + span + 1), 0, "%" PRId64, timeout);
		cr_expect_eq(lease_left(&l, INT64_MAX), 0, "%" PRId64, timeout);
		if (span > 0)
			cr_expect_eq(lease_left(&l, 5000 + span - 1), 1, "%" PRId64, timeout);
	}
}

Test(lease, only_the_latest_send_counts)
{
	struct lease l;

	lease_begin(&l, 10000);
	lease_confirm(&l, 2000);
	lease_confirm(&l, 1000); /* an answer that came late */
	cr_expect_eq(lease_left(&l, 2000), 7300);
	lease_confirm(&l, 2500);
	cr_expect_eq(lease_left(&l, 2500), 7300);
}

Test(lease, an_answer_from_before_a_pause_is_no_lease)
{
	struct lease l;

	lease_begin(&l, 10000);
	lease_confirm(&l, 1000); /* handled at 60000 */
	cr_expect_eq(lease_left(&l, 60000), 0);
}

Test(lease, sessions)
{
	struct lease l = {0};

	cr_expect_eq(lease_left(&l, 0), 0);
	lease_confirm(&l, 1000);
	cr_expect_eq(lease_left(&l, 1000), 0, "there is no session");

	lease_begin(&l, 10000);
	lease_confirm(&l, 1000);
	lease_end(&l);
	cr_expect_eq(lease_left(&l, 1000), 0, "the session has ended");
	lease_confirm(&l, 1000);
	cr_expect_eq(lease_left(&l, 1000), 0, "an answer came after its end");

	lease_begin(&l, 10000);
	lease_confirm(&l, 1000);
	lease_begin(&l, 10000);
	cr_expect_eq(lease_left(&l, 1000), 0, "a new session inherits nothing");

	lease_begin(&l, -1);
	lease_confirm(&l, 1000);
	cr_expect_eq(lease_left(&l, 1000), 0, "a timeout that cannot be");
}

/* --- the stricter rule: T = 10 s, so T/4 + T/100 + 100 ms is 2700 ms ----------------------------- */

Test(strict_lease, a_session_counts_from_when_it_was_asked_for)
{
	struct lease l;

	lease_open(&l, 10000, 1000);
	cr_expect_eq(lease_left(&l, 1000), 0, "nothing was committed yet");
	lease_commit(&l, 1500);
	cr_expect_eq(lease_left(&l, 1500), 9300);
	cr_expect_eq(lease_left(&l, 10800), 0);

	lease_end(&l);
	lease_commit(&l, 1500);
	cr_expect_eq(lease_left(&l, 1500), 0, "the session has ended");
	lease_begin(&l, 10000);
	lease_commit(&l, 1500);
	cr_expect_eq(lease_left(&l, 1500), 0, "nobody knows since when it lives");
}

Test(strict_lease, a_commit_counts_what_was_heard_long_enough_before_it)
{
	struct lease l;

	lease_open(&l, 10000, 1000);
	lease_heard(&l, 2000, 2050);
	lease_commit(&l, 4749);
	cr_expect_eq(lease_left(&l, 5000), 5800, "the answer may not have been reported yet");
	lease_commit(&l, 4750);
	cr_expect_eq(lease_left(&l, 5000), 6800, "it counts from when it was asked");
	lease_commit(&l, 4000);
	cr_expect_eq(lease_left(&l, 5000), 6800, "an older commit takes nothing back");

	/* Of several the newest that is old enough. */
	lease_heard(&l, 5000, 5100);
	lease_heard(&l, 6000, 6100);
	lease_commit(&l, 8000);
	cr_expect_eq(lease_left(&l, 8000), 5000 + 9800 - 8000);
}

Test(strict_lease, what_was_heard_is_spaced)
{
	struct lease l;

	lease_open(&l, 10000, 1000);
	lease_heard(&l, 2000, 2001);
	lease_heard(&l, 2415, 2416);
	cr_expect_eq(l.n_heard, 1);
	lease_heard(&l, 2416, 2417);
	cr_expect_eq(l.n_heard, 2);
	/* More than there is room for: the oldest goes. */
	for (int64_t i = 2; i < 3 * LEASE_HEARD_MAX; i++)
		lease_heard(&l, 2000 + i * 416, 2001 + i * 416);
	cr_expect_eq(l.n_heard, LEASE_HEARD_MAX);
	cr_expect_eq(l.heard[0].sent_ms, 2000 + 2 * LEASE_HEARD_MAX * 416);
	cr_expect_eq(l.heard[LEASE_HEARD_MAX - 1].sent_ms, 2000 + (3 * LEASE_HEARD_MAX - 1) * 416);
}

/* The quorum's leader has agreed to the new connection after all that was heard over the old one. */
Test(strict_lease, a_session_that_moves)
{
	struct lease l;

	lease_open(&l, 10000, 1000);
	lease_moved(&l);
	lease_commit(&l, 1500);
	cr_expect_eq(lease_left(&l, 1500), 9300, "nothing was heard");
	lease_heard(&l, 2000, 2050);
	lease_moved(&l);
	cr_expect_eq(lease_left(&l, 2100), 8700, "moving alone gives nothing");
	lease_commit(&l, 2100);
	cr_expect_eq(lease_left(&l, 2100), 9700);
	lease_moved(&l);
	lease_commit(&l, 2100);
	cr_expect_eq(lease_left(&l, 2100), 9700);
}

Test(strict_lease, pace)
{
	struct lease l;

	lease_open(&l, 10000, 1000);
	cr_expect_eq(lease_pace(&l, 1000), 416, "there is no lease yet");
	lease_commit(&l, 1000);
	cr_expect_eq(lease_pace(&l, 1000), 1666);
	cr_expect_eq(lease_pace(&l, 10800 - 3333), 1666);
	cr_expect_eq(lease_pace(&l, 10800 - 3332), 416);
}
