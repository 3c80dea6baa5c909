/* Planted: a decision on memory that nobody has written. */
#include <criterion/criterion.h>
#include <stdlib.h>

static volatile int seen;

Test(canary, uninitialised)
{
	volatile int *p = malloc(sizeof(*p));

	cr_assert_not_null((void *)p);
	if (*p == 12345)
		seen = 1;
	free((void *)p);
}
