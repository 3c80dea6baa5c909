/*
 * The schedules of the tasks that this node leads: decides which tick is due, is retried or is
 * missed. It claims nothing: it offers a tick, and the run that starts claims it.
 *
 *     schedules.c       the tasks, the clock, and events from elsewhere
 *     schedule_load.c   reads settings and ledger at the begin of a leadership
 *     schedule_due.c    the next action of one task
 *     schedule_trigger.c   what somebody triggered
 */
#ifndef ZKLEADER_NODE_SCHEDULE_SCHEDULES_H
#define ZKLEADER_NODE_SCHEDULE_SCHEDULES_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "core/time/owed.h"
#include "core/time/tick.h"
#include "node/host.h"
#include "node/settings.h"
#include "node/store.h"
#include "wire/records/record.h"

struct leaders;
struct policy;
struct policy_item;
struct task;
struct task_settings;

/* A tick to be run now; its run claims it with this attempt. */
struct schedule_due {
	int64_t tick_ms; /* since the epoch */
	int64_t attempt;
	bool triggered;
	int64_t timeout_ms; /* of the run; 0: none */
};

/* The state of a task, for schedules.c and its parts. */
struct task_due {
	enum {
		DUE_IDLE,    /* not led, or without a schedule */
		DUE_LOADING, /* the settings in force are being read */
		DUE_READY
	} phase;
	int64_t token;	       /* of the current leadership */
	unsigned edition;      /* incremented at each start: answers to older ones are ignored */
	bool dirty;	       /* something has changed: check it */
	int64_t wake_ms;       /* CLOCK_BOOTTIME: check it then; INT64_MAX: never */
	int64_t rest_ms;       /* CLOCK_BOOTTIME: no attempt before */
	int64_t since_ms;      /* since the epoch: in force since; no decisions for ticks before */
	int64_t ended_ms;      /* since the epoch: when this node saw the last pause end */
	int64_t paused_order;  /* order of that pause in policy_item; 0: none */
	int64_t active_ms;     /* since when this node decides */
	int64_t busy_ms;       /* since when a run is in progress; OWED_NEVER: none */
	struct owed_past past; /* why ticks were missed: kept over leaderships */
	bool writing;	       /* writing missed ticks, or ending a useless trigger */
	/*
	 * The newest record; and the oldest before it whose run was lost, or may yet be, if it is
	 * to be repeated.
	 */
	struct due_run {
		char tick[TICK_NAME_SIZE]; /* "": none */
		char state[RECORD_STATE_MAX + 1];
		int64_t attempt, failures, ended_at, session;
	} newest, open;
	int64_t lost_ms; /* CLOCK_BOOTTIME: since when a lost run is on offer; 0: none */
	struct due_offer {
		bool on;
		bool lost; /* its run was lost, not failed */
		struct schedule_due due;
		char trigger[NAME_ID_MAX + 1]; /* id of the decision; "": none */
		char by[RECORD_BY_MAX + 1];
		int64_t again_ms; /* CLOCK_BOOTTIME: the offer is repeated */
		int64_t pause_ms;
	} offer;
	/* The trigger being checked. */
	struct due_trigger {
		char id[NAME_ID_MAX + 1]; /* "": none */
		bool known;		  /* the record of its tick has been read */
		bool waits;		  /* its tick is running: wait for the end */
		const char *why;	  /* why it cannot be run; NULL: it can */
		int64_t looked_ms;	  /* CLOCK_BOOTTIME of that read */
		int64_t tick_ms, attempt;
	} trigger;
	bool expires_bare; /* the tick of one that is too old may have a record: it gets none */
};

struct schedules {
	struct leaders *leaders;
	struct policy *policy;
	struct host *host;
	/* Called repeatedly, with pauses, until the tick is claimed; NULL: no listener. */
	void (*due)(void *arg, struct task *t, const struct schedule_due *due);
	void *arg;
	bool dirty;	  /* a task is dirty */
	int64_t clock_ms; /* last wall clock minus CLOCK_BOOTTIME */
	struct host_timer timer;
};

void schedules_init(struct schedules *s, struct host *host, struct leaders *l, struct policy *p);
void schedules_done(struct schedules *s);

/* The task is about to be freed. */
void schedules_forget(struct task *t);

/* Something has changed for all tasks, or for one. */
void schedules_changed(struct schedules *s);
void schedules_task_changed(struct schedules *s, struct task *t);
/* This user's runner has connected: offers are repeated at once. */
void schedules_tell_anew(struct schedules *s, uid_t user);
/* The tasks' settings have changed. */
void schedules_configured(struct schedules *s);
/* A run of this node wrote a record. */
void schedules_noted(struct schedules *s, struct task *t, const char *tick,
		     const struct run_record *record);
