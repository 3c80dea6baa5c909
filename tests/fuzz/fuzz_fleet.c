/*
 * All sidecars name the same best and the same ranking for the same set of workers, in whatever order
 * they learned of them and whoever came and went meanwhile, though the order of versions is not
 * transitive.
 *
 * The input is a contest and workers, each a few bytes and a text; the same workers are then put into
 * fleets in several orders. Who is a candidate and who is the best is said once more here.
 */
#include "fuzz.h"

#include "base/mem.h"
#include "core/fleet/fleet.h"
#include "core/fleet/rank.h"
#include "core/fleet/tally.h"
#include "core/fleet/version.h"

#define WORKERS_MAX 8
#define ORDERS	    3
#define TALLIED	    3 /* members that go and come back under the eyes of a tally */

struct draft {
	char id[3];
	char version[NAME_VERSION_MAX + 1];
	int32_t ints[WORKER_RANDOM_INTS];
	const char *ip;
	bool drained, sick;
	uint8_t resigned; /* bit i: task i; likewise the next two */
	uint8_t unhealthy;
	uint8_t lists;
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
	d->drained = kind >> 6 == 3 && !(kind & 4);
	d->sick = kind >> 6 == 3 && kind & 4;
	d->resigned = kind >> 6 == 2 && !(kind & 4) ? kind & 3 : 0;
	d->unhealthy = kind >> 6 == 2 && kind & 4 ? kind & 3 : 0;
	/* Often alike, so that address and id have to decide. */
	for (size_t j = 0; j < WORKER_RANDOM_INTS; j++)
		d->ints[j] = kind & 64 ? (int32_t)(kind ^ j) : 7;
}

static struct worker *make(const struct draft *d)
{
	struct worker *w = worker_new();
	char **unhealthy = mem_calloc(N_TASKS, sizeof(unhealthy[0]));
	const char *names[N_TASKS];
	size_t n = 0, n_unhealthy = 0;

