/*
 * State and functions of a queue's leader. For queue_lead.c, queue_due.c, queue_given.c,
 * queue_assign.c, queue_takeover.c and queue_tidy.c.
 */
#ifndef ZKLEADER_NODE_QUEUE_LEAD_QUEUE_LEAD_H
#define ZKLEADER_NODE_QUEUE_LEAD_QUEUE_LEAD_H

#include "core/queue/assign.h"
#include "core/queue/rate.h"
#include "core/queue/epoch.h"
#include "node/queue/queue_parts.h"

#define LEAD_LISTS_MAX	 16 /* outstanding listings of folders */
#define LEAD_READS_MAX	 16 /* outstanding reads of assignments and records */
#define LEAD_NEAR_MAX	 64 /* next folders of `due`, which are watched with priority */
#define LEAD_BATCH	 25 /* jobs in one transaction */
#define LEAD_BATCHES_MAX 4  /* outstanding batches */

/* --- queue_due.c: what is due, and when ----------------------------------- */

struct due_item {
	struct job_pointer pointer;
	int64_t minute;	    /* the minute of its folder */
	int32_t tries;	    /* callbacks: attempts begun; -1: not read */
	int64_t not_before; /* CLOCK_BOOTTIME: no assignment before, as the last failed */
};

struct due_folder {
	struct queue_lead *lead;
	int64_t minute;
	bool callbacks;		/* holds callbacks; false: jobs */
	struct due_item *items; /* by due_ms; owned */
	size_t first, n, room;	/* items[first] to items[n - 1] are left */
	size_t count;		/* number of znodes, by the folder's Stat */
	bool there;		/* found in the last listing of folders */
	bool listed, listing, counting, dirty, dropping;
	bool near;		   /* when the last listing was requested */
	int64_t list_ms, count_ms; /* CLOCK_BOOTTIME: not before */
};

struct due_set {
	struct due_folder **folders; /* sorted by minute, callbacks last; owned, as is each */
	size_t n;
	bool listed, listing, dirty;
	int64_t list_ms;
	size_t lists; /* outstanding */
};

struct queue_lead;

void due_pump(struct queue_lead *lead, int64_t now);
void due_watch(struct queue_lead *lead, const char *rest);
/* Whether all folders have been listed once. */
bool due_is_known(const struct queue_lead *lead);
/* Removes the first job, or callback, that is due by now_ms (the clock of jobs); false: none. */
bool due_take(struct queue_lead *lead, bool callbacks, int64_t now_ms, int64_t boot_ms,
	      struct due_item *ret);
/* Whether a job, or callback, can be taken now. */
bool due_is_any(const struct queue_lead *lead, bool callbacks, int64_t boot_ms);
/* The item was not assigned; it is due again in in_ms. */
void due_put_back(struct queue_lead *lead, const struct due_item *item, int64_t in_ms);
/* The item is known to be gone. */
void due_forget(struct queue_lead *lead, const struct due_item *item);
/* When the next item becomes due; INT64_MAX: none. */
int64_t due_next_ms(const struct queue_lead *lead, int64_t now_ms);
/* Each job that was submitted in that minute and waits. */
typedef void (*due_each_fn)(void *arg, const char *uuid);
void due_each(const struct queue_lead *lead, int64_t minute, due_each_fn fn, void *arg);
/* How many jobs wait. */
size_t due_count(const struct queue_lead *lead);
void due_done(struct queue_lead *lead);

/* --- queue_given.c: assigned jobs, by node -------------------------------- */

struct given {
	struct job_pointer pointer;
	int64_t session; /* 0: not read */
	bool reading;
	uint64_t order;	      /* number of its read among those of its node */
	bool there;	      /* found in the last listing */
	int64_t timeout_ms;   /* timeout of the session, if the fleet had it */
	int64_t suspected_ms; /* CLOCK_BOOTTIME: its session was found missing; 0: it was not */
	uint64_t lists;	      /* the listing of workers that will confirm it */
	int64_t gone_ms;      /* CLOCK_BOOTTIME: since then surely missing; 0 */
	int64_t retry_ms;
	bool due_there;		   /* its pointer in `due` exists already, under the same name */
	struct takeover *takeover; /* outstanding; NULL */
};

