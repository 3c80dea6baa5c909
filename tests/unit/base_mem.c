#include <criterion/criterion.h>
#include <signal.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

#include "base/mem.h"

Test(mem, nothing_is_not_null)
{
	mem_auto void *a = mem_alloc(0);
	mem_auto void *b = mem_calloc(0, 8);
	mem_auto void *c = mem_calloc(8, 0);
	mem_auto void *d = mem_resize(NULL, 0, 0);

	cr_assert_not_null(a);
	cr_assert_not_null(b);
	cr_assert_not_null(c);
	cr_assert_not_null(d);
}

Test(mem, calloc_is_zeroed)
{
	static const unsigned char zeros[7 * 3];
	mem_auto unsigned char *p = mem_calloc(7, 3);

	cr_assert_eq(memcmp(p, zeros, sizeof(zeros)), 0);
}

Test(mem, resize_keeps_what_was_there)
{
	mem_auto int *p = mem_alloc(2 * sizeof(int));

	p[0] = 1;
	p[1] = 2;
	p = mem_resize(p, 1000, sizeof(int));
	cr_assert_eq(p[0], 1);
	cr_assert_eq(p[1], 2);
	p[999] = 3;
	p = mem_resize(p, 1, sizeof(int));
	cr_assert_eq(p[0], 1);
}

Test(mem, calloc_that_overflows_aborts, .signal = SIGABRT)
{
	volatile size_t n = SIZE_MAX / 2 + 1;

	free(mem_calloc(n, 2));
}

Test(mem, resize_that_overflows_aborts, .signal = SIGABRT)
{
	volatile size_t size = SIZE_MAX / 3 + 1;

	free(mem_resize(NULL, 3, size));
}

Test(mem, stream)
{
	char *text = NULL;
	size_t len = 0;
	FILE *f = mem_stream(&text, &len);

	fprintf(f, "%s %d", "answer", 42);
	mem_stream_end(f);
	cr_assert_str_eq(text, "answer 42");
	cr_assert_eq(len, 9);
	free(text);
}

/* A text that is cut is none: no half of an answer is shown as all of it. */
Test(mem, stream_that_could_not_be_written_aborts, .signal = SIGABRT)
{
	FILE *f = fopen("/dev/full", "w");

	cr_assert_not_null(f);
	fputs("lost", f);
	mem_stream_end(f);
}

#ifndef __SANITIZE_ADDRESS__ /* whose own allocator then ends the process with 1 */
/* An allocator that has nothing left for a stream. */
Test(mem, stream_without_memory_aborts, .signal = SIGABRT)
{
	struct rlimit none = {.rlim_cur = 0, .rlim_max = RLIM_INFINITY};
	char *text;
	size_t len;

	signal(SIGABRT, SIG_DFL);
	setrlimit(RLIMIT_AS, &none);
	setrlimit(RLIMIT_DATA, &none);
	for (;;)
		mem_stream(&text, &len);
}
#endif

Test(mem, strings)
{
	static const char unterminated[3] = {'a', 'b', 'c'};
	static const struct {
		const char *text;
		size_t len;
		const char *expected;
	} cases[] = {
		{"nightly", 7, "nightly"},
		{"nightly", 5, "night"},
		{"nightly", 100, "nightly"},
		{"a\0b", 3, "a"},
		{"", 0, ""},
		{NULL, 0, ""},
	};
	mem_auto char *whole = mem_strdup("nightly");
	mem_auto char *empty = mem_strdup("");
	mem_auto char *three = mem_strndup(unterminated, sizeof(unterminated));

	cr_assert_str_eq(whole, "nightly");
	cr_assert_str_eq(empty, "");
	cr_assert_str_eq(three, "abc");
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		mem_auto char *copy = mem_strndup(cases[i].text, cases[i].len);

		cr_assert_str_eq(copy, cases[i].expected, "case %zu", i);
	}
}

Test(mem, cleanup_takes_null)
{
	mem_auto char *nothing = NULL;

	cr_assert_null(nothing);
}
