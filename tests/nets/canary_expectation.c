/* Planted: a wrong expectation, which Criterion itself reports. */
#include <criterion/criterion.h>

Test(canary, expectation)
{
	volatile int one = 1;

	cr_assert_eq(one, 2);
}
