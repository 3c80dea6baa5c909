#include "notify/input.h"

#include <errno.h>
#include <stdbool.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/fd.h"

int input_of(const struct input_part *parts, size_t n)
{
	int fd = fd_private(memfd_create("event", MFD_CLOEXEC));
	bool whole = fd >= 0;

	if (fd < 0)
		return -1;
	for (size_t i = 0; i < n && whole; i++)
		whole = write(fd, parts[i].text, parts[i].len) == (ssize_t)parts[i].len;
	if (!whole || lseek(fd, 0, SEEK_SET) != 0) {
		close(fd);
		errno = ENOSPC;
		return -1;
	}
	return fd;
}
