/*
 * What the leader of a queue knows and does. For queue_lead.c, queue_due.c, queue_given.c,
 * queue_assign.c, queue_takeover.c and queue_tidy.c.
 */
#ifndef ZKLEADER_NODE_QUEUE_LEAD_H
#define ZKLEADER_NODE_QUEUE_LEAD_H

#include "core/assign.h"
#include "core/bucket.h"
#include "node/queue_parts.h"

#define LEAD_LISTS_MAX	 16   /* of folders, on their way */
#define LEAD_READS_MAX	 16   /* of assignments and records, likewise */
#define LEAD_WATCHED_MAX 2000 /* folders of `due` whose changes are heard of */
#define LEAD_BATCH	 25   /* jobs of one transaction */
#define LEAD_BATCHES_MAX 4    /* on their way */

/* --- queue_due.c: what is due, and when ----------------------------------- */

struct due_item {
	struct job_pointer pointer;
	int64_t minute;	    /* of the folder that it lies in */
	int32_t tries;	    /* of a callback; -1: not read */
	int64_t not_before; /* CLOCK_BOOTTIME: it could not be given just now */
};

struct due_folder {
	struct queue_lead *lead;
	int64_t minute;
	struct due_item *items; /* by due_ms; owned */
	size_t first, n, room;	/* items[first] to items[n - 1] are left */
	size_t count;		/* as the servers have it */
	bool there;		/* it was in the list of folders */
	bool listed, listing, counting, dirty, dropping;
	bool watched;		   /* by the list that was asked for last */
	int64_t list_ms, count_ms; /* CLOCK_BOOTTIME: not before */
};

struct due_set {
	struct due_folder **folders; /* sorted by minute; owned, as is each */
	size_t n;
	bool listed, listing, dirty;
	int64_t list_ms;
	size_t lists; /* on their way */
};

struct queue_lead;

void due_pump(struct queue_lead *lead, int64_t now);
void due_watch(struct queue_lead *lead, const char *rest);
/* All that is there was listed once. */
bool due_is_known(const struct queue_lead *lead);
/* The first that is due by now_ms, by the server's clock, and takes it out; false: none. */
bool due_take(struct queue_lead *lead, int64_t now_ms, int64_t boot_ms, struct due_item *ret);
/* Whether there is one. */
bool due_is_any(const struct queue_lead *lead, int64_t boot_ms);
/* It was not given after all; not before so many ms. */
void due_put_back(struct queue_lead *lead, const struct due_item *item, int64_t in_ms);
/* It is known to have gone. */
void due_forget(struct queue_lead *lead, const struct due_item *item);
/* The instant of the next that is not due yet, INT64_MAX. */
int64_t due_next_ms(const struct queue_lead *lead, int64_t now_ms);
size_t due_count(const struct queue_lead *lead);
void due_done(struct queue_lead *lead);

/* --- queue_given.c: what was given to whom -------------------------------- */

struct given {
	struct job_pointer pointer;
	int64_t session; /* 0: not read */
	bool reading;
	uint64_t order;	      /* of its read among those of its node */
	bool there;	      /* it was in the list */
	int64_t timeout_ms;   /* of the session, as far as it was seen in the fleet */
	int64_t suspected_ms; /* CLOCK_BOOTTIME: its session was missing; 0: it was not */
	uint64_t lists;	      /* the list of workers that is to tell so */
	int64_t gone_ms;      /* CLOCK_BOOTTIME: since then it is missing for sure; 0 */
	int64_t retry_ms;
	bool due_there;		   /* it is due already, under the name that it had */
	struct takeover *takeover; /* on its way; NULL */
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
	size_t lists, reads; /* on their way */
	/* of the list of workers, that is to tell who has gone; CLOCK_BOOTTIME */
	size_t takeovers; /* on their way */
	uint64_t refreshed_lists;
	int64_t refreshed_ms;
};

void given_pump(struct queue_lead *lead, int64_t now);
void given_watch(struct queue_lead *lead, const char *rest);
bool given_is_known(const struct queue_lead *lead);
/* Jobs, and callbacks if so, that were given and have not ended. */
size_t given_count(const struct queue_lead *lead, bool callbacks);
size_t given_to(const struct queue_lead *lead, const char *node);
struct given_node *given_node_of(struct queue_lead *lead, const char *node, bool make);
void given_add(struct given_node *n, const struct job_pointer *p, int64_t session,
	       int64_t timeout_ms);
/* It is to be looked at again whether it is there. */
void given_remove(struct given_node *n, struct given *g);
void given_done(struct queue_lead *lead);

/* --- queue_takeover.c: whose worker has gone ------------------------------ */

void takeover_look(struct given_node *n, struct given *g, int64_t now);
void takeover_forget(struct queue_lead *lead, struct given *g);

/* --- queue_assign.c: who gets what ---------------------------------------- */

struct assign_batch;
struct tries_read;

struct assigns {
	struct assign_batch *batches; /* on their way */
	size_t n;
	struct tries_read *tries; /* likewise */
	size_t cursor;
	int64_t retry_ms; /* CLOCK_BOOTTIME: not before */
};

void assign_pump(struct queue_lead *lead, int64_t now);
void assign_done(struct queue_lead *lead);

/* --- queue_tidy.c --------------------------------------------------------- */

struct tidy {
	bool opening, wanted; /* a change of `open` is on its way */
	int open;	      /* 1: it is there, 0: it is not, -1: not known */
	int64_t retry_ms;
	int64_t seen_ms; /* CLOCK_BOOTTIME: not looked at before */
};

void tidy_pump(struct queue_lead *lead, int64_t now);
void tidy_done(struct queue_lead *lead);

/* --- queue_prune.c -------------------------------------------------------- */

void prune_pump(struct queue_lead *lead, int64_t now);
void prune_done(struct queue_lead *lead);

/* --- queue_lead.c --------------------------------------------------------- */

enum lead_phase {
	LEAD_READ,  /* who has led it before */
	LEAD_RAISE, /* the epoch */
	LEAD_ON	    /* from now on nobody else assigns */
};

struct queue_lead {
	struct queue *queue;
	int64_t token; /* of the leadership */
	enum lead_phase phase;
	bool flying; /* a request of the phase */
	int64_t retry_ms;
	int32_t version; /* of ROOT/jobs/Q: the epoch */
	struct bucket bucket;
	bool fresh; /* the bucket is full, and nobody was asked whether it may be */
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
/* Another may have raised the epoch, or an answer was lost: all is read anew. */
void lead_restart(struct queue_lead *lead, int64_t in_ms);
/* Those that each transaction of the leader begins with; path: of the queue, kept by the caller. */
#define LEAD_CHECKS 2
void lead_checks(const struct queue_lead *lead, char path[STORE_PATH_MAX],
		 struct store_op ops[LEAD_CHECKS]);
/* Whether its failure was one of the checks', or an answer was lost: then it is dealt with. */
bool lead_took(struct queue_lead *lead, const struct store_reply *reply);

#endif
