#include "core/fleet/fleet_draft.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "core/fleet/draft.h"
#include "core/fleet/rank.h"

#define NEXT_COST_MAX 250000 /* items that drafts assign: some 15 ms */

/* A version in the fleet, and for which items it is good. */
struct grade {
	const char *version;
	struct draft_set good;
	bool wanted; /* a candidate has it */
	unsigned tier;
};

/* The input of a draft: the candidates and their versions. */
struct pool {
	const struct fleet *fleet;
	struct fleet_draft *draft;
	struct draft_worker *workers;
	const struct member **members; /* members of the workers */
	size_t *grades;		       /* grades of the workers */
	size_t n;
	struct grade *versions;
	size_t n_versions;
	const char *names[DRAFT_ITEMS_MAX]; /* names of the items */
};

static const struct contest *contest_of(const struct pool *p, size_t item)
{
	return p->fleet->contests[p->draft->indexes[item]];
}

/* --- working it out ------------------------------------------------------- */

static struct draft_set good_items(const struct pool *p, const char *version)
{
	struct draft_set set = {.words = {0}};

	for (size_t i = 0; i < p->draft->n; i++)
		if (fleet_version_fitness(version, contest_of(p, i)) == WHY_BEST)
			draft_set_add(&set, i);
	return set;
}

/* Items that the member may take, whatever its version. All partitions of a task are alike. */
static struct draft_set fit_items(const struct pool *p, const struct member *m)
{
	struct draft_set set = {.words = {0}};

	for (size_t i = 0; i < p->draft->n; i++) {
		if (fleet_member_fitness(m, contest_of(p, i), p->draft->indexes[i]) == WHY_BEST)
			draft_set_add(&set, i);
		else if (p->draft->partitioned)
			break;
		if (!p->draft->partitioned)
			continue;
		for (size_t j = 1; j < p->draft->n; j++)
			draft_set_add(&set, j);
		break;
	}
	return set;
}

/* A member whose clock is off takes only what nobody else may, as if it had resigned from all. */
static struct draft_set resigned_items(const struct pool *p, const struct member *m)
{
	struct draft_set set = {.words = {0}};

	for (size_t i = 0; (m->clock_off || m->resigned) && i < p->draft->n; i++)
		if (m->clock_off || fleet_has_resigned(m, p->draft->indexes[i]))
			draft_set_add(&set, i);
	return set;
}

static bool is_empty(const struct draft_set *set)
{
	for (size_t i = 0; i < DRAFT_WORDS; i++)
		if (set->words[i])
			return false;
	return true;
}

static void add_candidate(struct pool *p, const struct member *m)
{
	struct grade *grade = &p->versions[p->n_versions - 1];
	struct draft_set may = fit_items(p, m);

	for (size_t i = 0; i < DRAFT_WORDS; i++)
		may.words[i] &= grade->good.words[i];
	if (is_empty(&may))
		return;
	grade->wanted = true;
	p->workers[p->n] = (struct draft_worker){.key = m->key,
						 .ip = m->worker->ip,
						 .id = m->worker->id,
						 .may = may,
						 .resigned = resigned_items(p, m)};
	p->members[p->n] = m;
	p->grades[p->n++] = p->n_versions - 1;
}

static void collect(struct pool *p)
{
	const struct fleet *f = p->fleet;

	p->workers = mem_calloc(f->n_members + 1, sizeof(*p->workers));
	p->members = mem_calloc(f->n_members + 1, sizeof(*p->members));
	p->grades = mem_calloc(f->n_members + 1, sizeof(*p->grades));
	p->versions = mem_calloc(f->n_members + 1, sizeof(*p->versions));
	for (size_t i = 0; i < f->n_members; i++) {
		const char *version = f->by_version[i]->worker->version;
		if (i == 0 || strcmp(version, f->by_version[i - 1]->worker->version) != 0)
			p->versions[p->n_versions++] =
				(struct grade){.version = version, .good = good_items(p, version)};
		add_candidate(p, f->by_version[i]);
	}
}

