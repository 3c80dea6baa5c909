/* A table of runs: of one task with what they wrote, or of several tasks. */
#ifndef ZKLEADER_WEB_PAGE_RUN_TABLE_H
#define ZKLEADER_WEB_PAGE_RUN_TABLE_H

#include <stdbool.h>
#include <stddef.h>

#include <jansson.h>

#include "web/page/html.h"

/* named: each row says its task, which is `task` where the run does not name one. */
void run_table(struct html *h, const json_t *const *runs, size_t n, bool named, const char *task);

#endif
