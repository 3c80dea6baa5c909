#include "control/orders/orders.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "control/ask/explain_text.h"
#include "control/ask/options.h"
#include "control/ask/subject.h"
#include "control/ask/user.h"
#include "node/election/partitions.h"

struct repartition {
	struct ask ask;
	char task[NAME_ELECTION_MAX + 1];
	unsigned number;
	char reason[POLICY_TEXT_MAX + 1];
	char by[POLICY_TEXT_MAX + 1];
};

/* Says the number of partitions that is in force, and what is to be done before the task is led. */
static void say_number(const struct repartition *r, bool done, char text[EXPLAIN_TEXT_MAX])
{
	const char *since = done ? "from now on" : "already";

	if (r->number > 1)
		explain_say(text, "%s has %u partitions %s", r->task, r->number, since);
	else
		explain_say(text, "%s is a plain task %s", r->task, since);
	if (done && r->number > 1)
		explain_say(text, ": write partitions = %u in its file on all servers", r->number);
	else if (done)
		explain_say(text, ": take partitions out of its file on all servers");
	if (done)
		explain_say(text, ", then zkleader resume %s", r->task);
}

static void answer(struct repartition *r, bool done)
{
	char text[EXPLAIN_TEXT_MAX] = "";
	struct pack *p = ask_result(&r->ask);

	say_number(r, done, text);
	pack_map(p, 4);
	pack_kv_bool(p, "done", done);
	pack_kv_str(p, "message", text);
	pack_kv_str(p, "task", r->task);
	pack_kv_uint(p, "partitions", r->number);
	ask_end(&r->ask);
}

static void on_changed(void *arg, enum partitions_result result, const char *text)
{
	struct repartition *r = arg;

	if (result == PARTITIONS_DONE || result == PARTITIONS_NOTHING)
		answer(r, result == PARTITIONS_DONE);
	else
		ask_fail(&r->ask, result == PARTITIONS_NOT_PAUSED ? RPC_MISUSE : RPC_CANNOT_TELL,
			 text);
}

static void on_user(struct ask *a)
{
	struct repartition *r = (struct repartition *)a;

	partitions_change(&a->methods->node->leaders, r->task, r->number, r->reason, r->by,
			  on_changed, r);
}

/* Whether the number may be changed now. False after an error answer. */
static bool may_change(const struct call *call, const struct repartition *r)
{
	char text[EXPLAIN_TEXT_MAX] = "";

	if (!call_has_policy(call))
		return false;
	if (policy_find(&call->m->node->policy, POLICY_PAUSE, r->task, ""))
		return true;
	explain_say(text,
		    "%s is not paused: zkleader pause %s, and once the jobs that run have ended "
		    "this again",
		    r->task, r->task);
	call_refuse(call, text);
	return false;
}

/* Takes the parameters behind the task: N [, OPTIONS]. False after an error answer. */
static bool take_rest(struct call *call, struct repartition *r)
{
	static const struct key keys[] = {
		OPTION_TEXT(repartition, reason, "reason", options_is_plain, ORDERS_REASON)};
	uint64_t number = 0;

	if (reader_uint(&call->params, &number) != 0 || number < 1 || number > NAME_PARTITIONS_MAX)
		return call_refuse(call, "the number of partitions is not one from 1 to 256");
	r->number = (unsigned)number;
	return options_take(call, OPTIONS(keys), r);
}

/*
 * Takes the task, also one that is refused here for its number of partitions. False after an error
 * answer.
 */
static bool take_task(struct call *call, struct repartition *r)
{
	struct subject s;

	if (!subject_take(call, &s))
		return false;
	if (s.task && partitions_state(s.listing) != PARTITIONS_PLAIN) {
		call_refuse(call, "that is one partition: name its task, which all of them are of");
		return false;
	}
	snprintf(r->task, sizeof(r->task), "%s", subject_name(&s));
	return true;
}

void repartition(struct call *call)
{
	static const struct ask_kind kind = {.size = sizeof(struct repartition), .asks = true};
	struct repartition *r = ask_new(call, &kind);

	if (take_task(call, r) && take_rest(call, r) && may_change(call, r))
		ask_user(&r->ask, r->by, on_user);
	else
		ask_end(&r->ask);
}
