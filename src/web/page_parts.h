/* What several pages show. */
#ifndef ZKLEADER_WEB_PAGE_PARTS_H
#define ZKLEADER_WEB_PAGE_PARTS_H

#include <jansson.h>

#include "web/html.h"

/* How this node is: since when what is shown may be so no longer, and what is wrong. */
void part_notices(struct html *h, const json_t *status);
/* A node's name, of a worker, a leader or a run. */
const char *part_node(const json_t *worker);
/* A run's state with its colour, and the age of its end. */
void part_run(struct html *h, const json_t *last);
/* What operators have decided: pauses, pins, drains, resignations, each with by whom and why. */
void part_decisions(struct html *h, const json_t *decisions);

/* Who leads, with the version; or that nobody does. */
void part_leader(struct html *h, const json_t *leader);
/* The cell of a run's or a job's exit status. */
void part_status(struct html *h, const json_t *run);
/* The row below it with what it wrote, if that is told, over so many columns. */
void part_output(struct html *h, const json_t *run, unsigned columns);
/* Who is how near to leading it, as `explain` tells. */
void part_ranking(struct html *h, const json_t *list);
/* The page of one task or queue, up to the notices. kind, description: NULL, if it has none. */
void part_begin(struct html *h, const char *name, const char *kind, const char *description,
		const json_t *status);
/* For how long the oldest job of a queue waits. */
void part_oldest(struct html *h, const json_t *queue);
/* The entries of a list in that order; the array is the caller's to free. */
const json_t **part_sorted(const json_t *list, int (*order)(const void *a, const void *b));

#endif
