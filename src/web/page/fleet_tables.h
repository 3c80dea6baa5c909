/* The tables of workers and queues on the first page. */
#ifndef ZKLEADER_WEB_PAGE_FLEET_TABLES_H
#define ZKLEADER_WEB_PAGE_FLEET_TABLES_H

#include <jansson.h>

#include "web/page/html.h"

/* newest: the newest version; others are told apart. */
void fleet_workers(struct html *h, const json_t *workers, const char *newest);
void fleet_queues(struct html *h, const json_t *queues);

#endif
