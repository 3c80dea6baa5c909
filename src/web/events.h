/* Streams of server-sent events: notifications of the sidecar, for every browser that listens. */
#ifndef ZKLEADER_WEB_EVENTS_H
#define ZKLEADER_WEB_EVENTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <jansson.h>
#include <microhttpd.h>

#define EVENTS_STREAMS_MAX 100
#define EVENTS_COMMENT_MS  15000
#define EVENTS_UNREAD_MAX  (1024 * 1024) /* bytes that wait for a client; then it is let go */
#define EVENTS_RETRY_MS	   1000		 /* that a browser waits before it reconnects */

struct stream;

struct events {
	struct stream *first;
	size_t n;
	json_t *connection; /* the last event of that kind, NULL */
};

void events_init(struct events *e);
/* Each stream ends; they are freed when their connections are. */
void events_done(struct events *e);
/* The answer to a request for a stream, NULL where there are too many. */
struct MHD_Response *events_open(struct events *e, struct MHD_Connection *connection);
/* Of a kind that subscribers hear of (PROTOCOL.md); others are passed over. Borrows the data. */
void events_tell(struct events *e, const char *kind, json_t *data);
/* A comment every EVENTS_COMMENT_MS, however much else was told. */
void events_look(struct events *e, int64_t now_ms);

#endif
