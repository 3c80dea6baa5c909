#include "web/events.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buffer.h"
#include "base/clock.h"
#include "base/mem.h"

#define BLOCK_SIZE   4096
#define UNKNOWN_SIZE ((uint64_t)-1) /* the value of MHD_SIZE_UNKNOWN */

struct stream {
	struct events *events; /* NULL: the events have ended */
	LIST_ENTRY(stream) link;
	struct MHD_Connection *connection;
	struct buffer out;
	int64_t commented_ms;
	bool suspended;
	bool ending;
};

void events_init(struct events *e)
{
	memset(e, 0, sizeof(*e));
}

static void wake(struct stream *s)
{
	if (!s->suspended)
		return;
	s->suspended = false;
	MHD_resume_connection(s->connection);
}

void events_done(struct events *e)
{
	for (struct stream *s = LIST_FIRST(&e->list); s; s = LIST_NEXT(s, link)) {
		s->events = NULL;
		s->ending = true;
		wake(s);
	}
	LIST_INIT(&e->list);
	json_decref(e->connection);
}

/* libmicrohttpd asks for more of a stream. If there is nothing, the connection is suspended. */
static ssize_t on_read(void *arg, uint64_t pos, char *buf, size_t max)
{
	struct stream *s = arg;
	size_t n = s->out.len < max ? s->out.len : max;

	(void)pos;
	if (n == 0 && s->ending)
		return MHD_CONTENT_READER_END_OF_STREAM;
	if (n == 0) {
		s->suspended = true;
		MHD_suspend_connection(s->connection);
		return 0;
	}
	memcpy(buf, s->out.data, n);
	buffer_consume(&s->out, n);
	return (ssize_t)n;
}

static void on_closed(void *arg)
{
	struct stream *s = arg;

	if (s->events) {
		LIST_REMOVE(s, link);
		s->events->n--;
	}
	buffer_done(&s->out);
	free(s);
}

static void add(struct stream *s, const char *text, size_t len)
{
	/* A client that does not read is dropped. A browser reconnects and asks again. */
	if (buffer_append(&s->out, text, len) < 0)
		s->ending = true;
	wake(s);
}

/* The lines of an event, for the caller to free. Compact JSON has no newline. */
static char *event_text(const char *kind, const json_t *data)
{
	char *json = json_dumps(data, JSON_COMPACT | JSON_ENCODE_ANY), *text = NULL;

	if (!json || asprintf(&text, "event: %s\ndata: %s\n\n", kind, json) < 0)
		text = NULL;
	free(json);
	return text;
}

struct MHD_Response *events_open(struct events *e, struct MHD_Connection *connection)
{
	char retry[40];

	if (e->n >= EVENTS_STREAMS_MAX)
		return NULL;
	struct stream *s = mem_calloc(1, sizeof(*s));
	s->events = e;
	s->connection = connection;
	s->commented_ms = clock_boot_ms();
	buffer_init(&s->out, EVENTS_UNREAD_MAX);
	struct MHD_Response *response =
		MHD_create_response_from_callback(UNKNOWN_SIZE, BLOCK_SIZE, on_read, s, on_closed);
	if (!response) {
		buffer_done(&s->out);
		free(s);
		return NULL;
	}
	LIST_INSERT_HEAD(&e->list, s, link);
	e->n++;
	snprintf(retry, sizeof(retry), "retry: %d\n\n", EVENTS_RETRY_MS);
	add(s, retry, strlen(retry));
	if (e->connection) {
		mem_auto char *text = event_text("connection", e->connection);
		if (text)
			add(s, text, strlen(text));
	}
	return response;
}

void events_tell(struct events *e, const char *kind, json_t *data)
{
	static const char *const kinds[] = {"leadership", "membership", "decision", "connection",
					    "run"};
	bool known = false;

	for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++)
		known |= strcmp(kind, kinds[i]) == 0;
	if (!known)
		return;
	if (strcmp(kind, "connection") == 0) {
		json_decref(e->connection);
		e->connection = json_incref(data);
	}
	if (LIST_EMPTY(&e->list))
		return;
	mem_auto char *text = event_text(kind, data);
	for (struct stream *s = LIST_FIRST(&e->list); text && s; s = LIST_NEXT(s, link))
		add(s, text, strlen(text));
}

void events_look(struct events *e, int64_t now_ms)
{
	static const char comment[] = ": still here\n\n";

	for (struct stream *s = LIST_FIRST(&e->list); s; s = LIST_NEXT(s, link)) {
		if (now_ms - s->commented_ms < EVENTS_COMMENT_MS)
			continue;
		s->commented_ms = now_ms;
		add(s, comment, sizeof(comment) - 1);
	}
}
