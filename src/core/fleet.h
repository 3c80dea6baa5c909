/* The fleet as this sidecar sees it, and who is best for each task in it. */
#ifndef ZKLEADER_CORE_FLEET_H
#define ZKLEADER_CORE_FLEET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/worker.h"

#define FLEET_MEMBERS_MAX 5000

/* What decides who may lead a task and who is better. */
struct contest {
	const char *task;
	const char *min_version; /* NULL: none */
	int rank_position;	 /* 0..4, or -1: rank by rank_score() */
	bool oldest;		 /* the older version is the better one */
	const char *pinned;	 /* only workers with this version are candidates; NULL: all */
};

struct member {
	struct worker *worker; /* owned */
	int64_t session;       /* ZooKeeper session that registered it */
	int64_t seen_ms;       /* CLOCK_BOOTTIME at which this sidecar first saw it */
	int64_t registered_at; /* the caller's: a wall clock, ms since the epoch */
	uint64_t serial;       /* a number that no other member of this fleet ever had; never 0 */
	uint64_t key;	       /* rank_key() of its random ints */
	unsigned grade;	       /* the bigger, the newer its version, while the fleet is orderly */
	bool shares_host; /* another node has its hostname: see core/identity.h; the next as well */
	bool twin;	  /* another machine has its node's name at this time */
	bool drained;
	bool clock_off;	  /* leads only if nobody else can, whoever has resigned */
	size_t disagrees; /* the caller's: for how many tasks it goes by something else than we */
	uint64_t *lists;  /* bit i: the worker lists the task of contest i */
	uint64_t *
		/* bit i: it gave that one up, and leads it only if nobody else can; NULL */
		resigned;
};

struct tally;

struct fleet {
	struct member **by_id;	    /* sorted by id */
	struct member **by_version; /* the same, sorted by version string (strcmp), then id */
	struct member **by_session; /* the same, sorted by session, then id */
	size_t n_members;
	bool orderly;	    /* its versions are few, and their order is transitive */
	const char **tasks; /* of the contests, sorted by strcmp; owned array, borrowed names */
	size_t n_tasks;
	uint64_t next_serial;
	/* The contest of each task; owned array, borrowed contests. NULL: none were set. */
	const struct contest **contests;
	struct tally *tallies; /* for each of these, where one member stands in it */
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
};

struct standing {
	const struct member *best; /* NULL: there is no candidate */
	const struct member *self; /* the member with the given id, NULL if it is not there */
	bool self_candidate;
	bool best_is_newer; /* the best has a strictly better version than self: newer, as a rule */
	/* 0: self is best; else how many candidates beat it, at least 1; SIZE_MAX: self is none. */
	size_t place;
};

struct ranked {
	const struct member *member;
	uint64_t rank; /* the score, or the random int as (uint64_t)(int64_t) */
	bool candidate;
	enum why why;
};

void fleet_init(struct fleet *f);
void fleet_done(struct fleet *f);
/*
 * Takes the worker over. Returns the member, or NULL (the worker is then freed) where the id is
 * known already or the fleet has FLEET_MEMBERS_MAX members.
 */
struct member *fleet_add(struct fleet *f, struct worker *worker, int64_t session, int64_t seen_ms);
/* Whether there was one. Pointers to that member are dangling afterwards. */
bool fleet_remove(struct fleet *f, const char *id);
void fleet_clear(struct fleet *f);
struct member *fleet_find(const struct fleet *f, const char *id);
/* The member that this session registered, the last by id during the moment that there are two. */
const struct member *fleet_find_session(const struct fleet *f, int64_t session);
/* The tasks that contests will be about: distinct, sorted by strcmp, borrowed until the next call.
 */
void fleet_set_tasks(struct fleet *f, const char *const *names, size_t n);
/*
 * The contests about these tasks, in their order, borrowed until fleet_set_tasks() is called again.
 * From then on fleet_standing() may be asked.
 */
void fleet_set_contests(struct fleet *f, const struct contest *const *contests);
/* That contest is about to be, or has become, another. */
void fleet_contest_changed(struct fleet *f, size_t index);
/*
 * What fleet_stand() says of that member, NULL: of none. It is kept up to date while members come
 * and go, so that the whole fleet is seldom looked at.
 */
struct standing fleet_standing(struct fleet *f, size_t index, const struct member *self);
/* No member is drained or has resigned; then what has been decided is set anew. */
void fleet_clear_decisions(struct fleet *f);
void fleet_clear_resigned(struct fleet *f); /* the latter alone */
void fleet_set_drained(struct fleet *f, struct member *m, bool drained);
void fleet_set_clock_off(struct fleet *f, struct member *m, bool off);
void fleet_resign(struct fleet *f, struct member *m, size_t index);
bool fleet_has_resigned(const struct member *m, size_t index);
/* Only those of the lowest level are candidates; 0: not resigned, and its clock is not off. */
unsigned fleet_level(const struct member *m, size_t index);

/*
 * Who is best for contest c, whose task is the one at index in fleet_set_tasks(), and where the
 * member self_id stands. A function of the set of candidates alone, whatever order they came in,
 * although version_compare() is not transitive: the newest version is found by one pass over the
 * distinct version strings of the candidates in the order of strcmp, keeping the newer of two; the
 * first tier are the candidates whose version compares equal to that one, by rank, ip and id.
 */
struct standing fleet_stand(const struct fleet *f, const struct contest *c, size_t index,
			    const char *self_id);
/* Why the member is no candidate for the contest, WHY_BEST if it is one or is not there. */
enum why fleet_why(const struct fleet *f, const struct contest *c, size_t index, const char *id);
/* WHY_BEST if the member is fit for the contest, whoever has resigned, else why it is not. */
enum why fleet_fitness(const struct member *m, const struct contest *c, size_t index);
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
