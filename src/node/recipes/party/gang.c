#include "node/recipes/party/gang.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/log/log.h"
#include "base/mem.h"
#include "node/recipes/party/gang_parts.h"
#include "node/tree/paths.h"

static const char session_ended[] = "the session with ZooKeeper has ended";
static const char stopped[] = "the sidecar is being stopped";

static int64_t now_of(const struct gangs *all)
{
	return host_now_ms(all->session->host);
}

/* --- members -------------------------------------------------------------- */

struct gang_member *gang_add(struct gang *g, uint64_t id)
{
	struct gang_member *m = mem_calloc(1, sizeof(*m)), **end = &g->members;

	m->gang = g;
	m->id = id;
	holder_init(&g->all->holders, &m->held, NULL);
	m->session_ms = now_of(g->all) + SESSION_PATIENCE_MS;
	m->deadline_ms = INT64_MAX;
	while (*end)
		end = &(*end)->next;
	*end = m;
	g->all->n_members++;
	g->dirty = true;
	return m;
}

void gang_tell_early(struct gang_member *m, const struct gang_answer *answer)
{
	gang_fn fn = m->fn;

	m->fn = NULL;
	if (fn)
		fn(m->arg, answer);
}

void gang_unwatch(struct gang_member *m)
{
	if (m->watched[0])
		watches_drop(&m->gang->all->session->watches, m->watched, WATCH_NODE, m);
	m->watched[0] = '\0';
}

/* The watch of the record goes with the last member here. */
static void unwatch_record(struct gang *g)
{
	char path[STORE_PATH_MAX];

	gang_path(g, path);
	watches_drop(&g->all->session->watches, path, WATCH_NODE, g);
}

void gang_tell(struct gang *g, struct gang_member *m, const struct gang_answer *answer)
{
	struct gang_member **link = &g->members;

	while (*link != m)
		link = &(*link)->next;
	*link = m->next;
	g->all->n_members--;
	gang_unwatch(m);
	if (!g->members)
		unwatch_record(g);
	gang_tell_early(m, answer);
	holder_let_go(&m->gang->all->holders, &m->held);
	if (m->done)
		m->done(m->done_arg);
	free(m);
}

void gang_tell_started(struct gang_member *m)
{
	struct gang *g = m->gang;
	bool goes_on = m->held.told || m->held.attaching;

	if (!m->fn || !g->record || !holder_tells(&g->all->holders, &m->held))
		return;
	if (goes_on)
		log_info("gang goes on", LOG_STR("gang", g->name),
			 LOG_INT("index", (int64_t)m->index));
	gang_tell_early(m, &(struct gang_answer){.outcome = GANG_STARTED,
						 .number = m->held.number,
						 .index = m->index,
						 .record = g->record});
}

bool gang_is_orphan(const struct gang_member *m)
{
	return m->state == GANG_RUNS && !m->held.owner && (m->held.told || m->held.attaching);
}

/* --- gangs ---------------------------------------------------------------- */

struct gang *gang_get(struct gangs *all, const char *name)
{
	struct gang **end = &all->list;

	for (; *end; end = &(*end)->next)
		if (strcmp((*end)->name, name) == 0)
			return *end;
	*end = mem_calloc(1, sizeof(**end));
	(*end)->all = all;
	memcpy((*end)->name, name, strlen(name));
	return *end;
}

void gang_drop(struct gang *g)
{
	struct gang **link = &g->all->list;

	while (*link != g)
		link = &(*link)->next;
	*link = g->next;
	g->closed = true;
	if (g->busy == 0)
		free(g);
}

void gang_go_on(struct gang *g)
{
	const struct session *s = g->all->session;

	if (g->busy == 0 && g->dirty && g->retry_ms <= now_of(g->all) && !g->all->kept &&
	    session_is_up(s) && s->registration[0])
		gang_read(g);
}

/* --- from the session ----------------------------------------------------- */

static void go_on_all(struct gangs *all)
{
	for (struct gang *g = all->list; g; g = g->next)
		gang_go_on(g);
	gangs_schedule(all);
}

void gangs_up(struct gangs *all)
{
	gang_sweep_up(all);
	for (struct gang *g = all->list; g; g = g->next) {
		g->dirty |= g->members != NULL;
		g->unsure = true;
	}
	go_on_all(all);
}

