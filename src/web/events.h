/* Streams of server-sent events: notifications of the sidecar, for every browser that listens. */
#ifndef ZKLEADER_WEB_EVENTS_H
#define ZKLEADER_WEB_EVENTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/queue.h>

#include <jansson.h>
#include <microhttpd.h>

#define EVENTS_STREAMS_MAX 100
#define EVENTS_COMMENT_MS  15000
#define EVENTS_UNREAD_MAX  (1024 * 1024) /* bytes that wait for a client; then it is let go */
#define EVENTS_RETRY_MS	   1000		 /* a browser's wait before it reconnects */

struct stream;

struct events {
	LIST_HEAD(stream_list, stream) list;
	size_t n;
	json_t *connection; /* the last event of that kind, NULL */
};

void events_init(struct events *e);
/* Ends all streams, which are freed with their connections. */
void events_done(struct events *e);
/* The answer to a request for a stream; NULL: there are too many. */
struct MHD_Response *events_open(struct events *e, struct MHD_Connection *connection);
/*
 * Tells an event to the subscribers; kinds that are not for them (PROTOCOL.md) are skipped. Borrows
 * the data.
 */
void events_tell(struct events *e, const char *kind, json_t *data);
/* Sends a comment every EVENTS_COMMENT_MS, even if events were sent. */
void events_look(struct events *e, int64_t now_ms);

#endif
