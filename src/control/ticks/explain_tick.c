#include "control/ticks/ticks.h"

#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "control/answer/explain.h"
#include "control/ask/options.h"
#include "control/ask/refusal.h"
#include "control/ticks/history.h"
#include "core/fleet/identity.h"
#include "core/time/owed.h"
#include "node/election/tasks.h"
#include "node/ledger/ledger.h"
#include "node/ledger/unclaimed.h"
#include "node/node.h"
#include "node/schedule/schedules.h"

#define OLDER "it is older than the runs that are kept"

/* A request whose answer is outstanding. */
struct tick_ask {
	struct ask ask;
	char task[NAME_ELECTION_MAX + 1];
	char tick[TICK_NAME_SIZE];
	int64_t tick_ms;
	bool older; /* than all that have a record */
};

/* --- the answer ----------------------------------------------------------- */

static const struct ask_kind kind = {.size = sizeof(struct tick_ask), .asks = true};

static const struct node *node_of(const struct tick_ask *a)
{
	return a->ask.methods->node;
}

/* record: NULL: none; why, detail: "": none. */
static void tell_tick(struct tick_ask *a, const char *state, const char *why, const char *detail,
		      const struct run_record *record)
{
	const struct node *n = node_of(a);
	const struct task *t = tasks_find(&n->leaders, a->task, strlen(a->task));
	struct peer *c = a->ask.client;
	struct pack *p = ask_result(&a->ask);

	pack_map(p, 6);
	pack_kv_str(p, "task", a->task);
	pack_kv_str(p, "tick", a->tick);
	pack_kv_str(p, "state", state);
	pack_kv_text(p, "why", why);
	pack_kv_text(p, "detail", detail);
	pack_str(p, "record");
	if (record)
		history_pack_run(p, &n->registry, a->tick, record,
				 c && t && refusal_spares(c, t->settings->uids, t->settings->n_uids)
					 ? record->output
					 : NULL,
				 0);
	else
		pack_nil(p);
	ask_end(&a->ask);
}

static void tell_unknown(struct tick_ask *a, const char *detail)
{
	tell_tick(a, "unknown", "", detail, NULL);
}

static void tell_record(struct tick_ask *a, const struct run_record *record)
{
	struct run_record why = *record;
	const char *state = history_state(&node_of(a)->registry, &why);

	tell_tick(a, state, why.why, why.detail, record);
}

/* --- a tick without a record ---------------------------------------------- */

static void tell_ahead(struct tick_ask *a, const struct task *t)
{
	const struct node *n = node_of(a);
	int64_t decided_ms = schedules_decided_until(&n->schedules, t);
	char until[CLOCK_TEXT_SIZE], text[EXPLAIN_TEXT_MAX] = "";

	if (decided_ms < a->tick_ms) {
		tell_tick(a, "ahead", "", "it lies ahead", NULL);
		return;
	}
	clock_format(decided_ms, until);
	explain_say(text,
		    "it lies ahead and is not run: a clock that was ahead has decided all ticks up "
		    "to %s",
		    until);
	tell_unknown(a, text);
}

static void tell_owed(struct tick_ask *a, const struct task *t)
{
	const struct member *leader = leaders_leader(t);
	char text[EXPLAIN_TEXT_MAX] = "";

	if (leaders_is_led(t))
		explain_say(text,
			    "it is due: %s, which leads the task, has it run or recorded as "
			    "missed",
			    leader ? identity_name(leader) : t->leader.id);
	else
		explain_say(text, "it is due, and nobody leads the task: who does next has it run "
				  "or recorded as missed");
	tell_tick(a, "owed", "", text, NULL);
}

