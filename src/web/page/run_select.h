/* Which runs a page shows. */
#ifndef ZKLEADER_WEB_PAGE_RUN_SELECT_H
#define ZKLEADER_WEB_PAGE_RUN_SELECT_H

#include <stddef.h>
#include <stdint.h>

#include <jansson.h>

#include "web/page/query.h"

/*
 * The runs that the query of the page of runs asks for, newest first: an array for the caller to
 * free.
 */
const json_t **run_select(const json_t *runs, const struct query *q, size_t *ret_n);
/* When a run began, or was due if it never began, and when it ended; now: it goes on. */
void run_times(const json_t *run, int64_t now_ms, int64_t *ret_from_ms, int64_t *ret_to_ms);

#endif
