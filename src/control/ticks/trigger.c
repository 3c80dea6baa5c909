#include "control/ticks/trigger.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/log/log.h"
#include "base/mem.h"
#include "control/ask/refusal.h"
#include "control/ask/subject.h"
#include "control/ask/user.h"
#include "control/ticks/run_requests.h"
#include "core/time/owed.h"
#include "node/election/tasks.h"
#include "node/fleet/policy.h"
#include "node/ledger/ledger.h"
#include "node/node.h"
#include "node/schedule/trigger.h"

#define SECOND_MS INT64_C(1000)
#define TRIES	  600 /* seconds that are tried to find a free one */

/* An outstanding request. */
struct trigger {
	struct trigger *prev, *next;
	struct methods *methods;
	struct peer *client; /* NULL: gone */
	uint32_t msgid;
	uid_t uid;
	bool again; /* the client has named the tick of a record */
	int tries;
	int64_t tick_ms, after; /* after: attempt of that record, 0: none */
	int32_t version;	/* of that record */
	char task[NAME_ELECTION_MAX + 1];
	char tick[TICK_NAME_SIZE];
	struct policy_record record;
};

static void end(struct trigger *t)
{
	if (t->prev)
		t->prev->next = t->next;
	else
		t->methods->triggers = t->next;
	if (t->next)
		t->next->prev = t->prev;
	if (t->client) {
		t->client->parked--;
		t->client->asking--;
	}
	free(t);
}

static void refuse(struct trigger *t, enum rpc_code code, const char *why)
{
	if (t->client)
		peer_error(t->client, t->msgid, code, why);
	end(t);
}

static struct trigger *begin(const struct call *call, const char *task)
{
	struct trigger *t = mem_calloc(1, sizeof(*t));

	t->methods = call->m;
	t->client = call->c;
	t->msgid = call->msgid;
	t->uid = call->c->uid;
	snprintf(t->task, sizeof(t->task), "%s", task);
	t->next = call->m->triggers;
	if (t->next)
		t->next->prev = t;
	call->m->triggers = t;
	call->c->parked++;
	call->c->asking++;
	return t;
}

/* Whether somebody has triggered that tick, and it has not been claimed. */
static bool is_pending(const struct trigger *t)
{
	return policy_find_own(&t->methods->node->policy, POLICY_TRIGGER, t->task, t->tick) != NULL;
}

/* --- trigger -------------------------------------------------------------- */

static void next_second(struct trigger *t);
static void look(struct trigger *t);

static void done(struct trigger *t)
{
	struct pack *p;

	if (t->client) {
		p = peer_begin(t->client);
		rpc_pack_result(p, t->msgid);
		pack_map(p, 3);
		pack_kv_str(p, "task", t->task);
		pack_kv_str(p, "tick", t->tick);
		pack_kv_int(p, "after", t->after);
		peer_end(t->client, t->msgid);
	}
	end(t);
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
	trigger_put(&t->methods->node->leaders, &t->record,
		    t->again ? t->version : TRIGGER_NO_RECORD, on_put, t);
}

static void find_user(void *arg)
{
	struct trigger *t = arg;

	user_name(t->uid, t->record.by, sizeof(t->record.by));
}

static void on_user_found(void *arg)
{
	struct trigger *t = arg;

	if (session_is_up(&t->methods->node->session))
		put(t);
	else
		refuse(t, RPC_CANNOT_TELL, SESSION_NONE);
}

static void commit(struct trigger *t)
{
	const struct process *process = t->methods->process;
	const struct node *n = t->methods->node;
	struct policy_record *r = &t->record;

	if (r->by[0]) { /* it has been found out before */
		put(t);
		return;
	}
	snprintf(r->kind, sizeof(r->kind), "%s", policy_kind_name(POLICY_TRIGGER));
	snprintf(r->task, sizeof(r->task), "%s", t->task);
	snprintf(r->host, sizeof(r->host), "%s", n->registry.hostname);
	if (process->offload(process->arg, find_user, on_user_found, t) != 0)
		refuse(t, RPC_CANNOT_TELL, "no thread can be had: try again");
}

