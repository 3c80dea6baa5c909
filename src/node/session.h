/*
 * The session with ZooKeeper: finds the servers, connects, reconnects, begins anew after expiry,
 * and keeps the lease by confirming the registration with writes that the quorum commits.
 */
#ifndef ZKLEADER_NODE_SESSION_H
#define ZKLEADER_NODE_SESSION_H

#include <stdbool.h>
#include <stdint.h>

#include "base/histogram.h"
#include "core/lease.h"
#include "node/handoff.h"
#include "node/settings.h"
#include "node/store.h"

#define SESSION_SERVERS_MAX  2048 /* bytes of the list of numeric addresses */
#define SESSION_PATIENCE_MS  5000 /* for which a session is waited for, where there is none */
#define SESSION_RECONNECT_MS 1000 /* and which it is waited for at the least */
/* Why something cannot be done or told. */
#define SESSION_NONE "no confirmed session with ZooKeeper"

enum session_state {
	SESSION_LOOKUP,	    /* no address of a server is known yet */
	SESSION_CONNECTING, /* also after a connection was lost */
	SESSION_CONNECTED,  /* but nothing is confirmed on this connection yet */
	SESSION_UP,	    /* and our registration was confirmed on this connection */
	SESSION_REFUSED,    /* the server refused our identity; tried again later */
	SESSION_CLOSED
};

struct session_lookup;

struct session_handlers {
	/* A connection on which we are not registered: register, then session_registered(). */
	void (*connected)(void *arg);
	void (*up)(void *arg);	    /* confirmed on this connection */
	void (*leased)(void *arg);  /* a lease has begun: "leads" may be said again */
	void (*cut)(void *arg);	    /* the connection went; roles stay, as long as the lease does */
	void (*expired)(void *arg); /* nothing is ours any more */
	void (*retimed)(void *arg); /* the record says another timeout than it should */
	void (*shortened)(void *arg); /* the lease counts with a shorter timeout */
	void (*watch)(void *arg, enum store_watch type, const char *path);
	void *arg;
};

struct session {
	struct host *host;
	const struct node_settings *settings;
	struct session_handlers handlers;
	struct store *store; /* NULL between sessions */
	enum session_state state;
	struct lease lease;
	struct histogram answered_ms; /* of requests: until their answers came */
	int64_t granted_ms; /* T of this connection; the lease may count with a shorter one yet */
	int64_t made_ms; /* T that the session was made with, or that the sidecar before us told */
	int64_t published_ms; /* T that our record tells others, 0 while there is none */
	int64_t lengthen_ms;  /* CLOCK_BOOTTIME: a longer T counts from then on */
	int64_t former_ms;    /* a longer T than now, which leases were told by that are not over */
	int64_t former_until; /* CLOCK_BOOTTIME; 0: none */
	int64_t opened_ms;    /* CLOCK_BOOTTIME before the handle was made */
	bool reopened;	      /* in place of one whose session took long to begin */
	int64_t id;	      /* 0: none yet */
	int64_t taken_over;   /* session of the sidecar before us that is tried, 0 */
	int64_t taken_over_ms;		       /* T that its leases were told by */
	int64_t taken_over_counted_ms;	       /* T that its lease counted with; 0: the same */
	uint8_t password[STORE_PASSWORD_SIZE]; /* of that one */
	char registration[STORE_PATH_MAX];     /* path of our worker node, "" */
	int64_t registered_ms; /* CLOCK_BOOTTIME: what was sent before may ask for the one before */
	size_t leads;	       /* how many tasks */
	bool holds, works;     /* a lock, a job; or one may be wanted soon */
	bool joins;	       /* a gang has members here, or is to have some */
	bool leading;	       /* any of these: then confirm at regular times */
	int64_t since;	       /* wall clock: when it began; 0: no session, or not known */
	int64_t taken_over_since;  /* likewise, of the one that is taken over */
	int64_t unconfirmed_since; /* wall clock: when it was last up, or we began; 0: it is */
	struct host_timer loss;	   /* the end of the lease, while something is led */
	bool loss_waits;	   /* the lease is over, but it may go on at once */
	bool loss_told;		   /* since the last lease */
	struct host_timer confirm;
	struct host_timer patience; /* for the answer to a confirmation */
	int64_t patience_ms;	    /* until then, CLOCK_BOOTTIME */
	bool hung_up;		    /* since the last one: no more than once */
	struct host_timer retry;
	struct session_lookup *lookup;	   /* on its way, NULL */
	char servers[SESSION_SERVERS_MAX]; /* in use */
	char problem[256];		   /* what stands in the way, for status; "" */
	struct store *probe;		   /* asks for a session of its own, NULL */
	bool probe_connected;		   /* and got it, while ours gets no connection */
	int64_t refused_ms; /* the present pause after a refused identity or timeout */
};

