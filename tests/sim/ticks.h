/* Runs of tasks: crontabs that ask at each tick, sidecars that decide, jobs, and what is promised of them. */
#ifndef TESTS_SIM_TICKS_H
#define TESTS_SIM_TICKS_H

#include "core/run.h"
#include "core/tick.h"
#include "sidecar.h"

#define RUNS_MAX 640 /* of a sidecar at a time */

/* One `zkleader run` and what its sidecar knows of it. */
struct sim_run {
	bool used;
	uint64_t id; /* never given twice */
	unsigned task;
	uint32_t tick;
	struct run_state state;
	struct tick_record record;
	bool holds, calls;
	uint64_t era;	   /* of the data, when it was claimed */
	int64_t led_since; /* true time since when it could have begun without a break, 0 */
	int64_t fit_since; /* true time since when it could have been preferred for a lost run, 0 */
	/* The ledger as its claim knows it. */
	uint32_t names[TICKS_KEPT];
	size_t n_names;
	int32_t ledger_version;
	uint32_t floor;
};

/* The ledger as the last claim left it; good for one leadership. */
struct ledger_cache {
	bool known;
	int64_t token;
	int32_t version;
	uint32_t floor;
	uint32_t names[TICKS_KEPT];
	size_t n;
};

/* runs.c: as src/node/runs.c and ledger.c */
void runs_begin(struct sidecar *s, unsigned task, uint32_t tick);
void runs_inherit(struct sidecar *s, const struct kept_job *job);
/* The guard of a job asks the next sidecar to take its run; it asks again until it is GOING, or gone. */
void runs_attach(struct sidecar *s, struct sim_run *r);
void runs_changed(struct sidecar *s);
void runs_settle(struct sidecar *s); /* at the end of each turn of the loop */
void runs_timer(struct sidecar *s);
void runs_reply(struct sidecar *s, const struct item *item);
void runs_watch(struct sidecar *s, unsigned task, uint32_t tick, enum watch_type type);
void runs_expired(struct sidecar *s);
void runs_reset(struct sidecar *s);
/* The run of a job, NULL if its sidecar knows nothing of it any more. */
struct sim_run *runs_find(struct sidecar *s, uint64_t id);
/* For how long its job may go on, in ms; 0: not at all. */
int64_t runs_renew(struct sidecar *s, struct sim_run *r);
void runs_finish(struct sidecar *s, struct sim_run *r, enum tick_state state);
void runs_caller_gone(struct sidecar *s, struct sim_run *r);

/* ticks.c: crontabs, jobs and the oracle */
void ticks_reset(void);
void ticks_forget(void);   /* all data was lost */
extern uint64_t ticks_era; /* how often that was */
void ticks_start(struct sidecar *s);
/* The sidecar is told to go: its jobs are ended first. */
void ticks_stop(struct sidecar *s);
void ticks_claimed(struct sidecar *s, const struct sim_run *r);
void ticks_begin(struct sidecar *s, struct sim_run *r);
void ticks_recorded(const struct sim_run *r);
void ticks_waited(struct sidecar *s, const struct sim_run *r);
void ticks_look(struct sidecar *s, struct sim_run *r, const struct run_sight *sight);
/* Who is preferred as the leader of a task, as somebody stands by there for a lost run. */
void ticks_prefer(struct sidecar *s, unsigned task, bool on);

extern bool task_reruns[TASKS_MAX];
extern int64_t tick_us, tick_wait_ms, tick_hold_max_ms;
extern size_t tick_history;

#endif
