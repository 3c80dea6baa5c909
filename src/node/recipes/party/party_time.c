/* The timers of parties: timeouts, ends of leases, retries, and sweeps of the whole folder. */
#include <string.h>

#include "base/text/name.h"
#include "node/recipes/party/party_parts.h"

static void sooner(int64_t *first, int64_t at)
{
	if (at > 0 && at < *first)
		*first = at;
}

/* The client is gone, while its command may be alive under a promised lease. */
static bool is_orphan(const struct party_member *m)
{
	return m->place.state == PARTY_RUNS && !m->held.owner &&
	       (m->held.told || m->held.attaching);
}

static int64_t due_at(const struct party *p)
{
	int64_t at = INT64_MAX, keep_ms = p->all->kind->keep_ms;

	sooner(&at, p->retry_ms);
	sooner(&at, !p->dirty && p->busy == 0 ? p->try_ms : 0);
	sooner(&at, p->wake_ms);
	sooner(&at, keep_ms > 0 && p->idle_ms > 0 && !p->sweep && p->busy == 0
			    ? p->idle_ms + keep_ms
			    : 0);
	for (const struct party_member *m = STAILQ_FIRST(&p->members); m;
	     m = STAILQ_NEXT(m, link)) {
		if (is_orphan(m))
			sooner(&at, m->held.lease_ms);
		if (m->fn && m->place.state == PARTY_WAITS && !m->patient)
			sooner(&at, m->session_ms);
		if (m->fn && m->place.state != PARTY_RUNS)
			sooner(&at, m->deadline_ms);
	}
	return at;
}

/* Whether the party needs no work here any more. */
static bool is_over(const struct party *p, int64_t now)
{
	return p->busy == 0 && STAILQ_EMPTY(&p->members) &&
	       !(p->dirty && (p->sweep || p->orphans)) &&
	       now - p->idle_ms >= p->all->kind->keep_ms &&
	       !(p->dead_since > 0 && roster_is_assigner(p->all->roster));
}

static void collect(struct parties *all, int64_t now)
{
	struct party *next;

	for (struct party *p = STAILQ_FIRST(&all->list); p; p = next) {
		next = STAILQ_NEXT(p, link);
		if (!STAILQ_EMPTY(&p->members))
			p->idle_ms = 0;
		else if (p->idle_ms == 0)
			p->idle_ms = now;
		if (is_over(p, now))
			party_drop(p);
	}
}

void parties_schedule(struct parties *all)
{
	const struct session *s = all->session;
	int64_t now = host_now_ms(s->host), first = INT64_MAX;

	collect(all, now);
	if (all->kind->leased)
		session_set_joined(all->session, all->n_members > 0 && (session_is_up(s) ||
									session_lease_left(s) > 0));
	for (const struct party *p = STAILQ_FIRST(&all->list); p; p = STAILQ_NEXT(p, link)) {
		int64_t at = due_at(p);
		if (at < now) /* the timer rings only for future times */
			at = now + 50;
		sooner(&first, at);
	}
	if (first == INT64_MAX)
		host_timer_stop(&all->due);
	else
		host_timer_start(&all->due, first - now);
}

/* --- time ----------------------------------------------------------------- */

/* The member may be freed. */
static void look_at_time(struct party *p, struct party_member *m, int64_t now)
{
	if (is_orphan(m) && holder_is_over(&p->all->holders, &m->held))
		party_happens(m, PARTY_LEASE_OVER);
	if (!m->fn || m->place.state == PARTY_RUNS)
		return;
	if (m->place.state == PARTY_WAITS && !m->patient && now >= m->session_ms) {
		m->patient = true;
		if (!session_is_up(p->all->session)) {
			party_give(m, (struct party_event){.type = PARTY_GIVEN_UP,
							   .why = SESSION_NONE});
			return;
		}
	}
	if (m->deadline_ms <= now)
		party_happens(m, PARTY_TIMED_OUT);
}

