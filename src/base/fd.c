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
