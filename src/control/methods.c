#include "control/methods.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/nearest.h"
#include "node/tasks.h"
#include "control/answers.h"
#include "control/explain.h"
#include "control/history.h"
#include "control/orders.h"
#include "control/parked.h"
#include "control/refusal.h"
#include "control/run_requests.h"
#include "control/subscriptions.h"

static void on_turn(void *arg)
{
	struct methods *m = arg;

	if (m->dirty)
		parked_look(m);
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

/* Whether a file that is refused may be the reason why a task is not known. */
static void unknown_task(const struct call *call, struct reader_text name)
{
	const struct problems *problems = call->m->process->problems;
	const struct leaders *l = &call->m->node->leaders;
	int len = (int)(name.len > NAME_TASK_MAX ? NAME_TASK_MAX : name.len);
	char text[EXPLAIN_TEXT_MAX] = "";
	struct nearest nearest;

	nearest_init(&nearest, name.data, name.len);
	for (size_t i = 0; i < l->n_tasks; i++)
		if (!l->tasks[i]->withdrawn)
			nearest_offer(&nearest, l->tasks[i]->name);
	explain_say(text, "unknown task \"%.*s\"", len, name.data);
	if (nearest.best)
		explain_say(text, ": did you mean \"%s\"?", nearest.best);
	if (problems->n > 0)
		explain_say(text, " (refused: %s:%d: %s)", problems->list[0].file,
			    problems->list[0].line, problems->list[0].message);
	peer_error(call->c, call->msgid, RPC_MISUSE, text);
}

struct task *methods_take_task(struct call *call)
{
	struct reader_text name;

	if (reader_str(&call->params, &name) != 0) {
		peer_error(call->c, call->msgid, RPC_MISUSE,
			   "a parameter is not the name of a task");
		return NULL;
	}
	struct task *t = tasks_find(&call->m->node->leaders, name.data, name.len);
	if (!t)
		unknown_task(call, name);
	return t;
}

/* The tasks that the parameters name, each once, in an array that is the caller's. */
static bool take_tasks(struct call *call, struct task ***ret_tasks, size_t *ret_n)
{
	const struct leaders *l = &call->m->node->leaders;

	if (call->n_params > METHODS_NAMES_MAX) {
		peer_error(call->c, call->msgid, RPC_MISUSE, "too many names");
		return false;
	}
	struct task **tasks = mem_calloc(call->n_params + 1, sizeof(struct task *));
	mem_auto bool *named = mem_calloc(l->n_tasks + 1, sizeof(bool));
	size_t n = 0;
	for (size_t i = 0; i < call->n_params; i++) {
		struct task *t = methods_take_task(call);
		if (!t) {
			free(tasks);
			return false;
		}
		if (!named[t->index])
			tasks[n++] = t;
		named[t->index] = true;
	}
	*ret_tasks = tasks;
	*ret_n = n;
	return true;
}

static void method_check(struct call *call)
{
	int64_t wait_ms = 0;

	if (call->n_params < 1 || call->n_params > 2) {
		peer_error(call->c, call->msgid, RPC_MISUSE,
			   "check takes a task, and how long to wait in ms");
		return;
	}
	struct task *t = methods_take_task(call);
	if (!t)
		return;
	if (call->n_params == 2 && (reader_int(&call->params, &wait_ms) != 0 || wait_ms < 0 ||
				    wait_ms > METHODS_WAIT_MAX_MS)) {
		peer_error(call->c, call->msgid, RPC_MISUSE,
			   "the time to wait is not a number of ms up to a day");
		return;
	}
	leaders_refresh(t);
	if (wait_ms == 0 || parked_settled(t)) {
		answer_check(call->m->node, call->c, call->msgid, t);
		return;
	}
	struct parked *k = parked_add(call->m, call->c, call->msgid, PARKED_CHECK, wait_ms);
	k->tasks = mem_calloc(1, sizeof(struct task *));
	k->tasks[0] = t;
	k->n_tasks = 1;
	parked_schedule(call->m);
}

static void park_survey(struct call *call, enum parked_kind kind, struct task **tasks, size_t n)
{
	struct node *s = call->m->node;
	bool up = session_is_up(&s->session);
	struct parked *k =
		parked_add(call->m, call->c, call->msgid, kind, up ? METHODS_SURVEY_MAX_MS : 0);

	k->tasks = tasks;
	k->n_tasks = n;
	k->all = n == 0;
	struct task **list = k->all ? s->leaders.tasks : tasks;
	n = k->all ? s->leaders.n_tasks : n;
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
	struct task **tasks;
	size_t n;

	if (take_tasks(call, &tasks, &n))
		park_survey(call, PARKED_TASKS, tasks, n);
}

static void method_workers(struct call *call)
{
	park_survey(call, PARKED_WORKERS, NULL, 0);
}

static void method_explain(struct call *call)
{
	if (call->n_params != 1) {
		peer_error(call->c, call->msgid, RPC_MISUSE, "explain takes one task");
		return;
	}
	struct task **tasks;
	size_t n;
	if (take_tasks(call, &tasks, &n))
		park_survey(call, PARKED_EXPLAIN, tasks, n);
}

static void method_status(struct call *call)
{
	answer_status(call->m->process, call->c, call->msgid);
}

static void method_reload(struct call *call)
{
	struct changes changes = {.refused = false};
	size_t lines = 0;

	if (!peer_may_change(call->c)) {
		peer_error(call->c, call->msgid, RPC_MISUSE, METHODS_NOT_ALLOWED);
		return;
	}
	const struct process *process = call->m->process;
	process->reload(process->arg, &changes);
	for (size_t i = 0; i < changes.text.len; i++)
		lines += changes.text.data[i] == '\n';
	struct pack *p = peer_begin(call->c);
	rpc_pack_result(p, call->msgid);
	pack_map(p, 3);
	pack_str(p, "changes");
	pack_array(p, lines);
	const char *line = (const char *)changes.text.data;
	for (size_t i = 0; i < lines; i++) {
		const char *end = strchr(line, '\n');
		pack_strn(p, line, (size_t)(end - line));
		line = end + 1;
	}
	answers_pack_problems(p, process->problems);
	peer_end(call->c, call->msgid);
	buffer_done(&changes.text);
}

static void method_history(struct call *call)
{
	struct task *t = call->n_params == 1 ? methods_take_task(call) : NULL;

	if (call->n_params != 1)
		peer_error(call->c, call->msgid, RPC_MISUSE, "history takes one task");
	if (t)
		history_answer(call->m, call->c, call->msgid, t);
}

/* The options of subscribe: a map, the last parameter; keys that are not known are passed over. */
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

/* Whether the last parameter is a map, which is no name. */
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
	struct task **tasks;
	const char *why = NULL;
	size_t n;

	call->n_params -= options;
	if (!take_tasks(call, &tasks, &n))
		return;
	if (options && !take_subscribe_options(&call->params, &mine))
		why = "an option of subscribe is not good";
	else if (!peer_may_subscribe(call->c, n > 0 ? n : call->m->node->leaders.n_tasks))
		why = "too many subscriptions of this user";
	else
		subscription_begin(s, call->c, tasks, n, mine);
	free(tasks);
	if (why) {
		peer_error(call->c, call->msgid, RPC_MISUSE, why);
		return;
	}
	struct pack *p = peer_begin(call->c);
	rpc_pack_result(p, call->msgid);
	pack_bool(p, true);
	peer_end(call->c, call->msgid);
}

