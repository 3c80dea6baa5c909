/*
 * Reads of leader nodes. Those of one turn of the loop share a request if they can; the others are
 * queued.
 *
 * A node that is known and watched is unchanged if any later read is answered before its watch
 * fires: the server sends both in order. One listing tells which of many nodes exist.
 *
 * The number of outstanding reads of single nodes is limited: an urgent request, such as a
 * confirmation or a claim, waits behind those alone, and not behind the reads of 10,000 tasks.
 * Nodes that a listing has found come first. If one of them turns out to be gone, its leader is
 * releasing tasks, and the rest is listed again: further nodes that are gone need no read of their
 * own.
 */
#ifndef ZKLEADER_NODE_TREE_READS_H
#define ZKLEADER_NODE_TREE_READS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/queue.h>

#include "node/store.h"

/*
 * A listing has the names of all the fleet's tasks, so it has to replace many reads: at least
 * READS_LIST_MIN, and those of at least 1/READS_LIST_SHARE of our tasks.
 */
#define READS_LIST_MIN	 32
#define READS_LIST_SHARE 10
#define READS_MAX	 200 /* outstanding reads of single nodes */

struct session;

/* A task whose leader node is read; part of what its handlers know it by. */
struct reads_item {
	const char *name;	       /* borrowed */
	unsigned pending;	       /* reads of it that are queued or outstanding */
	unsigned waiting;	       /* single reads of it that are queued */
	STAILQ_ENTRY(reads_item) link; /* of the queue */
};

/* For each read of an item one of these is called; none after reads_forget(). */
struct reads_handlers {
	/* The node is unchanged since the question; false: its watch has fired meanwhile. */
	bool (*still)(struct reads_item *item);
	void (*free)(struct reads_item *item); /* the node does not exist */
	void (*read)(struct reads_item *item); /* to send its own read now; then reads_answered() */
	void (*failed)(struct reads_item *item);
};

struct reads_list {
	struct reads_item **items;
	size_t n;
};

struct reads {
	struct session *session;
	size_t n_tasks;
	struct reads_handlers handlers;
	struct reads_list still, taken;		    /* to be sent at the end of this turn */
	struct reads_list there;		    /* found by a listing, to be read */
	size_t next;				    /* index into there.items */
	STAILQ_HEAD(reads_queue, reads_item) queue; /* the queue of other reads */
	size_t reads;  /* reads of single nodes: queued or outstanding */
	size_t flying; /* outstanding ones of these */
	struct host_turn turn;
};

void reads_init(struct reads *k, struct session *session, const struct reads_handlers *handlers);
void reads_done(struct reads *k);
void reads_item_init(struct reads_item *item, const char *name);
/* Makes room for n_tasks tasks; from now on there are at most that many. */
void reads_reserve(struct reads *k, size_t n_tasks);
/* Asks whether the node is unchanged. Only for a node that is watched. */
void reads_unchanged(struct reads *k, struct reads_item *item);
/* Asks whether the task has a leader. If so, its node is read as well. */
void reads_led(struct reads *k, struct reads_item *item);
/* Queues a read of this node alone. */
void reads_single(struct reads *k, struct reads_item *item);
/* A read of a single node was answered. */
void reads_answered(struct reads *k);
/* A node that was listed is gone meanwhile. */
void reads_list_again(struct reads *k);
/* The session has ended: reads not sent yet are dropped. */
void reads_forget(struct reads *k);

#endif
