#include "control/recipes/recipes.h"

#include "base/text/duration.h"
#include "control/ask/held.h"
#include "control/ask/options.h"
#include "node/node.h"

/* --- join, join_attach ---------------------------------------------------- */

static void pack_started(struct pack *p, const struct party_answer *a)
{
	pack_map(p, 6);
	pack_kv_str(p, "state", "started");
	pack_kv_uint(p, "number", a->number);
	pack_kv_uint(p, "index", a->index);
	pack_kv_uint(p, "count", a->record->n);
	pack_kv_int(p, "instance", a->record->instance);
	pack_str(p, "peers");
	pack_array(p, a->record->n);
	for (size_t i = 0; i < a->record->n; i++) {
		pack_array(p, 2);
		pack_str(p, a->record->members[i].ip);
		pack_str(p, a->record->members[i].hostname);
	}
}

static void pack_state(struct pack *p, const char *state, const char *why, unsigned count)
{
	pack_map(p, 3);
	pack_kv_str(p, "state", state);
	pack_kv_str(p, "why", why);
	pack_kv_uint(p, "count", count);
}

static void pack_join(struct pack *p, const struct party_answer *a)
{
	if (a->outcome == PARTY_OPENED)
		pack_started(p, a);
	else if (a->outcome == PARTY_TIMEOUT)
		pack_state(p, "timeout", NULL, 0);
	else if (a->outcome == PARTY_IN_USE)
		pack_state(p, "in_use", a->why, 0);
	else
		pack_state(p, "count", NULL, a->count);
}

static void on_answer(void *arg, const struct party_answer *answer)
{
	struct held_ask *a = arg;
	bool failed = answer->outcome == PARTY_FAILED || answer->outcome == PARTY_ENDED;
	struct pack *p = held_answer(a, failed, answer->why, answer->outcome == PARTY_OPENED,
				     answer->number);

	if (!p)
		return;
	pack_join(p, answer);
	ask_end(&a->ask);
}

struct join_options {
	uint64_t id;
	char key[NAME_TASK_MAX + 1];
	int64_t count, timeout_ms;
	bool goes_on;
};

void method_join(struct call *call)
{
	static const struct key keys[] = {
		OPTION_READ(join_options, id, "id", options_read_id, "not 16 hexadecimal digits"),
		OPTION_TEXT(join_options, key, "key", name_is_task, "no name"),
		OPTION_INT(join_options, count, "count", 1, GANG_COUNT_MAX, "not from 1 to 256"),
		OPTION_INT(join_options, timeout_ms, "timeout_ms", -1, DURATION_MAX_MS,
			   "not a number of ms"),
		OPTION_BOOL(join_options, goes_on, "goes_on"),
	};
	struct join_options o = {.timeout_ms = -1};
	char name[NAME_TASK_MAX + 1];

	if (!recipes_take_name(call, name) || !options_take(call, OPTIONS(keys), &o))
		return;
	if (o.id == 0 || o.count == 0) {
		call_misused(call);
		return;
	}
	const struct gang_request request = {.owner = call->c,
					     .name = name,
					     .id = o.id,
					     .key = o.key[0] ? o.key : NULL,
					     .count = (unsigned)o.count,
					     .goes_on = o.goes_on,
					     .timeout_ms = o.timeout_ms};
	asks_hold(call->c);
	gangs_join(&call->m->node->recipes.gangs, &request, on_answer,
		   ask_new(call, &held_ask_kind));
}

void method_join_attach(struct call *call)
{
	char name[NAME_TASK_MAX + 1];
	uint64_t id;

	if (!recipes_take_name(call, name))
		return;
	if (options_read_id(&call->params, &id) != 0) {
		call_refuse(call, "that is not the id of a member");
		return;
	}
	struct held_ask *a = ask_new(call, &held_ask_kind);
	a->attaches = true;
	asks_hold(call->c);
	gangs_attach(&call->m->node->recipes.gangs, call->c, name, id, on_answer, a);
}

/* --- join_renew, join_finish ---------------------------------------------- */

void method_join_renew(struct call *call)
{
	held_renewed(call, gangs_renew(&call->m->node->recipes.gangs, call->c, held_number(call)));
}

void method_join_finish(struct call *call)
{
	struct held_end end;
	uint64_t number;
	struct ask *a;

	if (reader_uint(&call->params, &number) != 0) {
		call_misused(call);
		return;
	}
	if (!held_take_end(call, &end))
		return;
	a = ask_new(call, &held_ask_kind);
	if (!gangs_finish(&call->m->node->recipes.gangs, call->c, number, end.what.interrupted,
			  held_finished, a))
		ask_fail(a, RPC_MISUSE, "no such member on this connection");
}
