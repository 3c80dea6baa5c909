#include "core/fleet.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "core/rank.h"
#include "core/tally.h"
#include "core/version.h"

#define GROWTH	  64 /* members that both arrays grow by */
#define WORD_BITS 64
#define LEVELS	  4 /* of fleet_level() */
/* versions from which on it is not looked at whether their order is transitive */
#define GRADES 32

/* The candidates of a contest, in the order of by_version: equal version strings are neighbours. */
struct pool {
	const struct member *list[FLEET_MEMBERS_MAX];
	size_t n;
};

static bool has_bit(const uint64_t *bits, size_t index)
{
	return bits[index / WORD_BITS] >> (index % WORD_BITS) & 1;
}

static bool lists_task(const struct member *m, size_t index)
{
	return has_bit(m->lists, index);
}

bool fleet_has_resigned(const struct member *m, size_t index)
{
	return m->resigned && has_bit(m->resigned, index);
}

unsigned fleet_level(const struct member *m, size_t index)
{
	return (m->clock_off ? 2U : 0U) + (fleet_has_resigned(m, index) ? 1U : 0U);
}

/*
 * Merges the two sorted lists of names into the bitset; where another member, whose bitset is
 * right, has the same names in one place with this one, it is the same.
 */
static void update_lists(const struct fleet *f, struct member *m, const struct member *other)
{
	const struct worker *w = m->worker;
	size_t words = f->n_tasks / WORD_BITS + 1;

	free(m->lists);
	free(m->resigned);
	m->resigned = NULL; /* its bits were those of other tasks */
	m->lists = mem_calloc(words, sizeof(m->lists[0]));
	if (other && other->worker->tasks == w->tasks) {
		memcpy(m->lists, other->lists, words * sizeof(m->lists[0]));
		return;
	}
	for (size_t i = 0, j = 0; i < f->n_tasks && j < w->n_tasks;) {
		int order = strcmp(f->tasks[i], w->tasks[j]);
		if (order == 0)
			m->lists[i / WORD_BITS] |= UINT64_C(1) << (i % WORD_BITS);
		if (order <= 0)
			i++;
		if (order >= 0)
			j++;
	}
}

/* Where a neighbour by version lists the same, as it does as a rule, both use one list. */
static void find_lists(const struct fleet *f, struct member *m, size_t at)
{
	const struct member *same = NULL;

	for (size_t i = at > 0 ? at - 1 : at; !same && i <= at && i < f->n_members; i++)
		if (worker_share_tasks(m->worker, f->by_version[i]->worker))
			same = f->by_version[i];
	update_lists(f, m, same);
}

static void member_free(struct member *m)
{
	if (!m)
		return;
	worker_free(m->worker);
	free(m->lists);
	free(m->resigned);
	free(m);
}

/* The first place in the list that is not before this version and id; without a version, by id. */
static size_t lower_bound(struct member *const *list, size_t n, const char *version, const char *id)
{
	size_t low = 0;

	while (low < n) {
		size_t middle = low + (n - low) / 2;
		const struct worker *w = list[middle]->worker;
		int order = version ? strcmp(w->version, version) : 0;
		if (order == 0)
			order = strcmp(w->id, id);
		if (order < 0)
			low = middle + 1;
		else
			n = middle;
	}
	return low;
}

/*
 * The first place in by_session that is not before this session and id; without an id, behind all.
 */
static size_t session_bound(const struct fleet *f, int64_t session, const char *id)
{
	size_t low = 0, n = f->n_members;

	while (low < n) {
		size_t middle = low + (n - low) / 2;
		const struct member *m = f->by_session[middle];
		bool before = m->session < session ||
			      (m->session == session && (!id || strcmp(m->worker->id, id) < 0));
		if (before)
			low = middle + 1;
		else
			n = middle;
	}
	return low;
}

/*
 * The grade of a version: how many others are older. Whether all of them compare as their grades
 * do.
 */
