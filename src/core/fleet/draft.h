/*
 * The draft: assigns the partitions of a task, or the tasks of a spread group, to workers. It is a
 * function of the set of candidates alone, so all sidecars that see the same fleet agree on it.
 */
#ifndef ZKLEADER_CORE_FLEET_DRAFT_H
#define ZKLEADER_CORE_FLEET_DRAFT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define DRAFT_ITEMS_MAX 1000 /* partitions of a task, tasks of a group */
#define DRAFT_WORDS	((DRAFT_ITEMS_MAX + 63) / 64)
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
	struct draft_set may;	   /* take: items that it is a candidate for */
	struct draft_set resigned; /* the items among these that it takes only if nobody else may */
};

struct draft {
	const char *name; /* name of the task or the group: it decides the order of the workers */
	const char *const *items; /* names: "T:K" in the order of K, or tasks by strcmp */
	size_t n_items;		  /* at most DRAFT_ITEMS_MAX */
	size_t limit;		  /* items that a worker takes while others may; 0: n_items */
	const struct draft_worker *workers;
	size_t n_workers;
};

void draft_set_add(struct draft_set *set, size_t item);
bool draft_set_has(const struct draft_set *set, size_t item);

/*
 * Assigns each item to a worker: ret_owners has room for n_items indexes into workers, DRAFT_NOBODY
 * where nobody may take the item. There are passes with limit, limit + 1 and so on while items are
 * left, and then once more with the workers that have resigned. In a pass the workers of each tier,
 * the best tier first, take turns. A worker that holds less than the limit takes the remaining item
 * with its biggest rank_score(), of equal scores the first. The order in a tier is that of
 * rank_score(worker, name), then ip, then id, the bigger first. The order of the array of workers
 * does not matter.
 *
 * So where every worker may take every item, the numbers of items in a tier differ by at most one.
 * With rendezvous scores (see rank_score()) as preferences, few items move when a worker joins or
 * leaves.
 */
void draft_run(const struct draft *d, size_t *ret_owners);

/*
 * The worker that would be drafted for each item if its owner, as found by draft_run(), left. Room
 * for n_items; DRAFT_NOBODY where there is no such worker or the item has no owner. It runs one
 * draft for each owner.
 */
void draft_successors(const struct draft *d, const size_t *owners, size_t *ret_successors);

/* The order of two workers in a draft, as for qsort(): by tier, then as in draft_run(). */
int draft_compare(const char *name, const struct draft_worker *a, const struct draft_worker *b);

#endif
