/* Shared declarations of the pruning of ended jobs. For node/queue_prune*.c alone. */
#ifndef ZKLEADER_NODE_QUEUE_LEAD_QUEUE_PRUNE_H
#define ZKLEADER_NODE_QUEUE_LEAD_QUEUE_PRUNE_H

#include "node/queue/lead/queue_lead.h"

struct prune_minute {
	int64_t minute;
	/* Server's clock: no record may go before; early: though there are more than the limit */
	int64_t again_ms, early_ms;
	size_t count; /* records, by the last count */
	bool counted;
};

/* A record that is looked at. */
struct prune_item {
	struct prune *prune;
	char uuid[NAME_ID_MAX + 1];
	bool waits;	    /* waiting for its first or next attempt */
	unsigned flying;    /* outstanding reads */
	bool gone, pointer; /* the record has gone; it is a dead letter */
	int32_t version;    /* version of the job's record */
	int64_t mtime;	    /* mtime of the job's record: when an ended job ended */
	char *key;	    /* its znode's path, which goes with the record; owned; NULL */
	int32_t key_version;
};

/* Several records that are deleted together. */
struct prune_batch {
	struct prune *prune;
	LIST_ENTRY(prune_batch) link;
	size_t n;
	struct prune_item *items[LEAD_BATCH];
	struct prune_item *of_op[3 * LEAD_BATCH]; /* the item of each operation */
};

enum prune_phase { PRUNE_REST, PRUNE_LIST, PRUNE_COUNT, PRUNE_LOOK };

struct prune {
	struct queue_lead *lead;
	enum prune_phase phase;
	struct prune_minute *minutes;  /* sorted; owned */
	size_t n, at;		       /* minutes[at] is counted, or pruned */
	int64_t round_ms;	       /* CLOCK_BOOTTIME: not before */
	int64_t keep_ms, keep_dead_ms; /* the settings when the minutes were looked at */
	int32_t letters;	       /* number of dead letters, by the last count */
	size_t surplus;		       /* records above the limit, the oldest of which go */
	size_t flying;		       /* outstanding reads */
	bool refused;		       /* a request was refused, so this round is over */
	/* state of minutes[at] */
	bool looks;
	unsigned x; /* index in prune_digits */
	size_t kept;
	int64_t again_ms, early_ms; /* the soonest that a record of it may go */
	/* state of that digit's folder: queue_prune_look.c */
	bool listing, listed;
	struct prune_item *items; /* owned */
	size_t n_items, next;
	struct prune_item **ready; /* to be deleted; owned */
	size_t n_ready;
	LIST_HEAD(prune_batch_list, prune_batch) batches; /* outstanding */
	size_t n_batches;
};

extern const char prune_digits[];

/* --- queue_prune.c -------------------------------------------------------- */

int64_t prune_server_ms(const struct prune *p);
/* Whether one more read may be sent. */
bool prune_may_read(const struct prune *p);
/* How long a record is kept after the end; letter: a dead letter's. */
int64_t prune_kept_ms(const struct prune *p, bool letter);
int64_t prune_least_ms(void);

/* --- queue_prune_look.c --------------------------------------------------- */

/* Looks at the records of one folder. False: all is done. */
bool prune_look(struct prune *p);
void prune_look_done(struct prune *p);

#endif