/* A tick is older than the ledger keeps, so it is not run. */
void schedules_older(struct schedules *s, struct task *t, const char *tick);
/* A decision was made, or has ended. */
void schedules_decided(struct schedules *s, const struct policy_item *item, bool ended);
/* Tells for which tasks a runner is missing here, so that their ticks may be missed. */
void schedules_health(struct schedules *s, const struct node_health *h);
/* The session has expired: servers that lost all data number everything from the start again. */
void schedules_expired(struct schedules *s);
/* The record of a tick has changed. */
void schedules_watch(struct schedules *s, const char *path);

/* The offer of that attempt of that tick; NULL: none. */
const struct due_offer *schedules_offer(const struct task *t, const char *tick, int64_t attempt);

/*
 * Whether the schedule lets another attempt follow a run that ended as the record says, or was
 * lost.
 */
bool schedules_follows(const struct task *t, const char *tick, const struct run_record *record);

/* Whether this leader has read which tick is the newest, or needs none: it knows what follows. */
bool schedules_known(const struct task *t);

/*
 * The oldest tick that may be owed or run again: it must stay newer than the oldest record.
 * TICK_NO_LIMIT: no such tick; "": not known yet.
 */
void schedules_owed_from(const struct task *t, char tick[TICK_NAME_SIZE]);
/* The same, given that all ticks up to since_ms were decided. */
void schedules_owed_behind(const struct task *t, int64_t since_ms, char tick[TICK_NAME_SIZE]);

/*
 * The instant (ms since the epoch) up to which no tick is run, as a clock that was ahead has
 * decided those ticks, or has put the schedule in force; 0: none. A leader knows it, another node
 * only as far as it has read the task's newest run.
 */
int64_t schedules_decided_until(const struct schedules *s, const struct task *t);

/*
 * schedule_decided.c: reads from ZooKeeper up to which instant (ms since the epoch) no tick of the
 * task is owed any more: since_ms: since when its schedule is in force, INT64_MAX: it is not yet;
 * decided_ms: the newest that was decided. ok false: that cannot be read. Called once.
 */
typedef void (*schedule_decided_fn)(void *arg, bool ok, int64_t since_ms, int64_t decided_ms);
void schedule_read_decided(struct leaders *l, const char *task, schedule_decided_fn fn, void *arg);
/*
 * The newest tick that was decided, by the names of the records and the floor of the ledger, and
 * from since_ms on.
 */
int64_t schedule_decided(const struct task_schedule *c, const struct store_reply *names,
			 const char floor[TICK_NAME_SIZE], int64_t since_ms);

/* The writable state of a task, for the parts of this module. */
struct task_due *schedule_state(struct task *t);
void schedule_load(struct schedules *s, struct task *t);
/* Reads one of the two records again, as it has changed elsewhere. */
void schedule_look(struct schedules *s, struct task *t, const char *tick);
/* Extracts a due_run from a record. */
struct due_run schedule_run(const char *tick, const struct run_record *record);
/* Drops the watch on the record. */
void schedule_unwatch(struct task *t, const struct due_run *run);
/* Whether its run is in progress, or was lost. */
bool schedule_is_open(const struct due_run *run);
/* Another record is about to become the newest. */
void schedule_pass(struct task *t);
/*
 * The end of the last pause of the task, or the last change of its number of partitions, since the
 * epoch: earlier ticks are neither owed nor repeated.
 */
int64_t schedule_floor(const struct task *t);
/* Whether its tick is at the floor or before it. */
bool schedule_is_past(const struct due_run *run, int64_t floor_ms);
void schedule_advance(struct schedules *s, struct task *t);
/* The task, if an answer requested with this edition is still valid; else NULL. */
struct task *schedule_task(const struct schedules *s, const char *name, unsigned edition);
/* schedule_due.c: puts the tick on offer, again and again until it is claimed. */
#define SCHEDULE_PAUSE_MS 2000 /* before the second time; then twice as long each time */
void schedule_offer(struct schedules *s, struct task *t, const struct due_offer *what);
struct due_offer schedule_offer_of(const struct task *t, int64_t tick_ms, int64_t attempt);
/* The record of a tick that is not run. */
struct run_record schedule_missed(const struct schedules *s, const struct task *t);
/* Checks the task at that time of CLOCK_BOOTTIME, at the latest. */
void schedule_wake(struct task *t, int64_t at_ms);
/*
 * schedule_trigger.c: offers the first trigger; false: there is none, or it cannot be offered yet.
 * schedule_expire() ends triggers that nobody ran in time; true: one is being ended.
 */
bool schedule_trigger(struct schedules *s, struct task *t);
bool schedule_expire(struct schedules *s, struct task *t);
/* Starts again after a pause. */
void schedule_again(struct schedules *s, struct task *t);

#endif
