/* The nodes of a gang's members. Their records say where each is; the gang's record tells all. */
#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "base/log/log.h"
#include "base/mem.h"
#include "node/recipes/party/party_parts.h"

/* --- requests ------------------------------------------------------------- */

static void pack_own(const struct party *p, struct buffer *out)
{
	const struct registry *r = p->all->registry;
	struct gang_member_record record = {.node = ""};

	memcpy(record.node, r->node, sizeof(r->node));
	memcpy(record.machine, r->machine, sizeof(r->machine));
	memcpy(record.ip, r->ip, sizeof(r->ip));
	memcpy(record.hostname, r->hostname, sizeof(r->hostname));
	buffer_init(out, RECORD_GANG_MEMBER_MAX);
	int error = record_pack_gang_member(out, &record);
	assert(error == 0);
	(void)error;
}

/* A member with the key of a lost one takes its place, while another member is there. */
static void come_back(struct party_member *m, const struct buffer *own)
{
	struct party *p = m->party;
	mem_auto struct gang_record *record = mem_alloc(sizeof(*record));
	struct gang_place *place = &record->members[p->all->kind->seat(p, m->place.as.key)];
	const struct registry *r = p->all->registry;
	struct party_ops o;

	*record = *p->gang;
	place->id = m->place.as.id;
	memcpy(place->ip, r->ip, sizeof(place->ip));
	memcpy(place->hostname, r->hostname, sizeof(place->hostname));
	party_ops_init(&o, p, 4, true);
	party_ops_node(&o, STORE_OP_CHECK, gang_runner(p), NULL);
	party_ops_record(&o, STORE_OP_SET, p->version, record);
	party_ops_node(&o, STORE_OP_CREATE_SEQUENTIAL, &m->place.as, own);
	party_ops_send(&o, party_on_done);
}

void gang_make_node(struct party_member *m, bool again)
{
	struct buffer own;

	pack_own(m->party, &own);
	(again ? come_back : party_make_node)(m, &own);
	buffer_done(&own);
}

/* --- rivals with the same key --------------------------------------------- */

struct rival_look {
	struct party *party;
	uint64_t id; /* id of the member that asks */
	uint64_t rival;
};

static void on_rival(void *arg, const struct store_reply *reply)
{
	struct rival_look *look = arg;
	struct party *p = look->party;
	const struct registry *r = p->all->registry;
	struct gang_member_record record;
	const char *why;

	p->dirty = true;
	p->unsure |= party_is_lost(reply);
	for (struct party_member *m = p->closed ? NULL : STAILQ_FIRST(&p->members); m;
	     m = STAILQ_NEXT(m, link)) {
		if (m->place.as.id != look->id || reply->code != STORE_OK)
			continue;
		m->place.rival = look->rival;
		m->place.rival_goes =
			record_parse_gang_member(reply->data, reply->len, &record, &why) == 0 &&
			strcmp(record.node, r->node) == 0 &&
			strcmp(record.machine, r->machine) == 0;
	}
	free(look);
	party_answered(p);
}

/* The read of a rival's node also watches it, so that its end is noticed. */
static void ask_rival(struct party *p, struct party_member *m, const struct party_ticket *t)
{
	struct rival_look *look = mem_alloc(sizeof(*look));

	*look = (struct rival_look){p, m->place.as.id, t->id};
	party_watch(m, t);
	p->busy++;
	watches_get(&p->all->session->watches, m->watched, WATCH_RECIPE, m, on_rival, look);
}

/*
 * A node of our session without a member here is the previous sidecar's: its client returns soon,
 * or it goes. So does one that no client asks for.
 */
void gang_meet(struct party_member *m, struct party_event look, const struct party_ticket *rival)
{
	struct party *p = m->party;
	const struct party_member *other = party_find(p, rival->id);

	if (rival->session != p->all->session->id) {
		ask_rival(p, m, rival);
	} else if (other && other->held.owner && other->place.state != PARTY_ENDS) {
		look.type = PARTY_RIVALLED;
		party_give(m, look);
	} else {
		p->wake_ms = party_now(p) + SESSION_PATIENCE_MS;
	}
}

/* --- the begin: the addresses of all, and then the transaction ------------ */

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
