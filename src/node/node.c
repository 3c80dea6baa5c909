#include "node/node.h"

#include <string.h>

#include "base/log/log.h"
#include "core/fleet/identity.h"
#include "node/election/candidates.h"
#include "node/election/inheritance.h"
#include "node/election/tasks.h"
#include "node/ledger/counts.h"
#include "node/ledger/gone.h"
#include "node/ledger/ledger.h"
#include "node/ledger/unclaimed.h"
#include "node/runs/standby.h"

/* --- what is left to the node that comes next ----------------------------- */

static void tell_handoff(struct node *n)
{
	const struct registry *r = &n->registry;
	struct handoff h = {.session = n->session.id,
			    .session_since = n->session.since,
			    .timeout_ms = session_told_timeout(&n->session),
			    .counted_ms = n->session.lease.timeout_ms,
			    .promise_ms = leaders_promise_most(&n->leaders),
			    .promised_ms = n->leaders.inheritance.promised_ms,
			    .started_at = r->started_at};

	if (!r->id[0] || (!session_is_up(&n->session) && n->handoff.session != h.session))
		return;
	if (n->handoff.session == h.session && strcmp(n->handoff.worker, r->id) == 0 &&
	    n->handoff.timeout_ms == h.timeout_ms && n->handoff.counted_ms == h.counted_ms &&
	    n->handoff.promise_ms == h.promise_ms && n->handoff.promised_ms == h.promised_ms)
		return;
	memcpy(h.password, store_password(n->session.store), sizeof(h.password));
	memcpy(h.worker, r->id, sizeof(h.worker));
	memcpy(h.random_ints, r->random_ints, sizeof(h.random_ints));
	n->handoff = h;
	n->handlers.handoff(n->handlers.arg, &h);
}

/*
 * No promise is longer than the lease that it was made by. An older release does not hand over its
 * promises, and may have made the longest.
 */
static void inherit_promises(struct node *n, const struct handoff *h)
{
	int64_t now = host_now_ms(n->host), most = h->timeout_ms;
	int64_t last = h->promise_ms > 0 && h->promise_ms < most ? h->promise_ms : most;

	inheritance_promised(&n->leaders, now + last);
	inheritance_promised(&n->leaders,
			     h->promised_ms < now + most ? h->promised_ms : now + most);
}

void node_take_over(struct node *n, const struct handoff *handoff, const struct handoff_run *runs,
		    size_t n_runs, bool all_known)
{
	log_info("taking over the session kept", LOG_HEX("session", handoff->session));
	session_take_over(&n->session, handoff);
	inherit_promises(n, handoff);
	runs_take_over(&n->runs, runs, n_runs, all_known, handoff->timeout_ms);
	registry_take_over(&n->registry, handoff);
	recipes_take_over(&n->recipes, handoff->timeout_ms);
	leftovers_take_over(&n->leftovers, handoff->timeout_ms, all_known);
}

/* Nothing is given up before the fleet, the decisions and the partitions are known. */
static void recover(struct node *n)
{
	if (!registry_recovers(&n->registry) || !session_is_up(&n->session) ||
	    !registry_ready(&n->registry) || !n->policy.folder.ready ||
	    !n->leaders.partitions.folder.ready)
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
	partitions_up(&n->leaders);
	registry_up(&n->registry);
	recipes_up(&n->recipes);
	closing_up(&n->closing);
	queues_up(&n->queues);
	leftovers_up(&n->leftovers);
	overdues_changed(&n->overdues);
	notices_up(&n->notices);
	outages_up(&n->outages);
	losses_changed(&n->losses);
	tell_handoff(n);
	n->handlers.status(n->handlers.arg);
}

/* A lease begins: from now on a leader may answer that it leads. */
static void on_leased(void *arg)
{
	struct node *n = arg;

	runs_changed(&n->runs);
	recipes_leased(&n->recipes);
	queues_changed(&n->queues);
	schedules_changed(&n->schedules);
	n->handlers.leased(n->handlers.arg);
}

