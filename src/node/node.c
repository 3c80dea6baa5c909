#include "node/node.h"

#include <string.h>

#include "base/log.h"
#include "node/candidates.h"
#include "node/inheritance.h"
#include "node/standby.h"
#include "node/tasks.h"

/* --- what is left to the node that comes next ----------------------------- */

static void tell_handoff(struct node *n)
{
	const struct registry *r = &n->registry;
	struct handoff h = {.session = n->session.id,
			    .session_since = n->session.since,
			    .timeout_ms = session_told_timeout(&n->session),
			    .started_at = r->started_at};

	if (!session_is_up(&n->session) || !r->id[0])
		return;
	if (n->handoff.session == h.session && strcmp(n->handoff.worker, r->id) == 0 &&
	    n->handoff.timeout_ms == h.timeout_ms)
		return;
	memcpy(h.password, store_password(n->session.store), sizeof(h.password));
	memcpy(h.worker, r->id, sizeof(h.worker));
	memcpy(h.random_ints, r->random_ints, sizeof(h.random_ints));
	n->handoff = h;
	n->handlers.handoff(n->handlers.arg, &h);
}

void node_take_over(struct node *n, const struct handoff *handoff, const struct handoff_run *runs,
		    size_t n_runs, bool all_known)
{
	log_info("taking over the session kept", LOG_HEX("session", handoff->session));
	session_take_over(&n->session, handoff->session, handoff->password, handoff->session_since,
			  handoff->timeout_ms);
	runs_take_over(&n->runs, runs, n_runs, all_known, handoff->timeout_ms);
	registry_take_over(&n->registry, handoff);
}

/*
 * Once the fleet and what was decided are known, so that nothing is given up for not knowing them.
 */
static void recover(struct node *n)
{
	if (!registry_recovers(&n->registry) || !session_is_up(&n->session) ||
	    !n->registry.workers.ready || !n->policy.folder.ready)
		return;
	inheritance_recover(&n->leaders);
	registry_recovered(&n->registry);
}

/* --- what the parts tell each other --------------------------------------- */

static void on_connected(void *arg)
{
	registry_connected(&((struct node *)arg)->registry);
}

static void on_up(void *arg)
{
	struct node *n = arg;

	leaders_up(&n->leaders);
	policy_up(&n->policy);
	registry_up(&n->registry);
	tell_handoff(n);
	n->handlers.status(n->handlers.arg);
}

/* Who has the role may say so now. */
static void on_leased(void *arg)
{
	struct node *n = arg;

	runs_changed(&n->runs);
	n->handlers.leased(n->handlers.arg);
}

static void on_cut(void *arg)
{
	struct node *n = arg;

	registry_cut(&n->registry);
	policy_cut(&n->policy);
	leaders_cut(&n->leaders);
	last_runs_cut(&n->last_runs);
	n->handlers.status(n->handlers.arg);
}

static void on_expired(void *arg)
{
	struct node *n = arg;

	leaders_expired(&n->leaders);
	registry_expired(&n->registry);
	policy_expired(&n->policy);
	runs_expired(&n->runs);
	last_runs_cut(&n->last_runs);
	n->handlers.status(n->handlers.arg);
}

static void on_retimed(void *arg)
{
	registry_retimed(&((struct node *)arg)->registry);
}

static void on_watch(void *arg, enum store_watch type, const char *path)
{
	struct node *n = arg;

	registry_watch(&n->registry, type, path);
	policy_watch(&n->policy, type, path);
	leaders_watch(&n->leaders, type, path);
	runs_watch(&n->runs, type, path);
}

static void on_joined(void *arg, struct member *m)
{
	struct node *n = arg;

	log_info("worker joined", LOG_STR("id", m->worker->id),
		 LOG_STR("version", m->worker->version), LOG_STR("ip", m->worker->ip),
		 LOG_STR("hostname", m->worker->hostname));
	candidates_joined(&n->leaders, m);
	/* At the start it was there before us. */
	if (n->registry.workers.known)
		n->handlers.membership(n->handlers.arg, "joined", m);
}

