/* rolling: the steps of a rolling restart, and what operators see of it and do to it. */
#include <errno.h>
#include <string.h>

#include "base/log/log.h"
#include "base/text/duration.h"
#include "control/answer/answers.h"
#include "control/ask/nodes.h"
#include "control/ask/options.h"
#include "control/ask/user.h"
#include "control/recipes/recipes.h"
#include "node/node.h"

/* A request that waits for the node. */
struct rolling_call {
	struct ask ask;
	struct rolling_request request;
	bool order;	       /* the request says what is to be done */
	struct rolling_op *op; /* NULL: the node has not been asked yet */
};

static const char *const orders[] = {
	[ROLLING_TAKE] = "take",     [ROLLING_OWN] = "own",	  [ROLLING_ADVANCE] = "advance",
	[ROLLING_FREE] = "free",     [ROLLING_STATUS] = "status", [ROLLING_RELEASE] = "release",
	[ROLLING_RESUME] = "resume",
};

static void on_gone(struct ask *a)
{
	struct rolling_call *r = (struct rolling_call *)a;

	if (r->op)
		rolling_cancel(r->op);
	ask_end(a);
}

static const struct ask_kind kind = {
	.size = sizeof(struct rolling_call), .asks = true, .gone = on_gone};

/* --- answering ------------------------------------------------------------ */

static void pack_slot(struct pack *p, const struct node *n, const struct rolling_slot *s)
{
	pack_map(p, 8);
	pack_kv_str(p, "id", s->id);
	nodes_pack(p, n, "node", s->node);
	pack_kv_str(p, "state", rolling_state_name(s->state));
	pack_kv_time(p, "since", s->since);
	pack_kv_str(p, "by", s->by);
	pack_kv_str(p, "boot_id", s->boot_id);
	pack_kv_text(p, "process", s->process);
	pack_kv_known(p, "exit_status", s->exit_status >= 0, s->exit_status);
}

/* A slot whose record cannot be read: only its node is known. */
static void pack_unknown(struct pack *p, const struct node *n, const char *node)
{
	static const char *const keys[] = {"id",      "state",	 "since",      "by",
					   "boot_id", "process", "exit_status"};

	pack_map(p, 8);
	nodes_pack(p, n, "node", node);
	for (size_t i = 0; i < sizeof(keys) / sizeof(keys[0]); i++)
		pack_kv_nil(p, keys[i]);
}

static void pack_halted(struct pack *p, const struct node *n, const struct rolling_group *g)
{
	pack_str(p, "halted");
	if (g->halted_since == 0) {
		pack_nil(p);
		return;
	}
	pack_map(p, 3);
	nodes_pack(p, n, "node", g->halted_node);
	pack_kv_str(p, "why", g->halted_why);
	pack_kv_time(p, "since", g->halted_since);
}

/* The group, and for STATUS who has a slot and who waits. */
static void pack_group(struct pack *p, const struct node *n, const struct rolling_call *r,
		       const struct rolling_view *v)
{
	bool whole = r->request.order == ROLLING_STATUS;

	pack_map(p, whole ? 5 : 3);
	pack_kv_str(p, "group", r->request.group);
	pack_kv_known(p, "max_unavailable", v->exists, v->group.max_unavailable);
	pack_halted(p, n, &v->group);
	if (!whole)
		return;
	pack_str(p, "slots");
	pack_array(p, v->n_slots);
	for (size_t i = 0; i < v->n_slots; i++) {
		if (v->slots[i].known)
			pack_slot(p, n, &v->slots[i].slot);
		else
			pack_unknown(p, n, v->slots[i].node);
	}
	pack_str(p, "waiting");
	pack_array(p, v->n_waiting);
	for (size_t i = 0; i < v->n_waiting; i++) {
		pack_map(p, 2);
		nodes_pack(p, n, "node", v->waiting[i].waiter.node);
		pack_kv_time(p, "since", v->waiting[i].waiter.since);
	}
}

static void answer(struct rolling_call *r, const struct rolling_answer *a)
{
	static const char *const words[] = {
		[ROLLING_DONE] = "done",       [ROLLING_NOTHING] = "nothing",
		[ROLLING_HALTED] = "halted",   [ROLLING_HAS_FAILED] = "failed",
		[ROLLING_OTHER_K] = "other",   [ROLLING_LATE] = "late",
		[ROLLING_BUSY] = "busy",       [ROLLING_CHANGED] = "changed",
		[ROLLING_REFUSED] = "refused", [ROLLING_UNKNOWN] = "unknown",
	};
	const struct node *n = r->ask.methods->node;
	struct pack *p = ask_result(&r->ask);

	pack_map(p, 5);
	pack_kv_str(p, "result", words[a->result]);
	pack_str(p, "slot");
	if (a->slot)
		pack_slot(p, n, a->slot);
	else
		pack_nil(p);
	pack_str(p, "group");
	pack_group(p, n, r, a->view);
	pack_kv_uint(p, "leads", a->leads);
	pack_kv_uint(p, "jobs", a->jobs);
	ask_end(&r->ask);
}

