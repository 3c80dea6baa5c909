/*
 * The session with ZooKeeper: finds the servers, connects, reconnects, and begins a new one after
 * expiry. Writes that the quorum commits confirm the registration, and so keep the lease.
 */
#ifndef ZKLEADER_NODE_SESSION_SESSION_H
#define ZKLEADER_NODE_SESSION_SESSION_H

#include <stdbool.h>
#include <stdint.h>

#include "base/histogram.h"
#include "core/election/lease.h"
#include "node/session/handoff.h"
#include "node/session/session_error.h"
#include "node/session/watches.h"
#include "node/settings.h"
#include "node/store.h"

#define SESSION_SERVERS_MAX  2048 /* bytes of the list of numeric addresses */
#define SESSION_PATIENCE_MS  5000 /* a request waits for a session at most so long */
#define SESSION_RECONNECT_MS 1000 /* and at least so long */
/* The reason in answers and logs. */
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

/* The state of session_hostage.c: how long servers have kept the session alive unconfirmed. */
struct session_hostage {
	bool owns;	      /* the session may own nodes that others wait for */
	int64_t confirmed_ms; /* CLOCK_BOOTTIME: when the last confirmation was sent */
	int64_t owed_ms;      /* CLOCK_BOOTTIME: since when another is owed; 0: none is */
	int64_t lost_ms;      /* CLOCK_BOOTTIME: the connection was lost; 0: it stands */
	int64_t grace_ms;     /* CLOCK_BOOTTIME: servers are back from an outage until then; 0 */
	int64_t due_ms;	      /* CLOCK_BOOTTIME of the timer */
	int64_t last_ms;      /* CLOCK_BOOTTIME: a session was given up last */
	int64_t hung_up_ms;   /* likewise, as servers hung up on it */
	unsigned accepts;     /* connections since owed_ms */
	char refusal[64];     /* the library's word for the last refusal since; "" */
	struct host_timer due;
};

struct session_handlers {
	/* A connection on which we are not registered: register, then session_registered(). */
	void (*connected)(void *arg);
	void (*up)(void *arg);	      /* confirmed on this connection */
	void (*leased)(void *arg);    /* a lease has begun: we may lead again */
	void (*cut)(void *arg);	      /* connection lost; roles last as long as the lease */
	void (*expired)(void *arg);   /* the session and its nodes are gone */
	void (*retimed)(void *arg);   /* our record has an outdated timeout */
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
	struct watches watches;
	struct session_hostage hostage;
	struct histogram answered_ms; /* latency of requests */
	int64_t granted_ms;    /* timeout of this connection; the lease may use a shorter one */
	int64_t made_ms;       /* timeout that the session began with, or from the handoff */
	int64_t published_ms;  /* timeout in our record; 0: no record */
	int64_t lengthen_ms;   /* CLOCK_BOOTTIME: a longer timeout counts from then on */
	int64_t former_ms;     /* a longer timeout, by which leases were promised that still run */
	int64_t former_until;  /* CLOCK_BOOTTIME; 0: none */
	int64_t opened_ms;     /* CLOCK_BOOTTIME before the handle was made */
	bool reopened;	       /* replaces a handle whose session took too long to begin */
	int64_t id;	       /* 0: none yet */
	int64_t taken_over;    /* the previous sidecar's session, being tried; 0: none */
	int64_t taken_over_ms; /* timeout by which it promised leases */
	int64_t taken_over_counted_ms;	       /* timeout of its lease; 0: the same */
	uint8_t password[STORE_PASSWORD_SIZE]; /* password of taken_over */
	char registration[STORE_PATH_MAX];     /* path of our worker node, "" */
	int64_t registered_ms;	   /* CLOCK_BOOTTIME; older requests may check the previous one */
	size_t leads;		   /* tasks led */
	bool holds, works;	   /* a lock, a job, or one expected soon */
	bool joins;		   /* a gang has, or will have, members here */
	bool leading;		   /* any of these: the lease is confirmed at regular times */
	int64_t since;		   /* wall clock: begin of the session; 0: none, or not known */
	int64_t taken_over_since;  /* wall clock: begin of taken_over */
	int64_t unconfirmed_since; /* wall clock: last up, or our start; 0: up now */
	struct host_timer loss;	   /* the end of the lease, while something is led */
	bool loss_waits;	   /* the lease is over, but may be confirmed at once */
	bool loss_told;		   /* the loss was reported since the last lease */
	struct host_timer confirm;
	struct host_timer patience; /* for the answer to a confirmation */
	int64_t patience_ms;	    /* CLOCK_BOOTTIME of its end */
	bool hung_up; /* dropped the connection as none came; once between confirmations */
	struct host_timer retry;
	struct session_lookup *lookup;	   /* outstanding; NULL: none */
	char servers[SESSION_SERVERS_MAX]; /* in use */
	char problem[320];		   /* why it is not up, for status; "" */
	struct session_error error;	   /* what a server said last, while it is not up */
	struct store *probe;		   /* tests whether a new session can begin; NULL */
	bool probe_connected;		   /* the probe is connected, but our own handle is not */
	int64_t probe_ms;		   /* CLOCK_BOOTTIME: no probe before */
	int64_t refused_ms; /* the present pause after a refused identity or timeout */
};

