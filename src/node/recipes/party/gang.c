/* Requests about gangs: members join, reattach, renew their lease and finish. */
#include "node/recipes/party/gang.h"

#include <stdio.h>
#include <string.h>

#include "node/recipes/party/party_parts.h"

static int index_of(const struct party *p, uint64_t id)
{
	for (size_t i = 0; i < p->gang->n; i++)
		if (p->gang->members[i].id == id)
			return (int)i;
	return -1;
}

static int seat_of(const struct party *p, const char *key)
{
	for (size_t i = 0; i < p->gang->n; i++)
		if (strcmp(p->gang->members[i].key, key) == 0)
			return (int)i;
	return -1;
}

static int pack(struct buffer *out, const void *record)
{
	return record_pack_gang(out, record);
}

static int parse(const void *data, size_t len, void *ret_record, const char **ret_why)
{
	return record_parse_gang(data, len, ret_record, ret_why);
}

static void fill_sight(struct party *p, struct party_sight *s)
{
	gang_look(p);
	s->size = p->gang->n;
	s->count = (unsigned)p->gang->count;
	s->goes_on = p->gang->goes_on;
	s->lost = p->gang->lost;
	s->noted = p->gang->empty == p->pzxid;
	s->dead = gang_is_dead(p);
}

/* If all are to stop when one is lost, each member watches another. */
static void set_watches(struct party *p)
{
	for (struct party_member *m = STAILQ_FIRST(&p->members); m; m = STAILQ_NEXT(m, link))
		if (p->gang->n > 0 && !p->gang->goes_on && m->place.state == PARTY_RUNS &&
		    !m->held.lost)
			party_watch_end(m, party_next(p->sight, m->place.index));
}

const struct party_kind gang_kind = {
	.word = "gang",
	.refused = "gang refused by the server",
	.strange = "gang not understood",
	.foreign = "there is something else in the gang's place",
	.folder = PATH_GANGS,
	.leased = true,
	.sweep_ms = GANG_SWEEP_MS,
	.record_size = sizeof(struct gang_record),
	.record_max = RECORD_GANG_MAX,
	.pack = pack,
	.parse = parse,
	.index = index_of,
	.seat = seat_of,
	.fill = fill_sight,
	.remove = gang_dissolve,
	.open = gang_open,
	.watch = set_watches,
};

static void refuse(struct parties *all, void *owner, party_fn fn, void *arg,
		   const struct party_answer *answer)
{
	fn(arg, answer);
	holders_release(&all->holders, owner);
	parties_schedule(all);
}

void gangs_join(struct parties *all, const struct gang_request *q, party_fn fn, void *arg)
{
	const char *key = q->key ? q->key : all->registry->node, *why = party_limit(all);
	char kind = q->goes_on ? 'c' : 's', path[STORE_PATH_MAX];
	struct party_ticket t = {.id = q->id, .count = q->count, .kind = kind};

	snprintf(t.key, sizeof(t.key), "%s", key);
	if (!why && !party_ticket_path(all->registry->settings, PATH_GANGS, q->name, &t, path))
		why = "the root's path is too long for a gang's members";
	if (!why && parties_know(all, q->name, q->id))
		why = "that member is there already";
	if (why) {
		refuse(all, q->owner, fn, arg,
		       &(struct party_answer){.outcome = PARTY_FAILED, .why = why});
		return;
	}
	struct party_member *m = party_add(party_get(all, q->name), q->id);
	m->place.as = t;
	m->fn = fn;
	m->arg = arg;
	holder_take(&m->held, q->owner);
	if (q->timeout_ms >= 0)
		m->deadline_ms = party_now(m->party) + q->timeout_ms;
	m->session_ms = party_now(m->party) + session_patience(q->timeout_ms);
	party_changed(m->party);
}

void gangs_attach(struct parties *all, void *owner, const char *name, uint64_t id, party_fn fn,
		  void *arg)
{
	struct party *p = party_get(all, name);
	struct party_member *m = party_find(p, id);
	bool known = m && m->place.state == PARTY_RUNS && !m->held.owner &&
		     (m->held.told || m->held.attaching) && !m->held.lost;

	/* An attach is allowed while the sidecar stops: the stop waits for the member. */
	if (m ? !known : all->n_members >= PARTY_MEMBERS_MAX) {
		refuse(all, owner, fn, arg, &(struct party_answer){.outcome = PARTY_NOT_THERE});
		return;
	}
	if (!m) {
		m = party_add(p, id);
		party_happens(m, PARTY_INSIDE);
	}
	holder_attach(&m->held, owner);
	m->fn = fn;
	m->arg = arg;
	party_changed(p);
}

static struct party_member *find(const struct parties *all, const void *owner, uint64_t number)
{
	for (struct party *p = STAILQ_FIRST(&all->list); p; p = STAILQ_NEXT(p, link))
		for (struct party_member *m = STAILQ_FIRST(&p->members); m;
		     m = STAILQ_NEXT(m, link))
			if (holder_is(&m->held, owner, number))
				return m;
	return NULL;
}

int64_t gangs_renew(struct parties *all, const void *owner, uint64_t number)
{
	struct party_member *m = find(all, owner, number);

	return m ? holder_renew(&all->holders, &m->held, m->place.state == PARTY_RUNS) : -1;
}

bool gangs_finish(struct parties *all, const void *owner, uint64_t number, bool interrupted,
		  party_done_fn done, void *arg)
{
	struct party_member *m = find(all, owner, number);

	if (!m)
		return false;
	m->done = done;
	m->done_arg = arg;
	party_give(m, (struct party_event){.type = PARTY_FINISHED, .interrupted = interrupted});
	holder_let_go(&all->holders, &m->held);
	party_changed(m->party);
	return true;
}
