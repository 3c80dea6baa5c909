#include "client/tag.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/fd.h"

#define LINE_SIZE 8192 /* a longer line comes in pieces, each with the name */

/* One of the two streams. */
struct stream {
	int from, to;
	char line[LINE_SIZE];
	size_t len;
};

static void write_all(int fd, const char *data, size_t len)
{
	while (len > 0) {
		ssize_t n = write(fd, data, len);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return; /* nobody reads it */
		data += n;
		len -= (size_t)n;
	}
}

/* In one piece where it can be, so that lines of several partitions do not mix. */
static void write_line(const struct stream *s, const char *name, size_t len, bool ended)
{
	char text[LINE_SIZE + 128];
	size_t n = strlen(name);

	memcpy(text, name, n); /* NOLINT(bugprone-not-null-terminated-result): it is no string */
	text[n++] = ' ';
	memcpy(text + n, s->line, len);
	n += len;
	if (!ended)
		text[n++] = '\n';
	write_all(s->to, text, n);
}

/* False: it has ended. */
static bool pass_on(struct stream *s, const char *name)
{
	ssize_t n = read(s->from, s->line + s->len, LINE_SIZE - s->len);
	char *end;

	if (n < 0 && errno == EINTR)
		return true;
	if (n <= 0) {
		if (s->len > 0)
			write_line(s, name, s->len, false);
		return false;
	}
	s->len += (size_t)n;
	while ((end = memchr(s->line, '\n', s->len))) {
		size_t len = (size_t)(end - s->line) + 1;

		write_line(s, name, len, true);
		s->len -= len;
		memmove(s->line, s->line + len, s->len);
	}
	if (s->len == LINE_SIZE) {
		write_line(s, name, s->len, false);
		s->len = 0;
	}
	return true;
}

_Noreturn static void run(const char *name, int out, int err)
{
	static struct stream streams[2];
	struct pollfd fds[2];

	streams[0] = (struct stream){.from = out, .to = STDOUT_FILENO};
	streams[1] = (struct stream){.from = err, .to = STDERR_FILENO};
	signal(SIGPIPE, SIG_IGN);
	for (size_t i = 0; i < 2; i++)
		fds[i] = (struct pollfd){.fd = streams[i].from, .events = POLLIN};
	while (fds[0].fd >= 0 || fds[1].fd >= 0) {
		if (poll(fds, 2, -1) < 0 && errno != EINTR)
			break;
		for (size_t i = 0; i < 2; i++)
			if (fds[i].revents != 0 && !pass_on(&streams[i], name))
				fds[i].fd = -1;
	}
	_exit(0);
}

/* A pipe whose ends are no standard descriptors, and are closed in what is executed. */
static int make_pipe(int ends[2])
{
	if (pipe2(ends, O_CLOEXEC) < 0)
		return -errno;
	ends[0] = fd_private(ends[0]);
	ends[1] = fd_private(ends[1]);
	return ends[0] < 0 || ends[1] < 0 ? -EMFILE : 0;
}

static void close_pipe(const int ends[2])
{
	for (size_t i = 0; i < 2; i++)
		if (ends[i] >= 0)
			close(ends[i]);
}

int tag_begin(struct tag *t, const char *name)
{
	int out[2] = {-1, -1}, err[2] = {-1, -1};
	int e = make_pipe(out);

	if (e == 0)
		e = make_pipe(err);
	t->pid = e == 0 ? fork() : -1;
	if (t->pid == 0) {
		close(out[1]);
		close(err[1]);
		run(name, out[0], err[0]);
	}
	if (e == 0 && t->pid < 0)
		e = -errno;
	if (e == 0) {
		dup2(out[1], STDOUT_FILENO);
		dup2(err[1], STDERR_FILENO);
	}
	close_pipe(out);
	close_pipe(err);
	return e;
}

void tag_end(const struct tag *t)
{
	fd_forget(STDOUT_FILENO);
	fd_forget(STDERR_FILENO);
	while (waitpid(t->pid, NULL, 0) < 0 && errno == EINTR)
		;
}
