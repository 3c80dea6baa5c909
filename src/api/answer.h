/* The result of the method `check`, read with care. */
#ifndef ZKLEADER_API_ANSWER_H
#define ZKLEADER_API_ANSWER_H

#include <stddef.h>
#include <stdint.h>

#include "zkleader.h"
#include "wire/keys.h"

/* No session timeout is longer. A client that believed such a lease would lead for ever. */
#define ANSWER_LEASE_MAX_MS (INT64_C(24) * 3600 * 1000)
/* The key of a lease, an int64_t in ms. */
#define LEASE_KEY(key, type, member, is_needed) \
	MESSAGE_KEY(key, type, member, KEY_INT, is_needed, .min = 0, .max = ANSWER_LEASE_MAX_MS)

/*
 * Reads the answer to a check of the task that was sent at sent_ms of CLOCK_BOOTTIME. Unknown keys
 * are skipped. A missing, repeated or ill-formed key, another task's name, or a leader without a
 * token is -EBADMSG. lease_ms is the value sent by the sidecar, not what is left of the lease.
 */
int answer_parse(struct reader result, const char *task, int64_t sent_ms,
		 struct zkleader_answer *ret_answer);

#endif
