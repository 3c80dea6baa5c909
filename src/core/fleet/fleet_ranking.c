#include "core/fleet/fleet_ranking.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "core/fleet/fleet.h"
#include "core/fleet/fleet_draft.h"
#include "core/fleet/rank.h"
#include "core/fleet/version.h"

#define LEVELS 4 /* number of levels of fleet_level() */

/* The candidates of a contest, in the order of by_version: equal version strings are neighbours. */
struct pool {
	const struct member *list[FLEET_MEMBERS_MAX];
	size_t n;
	bool orderly; /* the fleet's versions are, and so grades tell them apart */
};

enum why fleet_version_fitness(const char *version, const struct contest *c)
{
	if (c->min_version && version_compare(version, c->min_version) < 0)
		return WHY_BELOW_MINIMUM;
	if (c->pinned && version_compare(version, c->pinned) != 0)
		return WHY_NOT_PINNED;
	return WHY_BEST;
}

/*
 * Whether the worker takes part in the draft of the task's partitions or group, or in none as we
 * do.
 */
static bool is_drafted_alike(const struct member *m, const struct contest *c, const char *listed)
{
	const char *group;

	if ((m->splits ? worker_partitions(m->worker, listed) : 0) != c->partitions)
		return false;
	if (!c->draft || c->partitions > 0)
		return true;
	group = worker_group(m->worker, listed);
	return group && strcmp(group, c->draft) == 0;
}

enum why fleet_member_fitness(const struct member *m, const struct contest *c, size_t index)
{
	const char *listed = c->listed ? c->listed : c->task;

	if (!fleet_lists(m, index) || !is_drafted_alike(m, c, listed))
		return WHY_NOT_LISTED;
	if (m->drained)
		return WHY_DRAINED;
	if (m->unwell && worker_is_unhealthy(m->worker, listed))
		return WHY_UNHEALTHY;
	return WHY_BEST;
}

enum why fleet_fitness(const struct member *m, const struct contest *c, size_t index)
{
	enum why why = fleet_member_fitness(m, c, index);

	return why == WHY_BEST ? fleet_version_fitness(m->worker->version, c) : why;
}

/* Why the member is refused if the candidates are those of that level. */
static enum why refusal(const struct member *m, const struct contest *c, size_t index,
			unsigned level)
{
	enum why why = fleet_fitness(m, c, index);

	if (why != WHY_BEST || fleet_level(m, index) == level)
		return why;
	return m->clock_off ? WHY_CLOCK_OFF : WHY_RESIGNED;
}

static void pool_collect(struct pool *p, const struct fleet *f, const struct contest *c,
			 size_t index, unsigned level)
{
	const char *version = NULL; /* the last that was looked at */
	bool any = !c->min_version && !c->pinned, good = true;

	p->n = 0;
	p->orderly = f->orderly;
	for (size_t i = 0; i < f->n_members; i++) {
		const struct member *m = f->by_version[i];
		if (fleet_member_fitness(m, c, index) != WHY_BEST || fleet_level(m, index) != level)
			continue;
		if (!any && (!version || strcmp(version, m->worker->version) != 0)) {
			version = m->worker->version;
			good = fleet_version_fitness(version, c) == WHY_BEST;
		}
		if (good)
			p->list[p->n++] = m;
	}
}

/* The candidates; returns their level: there is none of a lower one. */
static unsigned pool_fill(struct pool *p, const struct fleet *f, const struct contest *c,
			  size_t index)
{
	unsigned level = 0;

	assert(index < f->n_tasks && c->rank_position < WORKER_RANDOM_INTS);
	pool_collect(p, f, c, index, level);
	while (p->n == 0 && level < LEVELS - 1)
		pool_collect(p, f, c, index, ++level);
	return level;
}

int fleet_compare_versions(const struct contest *c, const char *a, const char *b)
{
	switch (c->version_policy) {
	case VERSION_NEWEST: return version_compare(a, b);
	case VERSION_OLDEST: return version_compare(b, a);
	case VERSION_ANY: break;
	}
	return 0;
}

/* The end of the run of neighbours that have the version of the one at `first`. */
static size_t run_end(const struct pool *p, size_t first)
{
	size_t end = first + 1;
	const struct member *m = p->list[first];

	while (end < p->n &&
	       (p->orderly ? p->list[end]->grade == m->grade
			   : !strcmp(p->list[end]->worker->version, m->worker->version)))
		end++;
	return end;
}

/*
 * Names one of the newest versions, by the set of versions alone. As the order of versions is not
 * transitive, there may be no single newest one. The pool may not be empty.
 */
static const char *pool_newest(const struct pool *p, const struct contest *c)
{
	const char *newest = p->list[0]->worker->version;

	for (size_t i = run_end(p, 0); i < p->n; i = run_end(p, i)) {
		if (fleet_compare_versions(c, p->list[i]->worker->version, newest) > 0)
			newest = p->list[i]->worker->version;
	}
	return newest;
}

struct ranked fleet_rank_member(const struct member *m, const struct contest *c)
{
	struct ranked r = {.member = m};

	if (c->rank_position >= 0)
		r.rank = (uint64_t)(int64_t)m->worker->random_ints[c->rank_position];
	else
		r.rank = rank_score(m->key, c->task);
	return r;
}

/*
 * Compares by rank, ip and id: >0 if a is the better. A score has 53 bits, so both kinds of rank
 * fit int64_t.
 */
int fleet_compare_ranked(const struct ranked *a, const struct ranked *b)
{
	if (a->rank != b->rank)
		return (int64_t)a->rank > (int64_t)b->rank ? 1 : -1;

	int order = rank_compare_ip(a->member->worker->ip, b->member->worker->ip);
	return order ? order : strcmp(a->member->worker->id, b->member->worker->id);
}

