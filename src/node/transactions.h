/*
 * Claims and releases on their way to ZooKeeper, in transactions of a bounded size: releases of one
 * turn of the loop go together, claims of a few. Where one release of several does not hold, the
 * others are sent again alone; of claims the reads behind them tell which are free still, and those
 * are sent again together.
 */
#ifndef ZKLEADER_NODE_TRANSACTIONS_H
#define ZKLEADER_NODE_TRANSACTIONS_H

#include <stddef.h>
#include <stdint.h>

#include "base/name.h"
#include "core/election.h"
#include "node/store.h"

#define TRANSACTION_MAX 50 /* tasks in one transaction */
#define TRANSACTION_TURN_MAX \
	1000 /* tasks that are claimed, and released, in one turn of the loop */
/* How long claims that fill none wait for more, while reads are on their way. */
#define TRANSACTION_WAIT_MS 10

struct task;
struct reads;
struct registry;
struct session;

/* Of a task. */
struct task_transaction {
	unsigned pending; /* transactions with it that are not answered */
	int32_t version;  /* release: that the leader node must still have */
	/* release: the worker that has to be there, one of leaders.ids; "": none has to */
	const char *to;
};

struct transactions_handlers {
	/* The claim or release of a task was answered. */
	void (*claimed)(struct task *t, const struct store_reply *reply);
	void (*released)(struct task *t, const struct store_reply *reply);
	/* To be sent behind a claim: the read that brings the token and sets the watch. */
	void (*read)(struct task *t);
	/*
	 * It was not claimed, for another's sake: by that read it is to be claimed once more or
	 * not.
	 */
	void (*left_out)(struct task *t);
};

struct transactions {
	struct session *session;
	struct registry *registry;
	const struct reads *reads;
	struct transactions_handlers handlers;
	struct task **claims, **releases; /* not sent yet; owned arrays */
	size_t n_claims, n_releases, room;
	int64_t since_ms; /* since when the first of the claims waits */
	struct host_turn turn;
	struct host_timer more; /* set while some are left for the next turn */
};

void transactions_init(struct transactions *b, struct session *session, struct registry *registry,
		       const struct reads *reads, const struct transactions_handlers *handlers);
void transactions_done(struct transactions *b);
/* Room for so many tasks; from now on they are that many at most. */
void transactions_reserve(struct transactions *b, size_t n_tasks);
void transactions_claim(struct transactions *b, struct task *t);
/*
 * Deletes the leader node, if it still has this version and the worker `to` is registered; "": no
 * matter who is.
 */
void transactions_release(struct transactions *b, struct task *t, const char *to, int32_t version);
/* The task is about to be freed. */
void transactions_task_gone(struct task *t);
/* The session has ended: what was not sent yet is not to be. */
void transactions_forget(struct transactions *b);

#endif
