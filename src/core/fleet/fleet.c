#include "core/fleet/fleet.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/sort.h"
#include "core/fleet/fleet_draft.h"
#include "core/fleet/identity.h"
#include "core/fleet/rank.h"
#include "core/fleet/tally.h"
#include "core/fleet/version.h"

#define GROWTH	  64 /* members that both arrays grow by */
#define WORD_BITS 64
/* with so many versions or more, whether their order is transitive is not checked */
#define GRADES 32

static bool has_bit(const uint64_t *bits, size_t index)
{
	return bits[index / WORD_BITS] >> (index % WORD_BITS) & 1;
}

bool fleet_lists(const struct member *m, size_t index)
{
	return has_bit(m->lists->bits, index);
}

bool fleet_has_resigned(const struct member *m, size_t index)
{
	return m->resigned && has_bit(m->resigned, index);
}

unsigned fleet_level(const struct member *m, size_t index)
{
	return (m->clock_off ? 2U : 0U) + (fleet_has_resigned(m, index) ? 1U : 0U);
}

/* The order of names as records list them: of T:K that is T. */
static int compare_listed(const char *a, const char *b)
{
	for (; *a == *b && *a != '\0' && *a != ':'; a++, b++)
		;
	unsigned char x = *a == ':' ? '\0' : (unsigned char)*a;
	unsigned char y = *b == ':' ? '\0' : (unsigned char)*b;
	return (x > y) - (x < y);
}

static void drop_listed(struct member *m)
{
	if (m->lists && --m->lists->members == 0)
		free(m->lists);
	m->lists = NULL;
}

/*
 * Merges the two sorted lists of names into bits. If another member, whose bits are up to date,
 * shares its list of names with this one, they share the bits too: looking through a big fleet is
 * mostly waiting for memory.
 */
static void update_lists(const struct fleet *f, struct member *m, const struct member *other)
{
	const struct worker *w = m->worker;
	size_t words = f->n_tasks / WORD_BITS + 1;

	drop_listed(m);
	free(m->resigned);
	m->resigned = NULL; /* its bits were those of other tasks */
	m->splits = w->n_splits > 0;
	if (other && other->worker->tasks == w->tasks) {
		m->lists = other->lists;
		m->lists->members++;
		return;
	}
	m->lists = mem_calloc(1, sizeof(*m->lists) + words * sizeof(m->lists->bits[0]));
	m->lists->members = 1;
	for (size_t i = 0, j = 0; i < f->n_tasks && j < w->n_tasks;) {
		size_t at = f->by_listed[i];
		int order = compare_listed(f->tasks[at], w->tasks[j]);
		if (order == 0)
			m->lists->bits[at / WORD_BITS] |= UINT64_C(1) << (at % WORD_BITS);
		if (order <= 0)
			i++;
		else
			j++;
	}
}

/* If a neighbour by version lists the same tasks, as it usually does, both use one list. */
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
	drop_listed(m);
	free(m->resigned);
	free(m);
}

struct place {
	const char *version, *id; /* NULL: any version; behind all ids */
	int64_t session;
};

static int by_version(const void *place, const void *member)
{
	const struct place *p = place;
	const struct worker *w = (*(struct member *const *)member)->worker;
	int order = p->version ? strcmp(p->version, w->version) : 0;

	return order ? order : strcmp(p->id, w->id);
}

/* The first place in the list that is not before this version and id; without a version, by id. */
static size_t lower_bound(struct member *const *list, size_t n, const char *version, const char *id)
{
	const struct place key = {.version = version, .id = id};

	return sort_place(&key, list, n, sizeof(*list), by_version);
}

static int by_session(const void *place, const void *member)
{
	const struct place *p = place;
	const struct member *m = *(struct member *const *)member;

	if (m->session != p->session)
		return m->session < p->session ? 1 : -1;
	return p->id ? strcmp(p->id, m->worker->id) : 1;
}

/*
 * The first place in by_session that is not before this session and id; without an id, behind all.
 */
static size_t session_bound(const struct fleet *f, int64_t session, const char *id)
{
	const struct place key = {.session = session, .id = id};

	return sort_place(&key, f->by_session, f->n_members, sizeof(*f->by_session), by_session);
}

/*
 * The grade of a version is the number of older ones. Returns whether all versions compare as their
 * grades do.
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

/* Grades all members anew, after a change of the set of versions. */
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
		assert(j < n);
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
	free(f->names);
	free(f->tasks);
	free(f->contests);
	free(f->tallies);
	free(f->by_listed);
	fleet_drafts_done(f);
	*f = (struct fleet){0};
}

void fleet_clear(struct fleet *f)
{
	for (size_t i = 0; i < f->n_members; i++)
		member_free(f->by_id[i]);
	f->orderly = true;
	tally_forget_all(f);
	f->n_members = f->n_names = 0; /* next_serial goes on: a serial is never given twice */
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
	m->unwell = worker->sick || worker->n_unhealthy > 0;

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
	identity_joined(f, m);
	if (!is_one_of_several(f, at))
		grade_members(f);
	tally_all_joined(f, m);
	return m;
}

const struct member *fleet_twin(const struct fleet *f, const struct member *m)
{
	size_t at = lower_bound(f->by_version, f->n_members, m->worker->version, m->worker->id);

	if (at > 0 && f->by_version[at - 1]->worker->tasks == m->worker->tasks)
		return f->by_version[at - 1];
	if (at + 1 < f->n_members && f->by_version[at + 1]->worker->tasks == m->worker->tasks)
		return f->by_version[at + 1];
	return NULL;
}

void fleet_relist(struct fleet *f, struct member *m, struct worker *list, const struct member *like)
{
	tally_all_left(f, m);
	worker_adopt(m->worker, list);
	update_lists(f, m, like);
	f->next_serial++; /* whoever compares it sees that the fleet is another */
	tally_all_joined(f, m);
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
	identity_left(f, m);
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

/*
 * The names are sorted by strcmp, where "T:0" comes behind "T.x" and "T1". Records list it as T,
 * which comes before them. The partitions of one T are neighbours in both orders.
 */
static void sort_listed(struct fleet *f)
{
	free(f->by_listed);
	f->by_listed = mem_calloc(f->n_tasks + 1, sizeof(*f->by_listed));
	for (size_t i = 0; i < f->n_tasks; i++) {
		size_t at = i;
		while (at > 0 && compare_listed(f->tasks[f->by_listed[at - 1]], f->tasks[i]) > 0)
			at--;
		memmove(f->by_listed + at + 1, f->by_listed + at, (i - at) * sizeof(*f->by_listed));
		f->by_listed[at] = i;
	}
}

void fleet_set_tasks(struct fleet *f, const char *const *names, size_t n)
{
	free(f->contests);
	free(f->tallies);
	f->contests = NULL;
	f->tallies = NULL;
	fleet_drafts_done(f);
	free(f->tasks);
	f->tasks = mem_calloc(n + 1, sizeof(f->tasks[0]));
	f->n_tasks = n;
	for (size_t i = 0; i < n; i++) {
		assert(i == 0 || strcmp(names[i - 1], names[i]) < 0);
		f->tasks[i] = names[i];
	}
	sort_listed(f);
	for (size_t i = 0; i < f->n_members; i++)
		update_lists(f, f->by_version[i], i > 0 ? f->by_version[i - 1] : NULL);
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
	fleet_drafts_set(f);
}

void fleet_contest_changed(struct fleet *f, size_t index)
{
	if (f->tallies)
		tally_forget(&f->tallies[index]);
	fleet_draft_changed(f, index);
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