struct standing fleet_stand_ranked(const struct fleet *f, const struct contest *c, size_t index,
				   const char *self_id)
{
	struct standing s = {.self = fleet_find(f, self_id), .place = SIZE_MAX};
	struct ranked best = {.member = NULL};
	struct ranked self = {.member = NULL};
	size_t ahead = 0;
	struct pool p;

	unsigned level = pool_fill(&p, f, c, index);
	if (p.n == 0)
		return s;
	if (s.self && refusal(s.self, c, index, level) == WHY_BEST) {
		s.self_candidate = true;
		self = fleet_rank_member(s.self, c);
	}

	const char *newest = pool_newest(&p, c);
	for (size_t i = 0, end; i < p.n; i = end) {
		const char *version = p.list[i]->worker->version;
		bool first_tier =
			version == newest || fleet_compare_versions(c, version, newest) == 0;
		int to_self = self.member ? fleet_compare_versions(c, version,
								   self.member->worker->version)
					  : -1;

		end = run_end(&p, i);
		if (to_self > 0)
			ahead += end - i;
		if (!first_tier && to_self != 0)
			continue;
		for (size_t j = i; j < end; j++) {
			struct ranked r = fleet_rank_member(p.list[j], c);
			if (first_tier && (!best.member || fleet_compare_ranked(&r, &best) > 0))
				best = r;
			if (to_self == 0 && r.member != self.member &&
			    fleet_compare_ranked(&r, &self) > 0)
				ahead++;
		}
	}

	s.best = best.member;
	assert(s.best); /* there is a candidate */
	s.best_is_newer = s.self && fleet_compare_versions(c, s.best->worker->version,
							   s.self->worker->version) > 0;
	if (s.self_candidate)
		s.place = s.best == s.self ? 0 : ahead > 0 ? ahead : 1;
	return s;
}

struct standing fleet_stand(const struct fleet *f, const struct contest *c, size_t index,
			    const char *self_id)
{
	struct standing s = fleet_stand_ranked(f, c, index, self_id);

	if (c->draft)
		fleet_draft_stand(f, c, index, &s);
	return s;
}

/* Best first; no two are equal, as ids differ. */
static int compare_for_sort(const void *a, const void *b)
{
	return fleet_compare_ranked(b, a);
}

/* Moves the candidates of the best tier out of the pool; returns how many there are. */
static size_t take_tier(struct pool *p, const struct contest *c, struct ranked *ret_ranked)
{
	const char *newest = pool_newest(p, c);
	size_t taken = 0, kept = 0;

	for (size_t i = 0, end; i < p->n; i = end) {
		const char *version = p->list[i]->worker->version;
		bool in_tier = version == newest || fleet_compare_versions(c, version, newest) == 0;

		end = run_end(p, i);
		for (size_t j = i; j < end; j++) {
			if (in_tier)
				ret_ranked[taken++] = fleet_rank_member(p->list[j], c);
			else
				p->list[kept++] = p->list[j];
		}
	}
	p->n = kept;
	qsort(ret_ranked, taken, sizeof(ret_ranked[0]), compare_for_sort);
	return taken;
}

static enum why why_behind(const struct ranked *r, const struct ranked *before)
{
	if (r->rank != before->rank)
		return WHY_LOWER_RANK;
	if (rank_compare_ip(r->member->worker->ip, before->member->worker->ip) != 0)
		return WHY_LOWER_IP;
	return WHY_LOWER_ID;
}

/* Puts the member first that is drafted, and says anew what the others lack beside it. */
static void put_drafted_first(const struct fleet *f, const struct contest *c, size_t index,
			      struct ranked *list, size_t n)
{
	const struct member *owner = fleet_draft_owner(f, index);
	struct ranked first;
	size_t at = 0;

	while (at < n && list[at].member != owner)
		at++;
	if (at == n)
		return; /* nobody */
	first = list[at];
	first.candidate = true;
	first.why = WHY_BEST;
	memmove(list + 1, list, at * sizeof(*list));
	list[0] = first;
	for (size_t i = 1; i < n && list[i].candidate; i++)
		list[i].why = fleet_compare_versions(c, owner->worker->version,
						     list[i].member->worker->version) > 0
				      ? WHY_WORSE_VERSION
				      : WHY_NOT_DRAFTED;
}

size_t fleet_rank(const struct fleet *f, const struct contest *c, size_t index,
		  struct ranked *ret_ranked)
{
	struct pool p;
	size_t n = 0;

	unsigned level = pool_fill(&p, f, c, index);
	while (p.n > 0) {
		size_t tier = n;
		n += take_tier(&p, c, ret_ranked + tier);
		for (size_t i = tier; i < n; i++) {
			ret_ranked[i].candidate = true;
			if (tier > 0)
				ret_ranked[i].why = WHY_WORSE_VERSION;
			else if (i > 0)
				ret_ranked[i].why = why_behind(&ret_ranked[i], &ret_ranked[i - 1]);
			else
				ret_ranked[i].why = WHY_BEST;
		}
	}

	for (size_t i = 0; i < f->n_members; i++) {
		const struct member *m = f->by_id[i];
		enum why why = refusal(m, c, index, level);
		if (why == WHY_BEST)
			continue;
		ret_ranked[n] = fleet_rank_member(m, c);
		ret_ranked[n++].why = why;
	}
	assert(n == f->n_members);
	if (c->draft)
		put_drafted_first(f, c, index, ret_ranked, n);
	return n;
}

enum why fleet_why(const struct fleet *f, const struct contest *c, size_t index, const char *id)
{
	const struct member *m = fleet_find(f, id);
	struct pool p;

	return m ? refusal(m, c, index, pool_fill(&p, f, c, index)) : WHY_BEST;
}
