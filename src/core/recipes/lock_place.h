/*
 * The place of one request in the line of a lock: a pure step function.
 *
 * lock_place_step() takes one event, changes the state, and says in `actions` what the caller has
 * to do. It has no clock, no allocation and no I/O, and cannot fail.
 *
 * The contract with the caller:
 * - `need` is the step whose requests are to be sent, or are outstanding. ANSWERED is given once
 * all of them are answered, with what the answers say.
 * - DELETED and CHANGED tell that a node has changed that the step watches.
 * - After EXPIRED no node of this place exists, and no request of before can make one.
 *
 *     entering --it is there--> waiting --few enough are before it--> held
 *         \_________________________\___________________________________\--> leaving --> gone
 */
#ifndef ZKLEADER_CORE_RECIPES_LOCK_PLACE_H
#define ZKLEADER_CORE_RECIPES_LOCK_PLACE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum lock_state {
	LOCK_ENTERING,
	LOCK_WAITING,
	LOCK_HELD,
	LOCK_LEAVING,
	LOCK_GONE, /* has no node, and gets none */
	LOCK_STATES
};

enum lock_need {
	LOCK_NOTHING,
	LOCK_ENTER,  /* makes the node, or checks whether it exists */
	LOCK_LIST,   /* lists the nodes before it */
	LOCK_WATCH,  /* waits for those to be deleted */
	LOCK_TAKE,   /* reads its own node: the token */
	LOCK_TELL,   /* writes into its node that it holds now */
	LOCK_JUDGE,  /* the lock has another number of slots: reads whether others use it */
	LOCK_RESET,  /* no other uses the lock: makes it anew, with this number of slots */
	LOCK_ASIDE,  /* deletes its node, so that one before it can make the lock anew */
	LOCK_DELETE, /* makes sure that its node is gone */
};

enum lock_outcome {
	LOCK_YOURS,
	LOCK_NOT_IN_TIME,
	LOCK_OTHER_SLOTS, /* the lock is in use with another number of slots */
	LOCK_NOT_THERE,	  /* attach: the lock is no longer held */
	LOCK_REFUSED
};

/* The answer to a request. Neither ok nor refused: something is missing, or in the way. */
struct lock_reply {
	bool ok;
	const char *refused; /* the server will refuse it again: why, a constant text */
};

/* The answers to the requests of a step. */
struct lock_seen {
	bool cut;		/* one of them is unknown */
	bool making;		/* a node was being made */
	bool no_folder;		/* made: the lock's folder is missing */
	const char *unmakeable; /* why that folder cannot be made; NULL */
	bool crowded;		/* made: the folder to be made anew has nodes in it */
	struct lock_reply made, listed, read;
	/* the list */
	bool own;      /* has its node */
	bool behind;   /* has a node behind it */
	bool others;   /* has other nodes, of any name */
	bool in_line;  /* has other nodes of the line */
	size_t before; /* number of nodes before its own */
	/* what was read */
	int64_t slots; /* of the lock; 0: not understood */
	bool held;     /* of another node: it holds the lock, or came with the lock's slots */
	bool ahead;    /* no other node was before its own */
};

struct lock_place {
	enum lock_state state;
	enum lock_need need;
	bool known;	/* the name of its node */
	bool maybe;	/* its node may exist */
	bool parents;	/* the folder has to be made first */
	bool entered;	/* its node existed once */
	bool waited;	/* had to wait before it held the lock */
	bool tells;	/* is to write that it holds, for the waiters behind it */
	bool first;	/* is the first waiter */
	int64_t slots;	/* 0: any number */
	int64_t in_use; /* the lock's number of slots, if that differs */
};

enum lock_event_type {
	LOCK_ANSWERED, /* seen */
	LOCK_CHANGED,
	LOCK_DELETED,
	LOCK_EXPIRED,  /* the session has ended */
	LOCK_GIVEN_UP, /* nobody wants the lock any more */
	LOCK_ABSENT,   /* DELETE has nothing to delete */
	LOCK_EVENTS
};

struct lock_event {
	enum lock_event_type type;
	const struct lock_seen *seen;
	bool busy;	/* requests of the step are outstanding */
	bool told;	/* the requester knows that it holds the lock */
	bool attaching; /* an earlier sidecar may have told it so */
};

struct lock_actions {
	bool unwatch;
	bool pause;	  /* the next step is not sent at once */
	bool hurry;	  /* the next step is not paused any longer */
	bool confirm;	  /* our registration may be missing */
	bool loses;	  /* the requester has to be told that it holds the lock no more */
	bool leaves_node; /* the server refuses to delete its node */
	bool fails;	  /* the requester gets `outcome`, with why */
	enum lock_outcome outcome;
	const char *why;
};

void lock_place_init(struct lock_place *p, int64_t slots, bool maybe);
void lock_place_step(struct lock_place *p, const struct lock_event *event,
		     struct lock_actions *ret_actions);
bool lock_move_allowed(enum lock_state from, enum lock_state to);

#endif
