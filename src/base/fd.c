#include "base/fd.h"

#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

#define FIRST_PRIVATE 3

int fd_private(int fd)
{
	int other, e;

	if (fd < 0 || fd >= FIRST_PRIVATE)
		return fd;
	other = fcntl(fd, F_DUPFD_CLOEXEC, FIRST_PRIVATE);
	e = errno;
	close(fd);
	errno = e;
	return other;
}

void fd_forget(int fd)
{
	int null = fd_private(open("/dev/null", O_RDWR | O_CLOEXEC));

	if (null < 0)
		return;
	dup2(null, fd);
	close(null);
}

void fd_open_standard(void)
{
	for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; fd++)
		if (fcntl(fd, F_GETFD) < 0)
			fd_forget(fd);
}

int fd_pipe(int *ret_from, int *ret_into)
{
	int ends[2], e;

	if (pipe2(ends, O_CLOEXEC) < 0)
		return -errno;
	ends[0] = fd_private(ends[0]);
	e = ends[0] < 0 ? -errno : 0;
	ends[1] = fd_private(ends[1]);
	if (e == 0 && ends[1] < 0)
		e = -errno;
	if (e < 0) {
		for (int i = 0; i < 2; i++)
			if (ends[i] >= 0)
				close(ends[i]);
		return e;
	}
	*ret_from = ends[0];
	*ret_into = ends[1];
	return 0;
}
