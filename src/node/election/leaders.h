/*
 * The elections of this sidecar's tasks: passes events from ZooKeeper to the core's step function,
 * and carries out its actions.
 */
#ifndef ZKLEADER_NODE_ELECTION_LEADERS_H
#define ZKLEADER_NODE_ELECTION_LEADERS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/ids.h"
#include "core/election/election.h"
#include "core/fleet/fleet.h"
#include "node/election/audit.h"
#include "node/election/groups.h"
#include "node/election/inheritance.h"
#include "node/election/listing.h"
#include "node/election/partitions.h"
#include "node/election/task.h"
#include "node/election/transactions.h"
#include "node/fleet/policy.h"
#include "node/fleet/registry.h"
#include "node/notices/leader_log.h"
#include "node/session/session.h"
#include "node/settings.h"
#include "node/tree/reads.h"
#include "wire/records/record.h"

#define LEADERS_BLOCKED_MAX (STORE_PATH_MAX + 100)

struct leaders;

struct leaders_handlers {
	/* The state, the leader or the view of a task has changed. */
	void (*changed)(void *arg, struct task *t);
	void (*added)(void *arg, struct task *t);
	/* A task is about to be freed: forget it. */
	void (*removed)(void *arg, struct task *t);
	/* A task is being freed: the other parts of the node free what they keep of it. */
	void (*forget)(struct task *t);
	/* The elections of a configured task have changed, or why it has none. */
	void (*listing)(void *arg, struct listing *listing);
	/* The partitions in force have been read, or have changed. */
	void (*split)(void *arg);
	void *arg;
};

struct leaders {
	struct node_timing timing;
	struct session *session;
	struct registry *registry;
	struct policy *policy;
	struct leaders_handlers handlers;
	struct leader_log log;
	struct transactions transactions;
	struct reads reads;
	struct listing **listings; /* of the configuration, sorted by name; owned, as is each */
	size_t n_listings;
	struct listing **old_listings; /* until the registry has the names of the new ones */
	size_t n_old_listings;
	struct partitions partitions;
	struct guest **guests; /* groups.c's, sorted by name; owned, as is each */
	size_t n_guests;
	bool guests_due;     /* to be computed again */
	struct task **tasks; /* the elections, sorted by name, the withdrawn ones among them */
	struct ids ids;	     /* of workers; the tasks point to them */
	bool leaving;	     /* tasks_withdraw() */
	size_t n_tasks;
	const char **names; /* of all tasks, for the fleet; borrowed strings */
	/* Data of the configured tasks, for the registry; owned arrays. */
	const char **published;
	uint32_t *digests;
	const char **groups, **keys, **renamed;
	struct worker_split *splits;
	struct worker_queue *queues;
	size_t n_published, n_renamed;
	uint64_t edition; /* of the policy by which members and tasks are marked; 0: none */
	size_t n_leading;
	int64_t next_due; /* CLOCK_BOOTTIME of the first deadline */
	struct host_timer due;
	struct audit audit;
	struct inheritance inheritance;
	struct renames renames;
};

void leaders_init(struct leaders *l, struct session *session, struct registry *registry,
		  struct policy *policy, const struct leaders_handlers *handlers);
void leaders_done(struct leaders *l);

/* Called by the session's and the registry's handlers. */
void leaders_up(struct leaders *l);
void leaders_cut(struct leaders *l);
void leaders_expired(struct leaders *l);
void leaders_watch(struct leaders *l, enum store_watch type, const char *path);

/* Reads the leader node if its state is not certain; handlers.changed is called with the result. */
void leaders_refresh(struct task *t);
/* Whether the known leader is current, as far as its watch tells. */
bool leaders_fresh(const struct task *t);
/* Keeps the known leader current while a subscriber wants it. */
void leaders_subscribe(struct task *t, bool on);
/* A run holds the task here, until_ms at the latest (CLOCK_BOOTTIME), or no longer does. */
void leaders_hold(struct task *t, bool on, int64_t until_ms);
/*
 * Milliseconds for which a run that holds the task may go on, 0: no longer. Once hold-max is over,
 * no longer than until the handover that is due then; while none is due, the hold is extended.
 */
int64_t leaders_hold_renew(struct task *t);
/* Whether it has a leader, as far as known. */
bool leaders_is_led(const struct task *t);
/*
 * Whether the leader node is a persistent znode, made by a restored backup, a copied tree or by
 * hand: nobody leads until it is deleted. If so, ret_text says what to do, in a sentence.
 */
bool leaders_is_blocked(const struct task *t, char ret_text[LEADERS_BLOCKED_MAX]);
/* Milliseconds until all promises of this node's leaderships are over. */
int64_t leaders_promised_left(const struct leaders *l);
/* The member that leads it, as far as is known; NULL: nobody, or nobody in the fleet. */
const struct member *leaders_leader(const struct task *t);
/* The time as the elections of these tasks are told it. */
struct election_time leaders_time(const struct leaders *l);
/*
 * Promises in an answer that this node leads it, for the milliseconds returned; 0: no promise. We
 * do not release it by ourselves before that. Every answer that says how long it is valid calls
 * this, or leaders_hold_renew().
 */
int64_t leaders_promise(struct task *t);
/* The longest promise that an answer can make, for the next sidecar. */
int64_t leaders_promise_most(const struct leaders *l);
/* Whether this node may answer now that it leads the task. */
bool leaders_says(const struct task *t);
/* Whether a run may begin here now: this node leads the task and need not release it. */
bool leaders_may_begin(const struct task *t);
/* Milliseconds left of the lease if this node leads the task; 0: it does not. */
int64_t leaders_lease_left(const struct task *t);

/* Functions for the parts of the elections (tasks.c, candidates.c, inheritance.c). */
/* Gives the task's election an event, and does what follows from it. */
void leaders_step(struct task *t, struct election_event *event);
/* Begins the election of a new task, or changes the settings of an existing one. */
void leaders_configure(struct task *t, bool is_new);
/* The previous sidecar promised the task until until_ms (CLOCK_BOOTTIME): no release before. */
void leaders_keep_promise(struct task *t, int64_t until_ms);
/* Decides whether the leader node is of interest: if so, it is read and kept current. */
void leaders_set_interest(struct task *t);
/* The deadlines are checked at `due` (host_now_ms()) at the latest. */
void leaders_wake(struct leaders *l, int64_t due, int64_t now_ms);

#endif
