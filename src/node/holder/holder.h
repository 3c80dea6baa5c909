/*
 * A holder is what a command holds under the session's lease: a run, a lock, a place in a gang, a
 * job. The command's supervisor asks again and again how long it may go on. A supervisor that
 * disconnects may reattach; otherwise the command is dead when the last promise is over.
 */
#ifndef ZKLEADER_NODE_HOLDER_HOLDER_H
#define ZKLEADER_NODE_HOLDER_HOLDER_H

#include <stdbool.h>
#include <stdint.h>

#include "node/session/session.h"

/* All holders of one kind. */
struct holders {
	struct session *session;
	/*
	 * An owner has one holder less; not called for an owner that is gone. NULL: nobody listens.
	 */
	void (*released)(void *owner);
	uint64_t last_number;
	bool revoked; /* all commands have to end */
};

struct holder {
	void *owner;	 /* its supervisor's connection; NULL: none */
	uint64_t number; /* for the calls of the owner */
	bool attaching; /* the previous sidecar promised a lease; its owner has not been told yet */
	bool told;	/* an owner was told that it holds: a command may be alive */
	bool lost;	/* its command may not go on */
	int64_t lease_ms; /* CLOCK_BOOTTIME: the end of all that was promised for it */
};

/* Initializes a holder under a new number; owner: of the request, NULL: none yet. */
void holder_init(struct holders *hs, struct holder *h, void *owner);
/* An owner takes a holder that nobody was told of. */
void holder_take(struct holder *h, void *owner);
/* An owner is back, of an earlier connection or of the previous sidecar. */
void holder_attach(struct holder *h, void *owner);
/* Whether the owner, who was told, knows this holder by that number. */
bool holder_is(const struct holder *h, const void *owner, uint64_t number);

/*
 * Milliseconds for which a command may go on: the whole of the lease, also while there is no
 * connection. An answer to a question has to be shorter then, as nobody takes it back. But a
 * supervisor asks again every T/32, so a shorter timeout that the next connection is granted
 * reaches its command before others may hold what is held.
 */
int64_t holder_left(const struct session *s);
/* Answers a renewal: milliseconds from now on, which are promised thereby; 0: not held any more. */
int64_t holder_renew(const struct holders *hs, struct holder *h, bool held);
/* The same for that many milliseconds. */
int64_t holder_promise(const struct holders *hs, struct holder *h, int64_t left_ms);
/*
 * Whether its owner can be told now that it holds; if so, it counts as told. A command that begins
 * needs a lease that is long enough: with less it would have to end at once. A command that goes on
 * may have any lease, or the one that the previous sidecar promised, even if it never asks us.
 */
bool holder_tells(const struct holders *hs, struct holder *h);
/* An owner has been told, by us or by the previous sidecar. */
void holder_is_told(struct holder *h);
/* The command was begun under the previous sidecar, which may have promised a whole lease. */
void holder_inherit(const struct holders *hs, struct holder *h);

/* The command may not go on. */
void holder_lose(struct holder *h);
/* The owner is gone: no more can be promised before another one attaches. */
void holder_owner_gone(const struct holders *hs, struct holder *h);
/* The owner has one holder less: one that was held, or one refused before it was. */
void holders_release(const struct holders *hs, void *owner);
void holder_let_go(const struct holders *hs, struct holder *h);
/* Whether the command may be alive. */
bool holder_is_alive(const struct holders *hs, const struct holder *h);
/* Whether the holder has no owner, and all that was promised for it is over. */
bool holder_is_over(const struct holders *hs, const struct holder *h);

/* The time for which commands of the previous sidecar may live without a supervisor. */
struct holder_former {
	int64_t until_ms; /* CLOCK_BOOTTIME; 0: there are none */
	bool early;	  /* counted from our start, as the session is not confirmed yet */
};

/* We try the previous sidecar's session; it promised leases of up to timeout_ms. */
void holder_former_take_over(struct holder_former *f, const struct session *s, int64_t timeout_ms);
/* The session is up. */
void holder_former_up(struct holder_former *f, const struct session *s);

#endif
