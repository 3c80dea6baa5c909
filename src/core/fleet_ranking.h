/* Who may lead a task, and in which order: the ranking of a fleet's members for one contest. */
#ifndef ZKLEADER_CORE_FLEET_RANKING_H
#define ZKLEADER_CORE_FLEET_RANKING_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/version.h"

struct fleet;
struct member;

/* What decides who may lead a task and who is better. */
struct contest {
	const char *task;	 /* or a partition of one, T:K */
	const char *listed;	 /* what a candidate's record lists: T of T:K; NULL: the task */
	unsigned partitions;	 /* of that task: a candidate's files have as many; 0: none */
	const char *min_version; /* NULL: none */
	int rank_position;	 /* 0..4, or -1: rank by rank_score() */
	enum version_policy version_policy;
	const char *pinned; /* only workers with this version are candidates; NULL: all */
	/* The task or the spread group whose draft (core/fleet_draft.h) says who is best, NULL. */
	const char *draft;
	size_t item;  /* K; the tasks of a group are drafted in the order of their names */
	size_t limit; /* of the draft; 0: none */
};

/* How a member stands in the ranking of a task. */
enum why {
	WHY_BEST,
	WHY_WORSE_VERSION, /* than the best */
	/* than the one before it, which has the best version, too; so the next two */
	WHY_LOWER_RANK,
	WHY_LOWER_IP,
	WHY_LOWER_ID,
	WHY_NOT_LISTED,	   /* no candidate: its record does not list the task */
	WHY_DRAINED,	   /* no candidate */
	WHY_UNHEALTHY,	   /* no candidate */
	WHY_BELOW_MINIMUM, /* no candidate: older than min-version */
	WHY_NOT_PINNED,	   /* no candidate: another version than the pinned one */
	WHY_RESIGNED,	   /* no candidate while there is another */
	WHY_CLOCK_OFF,	   /* likewise, and behind those who have resigned */
	WHY_NOT_DRAFTED,   /* the draft gives it to the best, whose version is no better */
};

struct standing {
	const struct member *best; /* NULL: there is no candidate */
	const struct member *self; /* the member with the given id, NULL if it is not there */
	bool self_candidate;
	bool best_is_newer; /* the best has a strictly better version than self: newer, as a rule */
	/* 0: self is best; else how many candidates beat it, at least 1; SIZE_MAX: self is none. */
	size_t place;
	bool next; /* by a draft: self is the best once the best has left; false at place 0 and 1 */
};

struct ranked {
	const struct member *member;
	uint64_t rank; /* the score, or the random int as (uint64_t)(int64_t) */
	bool candidate;
	enum why why;
};

/*
 * Who is best for contest c, whose task is the one at index in fleet_set_tasks(), and where the
 * member self_id stands. A function of the set of candidates alone, whatever order they came in,
 * although version_compare() is not transitive: the newest version is found by one pass over the
 * distinct version strings of the candidates in the order of strcmp, keeping the newer of two; the
 * first tier are the candidates whose version compares equal to that one, by rank, ip and id.
 */
struct standing fleet_stand(const struct fleet *f, const struct contest *c, size_t index,
			    const char *self_id);
/* The same by rank alone, without the contest's draft. */
struct standing fleet_stand_ranked(const struct fleet *f, const struct contest *c, size_t index,
				   const char *self_id);
/* Why the member is no candidate for the contest, WHY_BEST if it is one or is not there. */
enum why fleet_why(const struct fleet *f, const struct contest *c, size_t index, const char *id);
/* WHY_BEST if the member is fit for the contest, whoever has resigned, else why it is not. */
enum why fleet_fitness(const struct member *m, const struct contest *c, size_t index);
/* Its two parts: what does not look at the version, and what looks at nothing else. */
enum why fleet_member_fitness(const struct member *m, const struct contest *c, size_t index);
enum why fleet_version_fitness(const char *version, const struct contest *c);
/* >0: a is the better version for this contest. */
int fleet_compare_versions(const struct contest *c, const char *a, const char *b);
/* The member as it is ranked within its tier; and the order of two there, >0: a is the better. */
struct ranked fleet_rank_member(const struct member *m, const struct contest *c);
int fleet_compare_ranked(const struct ranked *a, const struct ranked *b);
/*
 * The whole ranking, candidates best first, tier by tier, then the others by id. ret_ranked has
 * room for n_members; returns how many were written (all of them).
 */
size_t fleet_rank(const struct fleet *f, const struct contest *c, size_t index,
		  struct ranked *ret_ranked);

#endif
