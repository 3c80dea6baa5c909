/* Since when tasks had no run that ended well, alert-after: what is promised of it; with --alerts alone. */
#ifndef TESTS_SIMNODE_ALERTS_H
#define TESTS_SIMNODE_ALERTS_H

#include "server.h"
#include "site.h"

/* True while this judge, and not a node, reads a record. */
extern bool alerts_judging;
/* Behind recipes_reset(). */
void alerts_reset(void);
/* All data was lost. */
void alerts_forget(void);

#endif