/* Looks for the next second that is no tick of the schedule and that nobody has triggered. */
static void next_second(struct trigger *t)
{
	const struct leaders *l = &t->methods->node->leaders;
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
	const struct registry *r = &t->methods->node->registry;
	int64_t ms;

	if (result == LEDGER_UNKNOWN || result == LEDGER_AGAIN) {
		refuse(t, RPC_CANNOT_TELL, "the connection to ZooKeeper went: nothing was done");
	} else if (result == LEDGER_FAILED) {
		refuse(t, RPC_CANNOT_TELL,
		       "the server refuses the ledger (an ACL, or a quota that is used up): see "
		       "the sidecar's log");
	} else if (tick_parse(t->tick, &ms) &&
		   ms <= partitions_floor_ms(&t->methods->node->leaders, t->task)) {
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
	ledger_look(&t->methods->node->leaders, t->task, t->tick, &whole, on_looked, t);
}

/* Takes the options, a map; unknown keys are skipped. tick: "" if the map has none. */
static bool take_options(struct reader *r, char tick[TICK_NAME_SIZE])
{
	struct reader_text key, text = {"", 0};
	int64_t ms;
	size_t n;

	tick[0] = '\0';
	if (reader_map(r, &n) != 0)
		return false;
	for (; n > 0; n--) {
		int e = reader_str(r, &key);
		if (e == 0 && reader_text_is(key, "tick"))
			e = reader_str(r, &text);
		else if (e == 0)
			e = reader_skip(r);
		if (e != 0)
			return false;
	}
	return text.len == 0 ||
	       (reader_text_copy(text, tick, TICK_NAME_SIZE) == 0 && tick_parse(tick, &ms));
}

/* Whether the client may run the task by hand, and now. False after an error answer. */
static bool may_trigger(const struct call *call, const struct task *task)
{
	const struct node *n = call->m->node;

	if (!refusal_may(call, task->settings, task->name))
		return false;
	if (!task->settings->schedule) {
		peer_error(call->c, call->msgid, RPC_MISUSE,
			   "the task has no schedule, and so no command: zkleader run starts one");
		return false;
	}
	if (!session_is_up(&n->session) || !n->policy.folder.ready) {
		peer_error(call->c, call->msgid, RPC_CANNOT_TELL, SESSION_NONE);
		return false;
	}
	if (task->standing.paused) {
		peer_error(call->c, call->msgid, RPC_NOBODY, "the task is paused");
		return false;
	}
	return true;
}

void trigger_answer(struct call *call)
{
	char tick[TICK_NAME_SIZE] = "";
	struct task *task;
	struct trigger *t;

	if (call->n_params < 1 || call->n_params > 2) {
		peer_error(call->c, call->msgid, RPC_MISUSE,
			   "trigger takes a task and a map of options");
		return;
	}
	task = methods_take_task(call);
	if (!task)
		return;
	if (call->n_params == 2 && !take_options(&call->params, tick)) {
		peer_error(call->c, call->msgid, RPC_MISUSE,
			   "the tick is none, such as 2026-11-20T02:00:00Z");
		return;
	}
	if (!may_trigger(call, task))
		return;
	t = begin(call, task->name);
	t->again = tick[0] != '\0';
	t->record.since = host_wall_ms(call->m->node->host); /* before a tick of its own */
	memcpy(t->tick, tick, sizeof(t->tick));
	if (t->again) {
		look(t);
		return;
	}
	t->tick_ms = host_wall_ms(call->m->node->host) / SECOND_MS * SECOND_MS;
	next_second(t);
}

/* --- outcome -------------------------------------------------------------- */

static void on_record(void *arg, enum ledger_result result, const struct run_record *record,
		      int32_t version)
{
	struct trigger *t = arg;
	const struct registry *r = &t->methods->node->registry;
	struct pack *p;

	(void)version;
	if (result != LEDGER_PRESENT && result != LEDGER_ABSENT && result != LEDGER_OLDER) {
		refuse(t, RPC_CANNOT_TELL, "the ledger could not be read");
		return;
	}
	if (t->client) {
		p = peer_begin(t->client);
		rpc_pack_result(p, t->msgid);
		pack_map(p, 4);
		pack_kv_str(p, "state",
			    record ? ledger_state(r, record->state, record->session) : NULL);
		pack_kv_int(p, "attempt", record ? record->attempt : 0);
		if (record && record->exit_status >= 0)
			pack_kv_int(p, "exit_status", record->exit_status);
		else
			pack_kv_nil(p, "exit_status");
		pack_kv_bool(p, "pending", is_pending(t));
		peer_end(t->client, t->msgid);
	}
	end(t);
}

void outcome_answer(struct call *call)
{
	struct reader_text text;
	struct task *task;
	struct trigger *t;
	char tick[TICK_NAME_SIZE];
	int64_t ms;

	if (call->n_params != 2) {
		peer_error(call->c, call->msgid, RPC_MISUSE, "outcome takes a task and a tick");
		return;
	}
	task = methods_take_task(call);
	if (!task)
		return;
	if (reader_str(&call->params, &text) != 0 ||
	    reader_text_copy(text, tick, sizeof(tick)) != 0 || !tick_parse(tick, &ms)) {
		peer_error(call->c, call->msgid, RPC_MISUSE,
			   "the tick is none, such as 2026-11-20T02:00:00Z");
		return;
	}
	if (!session_is_up(&call->m->node->session)) {
		peer_error(call->c, call->msgid, RPC_CANNOT_TELL, SESSION_NONE);
		return;
	}
	t = begin(call, task->name);
	memcpy(t->tick, tick, sizeof(t->tick));
	ledger_look(&call->m->node->leaders, t->task, t->tick, &whole, on_record, t);
}

void triggers_client_gone(struct methods *m, const struct peer *c)
{
	for (struct trigger *t = m->triggers; t; t = t->next)
		if (t->client == c)
			t->client = NULL;
}
