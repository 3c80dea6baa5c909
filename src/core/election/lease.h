/* How long "leads" may be said after the last proof that the session is alive. */
#ifndef ZKLEADER_CORE_ELECTION_LEASE_H
#define ZKLEADER_CORE_ELECTION_LEASE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define LEASE_COMMITS_MAX 8
#define LEASE_HEARD_MAX	  24 /* heartbeats that are remembered, spaced by T/24 at least */
/* The least T: with less, slacks and confirmations use up the lease. */
#define LEASE_TIMEOUT_MIN_MS 1000

/*
 * Times are CLOCK_BOOTTIME in ms. T is the negotiated session timeout; a slack of T/100 + 100 ms
 * stands for clocks that run 1 % apart and for what a process may take to do what is due.
 *
 * A session's expiry is postponed by heartbeats that reach the quorum's leader. The server to which
 * the client is connected reports the heartbeats that it got every half tick, and not with the
 * writes that it forwards: a committed write by itself proves only that the session was alive when
 * it was committed. A client does not know the tick, but by default no timeout is less than two
 * ticks. So a heartbeat that was answered T/4 and a slack before a committed write was sent has
 * been reported by then, if the quorum's leader was running. If the leader was stopped, expiry and
 * reports may come a moment after the first write that it commits when it goes on. So a second
 * write, sent a slack after the first was answered, has to be committed as well. Then the session
 * cannot end sooner than T after that heartbeat was sent, and the lease ends a slack before.
 *
 * An observer that is connected to a follower (observerMasterPort) reports to that, and the
 * follower half a tick later to the quorum's leader. A whole tick is more than T/4 where T is below
 * four ticks. Who is told the tick allows for that.
 *
 * T is granted anew on each connection. Once the quorum's leader has accepted a connection, it ends
 * the session T after the last heartbeat reported to it, by the T of that connection. So a shorter
 * T counts at once, also for heartbeats from before.
 */
struct lease {
	int64_t timeout_ms;  /* T; 0 while there is no session */
	int64_t longer_ms;   /* the longer T to come, 0: none */
	int64_t longer_from; /* longer_ms counts for heartbeats sent from then on */
	int64_t tick_ms;     /* tick of the servers; 0: not known */
	int64_t deadline_ms; /* 0: none */
	int64_t alive_ms;    /* the quorum's leader knows of a heartbeat sent then or later */
	struct {
		int64_t sent_ms, heard_ms;
	} heard[LEASE_HEARD_MAX]; /* oldest first */
	size_t n_heard;
	struct {
		int64_t heard_ms;
		int64_t base_ms; /* the heartbeat that a commit sent a slack later will prove */
	} commits[LEASE_COMMITS_MAX]; /* oldest first */
	size_t n_commits;
};

/* A new session, granted by the quorum after opened_ms, when the client library was started. */
void lease_begin(struct lease *l, int64_t timeout_ms, int64_t opened_ms);
/* The servers' tick, if it is known, after lease_begin(). */
void lease_set_tick(struct lease *l, int64_t tick_ms);
/* The session has ended, and the lease with it. */
void lease_end(struct lease *l);
/*
 * Any request of this session, a read too, was answered: sent at sent_ms, handled at now_ms. Only
 * the send time is a heartbeat: the answer may have lain in a buffer while this process was
 * stopped.
 */
void lease_heard(struct lease *l, int64_t sent_ms, int64_t now_ms);
/*
 * The session goes on over another connection, to which the quorum's leader has agreed with this T.
 * A shorter one voids what was counted with the longer; a longer one counts only after
 * lease_lengthen().
 */
void lease_moved(struct lease *l, int64_t timeout_ms);
/*
 * A longer T counts for heartbeats sent from from_ms on. By then every worker that may wait for
 * this lease to end has to know it, and no server may still report heartbeats of an earlier
 * connection.
 */
void lease_lengthen(struct lease *l, int64_t timeout_ms, int64_t from_ms);
/* A write that checked our registration was committed; after lease_heard() of the same answer. */
void lease_committed(struct lease *l, int64_t sent_ms, int64_t now_ms);
/* Milliseconds left at now_ms; 0: "leads" may not be said. */
int64_t lease_left(const struct lease *l, int64_t now_ms);
/*
 * How long until the next heartbeat is due. While we lead a task it is a write, every T/12, and
 * sooner while less than T/3 is left. Else it is a read, every T/6, from which the lease after the
 * next claim counts.
 */
int64_t lease_next(const struct lease *l, int64_t now_ms, bool leading);

#endif
