/*
 * Queues of jobs: one-shot work that is handed in on any node, given to a worker by the queue's
 * leader, and done by that worker's runner. Each step of a job is one transaction, so that nothing
 * of it is ever in two places, or in none.
 *
 *     submitted --> queued --assign--> assigned --start--> running --finish--> ok, dead, lost
 *                     ^ \                 |                   |
 *                     |  \--cancel        | give back         | again: backoff, crash
 *                     \___________________\___________________/
 *
 *     queues.c           which there are, and what comes in from the session and the elections
 *     queue_calls.c      requests, counted
 *     queue_ops.c        what people ask, each a struct queue_op
 *       queue_submit.c  queue_read.c  queue_cancel.c  queue_dead.c  queue_view.c
 *       queue_places.c     where a job is
 *     queue_lead.c       the leader of a queue: its epoch, and what it knows
 *       queue_due.c        what is due         queue_given.c      what was given to whom
 *       queue_assign.c     who gets what       queue_takeover.c   whose worker has gone
 *       queue_tidy.c       whether it is full     queue_prune.c     what is too old
 *     queue_work.c       a worker: what it was given, what goes on here
 *       queue_look.c       what is there of one of them
 *       queue_steps.c      its transactions
 */
#ifndef ZKLEADER_NODE_QUEUES_H
#define ZKLEADER_NODE_QUEUES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/job_id.h"
#include "node/queue_calls.h"
#include "node/registry.h"
#include "wire/job_record.h"

/* What came of a question. */
enum job_outcome {
	JOB_DONE,
	JOB_NOT_THERE,	/* no such job: it never was, or is not kept any more */
	JOB_NOT_SO,	/* it is in another state than that needs; why says in which */
	JOB_MISUSE,	/* as an id that is too old to be used for the first time; why */
	JOB_NOT_NOW,	/* the queue or a quota is full, it is paused, nobody serves it; why */
	JOB_NO_SESSION, /* nothing was done; why */
	JOB_UNKNOWN	/* it may or may not have been done */
};

struct job_answer {
	enum job_outcome outcome;
	const char *why;		 /* a text for people; NULL for DONE */
	struct job_id id;		 /* of the job that it is about */
	const struct job_record *record; /* DONE of a read: valid during the call; else NULL */
	size_t n;			 /* DONE of several: how many */
};

typedef void (*job_fn)(void *arg, const struct job_answer *answer);

struct job_submit {
	const struct job_id *id; /* names the queue */
	const void *payload;
	size_t len;
	int64_t at_ms; /* since the epoch; 0: at once, or in_ms from now on */
	int64_t in_ms;
	const char *key;      /* NULL: none */
	const char *callback; /* a URL that was found good; NULL: none */
	const char *by;	      /* the user */
};

/* A queue as `zkleader queue` shows it. */
struct queue_view {
	const char *state; /* "active", "paused", "unserved", "full" */
	int64_t queued, oldest_ms, running,
		dead; /* oldest_ms: how long the oldest that is due waits; 0 */
	struct queue_view_worker {
		const char *node;
		int64_t slots, running; /* what it was given, and has not ended */
	} const *workers;
	size_t n_workers;
};

/* NULL: no session, or the servers do not answer. Valid during the call. */
typedef void (*queue_view_fn)(void *arg, const struct queue_view *view);
/* Several jobs, as `zkleader dead` shows them; NULL likewise. */
typedef void (*job_list_fn)(void *arg, const struct job_record *const *jobs, size_t n);

/* A job of ours that a supervisor begins. */
struct job_begun {
	bool yours;
	const char *why; /* where it is not */
	uint64_t number; /* for what follows */
	int64_t token, attempt, timeout_ms;
	const struct job_record *record; /* of the job; valid during the call */
	const void *payload;
	size_t len;
	const char
		*callback; /* this is the delivery of that job's end, to this URL; NULL: the job */
};

typedef void (*job_begun_fn)(void *arg, const struct job_begun *begun);
typedef void (*job_ended_fn)(void *arg, bool recorded);

/* How an attempt ended. */
struct job_end {
	enum { JOB_END_OK, JOB_END_FAILED, JOB_END_TIMEOUT, JOB_END_CRASHED, JOB_END_DEAD } how;
	int64_t exit_status; /* -1: none */
	int64_t retry_ms;    /* what the receiver asked for (Retry-After); -1: nothing */
	const char *output;
	size_t len;
};

