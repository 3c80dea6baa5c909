#include "control/orders.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/duration.h"
#include "base/log.h"
#include "base/mem.h"
#include "control/explain.h"
#include "control/nodes.h"
#include "control/order_texts.h"
#include "control/user.h"
#include "core/identity.h"
#include "node/policy.h"
#include "node/node.h"
#include "node/tasks.h"

struct order {
	struct order *prev, *next;
	struct methods *methods;
	struct peer *client; /* NULL: gone */
	uint32_t msgid;
	uid_t uid;
	pid_t pid;
	const char *word; /* the method */
	enum policy_kind kind;
	bool put; /* or to take back */
	struct policy_record record;
};

/* --- answering ------------------------------------------------------------ */

static void answer(struct order *o, bool done)
{
	const struct node *s = o->methods->node;
	const struct policy_record *r = &o->record;
	char text[EXPLAIN_TEXT_MAX] = "", name[WORKER_NODE_MAX + 1];
	struct pack *p = peer_begin(o->client);

	if (done)
		order_say_done(s, r, o->kind, o->put, text);
	else
		order_say_nothing(s, r, o->kind, text);
	nodes_name(s, r->node, name);
	rpc_pack_result(p, o->msgid);
	pack_map(p, 4);
	pack_kv_bool(p, "done", done);
	pack_kv_str(p, "message", text);
	pack_kv_str(p, "node", r->node[0] ? r->node : NULL);
	pack_kv_str(p, "name", r->node[0] ? name : NULL);
	peer_end(o->client, o->msgid);
}

static void end_order(struct order *o)
{
	if (o->prev)
		o->prev->next = o->next;
	else
		o->methods->orders = o->next;
	if (o->next)
		o->next->prev = o->prev;
	if (o->client) {
		o->client->parked--;
		o->client->asking--;
	}
	free(o);
}

static void on_decided(void *arg, enum policy_result result)
{
	struct order *o = arg;

	if (o->client && result == POLICY_UNKNOWN)
		peer_error(o->client, o->msgid, RPC_CANNOT_TELL,
			   "the connection to ZooKeeper went: it may or may not have been done");
	else if (o->client && result == POLICY_FAILED)
		peer_error(o->client, o->msgid, RPC_CANNOT_TELL,
			   "refused by the ZooKeeper server: see the sidecar's log");
	else if (o->client)
		answer(o, result == POLICY_DONE);
	end_order(o);
}

/* --- doing it ------------------------------------------------------------- */

static void find_user(void *arg)
{
	struct order *o = arg;

	user_name(o->uid, o->record.by, sizeof(o->record.by));
}

static void on_user_found(void *arg)
{
	struct order *o = arg;
	struct node *s = o->methods->node;

	log_debug("order", LOG_STR("word", o->word),
		  LOG_STR("task", o->record.task[0] ? o->record.task : NULL),
		  LOG_STR("by", o->record.by), LOG_INT("pid", o->pid),
		  LOG_STR("reason", o->record.reason[0] ? o->record.reason : NULL));
	if (!session_is_up(&s->session))
		on_decided(o, POLICY_UNKNOWN);
	else if (o->put)
		policy_put(&s->policy, &o->record, on_decided, o);
	else
		policy_remove(&s->policy, &o->record, on_decided, o);
}

static bool is_text(struct reader_text text)
{
	for (size_t i = 0; i < text.len; i++)
		if ((unsigned char)text.data[i] < ' ' || text.data[i] == 0x7f)
			return false;
	return text.len <= POLICY_TEXT_MAX;
}

struct options {
	int64_t for_ms; /* 0: without an end */
	bool force;
	struct reader_text reason, node; /* empty: none */
};

static int take_option(struct reader *params, struct options *o)
{
	struct reader_text key;
	int e = reader_str(params, &key);

	if (e != 0)
		return e;
	if (reader_text_is(key, "reason"))
		return reader_str(params, &o->reason);
	if (reader_text_is(key, "for_ms"))
		return reader_int(params, &o->for_ms);
	if (reader_text_is(key, "node"))
		return reader_str(params, &o->node);
	if (reader_text_is(key, "force"))
		return reader_bool(params, &o->force);
	return reader_skip(params);
}

