/*
 * Claims and releases on their way to ZooKeeper, in transactions of a bounded size: releases of one turn of
 * the loop go together, claims of a few. Where one release of several does not hold, the others are sent
 * again alone; of claims the reads behind them tell which are free still, and those are sent again together.
 */
#ifndef ZKLEADER_NODE_BATCH_H
#define ZKLEADER_NODE_BATCH_H

#include <stddef.h>
#include <stdint.h>

#include "base/name.h"
#include "core/election.h"
#include "node/store.h"

#define BATCH_MAX 50 /* tasks in one transaction */
/* How long claims that fill none wait for more, while reads are on their way. */
#define BATCH_WAIT_MS 10

struct task;
struct leaders;

struct batch_handlers {
	/* The claim or release of a task was answered. The task's pending has been counted down. */
	void (*claimed)(struct task *t, const struct store_reply *reply);
	void (*released)(struct task *t, const struct store_reply *reply);
	/* To be sent behind a claim: the read that brings the token and sets the watch. */
	void (*read)(struct task *t);
	/* It was not claimed, for another's sake: by that read it is to be claimed once more or not. */
	void (*left_out)(struct task *t);
};

struct batch {
	struct leaders *leaders;
	struct batch_handlers handlers;
	struct task **claims, **releases; /* of this turn; owned arrays */
	size_t n_claims, n_releases, room;
	int64_t since_ms; /* since when the first of the claims waits */
	struct host_turn turn;
};

void batch_init(struct batch *b, struct leaders *leaders, const struct batch_handlers *handlers);
void batch_done(struct batch *b);
/* Room for so many tasks; from now on they are that many at most. */
void batch_reserve(struct batch *b, size_t n_tasks);
void batch_claim(struct batch *b, struct task *t);
/* As the task's `release` says. */
void batch_release(struct batch *b, struct task *t);
/* The session has ended: what was not sent yet is not to be. */
void batch_forget(struct batch *b);

#endif
