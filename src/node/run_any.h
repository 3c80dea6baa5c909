/*
 * A claim of a task that has partitions, whichever of them: it waits until one is led here whose
 * tick nobody has claimed, and becomes a claim of that one. For runs.c and run_steps.c alone.
 */
#ifndef ZKLEADER_NODE_RUN_ANY_H
#define ZKLEADER_NODE_RUN_ANY_H

#include "node/run_steps.h"

/* Looks for a partition, or for how it ends; whether it has become a claim of one. */
bool run_any_advance(struct run *r);
/*
 * The claim of a partition has come to nothing: whether it goes on with others. `tried`: that one
 * is not to be tried again.
 */
bool run_any_goes_on(struct run *r, enum run_action action);
/* The election of the partition is about to be freed. */
void run_any_removed(struct run *r);
/* When to look again though nothing has happened, INT64_MAX: never. */
int64_t run_any_due(const struct run *r, int64_t now_ms);

#endif
