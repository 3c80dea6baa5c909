#include "daemon/methods.h"

#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/mem.h"
#include "core/version.h"
#include "daemon/sidecar.h"
#include "daemon/survey.h"

#define TEXT_MAX 600

/* A request that waits for something to come from ZooKeeper or for an election to settle. */
struct parked {
	struct parked *prev, *next;
	struct client *client;
	uint32_t msgid;
	enum parked_kind { PARKED_CHECK, PARKED_TASKS, PARKED_WORKERS, PARKED_EXPLAIN } kind;
	int64_t deadline_ms;
	struct task **tasks; /* that it is about; all tasks where there are none. Owned array. */
	size_t n_tasks;
	bool all;
	struct survey *survey; /* WORKERS: of the tasks that are not ours; NULL */
};

struct subscription {
	struct task **tasks;
	size_t n_tasks;
	bool all;
};

/* --- pieces of answers --------------------------------------------------------------------------- */

static void pack_time(struct pack *p, const char *key, int64_t wall_ms)
{
	char text[CLOCK_TEXT_SIZE];

	if (wall_ms > 0)
		clock_format(wall_ms, text);
	pack_kv_str(p, key, wall_ms > 0 ? text : NULL);
}

static const char *state_word(const struct sidecar *s, const struct task *t)
{
	const struct election *e = &t->election;

	if (!session_is_up(&s->session) && leaders_lease_left(t) == 0)
		return "disconnected";
	if (election_leads(e))
		return leaders_lease_left(t) > 0 ? "leading" : "disconnected";
	if (e->state == ELECTION_FOLLOWING || !e->view.candidate)
		return "following";
	return "contending";
}

static void pack_leader(struct pack *p, const char *key, const struct task *t)
{
	const struct election_node *node = &t->election.node;
	const struct member *m = leaders_leader(t);

	pack_str(p, key);
	if (!node->known || !node->exists) {
		pack_nil(p);
		return;
	}
	/* A leader that no worker's record speaks of: all that is known is what its node says. */
	pack_map(p, 4);
	pack_kv_str(p, "id", m ? m->worker->id : t->leader_id);
	pack_kv_str(p, "ip", m ? m->worker->ip : "");
	pack_kv_str(p, "hostname", m ? m->worker->hostname : "");
	pack_kv_str(p, "version", m ? m->worker->version : "");
}

/* The fields of a `tasks` entry; the caller has opened a map with room for them. */
#define TASK_FIELDS 7
static void pack_task_fields(struct pack *p, const struct sidecar *s, const struct task *t)
{
	const struct election_node *node = &t->election.node;
	bool led = node->known && node->exists;

	pack_kv_str(p, "task", t->name);
	pack_kv_str(p, "state", state_word(s, t));
	pack_kv_bool(p, "self", election_leads(&t->election));
	pack_leader(p, "leader", t);
	if (led)
		pack_kv_int(p, "token", node->token);
	else
		pack_kv_nil(p, "token");
	pack_time(p, "since", led ? t->since : 0);
	pack_kv_int(p, "lease_ms", leaders_lease_left(t));
}

static size_t count_led(const struct sidecar *s, const struct member *m)
{
	size_t n = 0;

	for (size_t i = 0; i < s->leaders.n_tasks; i++)
		n += leaders_leader(s->leaders.tasks[i]) == m;
	return n;
}

#define WORKER_FIELDS 10
static void pack_worker_fields(struct pack *p, const struct sidecar *s, const struct member *m,
			       size_t led_elsewhere)
{
	const struct worker *w = m->worker;

	pack_kv_str(p, "id", w->id);
	pack_kv_str(p, "version", w->version);
	pack_kv_str(p, "ip", w->ip);
	pack_kv_str(p, "hostname", w->hostname);
	pack_str(p, "random_ints");
	pack_array(p, WORKER_RANDOM_INTS);
	for (size_t i = 0; i < WORKER_RANDOM_INTS; i++)
		pack_int(p, w->random_ints[i]);
	pack_str(p, "tasks");
	pack_array(p, w->n_tasks);
	for (size_t i = 0; i < w->n_tasks; i++)
		pack_str(p, w->tasks[i]);
	pack_kv_str(p, "state", m->drained ? "drained" : "active");
	pack_kv_uint(p, "leads", count_led(s, m) + led_elsewhere);
	pack_kv_bool(p, "self", m == registry_self(&s->registry));
	pack_time(p, "since", w->started_at);
}

