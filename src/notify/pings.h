/*
 * The queue of pings: each is tried a few times. Those of one URL are sent one after the other, so
 * that an end never comes before its beginning; others do not wait for them.
 */
#ifndef ZKLEADER_NOTIFY_PINGS_H
#define ZKLEADER_NOTIFY_PINGS_H

#include <stddef.h>
#include <stdint.h>
#include <sys/queue.h>

#include "notify/http.h"

#define PINGS_MAX      2000  /* pings that wait; more are dropped, with a log line */
#define PINGS_AT_ONCE  50    /* outstanding requests */
#define PINGS_TRIES    5     /* tries of each ping */
#define PINGS_RETRY_MS 1000  /* before the second try, and twice as long before each further */
#define PINGS_BODY_MAX 10000 /* bytes */

struct ping;

struct pings {
	struct http *http;
	TAILQ_HEAD(ping_list, ping) list; /* the oldest first */
	size_t n, n_sent;		  /* n_sent: outstanding */
};

void pings_init(struct pings *p, struct http *http);
void pings_done(struct pings *p);
/*
 * url: without the word that comes behind it. rid: the UUID of the run; "": none. The body may be
 * ""; all is copied.
 */
void pings_add(struct pings *p, const char *task, const char *url, const char *word,
	       const char *rid, const char *body);
/* Goes on with all pings. Returns when to be called again though nothing came, CLOCK_BOOTTIME. */
int64_t pings_advance(struct pings *p);

#endif
