/*
 * The next step of a node's order about its slot of a rolling restart: a pure function of what was
 * read under one version of the group. The caller makes each change in one transaction under that
 * version, and reads again when it was another.
 *
 *     (queue) --room, and the first--> draining --idle--> running --CMD ok--> soaking --> (freed)
 *                                          \__another boot__/   \--CMD failed--> failed
 */
#ifndef ZKLEADER_CORE_RECIPES_ROLLING_STEP_H
#define ZKLEADER_CORE_RECIPES_ROLLING_STEP_H

#include <stdbool.h>
#include <stddef.h>

#include "base/text/rolling.h"

enum rolling_order {
	ROLLING_TAKE,	 /* takes a slot, or returns the one of this node */
	ROLLING_OWN,	 /* returns the slot of this node, if any */
	ROLLING_ADVANCE, /* changes the state of the slot, or its process */
	ROLLING_FREE,	 /* frees slot and drain, once the node was healthy for the soak time */
	ROLLING_STATUS,
	ROLLING_RELEASE, /* frees another node's slot, if it has one, and ends its drains */
	ROLLING_RESUME	 /* ends the halt, and frees the slots of nodes where CMD failed */
};

enum rolling_result {
	ROLLING_DONE,
	ROLLING_NOTHING, /* nothing to do, or no such slot any more */
	ROLLING_HALTED,
	ROLLING_HAS_FAILED, /* TAKE: the slot of this node, where CMD failed, halts the group */
	ROLLING_OTHER_K,
	ROLLING_LATE,	 /* no slot within wait_ms */
	ROLLING_BUSY,	 /* to RUNNING: this node still leads something, or a job runs here */
	ROLLING_CHANGED, /* another process handles the slot */
	ROLLING_REFUSED, /* why: the reason; waiting does not help */
	ROLLING_UNKNOWN	 /* why: the reason; the outcome is unknown, or there is no session */
};

/* The group and the own slot as they were read, and the order. */
struct rolling_seen {
	enum rolling_order order;
	bool leaving;	 /* TAKE: the requester is gone */
	bool registered; /* this node is */
	bool twin;	 /* another machine that is there has this node's name */
	/* the group */
	bool made; /* it exists, with its folders */
	bool halted;
	bool other_k;	       /* it was made for another number of nodes */
	size_t slots, k;       /* taken, and as many as may be */
	size_t waiting, place; /* in the queue; the order's own place, `waiting`: it is not there */
	/* the slot of this node: the rest counts only if it is `known` */
	struct rolling_own {
		bool there, known;
		bool others;  /* of the machine that is our twin */
		bool taken;   /* TAKE: this order has made it */
		bool asked;   /* ADVANCE, FREE: it is the one that is meant */
		bool handled; /* ADVANCE: by the process that was named, or the one to be */
		bool is_done; /* ADVANCE: it is as it is to be */
		bool booted;  /* ADVANCE: the machine has booted since it was taken */
		bool drained; /* its drain exists */
		enum rolling_state state;
	} own;
	enum rolling_state to; /* ADVANCE */
	bool idle;	       /* ADVANCE to RUNNING: nothing is led, no job runs */
	bool soaked;	       /* FREE: healthy for as long as is asked */
	bool sent;	       /* FREE: it may be this order that has freed the slot */
};

enum rolling_act {
	ROLLING_TELL,  /* `result`, with why, and the slot if `shows` */
	ROLLING_AGAIN, /* reads once more, after a pause */
	ROLLING_MAKE,  /* the group and its folders */
	ROLLING_ENQUEUE,
	ROLLING_ACQUIRE,     /* makes slot and drain, and leaves the queue */
	ROLLING_WAIT_GROUP,  /* for a change of the group, */
	ROLLING_WAIT_BEFORE, /* of the one before in the queue, */
	ROLLING_WAIT_SLOT,   /* of the own slot, or of this node's health */
	ROLLING_GIVE_UP,     /* leaves the queue, and if `drops` frees the slot */
	ROLLING_DRAIN,	     /* makes the slot's drain again */
	ROLLING_WRITE,	     /* the slot's new state; FAILED halts the group */
	ROLLING_FREE_IT,     /* deletes slot and drain */
	ROLLING_ACTS
};

struct rolling_step {
	enum rolling_act act;
	enum rolling_result result;
	const char *why; /* a constant text; NULL */
	bool shows, drops;
};

struct rolling_step rolling_step(const struct rolling_seen *seen);
/* Whether CMD, or another boot of the machine, may change a slot so. */
bool rolling_move_allowed(enum rolling_state from, enum rolling_state to, bool booted);

#endif
