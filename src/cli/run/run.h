/* The handling of a claim by the command run: for run.c and run_partitions.c. */
#ifndef ZKLEADER_CLI_RUN_RUN_H
#define ZKLEADER_CLI_RUN_RUN_H

#include "supervise/run.h"

/* The exit code of a claim that failed to get the tick, after a line if one is needed. */
int run_not_ours(const struct run *r);

/*
 * After the first successful claim of a partition: runs it and then the other partitions led here,
 * each in a process of its own. Returns the exit code of the call.
 */
int run_partitions(struct run *r);

#endif
