/*
 * Staggers the opening of a round. The member that made the N-th node listed the folder after it,
 * so it has seen all N: it opens at once. The others that see N open later, if nothing has happened
 * by then, the nearer in line the sooner: with 1,000 members some ten transactions within ten
 * seconds.
 */
#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "node/recipes/party/barrier_parts.h"

#define TURN_MS	     1000 /* before another than the N-th opens */
#define TURN_STEP_MS 200  /* for each in between */

/* The members counted next, in order; fewer than `count` if not all are present. */
struct chosen {
	const struct ticket *list[BARRIER_COUNT_MAX];
	size_t n;
	unsigned count;
};

static bool is_chosen(const struct chosen *c, uint64_t id)
{
	for (size_t i = 0; i < c->n; i++)
		if (c->list[i]->id == id)
			return true;
	return false;
}

/* The first waiter decides the count; a member may have a node of an earlier session, too. */
static void choose(const struct barrier *b, const struct sight *sight, struct chosen *c)
{
	c->n = c->count = 0;
	for (size_t i = 0; i < sight->n && (c->count == 0 || c->n < c->count); i++) {
		const struct ticket *t = &sight->tickets[i];
		if (barrier_has_counted(b, t->id))
			continue;
		if (c->count == 0)
			c->count = t->count;
		if (t->count == c->count && !is_chosen(c, t->id))
			c->list[c->n++] = t;
	}
}

static bool anybody_inside(const struct barrier *b, const struct sight *sight)
{
	for (size_t i = 0; i < sight->n; i++)
		if (sight->tickets[i].command && barrier_has_counted(b, sight->tickets[i].id))
			return true;
	return false;
}

/* How far from the N-th is the nearest of ours; SIZE_MAX: none waits. */
static size_t distance(const struct barrier *b, const struct sight *sight, const struct chosen *c)
{
	const struct ticket *nth = c->list[c->n - 1];
	size_t at = (size_t)(nth - sight->tickets), best = SIZE_MAX;

	for (size_t i = 0; i < sight->n; i++) {
		size_t far = i > at ? i - at : at - i;
		if (far < best && sight->tickets[i].session == b->all->session->id &&
		    !barrier_has_counted(b, sight->tickets[i].id))
			best = far;
	}
	return best;
}

/* A member without a command has nothing more to do here: its node goes. */
static void open_round(struct barrier *b, const struct chosen *c)
{
	struct barrier_record *record = mem_alloc(sizeof(*record));
	struct store_op *ops = mem_calloc(c->n + 1, sizeof(*ops));
	char *paths = mem_calloc(c->n + 1, STORE_PATH_MAX);
	uint64_t ids[BARRIER_COUNT_MAX];
	struct buffer data;

	*record = *b->record;
	for (size_t i = 0; i < c->n; i++)
		ids[i] = c->list[i]->id;
	barrier_record_open(record, ids, c->n);
	buffer_init(&data, RECORD_BARRIER_MAX);
	int error = record_pack_barrier(&data, record);
	assert(error == 0); /* numbers alone, and not too many */
	(void)error;
	barrier_path(b, NULL, paths);
	ops[0] = (struct store_op){.type = STORE_OP_SET,
				   .path = paths,
				   .data = data.data,
				   .len = data.len,
				   .version = b->version};
	for (size_t i = 0; i < c->n; i++) {
		char *path = paths + (i + 1) * STORE_PATH_MAX;
		barrier_path(b, c->list[i]->name, path);
		ops[i + 1] = (struct store_op){.type = c->list[i]->command ? STORE_OP_CHECK
									   : STORE_OP_DELETE,
					       .path = path,
					       .version = -1};
	}
	b->busy++;
	store_multi(b->all->session->store, ops, c->n + 1, barrier_on_done, b);
	buffer_done(&data);
	free(paths);
	free(ops);
	free(record);
}

void barrier_consider(struct barrier *b, const struct sight *sight)
{
	int64_t now = host_now_ms(b->all->session->host);
	struct chosen c;

	choose(b, sight, &c);
	size_t far = c.n > 0 ? distance(b, sight, &c) : SIZE_MAX;
	if (c.n < c.count || far == SIZE_MAX || anybody_inside(b, sight)) {
		b->try_ms = 0;
	} else if (far == 0 || (b->try_ms > 0 && now >= b->try_ms)) {
		open_round(b, &c);
		b->try_ms = now + TURN_MS;
	} else if (b->try_ms == 0) {
		b->try_ms = now + TURN_MS + (int64_t)far * TURN_STEP_MS;
	}
	barriers_schedule(b->all);
}