	for (size_t i = 0; i < N_TASKS; i++) {
		if (d->lists >> i & 1)
			names[n++] = tasks[i];
		if (d->unhealthy >> i & 1)
			unhealthy[n_unhealthy++] = mem_strdup(tasks[i]);
	}
	worker_take_unhealthy(w, unhealthy, n_unhealthy);
	w->sick = d->sick;
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

/* Sets all decisions anew, as is done whenever members or tasks have changed. */
static void decide(struct fleet *f, const struct draft *drafts, size_t n)
{
	for (size_t i = 0; i < f->n_members; i++)
		fleet_set_drained(f, f->by_id[i], false);
	fleet_clear_resigned(f);
	for (size_t i = 0; i < n; i++) {
		struct member *m = fleet_find(f, drafts[i].id);

		m->drained = drafts[i].drained;
		for (size_t t = 0; t < N_TASKS; t++)
			if (drafts[i].resigned >> t & 1)
				fleet_resign(f, m, t);
	}
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
	/* Something else may have been decided before. */
	for (size_t i = 0; churn && i < n; i++)
		fleet_resign(f, fleet_find(f, drafts[i].id), i % N_TASKS);
	decide(f, drafts, n);
}

/* --- who is the best, said once more ------------------------------------------------------------ */

static bool is_fit(const struct draft *d, const struct contest *c, size_t index)
{
	return d->lists >> index & 1 && !d->drained && !d->sick && !(d->unhealthy >> index & 1) &&
	       (!c->min_version || version_compare(d->version, c->min_version) >= 0) &&
	       (!c->pinned || version_compare(d->version, c->pinned) == 0);
}

/* Bit i: draft i is a candidate. Who has resigned is one only where all have. */
static unsigned candidates_of(const struct draft *drafts, size_t n, const struct contest *c,
			      size_t index)
{
	unsigned fit = 0, willing = 0;

	for (size_t i = 0; i < n; i++) {
		if (!is_fit(&drafts[i], c, index))
			continue;
		fit |= 1U << i;
		willing |= (drafts[i].resigned >> index & 1) ? 0 : 1U << i;
	}
	return willing ? willing : fit;
}

/* The candidate whose version string comes first after this one by strcmp, SIZE_MAX if none does. */
static size_t next_version(const struct draft *drafts, size_t n, unsigned candidates,
			   const char *after)
{
	size_t next = SIZE_MAX;

	for (size_t i = 0; i < n; i++)
		if (candidates >> i & 1 && (!after || strcmp(drafts[i].version, after) > 0) &&
		    (next == SIZE_MAX || strcmp(drafts[i].version, drafts[next].version) < 0))
			next = i;
	return next;
}

static int64_t rank_of(const struct draft *d, const struct contest *c)
{
	return c->rank_position >= 0 ? d->ints[c->rank_position]
				     : (int64_t)rank_score(rank_key(d->ints), c->task);
}

static bool beats(const struct draft *a, const struct draft *b, const struct contest *c)
{
	int ip = rank_compare_ip(a->ip, b->ip);

	if (rank_of(a, c) != rank_of(b, c))
		return rank_of(a, c) > rank_of(b, c);
	return ip ? ip > 0 : strcmp(a->id, b->id) > 0;
}

/* The id of the best, NULL if there is none. */
static const char *best_of(const struct draft *drafts, size_t n, const struct contest *c,
			   unsigned candidates)
{
	size_t i = next_version(drafts, n, candidates, NULL);
	const char *newest = i == SIZE_MAX ? NULL : drafts[i].version;
	const struct draft *best = NULL;

	for (; i != SIZE_MAX; i = next_version(drafts, n, candidates, drafts[i].version)) {
		int order = version_compare(drafts[i].version, newest);

		if (c->version_policy == VERSION_OLDEST ? order < 0 : order > 0)
			newest = drafts[i].version;
	}
	for (i = 0; i < n; i++)
		if (candidates >> i & 1 && version_compare(drafts[i].version, newest) == 0 &&
		    (!best || beats(&drafts[i], best, c)))
			best = &drafts[i];
	return best ? best->id : NULL;
}

/* --- what the fleets say ------------------------------------------------------------------------ */

/* A fleet's answers about a contest. */
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

/*
 * A fleet has to agree with itself: its ranking begins with the best, and each worker knows its
 * place.
 */
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

/* And it agrees with what is said here. */
static void check_said(const struct opinion *o, const struct fleet *f, const struct draft *drafts,
		       size_t n, const struct contest *c, size_t index)
{
	unsigned candidates = candidates_of(drafts, n, c, index);
	const char *best = best_of(drafts, n, c, candidates);

	FUZZ_CHECK(o->n == n);
	for (size_t i = 0; i < o->n; i++) {
		const char *id = o->ranking[i].member->worker->id;
		bool candidate = candidates >> (id[0] - 'a') & 1;

		FUZZ_CHECK(o->ranking[i].candidate == candidate);
		FUZZ_CHECK(fleet_why(f, c, index, id) ==
			   (candidate ? WHY_BEST : o->ranking[i].why));
		FUZZ_CHECK((o->standings[i].place == 0) == (best && strcmp(id, best) == 0));
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

static void check_stands(const struct standing *s, const struct standing *t)
{
	FUZZ_CHECK(s->best == t->best && s->self == t->self && s->place == t->place);
	FUZZ_CHECK(s->self_candidate == t->self_candidate && s->best_is_newer == t->best_is_newer);
}

/*
 * A tally, which looks only at members that leave and come back, has to say the same as a look at
 * the whole fleet.
 */
static void check_tally(struct fleet *f, const struct draft *drafts, size_t n,
			const struct contest *c, size_t index, size_t own)
{
	const struct member *self = fleet_find(f, drafts[own].id);
	struct standing whole = fleet_stand(f, c, index, drafts[own].id), tallied;
	struct tally t = {0};

	for (size_t i = 0; i < n && i < TALLIED; i++) {
		size_t other = (own + 1 + i) % n;
		if (other == own)
			continue;
		tallied = tally_stand(&t, f, c, index, self);
		check_stands(&whole, &tallied);
		tally_left(&t, f, c, index, fleet_find(f, drafts[other].id));
		FUZZ_CHECK(fleet_remove(f, drafts[other].id));
		whole = fleet_stand(f, c, index, drafts[own].id);
		tallied = tally_stand(&t, f, c, index, self);
		check_stands(&whole, &tallied);
		add(f, &drafts[other]);
		tally_joined(&t, f, c, index, fleet_find(f, drafts[other].id));
		whole = fleet_stand(f, c, index, drafts[own].id);
	}
	tallied = tally_stand(&t, f, c, index, self);
	check_stands(&whole, &tallied);
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
			    .rank_position = kind & 2 ? (int)(kind >> 2) % 5 : -1,
			    .version_policy = seed >> 15 ? VERSION_OLDEST : VERSION_NEWEST,
			    .pinned = seed >> 14 & 1 ? minimum : NULL};
	struct opinion first = {.only = SIZE_MAX};

	ask(&fleets[0], &c, kind >> 7, &first);
	check_alone(&first);
	check_said(&first, &fleets[0], drafts, n, &c, kind >> 7);
	for (size_t i = 1; i < ORDERS; i++) {
		struct opinion other = {.only = n > 0 ? seed % n : 0};

		ask(&fleets[i], &c, kind >> 7, &other);
		check_alike(&first, &other);
	}
	if (n > 0)
		check_tally(&fleets[0], drafts, n, &c, kind >> 7, seed % n);
	for (size_t i = 0; i < ORDERS; i++)
		fleet_done(&fleets[i]);
	free(minimum);
	return 0;
}
