/*
 * What operators have decided for the whole fleet: pauses, pins, drains and resignations under
 * ROOT/policy. A record never changes once made; another decision about the same thing takes its
 * place. One that was made for a while ends when a sidecar deletes it, so it ends for all at the
 * same time.
 */
#ifndef ZKLEADER_NODE_FLEET_POLICY_H
#define ZKLEADER_NODE_FLEET_POLICY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "node/fleet/registry.h"
#include "node/tree/folder.h"
#include "wire/records/record.h"

#define POLICY_ITEMS_MAX 10000
#define POLICY_UNSEEN	 (-1) /* it was there before us */

struct policy_item {
	char name[NAME_ID_MAX + 1]; /* a uuid: of the znode */
	enum policy_kind kind;
	struct policy_record record;
	/*
	 * Of two that were made one after the other the later has the bigger; 0: it was read in a
	 * session before ours, and nothing is known of that.
	 */
	int64_t order;
	int64_t seen_ms;  /* CLOCK_BOOTTIME when it was seen to be made; POLICY_UNSEEN */
	int64_t tried_ms; /* likewise when its end was asked for last; 0: not yet */
};

struct policy_change;

struct policy_handlers {
	/* What holds for candidates may be different now. */
	void (*changed)(void *arg);
	/*
	 * This has been decided, or has ended; not called for what was so when it was first read.
	 */
	void (*told)(void *arg, const struct policy_item *item, bool ended);
	/* Whether the task may have a schedule, as far as is known here. NULL: each may. */
	bool (*scheduled)(void *arg, const char *task);
	void *arg;
};

struct policy {
	struct session *session;
	struct registry *registry;
	struct folder folder;	    /* ready: it has been read whole in this session */
	struct policy_item **items; /* sorted by kind, task and node; owned, as is each */
	size_t n;
	uint64_t edition;   /* another whenever something has been decided or is no longer */
	int64_t last_order; /* the biggest of all items that were seen */
	struct policy_change *changes; /* waiting for the folder to be read again */
	struct policy_handlers handlers;
	struct host_timer due;
};

enum policy_result {
	POLICY_DONE,
	POLICY_NOTHING, /* there was nothing to take back */
	POLICY_UNKNOWN, /* the connection went: it may or may not have happened */
	POLICY_FULL,	/* refused by the server: a quota is used up */
	POLICY_FAILED,	/* refused by the server: see the log */
};

typedef void (*policy_fn)(void *arg, enum policy_result result);

void policy_init(struct policy *p, struct session *session, struct registry *registry,
		 const struct policy_handlers *handlers);
void policy_done(struct policy *p);

/* From the session's handlers. */
void policy_up(struct policy *p);
void policy_cut(struct policy *p);
void policy_expired(struct policy *p);
void policy_watch(struct policy *p, enum store_watch type, const char *path);

/*
 * What has been decided about this, NULL: nothing. A task or node of no matter to the kind is "".
 * What was decided about a task is about each of its partitions T:K; what was about that one alone
 * comes before.
 */
const struct policy_item *policy_find(const struct policy *p, enum policy_kind kind,
				      const char *task, const char *node);
/* That which is about T:K alone. */
const struct policy_item *policy_find_own(const struct policy *p, enum policy_kind kind,
					  const char *task, const char *node);
/*
 * How many decisions of that kind there are about the task; the first of them is
 * items[*ret_first].
 */
size_t policy_of_task(const struct policy *p, enum policy_kind kind, const char *task,
		      size_t *ret_first);
/* As policy_find(), for what concerns a node on that machine, which may have a twin. */
const struct policy_item *policy_find_node(const struct policy *p, enum policy_kind kind,
					   const char *task, const char *node, const char *machine);
/* Whether it is about that node on that machine, or about that worker's. */
bool policy_is_about(const struct policy *p, const struct policy_item *item, const char *node,
		     const char *machine);
bool policy_concerns(const struct policy *p, const struct policy_item *item,
		     const struct worker *w);
/* Ends what was decided for a while that is over, and comes back for what is not. */
void policy_end_due(struct policy *p);
/*
 * What goes with the end of a pause, in the same transaction: that nothing up to then is owed of
 * the task's schedule, if it has one. At most POLICY_END_OPS operations; what they point to is kept
 * in *e.
 */
#define POLICY_END_OPS 2
struct policy_end {
	char made[STORE_PATH_MAX], replaced[STORE_PATH_MAX];
	uint8_t bytes[RECORD_POLICY_MAX];
};
size_t policy_end_ops(struct policy *p, const char *task, int64_t at_ms, struct policy_end *e,
		      struct store_op ops[POLICY_END_OPS]);
/* Whether it is a partition T:K; and T. */
bool policy_whole(const char *task, char ret_whole[NAME_TASK_MAX + 1]);
/* Puts it in the place of what was decided about the same. fn is called once, later. */
void policy_put(struct policy *p, const struct policy_record *record, policy_fn fn, void *arg);
/* Changes under ROOT/policy by other parts of this node: known at once. */
void policy_made(struct policy *p, const char *name, const struct policy_record *record);
void policy_gone(struct policy *p, const char *name);
/* Reads it again: once that is policy_is_read(), what is known is as of this call or later. */
uint64_t policy_refresh(struct policy *p);
bool policy_is_read(const struct policy *p, uint64_t due);
/* Whether the record of this name is known, and in force. */
bool policy_has(const struct policy *p, const char *name);
/*
 * Takes back what was decided about the same as this record; likewise. A drain that belongs to a
 * rolling restart is not an operator's: neither of these two touches it.
 */
void policy_remove(struct policy *p, const struct policy_record *record, policy_fn fn, void *arg);

#endif