static void on_left(void *arg, const struct member *m)
{
	struct node *n = arg;

	log_info("worker left", LOG_STR("id", m->worker->id),
		 LOG_STR("version", m->worker->version), LOG_STR("ip", m->worker->ip),
		 LOG_STR("hostname", m->worker->hostname));
	n->handlers.membership(n->handlers.arg, "left", m);
}

static void on_fleet_changed(void *arg)
{
	struct node *n = arg;

	candidates_changed(&n->leaders);
	standby_check(&n->leaders);
	recover(n);
	tell_handoff(n);
	runs_changed(&n->runs);
}

static void on_decision(void *arg, const struct policy_item *item, bool ended)
{
	struct node *n = arg;

	n->handlers.decision(n->handlers.arg, item, ended);
}

static void on_task_changed(void *arg, struct task *t)
{
	struct node *n = arg;

	runs_changed(&n->runs);
	n->handlers.task_changed(n->handlers.arg, t);
	n->handlers.status(n->handlers.arg);
}

static void on_task_added(void *arg, struct task *t)
{
	struct node *n = arg;

	n->handlers.task_added(n->handlers.arg, t);
	n->handlers.status(n->handlers.arg);
}

static void on_task_removed(void *arg, struct task *t)
{
	struct node *n = arg;

	n->handlers.task_removed(n->handlers.arg, t);
	runs_task_removed(&n->runs, t);
	n->handlers.status(n->handlers.arg);
}

static void on_runs_kept(void *arg, const struct handoff_run *runs, size_t n_runs)
{
	struct node *n = arg;

	n->handlers.handoff_runs(n->handlers.arg, runs, n_runs);
}

/* --- from outside --------------------------------------------------------- */

void node_init(struct node *n, struct host *host, const struct node_settings *settings,
	       const struct node_handlers *handlers)
{
	const struct session_handlers session_handlers = {.connected = on_connected,
							  .up = on_up,
							  .leased = on_leased,
							  .cut = on_cut,
							  .expired = on_expired,
							  .retimed = on_retimed,
							  .watch = on_watch,
							  .arg = n};
	const struct registry_handlers registry_handlers = {
		.joined = on_joined, .left = on_left, .changed = on_fleet_changed, .arg = n};
	const struct policy_handlers policy_handlers = {
		.changed = on_fleet_changed, .told = on_decision, .arg = n};
	const struct leaders_handlers leaders_handlers = {.changed = on_task_changed,
							  .added = on_task_added,
							  .removed = on_task_removed,
							  .arg = n};

	memset(n, 0, sizeof(*n));
	n->host = host;
	n->settings = settings;
	n->handlers = *handlers;
	/* At the end of a turn runs come first, and what they ask for goes out with the rest. */
	runs_init(&n->runs, host, &n->leaders, &handlers->runs, on_runs_kept, n);
	session_init(&n->session, host, settings, &session_handlers);
	registry_init(&n->registry, settings, &n->session, &registry_handlers);
	policy_init(&n->policy, &n->session, &n->registry, &policy_handlers);
	leaders_init(&n->leaders, &n->session, &n->registry, &n->policy, &leaders_handlers);
	last_runs_init(&n->last_runs, &n->leaders);
}

void node_done(struct node *n)
{
	policy_done(&n->policy); /* tells who waits for a decision */
	runs_done(&n->runs);
	leaders_done(&n->leaders);
	registry_done(&n->registry);
	session_done(&n->session);
	last_runs_done(&n->last_runs);
}

void node_set_version(struct node *n, const char *version)
{
	registry_set_version(&n->registry, version);
}

void node_configure(struct node *n, const struct node_timing *timing,
		    const struct task_settings *tasks, size_t n_tasks)
{
	clocks_set_tolerance(&n->registry.clocks, timing->clock_tolerance_ms);
	tasks_apply(&n->leaders, timing, tasks, n_tasks);
}

void node_set_health(struct node *n, const struct node_health *health)
{
	registry_set_health(&n->registry, health);
}

void node_start(struct node *n)
{
	session_start(&n->session);
}

void node_withdraw(struct node *n)
{
	tasks_withdraw(&n->leaders);
}

void node_stop(struct node *n, void (*done)(void *arg), void *arg)
{
	session_stop(&n->session, done, arg);
}
