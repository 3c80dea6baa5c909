/*
 * The elections of this sidecar's tasks: carries events from ZooKeeper to the core's step function,
 * and its actions back.
 */
#ifndef ZKLEADER_NODE_LEADERS_H
#define ZKLEADER_NODE_LEADERS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/election.h"
#include "core/fleet.h"
#include "core/tally.h"
#include "core/tick.h"
#include "node/batch.h"
#include "node/look.h"
#include "node/policy.h"
#include "node/registry.h"
#include "node/session.h"
#include "node/settings.h"
#include "wire/record.h"

/* How often the leader nodes are listed, in case that nobody who watches one acts. */
#define LEADERS_AUDIT_MS    60000

#define LEADERS_BLOCKED_MAX (STORE_PATH_MAX + 100)

struct leaders;

/*
 * What the ledger holds of a task, for the next claim. Good for one leadership: meanwhile nobody else
 * claims, and that the oldest are still the oldest is checked by the claim.
 */
struct ledger_ticks {
	char (*names)[TICK_NAME_SIZE]; /* sorted; NULL: not known */
	size_t n;
	char floor[TICK_NAME_SIZE]; /* the oldest that pruning has left, "" */
	int32_t version;	    /* of ROOT/runs/TASK, which each pruning writes */
	int64_t token;		    /* of that leadership */
};

/* Whether runs here want to take a lost one over, and whether the fleet has been told. */
struct standby {
	unsigned runs;
	bool busy;
	int64_t again_ms;
	char tick[TICK_NAME_SIZE];
};

struct task {
	struct leaders *leaders;
	char *name;
	struct task_settings settings;
	char *description, *min_version; /* of the settings, NULL */
	struct contest contest;
	struct tally tally;
	struct election election;
	size_t index;	   /* in leaders.tasks and in the fleet's contests */
	unsigned pending;  /* requests that will come back to this task */
	bool left_out;	   /* of a claim: what the read behind it says decides */
	unsigned watchers; /* subscribers that want to know who leads it */
	bool recovers;	   /* it may be ours by a session that was taken over: until it is known */
	unsigned holds;	   /* runs that keep the task here */
	unsigned dying;	   /* runs whose job may be alive with nobody to tell */
	struct ledger_ticks ticks;
	struct standby standby;
	bool withdrawn; /* out of the configuration: freed once nothing of it is left in ZooKeeper
			 */
	bool missing;	/* at the last audit nobody led it */
	bool unsteady;	/* somebody has resigned from it, or stands by for a run of it */
	bool paused;	/* by an operator: nobody in the fleet may lead it */
	char *pinned;	/* the version that an operator has pinned it to, NULL */
	struct {
		char to[NAME_ID_MAX + 1]; /* "": nobody's presence matters */
		int32_t version;
	} release;			 /* while it is given up */
	char best_id[NAME_ID_MAX + 1];	 /* of the best in the last view, for the yield's check */
	char leader_id[NAME_ID_MAX + 1]; /* as the leader node says */
	int64_t since;			 /* ms since the epoch, as the leader node says */
	unsigned reads_to_come;		 /* that wait for their turn, in look.c */
	struct task *next_read;		 /* behind this one there */
};

struct leaders_handlers {
	/* The state, the leader or the view of a task is another now. */
	void (*changed)(void *arg, struct task *t);
	void (*added)(void *arg, struct task *t);
	/* A task is about to be freed: forget it. */
	void (*removed)(void *arg, struct task *t);
	void *arg;
};

struct leaders {
	struct node_timing timing;
	struct session *session;
	struct registry *registry;
	struct policy *policy;
	struct leaders_handlers handlers;
	struct batch batch;
	struct look look;
	struct task **tasks; /* sorted by name, the withdrawn ones among them */
	bool leaving;	     /* leaders_withdraw() */
	size_t n_tasks;
	const char **names;	/* of all of them, for the fleet; borrowed strings */
	const char **published; /* of those that are configured, for the registry */
	uint32_t *digests;	/* likewise */
	size_t n_published;
	uint64_t edition; /* of the policy, for which members and tasks are marked; 0: for none */
	size_t n_leading;
	bool disowns;	  /* what our predecessor led has to be looked for again */
	int64_t auditing; /* when a leader node was last made or deleted, by the folder */
	int64_t audited;  /* likewise, at the last audit, if none was missing */
	int64_t next_due; /* CLOCK_BOOTTIME of the first deadline */
	struct host_timer due;
	struct host_timer audit;
};

