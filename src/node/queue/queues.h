/*
 * Queues of jobs: one-shot work that is submitted on any node, assigned to a worker by the queue's
 * leader, and executed by that worker's runner. Each step of a job is one transaction, so that it
 * is never in two places, or in none.
 *
 *     submitted --> queued --assign--> assigned --start--> running --finish--> ok, dead, lost
 *                     ^ \                 |                   |
 *                     |  \--cancel        | give back         | again: backoff, crash
 *                     \___________________\___________________/
 *
 *     queues.c           the list of queues, and events of the session and the elections
 *     queue_calls.c      requests to ZooKeeper, limited in number
 *     queue_ops.c        client requests, each a struct queue_op
 *       queue_submit.c  queue_read.c  queue_cancel.c  queue_dead.c  queue_view.c
 *       queue_list.c
 *       queue_places.c     finds the place of a job
 *       queue_room.c       the limit of waiting jobs   queue_served.c     who may do them
 *     queue_lead.c       the leader of a queue: its epoch and its state
 *       queue_due.c        due jobs            queue_given.c      assigned jobs, by node
 *       queue_assign.c     assigns jobs        queue_takeover.c   jobs of lost workers
 *       queue_tidy.c       tells a full queue  queue_prune.c      deletes old records
 *     queue_troubles.c   what is wrong, in words
 *     queue_work.c       a worker: the jobs assigned to this node
 *       queue_recheck.c    reads the state of one of them
 *       queue_steps.c      its transactions
 */
#ifndef ZKLEADER_NODE_QUEUE_QUEUES_H
#define ZKLEADER_NODE_QUEUE_QUEUES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/queue.h>

#include "core/queue/attempt.h"
#include "core/queue/job_id.h"
#include "node/fleet/registry.h"
#include "node/holder/holder.h"
#include "node/queue/queue_calls.h"
#include "wire/records/job_record.h"

/* The result of a request. */
enum job_outcome {
	JOB_DONE,
	JOB_NOT_THERE,	/* no such job: it never existed, or is no longer kept */
	JOB_NOT_SO,	/* the job's state does not allow this; why names the state */
	JOB_MISUSE,	/* such as an id too old for a new job; why */
	JOB_NOT_NOW,	/* queue or quota full, paused, or no worker; why */
	JOB_NO_SESSION, /* nothing was done; why */
	JOB_UNKNOWN	/* the change may or may not have been made */
};

struct job_answer {
	enum job_outcome outcome;
	const char *why;		 /* a text for people; NULL for DONE */
	struct job_id id;		 /* the job; the last one, if there are several */
	const struct job_record *record; /* DONE of a read: valid during the call; else NULL */
	size_t n;			 /* DONE: number of jobs, of a request about several */
	bool more;			 /* jobs are left, as time was up */
};

typedef void (*job_fn)(void *arg, const struct job_answer *answer);

struct job_submit {
	const struct job_id *id; /* names the queue */
	bool drawn;		 /* the minute of the id becomes that at which the job is made */
	const void *payload;
	size_t len;
	int64_t at_ms; /* since the epoch; 0: at once, or in_ms from now on */
	int64_t in_ms;
	const char *key;      /* NULL: none */
	bool while_open;      /* the key is free once its job has ended, though that is kept */
	const char *callback; /* a valid URL; NULL: none */
	const char *by;	      /* the user */
};

/* A queue as `zkleader queue` shows it. */
struct queue_view {
	const char *state; /* "active", "paused", "unserved", "full" */
	int64_t queued, oldest_ms, running,
		dead; /* oldest_ms: wait of the oldest due job; 0: none */
	struct queue_view_worker {
		const char *node;
		int64_t slots, running; /* running: jobs assigned that have not ended */
	} const *workers;
	size_t n_workers;
};

/* NULL: no session, or the servers do not answer. Valid during the call. */
typedef void (*queue_view_fn)(void *arg, const struct queue_view *view);
/* Several jobs, as `zkleader dead` shows them; NULL likewise. */
typedef void (*job_list_fn)(void *arg, const struct job_record *const *jobs, size_t n);

/* A place in the list of a queue's jobs: before all of that minute that were created before. */
struct queue_cursor {
	int64_t minute, zxid;
};

/* A part of them, without payloads and outputs; more: where to go on, NULL: those were all. */
typedef void (*queue_list_fn)(void *arg, const struct job_record *const *jobs, size_t n,
			      const struct queue_cursor *more);

/* The answer to a supervisor that begins a job assigned to this node. */
struct job_begun {
	bool yours;
	const char *why; /* if it is not */
	uint64_t number; /* for the calls that follow */
	int64_t token, attempt, timeout_ms;
	const struct job_record *record; /* the job's record; valid during the call */
	const void *payload;
	size_t len;
	const char *callback; /* deliver the end of that job to this URL; NULL: run the job */
};

typedef void (*job_begun_fn)(void *arg, const struct job_begun *begun);
typedef void (*job_ended_fn)(void *arg, bool recorded);

/* How an attempt ended. */
struct job_end {
	struct attempt_end what; /* its exit status is recorded; -1: none */
	int64_t retry_ms;	 /* from the receiver (Retry-After); -1: none */
	const char *output;
	size_t len;
	char start[ATTEMPT_START_MAX + 1]; /* why the command could not be started; "": it was */
};

struct queues_handlers {
	/*
	 * A job was assigned to this node: its runner is to begin it. Called again with pauses
	 * until it has begun. False: there is no runner, and it is given back.
	 */
	bool (*job)(void *arg, const char *queue, const struct job_id *id);
	/* A running job was cancelled and is to be ended. */
	void (*cancel)(void *arg, void *owner, uint64_t number);
	/* An attempt has begun or ended here. */
	void (*told)(void *arg, const struct job_record *record);
	void *arg;
};

