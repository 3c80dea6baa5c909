/* Planted: a heap block that nobody frees and nobody knows any more. */
#include <criterion/criterion.h>
#include <stdlib.h>

static void *volatile lost;

Test(canary, leak)
{
	lost = malloc(100);
	cr_assert_not_null(lost);
	lost = NULL;
}
