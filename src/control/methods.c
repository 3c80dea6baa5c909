#include "control/methods.h"

#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/mem.h"
#include "control/answers.h"
#include "control/history.h"
#include "control/explain.h"
#include "control/orders.h"
#include "control/run_requests.h"
#include "control/subscriptions.h"
#include "node/survey.h"
#include "node/tasks.h"

#define TEXT_MAX 600
#define LOOK_US	 2000 /* for long answers in one turn of the loop */

/* A request that waits for something to come from ZooKeeper or for an election to settle. */
struct parked {
	struct parked *prev, *next;
	struct peer *client;
	uint32_t msgid;
	enum parked_kind { PARKED_CHECK, PARKED_TASKS, PARKED_WORKERS, PARKED_EXPLAIN } kind;
	int64_t deadline_ms;
	struct task **tasks; /* that it is about; all tasks where there are none. Owned array. */
	size_t n_tasks;
	bool all;
	struct round
		*round; /* WORKERS: of the tasks that are not ours; NULL: it waits for the next */
};

/* A survey, which all share that had asked when it began. */
struct round {
	struct methods *methods;
	struct survey *survey;
	unsigned users;
};

/* Whether waiting longer could change the answer. */
static bool check_settled(const struct task *t)
{
	return leaders_says(t) || t->standing.paused ||
	       (!election_unsettled(&t->election) && !election_leads(&t->election));
}

/* --- parking --------------------------------------------------------------------------------------- */

static void schedule(struct methods *m);
static void wake(struct methods *m);

static void leave_round(struct round *r)
{
	if (!r || --r->users > 0)
		return;
	if (r->methods->round == r)
		r->methods->round = NULL;
	survey_free(r->survey);
	free(r);
}

static void unpark(struct methods *m, struct parked *k)
{
	if (k->prev)
		k->prev->next = k->next;
	else
		m->parked = k->next;
	if (k->next)
		k->next->prev = k->prev;
	k->client->parked--;
	k->client->asking -= k->kind != PARKED_CHECK;
	leave_round(k->round);
	free(k->tasks);
	free(k);
}

static struct parked *park(struct methods *m, struct peer *c, uint32_t msgid, enum parked_kind kind,
			   int64_t wait_ms)
{
	struct parked *k = mem_calloc(1, sizeof(*k));

	k->client = c;
	k->msgid = msgid;
	k->kind = kind;
	k->deadline_ms = host_now_ms(m->node->host) + wait_ms;
	k->next = m->parked;
	if (k->next)
		k->next->prev = k;
	m->parked = k;
	c->parked++;
	c->asking += kind != PARKED_CHECK;
	m->dirty = true;
	return k;
}

static bool all_fresh(const struct node *s, const struct parked *k)
{
	struct task *const *tasks = k->all ? s->leaders.tasks : k->tasks;
	size_t n = k->all ? s->leaders.n_tasks : k->n_tasks;

	if (!session_is_up(&s->session) || !s->registry.workers.ready || !s->policy.folder.ready)
		return false;
	for (size_t i = 0; i < n; i++)
		if (!leaders_fresh(tasks[i]))
			return false;
	return true;
}

static bool is_ready(const struct node *s, const struct parked *k)
{
	switch (k->kind) {
	case PARKED_CHECK: return check_settled(k->tasks[0]);
	case PARKED_WORKERS: return k->round && survey_is_done(k->round->survey) && all_fresh(s, k);
	case PARKED_TASKS:
	case PARKED_EXPLAIN: return all_fresh(s, k);
	}
	return true;
}

/* --- looking at what is parked ----------------------------------------------------------------------- */

static void answer(struct methods *m, struct parked *k)
{
	const struct node *s = m->node;

	switch (k->kind) {
	case PARKED_CHECK: answer_check(s, k->client, k->msgid, k->tasks[0]); break;
	case PARKED_TASKS:
		answer_tasks(s, k->client, k->msgid, k->all ? s->leaders.tasks : k->tasks,
			     k->all ? s->leaders.n_tasks : k->n_tasks);
		break;
	case PARKED_WORKERS:
		answer_workers(s, k->client, k->msgid, k->round ? k->round->survey : NULL);
		break;
	case PARKED_EXPLAIN: answer_explain(s, k->client, k->msgid, k->tasks[0]); break;
	}
}

static bool is_due(const struct methods *m, const struct parked *k, int64_t now)
{
	if (k->client->closing || (now < k->deadline_ms && !is_ready(m->node, k)))
		return false;
	return k->kind == PARKED_CHECK || peer_has_room(k->client);
}

/*
 * Answers those that are ready or have waited long enough, the oldest first; tables as many as one turn of the
 * loop is to take. False: there are more.
 */
static bool look_at(struct methods *m, bool tables)
{
	int64_t now = host_now_ms(m->node->host);
	int64_t until_us = clock_boot_us() + LOOK_US;
	struct parked *k = m->parked;

	while (k && k->next)
		k = k->next;
	while (k) {
		struct parked *prev = k->prev;
		if ((k->kind != PARKED_CHECK) == tables && is_due(m, k, now)) {
			/* A client that goes while it is answered takes all its requests along. */
			struct peer *c = k->client;
			answer(m, k);
			if (c->closing)
				return false;
			unpark(m, k);
			if (tables && clock_boot_us() >= until_us)
				return false;
		}
		k = prev;
	}
	return true;
}

