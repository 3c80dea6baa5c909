/*
 * A run of a task on this host, from the claim of its tick to the record of its end: decides what
 * to do next. Pure, like the election: no clock, no I/O, no allocation. The same code runs in the
 * sidecar and in the simulator.
 *
 * The contract with the caller:
 * - run_next() is called whenever something may have changed, and at run_due(). Each LOOK…, CLAIM…,
 * TAKE_OVER and WRITE_END is answered by one call of run_answered(); until then run_next() returns
 * RUN_NOTHING.
 * - A look sets a watch on the tick's record, whether the record exists or not; run_fired() says
 * that the watch has fired. Where there is no watch it is called by time.
 */
#ifndef ZKLEADER_CORE_ELECTION_RUN_H
#define ZKLEADER_CORE_ELECTION_RUN_H

#include <stdbool.h>
#include <stdint.h>

#define RUN_CALL_MS \
	1500 /* a lost run is left to the leader for so long, before another node asks to lead */
#define RUN_ORPHAN_MS 60000 /* how long at least a node stands by to take over a lost run */
#define RUN_FINISH_MS 30000 /* how long writing the record of a finished run is tried */
#define RUN_AGAIN_MS  50    /* pause before a retry after an unexpected answer */

/* The answers of the ledger. */
enum ledger_result {
	LEDGER_ABSENT,	/* look: there is no record of the tick; a watch is set for one */
	LEDGER_PRESENT, /* there is a record */
	LEDGER_OLDER,	/* look, claim: the tick is older than all that the ledger keeps */
	LEDGER_DONE,	/* claim, write: committed */
	LEDGER_AGAIN,	/* the record is not the expected one: look again */
	LEDGER_UNKNOWN, /* the connection was lost: look again when it is back */
	LEDGER_FAILED,	/* refused by the server, and logged */
};

enum run_phase {
	RUN_WAITING, /* for leadership, for the tick, or for the end of another run */
	RUN_GOING,   /* the job runs, and holds the task */
	RUN_DYING,   /* its supervisor is gone: the job may live until the lease ends */
	/* as DYING, of the previous sidecar, whose session we have; its supervisor may come back */
	RUN_INHERITED,
	RUN_FINISHING, /* its end is being written */
	RUN_OVER
};

/* The part of a tick's record that matters here. */
struct run_seen {
	bool readable;
	bool ours;    /* written by this run */
	bool running; /* by the session `session` */
	bool lost;    /* dead, as recorded by the sidecar that ran it */
	bool failed;  /* with a status other than 0, or timed out */
	bool ended;   /* written by this run as the record of its end */
	int64_t session, token, attempt;
};

/* The state of the clock from which the tick was taken. */
enum run_clock {
	RUN_CLOCK_GOOD,
	RUN_CLOCK_UNSURE, /* not compared yet */
	RUN_CLOCK_OFF,	  /* the clock differs from those of the server and of most workers */
	RUN_CLOCK_EARLY,  /* the tick is in the future by this node's clock and the server's */
};

/* The present situation. */
struct run_sight {
	int64_t now_ms; /* CLOCK_BOOTTIME */
	bool up;	/* the session is confirmed on this connection */
	bool leads;	/* this node leads the task with a valid lease, and may begin a run */
	bool brief;	/* the lease is so short that a job would be ended at once */
	bool elsewhere; /* another node leads */
	bool same; /* this node leads by the token with which the run began, with a valid lease */
	/* another run of the task, with which none may overlap, goes on or is claimed here */
	bool busy;
	bool beside; /* another job of the task goes on here, and none may begin beside it */
	bool dying;  /* another job of the task, whose supervisor is gone, may be alive here */
	bool behind; /* older runs are over, and people are about to be told: its end comes later */
	bool paused, drained;
	bool spent;	/* the tick counts as claimed, with or without a record */
	bool unwatched; /* its record is looked at by time alone */
	enum run_clock clock;
	/* the session in the record may be alive: its worker is or may be registered */
	bool runner_lives;
	bool rerun;	     /* a lost run is run again */
	bool offered;	     /* scheduled run: the schedule still wants this attempt */
	bool triggered;	     /* an operator has asked for another attempt of a run that ended */
	int64_t token;	     /* the present fencing token */
	int64_t hold_max_ms; /* for how long a job may keep the task on this node */
};

