/*
 * Who leads which partition of a task, or which task of a spread group: the draft. It follows from
 * the set of candidates alone, so all sidecars that see the same fleet see the same owners.
 */
#ifndef ZKLEADER_CORE_DRAFT_H
#define ZKLEADER_CORE_DRAFT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define DRAFT_ITEMS_MAX 256 /* partitions of a task, tasks of a group */
#define DRAFT_WORDS	(DRAFT_ITEMS_MAX / 64)
#define DRAFT_NOBODY	SIZE_MAX

/* A set of items, by their index. */
struct draft_set {
	uint64_t words[DRAFT_WORDS];
};

struct draft_worker {
	uint64_t key;  /* rank_key() of its random ints */
	unsigned tier; /* 0 for the best version; workers of one tier are drafted in turn */
	const char *ip;
	const char *id;
	struct draft_set may;	   /* items that it is a candidate for */
	struct draft_set resigned; /* of these: those that it takes only if nobody else may */
};

struct draft {
	const char *name;	  /* of the task or the group: decides whose turn comes first */
	const char *const *items; /* names: "T:K" in the order of K, or tasks by strcmp */
	size_t n_items;		  /* at most DRAFT_ITEMS_MAX */
	size_t limit;		  /* the most that one worker takes while others may; 0: n_items */
	const struct draft_worker *workers;
	size_t n_workers;
};

void draft_set_add(struct draft_set *set, size_t item);
bool draft_set_has(const struct draft_set *set, size_t item);

/*
 * Gives each item a worker: ret_owners has room for n_items indexes into workers, DRAFT_NOBODY
 * where nobody may take the item. For limit, limit + 1 and so on, while items are left, and at last
 * once more with those who have resigned: the workers of each tier, the best tier first, take
 * turns; each that holds less than the limit takes of what is left the item with its biggest
 * rank_score(), of equal scores the first. The order in a tier: rank_score(worker, name), then ip,
 * then id, the bigger first. The order in which the workers are given does not matter.
 *
 * So where all may take all, the numbers of a tier differ by at most one. A draft in turns is the
 * "round robin" of sports leagues; with rendezvous scores (see rank_score()) as everybody's
 * preferences few items move when somebody joins or leaves.
 */
void draft_run(const struct draft *d, size_t *ret_owners);

/*
 * Who would be drafted for each item if its owner, as draft_run() has found it, were not there:
 * room for n_items, DRAFT_NOBODY where nobody would or the item has no owner. As many drafts as
 * there are owners: with 256 items and as many owners some 10 ms.
 */
void draft_successors(const struct draft *d, const size_t *owners, size_t *ret_successors);

/* The order of two workers in their turns, as for qsort(): the better tier, then as above. */
int draft_compare(const char *name, const struct draft_worker *a, const struct draft_worker *b);

#endif
