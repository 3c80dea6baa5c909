/*
 * A queue of ticks and jobs that wait to begin, first in, first out. If hundreds are due in one
 * second, as many processes at once would leave no processor time for the sidecar that holds their
 * leases.
 */
#ifndef ZKLEADER_RUNNER_LINE_H
#define ZKLEADER_RUNNER_LINE_H

#include <stdbool.h>
#include <stddef.h>

#include "runner/due.h"
#include "runner/jobs.h"
#include "runner/offer.h"

struct line_item {
	struct jobs_key key;
	bool is_job;
	union {
		struct due due;
		struct offer offer; /* if is_job */
	};
};

struct line {
	struct line_item *items;
	size_t n, first; /* items before `first` have been taken */
};

/* The number of waiting items. */
size_t line_length(const struct line *l);
bool line_has(const struct line *l, const struct jobs_key *key);
void line_add(struct line *l, const struct line_item *item);
/* Takes the first one out; false: there is none. */
bool line_take(struct line *l, struct line_item *ret);
/* Empties the queue, and frees what it has. */
void line_clear(struct line *l);

#endif
