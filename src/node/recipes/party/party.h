/*
 * A party: N are there at one moment. A barrier lets N members go on together; a gang runs a
 * command of each at the same time. The record ROOT/barriers/NAME, or ROOT/gangs/NAME, has the
 * members that were counted. Below it is an ephemeral node for each member and each waiter. A new
 * waiter makes a node and lists the others. The N-th opens the party by one transaction, which
 * proves the N nodes and writes the record under its version. Only the record tells that a party
 * has opened.
 *
 * All members of this sidecar in one party are handled together: the state is read, the next
 * requests are sent, and once they are answered the state is read again. So a lost answer needs no
 * rule of its own. What to do is decided by core/recipes/party_step.h.
 *
 * What differs between both in the doing is in barrier.c and gang.c.
 */
#ifndef ZKLEADER_NODE_RECIPES_PARTY_PARTY_H
#define ZKLEADER_NODE_RECIPES_PARTY_PARTY_H

#include "core/recipes/party_step.h"
#include "node/fleet/registry.h"
#include "node/holder/holder.h"
#include "node/recipes/roster/roster.h"

#define PARTY_MEMBERS_MAX 1000 /* members of a sidecar, at all barriers, and in all gangs */
#define PARTY_GRACE_MS	  8000 /* after a timeout, for ZooKeeper to answer */

struct gang_record;

struct party_answer {
	enum party_outcome outcome;
	int64_t round;	 /* OPENED of a barrier; 0: forgotten */
	uint64_t number; /* OPENED of a gang: for the calls that follow */
	size_t index;
	const struct gang_record *record; /* the gang's record; valid during the call */
	unsigned count;
	const char *why; /* a constant text, NULL */
};

typedef void (*party_fn)(void *arg, const struct party_answer *answer);
typedef void (*party_done_fn)(void *arg);

struct party;
struct party_kind;

/* All barriers, or all gangs. */
struct parties {
	const struct party_kind *kind;
	struct session *session;
	struct registry *registry;
	struct roster *roster; /* NULL: nobody sweeps */
	struct holders holders;
	STAILQ_HEAD(party_list, party) list;
	size_t n_members;
	bool stopping, kept;
	struct holder_former former; /* the previous sidecar's nodes go then */
	bool listing;		     /* the folder is being listed for a sweep */
	struct host_timer due, sweep;
};

extern const struct party_kind barrier_kind, gang_kind;

void parties_init(struct parties *all, const struct party_kind *kind, struct session *session,
		  struct registry *registry, struct roster *roster);
/* Answers all waiters. */
void parties_done(struct parties *all);
/*
 * Sets what is called when an owner loses a member of a gang; not called after
 * parties_owner_gone().
 */
void parties_on_release(struct parties *all, void (*released)(void *owner));

/* From the session's handlers. */
void parties_up(struct parties *all);
void parties_leased(struct parties *all);
void parties_expired(struct parties *all);
void parties_watch(struct parties *all, const char *path);

/*
 * The owner's waiters leave. Its members at a barrier leave; those in a gang are lost when the
 * leases promised to them are over.
 */
void parties_owner_gone(struct parties *all, const void *owner);
/* The next sidecar takes the session over, with all members. */
void parties_keep(struct parties *all);
/* Opens none any more: waiters are answered. */
void parties_stop(struct parties *all);
/*
 * We try the previous sidecar's session; it promised leases of up to timeout_ms. Nodes of its
 * members that do not come back in time are deleted.
 */
void parties_take_over(struct parties *all, int64_t timeout_ms);
/* Whether the party has a member with that id here. */
bool parties_know(const struct parties *all, const char *name, uint64_t id);
/* Number of members whose command may be alive. */
size_t parties_going(const struct parties *all);
/* All commands have to end. */
void parties_revoke(struct parties *all);

#endif
