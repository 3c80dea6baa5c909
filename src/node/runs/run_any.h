/*
 * A claim of any partition of a task: it waits until one is led here whose tick is not claimed, and
 * becomes a claim of that one. For runs.c and run_steps.c alone.
 */
#ifndef ZKLEADER_NODE_RUNS_RUN_ANY_H
#define ZKLEADER_NODE_RUNS_RUN_ANY_H

#include "node/runs/run_steps.h"

/* Looks for a partition, or ends the claim. True: it has become a claim of a partition. */
bool run_any_advance(struct run *r);
/*
 * The claim of a partition has failed. Returns whether it goes on with others.
 */
bool run_any_goes_on(struct run *r, enum run_action action);
/* The election of the partition is about to be freed. */
void run_any_removed(struct run *r);
/* The time of the next check without an event; INT64_MAX: never. */
int64_t run_any_due(const struct run *r, int64_t now_ms);

#endif
