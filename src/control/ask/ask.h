/*
 * A request that waits. It lives until it is answered, also where its client goes: then it is told
 * so, and what is answered afterwards goes nowhere. All that wait are in one list, with one timer
 * for their deadlines. The counts of a peer, which bound how many wait, are written here alone.
 */
#ifndef ZKLEADER_CONTROL_ASK_ASK_H
#define ZKLEADER_CONTROL_ASK_ASK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/queue.h>

#include "control/ask/peer.h"
#include "node/host.h"
#include "wire/pack.h"

struct ask;
struct call;
struct methods;
struct user;

typedef void (*ask_fn)(struct ask *a);

/* The requests of one kind: a struct that begins with its struct ask. */
struct ask_kind {
	size_t size; /* of that struct */
	bool asks;   /* for something of ZooKeeper: counted in peer.asking too */
	/*
	 * Its client has gone, and a->client is NULL: may end it. NULL: it goes on until its
	 * answer. Called once what the request has offloaded is done.
	 */
	ask_fn gone;
	ask_fn due;  /* its deadline has come: ends it, or sets another */
	ask_fn done; /* frees what it owns */
};

struct ask {
	TAILQ_ENTRY(ask) link;
	const struct ask_kind *kind;
	struct methods *methods;
	struct peer *client; /* NULL: it has gone, or has its answer */
	uint32_t msgid;
	bool asks;	     /* as its kind does, unless ask_takes_long() */
	bool packing;	     /* ask_result() has been called */
	size_t held;	     /* bytes kept for it */
	int64_t deadline_ms; /* INT64_MAX: none */
	/* What another thread does for it. */
	bool offloaded;
	ask_fn work, then;
	uid_t uid; /* of its client */
	/* The user whose name it waits for, and where that goes; see user.h. */
	const struct user *user;
	char *name;
};

struct asks {
	TAILQ_HEAD(ask_list, ask) list; /* the oldest first */
	struct host_timer due;
	int64_t due_ms;	     /* when the timer rings; INT64_MAX: it is not set */
	struct buffer sink;  /* takes nothing: for answers that go nowhere */
	struct pack nowhere; /* into that */
};

void asks_init(struct asks *all, struct host *host);
void asks_done(struct asks *all);
/* Tells its requests, and the node, which keeps what it holds. */
void asks_client_gone(struct methods *m, const struct peer *c);
/*
 * Calls fn for each request of the kind (NULL: of all), the oldest first, until one returns false.
 * fn may end the request that it is given, and begin others.
 */
void asks_each(struct asks *all, const struct ask_kind *kind, bool (*fn)(struct ask *a, void *arg),
	       void *arg);

/* A zeroed struct of the kind, with its ask. */
void *ask_new(const struct call *call, const struct ask_kind *kind);
/* It may wait for hours, and so does not count as one that asks ZooKeeper. */
void ask_takes_long(struct ask *a);
/* That many more bytes are kept for it. */
void ask_holds(struct ask *a, size_t bytes);
/* Has kind->due called then, by host_now_ms(). */
void ask_until(struct ask *a, int64_t deadline_ms);
/*
 * Calls work in another thread, then `then` on this one; its client may be gone by then. 0, or a
 * negative errno and neither is called.
 */
int ask_offload(struct ask *a, ask_fn work, ask_fn then);

/* The pack for the result, which ask_send() or ask_end() sends. Never NULL. */
struct pack *ask_result(struct ask *a);
/* Answers, while the node will still call back: the request goes on as if its client was gone. */
void ask_send(struct ask *a);
/* Sends the result, if one was packed, and frees the request. */
void ask_end(struct ask *a);
/* Ends it with an error. */
void ask_fail(struct ask *a, enum rpc_code code, const char *why);

/*
 * What a client holds (a run, a lock, a gang's member, a job) counts as one of its requests that
 * wait, from its begin to its release. The owner is the peer.
 */
void asks_hold(void *owner);
void asks_released(void *owner);

#endif
