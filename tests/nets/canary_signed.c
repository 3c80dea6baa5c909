/* Planted: a signed overflow. */
#include <criterion/criterion.h>
#include <limits.h>

Test(canary, signed_overflow)
{
	volatile int most = INT_MAX;

	most = most + 1;
	cr_assert_neq(most, 0);
}