struct queues_handlers {
	/*
	 * A job was given to this node: its runner is to begin it. Called again with pauses until
	 * it has begun. False: nobody can, and it is given back.
	 */
	bool (*job)(void *arg, const char *queue, const struct job_id *id);
	/* One that runs is to be ended, as it was cancelled. */
	void (*cancel)(void *arg, void *owner, uint64_t number);
	/* One more attempt has begun or ended here. */
	void (*told)(void *arg, const struct job_record *record);
	void *arg;
};

struct queue; /* of one listing: what its leader and its worker keep */
struct queue_op;

struct queue_ops_list {
	struct queue_op *first, *last;
};

struct queues {
	struct session *session;
	struct registry *registry;
	struct leaders *leaders;
	struct queues_handlers handlers;
	struct queue **list; /* sorted by name */
	size_t n;
	uint64_t last_number;
	bool stopping, kept, revoked;
	bool again; /* all is to be looked at, at the end of this turn */
	bool busy;
	int64_t cut_ms;	 /* likewise: when the connection went */
	int64_t wake_ms; /* CLOCK_BOOTTIME: or then */
	int64_t warm_ms; /* likewise: until when the lease is kept up */
	struct queue_calls calls;
	/* queue_ops.c's */
	struct queue_ops_list waiting, others;
	size_t n_ops;
	int64_t look_ms; /* CLOCK_BOOTTIME: when the others are looked at */
	struct host_turn turn;
	struct host_timer due;
};

void queues_init(struct queues *q, struct session *session, struct registry *registry,
		 struct leaders *leaders, const struct queues_handlers *handlers);
void queues_done(struct queues *q);
/* The listings are others, or their settings. */
void queues_configured(struct queues *q);

/* From the session's, the registry's and the elections' handlers. */
void queues_up(struct queues *q);
void queues_cut(struct queues *q);
void queues_expired(struct queues *q);
void queues_watch(struct queues *q, enum store_watch type, const char *path);
/* The fleet, who leads, the lease: what follows is looked at. */
void queues_changed(struct queues *q);

/* What anybody asks; fn is called once, perhaps before this returns. All is copied. */
void queues_submit(struct queues *q, const struct job_submit *submit, job_fn fn, void *arg);
/* wait_ms: until it has ended, at most so long; 0: as it is now. */
void queues_read(struct queues *q, const struct job_id *id, int64_t wait_ms, job_fn fn, void *arg);
void queues_cancel(struct queues *q, const struct job_id *id, const char *by, job_fn fn, void *arg);
void queues_requeue(struct queues *q, const struct job_id *id, job_fn fn, void *arg);
void queues_requeue_all(struct queues *q, const char *queue, job_fn fn, void *arg);
/* Deletes the dead letters. */
void queues_purge(struct queues *q, const char *queue, job_fn fn, void *arg);
/* The oldest 500 of the dead letters; after: of those behind this one, NULL: of all. */
void queues_dead(struct queues *q, const char *queue, const struct job_id *after, job_list_fn fn,
		 void *arg);
void queues_view(struct queues *q, const char *queue, queue_view_fn fn, void *arg);

/* Of a supervisor on this node, whose connection is the owner. */
void queues_begin(struct queues *q, void *owner, const struct job_id *id, job_begun_fn fn,
		  void *arg);
/* One that began before the owner's connection, or the sidecar, was another. */
void queues_attach(struct queues *q, void *owner, const struct job_id *id, int64_t attempt,
		   job_begun_fn fn, void *arg);
/* Milliseconds for which it may go on; 0: no longer, also where it was cancelled; -1: no such. */
int64_t queues_renew(struct queues *q, const void *owner, uint64_t number);
/* No process of it is alive. False: the owner has none such, and fn is not called. */
bool queues_finish(struct queues *q, const void *owner, uint64_t number, const struct job_end *end,
		   job_ended_fn fn, void *arg);
/* Its processes are dead when the leases are over that it was told of, at the latest. */
void queues_owner_gone(struct queues *q, const void *owner);

/* A stop: nothing is begun any more, and what has not begun is given back. */
void queues_stop(struct queues *q);
size_t queues_going(const struct queues *q);
/* What runs is to end now. */
void queues_revoke(struct queues *q);
/* The session goes on in the next sidecar, and with it what runs. */
void queues_keep(struct queues *q);

#endif
