#include "core/fleet/draft.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "core/fleet/rank.h"

/*
 * The items in the order of a worker's preference, as far as that is worked out: the first n_known,
 * and behind them a heap of the others, by index from n_items - 1 down. A draft looks at the first
 * few only, and drafts without one of the workers look at the same ones again.
 */
struct preference {
	uint64_t *scores;
	uint16_t *items;
	size_t n_known;
};

/* A worker in its place of the order. */
struct seat {
	const struct draft_worker *worker;
	uint64_t score; /* at the name of the draft */
	size_t held;	/* items */
	size_t looked;	/* items of its preference that are gone */
};

struct table {
	const struct draft *draft;
	struct seat *seats; /* in the order of their turns */
	struct draft_set left;
	size_t n_left;
	size_t *owners;
	struct preference *preferences;	    /* of the workers; scores NULL: not computed */
	const struct draft_worker *without; /* takes nothing; NULL: none */
	size_t limit;
	bool with_resigned;
	bool limited; /* somebody could have taken more but for the limit */
	bool once;    /* most workers look for an item once, at most */
};

void draft_set_add(struct draft_set *set, size_t item)
{
	assert(item < DRAFT_ITEMS_MAX);
	set->words[item / 64] |= UINT64_C(1) << (item % 64);
}

bool draft_set_has(const struct draft_set *set, size_t item)
{
	assert(item < DRAFT_ITEMS_MAX);
	return set->words[item / 64] >> (item % 64) & 1;
}

static int compare_seats(const void *va, const void *vb)
{
	const struct seat *a = va, *b = vb;

	if (a->worker->tier != b->worker->tier)
		return a->worker->tier < b->worker->tier ? -1 : 1;
	if (a->score != b->score)
		return a->score > b->score ? -1 : 1;
	int order = rank_compare_ip(b->worker->ip, a->worker->ip);
	return order != 0 ? order : strcmp(b->worker->id, a->worker->id);
}

int draft_compare(const char *name, const struct draft_worker *a, const struct draft_worker *b)
{
	struct seat sa = {.worker = a, .score = rank_score(a->key, name)};
	struct seat sb = {.worker = b, .score = rank_score(b->key, name)};

	return compare_seats(&sa, &sb);
}

/* The items that are left and that the worker may take now. */
static struct draft_set takeable(const struct table *t, const struct draft_worker *w)
{
	struct draft_set set;

	for (size_t i = 0; i < DRAFT_WORDS; i++) {
		set.words[i] = t->left.words[i] & w->may.words[i];
		if (!t->with_resigned)
			set.words[i] &= ~w->resigned.words[i];
	}
	return set;
}

/* --- preferences ------------------------------------------------------------ */

static bool comes_first(const struct preference *p, uint16_t a, uint16_t b)
{
	return p->scores[a] != p->scores[b] ? p->scores[a] > p->scores[b] : a < b;
}

/* The item at that index of the heap. */
static uint16_t *in_heap(const struct preference *p, size_t n_items, size_t i)
{
	return &p->items[n_items - 1 - i];
}

/* Moves an item of the heap down to its place. */
static void sift(struct preference *p, size_t n_items, size_t at)
{
	size_t n = n_items - p->n_known, child;
	uint16_t item = *in_heap(p, n_items, at);

	for (; (child = 2 * at + 1) < n; at = child) {
		if (child + 1 < n &&
		    comes_first(p, *in_heap(p, n_items, child + 1), *in_heap(p, n_items, child)))
			child++;
		if (!comes_first(p, *in_heap(p, n_items, child), item))
			break;
		*in_heap(p, n_items, at) = *in_heap(p, n_items, child);
	}
	*in_heap(p, n_items, at) = item;
}

static void preference_init(struct preference *p, const struct draft *d,
			    const struct draft_worker *w)
{
	size_t n = d->n_items;

	p->scores = mem_calloc(n, sizeof(*p->scores));
	p->items = mem_calloc(n, sizeof(*p->items));
	for (size_t i = 0; i < n; i++) {
		p->scores[i] = rank_score(w->key, d->items[i]);
		p->items[i] = (uint16_t)i;
	}
	for (size_t i = n / 2; i-- > 0;)
		sift(p, n, i);
}

/* The item at that place of the order, which is at most one behind those that are known. */
static uint16_t preference_at(struct preference *p, size_t n_items, size_t place)
{
	uint16_t *top = in_heap(p, n_items, 0), first = *top;

	if (place < p->n_known)
		return p->items[place];
	/* The last item of the heap, which lies at this place, moves to the top. */
	*top = p->items[place];
	p->items[place] = first;
	p->n_known++;
	if (p->n_known < n_items)
		sift(p, n_items, 0);
	return first;
}

/* The item of the set with the worker's biggest score, without a preference worked out. */
static size_t look_once(const struct draft *d, const struct draft_worker *w,
			const struct draft_set *set)
{
	size_t best = DRAFT_NOBODY;
	uint64_t best_score = 0;

	for (size_t i = 0; i < DRAFT_WORDS; i++) {
		for (uint64_t word = set->words[i]; word; word &= word - 1) {
			size_t item = i * 64 + (size_t)__builtin_ctzll(word);
			uint64_t score = rank_score(w->key, d->items[item]);

			if (best == DRAFT_NOBODY || score > best_score) {
				best = item;
				best_score = score;
			}
		}
	}
	return best;
}

