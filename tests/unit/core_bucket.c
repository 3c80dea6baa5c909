#include <criterion/criterion.h>

#include "core/queue/bucket.h"

Test(bucket, full_at_the_beginning_and_filled_at_its_rate)
{
	struct bucket b;

	bucket_fill(&b, 2, 1000, 5000);
	cr_expect(bucket_take(&b, 5000));
	cr_expect(bucket_take(&b, 5000));
	cr_expect_not(bucket_take(&b, 5000));
	cr_expect_eq(bucket_wait_ms(&b, 5000), 500);
	cr_expect_eq(bucket_wait_ms(&b, 5499), 1);
	cr_expect_not(bucket_take(&b, 5499));
	cr_expect(bucket_take(&b, 5500));
	cr_expect_not(bucket_take(&b, 5500));
	/* Never more than fit. */
	cr_expect(bucket_take(&b, 50000));
	cr_expect(bucket_take(&b, 50000));
	cr_expect_not(bucket_take(&b, 50000));
	cr_expect_not(bucket_take(&b, 49000)); /* a clock never goes back, and if it did */
}

Test(bucket, without_a_limit)
{
	struct bucket b;

	bucket_fill(&b, 0, 0, 5000);
	for (int i = 0; i < 1000; i++)
		cr_assert(bucket_take(&b, 5000));
	cr_expect_eq(bucket_wait_ms(&b, 5000), 0);
}

Test(bucket, given_back_and_resized)
{
	struct bucket b;

	bucket_fill(&b, 3, 3000, 0);
	cr_expect(bucket_take(&b, 0));
	bucket_give_back(&b);
	bucket_give_back(&b); /* no more than fit */
	for (int i = 0; i < 3; i++)
		cr_expect(bucket_take(&b, 0));
	cr_expect_not(bucket_take(&b, 0));
	bucket_resize(&b, 10, 1000, 0); /* what is in it stays */
	cr_expect_not(bucket_take(&b, 0));
	bucket_fill(&b, 10, 1000, 0);
	bucket_resize(&b, 2, 1000, 0);
	cr_expect(bucket_take(&b, 0));
	cr_expect(bucket_take(&b, 0));
	cr_expect_not(bucket_take(&b, 0));
	bucket_fill(&b, 10, 1000, 0);
	bucket_drain(&b, 50);
	cr_expect_not(bucket_take(&b, 149));
	cr_expect(bucket_take(&b, 150));
	bucket_fill(&b, 0, 0, 0); /* there was none: full */
	bucket_resize(&b, 1, 1000, 0);
	cr_expect(bucket_take(&b, 0));
	cr_expect_not(bucket_take(&b, 0));
}

Test(bucket, nobody_waits_while_there_is_a_token)
{
	struct bucket b;

	bucket_fill(&b, 2, 1000, 0);
	cr_expect(bucket_take(&b, 0));
	cr_expect_eq(bucket_wait_ms(&b, 0), 0);
	cr_expect_eq(bucket_wait_ms(&b, 999), 0, "nor is it ever more than full");
	cr_expect(bucket_take(&b, 999));
	cr_expect(bucket_take(&b, 999));
	cr_expect_eq(bucket_wait_ms(&b, 999), 500);
}
