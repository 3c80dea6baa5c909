/* The methods of the control socket: docs/PROTOCOL.md describes each. */
#ifndef ZKLEADER_CONTROL_ASK_METHODS_H
#define ZKLEADER_CONTROL_ASK_METHODS_H

#include <stdbool.h>

#include "control/ask/ask.h"
#include "control/ask/peer.h"
#include "control/ask/process.h"
#include "node/node.h"

#define METHODS_WAIT_MAX_MS   (INT64_C(24) * 3600 * 1000) /* limit of a check's wait_ms */
#define METHODS_NAMES_MAX     10000			  /* tasks named in one request */
#define METHODS_COUNT_MAX     64
#define METHODS_SURVEY_MAX_MS 3000 /* a table waits so long for ZooKeeper */

/* The answer to callers without permission. */
#define METHODS_NOT_ALLOWED \
	"not allowed: only root, the sidecar's own user and the members of socket-group may"

/* The answer where ZooKeeper could not be read. */
#define METHODS_NOT_READ "no confirmed session with ZooKeeper, or its servers do not answer"

struct listing;
struct subscriptions;
struct round;

struct methods {
	const struct process *process;
	struct node *node;		     /* the process's node */
	struct subscriptions *subscriptions; /* owned */
	struct asks asks;		     /* requests that wait */
	unsigned n_parked;		     /* number of those in parked.c */
	struct round *round;		     /* the survey in progress, NULL */
	SLIST_HEAD(user_list, user) users;   /* see user.c */
	struct recipe_waits {
		/* state of the fleet when the waits were last checked */
		uint64_t serial;
		size_t n_members;
		bool up;
	} waits;
	struct runners {
		SLIST_HEAD(runner_list, runner) list; /* runners of users; see runners.c */
		struct host_timer due, ping;
	} runners;
	struct notifier {	 /* see notifiers.c */
		struct peer *c;	 /* NULL: not connected */
		int64_t gone_ms; /* when it disconnected */
		struct program_problems {
			struct program_problem *list;
			size_t n;
		} problems; /* see programs.h */
	} notifier;
	struct method_asked {
		const char *name; /* NULL behind the last method */
		uint64_t n;	  /* how often it was called */
	} asked[METHODS_COUNT_MAX];
	bool dirty; /* something has changed: check the requests again */
	struct host_turn turn;
	struct host_timer due;
};

/* A request. */
struct call {
	struct methods *m;
	struct peer *c;
	uint32_t msgid;
	struct reader params; /* at the first parameter not taken yet */
	size_t n_params;
	const char *method; /* its name in the table, and the parameters that it takes, in words */
	const char *takes;
};

/* The answer to a request that does not wait: its result is packed between these two. */
struct pack *call_result(const struct call *call);
void call_end(const struct call *call);
/* Answers with an empty map: the request was carried out. */
void call_done(const struct call *call);
/* Answers with an error, and returns false. */
bool call_fail(const struct call *call, enum rpc_code code, const char *why);
/* Refuses a bad request. */
bool call_refuse(const struct call *call, const char *why);
/* Refuses parameters that the method does not take, and says which it does. */
bool call_misused(const struct call *call);
/* Whether the client may make changes; false after an error answer. */
bool call_may_change(const struct call *call);
/* Whether ZooKeeper can be reached now; false after an error answer. */
bool call_has_session(const struct call *call);
/* Likewise, and the decisions of operators are known. */
bool call_has_policy(const struct call *call);

/*
 * The next parameter as the name of a task; answers with an error and returns NULL if it is none.
 */
struct task *methods_take_task(struct call *call);

/* Answers that the request is about one election, and so not for a task with partitions. */
void methods_refuse_whole(const struct call *call, const struct listing *l);

#endif
