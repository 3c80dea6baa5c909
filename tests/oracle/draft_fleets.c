/*
 * Drafts fleets for tests/oracle/draft, which holds the answers against docs/examples/draft.py.
 *
 * Standard input, words separated by blanks: items workers limit, then for each worker
 *   tier ip id int int int int int, and of each item 0 (may not), 1 (may) or 2 (has resigned).
 * The items of a draft are named T:0, T:1 and so on. Prints a line for each: the owners' ids, "-": nobody.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/fleet/draft.h"
#include "core/fleet/rank.h"

#define WORKERS_MAX 5000

static struct draft_worker workers[WORKERS_MAX];
static char ips[WORKERS_MAX][48], ids[WORKERS_MAX][48];
static char names[DRAFT_ITEMS_MAX][16];
static const char *items[DRAFT_ITEMS_MAX];

static bool read_worker(size_t at, size_t n_items)
{
	struct draft_worker *w = &workers[at];
	int32_t ints[WORKER_RANDOM_INTS];

	*w = (struct draft_worker){.ip = ips[at], .id = ids[at]};
	if (scanf("%u %47s %47s", &w->tier, ips[at], ids[at]) != 3)
		return false;
	for (size_t i = 0; i < WORKER_RANDOM_INTS; i++)
		if (scanf("%" SCNd32, &ints[i]) != 1)
			return false;
	w->key = rank_key(ints);
	for (size_t i = 0; i < n_items; i++) {
		int may;
		if (scanf("%d", &may) != 1)
			return false;
		if (may > 0)
			draft_set_add(&w->may, i);
		if (may == 2)
			draft_set_add(&w->resigned, i);
	}
	return true;
}

int main(void)
{
	struct draft d = {.name = "T", .items = items, .workers = workers};
	size_t owners[DRAFT_ITEMS_MAX];

	for (size_t i = 0; i < DRAFT_ITEMS_MAX; i++) {
		snprintf(names[i], sizeof(names[i]), "T:%zu", i);
		items[i] = names[i];
	}
	while (scanf("%zu %zu %zu", &d.n_items, &d.n_workers, &d.limit) == 3) {
		if (d.n_items > DRAFT_ITEMS_MAX || d.n_workers > WORKERS_MAX)
			return 2;
		for (size_t i = 0; i < d.n_workers; i++)
			if (!read_worker(i, d.n_items))
				return 2;
		draft_run(&d, owners);
		for (size_t i = 0; i < d.n_items; i++)
			printf("%s%c", owners[i] == DRAFT_NOBODY ? "-" : ids[owners[i]],
			       i + 1 < d.n_items ? ' ' : '\n');
	}
	return 0;
}
