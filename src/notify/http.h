/*
 * POSTs over HTTP, several at a time; for each a callback is called once. A child makes them, the
 * poster: it exists while there is something to send and a little longer. When it ends, so do
 * libcurl, TLS, their memory and whatever hangs in them.
 */
#ifndef ZKLEADER_NOTIFY_HTTP_H
#define ZKLEADER_NOTIFY_HTTP_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/queue.h>
#include <sys/types.h>

#define HTTP_LATE_MS 15000 /* limit of the poster's silence: it is killed, and all requests fail */
#define HTTP_IDLE_MS 10000 /* limit of its idleness: the next request may find a connection open */

struct http_post;

struct http {
	int fd;	   /* to the poster; -1: there is none */
	pid_t pid; /* process of the poster */
	uint64_t last_id;
	LIST_HEAD(http_post_list, http_post) list; /* outstanding, the newest first */
	int64_t idle_ms;			   /* CLOCK_BOOTTIME: the end of an idle poster */
};

struct http_post {
	/* why: NULL if the answer was a 2xx; status: 0 if there was none. */
	void (*done)(void *arg, const char *why, long status);
	void *arg;
	struct http *http; /* while it is outstanding; NULL */
	LIST_ENTRY(http_post) link;
	uint64_t id;
	int64_t late_ms;
};

void http_init(struct http *h);
/* Frees everything. Nothing may be outstanding. */
void http_done(struct http *h);
/*
 * All is copied. headers: lines, each with its end; "": none beside those of the request. Done may
 * be called at once.
 */
void http_post(struct http *h, struct http_post *post, const char *url, bool is_json,
	       const char *headers, const char *body);
/* Done is not called any more. */
void http_cancel(struct http_post *post);
/* Reads the answers of the poster, and calls the callbacks. */
void http_advance(struct http *h);
/* When to call http_advance() again even if nothing comes, CLOCK_BOOTTIME. */
int64_t http_due_ms(const struct http *h);

#endif