static void on_time(struct party *p, int64_t now)
{
	struct party_member *next;
	int64_t keep_ms = p->all->kind->keep_ms;

	for (struct party_member *m = STAILQ_FIRST(&p->members); m; m = next) {
		next = STAILQ_NEXT(m, link);
		look_at_time(p, m, now);
	}
	if (p->retry_ms <= now)
		p->retry_ms = 0;
	if ((p->try_ms > 0 && p->try_ms <= now) || (p->wake_ms > 0 && p->wake_ms <= now))
		p->dirty = true;
	if (p->wake_ms <= now)
		p->wake_ms = 0;
	if (keep_ms > 0 && p->idle_ms > 0 && now - p->idle_ms >= keep_ms && p->busy == 0)
		p->sweep = p->dirty = true;
	party_go_on(p);
}

static void on_due(void *arg)
{
	struct parties *all = arg;
	int64_t now = host_now_ms(all->session->host);

	for (struct party *p = STAILQ_FIRST(&all->list); p; p = STAILQ_NEXT(p, link))
		on_time(p, now);
	parties_schedule(all);
}

/* --- sweeps of the whole folder ------------------------------------------- */

/* Whether the previous sidecar may have members whose clients have not returned yet. */
static bool recovers(const struct parties *all)
{
	return all->former.until_ms > 0 && host_now_ms(all->session->host) >= all->former.until_ms;
}

/* The first in rank of the fleet removes unused parties. */
static bool is_sweeper(const struct parties *all)
{
	return all->kind->sweep_ms > 0 && roster_is_assigner(all->roster);
}

static void on_names(void *arg, const struct store_reply *reply)
{
	struct parties *all = arg;

	if (reply->code == STORE_ABANDONED)
		return; /* which may be our end */
	all->listing = false;
	bool orphans = recovers(all) && (reply->code == STORE_OK || reply->code == STORE_NO_NODE);
	for (size_t i = 0; reply->code == STORE_OK && i < reply->n_names; i++) {
		if (!name_is_task(reply->names[i], strlen(reply->names[i])))
			continue;
		struct party *p = party_get(all, reply->names[i]);
		p->orphans |= orphans;
		p->sweep |= is_sweeper(all);
		p->dirty |= p->orphans || (p->sweep && STAILQ_EMPTY(&p->members));
		party_go_on(p);
	}
	if (orphans)
		all->former.until_ms = 0;
	parties_schedule(all);
}

static void on_sweep(void *arg)
{
	struct parties *all = arg;
	struct session *s = all->session;
	char path[STORE_PATH_MAX];

	int64_t early_ms = all->former.until_ms - host_now_ms(s->host);

	if (all->kind->sweep_ms > 0 || early_ms > 0) /* a timer may ring a little too early */
		host_timer_start(&all->sweep,
				 all->kind->sweep_ms > 0 ? all->kind->sweep_ms : early_ms);
	if (all->listing || all->kept || !session_is_up(s) || (!is_sweeper(all) && !recovers(all)))
		return;
	all->listing = true;
	path_of(all->registry->settings, all->kind->folder, NULL, path);
	store_children(s->store, path, false, on_names, all);
}

void parties_time_up(struct parties *all)
{
	const struct party_kind *kind = all->kind;

	all->listing = false;
	if (kind->orphan_ms > 0) {
		if (all->former.until_ms == 0)
			return;
		all->former.until_ms = host_now_ms(all->session->host) + kind->orphan_ms;
		host_timer_start(&all->sweep, kind->orphan_ms);
		return;
	}
	holder_former_up(&all->former, all->session);
	if (!host_timer_is_set(&all->sweep))
		host_timer_start(&all->sweep, kind->sweep_ms);
}

void parties_time_init(struct parties *all)
{
	host_timer_init(&all->due, all->session->host, on_due, all);
	host_timer_init(&all->sweep, all->session->host, on_sweep, all);
}

void parties_time_done(struct parties *all)
{
	host_timer_done(&all->sweep);
	host_timer_done(&all->due);
}
