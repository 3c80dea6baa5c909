#include "supervise/relay.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/fd.h"
#include "base/mem.h"

#define LINE_SIZE      8192 /* a longer line is written in pieces, each with the name */
#define SETTLE_MS      500  /* longest wait for a slow reader before a run's end is recorded */
#define SETTLE_STEP_MS 2

/* A stream of the job: standard output or error. */
struct stream {
	int from, to;
	char line[LINE_SIZE];
	size_t len;
};

/*
 * Both streams. If both are the same file only the first is used, so that the output keeps its
 * order.
 */
struct streams {
	const char *name;
	struct tail *tail;
	struct stream of[2];
};

/* --- in the relay's own process ---------------------------------------------------------- */

/* Writes all of the data. False: nobody reads it. */
static bool write_all(int fd, const char *data, size_t len)
{
	struct pollfd room = {.fd = fd, .events = POLLOUT};

	while (len > 0) {
		ssize_t n = write(fd, data, len);

		if (n < 0 && errno == EAGAIN)
			poll(&room, 1, -1); /* another process has made the file non-blocking */
		else if (n <= 0 && errno != EINTR)
			return false;
		if (n > 0) {
			data += n;
			len -= (size_t)n;
		}
	}
	return true;
}

/*
 * Writes a line, with the name before it, in one call if possible. So lines of several partitions
 * do not mix.
 */
static bool write_line(const struct stream *s, const char *name, size_t len, bool ended)
{
	char text[LINE_SIZE + 128];
	size_t n = strlen(name);

	memcpy(text, name, n); /* NOLINT(bugprone-not-null-terminated-result): it is no string */
	text[n++] = ' ';
	memcpy(text + n, s->line, len);
	n += len;
	if (!ended)
		text[n++] = '\n';
	return write_all(s->to, text, n);
}

/*
 * Writes the complete lines. An incomplete one is written if the buffer is full or nothing more
 * will come. False: nobody reads it.
 */
static bool write_lines(struct stream *s, const char *name, bool over)
{
	bool good = true;
	char *end;

	while (good && (end = memchr(s->line, '\n', s->len))) {
		size_t len = (size_t)(end - s->line) + 1;

		good = write_line(s, name, len, true);
		s->len -= len;
		memmove(s->line, s->line + len, s->len);
	}
	if (good && (s->len == LINE_SIZE || (over && s->len > 0))) {
		good = write_line(s, name, s->len, false);
		s->len = 0;
	}
	return good;
}

/*
 * Reads from a stream and writes it. False: the stream has ended, or nobody reads its output. The
 * relay's end is closed then, so that the job notices.
 */
static bool pass_on(struct stream *s, const struct streams *all)
{
	ssize_t n = read(s->from, s->line + s->len, LINE_SIZE - s->len);
	bool over = n <= 0;

	if (n < 0 && errno == EINTR)
		return true;
	if (n > 0 && all->tail)
		tail_add(all->tail, s->line + s->len, (size_t)n);
	if (n > 0)
		s->len += (size_t)n;
	if (all->name)
		return write_lines(s, all->name, over) && !over;
	n = (ssize_t)s->len;
	s->len = 0;
	return !over && write_all(s->to, s->line, (size_t)n);
}

/*
 * Closes all descriptors but those of the streams. A process at the other end of one of them has to
 * notice when everybody else has closed it.
 */
static void close_others(const struct streams *all)
{
	unsigned low = (unsigned)all->of[0].from, high = (unsigned)all->of[1].from, between;

	if (all->of[0].from < 0 || all->of[1].from < 0)
		low = high = low > high ? high : low;
	if (low > high) {
		between = low;
		low = high;
		high = between;
	}
	if (low > STDERR_FILENO + 1)
		close_range(STDERR_FILENO + 1, low - 1, 0);
	if (high > low + 1)
		close_range(low + 1, high - 1, 0);
	close_range(high + 1, ~0U, 0);
	fd_forget(STDIN_FILENO);
}

