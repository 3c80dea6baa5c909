/*
 * The elections of this sidecar's tasks: carries events from ZooKeeper to the core's step function,
 * and its actions back.
 */
#ifndef ZKLEADER_DAEMON_LEADERS_H
#define ZKLEADER_DAEMON_LEADERS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <uv.h>

#include "core/election.h"
#include "core/fleet.h"
#include "daemon/registry.h"
#include "daemon/session.h"
#include "daemon/taskfile.h"
#include "wire/record.h"

/* How often the leader nodes are listed, in case that nobody who watches one acts. */
#define LEADERS_AUDIT_MS 60000

struct leaders;

struct task {
	struct leaders *leaders;
	char *name;
	struct task_config *config; /* a copy of our own */
	uid_t uids[TASK_USERS_MAX]; /* of its users, as far as this host knows them */
	size_t n_uids;
	struct contest contest;
	struct election election;
	size_t index;	   /* in leaders.tasks and in the fleet's contests */
	unsigned pending;  /* requests that will come back to this task */
	unsigned watchers; /* subscribers that want every change */
	unsigned holds;	   /* runs that keep the task here */
	bool withdrawn; /* out of the configuration: freed once nothing of it is left in ZooKeeper
			 */
	bool missing;	/* at the last audit nobody led it */
	char best_id[NAME_ID_MAX + 1];	 /* of the best in the last view, for the yield's check */
	char leader_id[NAME_ID_MAX + 1]; /* as the leader node says */
	int64_t since;			 /* ms since the epoch, as the leader node says */
	bool told; /* the subscribers have heard of told_token, 0 for nobody */
	int64_t told_token;
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
	const struct config *config;
	struct session *session;
	struct registry *registry;
	struct leaders_handlers handlers;
	struct task **tasks; /* sorted by name, the withdrawn ones among them */
	size_t n_tasks;
	const char **names;	/* of all of them, for the fleet; borrowed strings */
	const char **published; /* of those that are configured, for the registry */
	size_t n_published;
	size_t n_leading;
	int64_t next_due; /* CLOCK_BOOTTIME of the first deadline */
	uv_timer_t due;
	uv_timer_t audit;
};

void leaders_init(struct leaders *l, uv_loop_t *loop, const struct config *config,
		  struct session *session, struct registry *registry,
		  const struct leaders_handlers *handlers);
void leaders_done(struct leaders *l);
/* The tasks are these from now on; what is said of them is copied. */
void leaders_apply(struct leaders *l, const struct config *config,
		   const struct task_config *const *tasks, size_t n);

/* From the session's and the registry's handlers. */
void leaders_up(struct leaders *l);
void leaders_cut(struct leaders *l);
void leaders_expired(struct leaders *l);
void leaders_fleet_changed(struct leaders *l);
void leaders_watch(struct leaders *l, enum zk_watch type, const char *path);

/* A configured task by name, NULL. */
struct task *leaders_find(const struct leaders *l, const char *name, size_t len);
/* Reads the leader node where nothing is known of it for sure; handlers.changed tells when it has
 * come. */
void leaders_refresh(struct task *t);
/* Whether what is known of the task's leader is as fresh as its watch. */
bool leaders_fresh(const struct task *t);
/* Keeps it fresh while a subscriber wants it. */
void leaders_subscribe(struct task *t, bool on);
/* A run holds the task here, until_ms at the latest (CLOCK_BOOTTIME), or no longer does. */
void leaders_hold(struct task *t, bool on, int64_t until_ms);
/* Gives everything up that no run holds, and leaves the election for it. */
void leaders_withdraw(struct leaders *l);
/* The member that leads it, as far as is known; NULL: nobody, or nobody in the fleet. */
const struct member *leaders_leader(const struct task *t);
/* Milliseconds for which an answer "this node leads it" may promise that it is good, 0: not at all. */
int64_t leaders_promise(const struct task *t);
/* Milliseconds that are left of the lease, if this node leads it; 0: it may not say so. */
int64_t leaders_lease_left(const struct task *t);

#endif
