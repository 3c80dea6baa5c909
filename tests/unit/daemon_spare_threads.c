#include <criterion/criterion.h>
#include <errno.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "daemon/zookeeper/spare_threads.h"

#define USER 65123 /* nobody else's */

static nlink_t threads(void)
{
	struct stat st;

	cr_assert_eq(stat("/proc/self/task", &st), 0);
	return st.st_nlink;
}

Test(spare_threads, there_are_some_and_none_stays)
{
	nlink_t before = threads();

	for (int i = 0; i < 100; i++) {
		cr_assert_eq(spare_threads(4), 0);
		cr_assert_eq(threads(), before);
	}
	cr_assert_eq(spare_threads(SPARE_THREADS_MAX + 1), -EINVAL);
}

/* Whether there are so many at last: the kernel counts a thread a moment longer than who joins it sees. */
static bool gets(unsigned n)
{
	for (int i = 0; i < 5000; i++) {
		if (spare_threads(n) == 0)
			return true;
		usleep(1000);
	}
	return false;
}

/* As a user whose processes and threads are limited, this one included. */
Test(spare_threads, a_limit_is_found)
{
	const struct rlimit three = {3, 3};
	int status;
	pid_t child;

	if (geteuid() != 0)
		cr_skip_test("only root can become another user");
	child = fork();
	if (child == 0) {
		if (setrlimit(RLIMIT_NPROC, &three) != 0 || setuid(USER) != 0)
			_exit(2);
		for (int i = 0; i < 100; i++)
			if (!gets(2) || spare_threads(3) != -EAGAIN)
				_exit(1);
		_exit(0);
	}
	cr_assert(waitpid(child, &status, 0) == child);
	cr_assert(WIFEXITED(status) && WEXITSTATUS(status) == 0, "%x", status);
}