/* The map at the end; keys that are not known are passed over. NULL: all is well. */
static const char *take_options(struct reader *params, struct options *o)
{
	size_t n;

	if (reader_map(params, &n) != 0)
		return "the options are no map";
	for (; n > 0; n--)
		if (take_option(params, o) != 0)
			return "an option is not good";
	if (!is_text(o->reason))
		return "the reason is over 200 bytes long, or has control characters";
	if (o->for_ms < 0 || o->for_ms > DURATION_MAX_MS)
		return "the time that it is for is not one from 1 ms on";
	return NULL;
}

/* Whether the peer may change something and it can be done now; tells it if not. */
static bool may_order(const struct call *call)
{
	const struct node *s = call->m->node;

	if (!peer_may_change(call->c)) {
		peer_error(call->c, call->msgid, RPC_MISUSE, METHODS_NOT_ALLOWED);
		return false;
	}
	if (!session_is_up(&s->session) || !s->policy.folder.ready) {
		peer_error(call->c, call->msgid, RPC_CANNOT_TELL,
			   "no confirmed session with ZooKeeper");
		return false;
	}
	return true;
}

/* Whether another node could lead it. */
static bool may_resign(const struct node *s, const struct task *t)
{
	const struct fleet *f = &s->registry.fleet;
	struct ranked *list = mem_calloc(f->n_members + 1, sizeof(*list));
	size_t n = fleet_rank(f, &t->contest, t->index, list);
	bool may = false;

	for (size_t i = 0; i < n; i++)
		may |= list[i].candidate &&
		       (strcmp(list[i].member->worker->node, s->registry.node) != 0 ||
			strcmp(list[i].member->worker->machine, s->registry.machine) != 0);
	free(list);
	return may;
}

static void give(struct call *call, const char *word, enum policy_kind kind, bool put,
		 const struct policy_record *record)
{
	struct node *s = call->m->node;
	struct order *o = mem_calloc(1, sizeof(*o));

	o->methods = call->m;
	o->client = call->c;
	o->msgid = call->msgid;
	o->uid = call->c->uid;
	o->pid = call->c->pid;
	o->word = word;
	o->kind = kind;
	o->put = put;
	o->record = *record;
	snprintf(o->record.kind, sizeof(o->record.kind), "%s", policy_kind_name(kind));
	memcpy(o->record.host, s->registry.hostname, sizeof(o->record.host));
	identity_machine(&s->registry.fleet, o->record.node, s->registry.node, s->registry.machine,
			 o->record.machine);
	o->next = call->m->orders;
	if (o->next)
		o->next->prev = o;
	call->m->orders = o;
	call->c->parked++;
	call->c->asking++;
	const struct process *process = call->m->process;
	if (process->offload(process->arg, find_user, on_user_found, o) != 0)
		on_decided(o, POLICY_FAILED);
}

/*
 * The task, if it is one of ours; what was decided about another may be taken back all the same.
 * Tells what is wrong with it: false.
 */
static bool take_task(struct call *call, enum policy_kind kind, bool put,
		      struct policy_record *record, struct task **ret_task)
{
	const struct policy *policy = &call->m->node->policy;
	struct reader params = call->params;
	struct reader_text name;

	*ret_task = NULL;
	if (!put && reader_str(&params, &name) == 0 && name.len <= NAME_TASK_MAX) {
		for (size_t i = 0; i < policy->n; i++) {
			const struct policy_record *known = &policy->items[i]->record;
			if (policy->items[i]->kind != kind || !reader_text_is(name, known->task))
				continue;
			memcpy(record->task, known->task, sizeof(record->task));
			call->params = params;
			return true;
		}
	}
	*ret_task = methods_take_task(call);
	if (*ret_task)
		snprintf(record->task, sizeof(record->task), "%s", (*ret_task)->name);
	return *ret_task != NULL;
}

static const char *take_version(struct call *call, struct policy_record *record)
{
	struct reader_text version;

	if (reader_str(&call->params, &version) != 0 || !name_is_version(version.data, version.len))
		return "that is no version";
	memcpy(record->version, version.data, version.len);
	return NULL;
}

