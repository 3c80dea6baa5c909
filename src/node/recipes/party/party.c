#include "node/recipes/party/party.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "base/log/log.h"
#include "base/mem.h"
#include "node/recipes/party/party_parts.h"

static const char session_ended[] = "the session with ZooKeeper has ended";
static const char stopped[] = "the sidecar is being stopped";

int64_t party_now(const struct party *p)
{
	return host_now_ms(p->all->session->host);
}

/* --- members -------------------------------------------------------------- */

struct party_member *party_find(const struct party *p, uint64_t id)
{
	for (struct party_member *m = p->members; m; m = m->next)
		if (m->id == id)
			return m;
	return NULL;
}

struct party_member *party_add(struct party *p, uint64_t id)
{
	struct party_member *m = mem_calloc(1, sizeof(*m)), **end = &p->members;

	m->party = p;
	m->id = id;
	m->session_ms = party_now(p) + SESSION_PATIENCE_MS;
	m->deadline_ms = INT64_MAX;
	holder_init(&p->all->holders, &m->held, NULL);
	while (*end)
		end = &(*end)->next;
	*end = m;
	p->all->n_members++;
	p->dirty = true;
	p->sweep = false;
	return m;
}

/* The states to which a member may move, by its present state. */
static const unsigned moves[] = {
	[PARTY_WAITS] =
		1u << PARTY_RUNS | 1u << PARTY_LEAVES | 1u << PARTY_LOSES | 1u << PARTY_ENDS,
	[PARTY_RUNS] = 1u << PARTY_LEAVES | 1u << PARTY_LOSES,
	[PARTY_LEAVES] = 0,
	[PARTY_LOSES] = 0,
	[PARTY_ENDS] = 1u << PARTY_RUNS | 1u << PARTY_LOSES | 1u << PARTY_ENDS,
};

void party_move(struct party_member *m, enum party_state to)
{
	assert(moves[m->state] & 1u << to);
	m->state = to;
}

const char *party_limit(const struct parties *all)
{
	if (all->stopping)
		return stopped;
	if (all->n_members < PARTY_MEMBERS_MAX)
		return NULL;
	return all->kind->leased ? "too many members of gangs at this sidecar: at most 1000"
				 : "too many members of barriers at this sidecar: at most 1000";
}

