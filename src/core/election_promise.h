/* For how long an answer "leads" is good: no voluntary handover comes before that is over. */
#ifndef ZKLEADER_CORE_ELECTION_PROMISE_H
#define ZKLEADER_CORE_ELECTION_PROMISE_H

#include "core/election.h"

/*
 * Promises "leads" for as many ms from now on as may be, lease_ms being left of the lease: no
 * handover of our own will comes before they are over. No more than to the next such handover, nor
 * than yield-delay or a quarter of the session's timeout, whichever is longer, so that a better
 * candidate to come does not wait long. 0: it may not be said.
 */
int64_t election_promise(struct election *e, struct election_time now, int64_t lease_ms);
/* Whether "leads" may be said: what election_promise() would promise is not nothing. */
bool election_says(const struct election *e, struct election_time now, int64_t lease_ms);
/* Somebody else has promised it until then in our name. */
void election_promised(struct election *e, int64_t until_ms);

#endif
