/* POSTs over HTTP, several at a time, each answered once by a call of its own. */
#ifndef ZKLEADER_NOTIFY_HTTP_H
#define ZKLEADER_NOTIFY_HTTP_H

#include <stdbool.h>
#include <stddef.h>

#include <curl/curl.h>

#define HTTP_TIMEOUT_MS 10000 /* of each */
#define HTTP_ANSWER_MAX 65536 /* bytes of an answer that are read */

struct http {
	CURLM *multi;
	struct curl_slist *json; /* headers of a body that is JSON */
};

struct http_post {
	struct http *http;
	CURL *request; /* outstanding, NULL */
	size_t read;   /* bytes of its answer */
	/* why: NULL where the answer was a 2xx; status: 0 where there was none. */
	void (*done)(void *arg, const char *why, long status);
	void *arg;
};

/* 0, or -ENOMEM. */
int http_init(struct http *h);
/* With nothing outstanding. */
void http_done(struct http *h);
/* The body has to live until done was called, which may be at once. */
void http_post(struct http *h, struct http_post *post, const char *url, bool is_json,
	       const char *body);
/* Done is not called any more. */
void http_cancel(struct http_post *post);
/* Goes on with all of them, and calls what is done. */
void http_advance(struct http *h);

#endif
