/*
 * The tables of `--watch`, kept up to date: redrawn in place on a terminal, elsewhere printed again
 * after each change.
 */
#ifndef ZKLEADER_CLI_UI_LIVE_H
#define ZKLEADER_CLI_UI_LIVE_H

#include <stdint.h>

#include <jansson.h>

#include "cli/ui/command.h"

struct live_view;

/* The answers shown, which are arrays; NULL: no answer. */
struct live_page {
	const json_t *all;    /* the first answer */
	const json_t *shown;  /* its rows that the view selects */
	const json_t *second; /* the second answer */
};

typedef void (*live_print_fn)(const struct context *c, const struct live_page *page);

/* A view of the answers to one or two methods, each an array. */
struct live_view {
	const char *first;
	const char *second; /* NULL: there is only the first */
	bool args;	    /* the first, and the subscription, take the command's arguments */
	int64_t refresh_ms; /* asks again after so long without news; 0: never */
	const void *arg;    /* for take */
	/*
	 * Selects and sorts rows of the first answer: a new array for the caller. NULL: all of
	 * them.
	 */
	json_t *(*take)(const struct live_view *view, const json_t *first);
	live_print_fn above, table, below; /* lines; the first of the table is its head */
};

/*
 * Prints the view once, and returns the exit code. With --json there is no second answer. Before
 * answers that are out of date it prints a line that says so: see ask_stale().
 */
int live_once(struct context *c, const struct live_view *view);
/*
 * Keeps the view up to date, asking again after each change, at most five times a second. Ends with
 * 0 at q, INT, TERM or a closed pipe, or with the code of a refusal. Reconnects if the sidecar goes
 * away. On a terminal the table scrolls by keys.
 */
int live_follow(struct context *c, const struct live_view *view);

#endif
