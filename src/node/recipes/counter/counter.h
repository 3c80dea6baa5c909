/*
 * Counters of the whole fleet: ROOT/counters/NAME has the value and the last addition of each node.
 * An addition is a compare-and-set under a number of its own. A node makes one at a time on each
 * counter, so its last one tells whether an addition was made whose answer was lost.
 */
#ifndef ZKLEADER_NODE_RECIPES_COUNTER_COUNTER_H
#define ZKLEADER_NODE_RECIPES_COUNTER_COUNTER_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/queue.h>

#include "node/fleet/registry.h"

#define COUNTER_WAIT_MS	  8000 /* an addition is tried for so long; less than a client waits */
#define COUNTER_QUEUE_MAX 1000 /* questions and additions of a node at a time */

enum counter_outcome {
	COUNTER_DONE,
	COUNTER_NOT_DONE, /* the addition was not made, and never will be */
	COUNTER_UNKNOWN	  /* the addition may or may not have been made */
};

struct counter_answer {
	enum counter_outcome outcome;
	int64_t value;	 /* DONE: the value behind the addition, or the present one */
	const char *why; /* a constant text; NULL for DONE */
};

typedef void (*counter_fn)(void *arg, const struct counter_answer *answer);

struct counter_op;

struct counters {
	struct session *session;
	struct registry *registry;
	TAILQ_HEAD(counter_op_list, counter_op) ops; /* the oldest first */
	size_t n;
	/* How the folder of counters was refused when it was last created; OK: not refused. */
	enum store_code no_folder;
	struct host_timer due;
};

void counters_init(struct counters *c, struct session *session, struct registry *registry);
/* Answers all requesters. */
void counters_done(struct counters *c);
/* From the session's handlers: continues what was interrupted. */
void counters_up(struct counters *c);

/*
 * Adds to the counter, a good name, or reads it where `adds` is false; it begins at 0. fn is called
 * once, perhaps before this returns.
 */
void counters_add(struct counters *c, const char *name, bool adds, int64_t delta, counter_fn fn,
		  void *arg);

#endif
