/* How far a new version has come, from the answer to `workers`. */
#ifndef ZKLEADER_CLIENT_ROLLOUT_H
#define ZKLEADER_CLIENT_ROLLOUT_H

#include <stdbool.h>
#include <stdint.h>

#include <jansson.h>

#include "client/output.h"

/* A heap string for the caller, NULL where there is but one version. */
char *rollout_text(const json_t *workers);
/*
 * "rollout of 1.5.0 complete: 4 of 4 workers, 50 tasks, 25 s", where all workers have one version:
 * from the first that registered with it to then (ms since the epoch). NULL where it is not so. A
 * heap string for the caller.
 */
char *rollout_complete(const json_t *workers, int64_t ended_ms);
/* Prints rollout_text() as a line if there is more than one version: whether it did. */
bool rollout_print(const struct output *o, const json_t *workers);

#endif
