/*
 * The pages, made whole on the server, so that they work without JavaScript. app.js fetches a page
 * again after a change and replaces the content, so there is only one code that draws it.
 */
#ifndef ZKLEADER_WEB_PAGE_PAGE_H
#define ZKLEADER_WEB_PAGE_PAGE_H

#include <stdbool.h>
#include <stddef.h>

#include <jansson.h>

#include "web/page/query.h"

/* The answers are the sidecar's to the methods of that name; runs: to `history`. */
struct page_home {
	const json_t *tasks, *workers, *status;
	const json_t *queues; /* NULL: not known */
	const json_t *runs;   /* the last ones of each task; NULL: not known yet */
	const struct query *query;
	bool again; /* newer runs are there soon */
};
struct page_task {
	const json_t *tasks, *explain, *status;
	const json_t *runs; /* with their outputs */
	const json_t *next; /* NULL: it has no schedule */
};
struct page_runs {
	const json_t *tasks; /* of the night: a row for each */
	const json_t *status, *runs;
	const struct query *query;
};

/* Each is for the caller to free. */
char *page_fleet(const struct page_home *p, size_t *ret_len);
char *page_task(const struct page_task *p, size_t *ret_len);
char *page_runs(const struct page_runs *p, size_t *ret_len);
char *page_night(const struct page_runs *p, size_t *ret_len);
/* A task that is a queue: `queue` is of it alone; dead NULL: it has no dead letters. */
char *page_queue(const json_t *tasks, const json_t *explain, const json_t *status,
		 const json_t *queue, const json_t *dead, size_t *ret_len);
/* The page for an error. */
char *page_failure(const char *why, bool unknown, size_t *ret_len);
/* The page for a parameter that is not good: why names it. */
char *page_refusal(const char *why, size_t *ret_len);

#endif
