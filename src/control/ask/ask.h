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

/* A kind of request: a struct that begins with its struct ask. */
struct ask_kind {
	size_t size; /* size of that struct */
	bool asks;   /* waits for ZooKeeper: counted in peer.asking too */
	/*
	 * The client has gone, and a->client is NULL: may end the request. NULL: it goes on until
	 * its answer. Called only once offloaded work is done.
	 */
	ask_fn gone;
	ask_fn due;  /* the deadline has passed: ends the request, or sets another one */
	ask_fn done; /* frees what the request owns */
};

struct ask {
	TAILQ_ENTRY(ask) link;
	const struct ask_kind *kind;
	struct methods *methods;
	struct peer *client; /* NULL: has gone, or has its answer */
	uint32_t msgid;
	bool asks;	     /* waits for ZooKeeper: kind->asks, unless ask_takes_long() */
	bool packing;	     /* ask_result() has been called */
	size_t held;	     /* bytes kept for the request */
	int64_t deadline_ms; /* INT64_MAX: none */
	/* Offloaded to another thread. */
	bool offloaded;
	ask_fn work, then;
	uid_t uid; /* the client's */
	/* The user whose name is waited for, and the buffer for the name; see user.h. */
	const struct user *user;
	char *name;
};

struct asks {
	TAILQ_HEAD(ask_list, ask) list; /* the oldest first */
	struct host_timer due;
	int64_t due_ms;	     /* when the timer rings; INT64_MAX: it is not set */
	struct buffer sink;  /* discards all bytes: for answers without a client */
	struct pack nowhere; /* packs into the sink */
};

void asks_init(struct asks *all, struct host *host);
void asks_done(struct asks *all);
/* Tells the client's requests, and the node, which keeps what the client holds. */
void asks_client_gone(struct methods *m, const struct peer *c);
/*
 * Calls fn for each request of the kind (NULL: of all), the oldest first, until one returns false.
 * fn may end the request that it is given, and begin others.
 */
void asks_each(struct asks *all, const struct ask_kind *kind, bool (*fn)(struct ask *a, void *arg),
	       void *arg);

/* A zeroed struct of the kind, with its ask. */
void *ask_new(const struct call *call, const struct ask_kind *kind);
/* The request may wait for hours, and so does not count as asking ZooKeeper. */
void ask_takes_long(struct ask *a);
/* Counts that many more bytes for the request. */
void ask_holds(struct ask *a, size_t bytes);
/* Sets the deadline, by host_now_ms(), at which kind->due is called. */
void ask_until(struct ask *a, int64_t deadline_ms);
/*
 * Calls work in another thread, then `then` on this one; its client may be gone by then. 0, or a
 * negative errno and neither is called.
 */
int ask_offload(struct ask *a, ask_fn work, ask_fn then);

/* The pack for the result, which ask_send() or ask_end() sends. Never NULL. */
struct pack *ask_result(struct ask *a);
/* Answers before the node has finished: the request goes on as if its client had gone. */
void ask_send(struct ask *a);
/* Sends the result, if one was packed, and frees the request. */
void ask_end(struct ask *a);
/* Answers with an error, and ends the request. */
void ask_fail(struct ask *a, enum rpc_code code, const char *why);

/*
 * A run, a lock, a gang's member or a job that a client holds counts as one of its waiting
 * requests, from its begin to its release. The owner is the peer.
 */
void asks_hold(void *owner);
void asks_released(void *owner);

#endif
