#include "control/dispatch.h"

#include <stdlib.h>
#include <string.h>

#include "base/doing.h"
#include "control/answer/parked.h"
#include "control/answer/subscriptions.h"
#include "control/ask/refusal.h"
#include "control/checks.h"
#include "control/metrics.h"
#include "control/orders/orders.h"
#include "control/orders/reloads.h"
#include "control/orders/repartition.h"
#include "control/programs/notifiers.h"
#include "control/programs/runners.h"
#include "control/queues/queue_asks.h"
#include "control/queues/queues.h"
#include "control/recipes/gangs.h"
#include "control/recipes/locks.h"
#include "control/recipes/recipes.h"
#include "control/ticks/explain_tick.h"
#include "control/ticks/history.h"
#include "control/ticks/next.h"
#include "control/ticks/run_requests.h"
#include "control/ticks/trigger.h"
#include "node/ledger/last_run.h"

static void on_turn(void *arg)
{
	struct methods *m = arg;

	if (m->dirty)
		parked_look(m);
	recipes_look(m);
	if (!subscriptions_tell(m->subscriptions))
		host_timer_start(&m->due, 1);
}

static void on_due(void *arg)
{
	parked_look(arg);
}

static void on_last_runs(void *arg)
{
	struct methods *m = arg;

	if (m->parked)
		parked_wake(m);
}

static const struct {
	const char *name;
	void (*call)(struct call *call);
} methods[] = {
	{"check", method_check},
	{"tasks", method_tasks},
	{"workers", method_workers},
	{"status", method_status},
	{"explain", method_explain},
	{"subscribe", method_subscribe},
	{"reload", reload_answer},
	{"claim", run_request_claim},
	{"renew", run_request_renew},
	{"finish", run_request_finish},
	{"history", history_method},
	{"drain", order_drain},
	{"undrain", order_undrain},
	{"pause", order_pause},
	{"resume", order_resume},
	{"resign", order_resign},
	{"unresign", order_unresign},
	{"pin", order_pin},
	{"unpin", order_unpin},
	{"attach", run_request_attach},
	{"partitions", method_partitions},
	{"repartition", repartition},
	{"counter", recipe_counter},
	{"metrics", method_metrics},
	{"index", recipe_index},
	{"roster", recipe_roster},
	{"forget", recipe_forget},
	{"wait", recipe_wait},
	{"rolling", recipe_rolling},
	{"barrier", recipe_barrier},
	{"barrier_leave", recipe_barrier_leave},
	{"next", method_next},
	{"trigger", trigger_answer},
	{"outcome", outcome_answer},
	{"runner", runner_register},
	{"refusals", runner_refusals},
	{"pong", runner_pong},
	{"notifier", notifier_register},
	{"noticed", notifier_noticed},
	{"lock", method_lock},
	{"lock_renew", method_lock_renew},
	{"lock_finish", method_lock_finish},
	{"lock_attach", method_lock_attach},
	{"locks", method_locks},
	{"submit", method_submit},
	{"job", method_job},
	{"cancel", method_cancel},
	{"queue", method_queue},
	{"jobs", method_jobs},
	{"job_id", method_job_id},
	{"dead", method_dead},
	{"requeue", method_requeue},
	{"purge", method_purge},
	{"job_begin", method_job_begin},
	{"job_renew", method_job_renew},
	{"job_finish", method_job_finish},
	{"job_attach", method_job_attach},
	{"join", method_join},
	{"join_renew", method_join_renew},
	{"join_finish", method_join_finish},
	{"join_attach", method_join_attach},
};

_Static_assert(sizeof(methods) / sizeof(methods[0]) <= METHODS_COUNT_MAX,
	       "each method has a place in asked[]");

void methods_request(struct methods *m, struct peer *c, const struct rpc_message *message)
{
	struct call call = {m, c, message->msgid, message->params, message->n_params};

	for (size_t i = 0; i < sizeof(methods) / sizeof(methods[0]); i++) {
		if (reader_text_is(message->method, methods[i].name)) {
			const char *before = doing_begin(methods[i].name);

			m->asked[i]++;
			methods[i].call(&call);
			doing_end(before);
			return;
		}
	}
	peer_error(c, message->msgid, RPC_MISUSE, "unknown method");
}

size_t methods_count(void)
{
	return sizeof(methods) / sizeof(methods[0]);
}

void methods_asked(const struct methods *m, size_t i, const char **ret_name, uint64_t *ret_asked)
{
	*ret_name = methods[i].name;
	*ret_asked = m->asked[i];
}

void methods_drained(struct methods *m)
{
	/* Subscribers have room again: notifications go on at the end of this turn. */
	subscriptions_changed(m->subscriptions);
	notifiers_drained(m);
}

void methods_task_changed(struct methods *m)
{
	subscriptions_changed(m->subscriptions);
	if (m->parked)
		parked_wake(m);
}

void methods_room(struct methods *m)
{
	methods_task_changed(m);
}

void methods_task_removed(struct methods *m, const struct task *t)
{
	parked_task_removed(m, t);
}

void methods_client_gone(struct methods *m, struct peer *c)
{
	parked_client_gone(m, c);
	orders_client_gone(m, c);
	repartitions_client_gone(m, c);
	refusals_client_gone(m, c);
	next_client_gone(m, c);
	histories_client_gone(m, c);
	explain_ticks_client_gone(m, c);
	recipes_client_gone(m, c);
	runners_client_gone(m, c);
	notifiers_client_gone(m, c);
	lock_requests_client_gone(m, c);
	queue_asks_client_gone(m, c);
	queue_submits_client_gone(m, c);
	gang_requests_client_gone(m, c);
	run_requests_client_gone(m, c);
	triggers_client_gone(m, c);
	reloads_client_gone(m, c);
	runs_owner_gone(&m->node->runs, c);
	subscription_end(m->subscriptions, c);
}

void methods_init(struct methods *m, const struct process *process)
{
	struct host *host = process->node->host;

	memset(m, 0, sizeof(*m));
	m->process = process;
	m->node = process->node;
	m->subscriptions = subscriptions_new(process->node);
	host_turn_init(&m->turn, host, on_turn, m);
	host_timer_init(&m->due, host, on_due, m);
	runners_init(m);
	notifiers_init(m);
	last_runs_on_idle(&m->node->last_runs, on_last_runs, m);
	recipes_init_waits(m);
	lock_requests_init(m);
	gang_requests_init(m);
	queue_work_init(m);
	queue_views_init(m);
}

void methods_done(struct methods *m)
{
	host_turn_done(&m->turn);
	host_timer_done(&m->due);
	host_timer_done(&m->runners.due);
	host_timer_done(&m->runners.ping);
	host_timer_done(&m->attach_due);
	host_timer_done(&m->views_due);
	runners_done(m);
	notifiers_done(m);
	recipes_done_waits(m);
	queue_submits_done(m);
	free(m->subscriptions);
}
