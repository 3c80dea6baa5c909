/* The last runs of each task, as a strip of bars: one list of runs, sorted into tasks. */
#ifndef ZKLEADER_WEB_PAGE_STRIP_H
#define ZKLEADER_WEB_PAGE_STRIP_H

#include <stddef.h>

#include <jansson.h>

#include "web/page/html.h"

#define STRIP_MOST 10 /* runs of a task that are asked for */

struct strips {
	const json_t **runs; /* by task and time */
	size_t n;
};

/* runs: the answer to `history`, or NULL. It has to stay. */
void strips_init(struct strips *s, const json_t *runs);
void strips_done(struct strips *s);
/* The places of the task's runs, and of its partitions': from the first on, up to the result. */
size_t strips_of(const struct strips *s, const char *task, size_t *ret_first);
/* Adds the last runs of the task, at most that many, the oldest first. */
void strip_put(struct html *h, const struct strips *s, const char *task, size_t most);

/* How many runs of each task fit in so many bytes of a page; at least `least`. */
size_t strips_fit(const struct html *h, const struct strips *s, size_t bytes, size_t least);

/* A run as "failed 02:00, 41 s": its state, its begin (UTC) and how long it took, or goes on. */
void strip_text(const struct html *h, const json_t *run, char *text, size_t size);
/* How long a run took, "" if that is not known. */
void strip_duration(const struct html *h, const json_t *run, char *text, size_t size);

#endif