/* The newest of those that are left is the next tier, with all that equal it: see fleet_stand(). */
static unsigned set_tiers(struct pool *p)
{
	const struct contest *c = contest_of(p, 0);
	unsigned tier = 0;

	for (;; tier++) {
		const char *newest = NULL;
		for (size_t i = 0; i < p->n_versions; i++) {
			const struct grade *g = &p->versions[i];
			if (g->wanted &&
			    (!newest || fleet_compare_versions(c, g->version, newest) > 0))
				newest = g->version;
		}
		if (!newest)
			return tier;
		for (size_t i = 0; i < p->n_versions; i++) {
			struct grade *g = &p->versions[i];
			if (g->wanted && fleet_compare_versions(c, g->version, newest) == 0) {
				g->wanted = false;
				g->tier = tier;
			}
		}
	}
}

/* Whether all owners but those in better tiers have one item, and nothing kept them from more. */
static bool is_settled(const struct pool *p, const size_t *owners, size_t last)
{
	size_t *held = mem_calloc(p->n + 1, sizeof(*held));
	size_t limit = p->draft->limit > 0 ? p->draft->limit : SIZE_MAX;
	bool settled = true;

	for (size_t i = 0; i < p->draft->n; i++) {
		const struct draft_worker *w = &p->workers[owners[i]];
		held[owners[i]]++;
		settled &= held[owners[i]] <= limit && !draft_set_has(&w->resigned, i);
		settled &= held[owners[i]] == 1 || w->tier != p->workers[last].tier;
	}
	free(held);
	return settled;
}

/* The member that took the last item: see struct fleet_draft. */
static const struct member *find_last(const struct pool *p, const size_t *owners)
{
	size_t last = owners[0];

	for (size_t i = 0; i < p->draft->n; i++) {
		if (owners[i] == DRAFT_NOBODY)
			return NULL;
		if (draft_compare(p->draft->name, &p->workers[owners[i]], &p->workers[last]) > 0)
			last = owners[i];
	}
	return is_settled(p, owners, last) ? p->members[last] : NULL;
}

static void pool_init(struct pool *p, const struct fleet *f, struct fleet_draft *d)
{
	*p = (struct pool){.fleet = f, .draft = d};
	collect(p);
	unsigned tiers = set_tiers(p);
	for (size_t i = 0; i < p->n; i++)
		p->workers[i].tier =
			p->versions[p->grades[i]].tier + (p->members[i]->clock_off ? tiers : 0);
	for (size_t i = 0; i < d->n; i++)
		p->names[i] = contest_of(p, i)->task;
}

static void pool_done(struct pool *p)
{
	free(p->workers);
	free(p->members);
	free(p->grades);
	free(p->versions);
}

static struct draft pool_draft(const struct pool *p)
{
	return (struct draft){.name = p->draft->name,
			      .items = p->names,
			      .n_items = p->draft->n,
			      .limit = p->draft->limit,
			      .workers = p->workers,
			      .n_workers = p->n};
}

static void set_members(const struct pool *p, const size_t *found, const struct member **ret)
{
	for (size_t i = 0; i < p->draft->n; i++)
		ret[i] = found[i] == DRAFT_NOBODY ? NULL : p->members[found[i]];
}

static void work_out(const struct fleet *f, struct fleet_draft *d)
{
	size_t owners[DRAFT_ITEMS_MAX];
	struct pool p;

	pool_init(&p, f, d);
	struct draft draft = pool_draft(&p);
	draft_run(&draft, owners);
	set_members(&p, owners, d->owners);
	d->last = find_last(&p, owners);
	d->known = true;
	pool_done(&p);
}

