/*
 * All sidecars name the same best and the same ranking for the same set of workers, in whatever order
 * they learned of them and whoever came and went meanwhile, though the order of versions is not
 * transitive.
 *
 * The input is a story of one byte commands and texts, see make_workers(); the same workers are then
 * put into fleets in several orders.
 */
#include "fuzz.h"

#include "base/mem.h"
#include "core/fleet.h"

#define WORKERS_MAX 8
#define ORDERS	    3

struct draft {
	char id[3];
	char version[NAME_VERSION_MAX + 1];
	int32_t ints[WORKER_RANDOM_INTS];
	const char *ip;
	bool drained;
	uint8_t lists; /* bit i: task i */
};

static const char *const tasks[] = {"daily", "report"};
#define N_TASKS (sizeof(tasks) / sizeof(tasks[0]))

static const char *const addresses[] = {"10.0.0.1", "9.255.0.1", "::1",
					"fe80::1",  "10.0.0.2",	 "::ffff:10.0.0.1"};
#define N_ADDRESSES (sizeof(addresses) / sizeof(addresses[0]))

static void make_worker(struct feed *f, size_t i, struct draft *d)
{
	uint8_t kind = feed_byte(f);
	char *version = feed_text(f, '\n');
	size_t len = strnlen(version, NAME_VERSION_MAX);

	memset(d, 0, sizeof(*d));
	d->id[0] = (char)('a' + i);
	memcpy(d->version, version, len);
	free(version);
	d->lists = (kind & 3) ? kind & 3 : 3;
	d->ip = addresses[(kind >> 3 & 7) % N_ADDRESSES];
	d->drained = kind >> 6 == 3;
	/* Often alike, so that address and id have to decide. */
	for (size_t j = 0; j < WORKER_RANDOM_INTS; j++)
		d->ints[j] = kind & 64 ? (int32_t)(kind ^ j) : 7;
}

static struct worker *make(const struct draft *d)
{
	struct worker *w = worker_new();
	const char *names[N_TASKS];
	size_t n = 0;

	for (size_t i = 0; i < N_TASKS; i++)
		if (d->lists >> i & 1)
			names[n++] = tasks[i];
	strcpy(w->id, d->id);
	strcpy(w->version, d->version);
	strcpy(w->ip, d->ip);
	memcpy(w->random_ints, d->ints, sizeof(w->random_ints));
	worker_set_tasks(w, names, n);
	return w;
}

static void add(struct fleet *f, const struct draft *d)
{
	struct member *m = fleet_add(f, make(d), 1, 1);

	FUZZ_CHECK(m);
	m->drained = d->drained;
}

/*
 * The workers in an order of the seed's; with `churn` each comes, may go again and come back, and the
 * tasks are told only in the middle of it.
 */
static void learn(struct fleet *f, const struct draft *drafts, size_t n, uint32_t seed, bool churn)
{
	size_t order[WORKERS_MAX];

	for (size_t i = 0; i < n; i++)
		order[i] = i;
	for (size_t i = n; i > 1; i--) {
		seed = seed * 1664525 + 1013904223;
		size_t j = (seed >> 16) % i;
		size_t other = order[i - 1];
		order[i - 1] = order[j];
		order[j] = other;
	}
	fleet_init(f);
	if (!churn)
		fleet_set_tasks(f, tasks, N_TASKS);
	for (size_t i = 0; i < n; i++) {
		add(f, &drafts[order[i]]);
		if (churn && seed >> (i % 32) & 1) {
			FUZZ_CHECK(fleet_remove(f, drafts[order[i / 2]].id));
			if (i == n / 2)
				fleet_set_tasks(f, tasks, N_TASKS);
			add(f, &drafts[order[i / 2]]);
		}
	}
	fleet_set_tasks(f, tasks, N_TASKS);
	FUZZ_CHECK(f->n_members == n);
}