static void on_cut(void *arg)
{
	struct node *n = arg;

	registry_cut(&n->registry);
	policy_cut(&n->policy);
	partitions_cut(&n->leaders);
	leaders_cut(&n->leaders);
	last_runs_cut(&n->last_runs);
	outages_cut(&n->outages);
	queues_cut(&n->queues);
	n->handlers.status(n->handlers.arg);
}

static void on_expired(void *arg)
{
	struct node *n = arg;

	leaders_expired(&n->leaders);
	registry_expired(&n->registry);
	policy_expired(&n->policy);
	schedules_expired(&n->schedules);
	partitions_expired(&n->leaders);
	runs_expired(&n->runs);
	recipes_expired(&n->recipes);
	queues_expired(&n->queues);
	leftovers_expired(&n->leftovers);
	last_runs_cut(&n->last_runs);
	outages_cut(&n->outages);
	n->handlers.status(n->handlers.arg);
}

static void on_retimed(void *arg)
{
	registry_retimed(&((struct node *)arg)->registry);
}

static void on_shortened(void *arg)
{
	tell_handoff(arg);
}

static void on_watch(void *arg, enum store_watch type, const char *path)
{
	struct node *n = arg;

	registry_watch(&n->registry, type, path);
	policy_watch(&n->policy, type, path);
	partitions_watch(&n->leaders, type, path);
	leaders_watch(&n->leaders, type, path);
	runs_watch(&n->runs, type, path);
	schedules_watch(&n->schedules, path);
	recipes_watch(&n->recipes, type, path);
	queues_watch(&n->queues, type, path);
}

static void on_joined(void *arg, struct member *m)
{
	struct node *n = arg;

	log_info("worker joined", LOG_STR("id", m->worker->id),
		 LOG_STR("version", m->worker->version), LOG_STR("ip", m->worker->ip),
		 LOG_STR("hostname", m->worker->hostname), LOG_STR("node", identity_name(m)));
	candidates_joined(&n->leaders, m);
	/* Workers found at the start were there before us. */
	if (n->registry.workers.known)
		n->handlers.membership(n->handlers.arg, "joined", m);
}

static void on_listed(void *arg, struct member *m)
{
	candidates_joined(&((struct node *)arg)->leaders, m);
}

static void on_left(void *arg, const struct member *m)
{
	struct node *n = arg;

	log_info("worker left", LOG_STR("id", m->worker->id),
		 LOG_STR("version", m->worker->version), LOG_STR("ip", m->worker->ip),
		 LOG_STR("hostname", m->worker->hostname), LOG_STR("node", identity_name(m)));
	n->handlers.membership(n->handlers.arg, "left", m);
	notices_left(&n->notices);
}

static void on_fleet_changed(void *arg)
{
	struct node *n = arg;

	candidates_changed(&n->leaders);
	standby_check(&n->leaders);
	recover(n);
	tell_handoff(n);
	runs_changed(&n->runs);
	schedules_changed(&n->schedules);
	recipes_fleet_changed(&n->recipes);
	outages_fleet_changed(&n->outages);
	queues_changed(&n->queues);
}

static void on_decision(void *arg, const struct policy_item *item, bool ended)
{
	struct node *n = arg;

	schedules_decided(&n->schedules, item, ended);
	if (item->kind < POLICY_SHOWN)
		n->handlers.decision(n->handlers.arg, item, ended);
}

static void on_run(void *arg, const char *task, const char *tick, const struct run_record *record)
{
	struct node *n = arg;

	n->handlers.run(n->handlers.arg, task, tick, record);
}

