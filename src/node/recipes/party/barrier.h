/* Barriers: members go on together, round by round. See party.h. */
#ifndef ZKLEADER_NODE_RECIPES_PARTY_BARRIER_H
#define ZKLEADER_NODE_RECIPES_PARTY_BARRIER_H

#include "node/recipes/party/party.h"
#include "wire/records/barrier_record.h"

#define BARRIER_KEEP_MS	  (10 * INT64_C(60000)) /* an empty barrier is kept */
#define BARRIER_ORPHAN_MS 15000			/* for members to come back to a new sidecar */
#define BARRIER_PATHS_MAX (900 * 1024)		/* bytes of the paths in one transaction */

struct barrier_entry {
	const char *name;
	uint64_t id;	    /* unique; 0: none */
	unsigned count;	    /* 1 to BARRIER_COUNT_MAX */
	bool command;	    /* once it is open, the member is inside until barriers_leave() */
	int64_t timeout_ms; /* -1: for ever */
	/*
	 * The member entered under the previous sidecar: it waits for a session if there is none
	 * yet.
	 */
	bool again;
	int64_t round; /* with `again`: the round that it is inside; 0: not known */
	void *owner;   /* see parties_owner_gone() */
};

/*
 * Waits until the barrier opens. fn is called once, maybe before this returns. A member that
 * entered with this id under the previous sidecar is found again.
 */
void barriers_enter(struct parties *all, const struct barrier_entry *entry, party_fn fn, void *arg);
/*
 * A member inside this round leaves, and waits for the others to leave; fn as for barriers_enter().
 */
void barriers_leave(struct parties *all, const char *name, uint64_t id, int64_t round, void *owner,
		    party_fn fn, void *arg);

#endif