void party_tell_early(struct party_member *m, const struct party_answer *answer)
{
	party_fn fn = m->fn;

	m->fn = NULL;
	if (fn)
		fn(m->arg, answer);
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

void party_tell(struct party_member *m, const struct party_answer *answer)
{
	struct party *p = m->party;
	struct party_member **link = &p->members;

	while (*link != m)
		link = &(*link)->next;
	*link = m->next;
	p->all->n_members--;
	party_watch(m, NULL);
	if (!p->members)
		unwatch_record(p);
	party_tell_early(m, answer);
	holder_let_go(&p->all->holders, &m->held);
	if (m->done)
		m->done(m->done_arg);
	free(m);
}

/* --- parties -------------------------------------------------------------- */

struct party *party_get(struct parties *all, const char *name)
{
	struct party **end = &all->list;

	for (; *end; end = &(*end)->next)
		if (strcmp((*end)->name, name) == 0)
			return *end;
	*end = mem_calloc(1, sizeof(**end));
	(*end)->all = all;
	memcpy((*end)->name, name, strlen(name));
	return *end;
}

void party_drop(struct party *p)
{
	struct party **link = &p->all->list;

	while (*link != p)
		link = &(*link)->next;
	*link = p->next;
	p->closed = true;
	if (p->busy == 0)
		free(p);
}

void party_go_on(struct party *p)
{
	const struct session *s = p->all->session;

	if (p->busy == 0 && p->dirty && p->retry_ms <= party_now(p) && !p->all->kept &&
	    session_is_up(s) && s->registration[0])
		party_read(p);
}

void party_changed(struct party *p)
{
	p->dirty = true;
	party_go_on(p);
	parties_schedule(p->all);
}

static void go_on_all(struct parties *all)
{
	for (struct party *p = all->list; p; p = p->next)
		party_go_on(p);
	parties_schedule(all);
}

/* --- from the session ----------------------------------------------------- */

void parties_up(struct parties *all)
{
	parties_time_up(all);
	for (struct party *p = all->list; p; p = p->next) {
		p->dirty |= p->members != NULL;
		p->unsure = true;
	}
	go_on_all(all);
}

void parties_leased(struct parties *all)
{
	for (struct party *p = all->list; p; p = p->next)
		for (const struct party_member *m = p->members; m; m = m->next)
			p->dirty |= m->state == PARTY_RUNS && m->fn;
	go_on_all(all);
}

/* The member's node has gone with the session. */
static void expire(struct party *p, struct party_member *m)
{
	party_watch(m, NULL);
	if (m->state == PARTY_WAITS || !p->all->kind->leased)
		return;
	if (m->state != PARTY_RUNS) { /* may have been in a gang before that */
		party_tell(m,
			   &(struct party_answer){.outcome = PARTY_FAILED, .why = session_ended});
		return;
	}
	if (m->held.told && !m->held.lost)
		log_warning("gang lost", LOG_STR("gang", p->name),
			    LOG_INT("index", (int64_t)m->index));
	holder_lose(&m->held);
}

void parties_expired(struct parties *all)
{
	all->former = (struct holder_former){.until_ms = 0};
	for (struct party *p = all->list; p; p = p->next) {
		struct party_member *next;
		p->orphans = p->sweep = false;
		for (struct party_member *m = p->members; m; m = next) {
			next = m->next;
			expire(p, m);
		}
	}
	parties_schedule(all);
}

/* The path is that of a record, or of a node below it, which several members may watch. */
void parties_watch(struct parties *all, const char *path)
{
	char own[STORE_PATH_MAX];

	for (struct party *p = all->list; p; p = p->next) {
		party_path(p, own);
		size_t len = strlen(own);
		if (strncmp(path, own, len) != 0 || (path[len] != '\0' && path[len] != '/'))
			continue;
		for (struct party_member *m = p->members; m; m = m->next)
			if (strcmp(m->watched, path) == 0)
				m->watched[0] = '\0';
		p->dirty |= p->members != NULL;
		party_go_on(p);
	}
}

/* --- from outside --------------------------------------------------------- */

static void owner_gone(struct party_member *m)
{
	holder_owner_gone(&m->party->all->holders, &m->held);
	party_tell_early(m, &(struct party_answer){.outcome = PARTY_WITHDRAWN});
	m->party->dirty = true;
	if (m->held.attaching)
		return;
	if (m->state == PARTY_WAITS)
		party_move(m, PARTY_ENDS);
	else if (m->state == PARTY_RUNS && !m->held.told)
		party_move(m, PARTY_LOSES);
}

void parties_owner_gone(struct parties *all, const void *owner)
{
	for (struct party *p = all->list; p; p = p->next)
		for (struct party_member *m = p->members; m; m = m->next)
			if (m->held.owner == owner)
				owner_gone(m);
	go_on_all(all);
}

void parties_keep(struct parties *all)
{
	all->kept = true;
}

void parties_stop(struct parties *all)
{
	all->stopping = true;
	for (struct party *p = all->list; p; p = p->next) {
		for (struct party_member *m = p->members; m; m = m->next) {
			if (m->state != PARTY_WAITS)
				continue;
			party_move(m, PARTY_ENDS);
			p->dirty = true;
			party_tell_early(
				m, &(struct party_answer){.outcome = PARTY_FAILED, .why = stopped});
		}
	}
	go_on_all(all);
}

void parties_take_over(struct parties *all, int64_t timeout_ms)
{
	holder_former_take_over(&all->former, all->session, timeout_ms);
}

bool parties_know(const struct parties *all, const char *name, uint64_t id)
{
	for (struct party *p = all->list; p; p = p->next)
		if (strcmp(p->name, name) == 0)
			return party_find(p, id) != NULL;
	return false;
}

size_t parties_going(const struct parties *all)
{
	size_t n = 0;

	for (const struct party *p = all->list; p; p = p->next)
		for (const struct party_member *m = p->members; m; m = m->next)
			n += m->state == PARTY_RUNS && holder_is_alive(&all->holders, &m->held);
	return n;
}

void parties_revoke(struct parties *all)
{
	all->holders.revoked = true;
}

void parties_on_release(struct parties *all, void (*released)(void *owner))
{
	all->holders.released = released;
}

void parties_init(struct parties *all, const struct party_kind *kind, struct session *session,
		  struct registry *registry, struct roster *roster)
{
	*all = (struct parties){.kind = kind,
				.session = session,
				.registry = registry,
				.roster = roster,
				.holders = {.session = session}};
	parties_time_init(all);
}

void parties_done(struct parties *all)
{
	const struct party_answer answer = {.outcome = PARTY_ENDED, .why = "the sidecar has ended"};

	while (all->list) {
		struct party *p = all->list;
		while (p->members)			 /* NOLINT: each takes itself out */
			party_tell(p->members, &answer); /* NOLINT */
		party_drop(p);
	}
	parties_time_done(all);
}
