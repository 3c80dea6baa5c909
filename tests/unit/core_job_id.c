#include <criterion/criterion.h>
#include <string.h>

#include "core/queue/job_id.h"

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))
#define UUID	     "01234567-89ab-cdef-0123-456789abcdef"

Test(job_id, there_and_back)
{
	static const char *const good[] = {
		"q.0." UUID,	  "q.ht7v1." UUID, "a.b.c.1." UUID, "q.zzzzzzzzzzzz." UUID,
		"Q-1_x.10." UUID,
	};
	char text[JOB_ID_MAX + 1];
	struct job_id id;

	for (size_t i = 0; i < COUNT(good); i++) {
		cr_assert(job_id_parse(good[i], strlen(good[i]), &id), "%s", good[i]);
		job_id_format(&id, text);
		cr_expect_str_eq(text, good[i]);
	}
	cr_assert(job_id_parse("a.b.c.1." UUID, strlen("a.b.c.1." UUID), &id));
	cr_expect_str_eq(id.queue, "a.b.c");
	cr_expect_eq(id.minute, 1);
	cr_expect_str_eq(id.uuid, UUID);
}

Test(job_id, what_is_none)
{
	static const char *const bad[] = {
		"",
		UUID,
		"." UUID,
		"1." UUID,
		".1." UUID,
		"q.." UUID,
		"q.01." UUID,
		"q.1A." UUID,
		"q.1-." UUID,
		"q.1234567890abc." UUID,
		"q.1.01234567-89ab-cdef-0123-456789abcdeF",
		"q.1.01234567-89ab-cdef-0123-456789abcde",
		"q.1.0123456789ab-cdef-0123-456789abcdef0",
		"q.1.01234567-89ab-cdef-0123_456789abcdef",
		"q.1.g1234567-89ab-cdef-0123-456789abcdef",
		"-q.1." UUID,
		"q/x.1." UUID,
		"q.1." UUID "0",
		"q 1." UUID,
	};
	struct job_id id;

	for (size_t i = 0; i < COUNT(bad); i++)
		cr_expect_not(job_id_parse(bad[i], strlen(bad[i]), &id), "%s", bad[i]);
	/* The longest name of a queue, and one that is longer. */
	char text[JOB_ID_MAX + 10];
	memset(text, 'q', NAME_TASK_MAX + 1);
	strcpy(text + NAME_TASK_MAX, ".1." UUID);
	cr_expect(job_id_parse(text, strlen(text), &id));
	memset(text, 'q', NAME_TASK_MAX + 1);
	strcpy(text + NAME_TASK_MAX + 1, ".1." UUID);
	cr_expect_not(job_id_parse(text, strlen(text), &id));
}

Test(job_id, minutes)
{
	static const struct {
		int64_t minute;
		const char *text;
	} cases[] = {{0, "0"},	{35, "z"},	     {36, "10"},
		     {-1, "0"}, {29916096, "ht7eo"}, {INT64_MAX, "zzzzzzzzzzzz"}};
	char text[JOB_MINUTE_SIZE];

	for (size_t i = 0; i < COUNT(cases); i++) {
		job_minute_format(cases[i].minute, text);
		cr_expect_str_eq(text, cases[i].text);
	}
}

Test(job_id, pointers)
{
	static const char *const due[] = {"1795000000000.ht7v1." UUID,
					  "1795000000000.ht7v1." UUID ".callback",
					  "0000000000001.0." UUID, "179500000000000.1." UUID};
	static const char *const bad[] = {"179500000000.1." UUID,
					  "01795000000000.1." UUID,
					  "1795000000000000.1." UUID,
					  "1795000000000" UUID,
					  "1795000000000.1." UUID ".callbacks",
					  "1795000000000",
					  ".callback",
					  "1795000000000.1." UUID "x"};
	struct job_pointer p, q;
	struct job_id id;
	char text[JOB_POINTER_MAX + 1];

	for (size_t i = 0; i < COUNT(due); i++) {
		cr_assert(job_pointer_parse(due[i], strlen(due[i]), true, &p), "%s", due[i]);
		job_pointer_format(&p, true, text);
		cr_expect_str_eq(text, due[i]);
		/* The same without its time. */
		job_pointer_format(&p, false, text);
		cr_assert(job_pointer_parse(text, strlen(text), false, &q));
		cr_expect(job_pointer_same(&p, &q));
		cr_expect_eq(p.callback, i == 1);
	}
	for (size_t i = 0; i < COUNT(bad); i++)
		cr_expect_not(job_pointer_parse(bad[i], strlen(bad[i]), true, &p), "%s", bad[i]);
	p = job_pointer_to(&(struct job_id){.queue = "q", .minute = 7, .uuid = UUID}, 5, true);
	job_pointer_id(&p, "other", &id);
	cr_expect_str_eq(id.queue, "other");
	cr_expect_eq(id.minute, 7);
	q = p;
	q.callback = false;
	cr_expect_not(job_pointer_same(&p, &q));
	q = p;
	q.uuid[0] = p.uuid[0] == 'a' ? 'b' : 'a';
	cr_expect_not(job_pointer_same(&p, &q));
}
