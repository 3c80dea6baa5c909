/*
 * Barriers: the record ROOT/barriers/NAME has the last rounds with their members. Below it is an
 * ephemeral node for each member that waits or is inside. A new member makes a node and lists the
 * others. The N-th member opens the round by one transaction, which proves the N nodes and writes
 * the record under its version. Only the record tells that a barrier has opened.
 *
 * All members of this sidecar at one barrier are handled together: the state is read, the next
 * requests are sent, and once they are answered the state is read again. So a lost answer needs no
 * rule of its own.
 */
#ifndef ZKLEADER_NODE_RECIPES_PARTY_BARRIER_H
#define ZKLEADER_NODE_RECIPES_PARTY_BARRIER_H

#include <stdbool.h>
#include <stdint.h>

#include "node/fleet/registry.h"
#include "wire/records/barrier_record.h"

#define BARRIER_MEMBERS_MAX 1000		  /* members of a sidecar, at all barriers */
#define BARRIER_GRACE_MS    8000		  /* after a timeout, for ZooKeeper to answer */
#define BARRIER_KEEP_MS	    (10 * INT64_C(60000)) /* an empty barrier is kept */
#define BARRIER_ORPHAN_MS   15000
#define BARRIER_PATHS_MAX   (900 * 1024) /* bytes of the paths in one transaction */

enum barrier_outcome {
	BARRIER_OPENED,
	BARRIER_LEFT, /* all members have left */
	BARRIER_TIMEOUT,
	BARRIER_OTHER_COUNT, /* count: of this round */
	BARRIER_REFUSED,     /* why: the limit */
	BARRIER_UNKNOWN,     /* not known whether it has opened; why */
	BARRIER_WITHDRAWN,   /* its owner is gone */
	BARRIER_ENDED	     /* the sidecar stops: ask the next one */
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
	uint64_t id;	    /* unique; 0: none */
	unsigned count;	    /* 1 to BARRIER_COUNT_MAX */
	bool command;	    /* once it is open, the member is inside until barriers_leave() */
	int64_t timeout_ms; /* -1: for ever */
	/*
	 * It entered under the previous sidecar: it waits for a session if there is none yet.
	 */
	bool again;
	int64_t round;	   /* of `again`: it is inside this round; 0: not known */
	const void *owner; /* see barriers_owner_gone() */
};

struct barrier;

struct barriers {
	struct session *session;
	struct registry *registry;
	struct barrier *list;
	size_t n_members;
	bool orphans;	   /* our session may have nodes of the previous sidecar */
	int64_t orphan_ms; /* CLOCK_BOOTTIME: unclaimed ones are deleted then; 0: not yet */
	struct host_timer due;
};

void barriers_init(struct barriers *b, struct session *session, struct registry *registry);
/* Answers all waiters. */
void barriers_done(struct barriers *b);
/* From the session's handlers. */
void barriers_up(struct barriers *b);
void barriers_watch(struct barriers *b, const char *path);

/*
 * The previous sidecar's session goes on: nodes of its members that do not enter again within
 * BARRIER_ORPHAN_MS are deleted.
 */
void barriers_take_over(struct barriers *b);

/*
 * Waits until the barrier opens. fn is called once, maybe before this returns. A member that
 * entered with this id under the previous sidecar is found again.
 */
void barriers_enter(struct barriers *b, const struct barrier_entry *entry, barrier_fn fn,
		    void *arg);
/*
 * A member inside this round leaves, and waits for the others to leave; fn as for barriers_enter().
 */
void barriers_leave(struct barriers *b, const char *name, uint64_t id, int64_t round,
		    const void *owner, barrier_fn fn, void *arg);
/* Withdraws its members: those that wait are answered, those inside have left. */
void barriers_owner_gone(struct barriers *b, const void *owner);

#endif
