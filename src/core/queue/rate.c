#include "core/queue/rate.h"

static int64_t *count_at(struct rate *r, int64_t slice)
{
	int64_t n = (int64_t)r->n;

	return &r->counts[(slice % n + n) % n];
}

static void advance(struct rate *r, int64_t now_ms)
{
	int64_t now = now_ms / r->slice_ms, from = now - (int64_t)r->n;

	if (r->newest < from)
		r->newest = from; /* none of those before counts */
	while (r->newest < now) {
		int64_t *oldest = count_at(r, ++r->newest);
		r->used -= *oldest;
		*oldest = 0;
	}
}

void rate_set(struct rate *r, int64_t most, int64_t period_ms, int64_t now_ms)
{
	*r = (struct rate){.most = most, .period_ms = period_ms, .slice_ms = 1};
	if (period_ms > RATE_SLICES)
		r->slice_ms = (period_ms + RATE_SLICES - 1) / RATE_SLICES;
	r->n = (size_t)((period_ms + r->slice_ms - 1) / r->slice_ms) + 1;
	r->newest = now_ms / r->slice_ms;
}

static void spread(struct rate *r, int64_t used)
{
	int64_t n = (int64_t)r->n, before = 0;

	for (int64_t i = 0; i < n; i++) {
		int64_t all = ((i + 1) * used + n - 1) / n;
		*count_at(r, r->newest - i) = all - before;
		before = all;
	}
	r->used = used;
}

void rate_change(struct rate *r, int64_t most, int64_t period_ms, int64_t now_ms)
{
	int64_t left = most;

	advance(r, now_ms);
	if (r->most > 0 && r->most - r->used < left)
		left = r->most > r->used ? r->most - r->used : 0;
	rate_set(r, most, period_ms, now_ms);
	spread(r, most - left);
}

void rate_use_up(struct rate *r, int64_t now_ms)
{
	advance(r, now_ms);
	spread(r, r->most);
}

bool rate_take(struct rate *r, int64_t now_ms)
{
	if (r->most == 0)
		return true;
	advance(r, now_ms);
	if (r->used >= r->most)
		return false;
	++*count_at(r, r->newest);
	r->used++;
	return true;
}

void rate_give_back(struct rate *r)
{
	int64_t slice = r->newest;

	if (r->used == 0)
		return;
	while (*count_at(r, slice) == 0)
		slice--;
	--*count_at(r, slice);
	r->used--;
}

int64_t rate_wait_ms(const struct rate *r, int64_t now_ms)
{
	struct rate at = *r;
	int64_t n = (int64_t)at.n;

	if (at.most == 0)
		return 0;
	advance(&at, now_ms);
	for (int64_t slice = at.newest - n + 1; at.used >= at.most; slice++) {
		at.used -= *count_at(&at, slice);
		if (at.used < at.most)
			return (slice + n) * at.slice_ms - now_ms;
	}
	return 0;
}