/* The node that it is about, if it is about one: by default this one. */
static bool take_node(const struct node *s, enum policy_kind kind, bool put,
		      struct reader_text name, struct policy_record *record,
		      char why[EXPLAIN_TEXT_MAX])
{
	bool may_name = kind == POLICY_DRAIN || (kind == POLICY_RESIGN && !put);

	if (name.len > 0 && !may_name) {
		explain_say(why, "that is about no other node than this");
		return false;
	}
	if (name.len > 0)
		return nodes_find(s, name, record->node, why);
	if (kind == POLICY_DRAIN || kind == POLICY_RESIGN)
		memcpy(record->node, s->registry.node, sizeof(record->node));
	return true;
}

/* What comes behind the task. False: *why says what is wrong. */
static bool take_rest(struct call *call, enum policy_kind kind, bool put, const struct task *t,
		      bool has_options, struct policy_record *record, char why[EXPLAIN_TEXT_MAX])
{
	struct options o = {.for_ms = kind == POLICY_RESIGN ? ORDERS_RESIGN_MS : 0};
	const char *wrong = kind == POLICY_PIN && put ? take_version(call, record) : NULL;

	if (!wrong && has_options)
		wrong = take_options(&call->params, &o);
	if (wrong) {
		explain_say(why, "%s", wrong);
		return false;
	}
	memcpy(record->reason, o.reason.data ? o.reason.data : "", o.reason.len);
	record->until = o.for_ms > 0 ? record->since + o.for_ms : 0;
	if (!take_node(call->m->node, kind, put, o.node, record, why))
		return false;
	return !(kind == POLICY_PIN && put && !o.force &&
		 order_say_no_version(call->m->node, t, record->version, why));
}

/* The parameters: [TASK,] [VERSION,] [OPTIONS]; whatever is wrong is told. */
static void take(struct call *call, const char *word, enum policy_kind kind, bool put)
{
	struct policy_record record = {.since = host_wall_ms(call->m->node->host)};
	size_t names = kind == POLICY_DRAIN ? 0 : put && kind == POLICY_PIN ? 2 : 1;
	char why[EXPLAIN_TEXT_MAX] = "";
	struct task *t = NULL;

	if (!may_order(call))
		return;
	if (call->n_params < names || call->n_params > names + 1) {
		peer_error(call->c, call->msgid, RPC_MISUSE, "too few or too many parameters");
		return;
	}
	if (names > 0 && !take_task(call, kind, put, &record, &t))
		return;
	if (kind == POLICY_RESIGN && put && !election_leads(&t->election))
		peer_error(call->c, call->msgid, RPC_NOT_LEADER, "this node does not lead it");
	else if (kind == POLICY_RESIGN && put && !may_resign(call->m->node, t))
		peer_error(call->c, call->msgid, RPC_MISUSE, "no other worker could lead it");
	else if (!take_rest(call, kind, put, t, call->n_params > names, &record, why))
		peer_error(call->c, call->msgid, RPC_MISUSE, why);
	else
		give(call, word, kind, put, &record);
}

void order_drain(struct call *call)
{
	take(call, "drain", POLICY_DRAIN, true);
}

void order_undrain(struct call *call)
{
	take(call, "undrain", POLICY_DRAIN, false);
}

void order_pause(struct call *call)
{
	take(call, "pause", POLICY_PAUSE, true);
}

void order_resume(struct call *call)
{
	take(call, "resume", POLICY_PAUSE, false);
}

void order_resign(struct call *call)
{
	take(call, "resign", POLICY_RESIGN, true);
}

void order_unresign(struct call *call)
{
	take(call, "unresign", POLICY_RESIGN, false);
}

void order_pin(struct call *call)
{
	take(call, "pin", POLICY_PIN, true);
}

void order_unpin(struct call *call)
{
	take(call, "unpin", POLICY_PIN, false);
}

void orders_client_gone(struct methods *m, const struct peer *c)
{
	for (struct order *o = m->orders; o; o = o->next)
		if (o->client == c)
			o->client = NULL;
}
