/*
 * What is due by the schedules of the tasks that this node leads: which tick is to be run, again or
 * not any more. It claims nothing: it offers a tick, and who starts it claims it.
 *
 *     schedules.c       the list of them, the clock, and what others tell
 *     schedule_load.c   what is in force and what the ledger holds, at the begin of a leadership
 *     schedule_due.c    what one task has to do now
 */
#ifndef ZKLEADER_NODE_SCHEDULES_H
#define ZKLEADER_NODE_SCHEDULES_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "core/tick.h"
#include "node/host.h"
#include "wire/record.h"

struct leaders;
struct policy;
struct policy_item;
struct task;
struct task_settings;

/* A tick that is to be run now; whoever does claims it with this attempt. */
struct schedule_due {
	int64_t tick_ms; /* since the epoch */
	int64_t attempt;
	bool triggered;
	int64_t timeout_ms; /* of the run; 0: none */
};

/* What is kept of a task: schedules.c and its parts. */
struct task_due {
	enum {
		DUE_IDLE,    /* not led, or without a schedule */
		DUE_LOADING, /* what is in force is being read */
		DUE_READY
	} phase;
	int64_t token;	  /* of the leadership that this is of */
	unsigned edition; /* another for each beginning: an answer to an older one is of no use */
	bool dirty;	  /* something has changed: look at it */
	int64_t wake_ms;  /* CLOCK_BOOTTIME: look at it then; INT64_MAX: never */
	int64_t rest_ms;  /* likewise: nothing is tried before */
	int64_t since_ms; /* since the epoch: in force since, or nothing decided before */
	int64_t ended_ms; /* likewise: when the last pause was taken back, as this node saw it */
	int64_t paused_order; /* of that pause, as policy_item has it; 0: none was seen to end */
	int64_t active_ms;    /* since when this node has been deciding */
	int64_t busy_ms;      /* since when a run has been going on; OWED_NEVER: none is */
	bool writing;	      /* ticks that are missed, or a trigger that is of no use */
	/*
	 * The newest record; and the oldest of one before it whose run was lost, or may be yet,
	 * where that is to be begun again.
	 */
	struct due_run {
		char tick[TICK_NAME_SIZE]; /* "": none */
		char state[RECORD_STATE_MAX + 1];
		int64_t attempt, ended_at, session;
	} newest, open;
	int64_t lost_ms; /* CLOCK_BOOTTIME since when one that was lost is on offer; 0: none is */
	struct due_offer {
		bool on;
		bool lost; /* a run that was lost, and not one that has failed */
		struct schedule_due due;
		char trigger[NAME_ID_MAX + 1]; /* of the policy, "": none */
		char by[RECORD_BY_MAX + 1];
		int64_t again_ms; /* CLOCK_BOOTTIME: it is told again */
		int64_t pause_ms;
	} offer;
	/* The trigger that is looked at. */
	struct due_trigger {
		char id[NAME_ID_MAX + 1]; /* "": none */
		bool known;		  /* its tick's record has been read */
		const char *why;	  /* it cannot be run; NULL: it can */
		int64_t looked_ms;	  /* CLOCK_BOOTTIME when that was read */
		int64_t tick_ms, attempt;
	} trigger;
};

struct schedules {
	struct leaders *leaders;
	struct policy *policy;
	struct host *host;
	/* Called again with pauses until it is claimed; NULL: nobody is to be told. */
	void (*due)(void *arg, struct task *t, const struct schedule_due *due);
	void *arg;
	bool dirty;	  /* a task is */
	int64_t clock_ms; /* the wall clock ahead of CLOCK_BOOTTIME, as seen last */
	struct host_timer timer;
};

void schedules_init(struct schedules *s, struct host *host, struct leaders *l, struct policy *p);
void schedules_done(struct schedules *s);

/* The task is about to be freed. */
void schedules_forget(struct task *t);

/* Something has changed that concerns all of them, or this one. */
void schedules_changed(struct schedules *s);
void schedules_task_changed(struct schedules *s, struct task *t);
/* Who starts this user's jobs is there from now on: what is on offer is told at once. */
void schedules_tell_anew(struct schedules *s, uid_t user);
/* The tasks' settings are others. */
void schedules_configured(struct schedules *s);
/* A record was written by a run of this node. */
void schedules_noted(struct schedules *s, struct task *t, const char *tick,
		     const struct run_record *record);
/* A tick is older than what the ledger keeps, so it is not to be run. */
void schedules_older(struct schedules *s, struct task *t, const char *tick);
/* A decision is there, or has gone. */
void schedules_decided(struct schedules *s, const struct policy_item *item, bool ended);
/* The session is over: what the servers number begins anew, if they have lost all their data. */
void schedules_expired(struct schedules *s);
/* The record of a tick has changed. */
void schedules_watch(struct schedules *s, const char *path);

/* Whether that attempt of that tick is on offer; NULL: not. */
const struct due_offer *schedules_offer(const struct task *t, const char *tick, int64_t attempt);

/* For the parts, which write it, too. */
struct task_due *schedule_state(struct task *t);
void schedule_load(struct schedules *s, struct task *t);
/* One of the two records again, as it has changed elsewhere. */
void schedule_look(struct schedules *s, struct task *t, const char *tick);
/* What is kept of a record. */
struct due_run schedule_run(const char *tick, const struct run_record *record);
/* Its run goes on, or was lost. */
bool schedule_is_open(const struct due_run *run);
/* Another record is about to be the newest. */
void schedule_pass(struct task *t);
/* When its last pause ended, since the epoch: nothing up to then is owed, or begun again. */
int64_t schedule_floor(const struct schedules *s, const struct task *t);
/* Whether its tick is at the floor or before it. */
bool schedule_is_past(const struct due_run *run, int64_t floor_ms);
void schedule_advance(struct schedules *s, struct task *t);
/* Whether an answer that was asked for with this edition is still of use; the task if so. */
struct task *schedule_task(const struct schedules *s, const char *name, unsigned edition);
/* Begins anew after a pause. */
void schedule_again(struct schedules *s, struct task *t);

#endif
