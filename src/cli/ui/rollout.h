/* The progress of a new version, from the answer to `workers`. */
#ifndef ZKLEADER_CLI_UI_ROLLOUT_H
#define ZKLEADER_CLI_UI_ROLLOUT_H

#include <stdbool.h>
#include <stdint.h>

#include <jansson.h>

#include "api/output.h"

/* A heap string for the caller, NULL if there is only one version. */
char *rollout_text(const json_t *workers);
/*
 * "rollout of 1.5.0 complete: 4 of 4 workers, 50 tasks, 25 s" if all workers have one version, else
 * NULL. The time is that from the first registration with this version to ended_ms, in ms since the
 * epoch. A heap string for the caller.
 */
char *rollout_complete(const json_t *workers, int64_t ended_ms);
/* Prints rollout_text() as a line if there is more than one version; returns whether it did. */
bool rollout_print(const struct output *o, const json_t *workers);

#endif
