#include "supervise/capture.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/fd.h"
#include "base/log/errout.h"
#include "base/log/journal.h"
#include "base/text/printable.h"

#define STEPS_MAX   64	 /* lines and reads in one turn of the guard, which also renews the lease */
#define RETRY_MS    20	 /* pause before a line is written again that the journal could not take */
#define END_MS	    500	 /* after the job's end: time for writing its last lines */
#define PRINTED_MAX 4096 /* PIPE_BUF: up to this size a write does not mix with those of others */

/* --- writing lines -------------------------------------------------------- */

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
	return errout_write(c->to, text, n);
}

/*
 * Writes the line if it is complete. False: the receiver takes nothing now, so the line has to
 * wait.
 */
static bool pass_on(struct capture *c)
{
	int e = !c->whole ? 0 : c->journal ? send_to_journal(c) : print(c);

	c->retry_ms = e == -EAGAIN || e == -EINTR ? clock_boot_ms() + RETRY_MS : 0;
	if (c->retry_ms > 0)
		return false;
	/* After any other error the line is dropped. The end of the output is in the record. */
	if (c->whole)
		c->len = 0;
	c->whole = false;
	return true;
}

/* --- reading the job's output --------------------------------------------- */

/* Copies data to the line, up to the end of the line. Returns how many bytes of data that took. */
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

/*
 * Takes one step: writes a line, fills it, or reads. False: nothing is left to read, or the line
 * has to wait.
 */
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

/* Data that was read but not yet written is handled in the next turn, without a delay. */
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
			c->whole = true; /* the output's last line, which had no newline */
		else if (clock_boot_ms() >= until_ms)
			return;
		else
			poll(NULL, 0, RETRY_MS);
	}
}

/* --- life cycle ----------------------------------------------------------- */

int capture_init(struct capture *c, const char *name, const char *id, const char *journal)
{
	*c = (struct capture){.fields = {"TASK", "TICK"},
			      .name = name,
			      .id = id,
			      .journal = journal,
			      .from = -1,
			      .into = -1};
	/* The guard gives standard error up, which is the job's. */
	c->to = journal ? journal_open() : fcntl(STDERR_FILENO, F_DUPFD_CLOEXEC, 3);
	c->tail = tail_new();
	if (c->to >= 0 && c->tail)
		return 0;
	int e = errno ? -errno : -EMFILE;
	capture_done(c);
	return e;
}

int capture_begin(struct capture *c)
{
	int e = fd_pipe(&c->from, &c->into);

	c->at = c->n = c->len = 0;
	c->whole = false;
	c->retry_ms = 0;
	c->tail->written = 0;
	if (e < 0)
		return e;
	return fcntl(c->from, F_SETFL, O_NONBLOCK) < 0 ? -errno : 0;
}

void capture_close(struct capture *c)
{
	if (c->from >= 0)
		close(c->from);
	c->from = -1;
	capture_hold(c);
}

void capture_done(struct capture *c)
{
	capture_close(c);
	if (c->to >= 0)
		close(c->to);
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
