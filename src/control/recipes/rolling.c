/* rolling: the steps of a rolling restart, and what operators see of it and do to it. */
#include <stdlib.h>
#include <string.h>

#include "base/log/log.h"
#include "base/mem.h"
#include "base/text/duration.h"
#include "control/answer/answers.h"
#include "control/ask/nodes.h"
#include "control/ask/user.h"
#include "control/recipes/recipes.h"
#include "node/node.h"

#define MAX_SOAK_MS DURATION_MAX_MS

/* A request that waits for the node. */
struct rolling_call {
	struct rolling_call *prev, *next;
	struct methods *methods;
	struct peer *client; /* NULL: gone */
	bool waits;	     /* it may take long: not counted in peer.asking */
	uint32_t msgid;
	uid_t uid;
	struct rolling_request request;
	struct rolling_op *op; /* NULL: the node has not been asked yet */
};

static const char *const orders[] = {
	[ROLLING_TAKE] = "take",     [ROLLING_OWN] = "own",	  [ROLLING_ADVANCE] = "advance",
	[ROLLING_FREE] = "free",     [ROLLING_STATUS] = "status", [ROLLING_RELEASE] = "release",
	[ROLLING_RESUME] = "resume",
};

static void end_call(struct rolling_call *r)
{
	if (r->prev)
		r->prev->next = r->next;
	else
		r->methods->rollings = r->next;
	if (r->next)
		r->next->prev = r->prev;
	if (r->client) {
		r->client->parked--;
		r->client->asking -= !r->waits;
	}
	free(r);
}

void rollings_client_gone(struct methods *m, const struct peer *c)
{
	struct rolling_call *r = m->rollings, *next;

	for (; r; r = next) {
		next = r->next;
		if (r->client != c)
			continue;
		r->client->parked--;
		r->client->asking -= !r->waits;
		r->client = NULL;
		if (!r->op)
			continue; /* the name of its user is being looked up */
		rolling_cancel(r->op);
		end_call(r);
	}
}

/* --- answering ------------------------------------------------------------ */

static void pack_node(struct pack *p, const struct node *n, const char *node)
{
	char name[WORKER_NODE_MAX + 1];

	nodes_name(n, node, name);
	pack_kv_str(p, "node", name);
}

static void pack_slot(struct pack *p, const struct node *n, const struct rolling_slot *s)
{
	pack_map(p, 8);
	pack_kv_str(p, "id", s->id);
	pack_node(p, n, s->node);
	pack_kv_str(p, "state", rolling_state_name(s->state));
	answers_pack_time(p, "since", s->since);
	pack_kv_str(p, "by", s->by);
	pack_kv_str(p, "boot_id", s->boot_id);
	pack_kv_str(p, "process", s->process[0] ? s->process : NULL);
	if (s->exit_status >= 0)
		pack_kv_int(p, "exit_status", s->exit_status);
	else
		pack_kv_nil(p, "exit_status");
}

/* A slot whose record cannot be read: only its node is known. */
static void pack_unknown(struct pack *p, const struct node *n, const char *node)
{
	static const char *const keys[] = {"id",      "state",	 "since",      "by",
					   "boot_id", "process", "exit_status"};

	pack_map(p, 8);
	pack_node(p, n, node);
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
	pack_node(p, n, g->halted_node);
	pack_kv_str(p, "why", g->halted_why);
	answers_pack_time(p, "since", g->halted_since);
}

/* The group, and for STATUS who has a slot and who waits. */
static void pack_group(struct pack *p, const struct node *n, const struct rolling_call *r,
		       const struct rolling_view *v)
{
	bool whole = r->request.order == ROLLING_STATUS;

	pack_map(p, whole ? 5 : 3);
	pack_kv_str(p, "group", r->request.group);
	if (v->exists)
		pack_kv_int(p, "max_unavailable", v->group.max_unavailable);
	else
		pack_kv_nil(p, "max_unavailable");
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
		pack_node(p, n, v->waiting[i].waiter.node);
		answers_pack_time(p, "since", v->waiting[i].waiter.since);
	}
}

static void answer(const struct rolling_call *r, const struct rolling_answer *a)
{
	static const char *const words[] = {
		[ROLLING_DONE] = "done",       [ROLLING_NOTHING] = "nothing",
		[ROLLING_HALTED] = "halted",   [ROLLING_HAS_FAILED] = "failed",
		[ROLLING_OTHER_K] = "other",   [ROLLING_LATE] = "late",
		[ROLLING_BUSY] = "busy",       [ROLLING_CHANGED] = "changed",
		[ROLLING_REFUSED] = "refused", [ROLLING_UNKNOWN] = "unknown",
	};
	const struct node *n = r->methods->node;
	struct pack *p = peer_begin(r->client);

	rpc_pack_result(p, r->msgid);
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
	peer_end(r->client, r->msgid);
}

static void on_answer(void *arg, const struct rolling_answer *a)
{
	struct rolling_call *r = arg;

	if (r->client && a->result == ROLLING_REFUSED)
		peer_error(r->client, r->msgid, RPC_MISUSE, a->why);
	else if (r->client && a->result == ROLLING_UNKNOWN)
		peer_error(r->client, r->msgid, RPC_CANNOT_TELL, a->why);
	else if (r->client)
		answer(r, a);
	end_call(r);
}

/* --- asking --------------------------------------------------------------- */

