/*
 * One run of a task on this host, from the question whether its tick is to be run here to the
 * record of its end: what to do next, by what was seen. Pure, like the election: no clock, no I/O,
 * no allocation. The same code runs in the sidecar and in the simulator.
 *
 * The contract with the caller:
 * - run_next() is asked whenever something may have changed, and at run_due(). Each LOOK…, CLAIM…,
 * TAKE_OVER and WRITE_END is answered by one call of run_answered(); meanwhile there is nothing to
 * do.
 * - A look sets a watch on the tick's record, whether it is there or not; run_fired() tells that it
 * has.
 */
#ifndef ZKLEADER_CORE_RUN_H
#define ZKLEADER_CORE_RUN_H

#include <stdbool.h>
#include <stdint.h>

#define RUN_CALL_MS \
	1500 /* that a lost run is left to who leads by then, before another asks to lead */
#define RUN_ORPHAN_MS 60000 /* that it is stood by for at the least */
#define RUN_FINISH_MS 30000 /* how long a finished run's record is tried to be written */
#define RUN_AGAIN_MS  50    /* before what met something unexpected is tried again */

/* What the ledger answers. */
enum ledger_result {
	LEDGER_ABSENT,	/* look: there is no record of it, and a watch waits for one */
	LEDGER_PRESENT, /* there is */
	LEDGER_OLDER,	/* look, claim: the tick is older than what the ledger keeps */
	LEDGER_DONE,	/* claim, write: committed */
	LEDGER_AGAIN,	/* something else is there than was expected: look again */
	LEDGER_UNKNOWN, /* the connection went: look again when it is back */
	LEDGER_FAILED,	/* refused by the server, and logged */
};

enum run_phase {
	RUN_WAITING, /* for leadership, for the tick, or for another's run to end */
	RUN_GOING,   /* the job runs, and holds the task */
	RUN_DYING,   /* its supervisor is gone: the job may live until the lease is over */
	/* likewise, of the sidecar before us, whose session we have; or it comes back */
	RUN_INHERITED,
	RUN_FINISHING, /* its end is being written */
	RUN_OVER
};

/* A tick's record, as far as it matters here. */
struct run_seen {
	bool readable;
	bool ours;    /* this very run wrote it */
	bool running; /* by the session `session` */
	bool lost;    /* and so dead, says who ran it */
	bool failed;  /* with a status other than 0, or by its timeout */
	bool ended;   /* written by this run with the state that it ended with */
	int64_t session, token, attempt;
};

/* What is known of the clock that the tick is named by. */
enum run_clock {
	RUN_CLOCK_GOOD,
	RUN_CLOCK_UNSURE, /* it has yet to be compared */
	RUN_CLOCK_OFF,	  /* it differs from the server's and from most workers' */
	RUN_CLOCK_EARLY,  /* the tick is ahead of its time by this node's clock and the server's */
};

/* What there is at the moment. */
struct run_sight {
	int64_t now_ms; /* CLOCK_BOOTTIME */
	bool up;	/* the session is confirmed on this connection */
	bool leads;	/* this node leads the task, with its lease, and may begin a run */
	bool brief;	/* so little is left of that lease that a job would be ended at once */
	bool elsewhere; /* another leads */
	bool same;	/* this node leads by the token that the run began with, and with a lease */
	/* another run of the task goes on here, or is being claimed, and is not to overlap */
	bool busy;
	bool beside; /* another job of the task goes on here, and none is to begin beside it */
	bool dying;  /* another job of the task may live here, whose supervisor is gone */
	bool paused, drained;
	bool spent; /* the tick counts as claimed, whether there is a record of it or not */
	enum run_clock clock;
	/* the session in the record may be alive: its worker is registered, or may be */
	bool runner_lives;
	bool rerun;	     /* a lost run is to be run again */
	bool offered;	     /* of a scheduled run: the schedule wants this attempt still */
	bool triggered;	     /* somebody wants what has ended to be run again */
	int64_t token;	     /* of the present leadership */
	int64_t hold_max_ms; /* for which a job may keep the task where it is */
};

