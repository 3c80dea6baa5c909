/* Parts that several pages show. */
#ifndef ZKLEADER_WEB_PAGE_PAGE_PARTS_H
#define ZKLEADER_WEB_PAGE_PAGE_PARTS_H

#include <jansson.h>

#include "web/page/html.h"
#include "web/page/query.h"

/* Since when the page may be out of date, if it may. */
void part_stale(struct html *h, const json_t *status);
/* The problems and warnings of this node. */
void part_problems(struct html *h, const json_t *status);
/* The menu of the parameter `state`. */
void part_state_menu(struct html *h, enum query_page page, const char *chosen);
/* A node's name, of a worker, a leader or a run. */
const char *part_node(const json_t *worker);
/* A run's state with its colour, and the age of its end. */
void part_run(struct html *h, const json_t *last);
/* Decisions of operators: pauses, pins, drains, resignations, each with user and reason. */
void part_decisions(struct html *h, const json_t *decisions);

/* The leader with its version, or that there is none. */
void part_leader(struct html *h, const json_t *leader);
/* The cell of a run's or a job's exit status. */
void part_status(struct html *h, const json_t *run);
/* The row below it with the output of the run, if that is known, over so many columns. */
void part_output(struct html *h, const json_t *run, unsigned columns);
/* A field of a form for a parameter, with an example. */
void part_input(struct html *h, const char *label, const char *name, const char *value,
		const char *example);
/* The class of a run's state: ok, idle or bad. */
const char *part_run_class(const char *state);
/* The ranking of the candidates, from `explain`. */
void part_ranking(struct html *h, const json_t *list);
/* The page of one task or queue, up to the notices. kind, description: NULL, if it has none. */
void part_begin(struct html *h, const char *name, const char *kind, const char *description,
		const json_t *status);
/* The time for which the oldest job of a queue has waited. */
void part_oldest(struct html *h, const json_t *queue);
/* The entries of a list in that order; the array is the caller's to free. */
const json_t **part_sorted(const json_t *list, int (*order)(const void *a, const void *b));

#endif
