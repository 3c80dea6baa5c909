/* Waits until a drained node leads nothing and runs no job. */
#ifndef ZKLEADER_CLI_DECIDE_DRAINED_H
#define ZKLEADER_CLI_DECIDE_DRAINED_H

#include "cli/ui/command.h"

/*
 * result: the answer to `drain`. Prints what it waits for, and the outcome; with --json it adds the
 * key "drained" to result instead. Returns 0; NOT_LEADER (1) if the node is not drained within
 * wait_ms; or another exit code.
 */
int drained_wait(struct context *c, json_t *result, int64_t wait_ms);

#endif