struct queue; /* the state of its leader and its worker */
struct queue_op;

TAILQ_HEAD(queue_op_list, queue_op);

struct queues {
	struct session *session;
	struct registry *registry;
	struct leaders *leaders;
	struct queues_handlers handlers;
	struct queue **list; /* sorted by name */
	size_t n;
	struct holders holders; /* jobs that run here */
	bool stopping, kept;
	bool again; /* check all queues at the end of this turn of the loop */
	bool moved; /* and who serves them: the fleet has changed */
	bool busy;
	int64_t cut_ms;	 /* CLOCK_BOOTTIME: when the connection was lost */
	int64_t wake_ms; /* CLOCK_BOOTTIME: check all queues then */
	int64_t warm_ms; /* CLOCK_BOOTTIME: the lease is kept up until then */
	struct queue_calls calls;
	/* state of queue_ops.c */
	struct queue_op_list waiting, others;
	size_t n_ops;
	int64_t look_ms; /* CLOCK_BOOTTIME: when `others` are checked */
	struct host_turn turn;
	struct host_timer due;
};

void queues_init(struct queues *q, struct session *session, struct registry *registry,
		 struct leaders *leaders, const struct queues_handlers *handlers);
void queues_done(struct queues *q);
/* The configured queues, or their settings, have changed. */
void queues_configured(struct queues *q);

/* Events from the handlers of the session, the registry and the elections. */
void queues_up(struct queues *q);
void queues_cut(struct queues *q);
void queues_expired(struct queues *q);
void queues_watch(struct queues *q, enum store_watch type, const char *path);
/* The fleet, the leaders or the lease have changed: all queues are checked. */
void queues_changed(struct queues *q);

/* The time by the clock of jobs (clocks_jobs()): ms since the epoch. */
int64_t queues_server_ms(const struct queues *q);
/* A lower bound of that time: now, less the possible error of the clock. */
int64_t queues_passed_ms(const struct queues *q);

/* Client requests; fn is called once, maybe before this returns. Arguments are copied. */
/* Answers with that id and the present minute, once the time is known. */
void queues_stamp(struct queues *q, const struct job_id *id, job_fn fn, void *arg);
void queues_submit(struct queues *q, const struct job_submit *submit, job_fn fn, void *arg);
/*
 * Waits until the job has ended, at most wait_ms; 0: no wait. Nobody is told once the owner went;
 * NULL: it stays.
 */
void queues_read(struct queues *q, const struct job_id *id, int64_t wait_ms, const void *owner,
		 job_fn fn, void *arg);
void queues_cancel(struct queues *q, const struct job_id *id, const char *by, job_fn fn, void *arg);
void queues_requeue(struct queues *q, const struct job_id *id, job_fn fn, void *arg);
/*
 * Requeue or delete the dead letters, the oldest first, for some seconds: then the answer has
 * `more`, and in `id` the last one that was tried. after: only later ones than this, NULL: all.
 */
void queues_requeue_all(struct queues *q, const char *queue, const struct job_id *after, job_fn fn,
			void *arg);
void queues_purge(struct queues *q, const char *queue, const struct job_id *after, job_fn fn,
		  void *arg);
/* The oldest 500 dead letters; after: as above. */
void queues_dead(struct queues *q, const char *queue, const struct job_id *after, job_list_fn fn,
		 void *arg);
void queues_view(struct queues *q, const char *queue, queue_view_fn fn, void *arg);
/*
 * Jobs in that state ("": in any), the newest first, at most `most` and 500. after: only older
 * ones, NULL: all.
 */
void queues_list(struct queues *q, const char *queue, const char *state, size_t most,
		 const struct queue_cursor *after, queue_list_fn fn, void *arg);

/* Problems of queues on this node: jobs that do not begin, an epoch of another ensemble. */
#define QUEUE_TROUBLE_MAX 1600
typedef void (*queue_trouble_fn)(void *arg, const char *queue, const char *text);
void queues_troubles(const struct queues *q, queue_trouble_fn fn, void *arg);

/* Requests of a supervisor on this node; its connection is the owner. */
void queues_begin(struct queues *q, void *owner, const struct job_id *id, job_begun_fn fn,
		  void *arg);
/* Reattaches a job begun by the owner's earlier connection, or under the previous sidecar. */
void queues_attach(struct queues *q, void *owner, const struct job_id *id, int64_t attempt,
		   job_begun_fn fn, void *arg);
/* Milliseconds for which it may go on; 0: lost or cancelled; -1: no such job. */
int64_t queues_renew(struct queues *q, const void *owner, uint64_t number);
/* The job has no live process. False: the owner has no such job, and fn is not called. */
bool queues_finish(struct queues *q, const void *owner, uint64_t number, const struct job_end *end,
		   job_ended_fn fn, void *arg);
/* The owner's processes are dead when the leases promised to it are over, at the latest. */
void queues_owner_gone(struct queues *q, const void *owner);

/* Begins no more jobs; those not begun are given back. */
void queues_stop(struct queues *q);
size_t queues_going(const struct queues *q);
/* Whether it is known of each queue which of its jobs go on here; the previous sidecar's, too. */
bool queues_known(const struct queues *q);
/* Whether this node has that queue. */
bool queues_serve(const struct queues *q, const char *name);
/* Running jobs are to end now. */
void queues_revoke(struct queues *q);
/* The next sidecar takes the session over, with all running jobs. */
void queues_keep(struct queues *q);

#endif
