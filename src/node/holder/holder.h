/*
 * What is held for a command under the session's lease: a run, a lock, a place in a gang, a job.
 * The command's supervisor asks again and again how long it may go on.
 */
#ifndef ZKLEADER_NODE_HOLDER_HOLDER_H
#define ZKLEADER_NODE_HOLDER_HOLDER_H

#include <stdbool.h>
#include <stdint.h>

#include "node/session/session.h"

/*
 * Milliseconds for which the command may go on: the whole of the lease, also while there is no
 * connection. An answer to a question has to be shorter then, as nobody takes it back. But a
 * supervisor asks again every T/32, so a shorter timeout that the next connection is granted
 * reaches its command before others may hold what is held.
 */
int64_t holder_left(const struct session *s);
/*
 * Answers a renewal: milliseconds from now on, 0 where it is held no more. until_ms
 * (CLOCK_BOOTTIME), until when the command may be alive, is put off by that.
 */
int64_t holder_renew(const struct session *s, bool held, int64_t *until_ms);

#endif
