/* When an election acts: the times of its claims, reads and yields. */
#ifndef ZKLEADER_CORE_ELECTION_ELECTION_TIMES_H
#define ZKLEADER_CORE_ELECTION_ELECTION_TIMES_H

#include "core/election/election.h"

/*
 * When we may claim, by CLOCK_BOOTTIME.
 *
 * If the node vanished without a yield while its owner's worker was still registered, somebody
 * deleted it by hand. The owner may not have noticed, and lead on until its lease is over. So all
 * others wait for the owner's session timeout. A leader whose node we never read may be any worker,
 * or the owner that we know, whose record has been found since. Then we wait for our own timeout or
 * that owner's, whichever is longer.
 */
int64_t election_claim_time(const struct election *e);
/*
 * Whether the server has just said that there is no node. Otherwise the node is read once more
 * before the claim: while the connection stalled, a leader may have come back and its node been
 * deleted by hand, unnoticed by us.
 */
bool election_is_news(const struct election *e, struct election_time now);
/* Whether the node has to be read now, if the state requires nothing else. */
bool election_wants_read(const struct election *e);
/* Whether the last known leader may be none by now, and a GLANCE event is of use. */
bool election_wants_glance(const struct election *e);
/* When the read that election_wants_read() asks for may be sent. */
int64_t election_read_time(const struct election *e);
/* Whether there is a better candidate, and `yield` lets the task go to it. */
bool election_should_yield(const struct election *e);
/* When to release the task, or ELECTION_NEVER; *ret_reason says what the release waits for. */
int64_t election_release_time(const struct election *e, struct election_time now,
			      const char **ret_reason);
/* When a pending yield will be made, and why not before; false: none is pending. */
bool election_yield_at(const struct election *e, struct election_time now, int64_t *ret_boot_ms,
		       const char **ret_reason);
/*
 * CLOCK_BOOTTIME at which a DEADLINE event is needed, as seen at `now`; ELECTION_NEVER:
 * none.
 */
int64_t election_deadline(const struct election *e, struct election_time now);

#endif
