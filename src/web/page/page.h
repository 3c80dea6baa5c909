/*
 * The pages, made whole on the server, so that they work without JavaScript. app.js fetches a page
 * again after a change and replaces the content, so there is only one code that draws it.
 */
#ifndef ZKLEADER_WEB_PAGE_PAGE_H
#define ZKLEADER_WEB_PAGE_PAGE_H

#include <stdbool.h>
#include <stddef.h>

#include <jansson.h>

/* Each is for the caller to free. The answers are the sidecar's to the methods of that name. */
char *page_fleet(const json_t *tasks, const json_t *workers, const json_t *status,
		 const json_t *queues, size_t *ret_len);
char *page_task(const json_t *tasks, const json_t *explain, const json_t *history,
		const json_t *status, size_t *ret_len);
/* A task that is a queue: `queue` is of it alone; dead NULL: it has no dead letters. */
char *page_queue(const json_t *tasks, const json_t *explain, const json_t *status,
		 const json_t *queue, const json_t *dead, size_t *ret_len);
/* The page for an error. */
char *page_failure(const char *why, bool unknown, size_t *ret_len);

#endif
