#include "node/recipes/party/party.h"

#include <stdlib.h>
#include <string.h>

#include "base/log/log.h"
#include "base/mem.h"
#include "node/recipes/party/party_parts.h"

static const char stopped[] = "the sidecar is being stopped";

int64_t party_now(const struct party *p)
{
	return host_now_ms(p->all->session->host);
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

/* --- parties -------------------------------------------------------------- */

struct party *party_get(struct parties *all, const char *name)
{
	struct party *p;

	STAILQ_FOREACH(p, &all->list, link)
	if (strcmp(p->name, name) == 0)
		return p;
	p = mem_calloc(1, sizeof(*p));
	p->all = all;
	memcpy(p->name, name, strlen(name));
	STAILQ_INIT(&p->members);
	STAILQ_INSERT_TAIL(&all->list, p, link);
	return p;
}

void party_drop(struct party *p)
{
	STAILQ_REMOVE(&p->all->list, p, party, link);
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
	for (struct party *p = STAILQ_FIRST(&all->list); p; p = STAILQ_NEXT(p, link))
		party_go_on(p);
	parties_schedule(all);
}

/* --- from the session ----------------------------------------------------- */

void parties_up(struct parties *all)
{
	parties_time_up(all);
	for (struct party *p = STAILQ_FIRST(&all->list); p; p = STAILQ_NEXT(p, link)) {
		p->dirty |= !STAILQ_EMPTY(&p->members);
		p->unsure = true;
	}
	go_on_all(all);
}

void parties_leased(struct parties *all)
{
	for (struct party *p = STAILQ_FIRST(&all->list); p; p = STAILQ_NEXT(p, link))
		for (const struct party_member *m = STAILQ_FIRST(&p->members); m;
		     m = STAILQ_NEXT(m, link))
			p->dirty |= m->place.state == PARTY_RUNS && m->fn;
	go_on_all(all);
}

/* The member's node has gone with the session. */
static void expire(struct party *p, struct party_member *m)
{
	party_watch(m, NULL);
	if (m->place.state == PARTY_RUNS && m->held.told && !m->held.lost)
		log_warning("gang lost", LOG_STR("gang", p->name),
			    LOG_INT("index", (int64_t)m->place.index));
	if (p->all->kind->leased)
		party_happens(m, PARTY_EXPIRED);
}

void parties_expired(struct parties *all)
{
	all->former = (struct holder_former){.until_ms = 0};
	for (struct party *p = STAILQ_FIRST(&all->list); p; p = STAILQ_NEXT(p, link)) {
		struct party_member *next;
		p->orphans = p->sweep = false;
		for (struct party_member *m = STAILQ_FIRST(&p->members); m; m = next) {
			next = STAILQ_NEXT(m, link);
			expire(p, m);
		}
	}
	parties_schedule(all);
}

/* The path is that of a record, or of a node below it, which several members may watch. */
void parties_watch(struct parties *all, const char *path)
{
	char own[STORE_PATH_MAX];

	for (struct party *p = STAILQ_FIRST(&all->list); p; p = STAILQ_NEXT(p, link)) {
		party_path(p, own);
		size_t len = strlen(own);
		if (strncmp(path, own, len) != 0 || (path[len] != '\0' && path[len] != '/'))
			continue;
		for (struct party_member *m = STAILQ_FIRST(&p->members); m;
		     m = STAILQ_NEXT(m, link))
			if (strcmp(m->watched, path) == 0)
				m->watched[0] = '\0';
		p->dirty |= !STAILQ_EMPTY(&p->members);
		party_go_on(p);
	}
}

/* --- from outside --------------------------------------------------------- */

void parties_owner_gone(struct parties *all, const void *owner)
{
	for (struct party *p = STAILQ_FIRST(&all->list); p; p = STAILQ_NEXT(p, link)) {
		for (struct party_member *m = STAILQ_FIRST(&p->members); m;
		     m = STAILQ_NEXT(m, link)) {
			if (m->held.owner != owner)
				continue;
			holder_owner_gone(&all->holders, &m->held);
			party_happens(m, PARTY_ABANDONED);
		}
	}
	go_on_all(all);
}

void parties_keep(struct parties *all)
{
	all->kept = true;
}

void parties_stop(struct parties *all)
{
	all->stopping = true;
	for (struct party *p = STAILQ_FIRST(&all->list); p; p = STAILQ_NEXT(p, link))
		for (struct party_member *m = STAILQ_FIRST(&p->members); m;
		     m = STAILQ_NEXT(m, link))
			party_give(m, (struct party_event){.type = PARTY_GIVEN_UP, .why = stopped});
	go_on_all(all);
}

void parties_take_over(struct parties *all, int64_t timeout_ms)
{
	holder_former_take_over(&all->former, all->session, timeout_ms);
}

bool parties_know(const struct parties *all, const char *name, uint64_t id)
{
	for (struct party *p = STAILQ_FIRST(&all->list); p; p = STAILQ_NEXT(p, link))
		if (strcmp(p->name, name) == 0)
			return party_find(p, id) != NULL;
	return false;
}

size_t parties_going(const struct parties *all)
{
	size_t n = 0;

	for (const struct party *p = STAILQ_FIRST(&all->list); p; p = STAILQ_NEXT(p, link))
		for (const struct party_member *m = STAILQ_FIRST(&p->members); m;
		     m = STAILQ_NEXT(m, link))
			n += m->place.state == PARTY_RUNS &&
			     holder_is_alive(&all->holders, &m->held);
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
	STAILQ_INIT(&all->list);
	parties_time_init(all);
}

void parties_done(struct parties *all)
{
	const struct party_answer answer = {.outcome = PARTY_ENDED, .why = "the sidecar has ended"};

	while (!STAILQ_EMPTY(&all->list)) {
		struct party *p = STAILQ_FIRST(&all->list);
		while (!STAILQ_EMPTY(&p->members)) /* each takes itself out */
			party_tell(STAILQ_FIRST(&p->members), &answer);
		party_drop(p);
	}
	parties_time_done(all);
}
