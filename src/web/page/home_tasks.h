/* The table of tasks on the first page. */
#ifndef ZKLEADER_WEB_PAGE_HOME_TASKS_H
#define ZKLEADER_WEB_PAGE_HOME_TASKS_H

#include "web/page/html.h"
#include "web/page/page.h"

/* A page of 300 tasks with all that they have is no longer than this. */
#define HOME_BYTES 150000

/* Adds the table of these tasks of the page. */
void home_tasks(struct html *h, const struct page_home *p, const json_t *const *tasks, size_t n);
/* The address of the page with another value of a parameter; "": without it. */
void home_address(struct html *h, const struct query *q, const char *name, const char *value);

#endif
