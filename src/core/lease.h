/* How long "leads" may be said after the last proof that the session is alive. */
#ifndef ZKLEADER_CORE_LEASE_H
#define ZKLEADER_CORE_LEASE_H

#include <stdint.h>

struct lease {
	int64_t timeout_ms;  /* negotiated session timeout; 0 while there is no session */
	int64_t deadline_ms; /* CLOCK_BOOTTIME; 0: none */
};

/* A new session with its negotiated timeout: nothing is confirmed yet. */
void lease_begin(struct lease *l, int64_t timeout_ms);
/* The session has ended: nothing may be said any more. */
void lease_end(struct lease *l);
/*
 * A write of ours that checked our registration was committed by the quorum; sent_ms is
 * CLOCK_BOOTTIME from before it was handed to the client library. Only the send time is safe: the
 * answer may have lain in a buffer while this process was stopped.
 */
void lease_confirm(struct lease *l, int64_t sent_ms);
/* Milliseconds that are left at now_ms; 0: may not be said. */
int64_t lease_left(const struct lease *l, int64_t now_ms);
/* What the server's bucketed expiry, a clock 1 % off and scheduling may cost: T/4 + T/100 + 100. */
int64_t lease_margin(int64_t timeout_ms);
/* How often to confirm while leading: T/6. */
int64_t lease_interval(int64_t timeout_ms);

#endif
