/* When an election acts: it claims, reads and yields at these times, and no step makes it wait. */
#ifndef ZKLEADER_CORE_ELECTION_TIMES_H
#define ZKLEADER_CORE_ELECTION_TIMES_H

#include "core/election.h"

/*
 * When our turn to claim comes, by CLOCK_BOOTTIME.
 *
 * Where the node vanished without a yield, although the session that owned it still has a
 * registered worker, another hand deleted it. Its owner may not have heard of that, and lead on
 * until its lease is over: all others wait as long as its session timeout. A leader whose node was
 * never read here may be any worker, or the owner that we know, whose record has been found since:
 * then we wait as long as our own timeout or that owner's, whichever is longer.
 */
int64_t election_claim_time(const struct election *e);
/*
 * Whether the server has said a moment ago that there is no node. Otherwise it is read once more
 * before the claim: on a connection that stalls, a leader may have come back, and its node have
 * been deleted by hand, without our hearing of it.
 */
bool election_is_news(const struct election *e, struct election_time now);
/* Whether the node has to be read, where the state asks for nothing else at this moment. */
bool election_wants_read(const struct election *e);
/* When a read that is wanted may be sent. */
int64_t election_read_time(const struct election *e);
/* Whether the best candidate is another, and `yield` has the task go to it. */
bool election_should_yield(const struct election *e);
/* When the task is to be given up, ELECTION_NEVER if it is not; *ret_reason says what it waits for.
 */
int64_t election_release_time(const struct election *e, struct election_time now,
			      const char **ret_reason);
/* When a yield that is due will be made, and why not before; false: none is due. */
bool election_yield_at(const struct election *e, struct election_time now, int64_t *ret_boot_ms,
		       const char **ret_reason);
/*
 * CLOCK_BOOTTIME at which a DEADLINE event is wanted, at the wall time of now; ELECTION_NEVER:
 * none.
 */
int64_t election_deadline(const struct election *e, struct election_time now);

#endif
