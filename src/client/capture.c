#include "client/capture.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/fd.h"
#include "base/journal.h"
#include "client/printable.h"

#define STEPS_MAX   64	 /* lines and reads of one turn: the lease comes first */
#define RETRY_MS    20	 /* where the journal takes no more at the moment, the job waits */
#define END_MS	    500	 /* for the last lines to be taken */
#define PRINTED_MAX 4096 /* PIPE_BUF: what is written at once does not mix */

/* --- where the lines go --------------------------------------------------- */

static int send_to_journal(const struct capture *c)
{
	struct journal_entry e;

	journal_begin(&e);
	journal_put(&e, "", "MESSAGE", c->line, c->len);
	journal_put(&e, "", "PRIORITY", "6", 1);
	journal_put(&e, "", "SYSLOG_IDENTIFIER", c->name, strlen(c->name));
	journal_put(&e, "ZKLEADER_", c->fields.name, c->name, strlen(c->name));
	journal_put(&e, "ZKLEADER_", c->fields.id, c->id, strlen(c->id));
	return journal_send(c->to, c->journal, &e);
}

static int print(const struct capture *c)
{
	char text[PRINTED_MAX];
	size_t n = (size_t)snprintf(text, sizeof(text) / 2, "%s %s ", c->name, c->id);

	n += printable(text + n, sizeof(text) - n - 1, c->line, c->len);
	text[n++] = '\n';
	return write(c->to, text, n) < 0 ? -errno : 0;
}

/* The line, if it is whole: false where it has to wait. */
static bool pass_on(struct capture *c)
{
	int e = !c->whole ? 0 : c->journal ? send_to_journal(c) : print(c);

	c->retry_ms = e == -EAGAIN || e == -EINTR ? clock_boot_ms() + RETRY_MS : 0;
	if (c->retry_ms > 0)
		return false;
	/* Or nobody takes it, ever: the record has the last of it. */
	if (c->whole)
		c->len = 0;
	c->whole = false;
	return true;
}

/* --- what is read --------------------------------------------------------- */

/* Into the line, up to its end: how many bytes that were. */
static size_t take(struct capture *c, const char *data, size_t len)
{
	const char *end = memchr(data, '\n', len);
	size_t n = end ? (size_t)(end - data) : len;

	if (n > CAPTURE_LINE_MAX - c->len)
		n = CAPTURE_LINE_MAX - c->len;
	memcpy(c->line + c->len, data, n);
	c->len += n;
	if (n < len && data[n] == '\n') {
		c->whole = true;
		return n + 1;
	}
	c->whole = c->len == CAPTURE_LINE_MAX;
	return n;
}

/* False: there is nothing, or what there is has to wait. */
static bool advance(struct capture *c)
{
	ssize_t n;

	if (!pass_on(c))
		return false;
	if (c->at < c->n) {
		c->at += take(c, c->data + c->at, c->n - c->at);
		return true;
	}
	n = read(c->from, c->data, sizeof(c->data));
	if (n <= 0)
		return false;
	c->at = 0;
	c->n = (size_t)n;
	tail_add(c->tail, c->data, c->n);
	return true;
}

void capture_read(struct capture *c)
{
	if (!c || clock_boot_ms() < c->retry_ms)
		return;
	for (int i = 0; i < STEPS_MAX && advance(c); i++)
		;
}

int capture_fd(const struct capture *c)
{
	return c && c->retry_ms == 0 ? c->from : -1;
}

/* What was read and is no line of the journal yet is gone on with at once. */
int64_t capture_due_ms(const struct capture *c)
{
	if (!c)
		return INT64_MAX;
	return c->retry_ms > 0 ? c->retry_ms : c->at < c->n || c->whole ? 0 : INT64_MAX;
}

void capture_end(struct capture *c)
{
	int64_t until_ms = clock_boot_ms() + END_MS;

	for (;;) {
		while (advance(c))
			;
		if (c->retry_ms == 0 && c->len == 0)
			return;
		if (c->retry_ms == 0)
			c->whole = true; /* what had no newline */
		else if (clock_boot_ms() >= until_ms)
			return;
		else
			poll(NULL, 0, RETRY_MS);
	}
}

/* --- its parts ------------------------------------------------------------ */

/*
 * Standard error by a description of its own, so that it can be written to without waiting although
 * others have it as well. A socket cannot be opened again.
 */
static int open_error(void)
{
	int fd = open("/proc/self/fd/2", O_WRONLY | O_APPEND | O_NONBLOCK | O_CLOEXEC | O_NOCTTY);

	return fd >= 0 ? fd_private(fd) : fcntl(STDERR_FILENO, F_DUPFD_CLOEXEC, 3);
}

int capture_init(struct capture *c, const char *name, const char *id, const char *journal)
{
	int e;

	*c = (struct capture){
		.fields = {"TASK", "TICK"}, .name = name, .id = id, .journal = journal};
	e = fd_pipe(&c->from, &c->into);
	if (e < 0)
		return e;
	c->to = journal ? journal_open() : open_error();
	c->tail = tail_new();
	if (c->to < 0 || !c->tail || fcntl(c->from, F_SETFL, O_NONBLOCK) < 0) {
		e = errno ? -errno : -EMFILE;
		capture_done(c);
		return e;
	}
	return 0;
}

void capture_done(struct capture *c)
{
	if (c->from >= 0)
		close(c->from);
	if (c->to >= 0)
		close(c->to);
	capture_hold(c);
	tail_free(c->tail);
}

void capture_become(const struct capture *c)
{
	dup2(c->into, STDOUT_FILENO);
	dup2(c->into, STDERR_FILENO);
}

void capture_hold(struct capture *c)
{
	if (c->into >= 0)
		close(c->into);
	c->into = -1;
}
