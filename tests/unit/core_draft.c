#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

#include "core/fleet/draft.h"
#include "core/fleet/rank.h"

#define WORKERS 12
#define ITEMS	40

static struct draft_worker workers[WORKERS];
static char ids[WORKERS][8], names[DRAFT_ITEMS_MAX][16];
static const char *items[DRAFT_ITEMS_MAX];
static size_t owners[DRAFT_ITEMS_MAX];

static void set_up(void)
{
	for (size_t i = 0; i < DRAFT_ITEMS_MAX; i++) {
		snprintf(names[i], sizeof(names[i]), "T:%zu", i);
		items[i] = names[i];
	}
	for (size_t i = 0; i < WORKERS; i++) {
		int32_t ints[WORKER_RANDOM_INTS] = {(int32_t)i, 1, 2, 3, 4};
		snprintf(ids[i], sizeof(ids[i]), "w%zu", i);
		workers[i] = (struct draft_worker){
			.key = rank_key(ints), .ip = "10.0.0.1", .id = ids[i]};
		memset(&workers[i].may, 0xff, sizeof(workers[i].may));
	}
}

static void run(size_t n_items, size_t n_workers, size_t limit)
{
	draft_run(&(struct draft){.name = "T",
				  .items = items,
				  .n_items = n_items,
				  .limit = limit,
				  .workers = workers,
				  .n_workers = n_workers},
		  owners);
}

static size_t held_by(size_t worker, size_t n_items)
{
	size_t n = 0;

	for (size_t i = 0; i < n_items; i++)
		n += owners[i] == worker;
	return n;
}

TestSuite(draft, .init = set_up);

/* The draft as its definition says it: each in its turn takes the best of all that is left. */
static void plain_draft(size_t n_items, size_t n_workers, size_t wanted[])
{
	struct draft_worker order[WORKERS];
	size_t left = n_items;

	memcpy(order, workers, n_workers * sizeof(*order));
	for (size_t i = 1; i < n_workers; i++)
		for (size_t j = i; j > 0 && draft_compare("T", &order[j - 1], &order[j]) > 0; j--) {
			struct draft_worker moved = order[j];
			order[j] = order[j - 1];
			order[j - 1] = moved;
		}
	for (size_t i = 0; i < n_items; i++)
		wanted[i] = DRAFT_NOBODY;
	for (size_t turn = 0; left > 0; turn++) {
		const struct draft_worker *w = &order[turn % n_workers];
		size_t best = DRAFT_NOBODY;

		for (size_t i = 0; i < n_items; i++)
			if (wanted[i] == DRAFT_NOBODY &&
			    (best == DRAFT_NOBODY ||
			     rank_score(w->key, items[i]) > rank_score(w->key, items[best])))
				best = i;
		for (size_t i = 0; i < n_workers; i++)
			if (workers[i].id == w->id)
				wanted[best] = i;
		left--;
	}
}

Test(draft, a_thousand_items_are_drafted_as_defined)
{
	size_t wanted[DRAFT_ITEMS_MAX];

	for (size_t n_workers = 1; n_workers <= WORKERS; n_workers += n_workers == 1 ? 1 : 5) {
		plain_draft(DRAFT_ITEMS_MAX, n_workers, wanted);
		run(DRAFT_ITEMS_MAX, n_workers, 0);
		cr_expect_arr_eq(owners, wanted, sizeof(wanted));
		for (size_t i = 0; i < n_workers; i++)
			cr_expect_leq(held_by(i, DRAFT_ITEMS_MAX), 1000 / n_workers + 1);
	}
}

/* From another implementation, docs/examples/draft.py. */
Test(draft, is_as_published)
{
	static const size_t wanted[] = {1, 3, 0, 2, 0, 1, 3, 2, 2, 1};

	run(sizeof(wanted) / sizeof(wanted[0]), 4, 0);
	cr_assert_arr_eq(owners, wanted, sizeof(wanted));
}

Test(draft, nobody_leads_without_workers)
{
	run(ITEMS, 0, 0);
	for (size_t i = 0; i < ITEMS; i++)
		cr_assert_eq(owners[i], DRAFT_NOBODY);
}

Test(draft, no_items_are_no_harm)
{
	run(0, WORKERS, 0);
}

Test(draft, a_tier_shares_evenly)
{
	for (size_t n = 1; n <= ITEMS; n++) {
		for (size_t w = 1; w <= WORKERS; w++) {
			run(n, w, 0);
			for (size_t i = 0; i < w; i++) {
				cr_expect_geq(held_by(i, n), n / w, "%zu items, %zu workers", n, w);
				cr_expect_leq(held_by(i, n), (n + w - 1) / w);
			}
		}
	}
}

