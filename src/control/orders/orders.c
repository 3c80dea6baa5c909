#include "control/orders/orders.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/log/log.h"
#include "base/mem.h"
#include "base/text/duration.h"
#include "control/ask/explain_text.h"
#include "control/ask/nodes.h"
#include "control/ask/options.h"
#include "control/ask/subject.h"
#include "control/ask/user.h"
#include "control/orders/order_last.h"
#include "control/orders/order_parts.h"
#include "control/orders/order_texts.h"
#include "core/fleet/identity.h"
#include "node/fleet/policy.h"
#include "node/node.h"

static const struct order_word words[] = {
	{"drain", POLICY_DRAIN, true, 0},   {"undrain", POLICY_DRAIN, false, 0},
	{"pause", POLICY_PAUSE, true, 1},   {"resume", POLICY_PAUSE, false, 1},
	{"resign", POLICY_RESIGN, true, 1}, {"unresign", POLICY_RESIGN, false, 1},
	{"pin", POLICY_PIN, true, 2},	    {"unpin", POLICY_PIN, false, 1},
};

/* --- answering ------------------------------------------------------------ */

/* Whether the order is about one name alone, and not about partitions of it. */
static bool is_single(const struct order *o)
{
	return o->n_parts == 1 && strcmp(o->parts[0].task, o->record.task) == 0;
}

static void answer(struct order *o)
{
	const struct node *s = o->ask.methods->node;
	const struct policy_record *r = &o->record;
	char text[EXPLAIN_TEXT_MAX] = "";
	struct pack *p = ask_result(&o->ask);
	size_t done = order_done_parts(o);

	if (!is_single(o))
		order_say_partitions(s, r, o->word->kind, o->word->put, done, text);
	else if (done > 0)
		order_say_done(s, r, o->word->kind, o->word->put, text);
	else
		order_say_nothing(s, r, o->word->kind, text);
	pack_map(p, 4);
	pack_kv_bool(p, "done", done > 0);
	pack_kv_str(p, "message", text);
	pack_kv_text(p, "node", r->node);
	nodes_pack(p, s, "name", r->node);
	ask_end(&o->ask);
}

static void order_done(struct ask *a)
{
	free(((struct order *)a)->parts);
	free(((struct order *)a)->chunks);
}

static void fail(struct order *o)
{
	bool unknown = false, full = false;

	if (o->refused[0]) {
		ask_fail(&o->ask, RPC_MISUSE, o->refused);
		return;
	}
	for (size_t i = 0; i < o->n_chunks; i++) {
		unknown |= o->chunks[i].result == POLICY_UNKNOWN;
		full |= o->chunks[i].result == POLICY_FULL;
	}
	const char *why = unknown ? "the connection to ZooKeeper went: it may or may not have been "
				    "done"
				  : store_refused_why(full ? STORE_FULL : STORE_FAILED);
	if (o->several)
		order_fail_list(o, why);
	else
		ask_fail(&o->ask, RPC_CANNOT_TELL, why);
}

static void on_decided(void *arg, enum policy_result result)
{
	struct order_chunk *c = arg;
	struct order *o = c->order;

	c->result = result;
	if (--o->pending > 0)
		return;
	for (size_t i = 0; i < o->n_chunks; i++) {
		if (o->chunks[i].result != POLICY_DONE && o->chunks[i].result != POLICY_NOTHING) {
			fail(o);
			return;
		}
	}
	if (o->several)
		order_answer_list(o);
	else
		answer(o);
}

/* --- doing it ------------------------------------------------------------- */

/* A drain may leave no task without a candidate, whoever drains another node at the same time. */
static bool may_drain(void *arg)
{
	struct order *o = ((struct order_chunk *)arg)->order;

	o->refused[0] = '\0';
	return o->force || !order_say_last(o->ask.methods->node, &o->record, o->refused);
}

