/*
 * Whether the others go by the same keys for a task: two that do not may both take themselves for
 * the best.
 */
#ifndef ZKLEADER_NODE_DISAGREEMENT_H
#define ZKLEADER_NODE_DISAGREEMENT_H

#include "node/leaders.h"

/* Whether that member goes by other rules or other keys for the task than this sidecar. */
bool disagreement_about(const struct listing *listing, const struct member *m);
/* Counts the tasks for which that member disagrees, in the member, and logs it. */
void disagreement_count(const struct leaders *l, struct member *m);
/* Of the keys that decide who leads it. */
uint32_t disagreement_digest(const struct listing *listing);

#endif
