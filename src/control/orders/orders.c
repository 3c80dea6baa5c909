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
#include "control/orders/order_texts.h"
#include "core/fleet/identity.h"
#include "node/fleet/policy.h"
#include "node/node.h"

struct order {
	struct ask ask;
	pid_t pid;
	const char *word; /* name of the method */
	enum policy_kind kind;
	bool put; /* false: the order revokes a decision */
	struct policy_record record;
	/* The order has a record for each of these names; NULL: it has one record. */
	char (*partitions)[NAME_ELECTION_MAX + 1];
	size_t n_partitions;
	size_t pending, done; /* records outstanding, and records done */
	bool failed, full, unknown;
};

/* --- answering ------------------------------------------------------------ */

static void answer(struct order *o, bool done)
{
	const struct node *s = o->ask.methods->node;
	const struct policy_record *r = &o->record;
	char text[EXPLAIN_TEXT_MAX] = "";
	struct pack *p = ask_result(&o->ask);

	if (o->partitions)
		order_say_partitions(s, r, o->kind, o->put, o->done, text);
	else if (done)
		order_say_done(s, r, o->kind, o->put, text);
	else
		order_say_nothing(s, r, o->kind, text);
	pack_map(p, 4);
	pack_kv_bool(p, "done", done);
	pack_kv_str(p, "message", text);
	pack_kv_str(p, "node", r->node[0] ? r->node : NULL);
	nodes_pack(p, s, "name", r->node);
	ask_end(&o->ask);
}

static void order_done(struct ask *a)
{
	free(((struct order *)a)->partitions);
}

static void on_decided(void *arg, enum policy_result result)
{
	struct order *o = arg;

	o->done += result == POLICY_DONE;
	o->unknown |= result == POLICY_UNKNOWN;
	o->failed |= result == POLICY_FAILED || result == POLICY_FULL;
	o->full |= result == POLICY_FULL;
	if (o->pending > 0 && --o->pending > 0)
		return;
	if (o->unknown)
		ask_fail(&o->ask, RPC_CANNOT_TELL,
			 "the connection to ZooKeeper went: it may or may not have been done");
	else if (o->failed)
		ask_fail(&o->ask, RPC_CANNOT_TELL,
			 store_refused_why(o->full ? STORE_FULL : STORE_FAILED));
	else
		answer(o, o->done > 0);
}

/* --- doing it ------------------------------------------------------------- */

static void decide(struct order *o, const struct policy_record *record)
{
	struct policy *policy = &o->ask.methods->node->policy;

	if (o->put)
		policy_put(policy, record, on_decided, o);
	else
		policy_remove(policy, record, on_decided, o);
}

/* One record for each name. The answer to the last one ends and frees the order. */
static void decide_each(struct order *o)
{
	struct policy_record record = o->record;
	size_t n = o->n_partitions;

	o->pending = n;
	for (size_t i = 0; i < n; i++) {
		memcpy(record.task, o->partitions[i], sizeof(record.task));
		decide(o, &record);
	}
}

static void on_user(struct ask *a)
{
	struct order *o = (struct order *)a;
	struct node *s = a->methods->node;

	log_debug("order", LOG_STR("word", o->word),
		  LOG_STR("task", o->record.task[0] ? o->record.task : NULL),
		  LOG_STR("by", o->record.by), LOG_INT("pid", o->pid),
		  LOG_STR("reason", o->record.reason[0] ? o->record.reason : NULL));
	if (!session_is_up(&s->session))
		on_decided(o, POLICY_UNKNOWN);
	else if (o->partitions)
		decide_each(o);
	else
		decide(o, &o->record);
}

struct options {
	int64_t for_ms; /* 0: without an end */
	bool force;
	char reason[POLICY_TEXT_MAX + 1];
	struct reader_text node; /* empty: none */
};

static int read_node(struct reader *r, void *to)
{
	return reader_str(r, &((struct options *)to)->node);
}

static const struct key keys[] = {
	OPTION_TEXT(options, reason, "reason", options_is_plain, ORDERS_REASON),
	OPTION_INT(options, for_ms, "for_ms", 0, DURATION_MAX_MS, "not a time from 1 ms on"),
	OPTION("node", read_node, "not the name of a node"),
	OPTION_BOOL(options, force, "force"),
};

/* Whether the client may give orders, and they can be done now. False after an error answer. */
static bool may_order(const struct call *call)
{
	return call_may_change(call) && call_has_policy(call);
}

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

/* An order that is being put together. */
struct giving {
	const char *word;
	enum policy_kind kind;
	bool put;
	struct policy_record record;
	struct subject subject;			   /* empty if the order revokes a known decision */
	char (*partitions)[NAME_ELECTION_MAX + 1]; /* see struct order */
	size_t n_partitions;
};

/* Gives the order, which takes the partitions over. */
static void give(struct call *call, struct giving *g)
{
	struct node *s = call->m->node;
	static const struct ask_kind kind = {
		.size = sizeof(struct order), .asks = true, .done = order_done};
	struct order *o = ask_new(call, &kind);

	o->pid = call->c->pid;
	o->word = g->word;
	o->kind = g->kind;
	o->put = g->put;
	o->record = g->record;
	o->partitions = g->partitions;
	o->n_partitions = g->n_partitions;
	g->partitions = NULL;
	snprintf(o->record.kind, sizeof(o->record.kind), "%s", policy_kind_name(o->kind));
	memcpy(o->record.host, s->registry.hostname, sizeof(o->record.host));
	identity_machine(&s->registry.fleet, o->record.node, s->registry.node, s->registry.machine,
			 o->record.machine);
	ask_user(&o->ask, o->record.by, sizeof(o->record.by), on_user);
}