static void on_task_changed(void *arg, struct task *t)
{
	struct node *n = arg;

	schedules_task_changed(&n->schedules, t);
	queues_changed(&n->queues);
	runs_changed(&n->runs);
	if (t->settings->alert_after_ms > 0)
		overdues_changed(&n->overdues);
	losses_task_changed(&n->losses, t);
	n->handlers.task_changed(n->handlers.arg, t);
	n->handlers.status(n->handlers.arg);
}

static void on_task_added(void *arg, struct task *t)
{
	struct node *n = arg;

	runs_task_added(&n->runs, t);
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

void node_task_forget(struct task *t)
{
	ledger_forget(t);
	gone_forget(t);
	schedules_forget(t);
	counts_forget(t);
	last_run_forget(t);
	losses_forget(t);
	overdue_forget(t);
	standby_forget(t);
	unclaimed_forget(t);
}

static void on_listing_changed(void *arg, struct listing *listing)
{
	struct node *n = arg;

	runs_changed(&n->runs);
	n->handlers.listing_changed(n->handlers.arg, listing);
	n->handlers.status(n->handlers.arg);
}

static void on_split(void *arg)
{
	recover(arg);
}

static void on_noted(void *arg, struct task *t, const char *tick, const struct run_record *record)
{
	struct node *n = arg;

	schedules_noted(&n->schedules, t, tick, record);
	losses_noted(&n->losses, t, tick, record);
}

static void on_older(void *arg, struct task *t, const char *tick)
{
	struct node *n = arg;

	schedules_older(&n->schedules, t, tick);
}

static void on_runs_kept(void *arg, const struct handoff_run *runs, size_t n_runs)
{
	struct node *n = arg;

	n->handlers.handoff_runs(n->handlers.arg, runs, n_runs);
}

/* --- what rolling restarts need ------------------------------------------- */

/* Whether the task is led here, or may be once what is outstanding is answered. */
static bool is_led(const struct task *t)
{
	enum election_state state = t->election.state;

	return state == ELECTION_CLAIMING || state == ELECTION_RESOLVING ||
	       state == ELECTION_LEADING || state == ELECTION_RELEASING;
}

static bool is_idle(void *arg, const char *drain, size_t *ret_leads, size_t *ret_jobs)
{
	struct node *n = arg;
	const struct member *self = registry_self(&n->registry);

	*ret_leads = 0;
	for (size_t i = 0; i < n->leaders.n_tasks; i++)
		*ret_leads += is_led(n->leaders.tasks[i]);
	*ret_jobs = runs_going(&n->runs, false) + queues_going(&n->queues);
	return policy_has(&n->policy, drain) && self && self->drained && *ret_leads == 0 &&
	       *ret_jobs == 0;
}

static void on_drained(void *arg, const char *drain, const struct policy_record *record)
{
	policy_made(&((struct node *)arg)->policy, drain, record);
}

static void on_undrained(void *arg, const char *drain)
{
	policy_gone(&((struct node *)arg)->policy, drain);
}

/* --- from outside --------------------------------------------------------- */

/* A task that is not listed here may have a schedule elsewhere. */
static bool may_be_scheduled(void *arg, const char *task)
{
	const struct node *n = arg;
	const struct listing *l = listings_find_of(&n->leaders, task);

	return !l || l->settings.schedule;
}

void node_init(struct node *n, struct host *host, const struct node_settings *settings,
	       const struct node_handlers *handlers)
{
	const struct session_handlers session_handlers = {.connected = on_connected,
							  .up = on_up,
							  .leased = on_leased,
							  .cut = on_cut,
							  .expired = on_expired,
							  .retimed = on_retimed,
							  .shortened = on_shortened,
							  .watch = on_watch,
							  .arg = n};
	const struct registry_handlers registry_handlers = {.joined = on_joined,
							    .left = on_left,
							    .listed = on_listed,
							    .changed = on_fleet_changed,
							    .arg = n};
	const struct policy_handlers policy_handlers = {.changed = on_fleet_changed,
							.told = on_decision,
							.scheduled = may_be_scheduled,
							.arg = n};
	const struct leaders_handlers leaders_handlers = {.changed = on_task_changed,
							  .added = on_task_added,
							  .removed = on_task_removed,
							  .forget = node_task_forget,
							  .listing = on_listing_changed,
							  .split = on_split,
							  .arg = n};
	const struct rolling_handlers rolling_handlers = {.idle = is_idle,
							  .drained = on_drained,
							  .undrained = on_undrained,
							  .policy = &n->policy,
							  .arg = n};

	memset(n, 0, sizeof(*n));
	n->host = host;
	n->settings = settings;
	n->handlers = *handlers;
	/* Runs come first at the end of a turn: their requests go out with the rest. */
	runs_init(&n->runs, host, &n->session, &n->leaders, &handlers->runs, on_runs_kept, n);
	if (handlers->run)
		runs_on_told(&n->runs, on_run, n);
	session_init(&n->session, host, settings, &session_handlers);
	registry_init(&n->registry, settings, &n->session, &registry_handlers);
	policy_init(&n->policy, &n->session, &n->registry, &policy_handlers);
	leaders_init(&n->leaders, &n->session, &n->registry, &n->policy, &leaders_handlers);
	n->runs.noted = on_noted;
	n->runs.older = on_older;
	n->runs.noted_arg = n;
	schedules_init(&n->schedules, host, &n->leaders, &n->policy);
	n->schedules.due = handlers->due;
	n->schedules.arg = handlers->arg;
	last_runs_init(&n->last_runs, &n->leaders);
	overdues_init(&n->overdues, &n->leaders);
	notices_init(&n->notices, &n->session, &n->registry);
	losses_init(&n->losses, &n->leaders, &n->runs);
	outages_init(&n->outages, &n->session, &n->registry);
	recipes_init(&n->recipes, &n->session, &n->registry, &rolling_handlers);
	closing_init(&n->closing, &n->session, &n->recipes.roster);
	queues_init(&n->queues, &n->session, &n->registry, &n->leaders, &handlers->queues);
	leftovers_init(&n->leftovers, &n->recipes.locks, &n->recipes.gangs, &n->queues);
}

void node_done(struct node *n)
{
	leftovers_done(&n->leftovers);
	policy_done(&n->policy); /* answers the requests that wait for a decision */
	recipes_done(&n->recipes);
	closing_done(&n->closing);
	queues_done(&n->queues);
	runs_done(&n->runs);
	schedules_done(&n->schedules);
	leaders_done(&n->leaders);
	registry_done(&n->registry);
	session_done(&n->session);
	last_runs_done(&n->last_runs);
	overdues_done(&n->overdues);
	outages_done(&n->outages);
	losses_done(&n->losses);
	notices_done(&n->notices);
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
	tell_handoff(n);
	overdues_changed(&n->overdues);
	queues_configured(&n->queues);
	schedules_configured(&n->schedules);
}

void node_set_notices(struct node *n, const struct notice_rule *rules, size_t n_rules)
{
	notices_set_rules(&n->notices, rules, n_rules);
	outages_fleet_changed(&n->outages);
	losses_changed(&n->losses);
}

void node_set_health(struct node *n, const struct node_health *health)
{
	registry_set_health(&n->registry, health);
	schedules_health(&n->schedules, health);
}

void node_start(struct node *n)
{
	session_start(&n->session);
}

void node_leave(struct node *n)
{
	recipes_stop(&n->recipes);
	queues_stop(&n->queues);
	leftovers_want(&n->leftovers);
}

size_t node_going(const struct node *n)
{
	return runs_going(&n->runs, false) + recipes_going(&n->recipes) + queues_going(&n->queues) +
	       leftovers_going(&n->leftovers);
}

void node_withdraw(struct node *n)
{
	tasks_withdraw(&n->leaders);
}

void node_stop(struct node *n, void (*done)(void *arg), void *arg)
{
	session_stop(&n->session, done, arg);
}