/* The answer to the last transaction ends the order. */
static void decide(struct order *o)
{
	struct policy *policy = &o->ask.methods->node->policy;
	size_t n = (o->n_parts + POLICY_PARTS_MAX - 1) / POLICY_PARTS_MAX;
	bool drains = o->word->kind == POLICY_DRAIN && o->word->put;

	o->chunks = mem_calloc(n, sizeof(*o->chunks));
	o->n_chunks = o->pending = n;
	for (size_t i = 0; i < n; i++) {
		size_t first = i * POLICY_PARTS_MAX, left = o->n_parts - first;
		o->chunks[i] = (struct order_chunk){
			o, first, left < POLICY_PARTS_MAX ? left : POLICY_PARTS_MAX, POLICY_FAILED};
	}
	for (size_t i = 0; i < n; i++) {
		struct order_chunk *c = &o->chunks[i];
		policy_change_all(policy, &o->record, o->word->put, o->parts + c->first, c->n,
				  drains ? may_drain : NULL, on_decided, c);
	}
}

static void on_user(struct ask *a)
{
	struct order *o = (struct order *)a;
	struct node *s = a->methods->node;

	log_debug("order", LOG_STR("word", o->word->word),
		  LOG_STR("task", o->record.task[0] ? o->record.task : NULL),
		  LOG_STR("by", o->record.by), LOG_INT("pid", o->pid),
		  LOG_STR("reason", o->record.reason[0] ? o->record.reason : NULL));
	if (!session_is_up(&s->session))
		ask_fail(&o->ask, RPC_CANNOT_TELL, SESSION_NONE);
	else if (o->dry_run)
		order_answer_list(o);
	else
		decide(o);
}

struct options {
	int64_t for_ms; /* 0: no end */
	bool force, dry_run;
	char reason[POLICY_TEXT_MAX + 1];
	struct reader_text node; /* empty: none */
};

static const struct key keys[] = {
	OPTION_TEXT(options, reason, "reason", options_is_plain, ORDERS_REASON),
	OPTION_INT(options, for_ms, "for_ms", 0, DURATION_MAX_MS, "not a time from 1 ms on"),
	OPTION_READ(options, node, "node", options_read_text, "not the name of a node"),
	OPTION_BOOL(options, force, "force"),
	OPTION_BOOL(options, dry_run, "dry_run"),
};

/* Whether another node could lead the task. */
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

/*
 * Takes the task, which has to be configured here. A known decision may be revoked for any task.
 * False after an error answer.
 */
static bool take_subject(struct call *call, struct order *o)
{
	struct reader params = call->params;
	struct reader_text name;

	if (!o->word->put && reader_str(&params, &name) == 0 &&
	    order_is_decided(call->m->node, o, name)) {
		call->params = params;
		return reader_text_copy(name, o->record.task, sizeof(o->record.task)) == 0;
	}
	if (!subject_take(call, &o->subject))
		return false;
	snprintf(o->record.task, sizeof(o->record.task), "%s", subject_name(&o->subject));
	return o->word->kind != POLICY_RESIGN || !o->word->put ||
	       order_take_led(call, o, &o->subject);
}

/*
 * The order resign: this node has to lead the task, and another has to be able to. False after an
 * error answer. A task with partitions is resigned from as a whole: else the draft would give this
 * node other partitions in place of those given up.
 */
bool order_take_led(struct call *call, struct order *o, const struct subject *s)
{
	size_t n;
	bool may = false;
	char why[EXPLAIN_TEXT_MAX] = "";
	struct task *const *tasks = subject_tasks(s, &n);

	if (!order_is_led(s)) {
		order_say_not_led(s->task, subject_name(s), why);
		return call_fail(call, RPC_NOT_LEADER, why);
	}
	for (size_t i = 0; i < n; i++) {
		if (!may_resign(call->m->node, tasks[i]))
			continue;
		may = true;
		order_add_part(o, tasks[i]->name);
	}
	if (may)
		return true;
	explain_say(why, "no other worker could lead %s", o->several ? subject_name(s) : "it");
	return call_refuse(call, why);
}

