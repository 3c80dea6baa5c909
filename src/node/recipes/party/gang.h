/*
 * Gangs: N members, numbered from 0, run a command each at the same time. See party.h.
 *
 * A node is a member's if its id is in the record. A member that leaves in order replaces its node
 * by a mark, in one transaction; so one listing tells the members that are present, have left and
 * were lost. The last member to leave removes everything. Each member watches the one with the next
 * index, and if that is lost, writes it into the record, which all watch.
 */
#ifndef ZKLEADER_NODE_RECIPES_PARTY_GANG_H
#define ZKLEADER_NODE_RECIPES_PARTY_GANG_H

#include "node/recipes/party/party.h"
#include "wire/records/gang_record.h"

#define GANG_DEAD_MS  60000 /* without any member, before the name is free again */
#define GANG_SWEEP_MS 10000 /* between sweeps of all gangs by the first in rank */

struct gang_request {
	void *owner; /* a client's connection */
	const char *name;
	uint64_t id;	 /* unique; 0: none */
	const char *key; /* NULL: the node's name */
	unsigned count;	 /* 1 to GANG_COUNT_MAX */
	bool goes_on;
	int64_t timeout_ms; /* -1: for ever */
};

/*
 * Waits until the gang begins; its name is valid. fn is called once, maybe before this returns;
 * with PARTY_OPENED the member is the owner's until gangs_finish() or parties_owner_gone().
 */
void gangs_join(struct parties *all, const struct gang_request *request, party_fn fn, void *arg);
/* Reattaches a member of the owner's earlier connection, or of the previous sidecar. */
void gangs_attach(struct parties *all, void *owner, const char *name, uint64_t id, party_fn fn,
		  void *arg);
/* Milliseconds for which its command may run, from now on; 0: no longer; -1: no such member. */
int64_t gangs_renew(struct parties *all, const void *owner, uint64_t number);
/*
 * The command has ended, with no live process: done is called once the member has left.
 * interrupted: its client was killed, so the member counts as lost. False: no such member, and done
 * is not called.
 */
bool gangs_finish(struct parties *all, const void *owner, uint64_t number, bool interrupted,
		  party_done_fn done, void *arg);

#endif
