/*
 * The steps of a party, a barrier or a gang: pure functions of what was read of it in one look. No
 * clock, no allocation, no I/O, and they cannot fail.
 *
 * party_step() takes one event of a member of this sidecar, changes its state, and says in
 * `actions` what the caller has to do. party_decide() says what is to be done about the party
 * itself once all members here have had their step.
 *
 * The contract with the caller:
 * - Record and nodes of a look are of one moment. The next look comes after all requests of this
 * one were answered.
 * - Whatever is requested about a look takes effect only where its record is still that one, and
 * the nodes that it counts on are still there.
 * - The actions of one member are carried out before the step of the next.
 *
 *     waits --counted--> runs ---> leaves or loses --its node has gone--> gone
 *        \_________________/__\--> ends ________________________________/
 */
#ifndef ZKLEADER_CORE_RECIPES_PARTY_STEP_H
#define ZKLEADER_CORE_RECIPES_PARTY_STEP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/text/worker.h"

#define PARTY_COUNT_MAX	 1000 /* members of a round of a barrier */
#define PARTY_PLACES_MAX 256  /* members of a gang */

/* A node below a party's record, as its name says. */
struct party_ticket {
	uint64_t id;
	bool left;	/* a mark: nothing else is known */
	unsigned count; /* members that it waits for */
	char kind;
	int64_t session;
	int64_t number;		       /* the smallest is the oldest */
	char key[WORKER_NODE_MAX + 1]; /* "" at a barrier */
	const char *name;	       /* borrowed; NULL: no node yet */
	/* Set by the reader, -1: none. At a barrier 0: counted in the last round, 1: in another. */
	int index; /* its place in the record */
	int seat;  /* a waiter's of a gang: the place of its key */
};

/* A party as a look has read it, and what has come of that look so far. */
struct party_sight {
	bool gang, there;
	const char *refused; /* why nothing more can be done with it; NULL */
	int64_t session;     /* ours */
	int64_t now_ms;
	struct party_ticket *tickets; /* in order of creation */
	size_t n, n_names;	      /* n_names: of any form */
	/* Nodes of members in the record, by place, NULL: absent; who has left in order. */
	const struct party_ticket *by_index[PARTY_PLACES_MAX];
	bool marked[PARTY_PLACES_MAX];
	size_t n_running, n_waiting, n_marked;
	size_t n_inside; /* of the last round, with a command that has not ended */
	/* the record of a barrier */
	int64_t czxid, round;
	int64_t first; /* the oldest round whose members it has */
	/* the record of a gang */
	size_t size; /* members; 0: none has begun */
	unsigned count;
	bool goes_on, lost;
	bool dead;  /* was without members for so long that others may use the name */
	bool noted; /* the record says so */
	/* on this side */
	unsigned makes; /* the count of the first waiter here; 0: none */
	bool sweeps;	/* is to be removed if nobody uses it */
	bool sent;	/* requests are outstanding that follow from the look */
	bool full;	/* so many that no more nodes are to be made */
	bool removes;	/* a gang may be removed: no attempt of this look, or too many before */
	bool failed;	/* attempts to do so have failed */
};

enum party_outcome {
	PARTY_OPENED, /* all are there */
	PARTY_LEFT,   /* all members have left */
	PARTY_TIMEOUT,
	PARTY_OTHER_COUNT, /* count: of the others */
	PARTY_IN_USE,	   /* why: the reason */
	PARTY_NOT_THERE,   /* attach: no longer running */
	PARTY_MISUSE,	   /* why: the limit */
	PARTY_FAILED,	   /* not opened, or it is not known whether; why */
	PARTY_WITHDRAWN,   /* the owner is gone */
	PARTY_ENDED	   /* the sidecar stops: ask the next one; why */
};

struct party_verdict {
	enum party_outcome outcome;
	int64_t round; /* OPENED of a barrier; 0: forgotten */
	unsigned count;
	const char *why; /* a constant text, NULL */
};

enum party_state {
	PARTY_WAITS,  /* has or gets a node; not counted yet */
	PARTY_RUNS,   /* counted; its command runs */
	PARTY_LEAVES, /* its node is to go in order */
	PARTY_LOSES,  /* its node is to go: its command did not end, or no client asks */
	PARTY_ENDS,   /* its node is to go unless it was counted; then `verdict` is sent */
	PARTY_GONE,
	PARTY_STATES
};