static void look(struct methods *m)
{
	m->dirty = false;
	bool all = look_at(m, false);
	all &= look_at(m, true);
	schedule(m);
	m->dirty = !all;
	if (!all)
		host_timer_start(&m->due, 1);
}

static void on_turn(void *arg)
{
	struct methods *m = arg;

	if (m->dirty)
		look(m);
	if (!subscriptions_tell(&m->subscriptions))
		host_timer_start(&m->due, 1);
}

static void on_due(void *arg)
{
	look(arg);
}

/* For the first deadline; while nothing is parked, neither timer nor turn costs anything. */
static void schedule(struct methods *m)
{
	int64_t first = INT64_MAX, now = host_now_ms(m->node->host);

	/* Those that are overdue wait for their turn, or for room. */
	for (const struct parked *k = m->parked; k; k = k->next)
		if (k->deadline_ms > now && k->deadline_ms < first)
			first = k->deadline_ms;
	if (first == INT64_MAX) {
		host_timer_stop(&m->due);
		return;
	}
	host_timer_start(&m->due, first - now);
}

static void wake(struct methods *m)
{
	m->dirty = true;
	/* Another turn follows at once. */
	if (m->parked)
		host_timer_start(&m->due, 0);
}

static void begin_round(struct methods *m);

static void on_survey_done(void *arg)
{
	struct methods *m = arg;

	m->round = NULL;
	begin_round(m);
	wake(m);
}

/* One survey at a time; who asks while it goes on might have done something that it does not see. */
static void begin_round(struct methods *m)
{
	struct node *s = m->node;

	if (m->round || !session_is_up(&s->session))
		return;
	for (struct parked *k = m->parked; k; k = k->next) {
		if (k->kind != PARKED_WORKERS || k->round)
			continue;
		if (!m->round) {
			m->round = mem_calloc(1, sizeof(*m->round));
			m->round->methods = m;
			m->round->survey = survey_start(&s->leaders, on_survey_done, m);
		}
		k->round = m->round;
		m->round->users++;
	}
}

/* --- the methods ------------------------------------------------------------------------------------- */

/* Whether a file that is refused may be the reason why a task is not known. */
static void unknown_task(const struct call *call, struct reader_text name)
{
	const struct problems *problems = call->m->process->problems;
	char text[TEXT_MAX];
	int len = (int)(name.len > NAME_TASK_MAX ? NAME_TASK_MAX : name.len);
	int n = snprintf(text, sizeof(text), "unknown task \"%.*s\"", len, name.data);

	if (problems->n > 0 && n > 0 && (size_t)n < sizeof(text))
		snprintf(text + n, sizeof(text) - (size_t)n, " (refused: %s:%d: %s)",
			 problems->list[0].file, problems->list[0].line, problems->list[0].message);
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
	if (wait_ms == 0 || check_settled(t)) {
		answer_check(call->m->node, call->c, call->msgid, t);
		return;
	}
	struct parked *k = park(call->m, call->c, call->msgid, PARKED_CHECK, wait_ms);
	k->tasks = mem_calloc(1, sizeof(struct task *));
	k->tasks[0] = t;
	k->n_tasks = 1;
	schedule(call->m);
}

static void park_survey(struct call *call, enum parked_kind kind, struct task **tasks, size_t n)
{
	struct node *s = call->m->node;
	bool up = session_is_up(&s->session);
	struct parked *k =
		park(call->m, call->c, call->msgid, kind, up ? METHODS_SURVEY_MAX_MS : 0);

	k->tasks = tasks;
	k->n_tasks = n;
	k->all = n == 0;
	struct task **list = k->all ? s->leaders.tasks : tasks;
	n = k->all ? s->leaders.n_tasks : n;
	for (size_t i = 0; i < n; i++)
		leaders_refresh(list[i]);
	if (kind == PARKED_WORKERS)
		begin_round(call->m);
	wake(call->m);
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

/* --- from outside -------------------------------------------------------------------------------------- */

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
	{"reload", method_reload},
	{"claim", run_request_claim},
	{"renew", run_request_renew},
	{"finish", run_request_finish},
	{"history", method_history},
	{"drain", order_drain},
	{"undrain", order_undrain},
	{"pause", order_pause},
	{"resume", order_resume},
	{"resign", order_resign},
	{"pin", order_pin},
	{"unpin", order_unpin},
	{"attach", run_request_attach},
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
		wake(m);
}

void methods_room(struct methods *m)
{
	methods_task_changed(m);
}

void methods_task_removed(struct methods *m, const struct task *t)
{
	struct parked *next;

	for (struct parked *k = m->parked; k; k = next) {
		next = k->next;
		for (size_t i = 0; i < k->n_tasks; i++) {
			if (k->tasks[i] != t)
				continue;
			peer_error(k->client, k->msgid, RPC_MISUSE, "the task has been removed");
			unpark(m, k);
			break;
		}
	}
}

void methods_client_gone(struct methods *m, struct peer *c)
{
	struct parked *next;

	for (struct parked *k = m->parked; k; k = next) {
		next = k->next;
		if (k->client == c)
			unpark(m, k);
	}
	orders_client_gone(m, c);
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
}

void methods_done(struct methods *m)
{
	host_turn_done(&m->turn);
	host_timer_done(&m->due);
}