/*
 * Takes the task, which has to be configured here. A known decision may be revoked for any task.
 * False after an error answer.
 */
static bool take_subject(struct call *call, struct giving *g)
{
	const struct policy *policy = &call->m->node->policy;
	struct reader params = call->params;
	struct reader_text name;

	if (!g->put && reader_str(&params, &name) == 0 && name.len <= NAME_ELECTION_MAX) {
		for (size_t i = 0; i < policy->n; i++) {
			const struct policy_record *known = &policy->items[i]->record;
			if (policy->items[i]->kind != g->kind || !reader_text_is(name, known->task))
				continue;
			memcpy(g->record.task, known->task, sizeof(g->record.task));
			call->params = params;
			return true;
		}
	}
	if (!subject_take(call, &g->subject))
		return false;
	snprintf(g->record.task, sizeof(g->record.task), "%s", subject_name(&g->subject));
	return true;
}

static void add_partition(struct giving *g, const char *name)
{
	g->partitions = mem_resize(g->partitions, g->n_partitions + 1, sizeof(*g->partitions));
	snprintf(g->partitions[g->n_partitions++], sizeof(*g->partitions), "%s", name);
}

/*
 * Revoking a decision about a task also revokes those about its partitions: adds the names of all.
 */
static void take_decided(const struct node *n, struct giving *g)
{
	size_t len = strlen(g->record.task);

	for (size_t i = 0; i < n->policy.n; i++) {
		const struct policy_item *item = n->policy.items[i];
		const char *task = item->record.task;

		if (item->kind != g->kind || strncmp(task, g->record.task, len) != 0 ||
		    (task[len] != '\0' && task[len] != ':') ||
		    (g->kind == POLICY_RESIGN && strcmp(item->record.node, g->record.node) != 0))
			continue;
		add_partition(g, task);
	}
	if (g->n_partitions != 1 || strcmp(g->partitions[0], g->record.task) != 0)
		return;
	free(g->partitions);
	g->partitions = NULL; /* only the decision that was named */
	g->n_partitions = 0;
}

/*
 * For resign: this node has to lead the task, and another has to be able to. False after an error
 * answer. A task with partitions is resigned from as a whole: else the draft would give this node
 * other partitions in place of those given up.
 */
static bool take_led(struct call *call, struct giving *g)
{
	size_t n, led = 0;
	bool may = false;
	char why[EXPLAIN_TEXT_MAX] = "";
	struct task *const *tasks = subject_tasks(&g->subject, &n);

	for (size_t i = 0; i < n; i++)
		led += election_leads(&tasks[i]->election);
	for (size_t i = 0; i < n && led > 0; i++) {
		if (!may_resign(call->m->node, tasks[i]))
			continue;
		may = true;
		if (!g->subject.task)
			add_partition(g, tasks[i]->name);
	}
	if (led == 0) {
		order_say_not_led(g->subject.task, subject_name(&g->subject), why);
		call_fail(call, RPC_NOT_LEADER, why);
	} else if (!may) {
		call_refuse(call, "no other worker could lead it");
	}
	return may;
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

/* Takes the parameters behind the task. False: why says what is wrong. */
static bool take_rest(struct call *call, struct giving *g, bool has_options,
		      char why[EXPLAIN_TEXT_MAX])
{
	struct options o = {.for_ms = g->kind == POLICY_RESIGN ? ORDERS_RESIGN_MS : 0};
	bool pins = g->kind == POLICY_PIN && g->put;
	const char *wrong = pins ? take_version(call, &g->record) : NULL;
	size_t n;

	if (!wrong && has_options)
		wrong = options_read(&call->params, OPTIONS(keys), &o);
	if (wrong) {
		explain_say(why, "%s", wrong);
		return false;
	}
	memcpy(g->record.reason, o.reason, sizeof(o.reason));
	g->record.until = o.for_ms > 0 ? g->record.since + o.for_ms : 0;
	if (!take_node(call->m->node, g->kind, g->put, o.node, &g->record, why))
		return false;
	if (!pins || o.force)
		return true;
	/* A worker that lists one partition lists them all. */
	struct task *const *tasks = subject_tasks(&g->subject, &n);
	return n == 0 || !order_say_no_version(call->m->node, tasks[0], subject_name(&g->subject),
					       g->record.version, why);
}

/*
 * Takes the parameters [TASK,] [VERSION,] [OPTIONS], and gives the order or answers with an error.
 */
static void take(struct call *call, const char *word, enum policy_kind kind, bool put)
{
	struct giving g = {.word = word,
			   .kind = kind,
			   .put = put,
			   .record = {.since = host_wall_ms(call->m->node->host)}};
	size_t names = kind == POLICY_DRAIN ? 0 : put && kind == POLICY_PIN ? 2 : 1;
	char why[EXPLAIN_TEXT_MAX] = "";

	if (!may_order(call))
		return;
	if (names > 0 && !take_subject(call, &g))
		return;
	if (kind == POLICY_RESIGN && put && !take_led(call, &g))
		return;
	if (!take_rest(call, &g, call->n_params > names, why)) {
		call_refuse(call, why);
	} else {
		if (!put && names > 0)
			take_decided(call->m->node, &g);
		give(call, &g);
	}
	free(g.partitions);
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
