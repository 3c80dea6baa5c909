/* Waiting until a drained node has nothing to do with any task. */
#ifndef ZKLEADER_CLIENT_DRAINED_H
#define ZKLEADER_CLIENT_DRAINED_H

#include "client/command.h"

/*
 * result: the answer to `drain`. Says what it waits for, and in the end what is so; with --json result gets
 * the key "drained" instead. Returns 0, NOT_LEADER (1) where that is not so within wait_ms, or another exit
 * code.
 */
int drained_wait(struct context *c, json_t *result, int64_t wait_ms);

#endif