static void pack_problems(struct pack *p, const struct problems *problems)
{
	pack_str(p, "problems");
	pack_array(p, problems->n);
	for (size_t i = 0; i < problems->n; i++) {
		pack_map(p, 3);
		pack_kv_str(p, "file", problems->list[i].file);
		pack_kv_int(p, "line", problems->list[i].line);
		pack_kv_str(p, "message", problems->list[i].message);
	}
}

/* --- check --------------------------------------------------------------------------------------- */

/* Why this node may not say "leads", in a sentence. */
static void say_why(const struct sidecar *s, const struct task *t, char text[TEXT_MAX])
{
	const struct election *e = &t->election;
	const struct member *m = leaders_leader(t);

	if (leaders_lease_left(t) > 0)
		snprintf(text, TEXT_MAX, "this node leads %s", t->name);
	else if (!session_is_up(&s->session))
		snprintf(text, TEXT_MAX, "no confirmed session with ZooKeeper: %s",
			 s->session.problem[0] ? s->session.problem
					       : session_state_name(&s->session));
	else if (election_leads(e))
		snprintf(text, TEXT_MAX,
			 "the quorum has not confirmed the session recently enough");
	else if (e->node.known && e->node.exists)
		snprintf(text, TEXT_MAX, "%s is led by %s (%s)", t->name,
			 m ? m->worker->hostname : t->leader_id,
			 m ? m->worker->version : "not in the fleet");
	else if (!e->view.candidate && t->min_version)
		snprintf(
			text, TEXT_MAX,
			"nobody leads %s, and this node's version is older than its min-version %s",
			t->name, t->min_version);
	else
		snprintf(text, TEXT_MAX, "nobody leads %s yet: the election has not settled",
			 t->name);
}

static void answer_check(const struct sidecar *s, struct client *c, uint32_t msgid,
			 const struct task *t)
{
	struct pack *p = control_begin(c);
	const struct election_node *node = &t->election.node;
	int64_t left = leaders_lease_left(t);
	char why[TEXT_MAX];

	say_why(s, t, why);
	rpc_pack_result(p, msgid);
	pack_map(p, 7);
	pack_kv_str(p, "task", t->name);
	pack_kv_bool(p, "leader", left > 0);
	pack_kv_str(p, "state", state_word(s, t));
	if (node->known && node->exists)
		pack_kv_int(p, "token", node->token);
	else
		pack_kv_nil(p, "token");
	pack_kv_int(p, "lease_ms", left);
	if (session_is_up(&s->session))
		pack_leader(p, "led_by", t);
	else
		pack_kv_nil(p, "led_by"); /* what was known may no longer be so */
	pack_kv_str(p, "why", why);
	control_end(c, msgid);
}

/* Whether waiting longer could change the answer. */
static bool check_settled(const struct task *t)
{
	return leaders_lease_left(t) > 0 ||
	       (!election_unsettled(&t->election) && !election_leads(&t->election));
}

/* --- parking --------------------------------------------------------------------------------------- */

static void schedule(struct methods *m);

static void unpark(struct methods *m, struct parked *k)
{
	if (k->prev)
		k->prev->next = k->next;
	else
		m->parked = k->next;
	if (k->next)
		k->next->prev = k->prev;
	k->client->parked--;
	survey_free(k->survey);
	free(k->tasks);
	free(k);
}

static struct parked *park(struct methods *m, struct client *c, uint32_t msgid,
			   enum parked_kind kind, int64_t wait_ms)
{
	struct parked *k = mem_calloc(1, sizeof(*k));

	k->client = c;
	k->msgid = msgid;
	k->kind = kind;
	k->deadline_ms = clock_boot_ms() + wait_ms;
	k->next = m->parked;
	if (k->next)
		k->next->prev = k;
	m->parked = k;
	c->parked++;
	m->dirty = true;
	return k;
}

