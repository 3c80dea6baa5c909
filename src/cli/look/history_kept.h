/* The tasks of which older runs are not kept, below the table of zkleader history. */
#ifndef ZKLEADER_CLI_LOOK_HISTORY_KEPT_H
#define ZKLEADER_CLI_LOOK_HISTORY_KEPT_H

#include <jansson.h>

#include "api/output.h"

/* The oldest runs that are kept of tasks of which older ones have been deleted. */
struct history_kept {
	struct history_cut {
		char *task, *tick; /* owned */
	} * list;		   /* owned */
	size_t n;
};

/* Notes the record if it is the oldest that is kept, and since_ms is before it. */
void history_kept_note(struct history_kept *k, const char *task, const json_t *record,
		       int64_t since_ms);
void history_kept_print(const struct output *o, struct history_kept *k);
void history_kept_done(struct history_kept *k);

#endif
