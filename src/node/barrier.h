/*
 * Barriers: ROOT/barriers/NAME has the last rounds with their members, and below it an ephemeral
 * node for each who waits, or is inside. Who comes makes a node and lists the others; whoever made
 * the N-th of them opens the round, by one transaction that proves each of the N and writes the
 * record under its version: nothing but the record tells that a barrier has opened.
 *
 * The members of this sidecar at one barrier are looked after together: what is there is read, what
 * follows from it is done, and once that is answered it is read again. So an answer that was lost
 * needs no rule of its own.
 */
#ifndef ZKLEADER_NODE_BARRIER_H
#define ZKLEADER_NODE_BARRIER_H

#include <stdbool.h>
#include <stdint.h>

#include "node/registry.h"
#include "wire/barrier_record.h"

#define BARRIER_MEMBERS_MAX 1000		  /* of a sidecar, at all barriers */
#define BARRIER_GRACE_MS    8000		  /* beyond a timeout, for ZooKeeper to answer */
#define BARRIER_KEEP_MS	    (10 * INT64_C(60000)) /* an empty barrier is kept */
#define BARRIER_ORPHAN_MS   15000
#define BARRIER_PATHS_MAX   (900 * 1024) /* bytes of the paths in one transaction */

enum barrier_outcome {
	BARRIER_OPENED,
	BARRIER_LEFT, /* all others have left, too */
	BARRIER_TIMEOUT,
	BARRIER_OTHER_COUNT, /* in this round: `count` says which */
	BARRIER_REFUSED,     /* a limit: `why` says which */
	BARRIER_UNKNOWN,     /* not told whether it has opened: `why` */
	BARRIER_WITHDRAWN,   /* its owner has gone */
	BARRIER_ENDED	     /* the sidecar ends: the next one is to be asked */
};

struct barrier_answer {
	enum barrier_outcome outcome;
	int64_t round; /* OPENED */
	unsigned count;
	const char *why; /* a constant text, NULL */
};

typedef void (*barrier_fn)(void *arg, const struct barrier_answer *answer);

struct barrier_entry {
	const char *name;
	uint64_t id;	    /* nobody else's; 0 is none */
	unsigned count;	    /* 1 to BARRIER_COUNT_MAX */
	bool command;	    /* once it is open, the member is inside until barriers_leave() */
	int64_t timeout_ms; /* -1: for ever */
	/*
	 * It was entered at the sidecar before us: it waits for a session where there is none yet.
	 */
	bool again;
	int64_t round;	   /* and was counted in this one, and is inside; 0: that is not known */
	const void *owner; /* see barriers_owner_gone() */
};

struct barrier;

struct barriers {
	struct session *session;
	struct registry *registry;
	struct barrier *list;
	size_t n_members;
	bool orphans;	   /* our session may have nodes of the sidecar before us */
	int64_t orphan_ms; /* when those that nobody came for are to go; 0: not yet */
	struct host_timer due;
};

void barriers_init(struct barriers *b, struct session *session, struct registry *registry);
/* Tells all who wait. */
void barriers_done(struct barriers *b);
/* From the session's handlers. */
void barriers_up(struct barriers *b);
void barriers_watch(struct barriers *b, const char *path);

/*
 * The session of the sidecar before us goes on: nodes of its members that do not come again within
 * BARRIER_ORPHAN_MS are taken away.
 */
void barriers_take_over(struct barriers *b);

/*
 * Waits until the barrier opens. fn is called once, perhaps before this returns. A member that this
 * sidecar before us had entered under that id is found again.
 */
void barriers_enter(struct barriers *b, const struct barrier_entry *entry, barrier_fn fn,
		    void *arg);
/*
 * A member that is inside, of this round, leaves and waits for the others to do so: as
 * barriers_enter().
 */
void barriers_leave(struct barriers *b, const char *name, uint64_t id, int64_t round,
		    const void *owner, barrier_fn fn, void *arg);
/* All of its members are withdrawn: those that wait are told, those inside have left. */
void barriers_owner_gone(struct barriers *b, const void *owner);

#endif
