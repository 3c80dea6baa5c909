/*
 * One sidecar: the core as it is, and around it the daemon's rules, done again over the simulated
 * client library. session.c, registry.c and leaders.c here answer to those in src/daemon.
 */
#ifndef TESTS_SIM_SIDECAR_H
#define TESTS_SIM_SIDECAR_H

#include "client.h"
#include "core/election.h"
#include "core/fleet.h"
#include "core/lease.h"
#include "core/tally.h"

#define RECORDS_MAX 60000
#define READS_MAX   (4 * TASKS_MAX)

/* What a worker node holds, by its number; 0 is none. */
struct record {
	char id[24];
	unsigned sidecar, version;
	int32_t random_ints[WORKER_RANDOM_INTS];
	int64_t timeout_ms;
	uint64_t tasks;
	bool returned;
};

enum ask {
	ASK_REGISTER,
	ASK_FOUND,
	ASK_CONFIRM,
	ASK_TOUCH,
	ASK_LIST,
	ASK_RECORD,
	ASK_ORPHAN,
	ASK_NODE,
	ASK_NODE_EXISTS,
	ASK_CLAIM,
	ASK_RELEASE,
	ASK_AUDIT,
	ASK_TICK,
	ASK_LEDGER,
	ASK_LEDGER_NAMES,
	ASK_TICK_CLAIM,
	ASK_TICK_WRITE
};

enum timer {
	TIMER_CONFIRM,
	TIMER_PATIENCE,
	TIMER_SESSION,
	TIMER_REGISTER,
	TIMER_LIST,
	TIMER_DUE,
	TIMER_AUDIT,
	TIMER_RUNS,
	TIMERS
};

enum session_state { SESSION_CONNECTING, SESSION_CONNECTED, SESSION_UP, SESSION_CLOSED };

struct task {
	struct election election;
	bool missing;
	bool recovers;
	struct tally tally;
	bool decided;  /* somebody was drained or preferred at the last look */
	uint32_t best; /* record of the best in the last view */
};

#define KEPT_JOBS_MAX 64

struct kept_job {
	uint64_t run;
	unsigned task;
	uint32_t tick;
	int64_t token;
	uint64_t era;
};

/* What a process leaves for the next one on its machine. */
struct kept {
	int64_t session; /* 0: nothing */
	uint32_t record;
	int32_t random_ints[WORKER_RANDOM_INTS];
	struct kept_job jobs[KEPT_JOBS_MAX];
	size_t n_jobs;
};

struct late_item; /* one that waits as the loop is busy */

struct sidecar {
	unsigned id;
	bool running;
	struct kept kept;
	int64_t taken_over; /* the session that this process began with */
	uint32_t found;	    /* the record that it is to go on as, until it has looked */
	bool recovers;	    /* and what it leads is not known yet */
	struct inbox inbox; /* of the process, if it is stopped */
	bool late[TIMERS];
	int64_t paused_at, suspended_us;
	bool suspended;
	struct clock clock;
	int64_t wall_ms; /* the wall clock is the boot clock and this */
	struct lib lib, probe;
	/* a loop that is busy until then */
	int64_t busy_until;
	struct late_item *items, **items_tail;
	/* session */
	enum session_state state;
	struct lease lease;
	int64_t session;
	int64_t opened_ms;
	uint32_t registration;
	bool leading;
	int64_t patience_ms;
	bool hung_up;
	bool probe_connected;
	/* registry */
	struct fleet fleet;
	bool ready;
	unsigned version;
	int32_t random_ints[WORKER_RANDOM_INTS];
	uint64_t tasks_mask;
	uint32_t self, maybe, attempt;
	bool was_there; /* under whatever record, since this process began */
	bool again, listing, list_again, list_due, dirty;
	int64_t listed_ms;
	size_t reads_pending;
	uint64_t drained;	       /* sidecars, as heard of */
	uint64_t preferred[TASKS_MAX]; /* likewise: who stands by for a lost run */
	/* elections */
	struct task tasks[TASKS_MAX];
	unsigned n_leading;
	unsigned reads[READS_MAX]; /* of leader nodes, that wait for their turn */
	size_t n_reads;
	unsigned reads_flying; /* that are on their way */
	int64_t next_due;
	uint64_t timer_life[TIMERS];
	uint64_t timer_set; /* bits */
	/* runs */
	struct sim_run *runs;	      /* RUNS_MAX; owned */
	struct ledger_cache *ledgers; /* TASKS_MAX; owned */
	size_t n_runs;
	unsigned holds[TASKS_MAX];
	bool runs_dirty;
	uint32_t last_tick; /* that its crontab has seen */
};