static bool all_fresh(const struct sidecar *s, const struct parked *k)
{
	struct task *const *tasks = k->all ? s->leaders.tasks : k->tasks;
	size_t n = k->all ? s->leaders.n_tasks : k->n_tasks;

	if (!session_is_up(&s->session) || !s->registry.ready)
		return false;
	for (size_t i = 0; i < n; i++)
		if (!leaders_fresh(tasks[i]))
			return false;
	return true;
}

static bool is_ready(const struct sidecar *s, const struct parked *k)
{
	switch (k->kind) {
	case PARKED_CHECK: return check_settled(k->tasks[0]);
	case PARKED_WORKERS:
		if (!k->survey || !survey_is_done(k->survey))
			return false;
		return all_fresh(s, k);
	case PARKED_TASKS:
	case PARKED_EXPLAIN: return all_fresh(s, k);
	}
	return true;
}

static void answer_tasks(const struct sidecar *s, const struct parked *k)
{
	struct pack *p = control_begin(k->client);
	struct task *const *tasks = k->all ? s->leaders.tasks : k->tasks;
	size_t n = k->all ? s->leaders.n_tasks : k->n_tasks, shown = 0;

	for (size_t i = 0; i < n; i++)
		shown += !tasks[i]->withdrawn;
	rpc_pack_result(p, k->msgid);
	pack_array(p, shown);
	for (size_t i = 0; i < n; i++) {
		if (tasks[i]->withdrawn)
			continue;
		pack_map(p, TASK_FIELDS);
		pack_task_fields(p, s, tasks[i]);
	}
	control_end(k->client, k->msgid);
}

/* For people: that version_compare() is not transitive on odd strings does not matter here. */
static int newest_first(const void *a, const void *b)
{
	const struct worker *x = (*(const struct member *const *)a)->worker;
	const struct worker *y = (*(const struct member *const *)b)->worker;
	int order = version_compare(y->version, x->version);

	if (order == 0)
		order = strcmp(x->hostname, y->hostname);
	return order ? order : strcmp(x->id, y->id);
}

static void answer_workers(const struct sidecar *s, const struct parked *k)
{
	struct pack *p = control_begin(k->client);
	size_t n = s->registry.fleet.n_members;
	const struct member **list = mem_calloc(n + 1, sizeof(*list));

	for (size_t i = 0; i < n; i++)
		list[i] = s->registry.fleet.by_id[i];
	qsort(list, n, sizeof(*list), newest_first);
	rpc_pack_result(p, k->msgid);
	pack_array(p, n);
	for (size_t i = 0; i < n; i++) {
		pack_map(p, WORKER_FIELDS);
		pack_worker_fields(p, s, list[i], k->survey ? survey_count(k->survey, list[i]) : 0);
	}
	free(list);
	control_end(k->client, k->msgid);
}

/* --- explain --------------------------------------------------------------------------------------- */

static const char *why_text(enum why why)
{
	switch (why) {
	case WHY_BEST: return "the best";
	case WHY_OLDER_VERSION: return "older version";
	case WHY_LOWER_RANK: return "lower rank";
	case WHY_LOWER_IP: return "same rank, lower ip";
	case WHY_LOWER_ID: return "same rank and ip, lower id";
	case WHY_NOT_LISTED: return "does not list the task";
	case WHY_DRAINED: return "drained";
	case WHY_BELOW_MINIMUM: return "older than min-version";
	}
	return "";
}

static void say_reason(const struct sidecar *s, const struct task *t, char text[TEXT_MAX])
{
	struct election_time now = {clock_boot_ms(), clock_wall_ms()};
	const struct member *leader = leaders_leader(t);
	const char *waits_for;
	int64_t at;

	say_why(s, t, text);
	size_t len = strlen(text);
	if (election_leads(&t->election) && leaders_lease_left(t) > 0) {
		if (election_yield_at(&t->election, now, &at, &waits_for))
			snprintf(text + len, TEXT_MAX - len, ", and yields it to %s in %lld s (%s)",
				 t->best_id, (long long)(at - now.boot_ms + 999) / 1000, waits_for);
		else if (t->election.view.place == 0)
			snprintf(text + len, TEXT_MAX - len, ": it is the best candidate");
		else
			snprintf(text + len, TEXT_MAX - len,
				 " and keeps it, though it is not the best: yield is \"%s\"",
				 t->election.config.yield == ELECTION_YIELD_NEVER ? "never"
										  : "version");
	} else if (leader && strcmp(leader->worker->id, t->best_id) == 0) {
		snprintf(text + len, TEXT_MAX - len, ", the best candidate");
	} else if (leader && t->election.view.candidate && t->election.view.place == 0) {
		snprintf(text + len, TEXT_MAX - len,
			 "; this node is the better candidate, and waits for it to yield");
	}
}