enum run_action {
	RUN_NOTHING,
	RUN_LOOK,  /* check for the record and set a watch on it; read it whole if `whole` */
	RUN_CLAIM, /* write a record of attempt 1 */
	/* write attempt `seen.attempt` anew: no job has begun under the old leadership */
	RUN_CLAIM_ANEW,
	/* replace the record last read by one of attempt `seen.attempt` + 1 */
	RUN_TAKE_OVER,
	RUN_START,   /* the tick is ours: tell the caller, and let the job begin */
	RUN_SPENT,   /* the tick is ours, but the caller that would run it is gone: run_finish() */
	RUN_TAKEN,   /* tell the caller: the tick is claimed by another */
	RUN_WAITED,  /* tell the caller: it may not run here; struct run_sight says why */
	RUN_PAUSED,  /* tell the caller: the task is paused */
	RUN_BUSY,    /* tell the caller: the previous run has not ended in time */
	RUN_OLDER,   /* tell the caller: the tick may have run, and its record be pruned */
	RUN_OFF,     /* tell the caller: this node's clock is off */
	RUN_EARLY,   /* tell the caller: the tick is in the future */
	RUN_REFUSED, /* tell the caller: the server refuses the ledger */
	RUN_GONE,    /* the caller is gone: there is nothing to tell */
	RUN_LOST,    /* the run died without a recorded end: run_finish() */
	RUN_WRITE_END, /* write the record of the end over the record of this version */
	/* read the record whole: the previous sidecar may have recorded the end */
	RUN_LOOK_INHERITED,
	RUN_LOOK_ATTACHED, /* likewise: the supervisor is back, so we will record the end */
	RUN_ATTACHED,	   /* tell the supervisor: we supervise its job now */
	RUN_UNATTACHED,	   /* tell the supervisor: the run is over */
	RUN_LOOK_END,	   /* read the record whole: find out whether it is ours */
	RUN_RECORDED,	   /* over, and its end is written */
	RUN_UNRECORDED	   /* over, and its end is not written, or another has taken it over */
};

struct run_state {
	enum run_phase phase;
	int64_t scheduled; /* the attempt that a schedule wants; 0: not scheduled */
	bool once;	   /* the claim is all: no job is supervised */
	bool ticks;	   /* the run has a tick, and so a record */
	bool caller;	   /* is connected */
	int64_t wait_ms;
	enum run_action asked; /* the outstanding request; RUN_NOTHING: none */
	bool fired;	       /* the watch has fired since that request */
	bool looked; /* there, seen and version are current as long as the watch has not fired */
	bool there;
	bool claimed; /* a claim was tried: an existing record may be ours */
	/* by the ledger the tick counts as claimed, with or without a record */
	bool counts;
	bool unsure; /* the last request may have been executed, but its answer was lost */
	bool whole;  /* the last look has read the record, too */
	bool late;   /* the last look came as the wait was over */
	bool calls;  /* the node asks to lead, to take over a lost run */
	int64_t not_before_ms; /* no retry before */
	int64_t deadline_ms;   /* end of phases WAITING, DYING and FINISHING */
	bool stands;	       /* stands by to take over the run of another node */
	int64_t cut_ms;	       /* since when it stands by without a session; 0: it has one */
	int64_t orphan_ms;     /* when the run was found to be lost: it sets deadline_ms anew; 0 */
	struct run_seen seen;
	int32_t version; /* version of the record */
};

/*
 * Begins a run, which waits for wait_ms, from now on or from quiet_ms, before which nothing is
 * tried. With ticks it needs the ledger. again: an earlier sidecar may have claimed it already.
 */
void run_begin(struct run_state *r, int64_t now_ms, int64_t wait_ms, int64_t quiet_ms, bool ticks,
	       bool once, bool again);
/*
 * Sets the attempt that a schedule wants. It is the first, or follows an attempt that failed, was
 * lost and is to be run again, or for which another was asked.
 */
void run_by_schedule(struct run_state *r, int64_t attempt);
/* Begins as a run of the previous sidecar; its job is dead by until_ms. */
void run_inherit(struct run_state *r, int64_t until_ms, bool ticks);
/* Decides what to do now. */
enum run_action run_next(struct run_state *r, const struct run_sight *sight);
/* Takes an answer; seen is the record read, or NULL. Returns what to do at once. */
enum run_action run_answered(struct run_state *r, const struct run_sight *sight,
			     enum ledger_result result, const struct run_seen *seen,
			     int32_t version);
/* The watch has fired: the record was made, or has changed. */
void run_fired(struct run_state *r, const struct run_sight *sight, bool made);
/* The session has ended, and all watches with it. */
void run_expired(struct run_state *r);
/* The caller, and so the job's supervisor, is gone: the job may live for lease_ms more. */
void run_caller_gone(struct run_state *r, int64_t now_ms, int64_t lease_ms);
/* Ends a run that has not begun and is no longer wanted. */
void run_give_up(struct run_state *r);
/*
 * The supervisor of a run that is DYING or INHERITED is back. Returns RUN_ATTACHED, or RUN_NOTHING
 * if run_next() will return RUN_ATTACHED or RUN_UNATTACHED later.
 */
enum run_action run_attach(struct run_state *r);
/* The job is dead: records its end. Returns RUN_RECORDED if there is nothing to record. */
enum run_action run_finish(struct run_state *r, int64_t now_ms);
/* When to call run_next() again even if nothing happens; INT64_MAX: never. */
int64_t run_due(const struct run_state *r, int64_t now_ms);
/*
 * Whether the run has begun and is not over: its job may be alive, or its end is still to be
 * recorded.
 */
bool run_is_open(const struct run_state *r);
/* Whether a job of the run is alive, or may be. */
bool run_is_alive(const struct run_state *r, int64_t now_ms);
/*
 * Whether the run holds the task on this node, and no other run of the task may begin beside it:
 * its job may be alive, or is about to start. Were the task released while a claim is outstanding,
 * the tick would be spent for nothing.
 */
bool run_holds(const struct run_state *r);

#endif
