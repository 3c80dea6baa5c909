#include "scale.h"

#include <stdlib.h>

#include "base/mem.h"
#include "core/rank.h"

struct member *members;
uint32_t position;
unsigned groups;
static uint32_t n_members, capacity, n_there;
static struct history {
	struct top *list;
	size_t n, capacity;
} * histories;
static struct change {
	uint32_t at;
	unsigned task;
} * changes;
static size_t n_changes, changes_capacity;

void ranking_reset(void)
{
	for (unsigned k = 0; histories && k < plan.tasks; k++)
		free(histories[k].list);
	free(histories);
	histories = mem_calloc(plan.tasks, sizeof(*histories));
	n_members = n_there = 0;
	n_changes = 0;
	position = 0;
	groups = plan.spread == 0 || plan.spread >= plan.workers ? 1 : plan.workers / plan.spread;
}

bool ranking_there(uint32_t number, uint32_t at)
{
	return members[number].joined <= at && members[number].left > at;
}

bool ranking_lists(unsigned group, unsigned task)
{
	return task % groups == group;
}

/* By version, score and number; nobody is the worst. */
static bool beats(unsigned task, uint32_t a, uint32_t b)
{
	if (a == NOBODY || b == NOBODY)
		return b == NOBODY && a != NOBODY;
	if (members[a].version != members[b].version)
		return members[a].version > members[b].version;
	uint64_t x = rank_score(members[a].key, task_name[task]);
	uint64_t y = rank_score(members[b].key, task_name[task]);
	return x != y ? x > y : a > b;
}

static struct top last_top(unsigned task)
{
	const struct history *h = &histories[task];

	return h->n > 0 ? h->list[h->n - 1] : (struct top){0, NOBODY, NOBODY};
}

static void take(unsigned task, struct top *t, uint32_t number)
{
	if (beats(task, number, t->best)) {
		t->second = t->best;
		t->best = number;
	} else if (beats(task, number, t->second)) {
		t->second = number;
	}
}

static void put(unsigned task, struct top t)
{
	struct history *h = &histories[task];

	if (h->n == h->capacity) {
		h->capacity = h->capacity ? 2 * h->capacity : 8;
		h->list = mem_resize(h->list, h->capacity, sizeof(*h->list));
	}
	t.at = position;
	h->list[h->n++] = t;
	if (n_changes == changes_capacity) {
		changes_capacity = changes_capacity ? 2 * changes_capacity : 1024;
		changes = mem_resize(changes, changes_capacity, sizeof(*changes));
	}
	changes[n_changes++] = (struct change){position, task};
	server_judge(task);
}

void ranking_join(unsigned sidecar, unsigned version, const int32_t *random_ints, int64_t session,
		  uint32_t *ret_number)
{
	if (n_members == capacity) {
		capacity = capacity ? 2 * capacity : 1024;
		members = mem_resize(members, capacity, sizeof(*members));
	}
	uint32_t number = n_members++;
	position++;
	n_there++;
	members[number] =
		(struct member){sidecar,  version, sidecar % groups, rank_key(random_ints), session,
				position, NOBODY};
	*ret_number = number;
	for (unsigned k = members[number].group; k < plan.tasks; k += groups) {
		struct top before = last_top(k), t = before;
		take(k, &t, number);
		if (t.best != before.best || t.second != before.second)
			put(k, t);
	}
}

void ranking_leave(uint32_t number)
{
	position++;
	n_there--;
	members[number].left = position;
	for (unsigned k = members[number].group; k < plan.tasks; k += groups) {
		struct top t = last_top(k);
		if (t.best != number && t.second != number)
			continue;
		t.best = t.second = NOBODY;
		for (uint32_t i = 0; i < n_members; i++)
			if (members[i].left == NOBODY && ranking_lists(members[i].group, k))
				take(k, &t, i);
		put(k, t);
	}
}

const struct top *ranking_top(unsigned task, uint32_t at)
{
	static const struct top nobody = {0, NOBODY, NOBODY};
	const struct history *h = &histories[task];
	size_t low = 0, high = h->n;

	while (low < high) {
		size_t middle = low + (high - low) / 2;
		if (h->list[middle].at <= at)
			low = middle + 1;
		else
			high = middle;
	}
	return low > 0 ? &h->list[low - 1] : &nobody;
}

unsigned ranking_new(uint32_t from, uint32_t to)
{
	unsigned n = 0;

	for (uint32_t i = n_members; i-- > 0 && members[i].joined > from;)
		n += ranking_there(i, to);
	return n;
}

unsigned ranking_count(void)
{
	return n_there;
}

size_t ranking_changes_at(uint32_t at)
{
	size_t low = 0, high = n_changes;

	while (low < high) {
		size_t middle = low + (high - low) / 2;
		if (changes[middle].at <= at)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

bool ranking_changed(uint32_t to, size_t *next, unsigned *ret_task)
{
	if (*next >= n_changes || changes[*next].at > to)
		return false;
	*ret_task = changes[(*next)++].task;
	return true;
}
