/* Users and pages that look at a node: tables of tasks and workers, metrics, why something is so. */
#ifndef TESTS_SIMNODE_TABLES_H
#define TESTS_SIMNODE_TABLES_H

#include "site.h"

void tables_reset(void);
/* Somebody looks at all that this site's node tells. */
void tables_look(struct site *s);
/* Its process is about to end: what was asked for is given up. */
void tables_ended(const struct site *s);

#endif
