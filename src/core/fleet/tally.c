#include "core/fleet/tally.h"

#include <assert.h>

#include "core/fleet/fleet_draft.h"

/* >0: a has the better version. Only in an orderly fleet. */
static int compare_grades(const struct contest *c, const struct member *a, const struct member *b)
{
	if (a->grade == b->grade || c->version_policy == VERSION_ANY)
		return 0;
	return (a->grade > b->grade) == (c->version_policy == VERSION_NEWEST) ? 1 : -1;
}

/* >0: a is the better, by version first. Only in an orderly fleet. */
static int compare(const struct contest *c, const struct ranked *a, const struct ranked *b)
{
	int order = compare_grades(c, a->member, b->member);

	return order ? order : fleet_compare_ranked(a, b);
}

void tally_forget(struct tally *t)
{
	t->known = false;
}

/*
 * Whether a member counts among the candidates. If its coming or going may change the level of the
 * candidates (see fleet_level()), the tally is forgotten.
 */
static bool counts(struct tally *t, const struct fleet *f, const struct contest *c, size_t index,
		   const struct member *m)
{
	if (!t->known)
		return false;
	if (!f->orderly || m == t->self) {
		t->known = false;
		return false;
	}
	if (fleet_fitness(m, c, index) != WHY_BEST)
		return false;
	if (!t->best.member || fleet_level(t->best.member, index) > 0)
		t->known = false;
	return t->known && fleet_level(m, index) == 0;
}

static bool beats_self(const struct tally *t, const struct contest *c, const struct ranked *r)
{
	struct ranked self = {.member = t->self, .rank = t->self_rank};

	return t->self_candidate && compare(c, r, &self) > 0;
}

void tally_joined(struct tally *t, const struct fleet *f, const struct contest *c, size_t index,
		  const struct member *m)
{
	if (!counts(t, f, c, index, m))
		return;
	struct ranked r = fleet_rank_member(m, c);
	if (compare(c, &r, &t->best) > 0)
		t->best = r;
	if (beats_self(t, c, &r))
		t->ahead++;
}

void tally_left(struct tally *t, const struct fleet *f, const struct contest *c, size_t index,
		const struct member *m)
{
	if (m == t->best.member)
		t->known = false; /* the next candidate is not known */
	if (!counts(t, f, c, index, m))
		return;
	struct ranked r = fleet_rank_member(m, c);
	if (beats_self(t, c, &r)) {
		assert(t->ahead > 0);
		t->ahead--;
	}
}

static void take(struct tally *t, const struct fleet *f, const struct contest *c,
		 const struct standing *s)
{
	*t = (struct tally){.known = f->orderly, .self = s->self};
	t->self_candidate = s->self_candidate;
	if (s->best)
		t->best = fleet_rank_member(s->best, c);
	if (!s->self_candidate)
		return;
	t->self_rank = fleet_rank_member(s->self, c).rank;
	t->ahead = s->place;
}

struct standing tally_stand(struct tally *t, const struct fleet *f, const struct contest *c,
			    size_t index, const struct member *self)
{
	struct standing s = {.self = self, .place = SIZE_MAX};

	if (!t->known || t->self != self) {
		s = fleet_stand_ranked(f, c, index, self ? self->worker->id : "");
		take(t, f, c, &s);
		if (c->draft)
			fleet_draft_stand(f, c, index, &s);
		return s;
	}
	s.best = t->best.member;
	s.self_candidate = t->self_candidate;
	if (s.best && self)
		s.best_is_newer = compare_grades(c, s.best, self) > 0;
	if (s.self_candidate)
		s.place = t->ahead;
	if (c->draft)
		fleet_draft_stand(f, c, index, &s);
	return s;
}

void tally_all_joined(struct fleet *f, const struct member *m)
{
	for (size_t i = 0; f->tallies && i < f->n_tasks; i++)
		tally_joined(&f->tallies[i], f, f->contests[i], i, m);
	fleet_drafts_joined(f, m);
}

void tally_all_left(struct fleet *f, const struct member *m)
{
	for (size_t i = 0; f->tallies && i < f->n_tasks; i++)
		tally_left(&f->tallies[i], f, f->contests[i], i, m);
	fleet_drafts_left(f, m);
}

void tally_forget_all(struct fleet *f)
{
	for (size_t i = 0; f->tallies && i < f->n_tasks; i++)
		tally_forget(&f->tallies[i]);
	fleet_drafts_forget(f);
}