static const char *take_version(struct call *call, struct policy_record *record)
{
	struct reader_text version;

	if (reader_str(&call->params, &version) != 0 || !name_is_version(version.data, version.len))
		return "that is no version";
	memcpy(record->version, version.data, version.len);
	return NULL;
}

/*
 * Takes the node, if the order is about one: by default this node. False: why says what is wrong.
 */
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

/* A pin to a version that none has, which needs the option force. */
static bool lacks_version(const struct node *n, const struct order *o, char why[EXPLAIN_TEXT_MAX])
{
	for (size_t i = 0; i < o->n_parts; i++) {
		const char *name = o->parts[i].task;
		struct subject s;
		size_t n_tasks = 0;

		if (!subject_find(&n->leaders, name, strlen(name), &s))
			continue;
		/* A worker that lists one partition lists them all. */
		struct task *const *tasks = subject_tasks(&s, &n_tasks);
		if (n_tasks > 0 && order_say_no_version(n, tasks[0], name, o->record.version, why))
			return true;
	}
	return false;
}

/*
 * Takes the parameters behind the task; node is of the list of names, empty: none. False: why says
 * what is wrong.
 */
static bool take_rest(struct call *call, struct order *o, struct reader_text node,
		      char why[EXPLAIN_TEXT_MAX])
{
	const struct node *n = call->m->node;
	enum policy_kind kind = o->word->kind;
	struct options options = {.for_ms = kind == POLICY_RESIGN ? ORDERS_RESIGN_MS : 0};
	bool pins = kind == POLICY_PIN && o->word->put;
	const char *wrong = pins ? take_version(call, &o->record) : NULL;

	if (!wrong && call->n_params > o->word->names)
		wrong = options_read(&call->params, OPTIONS(keys), &options);
	if (wrong) {
		explain_say(why, "%s", wrong);
		return false;
	}
	memcpy(o->record.reason, options.reason, sizeof(options.reason));
	o->record.until = options.for_ms > 0 ? o->record.since + options.for_ms : 0;
	if (node.len > 0)
		options.node = node;
	if (!take_node(n, kind, o->word->put, options.node, &o->record, why))
		return false;
	identity_machine(&n->registry.fleet, o->record.node, n->registry.node, n->registry.machine,
			 o->record.machine);
	o->dry_run = options.dry_run;
	o->force = options.force;
	if (o->dry_run && o->word->names == 0) {
		explain_say(why, "dry_run: not of an order about a node");
		return false;
	}
	if (o->n_parts == 0)
		order_add_part(o, o->record.task);
	if (!o->word->put && o->word->names > 0)
		order_add_decided(n, o);
	return !pins || options.force || !lacks_version(n, o, why);
}

/* Takes the parameters [TASK or an array of names,] [VERSION,] [OPTIONS]. */
static bool take(struct call *call, struct order *o)
{
	char why[EXPLAIN_TEXT_MAX] = "";
	struct reader_text node = {NULL, 0};
	enum reader_type type;

	o->several = o->word->names > 0 && reader_peek(&call->params, &type) == 0 &&
		     type == READER_ARRAY;
	if (o->several ? !order_take_list(call, o, &node)
		       : o->word->names > 0 && !take_subject(call, o))
		return false; /* after an error answer */
	return take_rest(call, o, node, why) || call_refuse(call, why);
}

void order_give(struct call *call)
{
	static const struct ask_kind kind = {
		.size = sizeof(struct order), .asks = true, .done = order_done};
	const struct node *n = call->m->node;
	const struct order_word *word = words;
	struct order *o;

	if (!call_has_policy(call))
		return;
	while (strcmp(word->word, call->method) != 0)
		word++;
	o = ask_new(call, &kind);
	o->word = word;
	o->pid = call->c->pid;
	o->record.since = host_wall_ms(n->host);
	if (!take(call, o)) {
		ask_end(&o->ask);
		return;
	}
	snprintf(o->record.kind, sizeof(o->record.kind), "%s", policy_kind_name(word->kind));
	memcpy(o->record.host, n->registry.hostname, sizeof(o->record.host));
	ask_user(&o->ask, o->record.by, on_user);
}
