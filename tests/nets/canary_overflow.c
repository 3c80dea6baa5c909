/* Planted: a write behind a heap block. */
#include <criterion/criterion.h>
#include <stdlib.h>

Test(canary, overflow)
{
	/* The pointer is volatile, lest the compiler know the block's size and the write's uselessness. */
	volatile char *volatile p = malloc(10);

	cr_assert_not_null((void *)p);
	p[10] = 1;
	free((void *)p);
}