extern const struct histogram_bounds session_answer_bounds; /* ms */

void session_init(struct session *s, struct host *host, const struct node_settings *settings,
		  const struct session_handlers *handlers);
/* Before session_start(): the first handle takes its session over, if the server still has it. */
void session_take_over(struct session *s, const struct handoff *handoff);
/* Begins to look for servers and to connect, for ever. */
void session_start(struct session *s);
/* Ends the lease at once, and closes. done: the server has closed it, or is unreachable. */
void session_stop(struct session *s, void (*done)(void *arg), void *arg);
/* Frees the session, after session_stop() or if never started. */
void session_done(struct session *s);

/*
 * A write sent at sent_ms made our worker node at this path, with timeout_ms in it. It counts as a
 * confirmation.
 */
void session_registered(struct session *s, const char *path, int64_t timeout_ms, int64_t sent_ms);
/* A read found our worker node at this path: a write has yet to confirm it. */
void session_found(struct session *s, const char *path, int64_t timeout_ms);
/* To be called when another write that checked our registration was committed. */
void session_confirmed(struct session *s, int64_t sent_ms);
/* Sets why the session is not up, for status; false: unchanged. */
bool session_set_problem(struct session *s, const char *problem);
/* Why it is not up, for people; "": not known. */
const char *session_why(const struct session *s);
/* Looks up the servers' names, unless that is being done. */
void session_look_up(struct session *s);
/*
 * Asks the quorum now whether the registration stands. Reads behind it on the same connection are
 * no older than now, also while there is no registration.
 */
void session_confirm(struct session *s);
/* Number of tasks led; the lease is kept up while it is not 0. */
void session_set_leading(struct session *s, size_t tasks);
/* Sets likewise whether there are any locks, or jobs. */
void session_set_holding(struct session *s, bool holding);
void session_set_working(struct session *s, bool working);
/* Whether a gang has members here. */
void session_set_joined(struct session *s, bool joined);

/* Milliseconds left of the lease, now or at that time of host_now_ms(); 0: none. */
int64_t session_lease_left(const struct session *s);
int64_t session_lease_left_at(const struct session *s, int64_t now_ms);
/*
 * The part of the lease that an answer may promise: little while there is no connection, as the
 * next one may be granted a shorter timeout.
 */
int64_t session_answer_left(const struct session *s);
int64_t session_answer_left_at(const struct session *s, int64_t now_ms);
/*
 * Milliseconds for which a request that may wait wait_ms (-1: for ever) waits for a session:
 * wait_ms, but at least as long as a reconnect takes and at most SESSION_PATIENCE_MS.
 */
int64_t session_patience(int64_t wait_ms);
/*
 * Milliseconds of the lease that have to be left for something to begin: with less it might have to
 * end at once. The handler `leased` is called when that much is left again.
 */
int64_t session_lease_least(const struct session *s);
/* Whether something may begin now; or go on, for which any lease is enough. */
bool session_may_begin(const struct session *s, bool goes_on);
/*
 * Milliseconds for which any answer of this session may still count, at most: the session timeout,
 * or a longer one from before it shrank. It is published and handed off. 0: no session.
 */
int64_t session_told_timeout(const struct session *s);
/* Milliseconds until all promised leases are over; the timeout may have shrunk since. */
int64_t session_told_left(const struct session *s);
bool session_is_up(const struct session *s);
const char *session_state_name(const struct session *s);

#endif
