/* The begin of a gang: the member that opens it writes the members with their addresses. */
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "node/recipes/party/party_parts.h"

/* Chooses all previous members, each under its index. */
static void choose_again(const struct party *p, struct party_chosen *c)
{
	const struct gang_record *r = p->gang;

	c->count = (unsigned)r->count;
	c->kind = r->goes_on ? 'c' : 's';
	for (size_t i = 0; i < p->sight->n; i++) {
		const struct party_ticket *t = &p->sight->tickets[i];
		int index = t->left ? -1 : gang_index_of_key(r, t->key);
		if (index < 0 || c->list[index] || t->count != c->count || t->kind != c->kind)
			continue;
		c->list[index] = t;
		c->n++;
	}
}

void gang_choose(const struct party *p, struct party_chosen *c)
{
	if (p->gang->n == 0)
		party_choose(p, c);
	else if (p->sight->n_running == 0)
		choose_again(p, c);
}

/* --- the addresses, and then the transaction ------------------------------ */

struct start {
	struct party_ops ops; /* on the record, its members, and old marks to delete */
	struct gang_record record;
	size_t pending;
	bool broken;
};

struct start_read {
	struct start *start;
	size_t index;
};

static void on_read(void *arg, const struct store_reply *reply)
{
	struct start_read *read = arg;
	struct start *s = read->start;
	struct party *p = s->ops.party;
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
	p->unsure |= party_is_lost(reply);
	free(read);
	if (--s->pending == 0) {
		p->dirty = true;
		if (!s->broken && !p->closed) {
			party_ops_fill(&s->ops, 0, &s->record);
			party_ops_send(&s->ops, party_on_done);
		} else {
			party_ops_free(&s->ops);
		}
		free(s);
	}
	party_answered(p);
}

/* Only the member that opens the gang reads the addresses from the members' nodes. */
void gang_open(struct party *p, const struct party_chosen *c)
{
	struct start *s = mem_calloc(1, sizeof(*s));

	s->record.instance = p->gang->instance + 1;
	s->record.count = c->count;
	s->record.goes_on = c->kind == 'c';
	s->record.n = c->count;
	s->pending = c->count;
	party_ops_init(&s->ops, p, 1 + c->count + p->sight->n_marked, false);
	party_ops_record(&s->ops, STORE_OP_SET, p->version, NULL);
	for (size_t i = 0; i < c->count; i++) {
		memcpy(s->record.members[i].key, c->list[i]->key, sizeof(c->list[i]->key));
		s->record.members[i].id = c->list[i]->id;
		party_ops_node(&s->ops, STORE_OP_CHECK, c->list[i], NULL);
	}
	for (size_t i = 0; i < p->sight->n && s->ops.n < STORE_OPS_MAX; i++)
		if (p->sight->tickets[i].left)
			party_ops_node(&s->ops, STORE_OP_DELETE, &p->sight->tickets[i], NULL);
	p->busy += c->count;
	for (size_t i = 0; i < c->count; i++) {
		struct start_read *read = mem_alloc(sizeof(*read));
		*read = (struct start_read){s, i};
		store_get(p->all->session->store, s->ops.paths[i + 1], false, on_read, read);
	}
}