/* --- from outside --------------------------------------------------------- */

static const struct {
	const char *name;
	void (*call)(struct call *call);
} methods[] = {
	{"check", method_check},      {"tasks", method_tasks},
	{"workers", method_workers},  {"status", method_status},
	{"explain", method_explain},  {"subscribe", method_subscribe},
	{"reload", method_reload},    {"claim", run_request_claim},
	{"renew", run_request_renew}, {"finish", run_request_finish},
	{"history", method_history},  {"drain", order_drain},
	{"undrain", order_undrain},   {"pause", order_pause},
	{"resume", order_resume},     {"resign", order_resign},
	{"unresign", order_unresign}, {"pin", order_pin},
	{"unpin", order_unpin},	      {"attach", run_request_attach},
};

void methods_request(struct methods *m, struct peer *c, const struct rpc_message *message)
{
	struct call call = {m, c, message->msgid, message->params, message->n_params};

	for (size_t i = 0; i < sizeof(methods) / sizeof(methods[0]); i++) {
		if (reader_text_is(message->method, methods[i].name)) {
			methods[i].call(&call);
			return;
		}
	}
	peer_error(c, message->msgid, RPC_MISUSE, "unknown method");
}

void methods_drained(struct methods *m)
{
	/* Something more may be told; at the end of this turn. */
	subscriptions_changed(&m->subscriptions);
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
	refusals_client_gone(m, c);
	histories_client_gone(m, c);
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
	last_runs_on_idle(&m->node->last_runs, on_last_runs, m);
}

void methods_done(struct methods *m)
{
	host_turn_done(&m->turn);
	host_timer_done(&m->due);
}