static void on_decided(void *arg, bool ok, int64_t since_ms, int64_t decided_ms)
{
	struct tick_ask *a = arg;
	const struct node *n = node_of(a);
	const struct task *t = tasks_find(&n->leaders, a->task, strlen(a->task));

	if (!ok || !t)
		ask_fail(&a->ask, RPC_CANNOT_TELL, "the ledger could not be read");
	else if (a->tick_ms <= since_ms)
		tell_unknown(
			a, "it is from before the schedule came into force: no such tick is owed");
	else if (a->older && a->tick_ms <= decided_ms)
		tell_unknown(a, OLDER);
	else if (a->tick_ms <= schedule_floor(t))
		tell_unknown(
			a,
			"it is from before the end of a pause, or a change of the partitions: no "
			"such tick is owed");
	else if (a->tick_ms <= decided_ms)
		tell_unknown(
			a,
			"later ticks were decided, and it has no record: it was missed with more "
			"than are recorded, or its record has gone");
	else if (t->standing.paused)
		tell_unknown(a, "the task is paused: what is due meanwhile is not owed");
	else
		tell_owed(a, t);
}

static bool is_triggered(const struct tick_ask *a)
{
	return policy_find_own(&node_of(a)->policy, POLICY_TRIGGER, a->task, a->tick) != NULL;
}

static bool is_tick_of(const struct task_schedule *c, int64_t ms)
{
	return owed_is_tick(&(struct owed_rules){.schedule = c->schedule, .zone = c->zone}, ms);
}

static void tell_unclaimed(struct tick_ask *a, const char *leader)
{
	char detail[EXPLAIN_TEXT_MAX] = "";

	explain_say(detail, UNCLAIMED_DETAIL, leader);
	tell_tick(a, "unclaimed", UNCLAIMED_WHY, detail, NULL);
}

static void tell_without(struct tick_ask *a, const struct task *t)
{
	const struct task_schedule *c = t->settings->schedule;
	const char *leader = unclaimed_find(t, a->tick);

	if (is_triggered(a))
		tell_tick(a, "owed", "", "somebody has triggered it, and its run has not begun",
			  NULL);
	else if (leader)
		tell_unclaimed(a, leader);
	else if (c && !is_tick_of(c, a->tick_ms))
		tell_unknown(a, "the schedule has no such tick, and it has no record");
	else if (a->tick_ms > host_wall_ms(node_of(a)->host))
		tell_ahead(a, t);
	else if (c)
		schedule_read_decided(&a->ask.methods->node->leaders, a->task, on_decided, a);
	else
		tell_unknown(
			a, a->older ? OLDER
				    : "it has no record: nobody has claimed it, or there was none "
				      "at that time");
}

static void on_looked(void *arg, enum ledger_result result, const struct run_record *record,
		      int32_t version)
{
	struct tick_ask *a = arg;
	const struct task *t = tasks_find(&node_of(a)->leaders, a->task, strlen(a->task));

	(void)version;
	a->older = result == LEDGER_OLDER;
	if (result == LEDGER_PRESENT && record)
		tell_record(a, record);
	else if (result == LEDGER_PRESENT)
		tell_unknown(a, "its record makes no sense: see the log");
	else if ((result == LEDGER_ABSENT || result == LEDGER_OLDER) && t)
		tell_without(a, t);
	else
		ask_fail(&a->ask, RPC_CANNOT_TELL, "the ledger could not be read");
}

/* --- the request ---------------------------------------------------------- */

void explain_tick_method(struct call *call)
{
	static const struct key keys[] = {OPTION("tick", options_read_tick, OPTIONS_TICK)};
	static const struct ledger_sight whole = {.limit = TICK_NO_LIMIT, .whole = true};
	const struct task *t = methods_take_task(call);
	char tick[TICK_NAME_SIZE] = "";
	struct tick_ask *a;

	if (!t)
		return;
	if (t->settings->queue) {
		call_refuse(call, "that is a queue, which has no ticks: zkleader job tells of its "
				  "jobs");
		return;
	}
	if (!options_take(call, OPTIONS(keys), tick))
		return;
	if (!tick[0]) {
		call_refuse(call, OPTIONS_TICK);
		return;
	}
	if (!call_has_session(call))
		return;
	a = ask_new(call, &kind);
	memcpy(a->tick, tick, sizeof(a->tick));
	tick_parse(a->tick, &a->tick_ms);
	snprintf(a->task, sizeof(a->task), "%s", t->name);
	ledger_look(&call->m->node->leaders, a->task, a->tick, &whole, on_looked, a);
}