static void answer_explain(const struct sidecar *s, struct client *c, uint32_t msgid,
			   const struct task *t)
{
	struct pack *p = control_begin(c);
	const struct fleet *f = &s->registry.fleet;
	struct ranked *list = mem_calloc(f->n_members + 1, sizeof(*list));
	size_t n = fleet_rank(f, &t->contest, t->index, list);
	char reason[TEXT_MAX];

	say_reason(s, t, reason);
	rpc_pack_result(p, msgid);
	pack_map(p, 5);
	pack_kv_str(p, "task", t->name);
	pack_kv_str(p, "state", state_word(s, t));
	pack_kv_bool(p, "leads", leaders_lease_left(t) > 0);
	pack_kv_str(p, "reason", reason);
	pack_str(p, "ranking");
	pack_array(p, n);
	for (size_t i = 0; i < n; i++) {
		const struct worker *w = list[i].member->worker;
		pack_map(p, 7);
		pack_kv_str(p, "id", w->id);
		pack_kv_str(p, "ip", w->ip);
		pack_kv_str(p, "hostname", w->hostname);
		pack_kv_str(p, "version", w->version);
		pack_kv_int(p, "rank", (int64_t)list[i].rank);
		pack_kv_bool(p, "candidate", list[i].candidate);
		pack_kv_str(p, "why", why_text(list[i].why));
	}
	free(list);
	control_end(c, msgid);
}

/* --- looking at what is parked ----------------------------------------------------------------------- */

static void answer(struct methods *m, struct parked *k)
{
	const struct sidecar *s = m->sidecar;

	switch (k->kind) {
	case PARKED_CHECK: answer_check(s, k->client, k->msgid, k->tasks[0]); break;
	case PARKED_TASKS: answer_tasks(s, k); break;
	case PARKED_WORKERS: answer_workers(s, k); break;
	case PARKED_EXPLAIN: answer_explain(s, k->client, k->msgid, k->tasks[0]); break;
	}
}

/* Answers what is ready or has waited long enough, the oldest first. */
static void look(struct methods *m)
{
	int64_t now = clock_boot_ms();
	struct parked *k = m->parked;

	m->dirty = false;
	while (k && k->next)
		k = k->next;
	while (k) {
		struct parked *prev = k->prev;
		if (!k->client->closing && (now >= k->deadline_ms || is_ready(m->sidecar, k))) {
			/* A client that goes while it is answered takes all its requests along. */
			struct client *c = k->client;
			answer(m, k);
			if (c->closing) {
				m->dirty = true;
				break;
			}
			unpark(m, k);
		}
		k = prev;
	}
	schedule(m);
}

static void on_look(uv_prepare_t *prepare)
{
	struct methods *m = prepare->data;

	if (m->dirty)
		look(m);
}

static void on_due(uv_timer_t *timer)
{
	look(timer->data);
}

/* For the first deadline; while nothing is parked, neither timer nor prepare costs anything. */
static void schedule(struct methods *m)
{
	int64_t first = INT64_MAX, now = clock_boot_ms();

	for (const struct parked *k = m->parked; k; k = k->next)
		if (k->deadline_ms < first)
			first = k->deadline_ms;
	if (first == INT64_MAX) {
		uv_timer_stop(&m->due);
		return;
	}
	uv_timer_start(&m->due, on_due, first > now ? (uint64_t)(first - now) : 1, 0);
}

static void wake(struct methods *m)
{
	m->dirty = true;
	/* A timer that is due makes the loop come round at once, and so the prepare handle be called. */
	if (m->parked)
		uv_timer_start(&m->due, on_due, 0, 0);
}

