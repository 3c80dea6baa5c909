#include "daemon/zookeeper/spare_threads.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <sys/stat.h>
#include <time.h>

#define GONE_MS 100 /* for the kernel to count the ended threads no more */

static void *wait_for_others(void *arg)
{
	pthread_mutex_t *lock = arg;

	pthread_mutex_lock(lock);
	pthread_mutex_unlock(lock);
	return NULL;
}

/* The number of threads that the kernel counts for this process; 0: unknown. */
static nlink_t count(void)
{
	struct stat st;

	return stat("/proc/self/task", &st) == 0 ? st.st_nlink : 0;
}

/* A thread that has been joined still counts for a moment. */
static int await_count(nlink_t before)
{
	const struct timespec moment = {.tv_nsec = 1000000};

	for (int ms = 0; ms < GONE_MS; ms++) {
		if (count() <= before)
			return 0;
		nanosleep(&moment, NULL);
	}
	return -EAGAIN;
}

int spare_threads(size_t n)
{
	pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
	pthread_t threads[SPARE_THREADS_MAX];
	nlink_t before = count();
	sigset_t all, mask;
	size_t started = 0;
	int e = n > SPARE_THREADS_MAX ? EINVAL : 0;

	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &mask);
	pthread_mutex_lock(&lock);
	while (e == 0 && started < n) {
		e = pthread_create(&threads[started], NULL, wait_for_others, &lock);
		started += e == 0;
	}
	pthread_mutex_unlock(&lock);
	pthread_sigmask(SIG_SETMASK, &mask, NULL);
	for (size_t i = 0; i < started; i++)
		pthread_join(threads[i], NULL);
	if (e != 0)
		return -e;
	return await_count(before);
}
