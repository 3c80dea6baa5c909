#include "explore.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/mem.h"

#define PACKED_SIZE 256

/* A state met: its two hashes, how it was reached, and in how many ways. */
struct entry {
	uint64_t hash, check;
	double ways;
	uint32_t parent;
	uint32_t level;
	unsigned event;
};

static struct {
	const struct explore *x;
	struct entry *entries;
	size_t n, capacity;
	uint32_t *table; /* of entry number + 1, open addressing */
	size_t mask;
	uint8_t *states; /* of the present level and the next */
	uint32_t parent; /* for a message if the core aborts */
	unsigned event;
} s;

static uint64_t hash_bytes(const uint8_t *bytes, size_t n, uint64_t h)
{
	for (size_t i = 0; i < n; i++) {
		h = (h ^ bytes[i]) * UINT64_C(0x100000001b3);
		h ^= h >> 29;
	}
	h *= UINT64_C(0xbf58476d1ce4e5b9);
	return h ^ h >> 32;
}

static void print_way(uint32_t entry, unsigned last)
{
	unsigned events[256];
	size_t n = 0;

	events[n++] = last;
	for (uint32_t at = entry; at != 0 && n < 256; at = s.entries[at].parent)
		events[n++] = s.entries[at].event;
	while (n > 0)
		fprintf(stderr, "  %s\n", s.x->event_name(events[--n]));
}

static void on_abort(int number)
{
	(void)number;
	fprintf(stderr, "model %s: the core aborted after\n", s.x->name);
	print_way(s.parent, s.event);
	_exit(1);
}

static void grow(void)
{
	s.capacity = s.capacity ? 2 * s.capacity : 65536;
	s.entries = mem_resize(s.entries, s.capacity, sizeof(*s.entries));
	free(s.table);
	s.mask = 4 * s.capacity - 1;
	s.table = mem_calloc(s.mask + 1, sizeof(*s.table));
	for (size_t i = 0; i < s.n; i++) {
		size_t at = s.entries[i].hash & s.mask;
		while (s.table[at])
			at = (at + 1) & s.mask;
		s.table[at] = (uint32_t)i + 1;
	}
}

/* Whether the state is new; *ret_entry is its number in either case. */
static bool meet(const void *state, uint32_t *ret_entry)
{
	uint8_t bytes[PACKED_SIZE];
	size_t n = s.x->pack(state, bytes);
	uint64_t hash = hash_bytes(bytes, n, UINT64_C(0xcbf29ce484222325));
	uint64_t check = hash_bytes(bytes, n, UINT64_C(0x9e3779b97f4a7c15));

	if (s.n == s.capacity)
		grow();
	size_t at = hash & s.mask;
	for (; s.table[at]; at = (at + 1) & s.mask) {
		struct entry *e = &s.entries[s.table[at] - 1];
		if (e->hash == hash && e->check == check) {
			*ret_entry = s.table[at] - 1;
			return false;
		}
	}
	s.table[at] = (uint32_t)s.n + 1;
	*ret_entry = (uint32_t)s.n;
	s.entries[s.n++] = (struct entry){.hash = hash, .check = check};
	return true;
}

struct level {
	uint8_t *states;
	uint32_t *entries;
	size_t n, capacity;
};

static void level_add(struct level *l, const void *state, uint32_t entry)
{
	if (l->n == l->capacity) {
		l->capacity = l->capacity ? 2 * l->capacity : 1024;
		l->states = mem_resize(l->states, l->capacity, s.x->state_size);
		l->entries = mem_resize(l->entries, l->capacity, sizeof(*l->entries));
	}
	memcpy(l->states + l->n * s.x->state_size, state, s.x->state_size);
	l->entries[l->n++] = entry;
}

static bool is_wrong(void *state, uint32_t parent, unsigned event)
{
	const char *fault = s.x->check(state);

	if (!fault)
		return false;
	fprintf(stderr, "model %s: %s, after\n", s.x->name, fault);
	print_way(parent, event);
	return true;
}

/* All that can follow from one state; false if something is wrong with it. */
static bool expand(const void *state, uint32_t parent, unsigned depth, struct level *next,
		   uint64_t *transitions)
{
	_Alignas(16) uint8_t copy[4096];

	for (unsigned event = 0; event < s.x->n_events; event++) {
		uint32_t entry;
		memcpy(copy, state, s.x->state_size);
		s.parent = parent;
		s.event = event;
		if (!s.x->apply(copy, event))
			continue;
		++*transitions;
		bool is_new = meet(copy, &entry);
		struct entry *e = &s.entries[entry];
		if (is_new) {
			e->parent = parent;
			e->event = event;
			e->level = depth;
			level_add(next, copy, entry);
		}
		if (e->level == depth)
			e->ways += s.entries[parent].ways;
		if (is_new && is_wrong(copy, parent, event))
			return false;
	}
	return true;
}

bool explore(const struct explore *x, struct explored *ret_explored)
{
	_Alignas(16) uint8_t first[4096];
	struct level now = {0}, next = {0};
	struct explored result = {0};
	uint32_t entry;
	bool ok = true;

	memset(&s, 0, sizeof(s));
	s.x = x;
	signal(SIGABRT, on_abort);
	memset(first, 0, sizeof(first));
	x->init(first);
	meet(first, &entry);
	s.entries[0].ways = 1;
	level_add(&now, first, 0);
	while (ok && now.n > 0 && result.depth < x->depth && s.n < x->max_states) {
		next.n = 0;
		for (size_t i = 0; ok && i < now.n; i++)
			ok = expand(now.states + i * x->state_size, now.entries[i],
				    result.depth + 1, &next, &result.transitions);
		struct level swap = now;
		now = next;
		next = swap;
		result.depth++;
	}
	for (size_t i = 0; i < s.n; i++)
		result.sequences += s.entries[i].ways;
	result.states = s.n;
	*ret_explored = result;
	free(now.states);
	free(now.entries);
	free(next.states);
	free(next.entries);
	free(s.entries);
	free(s.table);
	signal(SIGABRT, SIG_DFL);
	return ok;
}
