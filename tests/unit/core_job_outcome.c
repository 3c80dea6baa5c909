#include <criterion/criterion.h>

#include "core/queue/job_outcome.h"

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

static const struct queue_settings settings = {
	.attempts = 3, .backoff_ms = 5000, .backoff_max_ms = 3600000, .rerun = true};

Test(job_outcome, what_follows)
{
	static const struct {
		enum attempt_how how;
		int64_t number;
		bool rerun;
		enum job_next next;
	} cases[] = {
		{ATTEMPT_OK, 1, true, JOB_NEXT_OK},
		{ATTEMPT_OK, 3, false, JOB_NEXT_OK},
		{ATTEMPT_DEAD, 1, true, JOB_NEXT_DEAD},
		{ATTEMPT_CANCELLED, 1, true, JOB_NEXT_CANCELLED},
		{ATTEMPT_FAILED, 1, true, JOB_NEXT_AGAIN},
		{ATTEMPT_FAILED, 2, false, JOB_NEXT_AGAIN},
		{ATTEMPT_FAILED, 3, true, JOB_NEXT_DEAD},
		{ATTEMPT_FAILED, 4, true, JOB_NEXT_DEAD},
		{ATTEMPT_TIMEOUT, 1, true, JOB_NEXT_AGAIN},
		{ATTEMPT_TIMEOUT, 3, false, JOB_NEXT_DEAD},
		{ATTEMPT_LOST, 1, true, JOB_NEXT_AGAIN},
		{ATTEMPT_LOST, 3, true, JOB_NEXT_DEAD},
		{ATTEMPT_LOST, 1, false, JOB_NEXT_LOST},
		{ATTEMPT_LOST, 3, false, JOB_NEXT_LOST},
	};
	int64_t delay_ms;

	for (size_t i = 0; i < COUNT(cases); i++) {
		struct queue_settings s = settings;
		struct job_attempt a = {
			.how = cases[i].how, .number = cases[i].number, .retry_ms = -1};
		s.rerun = cases[i].rerun;
		cr_expect_eq(job_outcome(&s, &a, &delay_ms), cases[i].next, "case %zu", i);
	}
}

Test(job_outcome, after_how_long)
{
	struct job_attempt a = {.how = ATTEMPT_LOST, .number = 1, .retry_ms = -1};
	int64_t delay_ms = -1;

	cr_expect_eq(job_outcome(&settings, &a, &delay_ms), JOB_NEXT_AGAIN);
	cr_expect_eq(delay_ms, 0); /* a crash is tried again at once */
	a.how = ATTEMPT_FAILED;
	a.retry_ms = 7000; /* Retry-After */
	cr_expect_eq(job_outcome(&settings, &a, &delay_ms), JOB_NEXT_AGAIN);
	cr_expect_eq(delay_ms, 7000);
	a.retry_ms = 7200000; /* up to backoff-max */
	cr_expect_eq(job_outcome(&settings, &a, &delay_ms), JOB_NEXT_AGAIN);
	cr_expect_eq(delay_ms, 3600000);
	a.retry_ms = 0;
	cr_expect_eq(job_outcome(&settings, &a, &delay_ms), JOB_NEXT_AGAIN);
	cr_expect_eq(delay_ms, 0);
}

Test(job_outcome, backoff)
{
	static const struct {
		int64_t number, most;
	} cases[] = {{1, 5000},	    {2, 10000},	     {3, 20000},	  {10, 2560000},
		     {11, 3600000}, {1000, 3600000}, {INT32_MAX, 3600000}};
	struct queue_settings s = settings;

	for (size_t i = 0; i < COUNT(cases); i++) {
		int64_t least = job_backoff_ms(&s, cases[i].number, 0);
		int64_t most = job_backoff_ms(&s, cases[i].number, UINT32_MAX);
		int64_t middle = job_backoff_ms(&s, cases[i].number, UINT32_MAX / 2);
		cr_expect_eq(least, cases[i].most / 2, "case %zu: %lld", i, (long long)least);
		cr_expect_eq(most, cases[i].most, "case %zu: %lld", i, (long long)most);
		cr_expect(middle > least && middle < most);
	}
	s.backoff_ms = 10; /* the first is above the most */
	s.backoff_max_ms = 5;
	cr_expect_eq(job_backoff_ms(&s, 1, UINT32_MAX), 5);
	s.backoff_max_ms = INT64_MAX;
	s.backoff_ms = INT64_MAX / 2 + 1;
	cr_expect_eq(job_backoff_ms(&s, 3, 0), INT64_MAX / 2);
}
