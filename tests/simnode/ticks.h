/* The history of each tick, and what is promised of its run. */
#ifndef TESTS_SIMNODE_TICKS_H
#define TESTS_SIMNODE_TICKS_H

#include "jobs.h"

#define JOBS_MAX 2048

/* A request of `zkleader run`, and the job that follows. */
struct job {
	enum job_phase {
		JOB_NONE,
		JOB_ASKING,  /* for the tick */
		JOB_CLAIMED, /* it is to begin, once its lease has been asked for */
		JOB_RUNNING, /* it may be dead at any moment */
		JOB_ENDED    /* its end is to be recorded */
	} phase;
	uint64_t serial;
	unsigned site, task;  /* TASKS_MAX: of any partition, while it has none */
	bool any;	      /* it asks for any partition */
	bool once;	      /* the claim is all: nothing runs */
	unsigned ran;	      /* partitions that the same call has got before */
	int64_t tick, now_ms; /* number of the tick; the wall clock when it was asked for */
	char id[NAME_ID_MAX + 1];
	bool connected; /* the sidecar knows this supervisor */
	bool attaching; /* or is about to: it has yet to answer */
	bool asked;	/* its claim has been sent, to whichever sidecar */
	bool told;	/* the end: the answer is awaited */
	bool ok;	/* nobody has ended it but its timeout */
	uint64_t run;
	int64_t session; /* that it was claimed in: once that has ended another may take it over */
	/* The attempt that a schedule wants, 0: none does; and what it says of the run. */
	int64_t scheduled, timeout_ms;
	bool timed_out;
	int status;   /* once it has ended, by whom ever */
	uint64_t era; /* of the ledger: a new one when all data was lost */
	int64_t attempt;
	int64_t deadline_ms; /* by the host's clock */
	int64_t sent_ms;     /* of the last renewal */
	int64_t since;	     /* true time of the phase */
	/* true times since which, without a break, 0: not now */
	int64_t due; /* nothing keeps its sidecar from claiming the tick */
	int64_t fit; /* its sidecar stands by for a lost run, and asks to lead */
};

extern struct job jobs[JOBS_MAX];

/* Whether the job is alive, by its own host's clock. */
bool job_is_alive(const struct job *j);
/* Whether it has ended by itself, and well. */
bool job_is_done(const struct job *j);

void ticks_reset(void);
/* All data was lost: the ledger begins anew. */
void ticks_forget(void);
/* Forgets what was known of the task's ticks; and how often that was done. */
void ticks_anew(unsigned task);
uint64_t ticks_anew_count(void);
uint64_t ticks_era(void);
/* The time of the simulation at which that was; 0: never. */
int64_t ticks_era_since(void);
/* The job begins. */
void ticks_check_start(const struct job *j);
/*
 * Notes that a triggered tick was claimed: what comes of it counts. anew: its record was pruned
 * before the leader knew of the order, so that its attempts are counted from the start.
 */
void ticks_triggered(unsigned task, int64_t tick, bool anew);
/* Its end has been recorded. */
void ticks_recorded(const struct job *j);
/* A turn of the site's node is over. */
void ticks_look(const struct site *s);
/* The job is told that others have run it. */
void ticks_taken(const struct job *j);
/* Nobody here may run it, as its sidecar says. */
void ticks_waited(const struct job *j);

#endif
