/*
 * Staggers the opening. The waiter that made the N-th node listed the folder after it, so it has
 * seen all N: it opens at once. The others that see N do so later, if nothing has happened by then,
 * the nearer in line the sooner: with 1,000 members some ten transactions within ten seconds.
 */
#include <string.h>

#include "node/recipes/party/party_parts.h"

#define TURN_MS	     1000 /* before another than the N-th member opens it */
#define TURN_STEP_MS 200  /* more for each member in between */

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

void party_choose(const struct party *p, struct party_chosen *c)
{
	for (size_t i = 0; i < p->sight->n && (c->count == 0 || c->n < c->count); i++) {
		const struct party_ticket *t = &p->sight->tickets[i];
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

/*
 * The distance, in line, from the last chosen member to the nearest waiter of ours. Waiters behind
 * the last one count, too, as the chosen ones may be of a sidecar that is stopped. SIZE_MAX: none.
 */
static size_t distance(const struct party *p, const struct party_chosen *c)
{
	const struct party_ticket *tickets = p->sight->tickets;
	size_t at = 0, best = SIZE_MAX;

	for (size_t i = 0; i < c->count; i++)
		if ((size_t)(c->list[i] - tickets) > at)
			at = (size_t)(c->list[i] - tickets);
	for (size_t i = 0; i < p->sight->n; i++) {
		size_t far = i > at ? i - at : at - i;
		if (!tickets[i].left && tickets[i].index < 0 && far < best &&
		    tickets[i].session == p->all->session->id)
			best = far;
	}
	return best;
}

void party_consider(struct party *p)
{
	int64_t now = party_now(p);
	struct party_chosen c = {.n = 0};

	p->all->kind->choose(p, &c);
	size_t far = c.n > 0 && c.n == c.count ? distance(p, &c) : SIZE_MAX;
	if (far == SIZE_MAX) {
		p->try_ms = 0;
		party_looked(p);
	} else if (far == 0 || (p->try_ms > 0 && now >= p->try_ms)) {
		p->all->kind->open(p, &c);
		p->try_ms = now + TURN_MS;
	} else if (p->try_ms == 0) {
		p->try_ms = now + TURN_MS + (int64_t)far * TURN_STEP_MS;
	}
}
