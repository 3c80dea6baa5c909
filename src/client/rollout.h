/* How far a new version has come, from the answer to `workers`. */
#ifndef ZKLEADER_CLIENT_ROLLOUT_H
#define ZKLEADER_CLIENT_ROLLOUT_H

#include <stdbool.h>

#include <jansson.h>

#include "client/output.h"

/* A heap string for the caller, NULL where there is but one version. */
char *rollout_text(const json_t *workers);
/* That as a line, where there is more than one version: whether it printed one. */
bool rollout_print(const struct output *o, const json_t *workers);

#endif
