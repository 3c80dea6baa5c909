/* The fleet as this sidecar sees it: its members, what they list and what is decided about them. */
#ifndef ZKLEADER_CORE_FLEET_FLEET_H
#define ZKLEADER_CORE_FLEET_FLEET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/text/worker.h"
#include "core/fleet/fleet_ranking.h"

#define FLEET_MEMBERS_MAX 10000

/* For each contest a bit: whether workers that share a list of tasks list its task. */
struct listed {
	size_t members; /* that share it */
	uint64_t bits[];
};

struct member {
	struct worker *worker; /* owned */
	int64_t session;       /* ZooKeeper session that registered it */
	/* CLOCK_BOOTTIME when we first saw it; in a big fleet, when others may have, too */
	int64_t seen_ms;
	int64_t registered_at; /* ms since the epoch; written by node/fleet/registry.c */
	uint64_t serial;       /* a number that no other member of this fleet ever had; never 0 */
	uint64_t key;	       /* rank_key() of its random ints */
	unsigned grade;	       /* orders versions, bigger is newer; valid while fleet.orderly */
	bool shares_hostname;  /* another node has its hostname: see identity.h */
	bool shares_short;     /* another node's name is alike up to the colon */
	bool twin;	       /* another machine has the same node name now: see identity.h */
	bool plain;	       /* its record is what record_pack_worker() makes of it */
	bool drained;
	bool splits;	/* its worker lists tasks with partitions */
	bool unwell;	/* or says that it is sick, or something of what it lists */
	bool clock_off; /* leads only if nobody else can, not even a member that has resigned */
	/* tasks for which its keys differ from ours; written by node/fleet/disagreement.c */
	size_t n_disagreements;
	struct listed *lists;
	uint64_t *
		/* bit i: it has resigned from that task: leads only if nobody else can; NULL */
		resigned;
};

struct tally;
struct fleet_draft;

struct fleet {
	struct member **by_id;	    /* sorted by id */
	struct member **by_version; /* the same, sorted by version string (strcmp), then id */
	struct member **by_session; /* the same, sorted by session, then id */
	size_t n_members;
	/* Keys of the members' hostnames and nodes, sorted: see identity.c. */
	struct fleet_name {
		uint32_t key;
		struct member *member;
	} * names;
	size_t n_names;
	bool orderly;	    /* its versions are few, and their order is transitive */
	const char **tasks; /* contests' names, sorted by strcmp; owned array, borrowed names */
	size_t n_tasks;
	uint64_t next_serial;
	/* The contest of each task; owned array, borrowed contests. NULL: none were set. */
	const struct contest **contests;
	struct tally *tallies; /* for each contest, the standing of one member */
	struct fleet_draft *drafts;
	size_t n_drafts;
	size_t *draft_of;  /* draft of each contest, SIZE_MAX: none */
	size_t *by_listed; /* indexes of tasks, sorted by the name in records: T for T:K */
};

void fleet_init(struct fleet *f);
void fleet_done(struct fleet *f);
/*
 * Takes the worker over. Returns the member, or NULL (the worker is then freed) where the id is
 * known already or the fleet has FLEET_MEMBERS_MAX members.
 */
struct member *fleet_add(struct fleet *f, struct worker *worker, int64_t session, int64_t seen_ms);
/*
 * A member whose list was not known lists what list says, which it shares from now on. like: a
 * member of that list whose tasks are known, NULL.
 */
void fleet_relist(struct fleet *f, struct member *m, struct worker *list,
		  const struct member *like);
/* Whether there was such a member. Pointers to it are dangling afterwards. */
bool fleet_remove(struct fleet *f, const char *id);
void fleet_clear(struct fleet *f);
struct member *fleet_find(const struct fleet *f, const char *id);
/* A neighbour by version that shares the member's list of tasks, as most do, or NULL. */
const struct member *fleet_twin(const struct fleet *f, const struct member *m);
/* The member that this session registered; where there are two for a moment, the last by id. */
const struct member *fleet_find_session(const struct fleet *f, int64_t session);
/*
 * Sets the names of the contests, which are tasks and partitions of tasks: distinct, sorted by
 * strcmp, borrowed until the next call.
 */
void fleet_set_tasks(struct fleet *f, const char *const *names, size_t n);
/*
 * Sets the contests for these names, in the same order, borrowed until the next fleet_set_tasks().
 * fleet_standing() may be called only after this.
 */
void fleet_set_contests(struct fleet *f, const struct contest *const *contests);
/* The contest is about to change, or has changed. */
void fleet_contest_changed(struct fleet *f, size_t index);
/*
 * Returns the same as fleet_stand() for that member, or for none if NULL. The result is kept up to
 * date as members join and leave, so the whole fleet is seldom searched.
 */
struct standing fleet_standing(struct fleet *f, size_t index, const struct member *self);
/* Clears all resignations, before the present ones are set anew. */
void fleet_clear_resigned(struct fleet *f);
void fleet_set_drained(struct fleet *f, struct member *m, bool drained);
void fleet_set_clock_off(struct fleet *f, struct member *m, bool off);
void fleet_resign(struct fleet *f, struct member *m, size_t index);
/* Whether the member's record lists the task at that index. */
bool fleet_lists(const struct member *m, size_t index);
bool fleet_has_resigned(const struct member *m, size_t index);
/* Only members of the lowest level are candidates; 0: not resigned, and its clock is right. */
unsigned fleet_level(const struct member *m, size_t index);

#endif
