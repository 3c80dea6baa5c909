#include "core/time/skew.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/sort.h"

static int64_t step_of(int64_t tolerance_ms)
{
	return tolerance_ms / SKEW_STEP_PART;
}

static int64_t distance(int64_t a, int64_t b)
{
	return a > b ? a - b : b - a;
}

bool skew_heard(struct skew *s, int64_t sent_ms, int64_t heard_ms, int64_t server_ms,
		int64_t tolerance_ms)
{
	int64_t error_ms = (heard_ms - sent_ms + 1) / 2;
	int64_t base_ms = server_ms - sent_ms - error_ms;
	int64_t step_ms = step_of(tolerance_ms);
	bool same = s->known && distance(base_ms, s->base_ms) <= error_ms + s->error_ms + step_ms;
	bool jumped = s->known && !same;

	/* A slow answer, as after a pause of the connection or of this process, is less exact. */
	if (same && error_ms > s->error_ms + step_ms)
		return false;
	if (jumped)
		s->settled_ms = heard_ms + SKEW_SETTLE_MS;
	s->known = true;
	s->base_ms = base_ms;
	s->error_ms = error_ms;
	return jumped;
}

int64_t skew_server(const struct skew *s, int64_t boot_ms)
{
	return s->base_ms + boot_ms;
}

int64_t skew_offset(const struct skew *s, int64_t boot_ms, int64_t wall_ms, int64_t published_ms,
		    int64_t tolerance_ms)
{
	if (!s->known)
		return published_ms;
	int64_t offset_ms = wall_ms - skew_server(s, boot_ms);

	return distance(offset_ms, published_ms) > step_of(tolerance_ms) + s->error_ms
		       ? offset_ms
		       : published_ms;
}

/* --- the vote -------------------------------------------------------------------------------- */

static int compare_hosts(const struct skew_clock *x, const struct skew_clock *y)
{
	int order = strcmp(x->machine, y->machine);

	return order ? order : strcmp(x->host, y->host);
}

static int by_host(const void *a, const void *b)
{
	const struct skew_clock *x = a, *y = b;
	int order = compare_hosts(x, y);

	return order ? order : (x->offset_ms > y->offset_ms) - (x->offset_ms < y->offset_ms);
}

static int by_offset(const void *a, const void *b)
{
	int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;

	return (x > y) - (x < y);
}

/* The number of sorted offsets below the limit. */
static size_t count_below(const int64_t *sorted, size_t n, int64_t limit)
{
	return sort_place(&limit, sorted, n, sizeof(*sorted), by_offset);
}

/* The sorted offsets: one for each group of agreeing clocks of a host. */
struct votes {
	int64_t *offsets;
	size_t n;
};

/* Whether two workers have the same clock: they are on one host, and their offsets agree. */
static bool is_same(const struct skew_clock *last, const struct skew_clock *c)
{
	return c->machine[0] != '\0' && compare_hosts(last, c) == 0 &&
	       c->offset_ms - last->offset_ms <= c->tolerance_ms;
}

static struct votes collect_votes(const struct skew_clock *clocks, size_t n)
{
	struct votes v = {.offsets = mem_calloc(n + 1, sizeof(*v.offsets))};
	struct skew_clock *list = mem_calloc(n + 1, sizeof(*list));
	const struct skew_clock *last = NULL;
	size_t all = 0;

	for (size_t i = 0; i < n; i++)
		if (clocks[i].tolerance_ms > 0)
			list[all++] = clocks[i];
	qsort(list, all, sizeof(*list), by_host);
	for (size_t i = 0; i < all; i++) {
		if (last && is_same(last, &list[i]))
			continue;
		last = &list[i];
		v.offsets[v.n++] = last->offset_ms;
	}
	free(list);
	qsort(v.offsets, v.n, sizeof(*v.offsets), by_offset);
	return v;
}

static bool is_outvoted(const struct votes *v, const struct skew_clock *c)
{
	int64_t least = c->offset_ms - c->tolerance_ms, most = c->offset_ms + c->tolerance_ms;
	size_t agree =
		count_below(v->offsets, v->n, most + 1) - count_below(v->offsets, v->n, least);
	size_t differ = v->n - agree;

	assert(agree > 0); /* its own clock is one of them */
	return differ > agree - 1;
}

static bool differs_from_server(const struct skew_clock *c)
{
	return c->tolerance_ms > 0 && distance(c->offset_ms, 0) > c->tolerance_ms;
}

size_t skew_judge(const struct skew_clock *clocks, size_t n, bool *ret_off)
{
	size_t n_off = 0, differ = 0;

	for (size_t i = 0; i < n; i++) {
		ret_off[i] = false;
		differ += differs_from_server(&clocks[i]);
	}
	if (differ == 0)
		return 0;
	struct votes v = collect_votes(clocks, n);
	for (size_t i = 0; i < n; i++) {
		ret_off[i] = differs_from_server(&clocks[i]) && is_outvoted(&v, &clocks[i]);
		n_off += ret_off[i];
	}
	free(v.offsets);
	return n_off;
}

int64_t skew_jobs(const struct skew_clock *clocks, size_t n, int64_t tolerance_ms)
{
	struct votes v = collect_votes(clocks, n);
	int64_t middle;

	v.offsets[v.n++] = 0; /* the server's */
	qsort(v.offsets, v.n, sizeof(*v.offsets), by_offset);
	middle = v.offsets[(v.n - 1) / 2];
	free(v.offsets);
	return distance(middle, 0) > tolerance_ms ? middle : 0;
}