void gangs_leased(struct gangs *all)
{
	for (struct gang *g = all->list; g; g = g->next)
		for (const struct gang_member *m = g->members; m; m = m->next)
			g->dirty |= m->state == GANG_RUNS && m->fn;
	go_on_all(all);
}

/* Its node has gone with the session. */
static void expire(struct gang *g, struct gang_member *m)
{
	gang_unwatch(m);
	if (m->state == GANG_WAITS)
		return;
	if (m->state != GANG_RUNS) { /* it may have been in one before that */
		gang_tell(g, m,
			  &(struct gang_answer){.outcome = GANG_REFUSED, .why = session_ended});
		return;
	}
	if (m->held.told && !m->held.lost)
		log_warning("gang lost", LOG_STR("gang", g->name),
			    LOG_INT("index", (int64_t)m->index));
	holder_lose(&m->held);
}

void gangs_expired(struct gangs *all)
{
	all->former = (struct holder_former){.until_ms = 0};
	for (struct gang *g = all->list; g; g = g->next) {
		struct gang_member *next;
		g->orphans = g->sweep = false;
		for (struct gang_member *m = g->members; m; m = next) {
			next = m->next;
			expire(g, m);
		}
	}
	gangs_schedule(all);
}

void gangs_watch(struct gangs *all, const char *path)
{
	char own[STORE_PATH_MAX];

	for (struct gang *g = all->list; g; g = g->next) {
		gang_path(g, own);
		bool any = strcmp(path, own) == 0;
		for (struct gang_member *m = g->members; m; m = m->next) {
			if (strcmp(m->watched, path) != 0 &&
			    (strncmp(path, own, strlen(own)) != 0 || path[strlen(own)] != '/'))
				continue;
			if (strcmp(m->watched, path) == 0)
				m->watched[0] = '\0';
			any = true;
		}
		g->dirty |= any && g->members;
		gang_go_on(g);
	}
}

/* --- from outside --------------------------------------------------------- */

static const char *obstacle(const struct gangs *all)
{
	if (all->stopping)
		return stopped;
	return all->n_members >= GANG_MEMBERS_MAX
		       ? "too many members of gangs at this sidecar: at most 1000"
		       : NULL;
}

static struct gang_member *find_id(struct gang *g, uint64_t id)
{
	for (struct gang_member *m = g->members; m; m = m->next)
		if (m->id == id)
			return m;
	return NULL;
}

static void refuse(struct gangs *all, void *owner, gang_fn fn, void *arg,
		   const struct gang_answer *answer)
{
	fn(arg, answer);
	holders_release(&all->holders, owner);
}

void gangs_join(struct gangs *all, const struct gang_request *q, gang_fn fn, void *arg)
{
	const char *key = q->key ? q->key : all->registry->node, *why = obstacle(all);
	struct gang_ticket t = {.id = q->id, .count = q->count, .goes_on = q->goes_on};
	struct gang *g = why ? NULL : gang_get(all, q->name);
	char path[STORE_PATH_MAX];

	snprintf(t.key, sizeof(t.key), "%s", key);
	if (!why && !gang_ticket_path(all->registry->settings, q->name, &t, path))
		why = "the root's path is too long for a gang's members";
	if (!why && find_id(g, q->id))
		why = "that member is there already";
	if (why) {
		refuse(all, q->owner, fn, arg,
		       &(struct gang_answer){.outcome = GANG_REFUSED, .why = why});
		gangs_schedule(all);
		return;
	}
	struct gang_member *m = gang_add(g, q->id);
	memcpy(m->key, t.key, sizeof(m->key));
	m->count = q->count;
	m->goes_on = q->goes_on;
	holder_take(&m->held, q->owner);
	m->fn = fn;
	m->arg = arg;
	if (q->timeout_ms >= 0)
		m->deadline_ms = now_of(all) + q->timeout_ms;
	m->session_ms = now_of(all) + session_patience(q->timeout_ms);
	gang_go_on(g);
	gangs_schedule(all);
}

void gangs_attach(struct gangs *all, void *owner, const char *name, uint64_t id, gang_fn fn,
		  void *arg)
{
	struct gang *g = gang_get(all, name);
	struct gang_member *m = find_id(g, id);

	/* Also while we are being stopped: that waits for it. */
	if (m ? !gang_is_orphan(m) || m->held.lost : all->n_members >= GANG_MEMBERS_MAX) {
		refuse(all, owner, fn, arg, &(struct gang_answer){.outcome = GANG_NOT_THERE});
		gangs_schedule(all);
		return;
	}
	if (!m) {
		m = gang_add(g, id);
		m->state = GANG_RUNS;
	}
	holder_attach(&m->held, owner);
	m->fn = fn;
	m->arg = arg;
	g->dirty = true;
	gang_go_on(g);
	gangs_schedule(all);
}

