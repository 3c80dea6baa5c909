/*
 * Events from the sidecar: each is spooled for every channel that wants it, and then the sidecar
 * may forget it. Problems here are reported to the sidecar, for its status.
 */
#ifndef ZKLEADER_NOTIFY_EVENTS_H
#define ZKLEADER_NOTIFY_EVENTS_H

#include <stdbool.h>
#include <stdint.h>

#include <jansson.h>

#include "base/buffer.h"
#include "notify/channels.h"
#include "notify/sends.h"
#include "notify/spool.h"

#define EVENTS_TAKEN_MAX 500  /* ids reported to the sidecar at a time */
#define EVENTS_KNOWN_MAX 1000 /* ids remembered, to detect repeats */
#define EVENTS_LOOK_MS	 5000 /* between checks for problems */

struct events {
	const struct channels *channels;
	struct spool *spool;
	const struct sends *sends;
	char known[EVENTS_KNOWN_MAX][SPOOL_ID_SIZE]; /* the newest over the oldest */
	size_t n_known;				     /* number of ids so far */
	char (*taken)[SPOOL_ID_SIZE];		     /* ids to report to the sidecar */
	size_t n_taken;
	bool to_register; /* again: the sidecar then repeats all that was not taken */
	bool refused;	  /* something was not taken */
	char *problems;	  /* those last told to the sidecar, as one text; NULL: none yet */
	int64_t look_ms;
};

void events_init(struct events *e, const struct channels *channels, struct spool *spool,
		 const struct sends *sends);
void events_done(struct events *e);
/* Makes us known to the sidecar, with the next request. */
void events_register(struct events *e);
void events_take(struct events *e, const json_t *event);
void events_advance(struct events *e);
int64_t events_due_ms(const struct events *e);
/* The parameters of the methods `notifier` and `noticed`, if there is something to be told. */
bool events_pack_problems(struct events *e, struct buffer *params);
bool events_pack_taken(struct events *e, struct buffer *params);

#endif
