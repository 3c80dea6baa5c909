/* How long an answer "leads" stays valid: until then there is no voluntary handover. */
#ifndef ZKLEADER_CORE_ELECTION_ELECTION_PROMISE_H
#define ZKLEADER_CORE_ELECTION_ELECTION_PROMISE_H

#include "core/election/election.h"

/*
 * Promises "leads" for the returned number of ms, of the lease_ms left: no voluntary handover comes
 * before. The promise ends at the next planned handover, and is at most yield-delay or a quarter of
 * the session's timeout, whichever is longer, so that a better candidate that joins does not wait
 * long. 0: "leads" may not be said.
 */
int64_t election_promise(struct election *e, struct election_time now, int64_t lease_ms);
/* Whether "leads" may be said: election_promise() would return more than 0. */
bool election_says(const struct election *e, struct election_time now, int64_t lease_ms);
/* Records that "leads" was promised until then, without election_promise(). */
void election_promised(struct election *e, int64_t until_ms);

#endif