struct given_node {
	struct queue_lead *lead;
	char node[WORKER_NODE_MAX + 1];
	struct given **list; /* owned, as is each */
	size_t n, room;
	uint64_t asked, answered; /* reads of assignments */
	bool there;
	bool listed, listing, dirty, dropping;
	int64_t list_ms;
};

struct given_set {
	struct given_node **nodes; /* owned, as is each */
	size_t n;
	bool listed, listing, dirty;
	int64_t list_ms;
	size_t lists, reads; /* outstanding */
	/* listing of workers that confirms missing sessions; CLOCK_BOOTTIME */
	size_t takeovers; /* outstanding */
	uint64_t refreshed_lists;
	int64_t refreshed_ms;
};

void given_pump(struct queue_lead *lead, int64_t now);
void given_watch(struct queue_lead *lead, const char *rest);
bool given_is_known(const struct queue_lead *lead);
/* Number of jobs that are assigned and have not ended; and of these, or callbacks, of a node. */
size_t given_count(const struct queue_lead *lead);
size_t given_to(const struct queue_lead *lead, const char *node, bool callbacks);
struct given_node *given_node_of(struct queue_lead *lead, const char *node, bool make);
void given_add(struct given_node *n, const struct job_pointer *p, int64_t session,
	       int64_t timeout_ms);
/* Forgets it: the next listing finds it if it still exists. */
void given_remove(struct given_node *n, struct given *g);
void given_done(struct queue_lead *lead);

/* --- queue_takeover.c: jobs of lost workers ------------------------------- */

void takeover_look(struct given_node *n, struct given *g, int64_t now);
void takeover_forget(struct queue_lead *lead, struct given *g);

/* --- queue_assign.c: assigns jobs ----------------------------------------- */

struct assign_batch;
struct tries_read;

struct assigns {
	LIST_HEAD(assign_batch_list, assign_batch) batches; /* outstanding */
	size_t n;
	LIST_HEAD(tries_read_list, tries_read) tries; /* likewise */
	size_t cursor;
	int64_t retry_ms; /* CLOCK_BOOTTIME: not before */
};

void assign_pump(struct queue_lead *lead, int64_t now);
void assign_done(struct queue_lead *lead);

/* --- queue_tidy.c --------------------------------------------------------- */

struct tidy {
	bool opening, wanted; /* a change of `open` is outstanding */
	int open;	      /* 1: the znode exists, 0: it does not, -1: not known */
	int64_t retry_ms;
	int64_t seen_ms; /* CLOCK_BOOTTIME: no check before */
};

void tidy_pump(struct queue_lead *lead, int64_t now);
void tidy_done(struct queue_lead *lead);

/* --- queue_prune.c -------------------------------------------------------- */

struct prune;

void prune_pump(struct queue_lead *lead, int64_t now);
void prune_done(struct queue_lead *lead);

/* --- queue_lead.c --------------------------------------------------------- */

struct queue_lead {
	struct queue *queue;
	struct epoch epoch; /* of ROOT/jobs/Q */
	int64_t retry_ms;
	bool told_above;
	struct rate rate;
	bool fresh; /* it is not known yet whether the sidecar before has used it up */
	struct due_set due;
	struct given_set given;
	struct assigns assigns;
	struct tidy tidy;
	struct prune *prune;
};

struct queue_calls *lead_calls(const struct queue_lead *lead);
struct queues *lead_queues(const struct queue_lead *lead);
const char *lead_name(const struct queue_lead *lead);
const struct node_settings *lead_paths(const struct queue_lead *lead);
/* The first operations of each transaction of the leader; path: a buffer of the caller. */
#define LEAD_CHECKS 2
void lead_checks(const struct queue_lead *lead, char path[STORE_PATH_MAX],
		 struct store_op ops[LEAD_CHECKS]);
/* Whether a check failed, or an answer was lost: then it is handled here. */
bool lead_took(struct queue_lead *lead, const struct store_reply *reply);

#endif
