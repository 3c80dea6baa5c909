/*
 * Measures the draft (docs/ELECTION.md has the figures):
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

#include "base/mem.h"
#include "core/fleet/draft.h"
#include "core/fleet/fleet.h"
#include "core/fleet/fleet_draft.h"

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
	double still;	     /* of the changes: those in which nothing moved */
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
		double of_this = 0;
		for (size_t i = 0; i < n_items; i++)
			of_this += before[i] != after[i];
		sums->still += of_this == 0;
		moved += of_this;
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

/* The draft as a node keeps it: of whole workers' records, and anew only where it may be another. */
static void measure_fleet(void)
{
	static struct contest contests[DRAFT_ITEMS_MAX];
	const struct contest *list[DRAFT_ITEMS_MAX];
	static char sorted[DRAFT_ITEMS_MAX][16];
	const char *task = "T", *sorted_names[DRAFT_ITEMS_MAX];
	struct fleet f;

	memcpy(sorted, names, sizeof(sorted));
	qsort(sorted, DRAFT_ITEMS_MAX, sizeof(sorted[0]),
	      (int (*)(const void *, const void *))strcmp);
	for (size_t i = 0; i < DRAFT_ITEMS_MAX; i++) {
		sorted_names[i] = sorted[i];
		contests[i] = (struct contest){.task = sorted[i],
					       .listed = task,
					       .partitions = DRAFT_ITEMS_MAX,
					       .rank_position = -1,
					       .draft = task,
					       .item = strtoul(sorted[i] + 2, NULL, 10)};
		list[i] = &contests[i];
	}
	fleet_init(&f);
	fleet_set_tasks(&f, sorted_names, DRAFT_ITEMS_MAX);
	fleet_set_contests(&f, list);
	for (size_t i = 0; i < 1000; i++) {
		struct worker *w = worker_new();
		snprintf(w->id, sizeof(w->id), "w%zu", i);
		snprintf(w->version, sizeof(w->version), "1.0");
		snprintf(w->ip, sizeof(w->ip), "10.0.0.1");
		w->random_ints[0] = (int32_t)next_random();
		worker_set_tasks(w, &task, 1);
		w->splits = mem_calloc(1, sizeof(*w->splits));
		w->n_splits = 1;
		snprintf(w->splits[0].task, sizeof(w->splits[0].task), "%s", task);
		w->splits[0].partitions = DRAFT_ITEMS_MAX;
		fleet_add(&f, w, (int64_t)i + 1, 0);
	}
	double start = cpu_ms();
	for (int i = 0; i < REPEATS; i++) {
		fleet_drafts_forget(&f);
		fleet_draft_owner(&f, 0);
	}
	printf("N = %d, W = 1000, of workers' records: %.2f ms of processor a draft\n",
	       DRAFT_ITEMS_MAX, (cpu_ms() - start) / REPEATS);
	fleet_done(&f);
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
	struct sums fleet = {0};
	measure(64, 1000, 20 * REPEATS, &fleet);
	printf("N = 64, W = 1000: nothing moves in %.1f %% of the joins\n",
	       fleet.still / fleet.joins * 100);
	measure_fleet();
	make_fleet(1000);
	double start = cpu_ms();
	for (int i = 0; i < REPEATS; i++)
		run(DRAFT_ITEMS_MAX, 1000, owners);
	printf("N = %d, W = 1000: %.2f ms of processor a draft\n", DRAFT_ITEMS_MAX,
	       (cpu_ms() - start) / REPEATS);
	/* Promises are judged; times are only printed. */
	bool good = small.worst_spread <= 1 && big.worst_spread <= 1 && small.share <= 1 &&
		    big.share <= 1 && fleet.still >= fleet.joins * 9 / 10;
	printf("%s\n",
	       good ? "balance, moves and joins are as promised"
		    : "NOT as promised: more than one apart, more moves, or joins that move");
	return good ? 0 : 1;
}
