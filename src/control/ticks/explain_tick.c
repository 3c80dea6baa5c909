#include "control/ticks/explain_tick.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/mem.h"
#include "control/answer/explain.h"
#include "control/ticks/history.h"
#include "core/fleet/identity.h"
#include "core/time/owed.h"
#include "node/election/tasks.h"
#include "node/ledger/ledger.h"
#include "node/ledger/unclaimed.h"
#include "node/node.h"
#include "node/schedule/schedules.h"

/* A request whose answer is outstanding. */
struct tick_ask {
	struct tick_ask *prev, *next;
	struct methods *methods;
	struct peer *client; /* NULL: gone */
	uint32_t msgid;
	char task[NAME_ELECTION_MAX + 1];
	char tick[TICK_NAME_SIZE];
	int64_t tick_ms;
};

/* --- the answer ----------------------------------------------------------- */

static void end_ask(struct tick_ask *a)
{
	if (a->prev)
		a->prev->next = a->next;
	else
		a->methods->tick_asks = a->next;
	if (a->next)
		a->next->prev = a->prev;
	if (a->client) {
		a->client->parked--;
		a->client->asking--;
	}
	free(a);
}

static void fail_ask(struct tick_ask *a, enum rpc_code code, const char *why)
{
	if (a->client)
		peer_error(a->client, a->msgid, code, why);
	end_ask(a);
}

/* record: NULL where there is none; why, detail: "" for none. */
static void tell_tick(struct tick_ask *a, const char *state, const char *why, const char *detail,
		      const struct run_record *record)
{
	const struct node *n = a->methods->node;
	const struct task *t = tasks_find(&n->leaders, a->task, strlen(a->task));

	if (a->client) {
		struct pack *p = peer_begin(a->client);
		rpc_pack_result(p, a->msgid);
		pack_map(p, 6);
		pack_kv_str(p, "task", a->task);
		pack_kv_str(p, "tick", a->tick);
		pack_kv_str(p, "state", state);
		pack_kv_str(p, "why", why[0] ? why : NULL);
		pack_kv_str(p, "detail", detail[0] ? detail : NULL);
		pack_str(p, "record");
		if (record)
			history_pack_run(p, &n->registry, a->tick, record,
					 t && history_may_read(a->client, t->settings)
						 ? record->output
						 : NULL,
					 0);
		else
			pack_nil(p);
		peer_end(a->client, a->msgid);
	}
	end_ask(a);
}

static void tell_record(struct tick_ask *a, const struct run_record *record)
{
	struct run_record why = *record;
	const char *state = history_state(&a->methods->node->registry, &why);

	tell_tick(a, state, why.why, why.detail, record);
}

/* --- a tick without a record ---------------------------------------------- */

static void tell_ahead(struct tick_ask *a, const struct task *t)
{
	const struct node *n = a->methods->node;
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
	tell_tick(a, "unknown", "", text, NULL);
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
	const struct node *n = a->methods->node;
	const struct task *t = tasks_find(&n->leaders, a->task, strlen(a->task));

	if (!ok || !t)
		fail_ask(a, RPC_CANNOT_TELL, "the ledger could not be read");
	else if (a->tick_ms <= since_ms)
		tell_tick(a, "unknown", "",
			  "it is from before the schedule came into force: no such tick is owed",
			  NULL);
	else if (a->tick_ms <= schedule_floor(&n->schedules, t))
		tell_tick(a, "unknown", "",
			  "it is from before the end of a pause, or a change of the partitions: no "
			  "such tick is owed",
			  NULL);
	else if (a->tick_ms <= decided_ms)
		tell_tick(a, "unknown", "",
			  "later ticks were decided, and it has no record: it was missed with more "
			  "than are recorded, or its record has gone",
			  NULL);
	else if (t->standing.paused)
		tell_tick(a, "unknown", "", "the task is paused: what is due meanwhile is not owed",
			  NULL);
	else
		tell_owed(a, t);
}