struct party_place {
	enum party_state state;
	struct party_ticket as; /* what its node says; count 0: not known, of an attach */
	struct party_verdict verdict;
	bool looked; /* WAITS: was seen to wait for nothing but others */
	bool late;   /* its timeout is over: waits for the present look alone */
	/* at a barrier */
	bool placed;   /* its node was requested */
	int64_t round; /* RUNS, LEAVES: its round; else the last one that it is surely not in */
	int64_t czxid; /* czxid of that round's barrier */
	/* in a gang */
	size_t index;
	bool left;	 /* has left in order */
	uint64_t rival;	 /* id of another waiter with our key, whose node was read; 0 */
	bool rival_goes; /* the rival belongs to an earlier session of this node */
};

enum party_event_type {
	PARTY_LOOK,	/* sight, index, seat */
	PARTY_RIVALLED, /* the same look: a client here asks for the rival that was found */
	PARTY_LOOKED,	/* only others who come can open the party now */
	PARTY_TIMED_OUT,
	PARTY_GIVEN_UP,	  /* waiters have to end; why */
	PARTY_ABANDONED,  /* its owner is gone */
	PARTY_INSIDE,	  /* entered under the previous sidecar */
	PARTY_LEASE_OVER, /* all that was promised is over, and it has no owner */
	PARTY_FINISHED,	  /* its command has ended */
	PARTY_EXPIRED,	  /* the session has ended, and the node of a gang's member with it */
	PARTY_EVENTS
};

struct party_event {
	enum party_event_type type;
	const struct party_sight *sight;
	int index, seat; /* its place in the record by its id, and by its key; -1: none */
	const char *why;
	bool interrupted; /* FINISHED: its client was killed */
	bool asked;	  /* an answer is expected */
	/* of its holder */
	bool owned, told, attaching, lost;
};

enum party_act {
	PARTY_NOTHING,
	/* of a member */
	PARTY_MAKE_NODE,
	PARTY_COME_BACK,   /* makes it, and takes the place of its key */
	PARTY_DELETE_NODE, /* node, how */
	PARTY_RIVAL,	   /* finds out whose that other node with its key is */
	PARTY_WAIT,	   /* looks again after a pause */
	PARTY_REMOVE,	   /* of both: takes the party away */
	/* of the party */
	PARTY_MAKE,
	PARTY_NOTE_EMPTY, /* writes that the gang is dead, */
	PARTY_NOTE_LOSS,  /* or has lost a member */
	PARTY_OPEN,	  /* with the chosen ones */
	PARTY_REST	  /* only others who come can open it now */
};

/* UNLESS: under the version of the record that does not have it. */
enum party_how { PARTY_UNLESS_COUNTED, PARTY_WITH_A_MARK, PARTY_IN_ANY_CASE };
enum party_until { PARTY_AS_BEFORE, PARTY_FOR_EVER, PARTY_GRACE, PARTY_HALF_GRACE };

struct party_actions {
	enum party_act act;
	const struct party_ticket *node;
	enum party_how how;
	bool tells; /* the requester gets `verdict` */
	struct party_verdict verdict;
	bool starts;		/* is told that the gang has begun, if the lease is long enough */
	bool loses;		/* its command may not go on */
	bool lets_go;		/* its owner holds it no more; all that was promised goes on */
	bool reads;		/* the party is to be read again */
	enum party_until until; /* the new deadline of its answer */
};

void party_step(struct party_place *p, const struct party_event *event,
		struct party_actions *ret_actions);
bool party_move_allowed(enum party_state from, enum party_state to);

/* Sorts the nodes, whose index and seat are set, into members, waiters and marks. */
void party_sort(struct party_sight *s);
/* Whether all that ran in a gang have left in order. */
bool party_is_over(const struct party_sight *s);

/* The chosen members, in their order; NULL: none for that place. */
struct party_chosen {
	const struct party_ticket *list[PARTY_COUNT_MAX];
	size_t n;	/* that are not NULL */
	unsigned count; /* 0: nobody waits */
	char kind;
};

/*
 * try_ms: when to open although another waiter should, 0: never; kept by the caller as long as the
 * record is the same.
 */
enum party_act party_decide(const struct party_sight *s, int64_t *try_ms,
			    struct party_chosen *ret_chosen);
/* The node whose end the member of a gang at that place is to hear of; NULL: none. */
const struct party_ticket *party_next(const struct party_sight *s, size_t index);

#endif
