/* The members of a party here: their steps, and what follows from those. */
#include <stdlib.h>
#include <string.h>

#include "base/log/log.h"
#include "base/mem.h"
#include "node/recipes/party/party_parts.h"

#define PAUSE_MS 1000 /* before a dead gang is looked at again */

struct party_member *party_find(const struct party *p, uint64_t id)
{
	for (struct party_member *m = STAILQ_FIRST(&p->members); m; m = STAILQ_NEXT(m, link))
		if (m->place.as.id == id)
			return m;
	return NULL;
}

struct party_member *party_add(struct party *p, uint64_t id)
{
	struct party_member *m = mem_calloc(1, sizeof(*m));

	m->party = p;
	m->place.as.id = id;
	m->session_ms = party_now(p) + SESSION_PATIENCE_MS;
	m->deadline_ms = INT64_MAX;
	holder_init(&p->all->holders, &m->held, NULL);
	STAILQ_INSERT_TAIL(&p->members, m, link);
	p->all->n_members++;
	p->dirty = true;
	p->sweep = false;
	return m;
}

bool party_watch(struct party_member *m, const struct party_ticket *t)
{
	const struct party *p = m->party;
	char path[STORE_PATH_MAX] = "";

	if (t &&
	    !party_ticket_path(p->all->registry->settings, p->all->kind->folder, p->name, t, path))
		path[0] = '\0';
	if (strcmp(path, m->watched) == 0)
		return false;
	if (m->watched[0])
		watches_drop(&p->all->session->watches, m->watched, WATCH_NODE, m);
	memcpy(m->watched, path, sizeof(path));
	return path[0] != '\0';
}

/* The watch of the record is dropped with the last member here. */
static void unwatch_record(struct party *p)
{
	char path[STORE_PATH_MAX];

	party_path(p, path);
	watches_drop(&p->all->session->watches, path, WATCH_NODE, p);
}

/* Sends the answer now; the member stays. */
static void tell_early(struct party_member *m, const struct party_answer *answer)
{
	party_fn fn = m->fn;

	m->fn = NULL;
	if (fn)
		fn(m->arg, answer);
}

void party_tell(struct party_member *m, const struct party_answer *answer)
{
	struct party *p = m->party;

	STAILQ_REMOVE(&p->members, m, party_member, link);
	p->all->n_members--;
	party_watch(m, NULL);
	if (STAILQ_EMPTY(&p->members))
		unwatch_record(p);
	tell_early(m, answer);
	holder_let_go(&p->all->holders, &m->held);
	if (m->done)
		m->done(m->done_arg);
	free(m);
}

/* Tells the client, if the lease is long enough. */
static void tell_started(struct party_member *m)
{
	const struct party *p = m->party;
	bool goes_on = m->held.told || m->held.attaching;

	if (!holder_tells(&p->all->holders, &m->held))
		return;
	if (goes_on)
		log_info("gang goes on", LOG_STR("gang", p->name),
			 LOG_INT("index", (int64_t)m->place.index));
	tell_early(m, &(struct party_answer){.outcome = PARTY_OPENED,
					     .number = m->held.number,
					     .index = m->place.index,
					     .record = p->gang});
}

/* A supervisor that is back may not go on: its command has as long as was promised before. */
static void refuse_owner(struct party_member *m, const struct party_answer *answer)
{
	const struct holders *all = &m->party->all->holders;
	void *owner = m->held.owner;

	tell_early(m, answer);
	holder_owner_gone(all, &m->held);
	holders_release(all, owner);
}

static void set_deadline(struct party_member *m, enum party_until until)
{
	static const int64_t ms[] = {
		[PARTY_GRACE] = PARTY_GRACE_MS, [PARTY_HALF_GRACE] = PARTY_GRACE_MS / 2};

	if (until != PARTY_AS_BEFORE)
		m->deadline_ms =
			until == PARTY_FOR_EVER ? INT64_MAX : party_now(m->party) + ms[until];
}

/* Sends what is to be requested. A node of the member is one of the present session. */
static void perform(struct party_member *m, const struct party_actions *a)
{
	struct party *p = m->party;
	bool again = a->act == PARTY_COME_BACK;

	m->place.as.session = p->all->session->id;
	if (a->act == PARTY_DELETE_NODE)
		party_delete_node(p, a->node, a->how);
	else if (a->act == PARTY_REMOVE)
		p->all->kind->remove(p);
	else if (a->act == PARTY_WAIT)
		p->wake_ms = party_now(p) + PAUSE_MS;
	else if (a->act == PARTY_MAKE_NODE && !p->all->kind->leased)
		party_make_node(m, NULL);
	else if (a->act == PARTY_MAKE_NODE || again)
		gang_make_node(m, again);
}

void party_give(struct party_member *m, struct party_event event)
{
	struct party_actions a;

	event.asked = m->fn;
	event.owned = m->held.owner;
	event.told = m->held.told;
	event.attaching = m->held.attaching;
	event.lost = m->held.lost;
	party_step(&m->place, &event, &a);
	m->party->dirty |= a.reads;
	if (a.loses)
		holder_lose(&m->held);
	set_deadline(m, a.until);
	perform(m, &a);
	const struct party_answer answer = {.outcome = a.verdict.outcome,
					    .round = a.verdict.round,
					    .count = a.verdict.count,
					    .why = a.verdict.why};
	if (m->place.state == PARTY_GONE)
		party_tell(m, &answer);
	else if (a.lets_go)
		refuse_owner(m, &answer);
	else if (a.tells)
		tell_early(m, &answer);
	else if (a.starts)
		tell_started(m);
	else if (a.act == PARTY_RIVAL)
		gang_meet(m, event, a.node);
}

void party_happens(struct party_member *m, enum party_event_type type)
{
	party_give(m, (struct party_event){.type = type});
}