/* A draft for each owner, each of all items. */
static bool costs_too_much(const struct fleet_draft *d)
{
	size_t n_owners = 0;

	for (size_t i = 0; i < d->n; i++) {
		size_t j = 0;
		while (j < i && d->owners[j] != d->owners[i])
			j++;
		n_owners += j == i;
	}
	return n_owners * d->n > NEXT_COST_MAX;
}

static void work_out_next(const struct fleet *f, struct fleet_draft *d)
{
	size_t owners[DRAFT_ITEMS_MAX], next[DRAFT_ITEMS_MAX];
	struct pool p;

	memset(d->next, 0, DRAFT_ITEMS_MAX * sizeof(*d->next));
	d->next_known = true;
	if (costs_too_much(d))
		return;
	pool_init(&p, f, d);
	struct draft draft = pool_draft(&p);
	for (size_t i = 0; i < d->n; i++) {
		owners[i] = DRAFT_NOBODY;
		for (size_t j = 0; j < p.n && d->owners[i]; j++)
			if (p.members[j] == d->owners[i])
				owners[i] = j;
	}
	draft_successors(&draft, owners, next);
	set_members(&p, next, d->next);
	pool_done(&p);
}

/* --- what may change it --------------------------------------------------- */

static bool is_owner(const struct fleet_draft *d, const struct member *m)
{
	for (size_t i = 0; i < d->n; i++)
		if (d->owners[i] == m)
			return true;
	return false;
}

/* Whether the member would get nothing: it comes behind the last one that takes an item. */
static bool comes_too_late(const struct fleet *f, const struct fleet_draft *d,
			   const struct member *m)
{
	const struct member *last = d->last;
	struct draft_worker a, b;

	if (!last || !f->orderly)
		return false;
	int order = fleet_compare_versions(f->contests[d->indexes[0]], last->worker->version,
					   m->worker->version);
	if (order != 0)
		return order > 0;
	a = (struct draft_worker){.key = last->key, .ip = last->worker->ip, .id = last->worker->id};
	b = (struct draft_worker){.key = m->key, .ip = m->worker->ip, .id = m->worker->id};
	return draft_compare(d->name, &a, &b) < 0;
}

void fleet_drafts_joined(struct fleet *f, const struct member *m)
{
	for (size_t i = 0; i < f->n_drafts; i++) {
		f->drafts[i].next_known = false;
		if (f->drafts[i].known && !comes_too_late(f, &f->drafts[i], m))
			f->drafts[i].known = false;
	}
}

/* A member without items took none from others, so nothing changes without it. */
void fleet_drafts_left(struct fleet *f, const struct member *m)
{
	for (size_t i = 0; i < f->n_drafts; i++) {
		f->drafts[i].next_known = false;
		if (!f->orderly || is_owner(&f->drafts[i], m))
			f->drafts[i].known = false;
	}
}

void fleet_drafts_forget(struct fleet *f)
{
	for (size_t i = 0; i < f->n_drafts; i++)
		f->drafts[i].known = f->drafts[i].next_known = false;
}

void fleet_draft_changed(struct fleet *f, size_t index)
{
	if (!f->draft_of || f->draft_of[index] == SIZE_MAX)
		return;
	struct fleet_draft *d = &f->drafts[f->draft_of[index]];
	d->known = d->next_known = false;
}

/* --- the drafts ----------------------------------------------------------- */

void fleet_drafts_done(struct fleet *f)
{
	for (size_t i = 0; i < f->n_drafts; i++) {
		free(f->drafts[i].indexes);
		free(f->drafts[i].owners);
		free(f->drafts[i].next);
	}
	free(f->drafts);
	free(f->draft_of);
	f->drafts = NULL;
	f->draft_of = NULL;
	f->n_drafts = 0;
}

/*
 * Finds the contest's draft. Partitions of a task are neighbours, so their draft is the last one.
 */
static struct fleet_draft *find(const struct fleet *f, const struct contest *c)
{
	for (size_t i = f->n_drafts; i-- > 0;) {
		struct fleet_draft *d = &f->drafts[i];
		if (d->partitioned == (c->partitions > 0) && strcmp(d->name, c->draft) == 0)
			return d;
		if (c->partitions > 0)
			break;
	}
	return NULL;
}

