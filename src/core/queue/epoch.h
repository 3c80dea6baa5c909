/*
 * How a queue's leader makes sure that no other leads: a pure step function over the epoch, a znode
 * with the token of the leader that raised it last. Each transaction of a leader checks the epoch's
 * version, so those of earlier leaders fail once it is raised.
 *
 *     begins --> reading --no later token--> read --> raising --> on
 *        \_________\________________________________________/____/  begins anew after a failure
 */
#ifndef ZKLEADER_CORE_QUEUE_EPOCH_H
#define ZKLEADER_CORE_QUEUE_EPOCH_H

#include <stdbool.h>
#include <stdint.h>

#define EPOCH_ABOVE_MS 10000 /* news of a later leader arrives within this time */

enum epoch_state {
	EPOCH_BEGINS,
	EPOCH_READING,
	EPOCH_READ,
	EPOCH_RAISING,
	EPOCH_ON, /* no other node can assign any more */
	EPOCH_STATES
};

struct epoch {
	enum epoch_state state;
	int64_t token; /* of the leadership */
	int32_t version;
	int64_t above, above_ms; /* a token in the epoch that is above ours, 0: none; since when */
};

enum epoch_event_type {
	EPOCH_READY,   /* a request can be sent */
	EPOCH_FOUND,   /* token, version */
	EPOCH_MISSING, /* the epoch's folders have to be made */
	/* Answers to a transaction of the leader, or, FAILED, to the read. */
	EPOCH_DONE,
	EPOCH_CUT,	    /* unknown, or the session was interrupted */
	EPOCH_REFUSED,	    /* by the server, which will refuse it again */
	EPOCH_UNREGISTERED, /* our registration is missing */
	EPOCH_ANOTHER,	    /* the epoch has another version */
	EPOCH_FAILED,
	EPOCH_EVENTS
};

struct epoch_event {
	enum epoch_event_type type;
	int64_t now_ms;
	int64_t token;
	int32_t version;
};

enum epoch_action {
	EPOCH_NONE, /* the answer is the caller's */
	EPOCH_SEND_READ,
	EPOCH_SEND_RAISE,
	EPOCH_MAKE_FOLDERS,
	EPOCH_GO_ON,	   /* ready for the next request */
	EPOCH_LEAD,	   /* the queue is led from now on */
	EPOCH_RESTART,	   /* all is read anew, at once */
	EPOCH_RESTART_LATE /* after a pause */
};

enum epoch_action epoch_step(struct epoch *e, const struct epoch_event *event);
/* Whether the epoch has had a later token for longer than the news of its leader takes. */
bool epoch_is_above(const struct epoch *e, int64_t now_ms);
bool epoch_move_allowed(enum epoch_state from, enum epoch_state to);

#endif
