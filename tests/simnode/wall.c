#include "wall.h"

#include <stdlib.h>

#include "base/mem.h"
#include "core/time/skew.h"
#include "server.h"
#include "site.h"

#define MINUTE_MS 60000
#define NEAR_MIN  5
#define DAY_MIN	  1440

int64_t wall_draw(void)
{
	int64_t minutes = random_chance(800) ? random_range(-NEAR_MIN, NEAR_MIN)
					     : random_range(-DAY_MIN, DAY_MIN);

	/* Those of an older release do not know whose clock is off: then there is no one best. */
	if (random_chance(400) || sites_are_mixed())
		return 0;
	return minutes * MINUTE_MS + random_range(-1000, 1000);
}

int64_t wall_round(int64_t wall_ms)
{
	return wall_ms / MINUTE_MS * MINUTE_MS + wall_ms % 1000;
}

bool wall_is_near(int64_t wall_ms)
{
	return llabs(wall_ms) < (NEAR_MIN + 1) * MINUTE_MS;
}

/* By how much its clock is ahead of that of the leader of the servers; else what it has published. */
static int64_t offset_of(const struct member *m)
{
	int leader = servers_leader();

	for (unsigned i = 0; i < sim.n_hosts && leader >= 0; i++)
		if (sites[i].running && sites[i].node.session.id == m->session)
			return sites[i].machine->wall_ms - servers[leader].wall_ms;
	return m->worker->clock_offset_ms;
}

static struct skew_clock *list_true(const struct fleet *f)
{
	struct skew_clock *list = mem_calloc(f->n_members + 1, sizeof(*list));

	for (size_t i = 0; i < f->n_members; i++) {
		const struct worker *w = f->by_id[i]->worker;
		list[i] = (struct skew_clock){.machine = w->machine,
					      .host = w->hostname,
					      .tolerance_ms = w->clock_tolerance_ms,
					      .offset_ms = offset_of(f->by_id[i])};
	}
	return list;
}

bool wall_judge(struct fleet *f)
{
	bool changed = false;
	struct skew_clock *list = list_true(f);
	bool *off = mem_calloc(f->n_members + 1, sizeof(*off));

	skew_judge(list, f->n_members, off);
	for (size_t i = 0; i < f->n_members; i++) {
		changed |= f->by_id[i]->clock_off != off[i];
		fleet_set_clock_off(f, f->by_id[i], off[i]);
	}
	free(list);
	free(off);
	return changed;
}

bool wall_is_known(const struct fleet *f)
{
	for (size_t i = 0; i < f->n_members; i++) {
		const struct worker *w = f->by_id[i]->worker;
		if (w->clock_tolerance_ms == 0) /* it publishes nothing: of an older release */
			continue;
		if (llabs(w->clock_offset_ms - offset_of(f->by_id[i])) > w->clock_tolerance_ms / 2)
			return false;
	}
	return true;
}

static int by_value(const void *a, const void *b)
{
	int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;

	return (x > y) - (x < y);
}

/* The lower one of the middle, the server's among them. Without skew_jobs(), which may be planted. */
static int64_t middle(const struct skew_clock *list, size_t n, int64_t tolerance_ms)
{
	int64_t *offsets = mem_calloc(n + 1, sizeof(*offsets)), offset_ms;
	size_t all = 1;

	for (size_t i = 0; i < n; i++)
		if (list[i].tolerance_ms > 0)
			offsets[all++] = list[i].offset_ms;
	qsort(offsets, all, sizeof(*offsets), by_value);
	offset_ms = offsets[(all - 1) / 2];
	free(offsets);
	return llabs(offset_ms) > tolerance_ms ? offset_ms : 0;
}

/* Whether so many say that offset that it stays, though one comes or goes. */
static bool is_settled(const struct skew_clock *list, size_t n, int64_t offset_ms,
		       int64_t tolerance_ms)
{
	size_t agree = llabs(offset_ms) <= tolerance_ms, all = 1; /* the server */

	for (size_t i = 0; i < n; i++) {
		all += list[i].tolerance_ms > 0;
		agree += list[i].tolerance_ms > 0 &&
			 llabs(list[i].offset_ms - offset_ms) <= tolerance_ms;
	}
	return 2 * agree >= all + 2;
}

bool wall_jobs(const struct site *s, int64_t *ret_ms)
{
	const struct fleet *f = &s->node.registry.fleet;
	const struct clocks *c = &s->node.registry.clocks;
	int64_t now = host_now_ms(machine_host(s->machine));
	int leader = servers_leader();

	if (leader < 0 || !registry_self(&s->node.registry) || !wall_is_known(f) ||
	    now < c->skew.settled_ms || now < c->jobs_settled_ms)
		return false;
	struct skew_clock *list = list_true(f);
	int64_t offset_ms = middle(list, f->n_members, c->tolerance_ms);
	bool settled = is_settled(list, f->n_members, offset_ms, c->tolerance_ms);
	*ret_ms = EPOCH_MS + sim.now / MS + servers[leader].wall_ms + offset_ms;
	free(list);
	return settled;
}
