#include "core/queue/assign.h"

static bool has_room(const struct assign_worker *w)
{
	return w->running < w->slots;
}

/* Whether a has the smaller part of its slots in use. */
static bool is_less_loaded(const struct assign_worker *a, const struct assign_worker *b)
{
	return (uint64_t)a->running * b->slots < (uint64_t)b->running * a->slots;
}

static size_t pick_random(const struct assign_worker *workers, size_t n, uint32_t draw)
{
	size_t rooms = 0;

	for (size_t i = 0; i < n; i++)
		rooms += has_room(&workers[i]);
	if (rooms == 0)
		return ASSIGN_NOBODY;
	rooms = draw % rooms;
	for (size_t i = 0; i < n; i++)
		if (has_room(&workers[i]) && rooms-- == 0)
			return i;
	return ASSIGN_NOBODY;
}

size_t assign_pick(enum queue_assign how, const struct assign_worker *workers, size_t n,
		   size_t *cursor, uint32_t draw)
{
	size_t best = ASSIGN_NOBODY;

	if (how == QUEUE_ASSIGN_RANDOM)
		return pick_random(workers, n, draw);
	for (size_t k = 1; k <= n; k++) {
		size_t i = (*cursor % n + k) % n;
		if (!has_room(&workers[i]))
			continue;
		if (best == ASSIGN_NOBODY || is_less_loaded(&workers[i], &workers[best]))
			best = i;
		if (how == QUEUE_ASSIGN_ROUND_ROBIN)
			break;
	}
	if (best != ASSIGN_NOBODY)
		*cursor = best;
	return best;
}
