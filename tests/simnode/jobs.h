/* Crontabs that ask at each tick, and jobs. */
#ifndef TESTS_SIMNODE_JOBS_H
#define TESTS_SIMNODE_JOBS_H

#include "site.h"

void jobs_reset(void);
void jobs_done(void);
/* The process of a site has gone, and with it all connections. */
void jobs_ended(struct site *s);
/* For the node. */
void jobs_answer(void *owner, uint32_t request, const struct run_answer *answer);
void jobs_released(void *owner);

#endif
