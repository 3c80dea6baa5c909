/*
 * Runs of tasks on this host: the `claim` requests of `zkleader run` and `zkleader-check --once`
 * that wait for their tick, and the jobs that are going on and hold their task here.
 */
#ifndef ZKLEADER_NODE_RUNS_H
#define ZKLEADER_NODE_RUNS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "node/handoff.h"
#include "node/leaders.h"

struct run;

/* The answer to a request. */
struct run_answer {
	enum {
		RUN_ANSWER_CLAIM,  /* all but timeout_ms, attached and recorded */
		RUN_ANSWER_ATTACH, /* attached, run, recorded */
		RUN_ANSWER_RENEW,  /* lease_ms (0: it does not lead any more), timeout_ms */
		RUN_ANSWER_FINISH, /* recorded */
		/* why: the request is not good, or about nothing that there is */
		RUN_ANSWER_MISUSE,
		RUN_ANSWER_FAILED /* why */
	} kind;
	const char *outcome;		 /* "yours", "taken", "waited" or "nobody" */
	const char *why;		 /* "" */
	const char *notice;		 /* for people, where nobody has claimed the tick; "" */
	const char *tick;		 /* NULL: none */
	const char *worker_id, *version; /* of this node; "" while it is not registered */
	int64_t token;
	int64_t attempt;
	int64_t index; /* of this node; -1: it is not to be told */
	int64_t lease_ms;
	int64_t timeout_ms;  /* of the session */
	uint64_t run;	     /* by which it is renewed and finished */
	int partition;	     /* of a claim: K; 0 also where it has none */
	unsigned partitions; /* that there are; 0: it is led as a whole, or none was got */
	bool busy;
	bool output; /* of a claim: the end of what the run writes is to be told */
	bool attached;
	bool recorded;
};

/* The owner is whoever made the request: opaque, and good until runs_owner_gone(). */
struct runs_handlers {
	/* Exactly once for each request, at once or later, unless its owner is gone. */
	void (*answer)(void *owner, uint32_t request, const struct run_answer *answer);
	/*
	 * A claim or an attachment of that owner is over, or has been refused, and holds nothing
	 * any more.
	 */
	void (*released)(void *owner);
};

struct runs {
	struct leaders *leaders;
	struct host *host;
	struct runs_handlers handlers;
	void (*keep)(void *arg, const struct handoff_run *runs, size_t n);
	void *keep_arg;
	/* A run here has begun, or ended, as the record says; tick: "" where there is none. */
	void (*told)(void *arg, const char *task, const char *tick,
		     const struct run_record *record); /* NULL: nobody listens */
	void *told_arg;
	struct run *list;
	uint32_t last_id;
	/* A record of a tick has been written; NULL: nobody is told. */
	void (*noted)(void *arg, struct task *t, const char *tick, const struct run_record *record);
	/* A tick was not claimed, as it is older than what the ledger keeps; NULL likewise. */
	void (*older)(void *arg, struct task *t, const char *tick);
	void *noted_arg;  /* of both */
	bool dirty;	  /* something has changed: look at the runs again */
	bool revoked;	  /* the sidecar is going: no job may run on */
	int64_t quiet_ms; /* before this nothing begins: jobs of our predecessor may live */
	struct host_turn turn;
	struct host_timer due;
};

struct run_options {
	char id[NAME_ID_MAX + 1]; /* by which the caller knows its claim again; "" */
	bool again;		  /* it has sent it before, to a sidecar that went */
	bool once;		  /* nothing runs under our eyes: the claim is all */
	int64_t now_ms;		  /* the caller's wall clock */
	int64_t zone_ms;	  /* by which its local time is ahead of UTC */
	int64_t tick_ms;	  /* 0: no tick, no ledger */
	/* The attempt that the task's schedule wants of the tick at now_ms; 0: none. */
	int64_t scheduled;
	int64_t wait_ms;
	int64_t pid;   /* of the caller, for the log */
	int64_t index; /* of this node, that it is to be told; -1: none */
	unsigned ran;  /* runs_claim_any(): partitions that the same call has got before */
	uint64_t got[NAME_PARTITIONS_MAX / 64]; /* which, by K */
};

/* How a job has ended. */
struct run_outcome {
	int64_t exit_status; /* 0 to 255 */
	bool interrupted;    /* before it had come to its end */
	bool timeout;	     /* it was ended by its timeout */
	const char *output;  /* the end of what it wrote, at most RECORD_OUTPUT_MAX bytes */
	size_t output_len;
};

/* keep is told of the jobs that are going on, for the node that comes after this one. */
void runs_init(struct runs *r, struct host *host, struct leaders *leaders,
	       const struct runs_handlers *handlers,
	       void (*keep)(void *arg, const struct handoff_run *runs, size_t n), void *keep_arg);
/* told is called as each run begins and ends here. */
void runs_on_told(struct runs *r,
		  void (*told)(void *arg, const char *task, const char *tick,
			       const struct run_record *record),
		  void *arg);
/* Once nothing calls back any more. */
void runs_done(struct runs *r);

/* The requests. The caller has checked that the owner may. */
void runs_claim(struct runs *r, void *owner, uint32_t request, struct task *t,
		const struct run_options *options);
/*
 * Of any partition of the task that is led here and whose tick nobody has claimed, as soon as fewer
 * than its partition-jobs run here. wait_ms is how long it waits for partitions that come to be led
 * here: while one is, it waits on. "taken": some were run, by this call or by others.
 */
void runs_claim_any(struct runs *r, void *owner, uint32_t request, struct listing *listing,
		    const struct run_options *options);
void runs_renew(struct runs *r, void *owner, uint32_t request, uint64_t run);
void runs_finish(struct runs *r, void *owner, uint32_t request, uint64_t run,
		 const struct run_outcome *outcome);

/*
 * The supervisor of a run whose connection went is there again: it is known by the id of its claim.
 * Its answer comes when this node leads as it did when the job began, or is that it is not
 * attached.
 */
void runs_attach(struct runs *r, void *owner, uint32_t request, const struct task *t,
		 const char *id, int64_t pid);

/*
 * How many jobs are going on, or may be until their lease is over; each is logged, if log says so.
 */
size_t runs_going(const struct runs *r, bool log);
/* How many runs are not over: what is going on, and what has ended and is not recorded yet. */
size_t runs_open(const struct runs *r);
bool runs_hold(const struct runs *r, const struct task *t);
/* Calls fn for each of them; tick: "" where there is none. */
void runs_each_going(const struct runs *r,
		     void (*fn)(void *arg, const char *task, const char *tick), void *arg);
/*
 * Our session was taken over, with these jobs: they are dead when its lease is over, or attach.
 * Where not all are known, nothing begins before.
 */
void runs_take_over(struct runs *r, const struct handoff_run *list, size_t n, bool all_known,
		    int64_t timeout_ms);
/* From now on `renew` tells every job that the leadership is lost. */
void runs_revoke(struct runs *r);

/* What happens elsewhere. */
void runs_changed(struct runs *r);
void runs_owner_gone(struct runs *r, const void *owner);
void runs_task_added(struct runs *r, struct task *t);
void runs_task_removed(struct runs *r, const struct task *t);
void runs_expired(struct runs *r);
void runs_watch(struct runs *r, enum store_watch type, const char *path);

#endif
