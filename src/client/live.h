/* A table that is kept as things are: redrawn in place on a terminal, printed anew elsewhere. */
#ifndef ZKLEADER_CLIENT_LIVE_H
#define ZKLEADER_CLIENT_LIVE_H

#include <stdint.h>

#include <jansson.h>

#include "client/command.h"

struct live_view;

/* The answers that are shown: arrays, NULL for one that is not to be had. */
struct live_page {
	const json_t *all;    /* the first answer */
	const json_t *shown;  /* what is wanted of it */
	const json_t *second; /* the other one */
};

typedef void (*live_print_fn)(const struct context *c, const struct live_page *page);

/* What is shown: the answer to one method, or to two; each is an array. */
struct live_view {
	const char *first;
	const char *second; /* NULL: the first is all */
	bool args;	    /* the first, and the subscription, are for the command's arguments */
	int64_t refresh_ms; /* asked again that often without news; 0: never */
	const void *arg;    /* for take */
	/* Those of the first answer that are wanted, in their order; NULL: all. Owned by the caller. */
	json_t *(*take)(const struct live_view *view, const json_t *first);
	live_print_fn above, table, below; /* lines; the first of the table is its head */
};

/*
 * Once: the exit code. There is no second answer with --json. What is only as last known is shown as well,
 * after a line that says so: see ask_stale().
 */
int live_once(struct context *c, const struct live_view *view);
/*
 * Until q, INT or TERM, or that nobody reads on, which make it 0: asks again when the sidecar tells of a
 * change, at most five times a second. A sidecar that goes away is waited for; one that refuses ends it
 * with its code. On a terminal the table scrolls, by keys.
 */
int live_follow(struct context *c, const struct live_view *view);

#endif
