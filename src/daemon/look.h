/*
 * Reads of leader nodes that many tasks share, those of one turn of the loop together.
 *
 * A node that is known and watched is still the same if any later read is answered before its watch
 * fires: the server sends both in order. And of many nodes one listing tells which are there.
 */
#ifndef ZKLEADER_DAEMON_LOOK_H
#define ZKLEADER_DAEMON_LOOK_H

#include <stddef.h>
#include <stdint.h>
#include <uv.h>

#include "daemon/zk.h"

/* A listing has the names of all the fleet's tasks: it has to be for so many, and such a share, of ours. */
#define LOOK_LIST_MIN	32
#define LOOK_LIST_SHARE 10

struct task;
struct leaders;

/* Each task that was given to look_still() or look_taken() gets one of these; none after look_forget(). */
struct look_handlers {
	void (*still)(struct task *t); /* its watch had not fired */
	void (*taken)(struct task *t); /* somebody's node is there */
	void (*free)(struct task *t);  /* nobody's is */
	void (*read)(struct task *t);  /* it has to be read by itself */
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
	uv_prepare_t prepare;
	uv_check_t check;
};

void look_init(struct look *k, uv_loop_t *loop, struct leaders *leaders,
	       const struct look_handlers *handlers);
void look_done(struct look *k);
/* Room for so many tasks; from now on they are that many at most. */
void look_reserve(struct look *k, size_t n_tasks);
/* Is it still as it is known? Only for a node that is watched. */
void look_still(struct look *k, struct task *t);
/* Does anybody lead it? */
void look_taken(struct look *k, struct task *t);
/* The session has ended: what was not sent yet is not to be. */
void look_forget(struct look *k);

#endif
