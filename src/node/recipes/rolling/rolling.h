/*
 * Rolling restarts: at most K nodes of a group are between drain and healthy at a time.
 * ROOT/rolling/GROUP has K and whether the group is halted; below it are slots/NODE for each slot
 * taken, and waiting/ for the queue. Each step is one transaction under the version of
 * ROOT/rolling/GROUP, so a count made before it still holds in it; after a lost answer the state is
 * read. A slot is persistent: a node keeps it over any crash, until it is healthy or an operator
 * releases the slot.
 */
#ifndef ZKLEADER_NODE_RECIPES_ROLLING_ROLLING_H
#define ZKLEADER_NODE_RECIPES_ROLLING_ROLLING_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/queue.h>

#include "core/recipes/rolling_step.h"
#include "node/fleet/policy.h"
#include "node/fleet/registry.h"
#include "wire/records/rolling_record.h"

#define ROLLING_WAIT_MS 8000 /* for the outcome of a step; less than the client's timeout */
#define ROLLING_OPS_MAX 1000 /* orders of a node at a time */
#define ROLLING_LOOK_MS 200  /* between health checks during the soak time */

struct rolling_request {
	enum rolling_order order;
	char group[NAME_TASK_MAX + 1];
	int64_t max_unavailable;    /* TAKE */
	int64_t wait_ms;	    /* TAKE: for a slot; -1: for ever */
	int64_t soak_ms;	    /* FREE */
	char slot[NAME_ID_MAX + 1]; /* ADVANCE, FREE: its id */
	enum rolling_state state;   /* ADVANCE: the new state; FAILED halts the group */
	int64_t exit_status;	    /* ADVANCE: exit status of CMD; -1: none */
	/* ADVANCE: the process that handled the slot until now; else: CHANGED */
	char before[ROLLING_PROCESS_MAX + 1];
	char process[ROLLING_PROCESS_MAX + 1]; /* TAKE, ADVANCE: its handler from now on */
	char boot_id[NAME_ID_MAX + 1];	       /* TAKE, ADVANCE: boot id of this machine */
	char by[POLICY_TEXT_MAX + 1];	       /* TAKE: the user */
	char node[WORKER_NODE_MAX + 1];	       /* RELEASE: the node's name, or only its host's */
};

/* The group as it was read under one version. */
struct rolling_view {
	bool exists;
	bool foreign; /* RELEASE: its record is not understood */
	int32_t version;
	struct rolling_group group;
	struct rolling_held {
		char node[WORKER_NODE_MAX + 1]; /* from the znode's name */
		int32_t version;
		bool known; /* the record was read, and is valid */
		bool drain_there;
		struct rolling_slot slot;
	} * slots; /* owned */
	size_t n_slots;
	struct rolling_queued {
		char *name; /* name of the znode; owned */
		int64_t number;
		struct rolling_waiter waiter; /* STATUS: node "" where it could not be read */
	} * waiting;			      /* owned; the first in the queue first */
	size_t n_waiting;
};

struct rolling_answer {
	enum rolling_result result;
	const char *why;		 /* a constant text; NULL */
	const struct rolling_slot *slot; /* TAKE, OWN, ADVANCE: DONE, CHANGED, HAS_FAILED; NULL */
	/* The group, as far as it was read; NULL: not read. */
	const struct rolling_view *view;
	size_t leads, jobs; /* BUSY */
};

typedef void (*rolling_fn)(void *arg, const struct rolling_answer *answer);

/* Calls into the rest of the node. */
struct rolling_handlers {
	/* Whether the drain is in force here, nothing is led and no job runs. */
	bool (*idle)(void *arg, const char *drain, size_t *ret_leads, size_t *ret_jobs);
	/* This drain was made, or ended. */
	void (*drained)(void *arg, const char *drain, const struct policy_record *record);
	void (*undrained)(void *arg, const char *drain);
	struct policy *policy; /* which drains there are */
	void *arg;
};

struct rolling_op;

/* The removal of queue entries of the previous process. */
struct rolling_sweep {
	bool done, broken;
	size_t pending; /* outstanding requests */
	char **groups;	/* owned, as is each */
	size_t n, at;
};

/* The search for drains without a slot, which nothing would end. It looks at a few now and then. */
#define ROLLING_STRAYS_MAX 100
struct rolling_audit {
	struct host_timer due;
	size_t at;		     /* index in the policy of the next one */
	size_t left, looks;	     /* left in this round: items, and slots that may be read */
	bool pending;		     /* a slot is being read */
	char asked[NAME_ID_MAX + 1]; /* the drain of that slot */
	struct rolling_stray {
		char drain[NAME_ID_MAX + 1];
		bool sure; /* found twice: a slot that is just freed ends its drain, too */
	} * strays;	   /* owned */
	size_t n;
};

struct rolling {
	struct session *session;
	struct registry *registry;
	struct rolling_handlers handlers;
	LIST_HEAD(rolling_op_list, rolling_op) ops;
	size_t n;
	struct rolling_sweep sweep;
	struct rolling_audit audit;
	struct host_timer due;
};

void rolling_init(struct rolling *r, struct session *session, struct registry *registry,
		  const struct rolling_handlers *handlers);
/* Answers all requesters. */
void rolling_done(struct rolling *r);
/* From the session's handlers: continues what was interrupted. */
void rolling_up(struct rolling *r);
void rolling_watch(struct rolling *r, const char *path);

/*
 * Copies the request. fn is called once, maybe before this returns. The returned op is valid until
 * then; NULL: fn has been called.
 */
struct rolling_op *rolling_ask(struct rolling *r, const struct rolling_request *request,
			       rolling_fn fn, void *arg);
/*
 * The requester is gone, and fn is not called. An order that waits for a slot leaves the queue, and
 * frees a slot that it gets nevertheless; a step is not retried.
 */
void rolling_cancel(struct rolling_op *op);
/*
 * Reads the names of all groups that there has been a rolling restart of, sorted. fn is called
 * once; names NULL: it is not known.
 */
typedef void (*rolling_groups_fn)(void *arg, char *const *names, size_t n);
void rolling_groups(struct rolling *r, rolling_groups_fn fn, void *arg);
/* Whether that drain seems to have no slot: only RELEASE ends it. */
bool rolling_is_stray(const struct rolling *r, const char *drain);

#endif
