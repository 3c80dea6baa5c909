/* Crontabs that ask at each tick, jobs, and what is promised of runs. */
#ifndef TESTS_SIMNODE_JOBS_H
#define TESTS_SIMNODE_JOBS_H

#include "site.h"

void jobs_reset(void);
void jobs_done(void);
/* The process of a site has begun; it has gone, and with it all connections. */
void jobs_started(struct site *s);
void jobs_ended(struct site *s);
/* For the node. */
void jobs_answer(void *owner, uint32_t request, const struct run_answer *answer);
void jobs_released(void *owner);
/* All data was lost: the ledger begins anew. */
void jobs_forget(void);

#endif