void leaders_init(struct leaders *l, struct session *session, struct registry *registry,
		  struct policy *policy, const struct leaders_handlers *handlers);
void leaders_done(struct leaders *l);
/* The tasks are these from now on; what is said of them is copied. */
void leaders_apply(struct leaders *l, const struct node_timing *timing,
		   const struct task_settings *tasks, size_t n);

/* From the session's and the registry's handlers. */
void leaders_up(struct leaders *l);
void leaders_cut(struct leaders *l);
void leaders_expired(struct leaders *l);
void leaders_joined(struct leaders *l, struct member *m);
void leaders_left(struct leaders *l,
		  const struct member *m);     /* still in the fleet during the call */
void leaders_fleet_changed(struct leaders *l); /* after these, or what has been decided is other */
void leaders_watch(struct leaders *l, enum store_watch type, const char *path);

/* Whether that member goes by other rules or other keys for the task than this sidecar. */
bool leaders_disagrees(const struct task *t, const struct member *m);
/* A configured task by name, NULL. */
struct task *leaders_find(const struct leaders *l, const char *name, size_t len);
/* Reads the leader node where nothing is known of it for sure; handlers.changed tells when it has
 * come. */
void leaders_refresh(struct task *t);
/* Whether what is known of the task's leader is as fresh as its watch. */
bool leaders_fresh(const struct task *t);
/* Keeps it fresh while a subscriber wants it. */
void leaders_subscribe(struct task *t, bool on);
/* After a session was taken over: finds which of our tasks this sidecar's predecessor led. */
void leaders_recover(struct leaders *l);
/* Gives up what it led of these and is not configured any more; or of whatever there is a leader node. */
void leaders_disown(struct leaders *l, char *const *tasks, size_t n);
void leaders_disown_all(struct leaders *l);
/* A run holds the task here, until_ms at the latest (CLOCK_BOOTTIME), or no longer does. */
void leaders_hold(struct task *t, bool on, int64_t until_ms);
/*
 * Milliseconds for which a run that holds the task may go on, 0: no longer. Where hold-max is over, no
 * further than to the handover that is due then; while none is due, the hold is put off with it.
 */
int64_t leaders_hold_renew(struct task *t);
/*
 * This node goes: gives everything up that no run holds, once what was promised is over, and leaves the
 * election for it. Questions are answered on.
 */
void leaders_withdraw(struct leaders *l);
/* Whether somebody leads it, as far as is known. */
bool leaders_is_led(const struct task *t);
/*
 * Whether a znode stands in the place of the leader's that goes with no session: a restored backup, a copied
 * tree or a hand made it, and nobody leads until somebody deletes it. If so, what to do, in a sentence.
 */
bool leaders_is_blocked(const struct task *t, char ret_text[LEADERS_BLOCKED_MAX]);
/* Milliseconds until all is over that was promised of what this node leads. */
int64_t leaders_promised_left(const struct leaders *l);
/* The member that leads it, as far as is known; NULL: nobody, or nobody in the fleet. */
const struct member *leaders_leader(const struct task *t);
/* What the elections of these tasks are told of the time. */
struct election_time leaders_time(const struct leaders *l);
/*
 * Promises in an answer that this node leads it: milliseconds, 0 for not at all. It is not given up of our
 * own will before. Whatever answer tells for how long it is good calls this, or leaders_hold_renew().
 */
int64_t leaders_promise(struct task *t);
/* Whether this node may say now that it leads it. */
bool leaders_says(const struct task *t);
/* Whether a run may begin here now: this node leads it, and has not to give it up. */
bool leaders_may_begin(const struct task *t);
/* Milliseconds that are left of the lease, if this node leads it; 0: it may not say so. */
int64_t leaders_lease_left(const struct task *t);

#endif