static bool grade_versions(const char *const *versions, unsigned *grades, size_t n)
{
	int order[GRADES][GRADES];

	for (size_t i = 0; i < n; i++) {
		grades[i] = 0;
		for (size_t j = 0; j < n; j++) {
			order[i][j] = version_compare(versions[i], versions[j]);
			grades[i] += order[i][j] > 0;
		}
	}
	for (size_t i = 0; i < n; i++)
		for (size_t j = 0; j < n; j++)
			if ((order[i][j] > 0) != (grades[i] > grades[j]) ||
			    (order[i][j] < 0) != (grades[i] < grades[j]))
				return false;
	return true;
}

/* To be called when another version is there, or one is there no more. */
static void grade_members(struct fleet *f)
{
	const char *versions[GRADES] = {NULL};
	unsigned grades[GRADES];
	size_t n = 0;

	f->orderly = false;
	for (size_t i = 0; i < f->n_members; i++) {
		const char *version = f->by_version[i]->worker->version;
		if (n > 0 && strcmp(versions[n - 1], version) == 0)
			continue;
		if (n == GRADES)
			return;
		versions[n++] = version;
	}
	f->orderly = grade_versions(versions, grades, n);
	for (size_t i = 0, j = 0; i < f->n_members; i++) {
		struct member *m = f->by_version[i];
		if (strcmp(versions[j], m->worker->version) != 0)
			j++;
		m->grade = grades[j];
	}
}

/*
 * Whether a neighbour of the member at this place by version has the same; it has its grade then.
 */
static bool is_one_of_several(const struct fleet *f, size_t at)
{
	struct member *m = f->by_version[at];

	for (size_t i = at > 0 ? at - 1 : at; i <= at + 1 && i < f->n_members; i++) {
		const struct member *other = f->by_version[i];
		if (i == at || strcmp(other->worker->version, m->worker->version) != 0)
			continue;
		m->grade = other->grade;
		return true;
	}
	return false;
}

static void insert_at(struct member **list, size_t n, size_t at, struct member *m)
{
	memmove(list + at + 1, list + at, (n - at) * sizeof(list[0]));
	list[at] = m;
}

static void remove_at(struct member **list, size_t n, size_t at)
{
	memmove(list + at, list + at + 1, (n - at - 1) * sizeof(list[0]));
}

void fleet_init(struct fleet *f)
{
	*f = (struct fleet){.next_serial = 1, .orderly = true};
}

void fleet_done(struct fleet *f)
{
	fleet_clear(f);
	free(f->by_id);
	free(f->by_version);
	free(f->by_session);
	free(f->tasks);
	free(f->contests);
	free(f->tallies);
	*f = (struct fleet){0};
}

void fleet_clear(struct fleet *f)
{
	for (size_t i = 0; i < f->n_members; i++)
		member_free(f->by_id[i]);
	f->orderly = true;
	tally_forget_all(f);
	f->n_members = 0; /* next_serial goes on: a serial is never given twice */
}

struct member *fleet_add(struct fleet *f, struct worker *worker, int64_t session, int64_t seen_ms)
{
	if (f->n_members == FLEET_MEMBERS_MAX || fleet_find(f, worker->id)) {
		worker_free(worker);
		return NULL;
	}

	struct member *m = mem_calloc(1, sizeof(*m));
	m->worker = worker;
	m->session = session;
	m->seen_ms = seen_ms;
	m->serial = f->next_serial++;
	m->key = rank_key(worker->random_ints);

	size_t n = f->n_members;
	if (n % GROWTH == 0) {
		f->by_id = mem_resize(f->by_id, n + GROWTH, sizeof(f->by_id[0]));
		f->by_version = mem_resize(f->by_version, n + GROWTH, sizeof(f->by_version[0]));
		f->by_session = mem_resize(f->by_session, n + GROWTH, sizeof(f->by_session[0]));
	}
	size_t at = lower_bound(f->by_version, n, worker->version, worker->id);
	find_lists(f, m, at);
	insert_at(f->by_version, n, at, m);
	insert_at(f->by_id, n, lower_bound(f->by_id, n, NULL, worker->id), m);
	insert_at(f->by_session, n, session_bound(f, session, worker->id), m);
	f->n_members++;
	if (!is_one_of_several(f, at))
		grade_members(f);
	tally_all_joined(f, m);
	return m;
}

