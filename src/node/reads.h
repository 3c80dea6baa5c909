/*
 * Reads of leader nodes: those of one turn of the loop that can share a request do, the others take
 * turns.
 *
 * A node that is known and watched is still the same if any later read is answered before its watch
 * fires: the server sends both in order. And of many nodes one listing tells which are there.
 *
 * Of the reads of single nodes so many are on their way at a time: what is urgent, a confirmation
 * or a claim, waits behind those alone, and not behind the reads of 10,000 tasks. Nodes that a
 * listing has found come first. Where one of them turns out to be gone, the leader is giving up,
 * and what is left of them is listed once more: nodes that are gone as well need not be read one by
 * one.
 */
#ifndef ZKLEADER_NODE_READS_H
#define ZKLEADER_NODE_READS_H

#include <stddef.h>
#include <stdint.h>

#include "node/store.h"

/*
 * A listing has the names of all the fleet's tasks: it has to be for so many, and such a share, of
 * ours.
 */
#define READS_LIST_MIN	 32
#define READS_LIST_SHARE 10
#define READS_MAX	 200 /* of single nodes, on their way */

struct session;
struct task;

/* For each look at a task one of these is called; none after reads_forget(). */
struct reads_handlers {
	void (*still)(struct task *t); /* its watch had not fired */
	void (*free)(struct task *t);  /* it is not there */
	void (*read)(struct task *t);  /* it is to be read by itself, now; then reads_answered() */
	void (*failed)(struct task *t);
};

/* Of a task. */
struct task_reads {
	unsigned pending;  /* looks at it that are not answered, or wait to be sent */
	unsigned waiting;  /* reads of it that wait for their turn */
	struct task *next; /* behind this one there */
};

struct reads_list {
	struct task **tasks;
	size_t n;
};

struct reads {
	struct session *session;
	size_t n_tasks;
	struct reads_handlers handlers;
	struct reads_list still, taken; /* of this turn */
	struct reads_list there;	/* that a listing has found, to be read */
	size_t next;			/* of these */
	struct task *first, *last;	/* the others that are to be read, by their `reads.next` */
	size_t reads;			/* of single nodes, that wait or are on their way */
	size_t flying;			/* of these, that are on their way */
	struct host_turn turn;
};

void reads_init(struct reads *k, struct session *session, const struct reads_handlers *handlers);
void reads_done(struct reads *k);
/* Room for so many tasks; from now on they are that many at most. */
void reads_reserve(struct reads *k, size_t n_tasks);
/* Is it still as it is known? Only for a node that is watched. */
void reads_unchanged(struct reads *k, struct task *t);
/* Does anybody lead it? If so it is read as well. */
void reads_led(struct reads *k, struct task *t);
/* By itself, once it is its turn. */
void reads_single(struct reads *k, struct task *t);
/* Such a read has come back. */
void reads_answered(struct reads *k);
/* A node that was there when it was listed is not any more. */
void reads_list_again(struct reads *k);
/* The session has ended: what was not sent yet is not to be. */
void reads_forget(struct reads *k);

#endif
