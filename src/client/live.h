/* A table that is kept as things are: redrawn in place on a terminal, printed anew elsewhere. */
#ifndef ZKLEADER_CLIENT_LIVE_H
#define ZKLEADER_CLIENT_LIVE_H

#include <jansson.h>

#include "client/command.h"

/* What is shown: the answer to one method, or to two; each is an array. */
struct live_view {
	const char *first;
	const char *second; /* NULL: the first is all */
	bool args;	    /* the first, and the subscription, are for the command's arguments */
	void (*print)(struct context *c, const json_t *first, const json_t *second);
};

/*
 * Once: the exit code. The second answer is NULL where it is not to be had, and with --json. What is only as
 * last known is shown as well, after a line that says so: see ask_stale().
 */
int live_once(struct context *c, const struct live_view *view);
/*
 * Until INT or TERM, which make it 0: asks again when the sidecar tells of a change, at most five times
 * a second. A sidecar that goes away is waited for; one that refuses ends it with its code.
 */
int live_follow(struct context *c, const struct live_view *view);

#endif