/* The first item in the worker's order that is in the set; DRAFT_NOBODY: none is. */
static size_t favourite(struct table *t, struct seat *seat, const struct draft_set *set)
{
	const struct draft *d = t->draft;
	struct preference *p = &t->preferences[seat->worker - d->workers];

	if (!p->scores && t->once && seat->held == 0)
		return look_once(d, seat->worker, set);
	if (!p->scores)
		preference_init(p, d, seat->worker);
	for (; seat->looked < d->n_items; seat->looked++) {
		size_t item = preference_at(p, d->n_items, seat->looked);
		if (draft_set_has(set, item))
			return item;
	}
	return DRAFT_NOBODY;
}

/* --- turns ------------------------------------------------------------------ */

/* Takes one turn of one worker. Returns whether the worker took something. */
static bool take(struct table *t, struct seat *seat)
{
	struct draft_set set = takeable(t, seat->worker);
	size_t item;

	if (seat->worker == t->without)
		return false;
	if (seat->held >= t->limit) {
		for (size_t i = 0; i < DRAFT_WORDS; i++)
			t->limited |= set.words[i] != 0;
		return false;
	}
	item = favourite(t, seat, &set);
	if (item == DRAFT_NOBODY)
		return false;
	t->owners[item] = (size_t)(seat->worker - t->draft->workers);
	t->left.words[item / 64] &= ~(UINT64_C(1) << (item % 64));
	t->n_left--;
	seat->held++;
	return true;
}

/* The workers of a tier take turns until nothing is left or none of them takes anything. */
static void draft_tier(struct table *t, struct seat *first, const struct seat *end)
{
	bool taken = true;

	while (taken && t->n_left > 0) {
		taken = false;
		for (struct seat *s = first; s < end && t->n_left > 0; s++)
			taken |= take(t, s);
	}
}

static void draft_tiers(struct table *t)
{
	struct seat *end = t->seats + t->draft->n_workers;

	t->limited = false;
	for (struct seat *first = t->seats, *next; first < end && t->n_left > 0; first = next) {
		for (next = first; next < end && next->worker->tier == first->worker->tier;)
			next++;
		draft_tier(t, first, next);
	}
}

/* Runs passes with a growing limit, as long as a higher one helps. */
static void draft_limits(struct table *t)
{
	const struct draft *d = t->draft;

	t->limit = d->limit > 0 && d->limit < d->n_items ? d->limit : d->n_items;
	for (; t->limit <= d->n_items && t->n_left > 0; t->limit++) {
		draft_tiers(t);
		if (!t->limited)
			break;
	}
}

static void table_init(struct table *t, const struct draft *d)
{
	assert(d->n_items <= DRAFT_ITEMS_MAX);
	*t = (struct table){.draft = d};
	t->preferences = mem_calloc(d->n_workers + 1, sizeof(*t->preferences));
	t->seats = mem_calloc(d->n_workers + 1, sizeof(*t->seats));
	for (size_t i = 0; i < d->n_workers; i++) {
		const struct draft_worker *w = &d->workers[i];
		t->seats[i] = (struct seat){.worker = w, .score = rank_score(w->key, d->name)};
	}
	qsort(t->seats, d->n_workers, sizeof(*t->seats), compare_seats);
}

static void table_done(struct table *t)
{
	for (size_t i = 0; i < t->draft->n_workers; i++) {
		free(t->preferences[i].scores);
		free(t->preferences[i].items);
	}
	free(t->preferences);
	free(t->seats);
}

/* Runs one whole draft, without that worker. */
static void deal(struct table *t, const struct draft_worker *without, size_t *owners)
{
	const struct draft *d = t->draft;

	t->without = without;
	t->owners = owners;
	t->n_left = d->n_items;
	t->with_resigned = false;
	for (size_t i = 0; i < d->n_workers; i++)
		t->seats[i].held = t->seats[i].looked = 0;
	for (size_t i = 0; i < d->n_items; i++) {
		draft_set_add(&t->left, i);
		owners[i] = DRAFT_NOBODY;
	}
	draft_limits(t);
	t->with_resigned = true;
	for (size_t i = 0; i < d->n_workers; i++)
		t->seats[i].looked = 0; /* they take now what they have resigned from, too */
	if (t->n_left > 0)
		draft_limits(t);
	memset(&t->left, 0, sizeof(t->left));
}

void draft_run(const struct draft *d, size_t *ret_owners)
{
	struct table t;

	table_init(&t, d);
	t.once = d->n_workers >= d->n_items;
	deal(&t, NULL, ret_owners);
	table_done(&t);
}

void draft_successors(const struct draft *d, const size_t *owners, size_t *ret_successors)
{
	size_t left_to[DRAFT_ITEMS_MAX];
	bool *done = mem_calloc(d->n_workers + 1, sizeof(*done));
	struct table t;

	table_init(&t, d);
	for (size_t i = 0; i < d->n_items; i++)
		ret_successors[i] = DRAFT_NOBODY;
	for (size_t i = 0; i < d->n_items; i++) {
		if (owners[i] == DRAFT_NOBODY || done[owners[i]])
			continue;
		done[owners[i]] = true;
		deal(&t, &d->workers[owners[i]], left_to);
		for (size_t j = i; j < d->n_items; j++)
			if (owners[j] == owners[i])
				ret_successors[j] = left_to[j];
	}
	table_done(&t);
	free(done);
}
