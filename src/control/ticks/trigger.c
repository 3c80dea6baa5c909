#include "control/ticks/ticks.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/log/log.h"
#include "base/mem.h"
#include "control/answer/answers.h"
#include "control/ask/options.h"
#include "control/ask/refusal.h"
#include "control/ask/subject.h"
#include "control/ask/user.h"
#include "control/ticks/history.h"
#include "core/time/owed.h"
#include "node/election/tasks.h"
#include "node/fleet/policy.h"
#include "node/ledger/ledger.h"
#include "node/node.h"
#include "node/schedule/schedules.h"
#include "node/schedule/trigger.h"

#define SECOND_MS INT64_C(1000)
#define TRIES	  600 /* seconds that are tried to find a free one */

/* An outstanding request. */
struct trigger {
	struct ask ask;
	bool again; /* the client has named the tick of a record */
	int tries;
	int64_t tick_ms, after; /* after: attempt in the record, 0: none */
	int32_t version;	/* version of the record */
	char task[NAME_ELECTION_MAX + 1];
	char tick[TICK_NAME_SIZE];
	struct policy_record record;
	struct run_record seen; /* outcome: the record without its output; state "": none */
};

static const struct ask_kind kind = {.size = sizeof(struct trigger), .asks = true};

static const struct node *node_of(const struct trigger *t)
{
	return t->ask.methods->node;
}

static void refuse(struct trigger *t, enum rpc_code code, const char *why)
{
	ask_fail(&t->ask, code, why);
}

/* Whether somebody has triggered that tick, and it has not been claimed. */
static bool is_pending(const struct trigger *t)
{
	return policy_find_own(&node_of(t)->policy, POLICY_TRIGGER, t->task, t->tick) != NULL;
}

/* --- trigger -------------------------------------------------------------- */

static void next_second(struct trigger *t);
static void look(struct trigger *t);

static void done(struct trigger *t)
{
	struct pack *p = ask_result(&t->ask);

	pack_map(p, 3);
	pack_kv_str(p, "task", t->task);
	pack_kv_str(p, "tick", t->tick);
	pack_kv_int(p, "after", t->after);
	ask_end(&t->ask);
}

static void on_put(void *arg, enum trigger_result result)
{
	struct trigger *t = arg;

	switch (result) {
	case TRIGGER_DONE: done(t); break;
	case TRIGGER_TAKEN:
		if (t->again)
			refuse(t, RPC_MISUSE,
			       "that tick has been triggered, and its run has not begun");
		else
			next_second(t);
		break;
	case TRIGGER_CHANGED: look(t); break;
	case TRIGGER_UNKNOWN:
		refuse(t, RPC_CANNOT_TELL,
		       "the connection to ZooKeeper went: it may or may not have been done");
		break;
	case TRIGGER_FULL: refuse(t, RPC_CANNOT_TELL, store_refused_why(STORE_FULL)); break;
	case TRIGGER_FAILED: refuse(t, RPC_CANNOT_TELL, store_refused_why(STORE_FAILED)); break;
	}
}

static void put(struct trigger *t)
{
	snprintf(t->record.node, sizeof(t->record.node), "%s", t->tick);
	trigger_put(&t->ask.methods->node->leaders, &t->record,
		    t->again ? t->version : TRIGGER_NO_RECORD, on_put, t);
}

static void on_user(struct ask *a)
{
	struct trigger *t = (struct trigger *)a;

	if (session_is_up(&node_of(t)->session))
		put(t);
	else
		refuse(t, RPC_CANNOT_TELL, SESSION_NONE);
}

static void commit(struct trigger *t)
{
	const struct node *n = node_of(t);
	struct policy_record *r = &t->record;

	if (r->by[0]) { /* the name was looked up before */
		put(t);
		return;
	}
	snprintf(r->kind, sizeof(r->kind), "%s", policy_kind_name(POLICY_TRIGGER));
	snprintf(r->task, sizeof(r->task), "%s", t->task);
	snprintf(r->host, sizeof(r->host), "%s", n->registry.hostname);
	ask_user(&t->ask, r->by, on_user);
}

/* Looks for the next second that is no tick of the schedule and that nobody has triggered. */
static void next_second(struct trigger *t)
{
	const struct leaders *l = &node_of(t)->leaders;
	const struct task *task = tasks_find(l, t->task, strlen(t->task));
	const struct task_schedule *c = task ? task->settings->schedule : NULL;
	struct owed_rules rules;
	bool good = false;

	if (!c) {
		refuse(t, RPC_MISUSE, "the task has been removed, or its schedule");
		return;
	}
	rules = (struct owed_rules){.schedule = c->schedule, .zone = c->zone};
	while (!good && t->tries++ < TRIES) {
		t->tick_ms += SECOND_MS;
		good = !owed_is_tick(&rules, t->tick_ms) && tick_name(t->tick_ms, t->tick) &&
		       !is_pending(t);
	}
	if (good)
		look(t);
	else
		refuse(t, RPC_MISUSE,
		       "each second is a tick of its schedule, or taken: name one "
		       "that has a record with --tick");
}