bool fleet_remove(struct fleet *f, const char *id)
{
	struct member *m = fleet_find(f, id);
	if (!m)
		return false;

	tally_all_left(f, m);
	size_t n = f->n_members, at = lower_bound(f->by_version, n, m->worker->version, id);
	bool last = !is_one_of_several(f, at);
	remove_at(f->by_version, n, at);
	remove_at(f->by_id, n, lower_bound(f->by_id, n, NULL, id));
	remove_at(f->by_session, n, session_bound(f, m->session, id));
	f->n_members--;
	if (last)
		grade_members(f);
	member_free(m);
	return true;
}

struct member *fleet_find(const struct fleet *f, const char *id)
{
	size_t at = lower_bound(f->by_id, f->n_members, NULL, id);
	if (at == f->n_members || strcmp(f->by_id[at]->worker->id, id) != 0)
		return NULL;
	return f->by_id[at];
}

const struct member *fleet_find_session(const struct fleet *f, int64_t session)
{
	size_t behind = session_bound(f, session, NULL);

	return behind > 0 && f->by_session[behind - 1]->session == session
		       ? f->by_session[behind - 1]
		       : NULL;
}

void fleet_set_tasks(struct fleet *f, const char *const *names, size_t n)
{
	free(f->contests);
	free(f->tallies);
	f->contests = NULL;
	f->tallies = NULL;
	free(f->tasks);
	f->tasks = mem_calloc(n + 1, sizeof(f->tasks[0]));
	f->n_tasks = n;
	for (size_t i = 0; i < n; i++) {
		assert(i == 0 || strcmp(names[i - 1], names[i]) < 0);
		f->tasks[i] = names[i];
	}
	for (size_t i = 0; i < f->n_members; i++)
		update_lists(f, f->by_version[i], i > 0 ? f->by_version[i - 1] : NULL);
}

void fleet_clear_decisions(struct fleet *f)
{
	for (size_t i = 0; i < f->n_members; i++)
		fleet_set_drained(f, f->by_id[i], false);
	fleet_clear_resigned(f);
}

void fleet_clear_resigned(struct fleet *f)
{
	for (size_t i = 0; i < f->n_members; i++) {
		struct member *m = f->by_id[i];
		for (size_t j = 0; m->resigned && j < f->n_tasks; j++)
			if (has_bit(m->resigned, j))
				fleet_contest_changed(f, j);
		free(m->resigned);
		m->resigned = NULL;
	}
}

static void set_flag(struct fleet *f, struct member *m, bool *flag, bool on)
{
	if (*flag == on)
		return;
	tally_all_left(f, m);
	*flag = on;
	tally_all_joined(f, m);
}

void fleet_set_drained(struct fleet *f, struct member *m, bool drained)
{
	set_flag(f, m, &m->drained, drained);
}

void fleet_set_clock_off(struct fleet *f, struct member *m, bool off)
{
	set_flag(f, m, &m->clock_off, off);
}

void fleet_set_contests(struct fleet *f, const struct contest *const *contests)
{
	free(f->contests);
	free(f->tallies);
	f->contests = mem_calloc(f->n_tasks + 1, sizeof(*f->contests));
	f->tallies = mem_calloc(f->n_tasks + 1, sizeof(*f->tallies));
	memcpy(f->contests, contests, f->n_tasks * sizeof(*contests));
}

void fleet_contest_changed(struct fleet *f, size_t index)
{
	if (f->tallies)
		tally_forget(&f->tallies[index]);
}

struct standing fleet_standing(struct fleet *f, size_t index, const struct member *self)
{
	assert(f->contests && index < f->n_tasks);
	return tally_stand(&f->tallies[index], f, f->contests[index], index, self);
}

