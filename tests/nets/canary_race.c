/* Planted: two threads that count without a lock. A plain program, as TSan aborts Criterion. */
#include <pthread.h>
#include <stddef.h>

static int count;

static void *count_up(void *arg)
{
	(void)arg;
	for (int i = 0; i < 100000; i++)
		count++;
	return NULL;
}

int main(void)
{
	pthread_t thread;

	if (pthread_create(&thread, NULL, count_up, NULL) != 0)
		return 2;
	count_up(NULL);
	pthread_join(thread, NULL);
	return count == 0;
}