static void find_user(void *arg)
{
	struct rolling_call *r = arg;

	user_name(r->uid, r->request.by, sizeof(r->request.by));
}

static void on_user_found(void *arg)
{
	struct rolling_call *r = arg;
	struct rolling_op *op;

	if (!r->client) {
		end_call(r);
		return;
	}
	op = rolling_ask(&r->methods->node->recipes.rolling, &r->request, on_answer, r);
	if (op)
		r->op = op; /* NULL: it has been answered, and r was freed */
}

static void begin_call(struct call *call, const struct rolling_request *request)
{
	const struct process *process = call->m->process;
	struct rolling_call *r = mem_calloc(1, sizeof(*r));

	r->methods = call->m;
	r->client = call->c;
	r->msgid = call->msgid;
	r->uid = call->c->uid;
	r->request = *request;
	r->waits = request->order == ROLLING_TAKE || request->order == ROLLING_FREE;
	r->next = call->m->rollings;
	if (r->next)
		r->next->prev = r;
	call->m->rollings = r;
	call->c->parked++;
	call->c->asking += !r->waits;
	log_debug("rolling", LOG_STR("order", orders[request->order]),
		  LOG_STR("group", request->group), LOG_INT("pid", call->c->pid));
	if (request->order != ROLLING_TAKE)
		on_user_found(r);
	else if (process->offload(process->arg, find_user, on_user_found, r) != 0)
		on_answer(r, &(struct rolling_answer){.result = ROLLING_UNKNOWN,
						      .why = "too much to do: try again"});
}

/* --- parameters ----------------------------------------------------------- */

static bool order_parse(struct reader_text text, enum rolling_order *ret_order)
{
	for (size_t i = 0; i < sizeof(orders) / sizeof(orders[0]); i++) {
		if (!reader_text_is(text, orders[i]))
			continue;
		*ret_order = (enum rolling_order)i;
		return true;
	}
	return false;
}

static bool is_node(const char *text, size_t len)
{
	return len > 0 && len <= WORKER_NODE_MAX && !memchr(text, '\0', len);
}

static int take_text(struct reader *r, bool (*is_good)(const char *, size_t), char *text,
		     size_t size)
{
	struct reader_text t;
	int e = reader_str(r, &t);

	if (e != 0)
		return e;
	return is_good(t.data, t.len) ? reader_text_copy(t, text, size) : -1;
}

static int take_option(struct reader *params, struct rolling_request *q, bool *ret_order)
{
	struct reader_text key, text;
	int e = reader_str(params, &key);

	if (e != 0)
		return e;
	if (reader_text_is(key, "do")) {
		e = reader_str(params, &text);
		*ret_order = e == 0 && order_parse(text, &q->order);
		return *ret_order ? 0 : -1;
	}
	if (reader_text_is(key, "state")) {
		e = reader_str(params, &text);
		return e == 0 && rolling_state_parse(text.data, text.len, &q->state) ? 0 : -1;
	}
	if (reader_text_is(key, "max_unavailable"))
		return reader_int(params, &q->max_unavailable);
	if (reader_text_is(key, "timeout_ms"))
		return reader_int(params, &q->wait_ms);
	if (reader_text_is(key, "soak_ms"))
		return reader_int(params, &q->soak_ms);
	if (reader_text_is(key, "exit_status"))
		return reader_int(params, &q->exit_status);
	if (reader_text_is(key, "slot"))
		return take_text(params, name_is_id, q->slot, sizeof(q->slot));
	if (reader_text_is(key, "boot_id"))
		return take_text(params, name_is_id, q->boot_id, sizeof(q->boot_id));
	if (reader_text_is(key, "process"))
		return take_text(params, rolling_process_is_good, q->process, sizeof(q->process));
	if (reader_text_is(key, "before"))
		return take_text(params, rolling_process_is_good, q->before, sizeof(q->before));
	if (reader_text_is(key, "node"))
		return take_text(params, is_node, q->node, sizeof(q->node));
	return reader_skip(params);
}

/* Whether all that the order needs is there, and within its limits. */
static bool is_whole(const struct rolling_request *q)
{
	if (q->max_unavailable < 1 || q->max_unavailable > ROLLING_SLOTS_MAX || q->wait_ms < -1 ||
	    q->wait_ms > DURATION_MAX_MS || q->soak_ms < 0 || q->soak_ms > MAX_SOAK_MS ||
	    q->exit_status < -1 || q->exit_status > 255)
		return false;
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

static bool take_options(struct call *call, struct rolling_request *q)
{
	bool order = false;
	size_t n;

	if (reader_map(&call->params, &n) != 0)
		return false;
	for (; n > 0; n--)
		if (take_option(&call->params, q, &order) != 0)
			return false;
	return order && is_whole(q);
}

void recipe_rolling(struct call *call)
{
	struct rolling_request q = {.max_unavailable = 1, .wait_ms = -1, .exit_status = -1};

	if (call->n_params != 2) {
		peer_error(call->c, call->msgid, RPC_MISUSE,
			   "rolling takes a group, and a map of what to do");
		return;
	}
	if (!recipes_may_use(call) || !recipes_take_name(call, q.group))
		return;
	if (take_options(call, &q))
		begin_call(call, &q);
	else
		peer_error(call->c, call->msgid, RPC_MISUSE,
			   "the map of rolling is not good, or something that it needs is missing");
}
