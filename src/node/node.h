/*
 * A sidecar without its machine: a session with ZooKeeper, the registration, the fleet, the
 * decisions of operators, the elections and the runs, and how they are wired. It sees the world
 * through host.h and store.h alone and has no global state, so that a process can hold hundreds.
 */
#ifndef ZKLEADER_NODE_NODE_H
#define ZKLEADER_NODE_NODE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "node/election/leaders.h"
#include "node/fleet/policy.h"
#include "node/fleet/registry.h"
#include "node/host.h"
#include "node/ledger/last_run.h"
#include "node/ledger/overdue.h"
#include "node/notices/notices.h"
#include "node/notices/outages.h"
#include "node/queue/queues.h"
#include "node/recipes/leftovers.h"
#include "node/recipes/recipes.h"
#include "node/recipes/roster/closing.h"
#include "node/runs/losses.h"
#include "node/runs/runs.h"
#include "node/schedule/schedules.h"
#include "node/session/handoff.h"
#include "node/session/session.h"
#include "node/settings.h"

struct node_handlers {
	/* The state, the leader or the view of a task has changed. */
	void (*task_changed)(void *arg, struct task *t);
	void (*task_added)(void *arg, struct task *t);
	/* The task is about to be freed: forget it. */
	void (*task_removed)(void *arg, struct task *t);
	/* The elections of a configured task have changed, or why it has none. */
	void (*listing_changed)(void *arg, struct listing *listing);
	/* A lease has begun: "leads" may be said again of every task that has the role. */
	void (*leased)(void *arg);
	/* event: "joined" or "left"; not called for those that were there at the start. */
	void (*membership)(void *arg, const char *event, const struct member *m);
	void (*decision)(void *arg, const struct policy_item *item, bool ended);
	/* A run here has begun or ended, as the record says; tick: "" if it has none. */
	void (*run)(void *arg, const char *task, const char *tick, const struct run_record *record);
	/* The state of the session, or the set of tasks led here, has changed. */
	void (*status)(void *arg);
	/* The handoff to keep for the next node; replaces the one kept before. */
	void (*handoff)(void *arg, const struct handoff *handoff);
	void (*handoff_runs)(void *arg, const struct handoff_run *runs, size_t n);
	/* A tick to be run now; repeated until it is claimed. NULL: no listener. */
	void (*due)(void *arg, struct task *t, const struct schedule_due *due);
	struct queues_handlers queues; /* with an arg of its own; jobs of queues */
	struct runs_handlers runs;     /* with an arg of its own: the owners of the requests */
	void *arg;
};

struct node {
	struct host *host;
	const struct node_settings *settings;
	struct node_handlers handlers;
	struct session session;
	struct registry registry;
	struct policy policy;
	struct leaders leaders;
	struct runs runs;
	struct schedules schedules;
	struct last_runs last_runs;
	struct overdues overdues;
	struct notices notices;
	struct losses losses;
	struct outages outages;
	struct recipes recipes;
	struct closing closing;
	struct queues queues;
	struct leftovers leftovers;
	struct handoff handoff; /* as last told; its session is 0 before */
};

/* The settings are borrowed. Nothing is connected to before node_start(). */
void node_init(struct node *n, struct host *host, const struct node_settings *settings,
	       const struct node_handlers *handlers);
/*
 * Called after node_stop(), or for a node that was never started. Nothing is called back
 * afterwards.
 */
void node_done(struct node *n);

/* The application's version; called before the start and whenever it changes. */
void node_set_version(struct node *n, const char *version);
/*
 * Sets the tasks, which are copied; their names are distinct. Called before the start, and whenever
 * the tasks or the timing change.
 */
void node_configure(struct node *n, const struct node_timing *timing,
		    const struct task_settings *tasks, size_t n_tasks);
/* The events that this host wants notices of; copied. */
void node_set_notices(struct node *n, const struct notice_rule *rules, size_t n_rules);
/* Called whenever the health changes; copied. Nothing is registered before the first call. */
void node_set_health(struct node *n, const struct node_health *health);
/*
 * Takes over from the previous sidecar, before the start: its handoff, and jobs that may be alive.
 * all_known: the list is complete; if not, no job begins before the last one is dead.
 */
void node_take_over(struct node *n, const struct handoff *handoff, const struct handoff_run *runs,
		    size_t n_runs, bool all_known);
/* Begins to connect, for ever. */
void node_start(struct node *n);
/* Prepares to stop: commands go on, and none begins under a lock, in a gang or of a queue. */
void node_leave(struct node *n);
/* Number of jobs and commands that may be alive here, also of the previous sidecar. */
size_t node_going(const struct node *n);
/* Leaves every election except those of tasks that a job keeps here. */
void node_withdraw(struct node *n);
/* Ends the session; done is called when the server has heard or cannot be told. */
void node_stop(struct node *n, void (*done)(void *arg), void *arg);

/* The task is about to be freed: what the rooms behind the election keep of it is freed. */
void node_task_forget(struct task *t);

#endif