static void on_looked(void *arg, enum ledger_result result, const struct run_record *record,
		      int32_t version)
{
	struct trigger *t = arg;
	const struct registry *r = &node_of(t)->registry;
	int64_t ms;

	if (result == LEDGER_UNKNOWN || result == LEDGER_AGAIN) {
		refuse(t, RPC_CANNOT_TELL, "the connection to ZooKeeper went: nothing was done");
	} else if (result == LEDGER_FAILED) {
		refuse(t, RPC_CANNOT_TELL,
		       "the server refuses the ledger (an ACL, or a quota that is used up): see "
		       "the sidecar's log");
	} else if (tick_parse(t->tick, &ms) &&
		   ms <= partitions_floor_ms(&node_of(t)->leaders, t->task)) {
		refuse(t, RPC_MISUSE,
		       "the number of partitions was changed after that tick: it is not run again");
	} else if (!t->again && result == LEDGER_PRESENT) {
		next_second(t);
	} else if (!t->again) {
		commit(t);
	} else if (result != LEDGER_PRESENT || !record) {
		refuse(t, RPC_MISUSE, "there is no record of that tick, or no more");
	} else if (strcmp(ledger_state(r, record->state, record->session), "running") == 0) {
		refuse(t, RPC_MISUSE, "that tick is running");
	} else {
		t->after = record->attempt;
		t->version = version;
		commit(t);
	}
}

static const struct ledger_sight whole = {.limit = TICK_NO_LIMIT, .whole = true};

static void look(struct trigger *t)
{
	ledger_look(&t->ask.methods->node->leaders, t->task, t->tick, &whole, on_looked, t);
}

/* Whether the client may run the task by hand, and now. False after an error answer. */
static bool may_trigger(const struct call *call, const struct task *task)
{
	if (!refusal_may(call, task->settings, task->name))
		return false;
	if (!task->settings->schedule)
		return call_refuse(call, "the task has no schedule, and so no command: zkleader "
					 "run starts one");
	if (!call_has_policy(call))
		return false;
	return !task->standing.paused || call_fail(call, RPC_NOBODY, "the task is paused");
}

static struct trigger *begin(const struct call *call, const char *task)
{
	struct trigger *t = ask_new(call, &kind);

	snprintf(t->task, sizeof(t->task), "%s", task);
	return t;
}

void trigger_answer(struct call *call)
{
	static const struct key keys[] = {OPTION("tick", options_read_tick, OPTIONS_TICK)};
	char tick[TICK_NAME_SIZE] = "";
	struct task *task;
	struct trigger *t;

	task = methods_take_task(call);
	if (!task || !options_take(call, OPTIONS(keys), tick) || !may_trigger(call, task))
		return;
	t = begin(call, task->name);
	t->again = tick[0] != '\0';
	t->record.since = host_wall_ms(call->m->node->host); /* before a tick is chosen */
	memcpy(t->tick, tick, sizeof(t->tick));
	if (t->again) {
		look(t);
		return;
	}
	t->tick_ms = host_wall_ms(call->m->node->host) / SECOND_MS * SECOND_MS;
	next_second(t);
}

/* --- outcome -------------------------------------------------------------- */

static void tell_outcome(struct trigger *t, bool retrying)
{
	const struct run_record *r = &t->seen;
	struct pack *p = ask_result(&t->ask);

	pack_map(p, 7);
	pack_kv_text(p, "state", r->state);
	pack_kv_text(p, "why", r->why);
	pack_kv_str(p, "detail", r->why[0] ? r->detail : NULL);
	pack_kv_int(p, "attempt", r->attempt);
	pack_kv_known(p, "exit_status", r->exit_status >= 0, r->exit_status);
	pack_kv_bool(p, "pending", is_pending(t));
	pack_kv_bool(p, "retrying", retrying);
	ask_end(&t->ask);
}

/*
 * Whether the task, as this node knows it, lets another attempt follow the one that was read. While
 * it is paused none does, nor behind the pause.
 */
static bool may_follow(const struct trigger *t)
{
	const struct leaders *l = &node_of(t)->leaders;
	const struct task *task = tasks_find(l, t->task, strlen(t->task));

	return task && !task->standing.paused && schedules_follows(task, t->tick, &t->seen);
}

/* A newer tick, of which the leader alone knows at once, ends the retries. */
static void on_newest(void *arg, bool ok, const struct ledger_entry *entries, size_t n)
{
	struct trigger *t = arg;

	if (ok)
		tell_outcome(t, n == 0 || strcmp(entries[n - 1].tick, t->tick) <= 0);
	else
		refuse(t, RPC_CANNOT_TELL, "the ledger could not be read");
}

static void on_record(void *arg, enum ledger_result result, const struct run_record *record,
		      int32_t version)
{
	struct trigger *t = arg;
	struct ledger_range newest = {.most = 1};
	const char *state;

	(void)version;
	if (result != LEDGER_PRESENT && result != LEDGER_ABSENT && result != LEDGER_OLDER) {
		refuse(t, RPC_CANNOT_TELL, "the ledger could not be read");
		return;
	}
	t->seen = record ? *record : (struct run_record){.exit_status = -1};
	t->seen.output = NULL;
	state = history_state(&node_of(t)->registry, &t->seen);
	if (strcmp(state, t->seen.state) != 0)
		snprintf(t->seen.state, sizeof(t->seen.state), "%s", state);
	if (!may_follow(t)) {
		tell_outcome(t, false);
	} else if (strcmp(t->seen.state, "lost") == 0) {
		tell_outcome(t, true); /* whatever tick is newer */
	} else {
		memcpy(newest.since, t->tick, sizeof(newest.since));
		ledger_history(&t->ask.methods->node->leaders, t->task, &newest, on_newest, t);
	}
}

void outcome_answer(struct call *call)
{
	struct task *task = methods_take_task(call);
	char tick[TICK_NAME_SIZE];
	struct trigger *t;

	if (!task)
		return;
	if (options_read_tick(&call->params, tick) != 0 || !tick[0]) {
		call_refuse(call, OPTIONS_TICK);
		return;
	}
	if (!call_has_session(call))
		return;
	t = begin(call, task->name);
	memcpy(t->tick, tick, sizeof(t->tick));
	ledger_look(&call->m->node->leaders, t->task, t->tick, &whole, on_record, t);
}
