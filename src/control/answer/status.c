/* The answer to `status`: this sidecar, from memory. */
#include <inttypes.h>
#include <stdio.h>

#include "base/log/log.h"
#include "config/restart.h"
#include "control/answer/answers.h"
#include "control/answer/decisions.h"
#include "control/answer/disagreements.h"
#include "control/answer/troubles.h"
#include "control/programs/notifiers.h"
#include "control/programs/runners.h"
#include "core/fleet/identity.h"
#include "node/node.h"

/* The state of the health checks: `node` is nil unless the check of the whole node fails. */
static void pack_health(struct pack *p, const struct node *s)
{
	const struct registry *r = &s->registry;

	pack_str(p, "health");
	pack_map(p, 3);
	pack_kv_bool(p, "known", r->health_known);
	pack_kv_str(p, "node", r->sick ? r->sick_says : NULL);
	pack_str(p, "tasks");
	pack_array(p, r->n_unhealthy);
	for (size_t i = 0; i < r->n_unhealthy; i++) {
		pack_map(p, 2);
		pack_kv_str(p, "task", r->unhealthy[i]);
		pack_kv_str(p, "says", r->unhealthy_says[i]);
	}
}

static void pack_session(struct pack *p, const struct session *session)
{
	char id[32];

	snprintf(id, sizeof(id), "0x%llx", (unsigned long long)session->id);
	pack_str(p, "session");
	pack_map(p, 6);
	pack_kv_str(p, "id", session->id ? id : NULL);
	pack_kv_str(p, "state", session_state_name(session));
	pack_kv_int(p, "timeout_ms", session->granted_ms);
	pack_kv_str(p, "server",
		    session->store && session->id ? store_server(session->store) : NULL);
	pack_kv_time(p, "since", session->since);
	troubles_pack_error(p, &session->error);
}

static void pack_watches(struct pack *p, const struct watches *w)
{
	pack_str(p, "watches");
	pack_map(p, 4);
	pack_kv_uint(p, "count", w->count);
	pack_kv_uint(p, "bytes", w->bytes);
	pack_kv_uint(p, "limit", w->limit);
	pack_kv_uint(p, "by_time", w->n_looks);
}

static void pack_roll(struct pack *p, const struct registry *r)
{
	static const char *const states[] = {[ROLL_OFF] = "off",
					     [ROLL_SEEKING] = "seeking",
					     [ROLL_FOLLOWING] = "following",
					     [ROLL_KEEPING] = "keeping"};
	const struct member *keeper = fleet_find(&r->fleet, roll_keeper(&r->roll));

	pack_str(p, "roll");
	pack_map(p, 3);
	pack_kv_str(p, "state", states[r->roll.state]);
	pack_kv_uint(p, "workers", r->workers.n);
	pack_kv_str(p, "keeper", keeper ? identity_name(keeper) : NULL);
}

static void pack_job(void *arg, const char *task, const char *tick)
{
	pack_map(arg, 2);
	pack_kv_str(arg, "task", task);
	pack_kv_text(arg, "tick", tick);
}

/* The jobs that run here, or whose supervisor may come back: those of one moment, both times. */
static void pack_jobs(struct pack *p, const struct runs *runs)
{
	int64_t now_ms = host_now_ms(runs->host);

	pack_str(p, "jobs");
	pack_array(p, runs_each_going(runs, now_ms, NULL, NULL));
	runs_each_going(runs, now_ms, pack_job, p);
}

/* The keys of the main file that have changed since the start and need a restart. */
static void pack_pending(struct pack *p, const struct process *process)
{
	const char *keys[RESTART_KEYS_MAX];
	size_t n = restart_keys(process->start, process->config, keys);

	pack_str(p, "pending_restart");
	pack_array(p, n);
	for (size_t i = 0; i < n; i++)
		pack_str(p, keys[i]);
}

/* Why this node is not healthy, for people; NULL: it is healthy. */
static const char *why_unhealthy(const struct process *process, const struct problems *problems)
{
	const struct node *s = process->node;

	if (!session_is_up(&s->session))
		return session_why(&s->session)[0] ? session_why(&s->session) : SESSION_NONE;
	if (process->problems->n > 0)
		return "problems in the configuration";
	if (s->registry.sick)
		return "the node's health check fails";
	return problems->n > 0 ? problems->list[0].message : NULL;
}

static void pack_clock(struct pack *p, const struct clocks *c)
{
	char says[CLOCKS_TEXT_MAX];
	int64_t offset_ms = 0;
	bool known = clocks_offset(c, &offset_ms);

	clocks_say_own(c, says);
	pack_str(p, "clock");
	pack_map(p, 4);
	pack_kv_known(p, "offset_ms", known, offset_ms);
	pack_kv_int(p, "tolerance_ms", c->tolerance_ms);
	pack_kv_bool(p, "off", clocks_is_off(c));
	pack_kv_str(p, "says", known ? says : NULL);
}

void answer_status(struct pack *p, const struct methods *m)
{
	const struct process *process = m->process;
	const struct node *s = process->node;
	const struct session *session = &s->session;
	const struct member *self = registry_self(&s->registry);
	struct problems problems;
	int64_t left = session_lease_left(session), turn_us, turn_cpu_us;

	problems_init(&problems);
	problems_append(&problems, process->problems);
	if (process->find_problems)
		process->find_problems(process->arg, &problems);
	troubles_find(s, &problems);
	runners_find_problems(m, &problems);
	notifiers_find_problems(m, &problems);
	if (log_lost() > 0)
		problems_warn(&problems, "zkleaderd", PROBLEM_WHOLE_FILE,
			      "nobody reads what it logs: %" PRIu64 " lines are lost", log_lost());
	const char *why = why_unhealthy(process, &problems);

	pack_map(p, 30);
	pack_kv_str(p, "id", self ? self->worker->id : NULL);
	pack_kv_str(p, "version", s->registry.version);
	pack_kv_str(p, "ip", self ? self->worker->ip : NULL);
	pack_kv_str(p, "hostname", s->registry.hostname);
	pack_kv_str(p, "node", self ? identity_name(self) : NULL);
	pack_session(p, session);
	pack_watches(p, &session->watches);
	pack_roll(p, &s->registry);
	pack_kv_int(p, "lease_ms", left);
	pack_kv_uint(p, "leads", left > 0 ? s->leaders.n_leading : 0);
	pack_kv_uint(p, "tasks", s->leaders.n_published);
	answers_pack_problems(p, &problems);
	pack_kv_bool(p, "healthy", why == NULL);
	pack_kv_str(p, "why", why);
	pack_kv_str(p, "zookeeper", process->start->zookeeper);
	pack_kv_str(p, "root", process->start->root);
	pack_kv_str(p, "sidecar_version", ZKLEADER_VERSION);
	pack_kv_time(p, "started_at", process->started_at);
	pack_kv_time(p, "registered_at", self ? self->registered_at : 0);
	pack_kv_time(p, "stale_since", session->unconfirmed_since);
	pack_jobs(p, &s->runs);
	pack_pending(p, process);
	process->longest_turn(process->arg, &turn_us, &turn_cpu_us);
	pack_kv_int(p, "longest_turn_ms", (turn_us + 999) / 1000);
	pack_kv_int(p, "longest_turn_cpu_ms", (turn_cpu_us + 999) / 1000);
	decisions_pack_drain(p, s, s->registry.node, s->registry.machine);
	pack_health(p, s);
	disagreements_pack(p, s);
	troubles_pack_halted(p, s);
	pack_clock(p, &s->registry.clocks);
	problems_done(&problems);
}
