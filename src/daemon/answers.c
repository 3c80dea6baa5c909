#include "daemon/answers.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/mem.h"
#include "core/version.h"
#include "daemon/sidecar.h"

#define TEXT_MAX 600

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
		return leaders_promise(t) > 0	   ? "leading"
		       : leaders_lease_left(t) > 0 ? "contending" /* it is being given up */
						   : "disconnected";
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

void answers_pack_task(struct pack *p, const struct sidecar *s, const struct task *t)
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
	pack_kv_int(p, "lease_ms", leaders_promise(t));
}

static size_t count_led(const struct sidecar *s, const struct member *m)
{
	size_t n = 0;

	for (size_t i = 0; i < s->leaders.n_tasks; i++)
		n += leaders_leader(s->leaders.tasks[i]) == m;
	return n;
}

void answers_pack_worker(struct pack *p, const struct sidecar *s, const struct member *m,
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

void answers_pack_problems(struct pack *p, const struct problems *problems)
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

	if (leaders_promise(t) > 0)
		snprintf(text, TEXT_MAX, "this node leads %s", t->name);
	else if (leaders_lease_left(t) > 0)
		snprintf(text, TEXT_MAX, "%s is being handed over", t->name);
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
	else if (!e->view.candidate && t->config->min_version)
		snprintf(
			text, TEXT_MAX,
			"nobody leads %s, and this node's version is older than its min-version %s",
			t->name, t->config->min_version);
	else
		snprintf(text, TEXT_MAX, "nobody leads %s yet: the election has not settled",
			 t->name);
}

void answer_check(const struct sidecar *s, struct client *c, uint32_t msgid, struct task *t)
{
	struct pack *p = control_begin(c);
	const struct election_node *node = &t->election.node;
	int64_t left = leaders_promise(t);
	char why[TEXT_MAX];

	say_why(s, t, why);
	election_promised(&t->election, clock_boot_ms() + left);
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
	/* What was known before a disconnection may no longer be so, nor is ours without its lease. */
	if (session_is_up(&s->session) && (left > 0 || !node->mine))
		pack_leader(p, "led_by", t);
	else
		pack_kv_nil(p, "led_by");
	pack_kv_str(p, "why", why);
	control_end(c, msgid);
}

/* --- tables ---------------------------------------------------------------------------------------- */

void answer_tasks(const struct sidecar *s, struct client *c, uint32_t msgid,
		  struct task *const *tasks, size_t n)
{
	struct pack *p = control_begin(c);
	size_t shown = 0;

	for (size_t i = 0; i < n; i++)
		shown += !tasks[i]->withdrawn;
	rpc_pack_result(p, msgid);
	pack_array(p, shown);
	for (size_t i = 0; i < n; i++) {
		if (tasks[i]->withdrawn)
			continue;
		pack_map(p, ANSWERS_TASK_FIELDS);
		answers_pack_task(p, s, tasks[i]);
	}
	control_end(c, msgid);
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

void answer_workers(const struct sidecar *s, struct client *c, uint32_t msgid,
		    const struct survey *survey)
{
	struct pack *p = control_begin(c);
	size_t n = s->registry.fleet.n_members;
	const struct member **list = mem_calloc(n + 1, sizeof(*list));

	for (size_t i = 0; i < n; i++)
		list[i] = s->registry.fleet.by_id[i];
	qsort(list, n, sizeof(*list), newest_first);
	rpc_pack_result(p, msgid);
	pack_array(p, n);
	for (size_t i = 0; i < n; i++) {
		pack_map(p, ANSWERS_WORKER_FIELDS);
		answers_pack_worker(p, s, list[i], survey ? survey_count(survey, list[i]) : 0);
	}
	free(list);
	control_end(c, msgid);
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

void answer_explain(const struct sidecar *s, struct client *c, uint32_t msgid, const struct task *t)
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

/* --- status ---------------------------------------------------------------------------------------- */

void answer_status(const struct sidecar *s, struct client *c, uint32_t msgid)
{
	const struct session *session = &s->session;
	const struct member *self = registry_self(&s->registry);
	struct pack *p = control_begin(c);
	char id[32];
	const char *why = session_is_up(session)
				  ? s->problems.n > 0 ? "problems in the configuration" : NULL
			  : session->problem[0] ? session->problem
						: "no confirmed session with ZooKeeper";

	snprintf(id, sizeof(id), "0x%llx", (unsigned long long)session->id);
	rpc_pack_result(p, msgid);
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
	pack_kv_uint(p, "leads", session_lease_left(session) > 0 ? s->leaders.n_leading : 0);
	pack_kv_uint(p, "tasks", s->leaders.n_published);
	answers_pack_problems(p, &s->problems);
	pack_kv_bool(p, "healthy", why == NULL);
	pack_kv_str(p, "why", why);
	pack_kv_str(p, "zookeeper", s->start->zookeeper);
	pack_kv_str(p, "root", s->start->root);
	pack_kv_str(p, "sidecar_version", ZKLEADER_VERSION);
	pack_time(p, "started_at", s->registry.started_at);
	control_end(c, msgid);
}