_Noreturn static void run(struct streams *all)
{
	struct pollfd fds[2];

	prctl(PR_SET_NAME, "zkleader-relay");
	signal(SIGPIPE, SIG_IGN);
	close_others(all);
	for (size_t i = 0; i < 2; i++)
		fds[i] = (struct pollfd){.fd = all->of[i].from, .events = POLLIN};
	while (fds[0].fd >= 0 || fds[1].fd >= 0) {
		if (poll(fds, 2, -1) < 0 && errno != EINTR)
			break;
		for (size_t i = 0; i < 2; i++) {
			if (fds[i].fd < 0 || fds[i].revents == 0 || pass_on(&all->of[i], all))
				continue;
			close(fds[i].fd);
			fds[i].fd = -1;
		}
	}
	if (all->tail)
		all->tail->all = true;
	_exit(0);
}

/* --- in the caller's process ------------------------------------------------------------- */

static void close_one(int *fd)
{
	if (*fd >= 0)
		close(*fd);
	*fd = -1;
}

static bool are_one(int a, int b)
{
	struct stat of_a, of_b;

	return fstat(a, &of_a) == 0 && fstat(b, &of_b) == 0 && of_a.st_dev == of_b.st_dev &&
	       of_a.st_ino == of_b.st_ino;
}

/*
 * Makes a pipe for each stream that is to be passed on, terminals too or not. -ENOTTY: there is
 * none.
 */
static int make_pipes(struct relay *r, struct streams *all, bool terminals)
{
	int e = -ENOTTY;

	for (int i = 0; i < 2; i++) {
		int to = i == 0 ? STDOUT_FILENO : STDERR_FILENO;

		all->of[i].to = to;
		if (fcntl(to, F_GETFD) < 0 || (!terminals && isatty(to)))
			continue;
		if (i == 1 && !all->name && r->into[0] >= 0 && are_one(STDOUT_FILENO, to))
			e = (r->into[1] = fcntl(r->into[0], F_DUPFD_CLOEXEC, 3)) < 0 ? -errno : 0;
		else
			e = fd_pipe(&all->of[i].from, &r->into[i]);
		if (e < 0)
			break;
	}
	return e;
}

int relay_begin(struct relay *r, const char *name, enum relay_keep keep)
{
	struct streams *all = mem_calloc(1, sizeof(*all));
	int e;

	*r = (struct relay){.pid = -1, .into = {-1, -1}};
	all->name = name;
	all->of[0].from = all->of[1].from = -1;
	e = make_pipes(r, all, name || keep == RELAY_KEEP_ALL);
	if (e == 0 && keep != RELAY_KEEP_NOTHING) {
		r->tail = all->tail = tail_new();
		e = r->tail ? 0 : -errno;
	}
	r->pid = e == 0 ? fork() : -1;
	if (r->pid == 0)
		run(all);
	if (e == 0 && r->pid < 0)
		e = -errno;
	close_one(&all->of[0].from);
	close_one(&all->of[1].from);
	free(all);
	if (e < 0) {
		relay_hold(r);
		tail_free(r->tail);
	}
	return e;
}

void relay_become(const struct relay *r)
{
	for (int i = 0; i < 2; i++)
		if (r->into[i] >= 0)
			dup2(r->into[i], i == 0 ? STDOUT_FILENO : STDERR_FILENO);
}

void relay_hold(struct relay *r)
{
	for (int i = 0; r && i < 2; i++)
		close_one(&r->into[i]);
}

void relay_settle(const struct relay *r)
{
	int64_t until_ms = clock_boot_ms() + SETTLE_MS;

	while (r && r->tail && !r->tail->all && clock_boot_ms() < until_ms)
		poll(NULL, 0, SETTLE_STEP_MS);
}

void relay_end(struct relay *r)
{
	relay_hold(r);
	while (waitpid(r->pid, NULL, 0) < 0 && errno == EINTR)
		;
	tail_free(r->tail);
}
