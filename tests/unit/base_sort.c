#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

#include "base/sort.h"

static size_t compared;

static int by_text(const void *a, const void *b)
{
	compared++;
	return strcmp(*(const char *const *)a, *(const char *const *)b);
}

static int by_value(const void *a, const void *b)
{
	const int *x = *(const int *const *)a, *y = *(const int *const *)b;

	compared++;
	return (*x > *y) - (*x < *y);
}

Test(sort, as_qsort_does_it)
{
	static const char *const cases[] = {"",		 "a",	   "ab",      "ba",
					    "abc",	 "cba",	   "abcxyza", "abczyx",
					    "zabcdefgh", "bbaabb", "acegbdf"};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		char texts[16][2] = {{0}};
		const char *list[16], *wanted[16];
		size_t n = strlen(cases[i]);
		for (size_t j = 0; j < n; j++) {
			texts[j][0] = cases[i][j];
			list[j] = wanted[j] = texts[j];
		}
		sort_pointers(list, n, by_text);
		qsort(wanted, n, sizeof(*wanted), by_text);
		for (size_t j = 0; j < n; j++)
			cr_expect_str_eq(list[j], wanted[j], "%s", cases[i]);
	}
}

Test(sort, what_was_added_behind_what_is_in_order_takes_one_pass)
{
	enum { N = 1000 };
	static int values[N + 2];
	const int *list[N + 2];

	for (int i = 0; i < N; i++)
		values[i] = 2 * i;
	values[N] = 501;
	values[N + 1] = -1;
	for (size_t i = 0; i < N + 2; i++)
		list[i] = &values[i];
	sort_pointers(list, N + 2, by_value);
	for (size_t i = 0; i < N + 1; i++)
		cr_assert_lt(*list[i], *list[i + 1]);
	cr_expect_leq(compared, 2 * (N + 2));
	compared = 0;
	sort_pointers(list, N + 2, by_value);
	cr_expect_eq(compared, N + 1);
}

static int by_number(const void *a, const void *b)
{
	int x = *(const int *)a, y = *(const int *)b;

	return (x > y) - (x < y);
}

Test(sort, the_place_is_the_first_that_is_not_before)
{
	static const int list[] = {1, 3, 3, 3, 5, 7, 7};
	static const size_t places[] = {0, 0, 1, 1, 4, 4, 5, 5, 7};

	for (size_t n = 0; n <= sizeof(list) / sizeof(list[0]); n++)
		for (int key = 0; key < 9; key++)
			cr_expect_eq(sort_place(&key, list, n, sizeof(list[0]), by_number),
				     places[key] < n ? places[key] : n, "%d of %zu", key, n);
	cr_expect_eq(sort_place(&list[0], NULL, 0, sizeof(list[0]), by_number), 0);
}
