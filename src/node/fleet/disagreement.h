/*
 * Whether other workers go by the same keys for a task. If they do not, two may both take
 * themselves for the best.
 */
#ifndef ZKLEADER_NODE_FLEET_DISAGREEMENT_H
#define ZKLEADER_NODE_FLEET_DISAGREEMENT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/election/task_settings.h"
#include "core/fleet/fleet.h"

/* Whether that member goes by other rules or other keys for the task than this sidecar. */
bool disagreement_about(const struct task_settings *task, const struct member *m);
/*
 * Counts the tasks for which that member disagrees, in the member, and logs it. Our tasks are given
 * by their names, sorted, and the digest of each. The last one, or NULL, was counted by them too:
 * where workers share a list and agree, a comparison for each of them is enough.
 */
void disagreement_count(const char *const *names, const uint32_t *digests, size_t n,
			struct member *m, const struct member *counted);
/* A digest of the keys that decide who leads the task. */
uint32_t disagreement_digest(const struct task_settings *task);

#endif
