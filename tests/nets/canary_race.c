/* Planted: two threads that count without a lock. */
#include <criterion/criterion.h>
#include <pthread.h>

static int count;

static void *count_up(void *arg)
{
	(void)arg;
	for (int i = 0; i < 100000; i++)
		count++;
	return NULL;
}

Test(canary, race)
{
	pthread_t thread;

	cr_assert_eq(pthread_create(&thread, NULL, count_up, NULL), 0);
	count_up(NULL);
	pthread_join(thread, NULL);
	cr_expect_gt(count, 0);
}