enum run_action {
	RUN_NOTHING,
	RUN_LOOK,  /* read the record and set a watch on it; whole if `whole` */
	RUN_CLAIM, /* a record of attempt 1 */
	/* likewise of attempt `seen.attempt`: nothing has begun under the old leadership */
	RUN_CLAIM_ANEW,
	/* the record of attempt `seen.attempt` + 1 in the place of the one last read */
	RUN_TAKE_OVER,
	RUN_START,     /* the tick is ours: tell the caller, and let the job begin */
	RUN_SPENT,     /* the tick is ours, but nobody is there to run it: run_finish() */
	RUN_TAKEN,     /* tell the caller: another has it */
	RUN_WAITED,    /* tell the caller: nobody here may run it, why by the sight */
	RUN_PAUSED,    /* tell the caller: nobody may run it, the task is paused */
	RUN_BUSY,      /* tell the caller: the run before it has not ended in time */
	RUN_OLDER,     /* tell the caller: the tick may have been run, and forgotten */
	RUN_OFF,       /* tell the caller: this node's clock is off */
	RUN_EARLY,     /* tell the caller: the tick is ahead of its time */
	RUN_REFUSED,   /* tell the caller: the server refuses the ledger */
	RUN_GONE,      /* the caller has gone: there is nothing to tell */
	RUN_LOST,      /* it is dead without having ended: run_finish() */
	RUN_WRITE_END, /* write the record of the end, in the place of the one of this version */
	/* read the record whole, as its end may have been recorded before we came */
	RUN_LOOK_INHERITED,
	RUN_LOOK_ATTACHED, /* likewise, as its end is to be recorded by us */
	RUN_ATTACHED,	   /* tell the supervisor: its job goes on under our eyes */
	RUN_UNATTACHED,	   /* tell the supervisor: the run is over */
	RUN_LOOK_END,	   /* read the record whole: what of it is ours */
	RUN_RECORDED,	   /* over, and its end is written */
	RUN_UNRECORDED	   /* over, and its end is not, or another has taken it over */
};

struct run_state {
	enum run_phase phase;
	int64_t scheduled; /* the attempt that a schedule wants; 0: not by a schedule */
	bool once;	   /* nothing runs under our eyes: the claim is all */
	bool ticks;	   /* there is a tick, and so a record */
	bool caller;	   /* is there */
	int64_t wait_ms;
	enum run_action asked; /* on its way; RUN_NOTHING: none */
	bool fired;	       /* the watch has, since that was sent */
	bool looked;	       /* there, seen and version are what the watch stands for */
	bool there;
	bool claimed; /* it was tried: what is there may be ours */
	/* the ledger takes the tick for claimed, whether it has a record of it or not */
	bool counts;
	bool unsure; /* what was sent last may have been done, although its answer was lost */
	bool whole;  /* the last look was for the record, too */
	bool calls;  /* asks to lead, to take a lost run over */
	int64_t not_before_ms; /* nothing is tried again before */
	int64_t deadline_ms;   /* of the wait, of the dying and of the finishing */
	bool stands;	       /* by, for the run of another */
	int64_t cut_ms;	       /* since when it does so without a session; 0: it has one */
	int64_t orphan_ms; /* since when the run was seen to be lost: deadline_ms counts again; 0 */
	struct run_seen seen;
	int32_t version; /* of the record */
};

/*
 * A new run waits for wait_ms from now on, or from quiet_ms, before which nothing is tried; with
 * ticks it needs the ledger. again: it may have been claimed before, by a sidecar that has ended
 * since.
 */
void run_begin(struct run_state *r, int64_t now_ms, int64_t wait_ms, int64_t quiet_ms, bool ticks,
	       bool once, bool again);
/*
 * It is the attempt of this number that a schedule wants: the first, or the one after an attempt
 * that failed, was lost and is to be run again, or that somebody wants again.
 */
void run_by_schedule(struct run_state *r, int64_t attempt);
/* A run of the sidecar before us, whose job is dead by until_ms. */
void run_inherit(struct run_state *r, int64_t until_ms, bool ticks);
/* What to do now. */
enum run_action run_next(struct run_state *r, const struct run_sight *sight);
/* The answer to what was asked; seen: what was read, NULL for nothing. What follows at once. */
enum run_action run_answered(struct run_state *r, const struct run_sight *sight,
			     enum ledger_result result, const struct run_seen *seen,
			     int32_t version);
/* The record that was looked for has been made, or has changed. */
void run_fired(struct run_state *r, const struct run_sight *sight, bool made);
/* The session has ended, and all watches with it. */
void run_expired(struct run_state *r);
/* The caller, and so what supervises the job, is gone: the job may live for lease_ms more. */
void run_caller_gone(struct run_state *r, int64_t now_ms, int64_t lease_ms);
/* It is no longer of interest, and has not begun. */
void run_give_up(struct run_state *r);
/*
 * The supervisor of a run that is dying or was inherited is there again. RUN_ATTACHED, or
 * RUN_NOTHING: that or RUN_UNATTACHED follows from run_next().
 */
enum run_action run_attach(struct run_state *r);
/* The job is dead: its end is to be recorded. RUN_RECORDED if there is nothing to record. */
enum run_action run_finish(struct run_state *r, int64_t now_ms);
/* When to ask run_next() again though nothing has happened; INT64_MAX: never. */
int64_t run_due(const struct run_state *r, int64_t now_ms);
/*
 * Whether it has begun and is not over: its job may be alive, or its end is still to be recorded.
 */
bool run_is_open(const struct run_state *r);
/* Whether a job of it is alive, or may be. */
bool run_is_alive(const struct run_state *r, int64_t now_ms);
/*
 * Whether it holds the task here, and no other run of the task is to begin beside it: its job may
 * be alive, or is about to be. Were the task given up while a claim is on its way, the tick would
 * be spent for nothing.
 */
bool run_holds(const struct run_state *r);

#endif
