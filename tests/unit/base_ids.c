#include "base/ids.h"

#include <stdio.h>

#include <criterion/criterion.h>

Test(ids, each_is_kept_once_while_somebody_has_it)
{
	struct ids t = {.n = 0};
	const char *a = NULL, *b = NULL, *c = NULL;

	ids_set(&t, &a, "worker-2");
	ids_set(&t, &b, "worker-1");
	ids_set(&t, &c, "worker-2");
	cr_expect_str_eq(a, "worker-2");
	cr_expect_str_eq(b, "worker-1");
	cr_expect_eq(a, c);
	cr_expect_eq(t.n, 2);
	ids_set(&t, &a, "");
	cr_expect_str_eq(a, "");
	cr_expect_str_eq(c, "worker-2");
	ids_set(&t, &c, b);
	cr_expect_eq(c, b);
	cr_expect_eq(t.n, 1);
	ids_set(&t, &b, "");
	ids_set(&t, &c, "");
	cr_expect_eq(t.n, 0);
	ids_done(&t);
}

Test(ids, many_come_and_go)
{
	struct ids t = {.n = 0};
	const char *places[500] = {NULL};
	char text[20];

	for (int round = 0; round < 3; round++) {
		for (int i = 0; i < 500; i++) {
			snprintf(text, sizeof(text), "%d", (i * 7 + round) % 100);
			ids_set(&t, &places[i], text);
		}
		cr_expect_eq(t.n, 100);
		for (int i = 0; i < 500; i++) {
			snprintf(text, sizeof(text), "%d", (i * 7 + round) % 100);
			cr_expect_str_eq(places[i], text);
		}
	}
	for (int i = 0; i < 500; i++)
		ids_set(&t, &places[i], "");
	ids_done(&t);
}
