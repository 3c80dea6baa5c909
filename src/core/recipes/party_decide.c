/* The steps of the party itself: who is chosen, and when it opens. See party_step.h. */
#include <string.h>

#include "core/recipes/party_step.h"

#define TURN_MS	     1000 /* before another than the N-th member opens it */
#define TURN_STEP_MS 200  /* more for each member in between */

bool party_is_over(const struct party_sight *s)
{
	size_t i = 0;

	while (i < s->size && s->marked[i])
		i++;
	return i == s->size;
}

void party_sort(struct party_sight *s)
{
	for (size_t i = 0; i < s->n; i++) {
		struct party_ticket *t = &s->tickets[i];
		if (t->left) {
			s->n_marked++;
			if (t->index >= 0)
				s->marked[t->index] = true;
		} else if (t->index >= 0) {
			s->n_running += s->by_index[t->index] == NULL;
			s->by_index[t->index] = t;
			s->n_inside += t->index == 0 && t->kind == 'c';
		} else {
			s->n_waiting++;
		}
	}
}

/*
 * Whether the member is chosen already. It may have a node of an earlier session, too, and each key
 * counts once.
 */
static bool is_chosen(const struct party_chosen *c, const struct party_ticket *t)
{
	for (size_t i = 0; i < c->n; i++)
		if (c->list[i]->id == t->id || (t->key[0] && strcmp(c->list[i]->key, t->key) == 0))
			return true;
	return false;
}

/* Chooses the first waiters; the very first one decides the count. */
static void choose_first(const struct party_sight *s, struct party_chosen *c)
{
	for (size_t i = 0; i < s->n && (c->count == 0 || c->n < c->count); i++) {
		const struct party_ticket *t = &s->tickets[i];
		if (t->left || t->index >= 0)
			continue;
		if (c->count == 0) {
			c->count = t->count;
			c->kind = t->kind;
		}
		if (t->count == c->count && (t->kind == c->kind || !t->key[0]) && !is_chosen(c, t))
			c->list[c->n++] = t;
	}
}

/* Chooses all previous members, each under its index. */
static void choose_again(const struct party_sight *s, struct party_chosen *c)
{
	c->count = s->count;
	c->kind = s->goes_on ? 'c' : 's';
	for (size_t i = 0; i < s->n; i++) {
		const struct party_ticket *t = &s->tickets[i];
		if (t->left || t->seat < 0 || c->list[t->seat] || t->count != c->count ||
		    t->kind != c->kind)
			continue;
		c->list[t->seat] = t;
		c->n++;
	}
}

/* A barrier stays closed while a member of an earlier round is inside, and a gang while it runs. */
static void choose(const struct party_sight *s, struct party_chosen *c)
{
	for (size_t i = 0; !s->gang && i < s->n; i++)
		if (s->tickets[i].kind == 'c' && s->tickets[i].index >= 0)
			return;
	if (s->size == 0)
		choose_first(s, c);
	else if (s->n_running == 0)
		choose_again(s, c);
}

/*
 * The distance, in line, from the last chosen member to the nearest waiter of ours. Waiters behind
 * the last one count, too, as the chosen ones may be of a sidecar that is stopped. SIZE_MAX: none.
 */
static size_t distance(const struct party_sight *s, const struct party_chosen *c)
{
	size_t at = 0, best = SIZE_MAX;

	for (size_t i = 0; i < c->count; i++)
		if ((size_t)(c->list[i] - s->tickets) > at)
			at = (size_t)(c->list[i] - s->tickets);
	for (size_t i = 0; i < s->n; i++) {
		size_t far = i > at ? i - at : at - i;
		if (!s->tickets[i].left && s->tickets[i].index < 0 && far < best &&
		    s->tickets[i].session == s->session)
			best = far;
	}
	return best;
}

/*
 * Staggers the opening. The waiter that made the N-th node listed the folder after it, so it has
 * seen all N: it opens at once. The others that see N do so later, if nothing has happened by then,
 * the nearer in line the sooner: with 1,000 members some ten transactions within ten seconds.
 */
static enum party_act consider(const struct party_sight *s, int64_t *try_ms, struct party_chosen *c)
{
	choose(s, c);
	size_t far = c->n > 0 && c->n == c->count ? distance(s, c) : SIZE_MAX;
	if (far == SIZE_MAX) {
		*try_ms = 0;
		return PARTY_REST;
	}
	if (far == 0 || (*try_ms > 0 && s->now_ms >= *try_ms)) {
		*try_ms = s->now_ms + TURN_MS;
		return PARTY_OPEN;
	}
	if (*try_ms == 0)
		*try_ms = s->now_ms + TURN_MS + (int64_t)far * TURN_STEP_MS;
	return PARTY_NOTHING;
}

/*
 * A barrier that nobody uses goes. The first in rank of the fleet removes a gang that has ended or
 * never began, and notes in the record of another that it has been empty for long.
 */
static enum party_act sweep_unused(const struct party_sight *s)
{
	if (!s->there || s->refused || s->n_running + s->n_waiting > 0)
		return PARTY_NOTHING;
	if (party_is_over(s))
		return s->n_names == s->n_marked && s->removes ? PARTY_REMOVE : PARTY_NOTHING;
	return s->dead && !s->noted ? PARTY_NOTE_EMPTY : PARTY_NOTHING;
}

/* Whether a member of a gang that is to stop then has gone without leaving, and nobody says so. */
static bool has_lost_one(const struct party_sight *s)
{
	size_t i = 0;

	while (i < s->size && (s->by_index[i] || s->marked[i]))
		i++;
	return i < s->size && !s->goes_on && !s->lost && s->n_running > 0;
}

enum party_act party_decide(const struct party_sight *s, int64_t *try_ms, struct party_chosen *c)
{
	enum party_act act = PARTY_NOTHING;

	*c = (struct party_chosen){.n = 0};
	if (!s->there && !s->refused && s->makes > 0)
		act = PARTY_MAKE;
	else if (s->sweeps)
		act = sweep_unused(s);
	if (act != PARTY_NOTHING || s->sent)
		return act;
	return has_lost_one(s) ? PARTY_NOTE_LOSS : consider(s, try_ms, c);
}

/* Each member watches the next present one, if that is another sidecar's. */
const struct party_ticket *party_next(const struct party_sight *s, size_t index)
{
	const struct party_ticket *next = NULL;

	for (size_t i = 1; i < s->size && !next; i++)
		next = s->by_index[(index + i) % s->size];
	return next && next->session != s->session ? next : NULL;
}
