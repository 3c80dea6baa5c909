/*
 * Gangs: N members who run a command each, at the same time, numbered from 0. ROOT/gangs/NAME has
 * the members of the gang that runs, and below it an ephemeral node for each who is in it or waits.
 * Who comes makes a node and lists the others; whoever made the N-th of them begins the gang, by
 * one transaction that proves each of the N and writes them into the record under its version. A
 * member is whose id is in the record.
 *
 * Who leaves in order deletes its node and puts a mark in its place, in one transaction; so one
 * listing tells who is there, who has left and who was lost. The last one out removes it all. Each
 * member watches the one behind it, in the order of their indexes; whoever sees that one was lost
 * writes that into the record, which all watch.
 *
 * The members of this sidecar in one gang are looked after together: what is there is read, what
 * follows is done, and once that is answered it is read again. So an answer that was lost needs no
 * rule of its own.
 */
#ifndef ZKLEADER_NODE_GANG_H
#define ZKLEADER_NODE_GANG_H

#include <stdbool.h>
#include <stdint.h>

#include "node/registry.h"
#include "node/roster.h"
#include "wire/gang_record.h"

#define GANG_MEMBERS_MAX 1000  /* of a sidecar, in all gangs */
#define GANG_GRACE_MS	 8000  /* beyond a timeout, for ZooKeeper to answer */
#define GANG_DEAD_MS	 60000 /* with nobody there, before others may have the name */
#define GANG_SWEEP_MS	 10000 /* between looks of the first in rank at all gangs */

enum gang_outcome {
	GANG_STARTED,
	GANG_TIMEOUT,
	GANG_IN_USE,	  /* `why` */
	GANG_OTHER_COUNT, /* `count` says which */
	GANG_NOT_THERE,	  /* of an attach: it runs no more */
	GANG_REFUSED,	  /* `why`: cannot tell */
};

struct gang_answer {
	enum gang_outcome outcome;
	uint64_t number; /* STARTED: for what follows */
	size_t index;
	const struct gang_record *record; /* during the call */
	unsigned count;
	const char *why; /* a constant text */
};

typedef void (*gang_fn)(void *arg, const struct gang_answer *answer);
typedef void (*gang_done_fn)(void *arg);

struct gang_request {
	void *owner; /* a client's connection */
	const char *name;
	uint64_t id;	 /* nobody else's; 0 is none */
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
	uint64_t last_number;
	bool stopping, revoked, kept;
	int64_t recover_ms; /* when what the sidecar before us has left is to go; 0: nothing */
	bool early; /* that counts from our beginning, as the session is not confirmed yet */
	void (*released)(void *owner);
	bool listing; /* the folder is being read, for the sweep */
	struct host_timer due, sweep;
};

void gangs_init(struct gangs *all, struct session *session, struct registry *registry,
		struct roster *roster);
/* Tells all who wait. */
void gangs_done(struct gangs *all);
/* What is called when an owner has one member less; not behind gangs_owner_gone(). */
void gangs_on_release(struct gangs *all, void (*released)(void *owner));

/* From the session's handlers. */
void gangs_up(struct gangs *all);
void gangs_leased(struct gangs *all);
void gangs_expired(struct gangs *all);
void gangs_watch(struct gangs *all, const char *path);

/*
 * Waits until the gang, a good name, begins. fn is called once, perhaps before this returns; with
 * GANG_STARTED the member is the owner's until gangs_finish() or gangs_owner_gone().
 */
void gangs_join(struct gangs *all, const struct gang_request *request, gang_fn fn, void *arg);
/* One that ran before the owner's connection, or the sidecar, was another. */
void gangs_attach(struct gangs *all, void *owner, const char *name, uint64_t id, gang_fn fn,
		  void *arg);
/* Milliseconds for which its command may run, from now on; 0: no more; -1: there is none such. */
int64_t gangs_renew(struct gangs *all, const void *owner, uint64_t number);
/*
 * Its command has ended, and no process of it is alive: done is called once it has left.
 * interrupted: it did not end by itself, as its client was killed, so the member is lost to the
 * others. False: there is none such, and done is not called.
 */
bool gangs_finish(struct gangs *all, const void *owner, uint64_t number, bool interrupted,
		  gang_done_fn done, void *arg);
/* Those that wait go; the others are lost when the leases are over that they were told. */
void gangs_owner_gone(struct gangs *all, const void *owner);

/* The session goes on in the next sidecar, and with it all members. */
void gangs_keep(struct gangs *all);
/* Nothing is begun any more: who waits is told. */
void gangs_stop(struct gangs *all);
/* The session of the sidecar before us is tried, which may have told of leases up to so long. */
void gangs_take_over(struct gangs *all, int64_t timeout_ms);
/* How many have a command that may be alive. */
size_t gangs_going(const struct gangs *all);
/* From now on they may not go on. */
void gangs_revoke(struct gangs *all);

#endif
