/* No bug: what every net has to let through. */
#include <criterion/criterion.h>
#include <stdlib.h>

Test(canary, clean)
{
	int *p = calloc(4, sizeof(*p));

	cr_assert_not_null(p);
	cr_assert_eq(p[3], 0);
	free(p);
}