extern struct sidecar sidecars[SIDECARS_MAX];
extern struct record records[RECORDS_MAX];
extern const char *const version_names[];
extern const unsigned n_version_names;
extern const char *task_names[TASKS_MAX];
extern struct election_config task_configs[TASKS_MAX];
extern const char *task_minimum[TASKS_MAX]; /* min-version, NULL */

void sidecars_reset(void);
void sidecar_start(struct sidecar *s);
void sidecar_stop(struct sidecar *s); /* TERM */
void sidecar_kill(struct sidecar *s);
void sidecar_pause(struct sidecar *s, bool suspend);
void sidecar_resume(struct sidecar *s);
void sidecar_slow(struct sidecar *s, int64_t for_us);
int64_t sidecar_ms(const struct sidecar *s);
struct election_time sidecar_time(const struct sidecar *s);

/* session.c */
void session_open(struct sidecar *s);
void session_confirm(struct sidecar *s);
void session_confirmed(struct sidecar *s, int64_t sent_ms);
void session_unregistered(struct sidecar *s);
void session_set_leading(struct sidecar *s, bool leading);
void session_timer(struct sidecar *s, enum timer timer);
void session_item(struct sidecar *s, const struct item *item);
void session_heard(struct sidecar *s, const struct item *item);
void session_reply(struct sidecar *s, const struct item *item);
void session_stop(struct sidecar *s);
int64_t session_lease_left(const struct sidecar *s);

/* registry.c */
void registry_connected(struct sidecar *s);
void registry_up(struct sidecar *s);
void registry_cut(struct sidecar *s);
void registry_expired(struct sidecar *s);
void registry_watch(struct sidecar *s);
void registry_reply(struct sidecar *s, const struct item *item);
void registry_timer(struct sidecar *s, enum timer timer);
bool registry_settled(const struct sidecar *s);
void registry_publish(struct sidecar *s); /* what is published has changed */
struct worker *worker_of(uint32_t record);
void registry_reset(void);
void registry_go_on(struct sidecar *s);	       /* as the record that it has found */
void registry_publish_anew(struct sidecar *s); /* instead of that, or without one */

/* keep.c */
void keep_session(struct sidecar *s);
void keep_jobs(struct sidecar *s);
void keep_forget(struct sidecar *s);
void keep_take_over(struct sidecar *s);
bool keep_look(struct sidecar *s); /* whether there is something to look for */
void keep_reply(struct sidecar *s, const struct item *item);
void keep_recover(struct sidecar *s);

/* leaders.c */
void leaders_init(struct sidecar *s);
void leaders_up(struct sidecar *s);
void leaders_cut(struct sidecar *s);
void leaders_expired(struct sidecar *s);
void leaders_fleet_changed(struct sidecar *s);
void leaders_recover(struct sidecar *s);
/* A member has joined the fleet; or is to leave it. */
void leaders_joined(struct sidecar *s, const struct member *m);
void leaders_left(struct sidecar *s, const struct member *m);
void leaders_watch(struct sidecar *s, unsigned task, enum watch_type type);
void leaders_reply(struct sidecar *s, const struct item *item);
void leaders_timer(struct sidecar *s, enum timer timer);
void leaders_configure(struct sidecar *s, unsigned task);
struct contest task_contest(unsigned task);

/* A job holds the task until then, by CLOCK_BOOTTIME; and for how long one may go on. */
void leaders_hold(struct sidecar *s, unsigned task, bool on, int64_t until_ms);
int64_t leaders_hold_renew(struct sidecar *s, unsigned task);

void timer_start(struct sidecar *s, enum timer timer, int64_t in_ms);
void timer_stop(struct sidecar *s, enum timer timer);
/* Sends it over the session's connection. */
void ask(struct sidecar *s, const struct request *q, enum ask what);

#endif
