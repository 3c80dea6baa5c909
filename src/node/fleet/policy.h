/*
 * The decisions of operators for the whole fleet: pauses, pins, drains and resignations under
 * ROOT/policy. A record never changes once made; another decision about the same thing takes its
 * place. A temporary one ends when a sidecar deletes it, so it ends for all at the same time.
 */
#ifndef ZKLEADER_NODE_FLEET_POLICY_H
#define ZKLEADER_NODE_FLEET_POLICY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/queue.h>

#include "node/fleet/registry.h"
#include "node/tree/folder.h"
#include "wire/records/record.h"

#define POLICY_ITEMS_MAX 10000
#define POLICY_UNSEEN	 (-1) /* the item was there before us */

struct policy_item {
	char name[NAME_ID_MAX + 1]; /* name of the znode: a uuid */
	enum policy_kind kind;
	struct policy_record record;
	/*
	 * The order in which decisions were made: the later has the bigger number. 0: not known, as
	 * it was read in an earlier session.
	 */
	int64_t order;
	int64_t seen_ms;  /* CLOCK_BOOTTIME when it was seen to be made; POLICY_UNSEEN */
	int64_t tried_ms; /* likewise: the last attempt to end it; 0: none */
};

struct policy_change;

struct policy_handlers {
	/* Candidates may have changed. */
	void (*changed)(void *arg);
	/*
	 * Something was decided, or has ended; not called for what was so when it was first read.
	 */
	void (*told)(void *arg, const struct policy_item *item, bool ended);
	/* Whether the task may have a schedule, as far as is known here. NULL: each may. */
	bool (*scheduled)(void *arg, const char *task);
	void *arg;
};

struct policy {
	struct session *session;
	struct registry *registry;
	struct folder folder;	    /* ready: the folder was read whole in this session */
	struct policy_item **items; /* sorted by kind, task and node; owned, as is each */
	size_t n;
	uint64_t edition;   /* changes whenever a decision is made or ends */
	int64_t last_order; /* the biggest of all items that were seen */
	/* Changes that wait for the folder to be read again. */
	SLIST_HEAD(policy_change_list, policy_change) changes;
	struct policy_handlers handlers;
	struct host_timer due;
};

enum policy_result {
	POLICY_DONE,
	POLICY_NOTHING, /* there was nothing to take back */
	POLICY_REFUSED, /* it may not be done */
	POLICY_UNKNOWN, /* connection lost: the change may have been made or not */
	POLICY_FULL,	/* refused by the server: a quota is used up */
	POLICY_FAILED,	/* refused by the server: see the log */
};

typedef void (*policy_fn)(void *arg, enum policy_result result);
/* Whether the change may be done after all that is decided now. */
typedef bool (*policy_may_fn)(void *arg);

void policy_init(struct policy *p, struct session *session, struct registry *registry,
		 const struct policy_handlers *handlers);
void policy_done(struct policy *p);

/* To be called by the session's handlers. */
void policy_up(struct policy *p);
void policy_cut(struct policy *p);
void policy_expired(struct policy *p);
void policy_watch(struct policy *p, enum store_watch type, const char *path);

/*
 * The decision about this; NULL: none. A task or node that means nothing to the kind is "". A
 * decision about a task counts for each of its partitions T:K, but one about T:K alone comes first.
 */
const struct policy_item *policy_find(const struct policy *p, enum policy_kind kind,
				      const char *task, const char *node);
/* The decision about T:K alone. */
const struct policy_item *policy_find_own(const struct policy *p, enum policy_kind kind,
					  const char *task, const char *node);
/* The number of decisions of that kind about the task; the first of them is items[*ret_first]. */
size_t policy_of_task(const struct policy *p, enum policy_kind kind, const char *task,
		      size_t *ret_first);
/* Like policy_find(), for a node on that machine. The node may have a twin on another machine. */
const struct policy_item *policy_find_node(const struct policy *p, enum policy_kind kind,
					   const char *task, const char *node, const char *machine);
/* Whether the decision is about that node on that machine, or about that worker's. */
bool policy_is_about(const struct policy *p, const struct policy_item *item, const char *node,
		     const char *machine);
bool policy_concerns(const struct policy *p, const struct policy_item *item,
		     const struct worker *w);
/* Ends temporary decisions that are over, and sets a timer for the others. */
void policy_end_due(struct policy *p);
/*
 * Gives the operations that go with the end of a pause, in the same transaction: no tick up to then
 * is owed of the task's schedule, if it has one. At most POLICY_END_OPS; what they point to is kept
 * in *e.
 */
#define POLICY_END_OPS 2
struct policy_end {
	char made[STORE_PATH_MAX], replaced[STORE_PATH_MAX];
	uint8_t bytes[RECORD_POLICY_MAX];
};
size_t policy_end_ops(struct policy *p, const char *task, int64_t at_ms, struct policy_end *e,
		      struct store_op ops[POLICY_END_OPS]);
/* Whether the name is a partition T:K; gives T. */
bool policy_whole(const char *task, char ret_whole[NAME_TASK_MAX + 1]);
/* Puts the record in the place of earlier decisions about the same. fn is called once, later. */
void policy_put(struct policy *p, const struct policy_record *record, policy_fn fn, void *arg);
/*
 * To be called after changes under ROOT/policy by other parts of this node, which are known at
 * once.
 */
void policy_made(struct policy *p, const char *name, const struct policy_record *record);
void policy_gone(struct policy *p, const char *name);
/* Reads the decisions again. Once policy_is_read() is true, they are as of this call or later. */
uint64_t policy_refresh(struct policy *p);
bool policy_is_read(const struct policy *p, uint64_t due);
/* Whether the record of this name is known, and in force. */
bool policy_has(const struct policy *p, const char *name);
/*
 * Takes back decisions about the same as this record; fn as above. A drain that belongs to a
 * rolling restart is not an operator's: neither policy_put() nor this touches it.
 */
void policy_remove(struct policy *p, const struct policy_record *record, policy_fn fn, void *arg);

/* A task of several that an order is about. */
#define POLICY_PARTS_MAX 50 /* of one transaction */
struct policy_part {
	char task[NAME_ELECTION_MAX + 1];
	bool done; /* it was decided, or there was something to take back */
};
/*
 * Puts the record (put), or takes decisions back, for each of these tasks in one transaction. The
 * parts have to stay until fn is called; POLICY_NOTHING: none of them had anything to take back.
 * may (NULL: always) is asked with arg each time before it is sent. A change with it writes the
 * folder under the version that it read, so of two at a time the second is asked anew.
 */
void policy_change_all(struct policy *p, const struct policy_record *record, bool put,
		       struct policy_part *parts, size_t n, policy_may_fn may, policy_fn fn,
		       void *arg);

#endif
