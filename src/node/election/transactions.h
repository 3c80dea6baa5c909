/*
 * Claims and releases, sent to ZooKeeper in transactions of a bounded size: the releases of one
 * turn of the loop together, the claims of a few turns. If one of several releases fails, the
 * others are sent again, each alone. If a claim fails, the reads sent behind the claims tell which
 * tasks are still free, and those are claimed again together.
 */
#ifndef ZKLEADER_NODE_ELECTION_TRANSACTIONS_H
#define ZKLEADER_NODE_ELECTION_TRANSACTIONS_H

#include <stddef.h>
#include <stdint.h>

#include "base/text/name.h"
#include "core/election/election.h"
#include "node/store.h"

#define TRANSACTION_MAX	     50	  /* tasks in one transaction */
#define TRANSACTION_TURN_MAX 1000 /* claims, and releases, that are sent in one turn of the loop */
/* How long claims that do not fill a transaction wait for more, while reads are outstanding. */
#define TRANSACTION_WAIT_MS 10

struct task;
struct reads;
struct registry;
struct session;

/* The transaction state of a task. */
struct task_transaction {
	unsigned pending; /* outstanding transactions with it */
	int32_t version;  /* release: the version that the leader node must still have */
	/* release: the worker that must be registered, one of leaders.ids; "": any */
	const char *to;
};

struct transactions_handlers {
	/* The claim or release of a task was answered. */
	void (*claimed)(struct task *t, const struct store_reply *reply);
	void (*released)(struct task *t, const struct store_reply *reply);
	/* Sends the read behind a claim, which returns the token and sets the watch. */
	void (*read)(struct task *t);
	/*
	 * The task was not claimed, as another claim of the transaction failed: the read sent
	 * behind it decides whether it is claimed again.
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
	int64_t since_ms; /* CLOCK_BOOTTIME: since when the first claim waits */
	struct host_turn turn;
	struct host_timer more; /* set while some wait for the next turn of the loop */
};

void transactions_init(struct transactions *b, struct session *session, struct registry *registry,
		       const struct reads *reads, const struct transactions_handlers *handlers);
void transactions_done(struct transactions *b);
/* Makes room for n_tasks tasks; from now on there are at most that many. */
void transactions_reserve(struct transactions *b, size_t n_tasks);
void transactions_claim(struct transactions *b, struct task *t);
/*
 * Deletes the leader node, if it still has this version and the worker `to` is registered; "": no
 * matter which.
 */
void transactions_release(struct transactions *b, struct task *t, const char *to, int32_t version);
/* The task is about to be freed. */
void transactions_task_gone(struct task *t);
/* The session has ended: requests not sent yet are dropped. */
void transactions_forget(struct transactions *b);

#endif
