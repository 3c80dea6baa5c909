/*
 * Gangs: N members, numbered from 0, run a command each at the same time. The record
 * ROOT/gangs/NAME has the members of the running gang. Below it is an ephemeral node for each
 * member and each waiter. A new waiter makes a node and lists the others. The N-th waiter begins
 * the gang by one transaction, which proves the N nodes and writes their ids into the record under
 * its version. A node is a member's if its id is in the record.
 *
 * A member that leaves in order replaces its node by a mark, in one transaction; so one listing
 * tells the members that are present, have left and were lost. The last member to leave removes
 * everything. Each member watches the one with the next index, and if that is lost, writes it into
 * the record, which all watch.
 *
 * All members of this sidecar in one gang are handled together: the state is read, the next
 * requests are sent, and once they are answered the state is read again. So a lost answer needs no
 * rule of its own.
 */
#ifndef ZKLEADER_NODE_RECIPES_PARTY_GANG_H
#define ZKLEADER_NODE_RECIPES_PARTY_GANG_H

#include <stdbool.h>
#include <stdint.h>

#include "node/fleet/registry.h"
#include "node/holder/holder.h"
#include "node/recipes/roster/roster.h"
#include "wire/records/gang_record.h"

#define GANG_MEMBERS_MAX 1000  /* members of a sidecar, in all gangs */
#define GANG_GRACE_MS	 8000  /* after a timeout, for ZooKeeper to answer */
#define GANG_DEAD_MS	 60000 /* without any member, before the name is free again */
#define GANG_SWEEP_MS	 10000 /* between sweeps of all gangs by the first in rank */

enum gang_outcome {
	GANG_STARTED,
	GANG_TIMEOUT,
	GANG_IN_USE,	  /* why: the reason */
	GANG_OTHER_COUNT, /* count: of the others */
	GANG_NOT_THERE,	  /* of an attach: no longer running */
	GANG_REFUSED,	  /* why: the reason */
};

struct gang_answer {
	enum gang_outcome outcome;
	uint64_t number; /* STARTED: for the calls that follow */
	size_t index;
	const struct gang_record *record; /* valid during the call */
	unsigned count;
	const char *why; /* a constant text */
};

typedef void (*gang_fn)(void *arg, const struct gang_answer *answer);
typedef void (*gang_done_fn)(void *arg);

struct gang_request {
	void *owner; /* a client's connection */
	const char *name;
	uint64_t id;	 /* unique; 0: none */
	const char *key; /* NULL: the node's name */
	unsigned count;	 /* 1 to GANG_COUNT_MAX */
	bool goes_on;
	int64_t timeout_ms; /* -1: for ever */
};

struct gang;
struct gang_sweep;

struct gangs {
	struct session *session;
	struct registry *registry;
	struct roster *roster;
	struct gang *list;
	size_t n_members;
	struct holders holders;
	bool stopping, kept;
	struct holder_former former;
	bool listing; /* the sweep is listing the folder */
	struct host_timer due, sweep;
};

void gangs_init(struct gangs *all, struct session *session, struct registry *registry,
		struct roster *roster);
/* Answers all waiters. */
void gangs_done(struct gangs *all);
/* Sets what is called when an owner loses a member; not called after gangs_owner_gone(). */
void gangs_on_release(struct gangs *all, void (*released)(void *owner));

/* From the session's handlers. */
void gangs_up(struct gangs *all);
void gangs_leased(struct gangs *all);
void gangs_expired(struct gangs *all);
void gangs_watch(struct gangs *all, const char *path);

/*
 * Waits until the gang begins; its name is valid. fn is called once, maybe before this returns;
 * with GANG_STARTED the member is the owner's until gangs_finish() or gangs_owner_gone().
 */
void gangs_join(struct gangs *all, const struct gang_request *request, gang_fn fn, void *arg);
/* Reattaches a member of the owner's earlier connection, or of the previous sidecar. */
void gangs_attach(struct gangs *all, void *owner, const char *name, uint64_t id, gang_fn fn,
		  void *arg);
/* Milliseconds for which its command may run, from now on; 0: no longer; -1: no such member. */
int64_t gangs_renew(struct gangs *all, const void *owner, uint64_t number);
/*
 * Its command has ended, with no live process: done is called once it has left. interrupted: its
 * client was killed, so the member counts as lost. False: no such member, and done is not called.
 */
bool gangs_finish(struct gangs *all, const void *owner, uint64_t number, bool interrupted,
		  gang_done_fn done, void *arg);
/* Its waiters leave; its members are lost when the leases promised to them are over. */
void gangs_owner_gone(struct gangs *all, const void *owner);

/* The next sidecar takes the session over, with all members. */
void gangs_keep(struct gangs *all);
/* No gang is begun any more: waiters are answered. */
void gangs_stop(struct gangs *all);
/* We try the previous sidecar's session; it promised leases of up to timeout_ms. */
void gangs_take_over(struct gangs *all, int64_t timeout_ms);
/* Whether the gang has a member with that id here. */
bool gangs_know(const struct gangs *all, const char *name, uint64_t id);
/* Number of members whose command may be alive. */
size_t gangs_going(const struct gangs *all);
/* All commands have to end. */
void gangs_revoke(struct gangs *all);

#endif