extern const struct histogram_bounds session_answer_bounds; /* ms */

void session_init(struct session *s, struct host *host, const struct node_settings *settings,
		  const struct session_handlers *handlers);
/* Before session_start(): the first handle takes its session over, if the server still has it. */
void session_take_over(struct session *s, const struct handoff *handoff);
/* Begins to look for servers and to connect, for ever. */
void session_start(struct session *s);
/* Stops saying yes at once, and closes; done is called when the server has heard or cannot be told.
 */
void session_stop(struct session *s, void (*done)(void *arg), void *arg);
/* Behind session_stop(), or where it was never started. */
void session_done(struct session *s);

/*
 * Our worker node is there under this path, and says timeout_ms, by a write sent at sent_ms: it
 * counts as confirmation.
 */
void session_registered(struct session *s, const char *path, int64_t timeout_ms, int64_t sent_ms);
/* It was found under this path: a write is yet to confirm it. */
void session_found(struct session *s, const char *path, int64_t timeout_ms);
/* Another write that checked our registration was committed. */
void session_confirmed(struct session *s, int64_t sent_ms);
/* The registration was found to be gone: asks for another by handlers.connected. */
void session_unregistered(struct session *s);
/* What stands in the way of being up, for status; false if that is known already. */
bool session_set_problem(struct session *s, const char *problem);
/* Asks the quorum now whether the registration stands. */
void session_confirm(struct session *s);
/* How many tasks are led: while it is any, the lease has to be kept up. */
void session_set_leading(struct session *s, size_t tasks);
/* The same of locks, and of jobs: whether there are any. */
void session_set_holding(struct session *s, bool holding);
void session_set_working(struct session *s, bool working);
/* Whether a gang has members here. */
void session_set_joined(struct session *s, bool joined);

/* Milliseconds for which "leads" may be said, now; 0: not at all. */
int64_t session_lease_left(const struct session *s);
/*
 * The same, of which an answer may promise that nobody else leads: little while there is no
 * connection, as the next may be granted a shorter timeout.
 */
int64_t session_answer_left(const struct session *s);
/*
 * For how long who may wait so long (-1: for ever), in milliseconds, waits for a session where
 * there is none: not longer than that, but for as long as a reconnect takes.
 */
int64_t session_patience(int64_t wait_ms);
/*
 * What has to be left of the lease for something to begin by it, in milliseconds: with less it
 * might have to end at once. The handler `leased` is called when that much is there again.
 */
int64_t session_lease_least(const struct session *s);
/* Whether by an answer now something may begin; or go on, for which any lease will do. */
bool session_may_begin(const struct session *s, bool goes_on);
/*
 * The session timeout to be published, kept and waited by: no answer of this session counts for
 * longer, those included that were given before the timeout shrank. Milliseconds; 0 while there is
 * no session.
 */
int64_t session_told_timeout(const struct session *s);
/* Milliseconds until whatever lease anybody was told is over; the timeout may have shrunk since. */
int64_t session_told_left(const struct session *s);
bool session_is_up(const struct session *s);
const char *session_state_name(const struct session *s);

#endif
