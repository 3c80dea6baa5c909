/*
 * What the draft does, measured (docs/ELECTION.md has the figures):
 *
 *   draft          all numbers of items up to 40 on up to 20 workers, and 256 items on 1,000 workers:
 *                  balance, moves on a join and a leave against (1 + ln W) N / W, processor time
 */
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "core/draft.h"

#define WORKERS_MAX 1001
#define SMALL_ITEMS 40
#define SMALL_FLEET 20
#define REPEATS	    50 /* fleets of each size */

static struct draft_worker workers[WORKERS_MAX];
static char ids[WORKERS_MAX][16];
static char names[DRAFT_ITEMS_MAX][16];
static const char *items[DRAFT_ITEMS_MAX];
static uint64_t seed = 1;

/* splitmix64 (Steele, Lea and Flood, 2014). */
static uint64_t next_random(void)
{
	uint64_t z = seed += UINT64_C(0x9e3779b97f4a7c15);

	z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
	z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
	return z ^ (z >> 31);
}

static void make_fleet(size_t n)
{
	for (size_t i = 0; i < n; i++) {
		workers[i] =
			(struct draft_worker){.key = next_random(), .ip = "10.0.0.1", .id = ids[i]};
		memset(&workers[i].may, 0xff, sizeof(workers[i].may));
	}
}

static void run(size_t n_items, size_t n_workers, size_t *owners)
{
	struct draft d = {.name = "T",
			  .items = items,
			  .n_items = n_items,
			  .workers = workers,
			  .n_workers = n_workers};

	draft_run(&d, owners);
}

struct sums {
	double worst_spread; /* the most that two workers differ by */
	double joins, moved; /* changes, and items that moved in them */
	double share;	     /* the worst mean of a size as a part of its bound */
	size_t share_items, share_workers;
};

static size_t spread(const size_t *owners, size_t n_items, size_t n_workers)
{
	size_t held[WORKERS_MAX] = {0}, most = 0, least = SIZE_MAX;

	for (size_t i = 0; i < n_items; i++)
		held[owners[i]]++;
	for (size_t i = 0; i < n_workers; i++) {
		most = held[i] > most ? held[i] : most;
		least = held[i] < least ? held[i] : least;
	}
	return most - least;
}

/* The last worker joins a fleet of n_workers - 1; read backwards, it leaves one of n_workers. */
static void measure(size_t n_items, size_t n_workers, int repeats, struct sums *sums)
{
	size_t before[DRAFT_ITEMS_MAX], after[DRAFT_ITEMS_MAX];
	double moved = 0, w = (double)n_workers;

	for (int r = 0; r < repeats; r++) {
		make_fleet(n_workers);
		run(n_items, n_workers - 1, before);
		run(n_items, n_workers, after);
		double s = (double)spread(after, n_items, n_workers);
		sums->worst_spread = s > sums->worst_spread ? s : sums->worst_spread;
		for (size_t i = 0; i < n_items; i++)
			moved += before[i] != after[i];
	}
	sums->joins += repeats;
	sums->moved += moved;
	double share = moved / repeats / ((1 + log(w)) * (double)n_items / w);
	if (share > sums->share) {
		sums->share = share;
		sums->share_items = n_items;
		sums->share_workers = n_workers;
	}
}

static double cpu_ms(void)
{
	return (double)clock() * 1000 / CLOCKS_PER_SEC;
}

int main(void)
{
	struct sums small = {0}, big = {0};
	size_t owners[DRAFT_ITEMS_MAX];

	for (size_t i = 0; i < WORKERS_MAX; i++)
		snprintf(ids[i], sizeof(ids[i]), "w%zu", i);
	for (size_t i = 0; i < DRAFT_ITEMS_MAX; i++) {
		snprintf(names[i], sizeof(names[i]), "T:%zu", i);
		items[i] = names[i];
	}
	for (size_t n = 1; n <= SMALL_ITEMS; n++)
		for (size_t w = 2; w <= SMALL_FLEET; w++)
			measure(n, w, REPEATS, &small);
	printf("N <= %d, W <= %d: spread %.0f, moves a change %.2f, at worst %.2f of the bound "
	       "(N %zu, W %zu)\n",
	       SMALL_ITEMS, SMALL_FLEET, small.worst_spread, small.moved / small.joins, small.share,
	       small.share_items, small.share_workers);
	measure(DRAFT_ITEMS_MAX, 1000, REPEATS, &big);
	printf("N = %d, W = 1000: spread %.0f, moves a change %.2f, %.2f of the bound\n",
	       DRAFT_ITEMS_MAX, big.worst_spread, big.moved / big.joins, big.share);
	make_fleet(1000);
	double start = cpu_ms();
	for (int i = 0; i < REPEATS; i++)
		run(DRAFT_ITEMS_MAX, 1000, owners);
	printf("N = %d, W = 1000: %.2f ms of processor a draft\n", DRAFT_ITEMS_MAX,
	       (cpu_ms() - start) / REPEATS);
	return 0;
}
