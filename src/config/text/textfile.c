#include "config/text/textfile.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/mem.h"

/* Opens a regular file. Returns a descriptor, or a negative errno. */
static int open_regular(const char *path, struct stat *st)
{
	/* O_NONBLOCK: a FIFO would otherwise wait for a writer. */
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	int r = 0;

	if (fd < 0)
		return -errno;
	if (fstat(fd, st) < 0)
		r = -errno;
	else if (S_ISDIR(st->st_mode))
		r = -EISDIR;
	else if (!S_ISREG(st->st_mode))
		r = -EINVAL;
	if (r < 0) {
		close(fd);
		return r;
	}
	return fd;
}

/* Reads up to `size` bytes. Returns how many there are, or a negative errno. */
static ssize_t read_up_to(int fd, char *data, size_t size)
{
	size_t len = 0;

	while (len < size) {
		ssize_t n = read(fd, data + len, size - len);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return -errno;
		if (n == 0)
			break;
		len += (size_t)n;
	}
	return (ssize_t)len;
}

int textfile_read(const char *path, size_t limit, char **ret_text, size_t *ret_len,
		  struct stat *ret_stat)
{
	struct stat st;
	char *text;
	ssize_t len;
	int fd = open_regular(path, &st);

	if (fd < 0)
		return fd;
	text = mem_alloc(limit + 1);
	len = read_up_to(fd, text, limit + 1);
	close(fd);
	if (len < 0 || (size_t)len > limit) {
		free(text);
		return len < 0 ? (int)len : -EFBIG;
	}
	text[len] = '\0';
	*ret_text = text;
	*ret_len = (size_t)len;
	if (ret_stat)
		*ret_stat = st;
	return 0;
}

static bool is_white(char c)
{
	return c == ' ' || c == '\t' || c == '\r' || c == '\n' || c == '\f' || c == '\v';
}

int textfile_read_line(const char *path, size_t limit, char **ret_line, size_t *ret_len,
		       struct stat *ret_stat)
{
	struct stat st;
	char *line, *end;
	size_t first = 0, last;
	ssize_t len;
	int fd = open_regular(path, &st);

	if (fd < 0)
		return fd;
	line = mem_calloc(limit + 1, 1);
	len = read_up_to(fd, line, limit + 1);
	close(fd);
	end = len > 0 ? memchr(line, '\n', (size_t)len) : NULL;
	if (len < 0 || (!end && (size_t)len > limit)) {
		explicit_bzero(line, limit + 1);
		free(line);
		return len < 0 ? (int)len : -EFBIG;
	}
	last = end ? (size_t)(end - line) : (size_t)len;
	while (first < last && is_white(line[first]))
		first++;
	while (last > first && is_white(line[last - 1]))
		last--;
	/* The line may be a secret: it is not copied again, and what follows it is erased. */
	memmove(line, line + first, last - first);
	explicit_bzero(line + (last - first), limit + 1 - (last - first));
	*ret_line = line;
	*ret_len = last - first;
	if (ret_stat)
		*ret_stat = st;
	return 0;
}

const char *textfile_error(int error)
{
	switch (-error) {
	case EISDIR: return "is a folder, not a file";
	case EINVAL: return "is not a regular file";
	case EFBIG: return "is too big";
	case ENOENT: return "does not exist";
	default: return strerror(-error);
	}
}

char *textfile_beside(const char *file, const char *path)
{
	const char *slash = strrchr(file, '/');
	size_t folder = slash ? (size_t)(slash - file) + 1 : 0;
	size_t len = strlen(path);
	char *joined;

	if (path[0] == '/' || folder == 0)
		return mem_strdup(path);
	joined = mem_alloc(folder + len + 1);
	memcpy(joined, file, folder);
	memcpy(joined + folder, path, len + 1);
	return joined;
}
