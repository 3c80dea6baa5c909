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

static int pack(struct buffer *out, const void *record)
{
	return record_pack_gang(out, record);
}

static int parse(const void *data, size_t len, void *ret_record, const char **ret_why)
{
	return record_parse_gang(data, len, ret_record, ret_why);
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
	.look = gang_look,
	.check = gang_check,
	.decided = gang_decided,
	.sweep = gang_sweep,
	.choose = gang_choose,
	.open = gang_open,
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
	memcpy(m->key, t.key, sizeof(m->key));
	m->count = q->count;
	m->kind = kind;
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
	bool known = m && m->state == PARTY_RUNS && !m->held.owner &&
		     (m->held.told || m->held.attaching) && !m->held.lost;

	/* An attach is allowed while the sidecar stops: the stop waits for the member. */
	if (m ? !known : all->n_members >= PARTY_MEMBERS_MAX) {
		refuse(all, owner, fn, arg, &(struct party_answer){.outcome = PARTY_NOT_THERE});
		return;
	}
	if (!m) {
		m = party_add(p, id);
		party_move(m, PARTY_RUNS);
	}
	holder_attach(&m->held, owner);
	m->fn = fn;
	m->arg = arg;
	party_changed(p);
}

static struct party_member *find(const struct parties *all, const void *owner, uint64_t number)
{
	for (struct party *p = all->list; p; p = p->next)
		for (struct party_member *m = p->members; m; m = m->next)
			if (holder_is(&m->held, owner, number))
				return m;
	return NULL;
}

int64_t gangs_renew(struct parties *all, const void *owner, uint64_t number)
{
	struct party_member *m = find(all, owner, number);

	return m ? holder_renew(&all->holders, &m->held, m->state == PARTY_RUNS) : -1;
}

bool gangs_finish(struct parties *all, const void *owner, uint64_t number, bool interrupted,
		  party_done_fn done, void *arg)
{
	struct party_member *m = find(all, owner, number);

	if (!m)
		return false;
	m->done = done;
	m->done_arg = arg;
	/* A member whose command was ended as another member was lost leaves in order. */
	party_move(m, interrupted && !m->held.lost ? PARTY_LOSES : PARTY_LEAVES);
	holder_let_go(&all->holders, &m->held);
	party_changed(m->party);
	return true;
}