void fleet_resign(struct fleet *f, struct member *m, size_t index)
{
	assert(index < f->n_tasks);
	if (!m->resigned)
		m->resigned = mem_calloc(f->n_tasks / WORD_BITS + 1, sizeof(m->resigned[0]));
	fleet_contest_changed(f, index);
	m->resigned[index / WORD_BITS] |= UINT64_C(1) << (index % WORD_BITS);
}

/* Whether a version is good for the contest, WHY_BEST, or why it is not. */
static enum why version_refusal(const char *version, const struct contest *c)
{
	if (c->min_version && version_compare(version, c->min_version) < 0)
		return WHY_BELOW_MINIMUM;
	if (c->pinned && version_compare(version, c->pinned) != 0)
		return WHY_NOT_PINNED;
	return WHY_BEST;
}

/* WHY_BEST if the member is a candidate, whatever its version, else why it is none. */
static enum why member_refusal(const struct member *m, const struct contest *c, size_t index)
{
	if (!lists_task(m, index))
		return WHY_NOT_LISTED;
	if (m->drained)
		return WHY_DRAINED;
	if (worker_is_unhealthy(m->worker, c->task))
		return WHY_UNHEALTHY;
	return WHY_BEST;
}

enum why fleet_fitness(const struct member *m, const struct contest *c, size_t index)
{
	enum why why = member_refusal(m, c, index);

	return why == WHY_BEST ? version_refusal(m->worker->version, c) : why;
}

/* Likewise, where the candidates are those of that level. */
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
	bool good = true;

	p->n = 0;
	for (size_t i = 0; i < f->n_members; i++) {
		const struct member *m = f->by_version[i];
		if (member_refusal(m, c, index) != WHY_BEST || fleet_level(m, index) != level)
			continue;
		if (!version || strcmp(version, m->worker->version) != 0) {
			version = m->worker->version;
			good = version_refusal(version, c) == WHY_BEST;
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

/* >0: a is the better version for this contest. */
static int compare_versions(const struct contest *c, const char *a, const char *b)
{
	return c->oldest ? version_compare(b, a) : version_compare(a, b);
}

/* Where the neighbours end that have the version string of the one at first. */
static size_t run_end(const struct pool *p, size_t first)
{
	size_t end = first + 1;
	const char *version = p->list[first]->worker->version;

	while (end < p->n && strcmp(p->list[end]->worker->version, version) == 0) /* NOLINT */
		end++;
	return end;
}

/*
 * As the order of versions is not transitive there may be no newest one; this names one of them by
 * the set of versions alone. The pool may not be empty.
 */
static const char *pool_newest(const struct pool *p, const struct contest *c)
{
	const char *newest = p->list[0]->worker->version;

	for (size_t i = run_end(p, 0); i < p->n; i = run_end(p, i)) {
		if (compare_versions(c, p->list[i]->worker->version, newest) > 0)
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

/* By rank, ip and id: >0 if a is the better. A score has 53 bits, so both kinds of rank fit
 * int64_t. */
int fleet_compare_ranked(const struct ranked *a, const struct ranked *b)
{
	if (a->rank != b->rank)
		return (int64_t)a->rank > (int64_t)b->rank ? 1 : -1;

	int order = rank_compare_ip(a->member->worker->ip, b->member->worker->ip);
	return order ? order : strcmp(a->member->worker->id, b->member->worker->id);
}

struct standing fleet_stand(const struct fleet *f, const struct contest *c, size_t index,
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
		bool first_tier = version == newest || version_compare(version, newest) == 0;
		int to_self = self.member
				      ? compare_versions(c, version, self.member->worker->version)
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
	s.best_is_newer =
		s.self && compare_versions(c, s.best->worker->version, s.self->worker->version) > 0;
	if (s.self_candidate)
		s.place = s.best == s.self ? 0 : ahead > 0 ? ahead : 1;
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
		bool in_tier = version == newest || version_compare(version, newest) == 0;

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
	return n;
}

enum why fleet_why(const struct fleet *f, const struct contest *c, size_t index, const char *id)
{
	const struct member *m = fleet_find(f, id);
	struct pool p;

	return m ? refusal(m, c, index, pool_fill(&p, f, c, index)) : WHY_BEST;
}
