/* How long "leads" may be said after the last proof that the session is alive. */
#ifndef ZKLEADER_CORE_LEASE_H
#define ZKLEADER_CORE_LEASE_H

#include <stddef.h>
#include <stdint.h>

#define LEASE_COMMITS_MAX 8
#define LEASE_HEARD_MAX	  24 /* signs of life that are remembered, spaced by T/24 at least */

struct lease {
	int64_t timeout_ms;  /* negotiated session timeout; 0 while there is no session */
	int64_t deadline_ms; /* CLOCK_BOOTTIME; 0: none */
	/* What follows is for the stricter rule alone. */
	int64_t alive_ms; /* the quorum's leader has heard of a sign of life not older than this */
	struct {
		int64_t sent_ms, heard_ms;
	} heard[LEASE_HEARD_MAX]; /* oldest first */
	size_t n_heard;
	struct {
		int64_t heard_ms;
		int64_t base_ms; /* what the next commit but a moment will prove to have been reported */
	} commits[LEASE_COMMITS_MAX]; /* oldest first */
	size_t n_commits;
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

/*
 * The stricter rule. A committed write proves only that the session lived when it was committed. What
 * puts its expiry off are signs of life that the quorum's leader hears of: the server to which the
 * client is connected reports those that it got every tick/2, and not with the writes that it passes
 * on. So a write that is committed proves that what was answered more than a tick/2 before it was sent
 * has been reported, and the lease counts from when that was sent.
 */
/* A new session, granted by the quorum after opened_ms, when the client library was set to work. */
void lease_open(struct lease *l, int64_t timeout_ms, int64_t opened_ms);
/* Any request of this session, a read too, was answered: sent at sent_ms, heard of at now_ms. */
void lease_heard(struct lease *l, int64_t sent_ms, int64_t now_ms);
/* The session goes on over another connection, to which the quorum's leader has agreed. */
void lease_moved(struct lease *l);
/* As lease_confirm(). */
void lease_commit(struct lease *l, int64_t sent_ms);
/*
 * The strictest: the quorum's leader itself may have been stopped, reporting resumes a moment after
 * it goes on, and a write may be committed in that moment. So what was answered more than a tick/2
 * before one write was sent counts when another, sent a moment after the first was answered, is
 * committed as well: before the first the leader was at work or has resumed since.
 * sent_ms as above; now_ms: when the answer is handled, after lease_heard() of the same answer.
 */
void lease_committed(struct lease *l, int64_t sent_ms, int64_t now_ms);
/* While something is led: how long until the next write. T/12, and sooner while the lease is short. */
int64_t lease_next(const struct lease *l, int64_t now_ms);
/* When the next sign of life is due: T/6 after the last, sooner while little of the lease is left. */
int64_t lease_pace(const struct lease *l, int64_t now_ms);

#endif