static void on_answer(void *arg, const struct rolling_answer *a)
{
	struct rolling_call *r = arg;

	if (a->result == ROLLING_REFUSED)
		ask_fail(&r->ask, RPC_MISUSE, a->why);
	else if (a->result == ROLLING_UNKNOWN)
		ask_fail(&r->ask, RPC_CANNOT_TELL, a->why);
	else
		answer(r, a);
}

/* --- asking --------------------------------------------------------------- */

static void on_user(struct ask *a)
{
	struct rolling_call *r = (struct rolling_call *)a;
	struct rolling_op *op =
		rolling_ask(&a->methods->node->recipes.rolling, &r->request, on_answer, r);

	if (op)
		r->op = op; /* NULL: it has been answered, and r was freed */
}

/* --- parameters ----------------------------------------------------------- */

static int read_order(struct reader *r, void *to)
{
	struct rolling_call *said = to;
	struct reader_text text;
	int e = reader_str(r, &text);

	for (size_t i = 0; e == 0 && i < sizeof(orders) / sizeof(orders[0]); i++) {
		if (!reader_text_is(text, orders[i]))
			continue;
		said->request.order = (enum rolling_order)i;
		said->order = true;
	}
	return said->order ? 0 : -EBADMSG;
}

static int read_state(struct reader *r, void *to)
{
	struct rolling_call *said = to;
	struct reader_text text;

	return reader_str(r, &text) == 0 &&
			       rolling_state_parse(text.data, text.len, &said->request.state)
		       ? 0
		       : -EBADMSG;
}

static bool is_node(const char *text, size_t len)
{
	return len > 0 && !memchr(text, '\0', len);
}

static const struct key keys[] = {
	OPTION("do", read_order, "not known"),
	OPTION("state", read_state, "not one of draining, running, soaking, failed"),
	OPTION_INT(rolling_call, request.max_unavailable, "max_unavailable", 1, ROLLING_SLOTS_MAX,
		   "not a number of slots"),
	OPTION_INT(rolling_call, request.wait_ms, "timeout_ms", -1, DURATION_MAX_MS,
		   "not a number of ms"),
	OPTION_INT(rolling_call, request.soak_ms, "soak_ms", 0, DURATION_MAX_MS,
		   "not a number of ms"),
	OPTION_INT(rolling_call, request.exit_status, "exit_status", -1, 255, "not from 0 to 255"),
	OPTION_TEXT(rolling_call, request.slot, "slot", name_is_id, "not the id of a slot"),
	OPTION_TEXT(rolling_call, request.boot_id, "boot_id", name_is_id, "no id"),
	OPTION_TEXT(rolling_call, request.process, "process", rolling_process_is_good,
		    "not a process"),
	OPTION_TEXT(rolling_call, request.before, "before", rolling_process_is_good,
		    "not a process"),
	OPTION_TEXT(rolling_call, request.node, "node", is_node, "not the name of a node"),
};

/* Whether all that the order needs is there. */
static bool is_whole(const struct rolling_request *q)
{
	switch (q->order) {
	case ROLLING_TAKE: return q->boot_id[0] && q->process[0];
	case ROLLING_ADVANCE:
		return q->boot_id[0] && q->process[0] && q->slot[0] &&
		       (q->state != ROLLING_FAILED || q->exit_status > 0);
	case ROLLING_FREE: return q->slot[0];
	case ROLLING_RELEASE: return q->node[0];
	case ROLLING_OWN:
	case ROLLING_STATUS:
	case ROLLING_RESUME: break;
	}
	return true;
}

static void on_groups(void *arg, char *const *names, size_t n)
{
	struct ask *a = arg;
	struct pack *p;

	if (!names) {
		ask_fail(a, RPC_CANNOT_TELL, SESSION_NONE);
		return;
	}
	p = ask_result(a);
	pack_array(p, n);
	for (size_t i = 0; i < n; i++)
		pack_str(p, names[i]);
	ask_end(a);
}

static void answer_groups(struct call *call)
{
	static const struct ask_kind list = {.size = sizeof(struct ask), .asks = true};

	if (call_has_session(call))
		rolling_groups(&call->m->node->recipes.rolling, on_groups, ask_new(call, &list));
}

void recipe_rolling(struct call *call)
{
	struct rolling_call *r;
	struct rolling_request *q;

	if (call->n_params == 0) {
		answer_groups(call);
		return;
	}
	r = ask_new(call, &kind);
	q = &r->request;
	q->max_unavailable = 1;
	q->wait_ms = q->exit_status = -1;
	if (!recipes_take_name(call, q->group) || !options_take(call, OPTIONS(keys), r)) {
		ask_end(&r->ask);
		return;
	}
	if (!r->order || !is_whole(q)) {
		ask_fail(&r->ask, RPC_MISUSE, "something that rolling needs is missing in its map");
		return;
	}
	if (q->order == ROLLING_TAKE || q->order == ROLLING_FREE)
		ask_takes_long(&r->ask);
	log_debug("rolling", LOG_STR("order", orders[q->order]), LOG_STR("group", q->group),
		  LOG_INT("pid", call->c->pid));
	if (q->order == ROLLING_TAKE)
		ask_user(&r->ask, q->by, on_user);
	else
		on_user(&r->ask);
}
