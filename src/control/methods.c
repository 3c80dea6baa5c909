#include "control/methods.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/doing.h"
#include "base/mem.h"
#include "control/answers.h"
#include "control/explain.h"
#include "control/explain_tick.h"
#include "control/gangs.h"
#include "control/history.h"
#include "control/locks.h"
#include "control/metrics.h"
#include "control/next.h"
#include "control/notifiers.h"
#include "control/orders.h"
#include "control/parked.h"
#include "control/partition_answers.h"
#include "control/queue_asks.h"
#include "control/queues.h"
#include "control/recipes.h"
#include "control/refusal.h"
#include "control/reloads.h"
#include "control/repartition.h"
#include "control/run_requests.h"
#include "control/runners.h"
#include "control/subject.h"
#include "control/subscriptions.h"
#include "control/trigger.h"
#include "node/election/partitions.h"
#include "node/ledger/last_run.h"

static void on_turn(void *arg)
{
	struct methods *m = arg;

	if (m->dirty)
		parked_look(m);
	recipes_look(m);
	if (!subscriptions_tell(&m->subscriptions))
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

/* --- the methods ---------------------------------------------------------- */

void methods_refuse_whole(const struct call *call, const struct listing *l)
{
	char text[EXPLAIN_TEXT_MAX] = "", problem[PARTITIONS_TEXT_MAX];

	if (partitions_problem(l, problem))
		explain_say(text, "%s: %s", l->name, problem);
	else if (l->n == 0)
		explain_say(text, "how many partitions %s has is not known yet", l->name);
	else
		explain_say(text, "%s has %zu partitions: name one of them, as %s:0, or --any",
			    l->name, l->n, l->name);
	peer_error(call->c, call->msgid, RPC_MISUSE, text);
}

void methods_renewed(const struct call *call, int64_t lease_ms, const char *misuse)
{
	if (lease_ms < 0) {
		peer_error(call->c, call->msgid, RPC_MISUSE, misuse);
		return;
	}
	struct pack *p = peer_begin(call->c);
	rpc_pack_result(p, call->msgid);
	pack_map(p, 3);
	pack_kv_bool(p, "leads", lease_ms > 0);
	pack_kv_int(p, "lease_ms", lease_ms);
	pack_kv_int(p, "timeout_ms", call->m->node->session.lease.timeout_ms);
	peer_end(call->c, call->msgid);
}

struct task *methods_take_task(struct call *call)
{
	struct subject s;

	if (!subject_take(call, &s))
		return NULL;
	if (!s.task)
		methods_refuse_whole(call, s.listing);
	return s.task;
}

/* The options of check: a map; unknown keys are skipped. */
static bool take_check_options(struct reader *r, bool *ret_any)
{
	struct reader_text key;
	size_t n;

	if (reader_map(r, &n) != 0)
		return false;
	for (; n > 0; n--) {
		int e = reader_str(r, &key);
		if (e == 0 && reader_text_is(key, "any"))
			e = reader_bool(r, ret_any);
		else if (e == 0)
			e = reader_skip(r);
		if (e != 0)
			return false;
	}
	return true;
}

/* Takes the parameters after the name; false after an error answer. */
static bool take_check_rest(struct call *call, struct reader params, int64_t *ret_wait_ms,
			    bool *ret_any)
{
	const char *why = NULL;

	if (call->n_params < 1 || call->n_params > 3)
		why = "check takes a task, how long to wait in ms, and a map of options";
	else if (reader_skip(&params) != 0)
		why = "a parameter is not the name of a task";
	else if (call->n_params >= 2 && (reader_int(&params, ret_wait_ms) != 0 ||
					 *ret_wait_ms < 0 || *ret_wait_ms > METHODS_WAIT_MAX_MS))
		why = "the time to wait is not a number of ms up to a day";
	else if (call->n_params == 3 && !take_check_options(&params, ret_any))
		why = "an option of check is not good";
	if (why)
		peer_error(call->c, call->msgid, RPC_MISUSE, why);
	return !why;
}

/* Answers whether this node leads any partition of the task. */
static void check_any(struct call *call, const struct subject *s, int64_t wait_ms)
{
	struct node *node = call->m->node;

	for (size_t i = 0; i < s->listing->n; i++)
		leaders_refresh(s->listing->tasks[i]);
	if (wait_ms == 0 || partition_any_settled(s->listing)) {
		answer_check_any(node, call->c, call->msgid, s->listing);
		return;
	}
	parked_about(parked_add(call->m, call->c, call->msgid, PARKED_CHECK_ANY, wait_ms), s);
	parked_schedule(call->m);
}

static void check_one(struct call *call, const struct subject *s, int64_t wait_ms)
{
	leaders_refresh(s->task);
	if (wait_ms == 0 || parked_settled(s->task)) {
		answer_check(call->m->node, call->c, call->msgid, s->task);
		return;
	}
	parked_about(parked_add(call->m, call->c, call->msgid, PARKED_CHECK, wait_ms), s);
	parked_schedule(call->m);
}

static void method_check(struct call *call)
{
	int64_t wait_ms = 0;
	bool any = false;
	struct subject s;

	if (!take_check_rest(call, call->params, &wait_ms, &any) || !subject_take(call, &s))
		return;
	if (any && s.task && partitions_state(s.listing) != PARTITIONS_PLAIN)
		peer_error(call->c, call->msgid, RPC_MISUSE,
			   "any is about a task, not about one of its partitions");
	else if (s.task)
		check_one(call, &s, wait_ms);
	else if (any && s.listing->n > 0)
		check_any(call, &s, wait_ms);
	else
		methods_refuse_whole(call, s.listing);
}

/* Parks a request until ZooKeeper has answered. Takes the subjects over; NULL: all tasks. */
static void park_survey(struct call *call, enum parked_kind kind, struct subjects *subjects)
{
	struct node *s = call->m->node;
	bool up = session_is_up(&s->session);
	struct parked *k =
		parked_add(call->m, call->c, call->msgid, kind, up ? METHODS_SURVEY_MAX_MS : 0);

	k->all = !subjects;
	if (subjects)
		k->subjects = *subjects;
	struct task *const *list = k->all ? s->leaders.tasks : k->subjects.tasks;
	size_t n = k->all ? s->leaders.n_tasks : k->subjects.n_tasks;
	for (size_t i = 0; i < n; i++)
		leaders_refresh(list[i]);
	if (kind == PARKED_WORKERS)
		parked_begin_round(call->m);
	if (kind == PARKED_TASKS)
		last_runs_ask(&s->last_runs, list, n);
	parked_wake(call->m);
}

static void method_tasks(struct call *call)
{
	struct subjects subjects;

	if (call->n_params == 0)
		park_survey(call, PARKED_TASKS, NULL);
	else if (subjects_take(call, &subjects))
		park_survey(call, PARKED_TASKS, &subjects);
}

static void method_workers(struct call *call)
{
	park_survey(call, PARKED_WORKERS, NULL);
}

static void method_explain(struct call *call)
{
	struct subjects subjects;

	if (call->n_params == 2)
		explain_tick_method(call);
	else if (call->n_params != 1)
		peer_error(call->c, call->msgid, RPC_MISUSE, "explain takes one task, and a tick");
	else if (subjects_take(call, &subjects))
		park_survey(call, PARKED_EXPLAIN, &subjects);
}

static void method_partitions(struct call *call)
{
	char text[EXPLAIN_TEXT_MAX] = "", problem[PARTITIONS_TEXT_MAX];
	struct call again = *call;
	struct subjects subjects;
	struct subject s;

	if (call->n_params != 1)
		peer_error(call->c, call->msgid, RPC_MISUSE, "partitions takes one task");
	if (call->n_params != 1 || !subject_take(call, &s))
		return;
	if (s.task)
		explain_say(text, "%s has no partitions", subject_name(&s));
	else if (partitions_problem(s.listing, problem))
		explain_say(text, "%s: %s", s.listing->name, problem);
	else if (subjects_take(&again, &subjects))
		park_survey(&again, PARKED_PARTITIONS, &subjects);
	if (text[0])
		peer_error(call->c, call->msgid, RPC_MISUSE, text);
}

static void method_status(struct call *call)
{
	answer_status(call->m, call->c, call->msgid);
}

/* The options of subscribe: a map, the last parameter; unknown keys are skipped. */
static bool take_subscribe_options(struct reader *r, bool *ret_mine)
{
	struct reader_text key;
	size_t n;

	if (reader_map(r, &n) != 0)
		return false;
	for (; n > 0; n--) {
		int e = reader_str(r, &key);
		if (e == 0 && reader_text_is(key, "mine"))
			e = reader_bool(r, ret_mine);
		else if (e == 0)
			e = reader_skip(r);
		if (e != 0)
			return false;
	}
	return true;
}

/* Whether the last parameter is a map, and so the options. */
static bool has_options(const struct call *call)
{
	struct reader r = call->params;
	enum reader_type type = READER_NIL;

	for (size_t i = 1; i < call->n_params; i++)
		if (reader_skip(&r) != 0)
			return false;
	return call->n_params > 0 && reader_peek(&r, &type) == 0 && type == READER_MAP;
}

static void method_subscribe(struct call *call)
{
	struct subscriptions *s = &call->m->subscriptions;
	bool options = has_options(call), mine = false;
	struct subjects subjects;
	const char *why = NULL;

	call->n_params -= options;
	if (!subjects_take(call, &subjects))
		return;
	size_t n = subjects.n > 0 ? subjects.n_tasks : call->m->node->leaders.n_tasks;
	if (options && !take_subscribe_options(&call->params, &mine))
		why = "an option of subscribe is not good";
	else if (!peer_may_subscribe(call->c, n))
		why = "too many subscriptions of this user";
	else
		subscription_begin(s, call->c, &subjects, mine);
	subjects_done(&subjects);
	if (why) {
		peer_error(call->c, call->msgid, RPC_MISUSE, why);
		return;
	}
	struct pack *p = peer_begin(call->c);
	rpc_pack_result(p, call->msgid);
	pack_bool(p, true);
	peer_end(call->c, call->msgid);
}

/* --- the table, and the handlers for others ------------------------------- */

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
	subscriptions_changed(&m->subscriptions);
	notifiers_drained(m);
}

void methods_task_changed(struct methods *m)
{
	subscriptions_changed(&m->subscriptions);
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
	subscription_end(&m->subscriptions, c);
}

void methods_init(struct methods *m, const struct process *process)
{
	struct host *host = process->node->host;

	memset(m, 0, sizeof(*m));
	m->process = process;
	m->node = process->node;
	subscriptions_init(&m->subscriptions, process->node);
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
}
