/*
 * Hostages: in quiet times servers keep the session of a leader, and do none of its requests. Its owner has to
 * give it up, so that somebody leads by another session within twice the session timeout and five seconds.
 */
#include "hostages.h"

#include "client.h"
#include "oracle.h"
#include "server.h"

#define GRACE (5 * SECOND)

static const char *const ways[] = {[HOSTAGE_NONE] = "",
				   [HOSTAGE_REFUSED] = "refuse its writes",
				   [HOSTAGE_SILENT] = "answer its pings alone",
				   [HOSTAGE_HUNG_UP] = "hang up on it again and again"};
static unsigned task, owner;
static int64_t began;

static const struct znode *leader_node(void)
{
	const struct tree *t = servers_tree();

	return t ? tree_get(t, oracle_leader_path(task)) : NULL;
}

static bool is_led_anew(void)
{
	const struct znode *node = leader_node();
	int leader = oracle_leader(task);

	return node && node->stat.owner != serve_hostage.session && leader >= 0 &&
	       sites[leader].node.session.id == node->stat.owner;
}

bool hostages_waiting(void)
{
	return serve_hostage.how != HOSTAGE_NONE;
}

static void end(void)
{
	int64_t took = sim.now - began - 2 * sim.timeout_ms * MS;

	if (took > sim.figures.worst_hostage)
		sim.figures.worst_hostage = took;
	TRACE("the hostage is free: task %u is led anew after %.3f s", task,
	      (double)(sim.now - began) / 1e6);
	serve_hostage.how = HOSTAGE_NONE;
}

static void on_poll(void *arg, uint64_t number)
{
	(void)arg, (void)number;
	if (is_led_anew()) {
		end();
		return;
	}
	if (sim.now > began + 2 * sim.timeout_ms * MS + GRACE) {
		sim_violation("servers %s, the session of site %u, and %.1f s later nobody else "
			      "leads task %u",
			      ways[serve_hostage.how], owner, (double)(sim.now - began) / 1e6,
			      task);
		return;
	}
	event_at(sim.now + 50 * MS, on_poll, NULL, 0);
}

/* The connection as it is goes first, where none is to be kept. */
static void cut_connection(const struct site *s)
{
	for (struct lib *l = s->machine->libs, *next; l; l = next) {
		next = l->next;
		if (l->state == LIB_CONNECTED && l->session == serve_hostage.session)
			lib_lose(l);
	}
}

bool hostages_begin(void)
{
	int leader;

	task = (unsigned)random_range(0, sim.n_tasks - 1);
	leader = oracle_leader(task);
	if (!sim.options.hostages || hostages_waiting() || leader < 0)
		return false;
	owner = (unsigned)leader;
	const struct session *session = &sites[owner].node.session;
	/* A session with another timeout than all others would end sooner or later than they do. */
	if (!session_is_up(session) || session->granted_ms != sim.timeout_ms ||
	    sites[owner].stopping)
		return false;
	serve_hostage.session = session->id;
	serve_hostage.how = (enum hostage_how)random_range(HOSTAGE_REFUSED, HOSTAGE_HUNG_UP);
	TRACE("servers %s: the session of site %u, which leads task %u", ways[serve_hostage.how],
	      owner, task);
	sim.figures.hostages[serve_hostage.how]++;
	began = sim.now;
	if (serve_hostage.how == HOSTAGE_HUNG_UP)
		cut_connection(&sites[owner]);
	event_at(sim.now + 50 * MS, on_poll, NULL, 0);
	return true;
}
