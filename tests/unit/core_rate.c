#include <criterion/criterion.h>

#include "core/queue/rate.h"

static bool takes(struct rate *r, int64_t now_ms, int n)
{
	for (int i = 0; i < n; i++)
		if (!rate_take(r, now_ms))
			return false;
	return !rate_take(r, now_ms);
}

Test(rate, so_many_begin_within_the_time_and_no_more)
{
	struct rate r;

	rate_set(&r, 2, 1000, 5000);
	cr_expect_eq(rate_wait_ms(&r, 5000), 0);
	cr_expect(takes(&r, 5005, 2));
	cr_expect_eq(rate_wait_ms(&r, 5005), 1005, "the slice has to be over");
	cr_expect_eq(rate_wait_ms(&r, 6009), 1);
	cr_expect(takes(&r, 6009, 0));
	cr_expect_eq(rate_wait_ms(&r, 6010), 0);
	cr_expect(rate_take(&r, 6010));
	cr_expect(takes(&r, 6500, 1));
	cr_expect_eq(rate_wait_ms(&r, 6500), 520);
	cr_expect(takes(&r, 60000, 2));
	cr_expect(takes(&r, 59000, 0), "a clock never goes back, and if it did");
}

/* All begin as soon as they may, on times that are drawn, and no window has more than fit. */
Test(rate, no_window_has_more)
{
	static const struct {
		int64_t most, period_ms;
	} rates[] = {{1, 100}, {2, 150}, {7, 1000}, {100, 997}, {250, 60000}};
	static int64_t begun[20000];

	for (size_t i = 0; i < sizeof(rates) / sizeof(rates[0]); i++) {
		int64_t most = rates[i].most, period = rates[i].period_ms, now = 123456;
		struct rate r;
		size_t n = 0;
		unsigned seed = 7;

		rate_set(&r, most, period, now);
		while (n < (size_t)most * 20) {
			int64_t wait = rate_wait_ms(&r, now);
			seed = seed * 1103515245 + 12345;
			cr_assert_eq(rate_take(&r, now), wait == 0);
			if (wait == 0)
				begun[n++] = now;
			now += wait > 0 ? wait : seed / 65536 % 8 == 0 ? seed / 65536 % 50 : 0;
		}
		for (size_t k = (size_t)most; k < n; k++)
			cr_assert_geq(begun[k] - begun[k - (size_t)most], period, "rate %zu", i);
		cr_expect_leq(begun[n - 1] - begun[0], 21 * period + 21 * (period / 50 + 2),
			      "rate %zu: and none is held back for longer", i);
	}
}

Test(rate, without_a_limit)
{
	struct rate r;

	rate_set(&r, 0, 0, 5000);
	for (int i = 0; i < 1000; i++)
		cr_assert(rate_take(&r, 5000));
	cr_expect_eq(rate_wait_ms(&r, 5000), 0);
}

Test(rate, given_back_and_changed)
{
	struct rate r;

	rate_set(&r, 3, 3000, 0);
	cr_expect(rate_take(&r, 0));
	cr_expect(rate_take(&r, 100));
	rate_give_back(&r);
	rate_give_back(&r);
	rate_give_back(&r); /* nothing is left */
	cr_expect(takes(&r, 100, 3));
	rate_change(&r, 10, 1000, 100);
	cr_expect(takes(&r, 100, 0), "as many as before still may");
	rate_set(&r, 10, 1000, 0);
	rate_change(&r, 2, 1000, 0);
	cr_expect(takes(&r, 0, 2));
	rate_set(&r, 0, 0, 0);
	rate_change(&r, 1, 1000, 0);
	cr_expect(takes(&r, 0, 1));
	rate_change(&r, 0, 0, 0);
	cr_expect_eq(rate_wait_ms(&r, 0), 0);
}

/* As if the others had begun one after the other, the last one now. */
Test(rate, used_up)
{
	struct rate r;

	rate_set(&r, 10, 1000, 0);
	rate_use_up(&r, 50000);
	cr_expect(takes(&r, 50000, 0));
	cr_expect_geq(rate_wait_ms(&r, 50000), 100 - 20);
	cr_expect_leq(rate_wait_ms(&r, 50000), 100 + 20);
	cr_expect(takes(&r, 50520, 5));
	cr_expect(takes(&r, 51030, 5));
	rate_set(&r, 1, 1000, 0);
	rate_use_up(&r, 700);
	cr_expect_eq(rate_wait_ms(&r, 700), 1010);
}
