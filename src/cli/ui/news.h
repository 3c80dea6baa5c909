/*
 * The lines of `watch` for people. Events that belong together become one line: a change of leader,
 * a worker that comes back with another version, the first leaders of many tasks. To combine them,
 * some are held for a moment.
 */
#ifndef ZKLEADER_CLI_UI_NEWS_H
#define ZKLEADER_CLI_UI_NEWS_H

#include <stddef.h>
#include <stdint.h>

#include <jansson.h>

#include "api/output.h"
#include "cli/ui/host.h"

struct pending;

struct news {
	const struct output *output;
	struct host_domain domain; /* the common domain, omitted on a terminal */
	struct pending *list;	   /* the held events, oldest first; owned */
	size_t n;
	const char *suffix; /* of all lines, from now on: borrowed */
};

void news_init(struct news *n, const struct output *o);
void news_done(struct news *n);
/* Sets the workers of the fleet, whose common domain is not shown. */
void news_set_workers(struct news *n, const json_t *workers);

/*
 * Take a notification each, received at now_ms of CLOCK_BOOTTIME. A change that is held is copied.
 */
void news_leadership(struct news *n, json_t *change, int64_t now_ms);
void news_membership(struct news *n, json_t *change, int64_t now_ms);
void news_decision(struct news *n, const json_t *change);
void news_connection(struct news *n, const json_t *change);

/* When the next held event is due; INT64_MAX: none is held. */
int64_t news_due(const struct news *n);
/* Prints the events due by then; INT64_MAX: all. */
void news_tell(struct news *n, int64_t now_ms);

#endif
