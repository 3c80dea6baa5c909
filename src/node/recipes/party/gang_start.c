/*
 * Staggers the begin of a gang. The waiter that made the N-th node listed the folder after it, so
 * it has seen all N: it begins at once. The others that see N do so later, if nothing has happened
 * by then, the nearer in line the sooner. Before that, this one alone reads the addresses from the
 * members' nodes, to write them into the record with the members.
 */
#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "node/recipes/party/gang_parts.h"
#include "node/tree/paths.h"

#define TURN_MS	     1000 /* before another than the N-th begins it */
#define TURN_STEP_MS 200  /* for each in between */

/* The members to be, by their index; NULL: none for that index. */
struct chosen {
	const struct gang_ticket *list[GANG_COUNT_MAX];
	size_t n;	/* that are not NULL */
	unsigned count; /* 0: nobody waits */
	bool goes_on;
};

static bool has_key(const struct chosen *c, const char *key)
{
	for (size_t i = 0; i < c->n; i++)
		if (strcmp(c->list[i]->key, key) == 0)
			return true;
	return false;
}

/* The first waiter decides the count. */
static void choose_new(const struct gang *g, struct chosen *c)
{
	for (size_t i = 0; i < g->sight->n && (c->count == 0 || c->n < c->count); i++) {
		const struct gang_ticket *t = &g->sight->tickets[i];
		if (t->left)
			continue;
		if (c->count == 0) {
			c->count = t->count;
			c->goes_on = t->goes_on;
		}
		if (t->count == c->count && t->goes_on == c->goes_on && !has_key(c, t->key))
			c->list[c->n++] = t;
	}
}

/* All previous members, each under its index. */
static void choose_again(const struct gang *g, struct chosen *c)
{
	const struct gang_record *r = g->record;

	c->count = (unsigned)r->count;
	c->goes_on = r->goes_on;
	for (size_t i = 0; i < g->sight->n; i++) {
		const struct gang_ticket *t = &g->sight->tickets[i];
		int index = t->left ? -1 : gang_index_of_key(r, t->key);
		if (index < 0 || c->list[index] || t->count != c->count || t->goes_on != c->goes_on)
			continue;
		c->list[index] = t;
		c->n++;
	}
}

/* How far from the last that came is the nearest of ours among them; SIZE_MAX: none is. */
static size_t distance(const struct gang *g, const struct chosen *c)
{
	size_t at = 0, best = SIZE_MAX;

	for (size_t i = 0; i < c->count; i++)
		if ((size_t)(c->list[i] - g->sight->tickets) > at)
			at = (size_t)(c->list[i] - g->sight->tickets);
	for (size_t i = 0; i < c->count; i++) {
		size_t far = at - (size_t)(c->list[i] - g->sight->tickets);
		if (c->list[i]->session == g->all->session->id && far < best)
			best = far;
	}
	return best;
}

/* --- the addresses, and then the transaction ------------------------------ */

struct start {
	struct gang *gang;
	struct gang_record record;
	int32_t version;
	char (*paths)[STORE_PATH_MAX]; /* of the record, its members, and marks that are to go */
	size_t n_marks, pending;
	bool broken;
};

struct start_read {
	struct start *start;
	size_t index;
};

static void start_free(struct start *s)
{
	free(s->paths);
	free(s);
}

static void begin(struct start *s)
{
	struct gang *g = s->gang;
	size_t n = s->record.n, n_ops = 1;
	mem_auto struct store_op *ops = mem_calloc(1 + n + s->n_marks, sizeof(*ops));
	struct buffer data;

	buffer_init(&data, RECORD_GANG_MAX);
	int error = record_pack_gang(&data, &s->record);
	assert(error == 0); /* all of it is bounded */
	(void)error;
	ops[0] = (struct store_op){.type = STORE_OP_SET,
				   .path = s->paths[0],
				   .data = data.data,
				   .len = data.len,
				   .version = s->version};
	for (; n_ops <= n; n_ops++)
		ops[n_ops] = (struct store_op){
			.type = STORE_OP_CHECK, .path = s->paths[n_ops], .version = -1};
	for (; n_ops <= n + s->n_marks; n_ops++)
		ops[n_ops] = (struct store_op){
			.type = STORE_OP_DELETE, .path = s->paths[n_ops], .version = -1};
	g->busy++;
	store_multi(g->all->session->store, ops, n_ops, gang_on_done, g);
	buffer_done(&data);
}

static void on_read(void *arg, const struct store_reply *reply)
{
	struct start_read *read = arg;
	struct start *s = read->start;
	struct gang *g = s->gang;
	struct gang_place *place = &s->record.members[read->index];
	struct gang_member_record m;
	const char *why;

	if (reply->code != STORE_OK ||
	    record_parse_gang_member(reply->data, reply->len, &m, &why) != 0) {
		s->broken = true;
	} else {
		memcpy(place->ip, m.ip, sizeof(m.ip));
		memcpy(place->hostname, m.hostname, sizeof(m.hostname));
	}
	g->unsure |= gang_is_lost(reply);
	free(read);
	if (--s->pending == 0) {
		g->dirty = true;
		if (!s->broken && !g->closed)
			begin(s);
		start_free(s);
	}
	gang_answered(g);
}

static void read_members(struct gang *g, const struct chosen *c)
{
	const struct node_settings *settings = g->all->registry->settings;
	struct start *s = mem_calloc(1, sizeof(*s));
	size_t n = 1;

	s->gang = g;
	s->version = g->version;
	s->paths = mem_calloc(1 + c->count + g->sight->n_marked, sizeof(*s->paths));
	s->record.instance = g->record->instance + 1;
	s->record.count = c->count;
	s->record.goes_on = c->goes_on;
	gang_path(g, s->paths[0]);
	for (; n <= c->count; n++) {
		struct gang_place *place = &s->record.members[n - 1];
		const struct gang_ticket *t = c->list[n - 1];
		memcpy(place->key, t->key, sizeof(t->key));
		place->id = t->id;
		gang_ticket_path(settings, g->name, t, s->paths[n]);
	}
	s->record.n = c->count;
	for (size_t i = 0; i < g->sight->n && n < STORE_OPS_MAX; i++)
		if (g->sight->tickets[i].left)
			gang_ticket_path(settings, g->name, &g->sight->tickets[i], s->paths[n++]);
	s->n_marks = n - 1 - c->count;
	s->pending = c->count;
	g->busy += c->count;
	for (size_t i = 0; i < c->count; i++) {
		struct start_read *read = mem_alloc(sizeof(*read));
		*read = (struct start_read){s, i};
		store_get(g->all->session->store, s->paths[i + 1], false, on_read, read);
	}
}

void gang_consider(struct gang *g)
{
	int64_t now = host_now_ms(g->all->session->host);
	struct chosen c = {.n = 0};

	if (g->record->n == 0)
		choose_new(g, &c);
	else if (g->sight->n_running == 0)
		choose_again(g, &c);
	size_t far = c.n > 0 && c.n == c.count ? distance(g, &c) : SIZE_MAX;
	if (far == SIZE_MAX) {
		g->try_ms = 0;
	} else if (far == 0 || (g->try_ms > 0 && now >= g->try_ms)) {
		read_members(g, &c);
		g->try_ms = now + TURN_MS;
	} else if (g->try_ms == 0) {
		g->try_ms = now + TURN_MS + (int64_t)far * TURN_STEP_MS;
	}
}