/* What a fleet says about a contest. */
struct opinion {
	struct ranked ranking[WORKERS_MAX];
	struct standing standings[WORKERS_MAX]; /* of those in the ranking */
	size_t n;
	size_t only; /* the one whose standing was asked, n: all */
};

static void ask(const struct fleet *f, const struct contest *c, size_t index, struct opinion *o)
{
	o->n = fleet_rank(f, c, index, o->ranking);
	for (size_t i = 0; i < o->n; i++)
		if (o->only >= o->n || o->only == i)
			o->standings[i] =
				fleet_stand(f, c, index, o->ranking[i].member->worker->id);
}

/* One fleet agrees with itself: the ranking begins with the best, and everybody knows its place. */
static void check_alone(const struct opinion *o)
{
	size_t candidates = 0;

	while (candidates < o->n && o->ranking[candidates].candidate)
		candidates++;
	for (size_t i = 0; i < o->n; i++) {
		const struct ranked *r = &o->ranking[i];
		const struct standing *s = &o->standings[i];

		FUZZ_CHECK(s->best == (candidates > 0 ? o->ranking[0].member : NULL));
		FUZZ_CHECK(s->self == r->member);
		FUZZ_CHECK(s->self_candidate == (i < candidates));
		FUZZ_CHECK(r->candidate == (i < candidates));
		FUZZ_CHECK((r->why == WHY_BEST) == (i == 0 && candidates > 0));
		if (i < candidates)
			FUZZ_CHECK((s->place == 0) == (i == 0) && s->place < o->n);
		else
			FUZZ_CHECK(s->place == SIZE_MAX);
		FUZZ_CHECK(s->place != 0 || !s->best_is_newer);
	}
}

static bool same_member(const struct member *a, const struct member *b)
{
	return a && b ? strcmp(a->worker->id, b->worker->id) == 0 : a == b;
}

static void check_alike(const struct opinion *a, const struct opinion *b)
{
	FUZZ_CHECK(a->n == b->n);
	for (size_t i = 0; i < a->n; i++) {
		const struct ranked *r = &a->ranking[i], *q = &b->ranking[i];
		const struct standing *s = &a->standings[i], *t = &b->standings[i];

		FUZZ_CHECK(same_member(r->member, q->member));
		FUZZ_CHECK(r->candidate == q->candidate && r->why == q->why && r->rank == q->rank);
		if (b->only != i)
			continue;
		FUZZ_CHECK(same_member(s->best, t->best) && same_member(s->self, t->self));
		FUZZ_CHECK(s->place == t->place && s->self_candidate == t->self_candidate &&
			   s->best_is_newer == t->best_is_newer);
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct draft drafts[WORKERS_MAX];
	struct feed f = {data, size};
	uint8_t kind = feed_byte(&f);
	uint32_t seed = (uint32_t)feed_number(&f, 2);
	char *minimum = feed_text(&f, '\n');
	struct fleet fleets[ORDERS];
	size_t n = 0;

	while (f.left > 0 && n < WORKERS_MAX) {
		make_worker(&f, n, &drafts[n]);
		n++;
	}
	for (size_t i = 0; i < ORDERS; i++)
		learn(&fleets[i], drafts, n, i == 0 ? 0 : seed + (uint32_t)i * 7919, i % 2 == 1);
	struct contest c = {.task = tasks[kind >> 7],
			    .min_version = kind & 1 ? minimum : NULL,
			    .rank_position = kind & 2 ? (int)(kind >> 2) % 5 : -1};
	struct opinion first = {.only = SIZE_MAX};

	ask(&fleets[0], &c, kind >> 7, &first);
	check_alone(&first);
	for (size_t i = 1; i < ORDERS; i++) {
		struct opinion other = {.only = n > 0 ? seed % n : 0};

		ask(&fleets[i], &c, kind >> 7, &other);
		check_alike(&first, &other);
	}
	for (size_t i = 0; i < ORDERS; i++)
		fleet_done(&fleets[i]);
	free(minimum);
	return 0;
}