static struct gang_member *find(const struct gangs *all, const void *owner, uint64_t number)
{
	for (struct gang *g = all->list; g; g = g->next)
		for (struct gang_member *m = g->members; m; m = m->next)
			if (holder_is(&m->held, owner, number))
				return m;
	return NULL;
}

int64_t gangs_renew(struct gangs *all, const void *owner, uint64_t number)
{
	struct gang_member *m = find(all, owner, number);

	if (!m)
		return -1;
	return holder_renew(&all->holders, &m->held, m->state == GANG_RUNS);
}

bool gangs_finish(struct gangs *all, const void *owner, uint64_t number, bool interrupted,
		  gang_done_fn done, void *arg)
{
	struct gang_member *m = find(all, owner, number);

	if (!m)
		return false;
	m->done = done;
	m->done_arg = arg;
	/* Where it was ended because another was lost, it leaves in order. */
	m->state = interrupted && !m->held.lost ? GANG_LOSES : GANG_LEAVES;
	m->gang->dirty = true;
	holder_let_go(&m->gang->all->holders, &m->held);
	gang_go_on(m->gang);
	gangs_schedule(all);
	return true;
}

void gangs_owner_gone(struct gangs *all, const void *owner)
{
	for (struct gang *g = all->list; g; g = g->next) {
		for (struct gang_member *m = g->members; m; m = m->next) {
			if (m->held.owner != owner)
				continue;
			g->dirty = true;
			holder_owner_gone(&all->holders, &m->held);
			gang_tell_early(m, &(struct gang_answer){.outcome = GANG_REFUSED,
								 .why = "nobody asks"});
			if (m->held.attaching)
				continue;
			if (m->state == GANG_WAITS)
				m->state = GANG_ENDS;
			else if (m->state == GANG_RUNS && !m->held.told)
				m->state = GANG_LOSES;
		}
		gang_go_on(g);
	}
	gangs_schedule(all);
}

void gangs_keep(struct gangs *all)
{
	all->kept = true;
}

void gangs_stop(struct gangs *all)
{
	all->stopping = true;
	for (struct gang *g = all->list; g; g = g->next) {
		for (struct gang_member *m = g->members; m; m = m->next) {
			if (m->state != GANG_WAITS)
				continue;
			m->state = GANG_ENDS;
			g->dirty = true;
			gang_tell_early(
				m, &(struct gang_answer){.outcome = GANG_REFUSED, .why = stopped});
		}
		gang_go_on(g);
	}
	gangs_schedule(all);
}

void gangs_take_over(struct gangs *all, int64_t timeout_ms)
{
	holder_former_take_over(&all->former, all->session, timeout_ms);
}

bool gangs_know(const struct gangs *all, const char *name, uint64_t id)
{
	for (struct gang *g = all->list; g; g = g->next)
		if (strcmp(g->name, name) == 0)
			return find_id(g, id) != NULL;
	return false;
}

size_t gangs_going(const struct gangs *all)
{
	size_t n = 0;

	for (const struct gang *g = all->list; g; g = g->next)
		for (const struct gang_member *m = g->members; m; m = m->next)
			n += m->state == GANG_RUNS && holder_is_alive(&all->holders, &m->held);
	return n;
}

void gangs_revoke(struct gangs *all)
{
	all->holders.revoked = true;
}

void gangs_on_release(struct gangs *all, void (*released)(void *owner))
{
	all->holders.released = released;
}

void gangs_init(struct gangs *all, struct session *session, struct registry *registry,
		struct roster *roster)
{
	*all = (struct gangs){.session = session,
			      .registry = registry,
			      .roster = roster,
			      .holders = {.session = session}};
	host_timer_init(&all->due, session->host, gangs_on_due, all);
	gang_sweep_init(all);
}

void gangs_done(struct gangs *all)
{
	const struct gang_answer answer = {.outcome = GANG_REFUSED, .why = "the sidecar has ended"};

	while (all->list) {
		struct gang *g = all->list;
		while (g->members) /* NOLINT: each takes itself out */
			gang_tell(g, g->members, &answer);
		gang_drop(g);
	}
	gang_sweep_done(all);
	host_timer_done(&all->due);
}
