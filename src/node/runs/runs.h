/*
 * Runs of tasks on this host: waiting `claim` requests of `zkleader run` and `zkleader-check
 * --once`, and running jobs, which hold their task here.
 */
#ifndef ZKLEADER_NODE_RUNS_RUNS_H
#define ZKLEADER_NODE_RUNS_RUNS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/queue.h>

#include "core/queue/attempt.h"
#include "node/election/leaders.h"
#include "node/holder/holder.h"
#include "node/session/handoff.h"

struct run;

/* The answer to a request. */
struct run_answer {
	enum {
		RUN_ANSWER_CLAIM,  /* all fields but timeout_ms, attached and recorded */
		RUN_ANSWER_ATTACH, /* attached, run, recorded */
		RUN_ANSWER_RENEW,  /* lease_ms (0: no longer the leader), timeout_ms */
		RUN_ANSWER_FINISH, /* recorded */
		/* why: the request is invalid, or its subject does not exist */
		RUN_ANSWER_MISUSE,
		RUN_ANSWER_FAILED /* why */
	} kind;
	const char *outcome;		 /* "yours", "taken", "waited" or "nobody" */
	const char *why;		 /* "" */
	const char *notice;		 /* for people, if the tick was not claimed; "" */
	const char *tick;		 /* NULL: none */
	const char *worker_id, *version; /* of this node; "" while it is not registered */
	int64_t token;
	int64_t attempt;
	int64_t index; /* of this node; -1: not sent */
	int64_t lease_ms;
	int64_t timeout_ms;  /* of the session */
	uint64_t run;	     /* its id for renew and finish */
	int partition;	     /* of a claim: K, or 0 without partitions */
	unsigned partitions; /* their number; 0: led as a whole, or none was claimed */
	bool busy;
	bool output;	  /* of a claim: send the end of the output with the finish */
	bool keep_output; /* likewise, and keep also what is written to a terminal */
	bool attached;
	bool recorded;
};

/* The owner is the requester: opaque, and valid until runs_owner_gone(). */
struct runs_handlers {
	/* Exactly once for each request, at once or later, unless its owner is gone. */
	void (*answer)(void *owner, uint32_t request, const struct run_answer *answer);
	/*
	 * A claim or an attachment of that owner has ended or was refused, and holds nothing any
	 * more.
	 */
	void (*released)(void *owner);
};

struct runs {
	struct leaders *leaders;
	struct host *host;
	struct runs_handlers handlers;
	void (*keep)(void *arg, const struct handoff_run *runs, size_t n);
	void *keep_arg;
	/* A run here has begun or ended, as the record says; tick: "" if it has none. */
	void (*told)(void *arg, const char *task, const char *tick,
		     const struct run_record *record); /* NULL: no listener */
	void *told_arg;
	TAILQ_HEAD(run_list, run) list; /* in the order of their requests */
	struct holders holders;
	/* A record of a tick has been written; NULL: no listener. */
	void (*noted)(void *arg, struct task *t, const char *tick, const struct run_record *record);
	/* A tick was not claimed, as it is older than the ledger keeps; NULL: no listener. */
	void (*older)(void *arg, struct task *t, const char *tick);
	void *noted_arg;  /* of both */
	bool dirty;	  /* something has changed: check the runs again */
	int64_t quiet_ms; /* nothing begins before: the previous sidecar's jobs may be alive */
	struct host_turn turn;
	struct host_timer due;
};

struct run_options {
	char id[NAME_ID_MAX + 1]; /* drawn by the caller, to attach later; "" */
	bool again;		  /* a repeated request, after a previous sidecar ended */
	bool once;		  /* only the claim: the run itself is not supervised */
	int64_t now_ms;		  /* the caller's wall clock */
	int64_t zone_ms;	  /* offset of its local time from UTC */
	int64_t tick_ms;	  /* 0: no tick, no ledger */
	/* The attempt that the task's schedule requests for the tick at now_ms; 0: none. */
	int64_t scheduled;
	int64_t wait_ms;
	int64_t pid;   /* of the caller, for the log */
	int64_t index; /* of this node, to be sent; -1: none */
	unsigned ran;  /* runs_claim_any(): partitions that this call has run before */
	uint64_t got[NAME_PARTITIONS_MAX / 64]; /* which, by K */
};

/* How a job has ended. */
struct run_outcome {
	struct attempt_end what;
	const char *output; /* the end of what it wrote, at most RECORD_OUTPUT_MAX bytes */
	size_t output_len;
	char start[ATTEMPT_START_MAX + 1]; /* why the command could not be started; "": it was */
};

/* keep is called with the running jobs, for the handoff to the next sidecar. */
void runs_init(struct runs *r, struct host *host, struct session *session, struct leaders *leaders,
	       const struct runs_handlers *handlers,
	       void (*keep)(void *arg, const struct handoff_run *runs, size_t n), void *keep_arg);
/* told is called when a run begins or ends here. */
void runs_on_told(struct runs *r,
		  void (*told)(void *arg, const char *task, const char *tick,
			       const struct run_record *record),
		  void *arg);
/* Called when there are no callbacks any more. */
void runs_done(struct runs *r);

/* The requests. The caller has checked their permission. */
void runs_claim(struct runs *r, void *owner, uint32_t request, struct task *t,
		const struct run_options *options);
/*
 * Claims any partition of the task that is led here and whose tick is not claimed, as soon as fewer
 * jobs than partition-jobs run here. wait_ms: how long it waits for partitions to be led here;
 * while one is, it waits on. "taken": some were run, by this call or by others.
 */
void runs_claim_any(struct runs *r, void *owner, uint32_t request, struct listing *listing,
		    const struct run_options *options);
void runs_renew(struct runs *r, void *owner, uint32_t request, uint64_t run);
void runs_finish(struct runs *r, void *owner, uint32_t request, uint64_t run,
		 const struct run_outcome *outcome);

/*
 * The supervisor of a run reconnects after losing its connection; id: of its claim. The answer
 * comes once this node leads as it did when the job began, or says that it is not attached.
 */
void runs_attach(struct runs *r, void *owner, uint32_t request, const struct task *t,
		 const char *id, int64_t pid);

/*
 * Number of jobs that run, or may run until their lease is over; with log each is logged.
 */
size_t runs_going(const struct runs *r, bool log);
/* Number of runs that are running, or ended and not recorded yet. */
size_t runs_open(const struct runs *r);
bool runs_hold(const struct runs *r, const struct task *t);
/*
 * Calls fn, unless it is NULL, for each job that is running at that time, and returns their number;
 * tick: "" if it has none.
 */
size_t runs_each_going(const struct runs *r, int64_t now_ms,
		       void (*fn)(void *arg, const char *task, const char *tick), void *arg);
/*
 * Our session was taken over, with these jobs: each attaches, or is dead when the lease is over. If
 * the list is incomplete, nothing begins before that.
 */
void runs_take_over(struct runs *r, const struct handoff_run *list, size_t n, bool all_known,
		    int64_t timeout_ms);
/* From now on `renew` answers every job that the leadership is lost. */
void runs_revoke(struct runs *r);

/* Events from elsewhere. */
void runs_changed(struct runs *r);
void runs_owner_gone(struct runs *r, const void *owner);
void runs_task_added(struct runs *r, struct task *t);
void runs_task_removed(struct runs *r, const struct task *t);
void runs_expired(struct runs *r);
void runs_watch(struct runs *r, enum store_watch type, const char *path);

#endif
