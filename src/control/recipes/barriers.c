/* barrier and barrier_leave: wait until enough members are there, and until all have left. */
#include <stdio.h>

#include "base/text/duration.h"
#include "control/ask/options.h"
#include "control/recipes/recipes.h"
#include "node/node.h"

/* A request that waits. The node answers it even if its client has gone. */
static const struct ask_kind kind = {.size = sizeof(struct ask)};

static void tell(struct ask *a, const char *state, int64_t round)
{
	struct pack *p = ask_result(a);

	pack_map(p, 2);
	pack_kv_str(p, "state", state);
	pack_kv_int(p, "round", round);
	ask_end(a);
}

static void on_answer(void *arg, const struct party_answer *answer)
{
	struct ask *a = arg;
	char text[100];

	switch (answer->outcome) {
	case PARTY_OPENED: tell(a, "opened", answer->round); break;
	case PARTY_LEFT: tell(a, "left", answer->round); break;
	case PARTY_TIMEOUT: tell(a, "timeout", 0); break;
	case PARTY_OTHER_COUNT:
		snprintf(text, sizeof(text), "the others of this round wait for %u", answer->count);
		ask_fail(a, RPC_MISUSE, text);
		break;
	case PARTY_MISUSE: ask_fail(a, RPC_MISUSE, answer->why); break;
	case PARTY_FAILED: ask_fail(a, RPC_CANNOT_TELL, answer->why); break;
	case PARTY_IN_USE:
	case PARTY_NOT_THERE: /* gangs only */
	case PARTY_WITHDRAWN:
	case PARTY_ENDED: ask_end(a); break; /* its client asks the next sidecar */
	}
}

/* --- parameters ----------------------------------------------------------- */

struct barrier_options {
	uint64_t id;
	int64_t count, timeout_ms, round;
	bool command, again;
};

static const struct key keys[] = {
	OPTION_READ(barrier_options, id, "id", options_read_id, "not 16 hexadecimal digits"),
	OPTION_INT(barrier_options, count, "count", 1, BARRIER_COUNT_MAX, "not from 1 to 1000"),
	OPTION_INT(barrier_options, timeout_ms, "timeout_ms", -1, DURATION_MAX_MS,
		   "not a number of ms"),
	OPTION_INT(barrier_options, round, "round", 0, INT64_MAX, "not a round"),
	OPTION_BOOL(barrier_options, again, "again"),
	OPTION_BOOL(barrier_options, command, "command"),
};

/* Takes the parameters, a name and a map. False after an error answer. */
static bool take(struct call *call, char name[NAME_TASK_MAX + 1], struct barrier_options *o)
{
	return recipes_take_name(call, name) && options_take(call, OPTIONS(keys), o) &&
	       ((o->id != 0 && o->count > 0) || call_misused(call));
}

void recipe_barrier(struct call *call)
{
	struct barrier_options o = {.timeout_ms = -1};
	char name[NAME_TASK_MAX + 1];

	if (!take(call, name, &o))
		return;
	const struct barrier_entry entry = {.name = name,
					    .id = o.id,
					    .count = (unsigned)o.count,
					    .command = o.command,
					    .timeout_ms = o.timeout_ms,
					    .again = o.again,
					    .round = o.again ? o.round : 0,
					    .owner = call->c};
	barriers_enter(&call->m->node->recipes.barriers, &entry, on_answer, ask_new(call, &kind));
}

void recipe_barrier_leave(struct call *call)
{
	struct barrier_options o = {.timeout_ms = -1, .count = 1};
	char name[NAME_TASK_MAX + 1];

	if (!take(call, name, &o))
		return;
	barriers_leave(&call->m->node->recipes.barriers, name, o.id, o.round, call->c, on_answer,
		       ask_new(call, &kind));
}