static struct fleet_draft *add(struct fleet *f, const struct contest *c)
{
	f->drafts = mem_resize(f->drafts, f->n_drafts + 1, sizeof(*f->drafts));
	struct fleet_draft *d = &f->drafts[f->n_drafts++];
	*d = (struct fleet_draft){
		.name = c->draft, .partitioned = c->partitions > 0, .limit = c->limit};
	d->indexes = mem_calloc(DRAFT_ITEMS_MAX, sizeof(*d->indexes));
	d->owners = mem_calloc(DRAFT_ITEMS_MAX, sizeof(*d->owners));
	d->next = mem_calloc(DRAFT_ITEMS_MAX, sizeof(*d->next));
	return d;
}

void fleet_drafts_set(struct fleet *f)
{
	fleet_drafts_done(f);
	f->draft_of = mem_calloc(f->n_tasks + 1, sizeof(*f->draft_of));
	for (size_t i = 0; i < f->n_tasks; i++) {
		const struct contest *c = f->contests[i];
		f->draft_of[i] = SIZE_MAX;
		if (!c->draft)
			continue;
		struct fleet_draft *d = find(f, c);
		if (!d)
			d = add(f, c);
		if (d->n == DRAFT_ITEMS_MAX)
			continue; /* a single task of a group is ranked by itself */
		size_t at = d->partitioned ? c->item : d->n;
		assert(at < DRAFT_ITEMS_MAX);
		d->indexes[at] = i;
		d->n++;
		f->draft_of[i] = (size_t)(d - f->drafts);
	}
}

/* --- questions ------------------------------------------------------------ */

static struct fleet_draft *draft_of(const struct fleet *f, size_t index)
{
	if (!f->draft_of || f->draft_of[index] == SIZE_MAX)
		return NULL;
	struct fleet_draft *d = &f->drafts[f->draft_of[index]];
	if (!d->known)
		work_out(f, d);
	return d;
}

const struct member *fleet_draft_owner(const struct fleet *f, size_t index)
{
	const struct fleet_draft *d = draft_of(f, index);

	for (size_t i = 0; d && i < d->n; i++)
		if (d->indexes[i] == index)
			return d->owners[i];
	return NULL;
}

/* Whether the member is drafted if the owner leaves. */
static bool is_next(const struct fleet *f, size_t index, const struct member *m)
{
	struct fleet_draft *d = draft_of(f, index);

	if (d && !d->next_known)
		work_out_next(f, d);
	for (size_t i = 0; d && i < d->n; i++)
		if (d->indexes[i] == index)
			return d->next[i] == m;
	return false;
}

/* Whether the owner would also come before self without a draft. */
static bool is_ahead(const struct contest *c, const struct member *owner, const struct member *self)
{
	int order = fleet_compare_versions(c, owner->worker->version, self->worker->version);
	struct ranked a = fleet_rank_member(owner, c), b = fleet_rank_member(self, c);

	return order > 0 || (order == 0 && fleet_compare_ranked(&a, &b) > 0);
}

void fleet_draft_stand(const struct fleet *f, const struct contest *c, size_t index,
		       struct standing *s)
{
	const struct member *owner = fleet_draft_owner(f, index);

	if (!owner || !s->best)
		return;
	s->best = owner;
	s->best_is_newer = s->self && fleet_compare_versions(c, owner->worker->version,
							     s->self->worker->version) > 0;
	if (s->self == owner) {
		s->self_candidate = true;
		s->place = 0;
	} else if (s->self && s->self_candidate) {
		s->place += is_ahead(c, owner, s->self) ? 0 : 1;
		if (s->place == 0)
			s->place = 1; /* if the order of versions is not transitive */
		s->next = s->place > 1 && is_next(f, index, s->self);
	}
}
