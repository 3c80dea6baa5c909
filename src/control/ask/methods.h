/* The methods of the control socket: docs/PROTOCOL.md describes each. */
#ifndef ZKLEADER_CONTROL_ASK_METHODS_H
#define ZKLEADER_CONTROL_ASK_METHODS_H

#include <stdbool.h>

#include "control/ask/peer.h"
#include "control/ask/process.h"
#include "node/node.h"

#define METHODS_WAIT_MAX_MS   (INT64_C(24) * 3600 * 1000) /* for wait_ms of a check */
#define METHODS_NAMES_MAX     10000			  /* tasks named in one request */
#define METHODS_COUNT_MAX     64
#define METHODS_SURVEY_MAX_MS 3000 /* how long a table waits for ZooKeeper */

/* The answer to callers without permission. */
#define METHODS_NOT_ALLOWED \
	"not allowed: only root, the sidecar's own user and the members of socket-group may"

struct listing;
struct parked;
struct subscriptions;
struct round;
struct order;
struct history;
struct reload;
struct repartition;

struct methods {
	const struct process *process;
	struct node *node;		     /* of the process */
	struct subscriptions *subscriptions; /* owned */
	struct parked *parked;		     /* requests that wait */
	struct round *round;		     /* the survey in progress, NULL */
	struct order *orders;		     /* of operators; outstanding requests to ZooKeeper */
	struct refusal *refusals;	     /* they wait for the name of the user */
	struct history *histories;	     /* likewise outstanding */
	struct next_request *nexts;
	struct trigger *triggers;	  /* likewise outstanding */
	struct tick_ask *tick_asks;	  /* likewise outstanding */
	struct repartition *repartitions; /* likewise outstanding */
	struct recipe_request *recipes;
	struct rolling_call *rollings;
	struct lock_ask *locks;
	struct queue_ask *queue_asks;
	struct host_timer attach_due; /* for queue_asks that attach a job */
	struct host_timer views_due;  /* for queue_asks that wait for the content of queues */
	struct submitter *submitters; /* names of users; see queue_submits.c */
	struct gang_ask *gangs;
	struct indexed_claim *indexed;
	struct recipe_waits {
		struct recipe_wait *list; /* for workers */
		struct host_timer due;
		/* state of the fleet when the waits were last checked */
		uint64_t serial;
		size_t n_members;
		bool up;
	} waits;
	struct runners {
		struct runner *list; /* of users; see runners.c */
		struct host_timer due, ping;
	} runners;
	struct notifier {	 /* see notifiers.c */
		struct peer *c;	 /* NULL: not connected */
		int64_t gone_ms; /* when it disconnected */
		struct notifier_problem *problems;
		size_t n_problems;
	} notifier;
	struct reload *reloads;		   /* that are being read */
	uint64_t asked[METHODS_COUNT_MAX]; /* how often each method was called */
	bool dirty;			   /* something has changed: check the requests again */
	struct host_turn turn;
	struct host_timer due;
};

/* One request. */
struct call {
	struct methods *m;
	struct peer *c;
	uint32_t msgid;
	struct reader params; /* at the first parameter not taken yet */
	size_t n_params;
};

/*
 * The next parameter as the name of a task; answers with an error and returns NULL if it is none.
 */
struct task *methods_take_task(struct call *call);

/*
 * Answers a renewal of what the connection holds, for lease_ms from now on; 0: it is lost. -1: the
 * connection holds nothing of the kind, and the answer is the text `misuse`.
 */
void methods_renewed(const struct call *call, int64_t lease_ms, const char *misuse);
/* Answers that the request is about one election, and so not for a task with partitions. */
void methods_refuse_whole(const struct call *call, const struct listing *l);

#endif
