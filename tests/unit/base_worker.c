#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/text/worker.h"

static void expect(const struct worker *w, const char *const *names, size_t n)
{
	cr_assert_eq(w->n_tasks, n);
	for (size_t i = 0; i < n; i++)
		cr_assert_str_eq(w->tasks[i], names[i]);
}

Test(worker, new_is_zeroed)
{
	static const struct worker zeros;
	struct worker *w = worker_new();

	cr_assert_eq(memcmp(w, &zeros, sizeof(*w)), 0);
	worker_free(w);
	worker_free(NULL);
}

Test(worker, tasks_are_sorted_once_each)
{
	static const char *const given[] = {"b", "a", "c", "a", "B", "b", "a.1", "a-1", "a"};
	static const char *const expected[] = {"B", "a", "a-1", "a.1", "b", "c"};
	struct worker *w = worker_new();

	worker_set_tasks(w, given, 9);
	expect(w, expected, 6);
	worker_set_tasks(w, given, 1);
	expect(w, given, 1);
	worker_set_tasks(w, given, 0);
	expect(w, NULL, 0);
	cr_assert_null(w->tasks);
	worker_set_tasks(w, NULL, 0);
	expect(w, NULL, 0);
	worker_free(w);
}

Test(worker, tasks_of_its_own)
{
	static const char *const given[] = {"x", "y", "z"};
	struct worker *w = worker_new();

	worker_set_tasks(w, given, 3);
	worker_set_tasks(w, (const char *const *)w->tasks + 1, 2);
	expect(w, given + 1, 2);
	worker_free(w);
}

Test(worker, take_tasks)
{
	static const char *const expected[] = {"a", "b"};
	struct worker *w = worker_new();
	char **names = mem_calloc(3, sizeof(names[0]));

	names[0] = mem_strdup("b");
	names[1] = mem_strdup("a");
	names[2] = mem_strdup("b");
	worker_take_tasks(w, names, 3);
	cr_assert_eq(w->tasks, names);
	expect(w, expected, 2);
	worker_take_tasks(w, mem_calloc(0, 1), 0);
	expect(w, NULL, 0);
	worker_free(w);
}

Test(worker, shares_the_same_tasks)
{
	static const char *const names[] = {"daily", "report"};
	struct worker *a = worker_new(), *b = worker_new(), *c = worker_new(), *d = worker_new();

	worker_set_tasks(a, names, 2);
	worker_set_tasks(b, names, 2);
	worker_set_tasks(c, names, 2);
	worker_set_tasks(d, names, 1);
	c->digests = calloc(2, sizeof(c->digests[0]));
	c->n_digests = 2;
	cr_expect(worker_share_tasks(b, a));
	cr_expect_eq(a->tasks, b->tasks);
	cr_expect(worker_share_tasks(b, a)); /* once more */
	cr_expect_not(worker_share_tasks(c, a), "its digests are others");
	cr_expect_not(worker_share_tasks(d, a));
	worker_free(a); /* whoever goes last frees them */
	cr_expect_str_eq(b->tasks[1], "report");
	cr_expect_eq(b->n_tasks, 2);
	worker_free(b);
	worker_free(c);
	worker_free(d);
}