static void on_survey_done(void *arg)
{
	wake(arg);
}

/* --- the methods ------------------------------------------------------------------------------------- */

struct call {
	struct methods *m;
	struct client *c;
	uint32_t msgid;
	struct reader params;
	size_t n_params;
};

/* Whether a file that is refused may be the reason why a task is not known. */
static void unknown_task(const struct call *call, struct reader_text name)
{
	const struct problems *problems = &call->m->sidecar->problems;
	char text[TEXT_MAX];
	int len = (int)(name.len > NAME_TASK_MAX ? NAME_TASK_MAX : name.len);
	int n = snprintf(text, sizeof(text), "unknown task \"%.*s\"", len, name.data);

	if (problems->n > 0 && n > 0 && (size_t)n < sizeof(text))
		snprintf(text + n, sizeof(text) - (size_t)n, " (refused: %s:%d: %s)",
			 problems->list[0].file, problems->list[0].line, problems->list[0].message);
	control_error(call->c, call->msgid, RPC_MISUSE, text);
}

/* The next parameter as the name of a task; answers with an error and returns NULL if it is none. */
static struct task *take_task(struct call *call)
{
	struct reader_text name;

	if (reader_str(&call->params, &name) != 0) {
		control_error(call->c, call->msgid, RPC_MISUSE,
			      "a parameter is not the name of a task");
		return NULL;
	}
	struct task *t = leaders_find(&call->m->sidecar->leaders, name.data, name.len);
	if (!t)
		unknown_task(call, name);
	return t;
}

static bool take_tasks(struct call *call, struct task ***ret_tasks)
{
	if (call->n_params > CONTROL_NAMES_MAX) {
		control_error(call->c, call->msgid, RPC_MISUSE, "too many names");
		return false;
	}
	struct task **tasks = mem_calloc(call->n_params + 1, sizeof(*tasks));
	for (size_t i = 0; i < call->n_params; i++) {
		tasks[i] = take_task(call);
		if (!tasks[i]) {
			free(tasks);
			return false;
		}
	}
	*ret_tasks = tasks;
	return true;
}