Test(draft, the_best_tier_takes_all_without_a_limit)
{
	workers[0].tier = 1;
	run(ITEMS, 3, 0);
	cr_assert_eq(held_by(0, ITEMS), 0);
	cr_assert_eq(held_by(1, ITEMS) + held_by(2, ITEMS), ITEMS);
}

/* A first canary of the newest version: it takes the limit, the next version the rest. */
Test(draft, the_limit_leaves_the_rest_to_the_next_tier)
{
	workers[0].tier = workers[1].tier = workers[2].tier = 1;
	run(ITEMS, 4, 10);
	for (size_t i = 0; i < 4; i++)
		cr_expect_eq(held_by(i, ITEMS), 10);
	run(ITEMS, 4, 4); /* too low for all: raised until nothing is left */
	for (size_t i = 0; i < 4; i++)
		cr_expect_eq(held_by(i, ITEMS), 10);
}

Test(draft, a_limit_beyond_the_items_is_none)
{
	run(2, 1, 3);
	cr_assert_eq(held_by(0, 2), 2);
}

Test(draft, a_worker_takes_only_what_it_is_a_candidate_for)
{
	memset(&workers[0].may, 0, sizeof(workers[0].may));
	draft_set_add(&workers[0].may, 3);
	memset(&workers[1].may, 0, sizeof(workers[1].may));
	draft_set_add(&workers[1].may, 4);
	run(6, 2, 1);
	for (size_t i = 0; i < 6; i++)
		cr_expect_eq(owners[i], i == 3 ? 0 : i == 4 ? 1 : DRAFT_NOBODY);
}

Test(draft, who_has_resigned_takes_what_nobody_else_may)
{
	draft_set_add(&workers[0].resigned, 0);
	run(1, 2, 0);
	cr_expect_eq(owners[0], 1);
	draft_set_add(&workers[1].resigned, 0);
	run(1, 2, 0);
	cr_expect_neq(owners[0], DRAFT_NOBODY);
	memset(&workers[1].may, 0, sizeof(workers[1].may));
	run(1, 2, 0);
	cr_expect_eq(owners[0], 0);
}

/* Hosts that were copied have the same random ints: then the ip decides, then the id. */
Test(draft, equal_scores_go_by_ip_and_id)
{
	workers[1].key = workers[2].key = workers[0].key;
	run(1, 3, 0);
	cr_expect_eq(owners[0], 2);
	workers[0].ip = "10.0.0.2";
	run(1, 3, 0);
	cr_expect_eq(owners[0], 0);
	cr_expect_lt(draft_compare("T", &workers[0], &workers[2]), 0);
	cr_expect_gt(draft_compare("T", &workers[1], &workers[2]), 0);
}

Test(draft, the_order_of_the_workers_does_not_matter)
{
	char before[ITEMS][8];

	run(ITEMS, WORKERS, 5);
	for (size_t i = 0; i < ITEMS; i++)
		strcpy(before[i], workers[owners[i]].id);
	for (size_t i = 0; i < WORKERS / 2; i++) {
		struct draft_worker w = workers[i];
		workers[i] = workers[WORKERS - 1 - i];
		workers[WORKERS - 1 - i] = w;
	}
	run(ITEMS, WORKERS, 5);
	for (size_t i = 0; i < ITEMS; i++)
		cr_expect_str_eq(workers[owners[i]].id, before[i]);
}

/* With limits, and with some who take only what nobody else may: as if the owner had never been there. */
Test(draft, successors_are_whom_a_draft_without_the_owner_gives)
{
	size_t before[ITEMS], next[ITEMS];
	struct draft d = {.name = "T", .items = items, .n_items = ITEMS, .workers = workers};

	draft_set_add(&workers[2].resigned, 7);
	workers[5].tier = 1;
	for (d.n_workers = 1; d.n_workers <= WORKERS; d.n_workers++) {
		for (d.limit = 0; d.limit <= 6; d.limit += 3) {
			draft_run(&d, before);
			draft_successors(&d, before, next);
			for (size_t i = 0; i < ITEMS; i++) {
				struct draft_worker gone = workers[before[i]];
				memset(&workers[before[i]].may, 0, sizeof(gone.may));
				draft_run(&d, owners);
				cr_expect_eq(next[i], owners[i], "%zu workers, limit %zu, item %zu",
					     d.n_workers, d.limit, i);
				workers[before[i]] = gone;
			}
		}
	}
}
