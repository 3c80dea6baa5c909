/*
 * Reads of leader nodes: those of one turn of the loop that can share a request do, the others take turns.
 *
 * A node that is known and watched is still the same if any later read is answered before its watch
 * fires: the server sends both in order. And of many nodes one listing tells which are there.
 *
 * Of the reads of single nodes so many are on their way at a time: what is urgent, a confirmation or a
 * claim, waits behind those alone, and not behind the reads of 10,000 tasks. Nodes that a listing has
 * found come first. Where one of them turns out to be gone, the leader is giving up, and what is left
 * of them is listed once more: nodes that are gone as well need not be read one by one.
 */
#ifndef ZKLEADER_NODE_LOOK_H
#define ZKLEADER_NODE_LOOK_H

#include <stddef.h>
#include <stdint.h>

#include "node/store.h"

/* A listing has the names of all the fleet's tasks: it has to be for so many, and such a share, of ours. */
#define LOOK_LIST_MIN	32
#define LOOK_LIST_SHARE 10
#define LOOK_READS_MAX	200 /* of single nodes, on their way */

struct task;
struct leaders;

/* For each look at a task one of these is called; none after look_forget(). */
struct look_handlers {
	void (*still)(struct task *t); /* its watch had not fired */
	void (*free)(struct task *t);  /* it is not there */
	void (*read)(struct task *t);  /* it is to be read by itself, now; then look_answered() */
	void (*failed)(struct task *t);
};

struct look_list {
	struct task **tasks;
	size_t n;
};

struct look {
	struct leaders *leaders;
	struct look_handlers handlers;
	struct look_list still, taken; /* of this turn */
	struct look_list there;	       /* that a listing has found, to be read */
	size_t next;		       /* of these */
	struct task *first, *last;     /* the others that are to be read, by their next_read */
	size_t reads;		       /* of single nodes, that wait or are on their way */
	size_t flying;		       /* of these, that are on their way */
	struct host_turn turn;
};

void look_init(struct look *k, struct leaders *leaders, const struct look_handlers *handlers);
void look_done(struct look *k);
/* Room for so many tasks; from now on they are that many at most. */
void look_reserve(struct look *k, size_t n_tasks);
/* Is it still as it is known? Only for a node that is watched. */
void look_still(struct look *k, struct task *t);
/* Does anybody lead it? If so it is read as well. */
void look_taken(struct look *k, struct task *t);
/* By itself, once it is its turn. */
void look_single(struct look *k, struct task *t);
/* Such a read has come back. */
void look_answered(struct look *k);
/* A node that was there when it was listed is not any more. */
void look_again(struct look *k);
/* The session has ended: what was not sent yet is not to be. */
void look_forget(struct look *k);

#endif
