/* The timers of gangs: timeouts, ends of leases, and retries. */
#include "node/recipes/party/gang_parts.h"

static const char in_time[] = "the ZooKeeper servers did not answer in time";

static int64_t min64(int64_t a, int64_t b)
{
	return a < b ? a : b;
}

static int64_t due_at(const struct gang *g)
{
	int64_t at = INT64_MAX;

	if (g->retry_ms > 0)
		at = min64(at, g->retry_ms);
	if (g->try_ms > 0 && !g->dirty && g->busy == 0)
		at = min64(at, g->try_ms);
	if (g->wake_ms > 0)
		at = min64(at, g->wake_ms);
	for (const struct gang_member *m = g->members; m; m = m->next) {
		if (gang_is_orphan(m))
			at = min64(at, m->held.lease_ms);
		if (m->fn && m->state == GANG_WAITS && !m->patient)
			at = min64(at, m->session_ms);
		if (m->fn && m->state != GANG_RUNS)
			at = min64(at, m->deadline_ms);
	}
	return at;
}

/* Those that nothing is left to be done for go. */
static void collect(struct gangs *all)
{
	struct gang *next;

	for (struct gang *g = all->list; g; g = next) {
		next = g->next;
		if (g->busy == 0 && !g->members && !(g->dirty && (g->sweep || g->orphans)) &&
		    !(g->dead_since > 0 && roster_is_assigner(all->roster)))
			gang_drop(g);
	}
}

void gangs_schedule(struct gangs *all)
{
	const struct session *s = all->session;
	int64_t now = host_now_ms(all->session->host), first = INT64_MAX;

	collect(all);
	session_set_joined(all->session,
			   all->n_members > 0 && (session_is_up(s) || session_lease_left(s) > 0));
	for (const struct gang *g = all->list; g; g = g->next) {
		int64_t at = due_at(g);
		if (at <= now) /* rings once more only for what is to come */
			at = now + 50;
		first = min64(first, at);
	}
	if (first == INT64_MAX)
		host_timer_stop(&all->due);
	else
		host_timer_start(&all->due, first - now);
}

/* --- time ----------------------------------------------------------------- */

static void look_at_time(struct gang *g, struct gang_member *m, int64_t now)
{
	if (gang_is_orphan(m) && m->held.lease_ms <= now) {
		m->state = GANG_LOSES;
		g->dirty = true;
	}
	if (!m->fn || m->state == GANG_RUNS)
		return;
	if (m->state == GANG_WAITS && !m->patient && now >= m->session_ms) {
		m->patient = true;
		if (!session_is_up(g->all->session) && !m->held.attaching) {
			m->state = GANG_ENDS;
			gang_tell_early(m, &(struct gang_answer){.outcome = GANG_REFUSED,
								 .why = SESSION_NONE});
			return;
		}
	}
	if (m->deadline_ms > now)
		return;
	m->deadline_ms = INT64_MAX;
	if (m->state == GANG_WAITS) {
		m->state = GANG_ENDS;
		m->answer = (struct gang_answer){.outcome = GANG_TIMEOUT};
		m->deadline_ms = now + GANG_GRACE_MS;
		g->dirty = true;
		return;
	}
	gang_tell_early(m, &(struct gang_answer){.outcome = GANG_REFUSED, .why = in_time});
}

static void on_time(struct gang *g, int64_t now)
{
	struct gang_member *next;

	for (struct gang_member *m = g->members; m; m = next) {
		next = m->next;
		look_at_time(g, m, now);
	}
	if (g->retry_ms <= now)
		g->retry_ms = 0;
	if ((g->try_ms > 0 && g->try_ms <= now) || (g->wake_ms > 0 && g->wake_ms <= now))
		g->dirty = true;
	if (g->wake_ms <= now)
		g->wake_ms = 0;
	gang_go_on(g);
}

void gangs_on_due(void *arg)
{
	struct gangs *all = arg;
	int64_t now = host_now_ms(all->session->host);

	for (struct gang *g = all->list; g; g = g->next)
		on_time(g, now);
	gangs_schedule(all);
}
