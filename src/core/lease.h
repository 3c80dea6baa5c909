/* How long "leads" may be said after the last proof that the session is alive. */
#ifndef ZKLEADER_CORE_LEASE_H
#define ZKLEADER_CORE_LEASE_H

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
 * What puts a session's expiry off are heartbeats that the quorum's leader hears of. The server
 * to which the client is connected reports those that it got every half tick, and not with the
 * writes that it passes on: a committed write by itself proves no more than that the session lived
 * when it was committed. A client does not know the tick, but by default no timeout is less than
 * two of them. So what was answered T/4 and a slack before a committed write was sent has been
 * reported by then, if the quorum's leader was at work. It may have been stopped, and expiry and
 * reports be a moment behind the first write that it commits when it goes on. So another write has
 * to be committed that was sent a slack after the first was answered. Then the session cannot end
 * sooner than T after that heartbeat was sent, and the lease ends a slack before.
 *
 * T is granted anew on each connection. From when the quorum's leader agrees to a connection on, it
 * ends the session T after the heartbeat that it hears of last, by the T of that connection: so
 * a shorter T counts at once, also for what was heard before.
 */
struct lease {
	int64_t timeout_ms;  /* T; 0 while there is no session */
	int64_t longer_ms;   /* the T that follows, 0: none */
	int64_t longer_from; /* for heartbeats that were sent from then on */
	int64_t deadline_ms; /* 0: none */
	int64_t alive_ms;    /* the quorum's leader has heard of a heartbeat not older than this */
	struct {
		int64_t sent_ms, heard_ms;
	} heard[LEASE_HEARD_MAX]; /* oldest first */
	size_t n_heard;
	struct {
		int64_t heard_ms;
		int64_t base_ms; /* the heartbeat that the next commit but a moment will prove */
	} commits[LEASE_COMMITS_MAX]; /* oldest first */
	size_t n_commits;
};

/* A new session, granted by the quorum after opened_ms, when the client library was set to work. */
void lease_begin(struct lease *l, int64_t timeout_ms, int64_t opened_ms);
/* The session has ended: nothing may be said any more. */
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
 * A longer T counts for heartbeats that are sent from from_ms on. By then all who may wait for
 * this lease to end know of it, and no server may be left that reports those of an earlier
 * connection.
 */
void lease_lengthen(struct lease *l, int64_t timeout_ms, int64_t from_ms);
/* A write that checked our registration was committed; after lease_heard() of the same answer. */
void lease_committed(struct lease *l, int64_t sent_ms, int64_t now_ms);
/* Milliseconds that are left at now_ms; 0: may not be said. */
int64_t lease_left(const struct lease *l, int64_t now_ms);
/*
 * How long until the next heartbeat. While something is led it is a write, every T/12 and sooner
 * while less than T/3 is left; else a read, every T/6, which the lease after the next claim counts
 * from.
 */
int64_t lease_next(const struct lease *l, int64_t now_ms, bool leading);

#endif
