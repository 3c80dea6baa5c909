/* The outcomes of runs, in words and colours. */
#ifndef ZKLEADER_CLI_UI_OUTCOME_H
#define ZKLEADER_CLI_UI_OUTCOME_H

#include <jansson.h>

#include "api/output.h"

#define OUTCOME_TEXT_SIZE (OUTPUT_AGE_SIZE + 16)

/* The colour for a run's state; COLOR_NONE for an unknown one. */
enum color outcome_color(const char *state);
/*
 * A task's key `last` as "ok 3m12s": the state and how long ago the run ended, or began if it has
 * not ended; "-" if there was none.
 */
void outcome_last(const json_t *last, int64_t now_ms, char text[OUTCOME_TEXT_SIZE]);

#endif
