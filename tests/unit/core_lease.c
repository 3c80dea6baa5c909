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
