#include "base/log/errout.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#include "base/fd.h"

#define LINE_SIZE 4096
#ifndef RWF_NOWAIT
#define RWF_NOWAIT 8 /* linux/fs.h */
#endif

/* Our own open file description of the file last written to. Its O_NONBLOCK affects nobody else. */
static struct {
	pthread_mutex_t lock; /* held only during calls that do not wait */
	dev_t device;
	ino_t inode;
	int fd; /* -1: it cannot be opened anew */
} own = {.lock = PTHREAD_MUTEX_INITIALIZER, .fd = -1};

/* The pipe by which errout_splice() passes a text on. It is empty between two calls. */
static struct {
	pthread_mutex_t lock;
	int from, into; /* -1: not made yet */
} passing = {.lock = PTHREAD_MUTEX_INITIALIZER, .from = -1, .into = -1};

static int result(ssize_t n, size_t len)
{
	if (n < 0)
		return errno == EWOULDBLOCK ? -EAGAIN : -errno;
	return (size_t)n < len ? -EAGAIN : 0;
}

/* --- a pipe or terminal that may not be opened anew --------------------------- */

static int pass(int to, const char *text, size_t len)
{
	char rest[PIPE_BUF];
	ssize_t n;
	int e;

	if (passing.from < 0) {
		e = fd_pipe(&passing.from, &passing.into);
		if (e < 0)
			return e;
		fcntl(passing.from, F_SETFL, O_NONBLOCK);
		fcntl(passing.into, F_SETFL, O_NONBLOCK);
	}
	if (write(passing.into, text, len) != (ssize_t)len)
		return -EIO;
	n = splice(passing.from, NULL, to, NULL, len, SPLICE_F_NONBLOCK);
	e = result(n, len);
	while (e < 0 && read(passing.from, rest, sizeof(rest)) > 0)
		;
	return e;
}

int errout_splice(int to, const char *text, size_t len)
{
	int e;

	if (len > PIPE_BUF)
		return -EMSGSIZE;
	pthread_mutex_lock(&passing.lock);
	e = pass(to, text, len);
	pthread_mutex_unlock(&passing.lock);
	return e;
}

/* A terminal may still stop between the two calls, if somebody stops it in this microsecond. */
static int write_if_writable(int to, const char *text, size_t len)
{
	struct pollfd fd = {.fd = to, .events = POLLOUT};

	if (poll(&fd, 1, 0) <= 0)
		return -EAGAIN;
	return result(write(to, text, len), len);
}

static int write_shared(int to, bool is_pipe, const char *text, size_t len)
{
	struct iovec whole = {.iov_base = (void *)(uintptr_t)text, .iov_len = len};
	ssize_t n = syscall(SYS_pwritev2, to, &whole, 1L, -1L, -1L, (long)RWF_NOWAIT);

	if (n >= 0 || (errno != EOPNOTSUPP && errno != ENOSYS && errno != EINVAL))
		return result(n, len);
	return is_pipe ? errout_splice(to, text, len) : write_if_writable(to, text, len);
}

/* --- what is written to ------------------------------------------------------- */

/* Opens the file anew if it is another than before. A pipe of another user cannot be opened. */
static int own_description(int to, const struct stat *st)
{
	char path[32];

	if (own.device == st->st_dev && own.inode == st->st_ino)
		return own.fd;
	if (own.fd >= 0)
		close(own.fd);
	own.device = st->st_dev;
	own.inode = st->st_ino;
	snprintf(path, sizeof(path), "/proc/self/fd/%d", to);
	own.fd = fd_private(open(path, O_WRONLY | O_APPEND | O_NONBLOCK | O_CLOEXEC | O_NOCTTY));
	return own.fd;
}

static int write_once(int to, const char *text, size_t len)
{
	struct stat st;
	int fd, e;

	if (fstat(to, &st) != 0)
		return -errno;
	if (S_ISSOCK(st.st_mode))
		return result(send(to, text, len, MSG_DONTWAIT | MSG_NOSIGNAL), len);
	if (S_ISREG(st.st_mode))
		return result(write(to, text, len), len);
	pthread_mutex_lock(&own.lock);
	fd = own_description(to, &st);
	e = fd >= 0 ? result(write(fd, text, len), len) : 0;
	pthread_mutex_unlock(&own.lock);
	return fd >= 0 ? e : write_shared(to, S_ISFIFO(st.st_mode), text, len);
}

int errout_write(int to, const char *text, size_t len)
{
	int e;

	do
		e = write_once(to, text, len);
	while (e == -EINTR);
	return e;
}

/* --- a stream ------------------------------------------------------------------ */

/* Text that standard error does not take is lost, but the stream goes on. */
static ssize_t stream_write(void *cookie, const char *text, size_t len)
{
	(void)cookie;
	for (size_t at = 0; at < len; at += PIPE_BUF)
		errout_write(STDERR_FILENO, text + at, len - at < PIPE_BUF ? len - at : PIPE_BUF);
	return (ssize_t)len;
}

FILE *errout_stream(void)
{
	FILE *f = fopencookie(NULL, "w", (cookie_io_functions_t){.write = stream_write});

	if (f)
		setvbuf(f, NULL, _IOLBF, LINE_SIZE);
	return f;
}