static bool is_triggered(const struct tick_ask *a)
{
	return policy_find_own(&a->methods->node->policy, POLICY_TRIGGER, a->task, a->tick) != NULL;
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

/* older: than all that have one. */
static void tell_without(struct tick_ask *a, const struct task *t, bool older)
{
	const struct task_schedule *c = t->settings->schedule;
	const char *leader = unclaimed_find(t, a->tick);

	if (is_triggered(a))
		tell_tick(a, "owed", "", "somebody has triggered it, and its run has not begun",
			  NULL);
	else if (leader)
		tell_unclaimed(a, leader);
	else if (c && !is_tick_of(c, a->tick_ms))
		tell_tick(a, "unknown", "", "the schedule has no such tick, and it has no record",
			  NULL);
	else if (a->tick_ms > host_wall_ms(a->methods->node->host))
		tell_ahead(a, t);
	else if (c)
		schedule_read_decided(&a->methods->node->leaders, a->task, on_decided, a);
	else
		tell_tick(a, "unknown", "",
			  older ? "it is older than the runs that are kept"
				: "it has no record: nobody has claimed it, or there was none at "
				  "that time",
			  NULL);
}

static void on_looked(void *arg, enum ledger_result result, const struct run_record *record,
		      int32_t version)
{
	struct tick_ask *a = arg;
	const struct task *t = tasks_find(&a->methods->node->leaders, a->task, strlen(a->task));

	(void)version;
	if (result == LEDGER_PRESENT && record)
		tell_record(a, record);
	else if (result == LEDGER_PRESENT)
		tell_tick(a, "unknown", "", "its record makes no sense: see the log", NULL);
	else if ((result == LEDGER_ABSENT || result == LEDGER_OLDER) && t)
		tell_without(a, t, result == LEDGER_OLDER);
	else
		fail_ask(a, RPC_CANNOT_TELL, "the ledger could not be read");
}

/* --- the request ---------------------------------------------------------- */

/* Takes {"tick": str}; unknown keys are skipped. */
static bool take_tick(struct reader *r, struct tick_ask *a)
{
	struct reader_text key, text = {"", 0};
	size_t n;

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
	return reader_text_copy(text, a->tick, sizeof(a->tick)) == 0 &&
	       tick_parse(a->tick, &a->tick_ms);
}

void explain_tick_method(struct call *call)
{
	static const struct ledger_sight whole = {.limit = TICK_NO_LIMIT, .whole = true};
	const struct task *t = methods_take_task(call);
	struct tick_ask *a, asked = {.methods = call->m, .client = call->c, .msgid = call->msgid};
	const char *wrong = NULL;

	if (!t)
		return;
	if (t->settings->queue)
		wrong = "that is a queue, which has no ticks: zkleader job tells of its jobs";
	else if (!take_tick(&call->params, &asked))
		wrong = "the tick is none, such as 2026-11-20T02:00:00Z";
	if (wrong) {
		peer_error(call->c, call->msgid, RPC_MISUSE, wrong);
		return;
	}
	if (!session_is_up(&call->m->node->session)) {
		peer_error(call->c, call->msgid, RPC_CANNOT_TELL, SESSION_NONE);
		return;
	}
	a = mem_calloc(1, sizeof(*a));
	*a = asked;
	snprintf(a->task, sizeof(a->task), "%s", t->name);
	a->next = call->m->tick_asks;
	if (a->next)
		a->next->prev = a;
	call->m->tick_asks = a;
	call->c->parked++;
	call->c->asking++;
	ledger_look(&call->m->node->leaders, a->task, a->tick, &whole, on_looked, a);
}

void explain_ticks_client_gone(struct methods *m, const struct peer *c)
{
	for (struct tick_ask *a = m->tick_asks; a; a = a->next)
		if (a->client == c)
			a->client = NULL;
}
