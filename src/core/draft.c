#include "core/draft.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "core/rank.h"

/* A worker in its place of the order. */
struct seat {
	const struct draft_worker *worker;
	uint64_t score; /* at the name of the draft */
	size_t held;	/* items */
};

struct table {
	const struct draft *draft;
	struct seat *seats; /* in the order of their turns */
	struct draft_set left;
	size_t n_left;
	size_t *owners;
	size_t limit;
	bool with_resigned;
	bool limited; /* somebody could have taken more but for the limit */
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

/* The item of the set with the worker's biggest score, DRAFT_NOBODY if the set is empty. */
static size_t favourite(const struct draft *d, const struct draft_worker *w,
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

/* One turn of one worker; whether it took something. */
static bool take(struct table *t, struct seat *seat)
{
	struct draft_set set = takeable(t, seat->worker);
	size_t item;

	if (seat->held >= t->limit) {
		for (size_t i = 0; i < DRAFT_WORDS; i++)
			t->limited |= set.words[i] != 0;
		return false;
	}
	item = favourite(t->draft, seat->worker, &set);
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

/* All limits, while a higher one helps. */
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

void draft_run(const struct draft *d, size_t *ret_owners)
{
	struct table t = {.draft = d, .owners = ret_owners, .n_left = d->n_items};

	assert(d->n_items <= DRAFT_ITEMS_MAX);
	t.seats = mem_calloc(d->n_workers + 1, sizeof(*t.seats));
	for (size_t i = 0; i < d->n_workers; i++) {
		const struct draft_worker *w = &d->workers[i];
		t.seats[i] = (struct seat){.worker = w, .score = rank_score(w->key, d->name)};
	}
	qsort(t.seats, d->n_workers, sizeof(*t.seats), compare_seats);
	for (size_t i = 0; i < d->n_items; i++) {
		draft_set_add(&t.left, i);
		ret_owners[i] = DRAFT_NOBODY;
	}
	draft_limits(&t);
	t.with_resigned = true;
	if (t.n_left > 0)
		draft_limits(&t);
	free(t.seats);
}