static void method_check(struct call *call)
{
	int64_t wait_ms = 0;

	if (call->n_params < 1 || call->n_params > 2) {
		control_error(call->c, call->msgid, RPC_MISUSE,
			      "check takes a task, and how long to wait in ms");
		return;
	}
	struct task *t = take_task(call);
	if (!t)
		return;
	if (call->n_params == 2 && (reader_int(&call->params, &wait_ms) != 0 || wait_ms < 0 ||
				    wait_ms > METHODS_WAIT_MAX_MS)) {
		control_error(call->c, call->msgid, RPC_MISUSE,
			      "the time to wait is not a number of ms up to a day");
		return;
	}
	leaders_refresh(t);
	if (wait_ms == 0 || check_settled(t)) {
		answer_check(call->m->sidecar, call->c, call->msgid, t);
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
	struct sidecar *s = call->m->sidecar;
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
	if (kind == PARKED_WORKERS && up)
		k->survey = survey_start(&s->leaders, on_survey_done, call->m);
	wake(call->m);
}

static void method_tasks(struct call *call)
{
	struct task **tasks;

	if (take_tasks(call, &tasks))
		park_survey(call, PARKED_TASKS, tasks, call->n_params);
}

static void method_workers(struct call *call)
{
	park_survey(call, PARKED_WORKERS, NULL, 0);
}

static void method_explain(struct call *call)
{
	if (call->n_params != 1) {
		control_error(call->c, call->msgid, RPC_MISUSE, "explain takes one task");
		return;
	}
	struct task **tasks;
	if (take_tasks(call, &tasks))
		park_survey(call, PARKED_EXPLAIN, tasks, 1);
}

static void method_status(struct call *call)
{
	const struct sidecar *s = call->m->sidecar;
	const struct session *session = &s->session;
	const struct member *self = registry_self(&s->registry);
	struct pack *p = control_begin(call->c);
	char id[32];
	const char *why = session_is_up(session)
				  ? s->problems.n > 0 ? "problems in the configuration" : NULL
			  : session->problem[0] ? session->problem
						: "no confirmed session with ZooKeeper";

	snprintf(id, sizeof(id), "0x%llx", (unsigned long long)session->id);
	rpc_pack_result(p, call->msgid);
	pack_map(p, 15);
	pack_kv_str(p, "id", self ? self->worker->id : NULL);
	pack_kv_str(p, "version", s->config->version);
	pack_kv_str(p, "ip", self ? self->worker->ip : NULL);
	pack_kv_str(p, "hostname", s->registry.hostname);
	pack_str(p, "session");
	pack_map(p, 4);
	pack_kv_str(p, "id", session->id ? id : NULL);
	pack_kv_str(p, "state", session_state_name(session));
	pack_kv_int(p, "timeout_ms", session->lease.timeout_ms);
	pack_kv_str(p, "server", session->zk && session->id ? zk_server(session->zk) : NULL);
	pack_kv_int(p, "lease_ms", session_lease_left(session));
	pack_kv_uint(p, "leads", s->leaders.n_leading);
	pack_kv_uint(p, "tasks", s->leaders.n_published);
	pack_problems(p, &s->problems);
	pack_kv_bool(p, "healthy", why == NULL);
	pack_kv_str(p, "why", why);
	pack_kv_str(p, "zookeeper", s->start->zookeeper);
	pack_kv_str(p, "root", s->start->root);
	pack_kv_str(p, "sidecar_version", ZKLEADER_VERSION);
	pack_time(p, "started_at", s->registry.started_at);
	control_end(call->c, call->msgid);
}

static void method_reload(struct call *call)
{
	struct changes changes = {.refused = false};
	size_t lines = 0;

	if (!control_may_change(call->c)) {
		control_error(call->c, call->msgid, RPC_MISUSE,
			      "not allowed: only root, the sidecar's own user and the members of "
			      "socket-group may");
		return;
	}
	sidecar_reload(call->m->sidecar, &changes);
	for (size_t i = 0; i < changes.text.len; i++)
		lines += changes.text.data[i] == '\n';
	struct pack *p = control_begin(call->c);
	rpc_pack_result(p, call->msgid);
	pack_map(p, 2);
	pack_str(p, "changes");
	pack_array(p, lines);
	const char *line = (const char *)changes.text.data;
	for (size_t i = 0; i < lines; i++) {
		const char *end = strchr(line, '\n');
		pack_strn(p, line, (size_t)(end - line));
		line = end + 1;
	}
	pack_problems(p, &call->m->sidecar->problems);
	control_end(call->c, call->msgid);
	buffer_done(&changes.text);
}

/* --- subscriptions ------------------------------------------------------------------------------------- */

static bool subscribed(const struct client *c, const struct task *t)
{
	const struct subscription *sub = c->subscription;

	if (!sub)
		return false;
	for (size_t i = 0; !sub->all && i < sub->n_tasks; i++)
		if (sub->tasks[i] == t)
			return true;
	return sub->all;
}

static void unsubscribe(struct client *c)
{
	struct subscription *sub = c->subscription;

	if (!sub)
		return;
	for (size_t i = 0; i < sub->n_tasks; i++)
		leaders_subscribe(sub->tasks[i], false);
	free(sub->tasks);
	free(sub);
	c->subscription = NULL;
}

static void add_subscribed(struct subscription *sub, struct task *t)
{
	sub->tasks = mem_resize(sub->tasks, sub->n_tasks + 1, sizeof(*sub->tasks));
	sub->tasks[sub->n_tasks++] = t;
	leaders_subscribe(t, true);
}

static void method_subscribe(struct call *call)
{
	const struct leaders *l = &call->m->sidecar->leaders;
	struct task **tasks;

	if (!take_tasks(call, &tasks))
		return;
	unsubscribe(call->c);
	struct subscription *sub = mem_calloc(1, sizeof(*sub));
	sub->all = call->n_params == 0;
	call->c->subscription = sub;
	for (size_t i = 0; i < (sub->all ? l->n_tasks : call->n_params); i++)
		add_subscribed(sub, sub->all ? l->tasks[i] : tasks[i]);
	free(tasks);
	struct pack *p = control_begin(call->c);
	rpc_pack_result(p, call->msgid);
	pack_bool(p, true);
	control_end(call->c, call->msgid);
}

static void notify_leadership(struct methods *m, const struct task *t)
{
	struct client *next;

	for (struct client *c = m->sidecar->control.clients; c; c = next) {
		next = c->next;
		if (!subscribed(c, t))
			continue;
		struct pack *p = control_begin(c);
		rpc_pack_notify(p, "leadership");
		pack_map(p, TASK_FIELDS + 1);
		pack_time(p, "time", clock_wall_ms());
		pack_task_fields(p, m->sidecar, t);
		control_end(c, 0);
	}
}

void methods_task_changed(struct methods *m, struct task *t)
{
	const struct election_node *node = &t->election.node;

	if (m->parked)
		wake(m);
	if (t->watchers == 0) {
		t->told = false;
		return;
	}
	bool certain = t->election.state == ELECTION_LEADING ||
		       t->election.state == ELECTION_VACANT ||
		       (t->election.state == ELECTION_FOLLOWING && node->known);
	int64_t token = node->exists ? node->token : 0;
	if (!certain || (t->told && t->told_token == token))
		return;
	bool first = !t->told;
	t->told = true;
	t->told_token = token;
	if (!first)
		notify_leadership(m, t);
}

void methods_membership(struct methods *m, const char *event, const struct member *member)
{
	struct client *next;

	for (struct client *c = m->sidecar->control.clients; c; c = next) {
		next = c->next;
		if (!c->subscription)
			continue;
		struct pack *p = control_begin(c);
		rpc_pack_notify(p, "membership");
		pack_map(p, WORKER_FIELDS + 2);
		pack_kv_str(p, "event", event);
		pack_time(p, "time", clock_wall_ms());
		pack_worker_fields(p, m->sidecar, member, 0);
		control_end(c, 0);
	}
}

void methods_task_added(struct methods *m, struct task *t)
{
	for (struct client *c = m->sidecar->control.clients; c; c = c->next)
		if (c->subscription && ((struct subscription *)c->subscription)->all)
			add_subscribed(c->subscription, t);
}

void methods_task_removed(struct methods *m, struct task *t)
{
	struct parked *next;

	for (struct client *c = m->sidecar->control.clients; c; c = c->next) {
		struct subscription *sub = c->subscription;
		for (size_t i = 0; sub && i < sub->n_tasks; i++)
			if (sub->tasks[i] == t)
				sub->tasks[i--] = sub->tasks[--sub->n_tasks];
	}
	for (struct parked *k = m->parked; k; k = next) {
		next = k->next;
		for (size_t i = 0; i < k->n_tasks; i++) {
			if (k->tasks[i] != t)
				continue;
			control_error(k->client, k->msgid, RPC_MISUSE, "the task has been removed");
			unpark(m, k);
			break;
		}
	}
}

/* --- from outside -------------------------------------------------------------------------------------- */

static const struct {
	const char *name;
	void (*call)(struct call *call);
} methods[] = {
	{"check", method_check},   {"tasks", method_tasks},	{"workers", method_workers},
	{"status", method_status}, {"explain", method_explain}, {"subscribe", method_subscribe},
	{"reload", method_reload},
};

void methods_request(struct methods *m, struct client *c, const struct rpc_message *message)
{
	struct call call = {m, c, message->msgid, message->params, message->n_params};

	for (size_t i = 0; i < sizeof(methods) / sizeof(methods[0]); i++) {
		if (reader_text_is(message->method, methods[i].name)) {
			methods[i].call(&call);
			return;
		}
	}
	control_error(c, message->msgid, RPC_MISUSE, "unknown method");
}

void methods_client_gone(struct methods *m, struct client *c)
{
	struct parked *next;

	for (struct parked *k = m->parked; k; k = next) {
		next = k->next;
		if (k->client == c)
			unpark(m, k);
	}
	unsubscribe(c);
}

void methods_init(struct methods *m, struct sidecar *sidecar, uv_loop_t *loop)
{
	memset(m, 0, sizeof(*m));
	m->sidecar = sidecar;
	uv_prepare_init(loop, &m->look);
	uv_timer_init(loop, &m->due);
	m->look.data = m;
	m->due.data = m;
	uv_prepare_start(&m->look, on_look);
}
