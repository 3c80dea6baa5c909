/* queue --jobs: the jobs of a queue, the newest first. */
#ifndef ZKLEADER_CLI_QUEUES_QUEUE_JOBS_H
#define ZKLEADER_CLI_QUEUES_QUEUE_JOBS_H

#include "cli/ui/command.h"

/* Prints the jobs in that state; NULL: in any. number: how many at most, as typed; NULL: 100. */
int queue_jobs_print(struct context *c, const char *state, const char *number);

#endif
