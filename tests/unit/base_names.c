#include <criterion/criterion.h>
#include <string.h>

#include "base/text/names.h"

Test(names, natural_order)
{
	/* Each before all that follow. */
	static const char *const sorted[] = {
		"",
		"1",
		"2",
		"02a",
		"10",
		"App",
		"a",
		"a-1",
		"a-1-9",
		"a-1-10",
		"a-2",
		"a-09",
		"a-9",
		"a-10",
		"a-10b",
		"a.1",
		"a0",
		"a1",
		"b0",
		"b00",
		"job-9",
		"job-9.x1",
		"job-10",
		"job-18446744073709551616",
		"job-184467440737095516160",
		"job-a",
		"z",
		"\xc3\xa4",
	};
	size_t n = sizeof(sorted) / sizeof(sorted[0]);

	for (size_t i = 0; i < n; i++) {
		for (size_t j = 0; j < n; j++) {
			int order = names_natural(sorted[i], sorted[j]);

			cr_expect_eq((order > 0) - (order < 0), (i > j) - (i < j), "%s and %s: %d",
				     sorted[i], sorted[j], order);
		}
	}
}

Test(names, how_many_fit)
{
	static const char *const names[] = {"abc", "de", "f"};

	cr_expect_eq(names_fit(names, 0, 100), 0);
	cr_expect_eq(names_fit(names, 3, 0), 1, "one at the least");
	cr_expect_eq(names_fit(names, 3, 10), 1);
	cr_expect_eq(names_fit(names, 3, 11), 2);
	cr_expect_eq(names_fit(names, 3, 14), 2);
	cr_expect_eq(names_fit(names, 3, 15), 3);
}
