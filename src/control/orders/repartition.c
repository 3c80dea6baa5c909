#include "control/orders/repartition.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "control/ask/explain_text.h"
#include "control/ask/subject.h"
#include "control/ask/user.h"
#include "node/election/partitions.h"

struct repartition {
	struct repartition *prev, *next;
	struct methods *methods;
	struct peer *client; /* NULL: gone */
	uint32_t msgid;
	uid_t uid;
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

static void answer(const struct repartition *r, bool done)
{
	char text[EXPLAIN_TEXT_MAX] = "";
	struct pack *p = peer_begin(r->client);

	say_number(r, done, text);

	rpc_pack_result(p, r->msgid);
	pack_map(p, 4);
	pack_kv_bool(p, "done", done);
	pack_kv_str(p, "message", text);
	pack_kv_str(p, "task", r->task);
	pack_kv_uint(p, "partitions", r->number);
	peer_end(r->client, r->msgid);
}

static void end(struct repartition *r)
{
	if (r->prev)
		r->prev->next = r->next;
	else
		r->methods->repartitions = r->next;
	if (r->next)
		r->next->prev = r->prev;
	if (r->client) {
		r->client->parked--;
		r->client->asking--;
	}
	free(r);
}

static void on_changed(void *arg, enum partitions_result result, const char *text)
{
	struct repartition *r = arg;

	if (r->client && (result == PARTITIONS_DONE || result == PARTITIONS_NOTHING))
		answer(r, result == PARTITIONS_DONE);
	else if (r->client)
		peer_error(r->client, r->msgid,
			   result == PARTITIONS_NOT_PAUSED ? RPC_MISUSE : RPC_CANNOT_TELL, text);
	end(r);
}

static void find_user(void *arg)
{
	struct repartition *r = arg;

	user_name(r->uid, r->by, sizeof(r->by));
}

static void on_user_found(void *arg)
{
	struct repartition *r = arg;

	partitions_change(&r->methods->node->leaders, r->task, r->number, r->reason, r->by,
			  on_changed, r);
}

/* The options: a map; unknown keys are skipped. */
static bool take_options(struct reader *params, char reason[POLICY_TEXT_MAX + 1])
{
	struct reader_text key, text = {"", 0};
	size_t n;

	if (reader_map(params, &n) != 0)
		return false;
	for (; n > 0; n--) {
		int e = reader_str(params, &key);
		if (e == 0 && reader_text_is(key, "reason"))
			e = reader_str(params, &text);
		else if (e == 0)
			e = reader_skip(params);
		if (e != 0)
			return false;
	}
	for (size_t i = 0; i < text.len; i++)
		if ((unsigned char)text.data[i] < ' ' || text.data[i] == 0x7f)
			return false;
	if (text.len > POLICY_TEXT_MAX)
		return false;
	memcpy(reason, text.data, text.len);
	return true;
}

/* Whether the number may be changed now. False after an error answer. */
static bool may_change(const struct call *call, const struct repartition *r)
{
	const struct node *s = call->m->node;
	char text[EXPLAIN_TEXT_MAX] = "";

	if (!peer_may_change(call->c)) {
		peer_error(call->c, call->msgid, RPC_MISUSE, METHODS_NOT_ALLOWED);
		return false;
	}
	if (!session_is_up(&s->session) || !s->policy.folder.ready) {
		peer_error(call->c, call->msgid, RPC_CANNOT_TELL, SESSION_NONE);
		return false;
	}
	if (policy_find(&s->policy, POLICY_PAUSE, r->task, ""))
		return true;
	explain_say(text,
		    "%s is not paused: zkleader pause %s, and once the jobs that run have ended "
		    "this again",
		    r->task, r->task);
	peer_error(call->c, call->msgid, RPC_MISUSE, text);
	return false;
}

/* Takes the parameters behind the task: N [, OPTIONS]. Returns what is wrong; NULL: nothing. */
static const char *take(struct call *call, struct repartition *r)
{
	uint64_t number = 0;

	if (reader_uint(&call->params, &number) != 0 || number < 1 || number > NAME_PARTITIONS_MAX)
		return "the number of partitions is not one from 1 to 256";
	if (call->n_params == 3 && !take_options(&call->params, r->reason))
		return "the options are no map, or the reason is over 200 bytes long or has "
		       "control "
		       "characters";
	r->number = (unsigned)number;
	return NULL;
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
		peer_error(call->c, call->msgid, RPC_MISUSE,
			   "that is one partition: name its task, which all of them are of");
		return false;
	}
	snprintf(r->task, sizeof(r->task), "%s", subject_name(&s));
	return true;
}

void repartition(struct call *call)
{
	const struct process *process = call->m->process;
	struct repartition r = {
		.methods = call->m, .client = call->c, .msgid = call->msgid, .uid = call->c->uid};
	struct repartition *made;
	const char *wrong;

	if (call->n_params < 2 || call->n_params > 3) {
		peer_error(call->c, call->msgid, RPC_MISUSE,
			   "repartition takes a task, a number, and a map of options");
		return;
	}
	if (!take_task(call, &r))
		return;
	wrong = take(call, &r);
	if (wrong)
		peer_error(call->c, call->msgid, RPC_MISUSE, wrong);
	if (wrong || !may_change(call, &r))
		return;
	made = mem_alloc(sizeof(*made));
	*made = r;
	made->next = call->m->repartitions;
	if (made->next)
		made->next->prev = made;
	call->m->repartitions = made;
	call->c->parked++;
	call->c->asking++;
	if (process->offload(process->arg, find_user, on_user_found, made) != 0)
		on_changed(made, PARTITIONS_FAILED, "not done: see the sidecar's log");
}

void repartitions_client_gone(struct methods *m, const struct peer *c)
{
	for (struct repartition *r = m->repartitions; r; r = r->next)
		if (r->client == c)
			r->client = NULL;
}
