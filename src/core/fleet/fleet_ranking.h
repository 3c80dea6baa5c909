/* The ranking of a fleet's members for one contest: the candidates to lead a task, in order. */
#ifndef ZKLEADER_CORE_FLEET_FLEET_RANKING_H
#define ZKLEADER_CORE_FLEET_FLEET_RANKING_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/fleet/version.h"

struct fleet;
struct member;

/* The settings that decide who is a candidate for a task, and the order of candidates. */
struct contest {
	const char *task;	 /* or a partition, T:K */
	const char *listed;	 /* name in a candidate's record: T of T:K; NULL: the task */
	unsigned partitions;	 /* its partitions; a candidate's files must agree; 0: none */
	const char *min_version; /* NULL: none */
	int rank_position;	 /* 0..4, or -1: rank by rank_score() */
	enum version_policy version_policy;
	const char *pinned; /* only workers with this version are candidates; NULL: all */
	/* Name of the draft (fleet_draft.h) that decides; a task or spread group, NULL. */
	const char *draft;
	size_t item;  /* K; the tasks of a group are drafted in the order of their names */
	size_t limit; /* items per worker in the draft; 0: no limit */
};

/* How a member stands in the ranking of a task. */
enum why {
	WHY_BEST,
	WHY_WORSE_VERSION, /* its version is worse than the best one's */
	/*
	 * ranked below the one before it, which has the best version as well; the next two likewise
	 */
	WHY_LOWER_RANK,
	WHY_LOWER_IP,
	WHY_LOWER_ID,
	WHY_NOT_LISTED,	   /* no candidate: its record does not list the task */
	WHY_DRAINED,	   /* no candidate */
	WHY_UNHEALTHY,	   /* no candidate */
	WHY_BELOW_MINIMUM, /* no candidate: older than min-version */
	WHY_NOT_PINNED,	   /* no candidate: another version than the pinned one */
	WHY_RESIGNED,	   /* no candidate while there is another */
	WHY_CLOCK_OFF,	   /* likewise, and behind those that have resigned */
	WHY_NOT_DRAFTED,   /* the draft gives it to a member whose version is no better */
};

struct standing {
	const struct member *best; /* NULL: there is no candidate */
	const struct member *self; /* the member with the given id; NULL: it is not there */
	bool self_candidate;
	bool best_is_newer; /* the best has a strictly better version than self: usually newer */
	/* How many candidates beat self, 0: it is best; SIZE_MAX: self is no candidate. */
	size_t place;
	bool next; /* by a draft: self becomes best if the best leaves; false at place 0 and 1 */
};

struct ranked {
	const struct member *member;
	uint64_t rank; /* the score, or the random int as (uint64_t)(int64_t) */
	bool candidate;
	enum why why;
};

/*
 * The best candidate for contest c, whose task is the one at index in fleet_set_tasks(), and the
 * standing of the member self_id. A function of the set of candidates alone, not of their order,
 * although version_compare() is not transitive: one pass over the candidates' distinct version
 * strings in the order of strcmp, keeping the newer of two, finds the newest. The first tier are
 * the candidates whose version compares equal to it, by rank, ip and id.
 */
struct standing fleet_stand(const struct fleet *f, const struct contest *c, size_t index,
			    const char *self_id);
/* The same by rank alone, without the contest's draft. */
struct standing fleet_stand_ranked(const struct fleet *f, const struct contest *c, size_t index,
				   const char *self_id);
/* Why the member is no candidate for the contest, WHY_BEST if it is one or is not there. */
enum why fleet_why(const struct fleet *f, const struct contest *c, size_t index, const char *id);
/* WHY_BEST if the member is fit for the contest, resignations aside, else why it is not. */
enum why fleet_fitness(const struct member *m, const struct contest *c, size_t index);
/* The two parts of fleet_fitness(): everything but the version, and the version alone. */
enum why fleet_member_fitness(const struct member *m, const struct contest *c, size_t index);
enum why fleet_version_fitness(const char *version, const struct contest *c);
/* >0: a is the better version for this contest. */
int fleet_compare_versions(const struct contest *c, const char *a, const char *b);
/* The rank of a member within its tier, and the order of two of a tier, >0: a is better. */
struct ranked fleet_rank_member(const struct member *m, const struct contest *c);
int fleet_compare_ranked(const struct ranked *a, const struct ranked *b);
/*
 * The whole ranking, candidates best first, tier by tier, then the others by id. ret_ranked has
 * room for n_members; returns how many were written (all of them).
 */
size_t fleet_rank(const struct fleet *f, const struct contest *c, size_t index,
		  struct ranked *ret_ranked);

#endif
