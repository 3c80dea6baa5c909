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
#include "control/orders/order_texts.h"
#include "core/fleet/identity.h"
#include "node/fleet/policy.h"
#include "node/node.h"

/* A method. put: false if it revokes a decision; names: parameters before the options. */
static const struct word {
	const char *word;
	enum policy_kind kind;
	bool put;
	size_t names;
} words[] = {
	{"drain", POLICY_DRAIN, true, 0},   {"undrain", POLICY_DRAIN, false, 0},
	{"pause", POLICY_PAUSE, true, 1},   {"resume", POLICY_PAUSE, false, 1},
	{"resign", POLICY_RESIGN, true, 1}, {"unresign", POLICY_RESIGN, false, 1},
	{"pin", POLICY_PIN, true, 2},	    {"unpin", POLICY_PIN, false, 1},
};

struct order {
	struct ask ask;
	const struct word *word;
	pid_t pid;
	struct policy_record record;
	struct subject subject; /* empty if the order revokes a known decision */
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
		order_say_partitions(s, r, o->word->kind, o->word->put, o->done, text);
	else if (done)
		order_say_done(s, r, o->word->kind, o->word->put, text);
	else
		order_say_nothing(s, r, o->word->kind, text);
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

	if (o->word->put)
		policy_put(policy, record, on_decided, o);
	else
		policy_remove(policy, record, on_decided, o);
}

/* The order makes a record for each name. The answer to the last one ends and frees the order. */
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

	log_debug("order", LOG_STR("word", o->word->word),
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
	int64_t for_ms; /* 0: no end */
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
	const struct policy *policy = &call->m->node->policy;
	struct reader params = call->params;
	struct reader_text name;

	if (!o->word->put && reader_str(&params, &name) == 0 && name.len <= NAME_ELECTION_MAX) {
		for (size_t i = 0; i < policy->n; i++) {
			const struct policy_record *known = &policy->items[i]->record;
			if (policy->items[i]->kind != o->word->kind ||
			    !reader_text_is(name, known->task))
				continue;
			memcpy(o->record.task, known->task, sizeof(o->record.task));
			call->params = params;
			return true;
		}
	}
	if (!subject_take(call, &o->subject))
		return false;
	snprintf(o->record.task, sizeof(o->record.task), "%s", subject_name(&o->subject));
	return true;
}

static void add_partition(struct order *o, const char *name)
{
	o->partitions = mem_resize(o->partitions, o->n_partitions + 1, sizeof(*o->partitions));
	snprintf(o->partitions[o->n_partitions++], sizeof(*o->partitions), "%s", name);
}

/*
 * Revoking a decision about a task also revokes those about its partitions: adds the names of all.
 */
static void take_decided(const struct node *n, struct order *o)
{
	size_t len = strlen(o->record.task);

	for (size_t i = 0; i < n->policy.n; i++) {
		const struct policy_item *item = n->policy.items[i];
		const char *task = item->record.task;

		if (item->kind != o->word->kind || strncmp(task, o->record.task, len) != 0 ||
		    (task[len] != '\0' && task[len] != ':') ||
		    (o->word->kind == POLICY_RESIGN &&
		     strcmp(item->record.node, o->record.node) != 0))
			continue;
		add_partition(o, task);
	}
	if (o->n_partitions != 1 || strcmp(o->partitions[0], o->record.task) != 0)
		return;
	free(o->partitions);
	o->partitions = NULL; /* only the named decision */
	o->n_partitions = 0;
}

/*
 * The order resign: this node has to lead the task, and another has to be able to. False after an
 * error answer. A task with partitions is resigned from as a whole: else the draft would give this
 * node other partitions in place of those given up.
 */
static bool take_led(struct call *call, struct order *o)
{
	size_t n, led = 0;
	bool may = false;
	char why[EXPLAIN_TEXT_MAX] = "";
	struct task *const *tasks = subject_tasks(&o->subject, &n);

	for (size_t i = 0; i < n; i++)
		led += election_leads(&tasks[i]->election);
	for (size_t i = 0; i < n && led > 0; i++) {
		if (!may_resign(call->m->node, tasks[i]))
			continue;
		may = true;
		if (!o->subject.task)
			add_partition(o, tasks[i]->name);
	}
	if (led == 0) {
		order_say_not_led(o->subject.task, subject_name(&o->subject), why);
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
static bool take_rest(struct call *call, struct order *o, char why[EXPLAIN_TEXT_MAX])
{
	enum policy_kind kind = o->word->kind;
	struct options options = {.for_ms = kind == POLICY_RESIGN ? ORDERS_RESIGN_MS : 0};
	bool pins = kind == POLICY_PIN && o->word->put;
	const char *wrong = pins ? take_version(call, &o->record) : NULL;
	size_t n;

	if (!wrong && call->n_params > o->word->names)
		wrong = options_read(&call->params, OPTIONS(keys), &options);
	if (wrong) {
		explain_say(why, "%s", wrong);
		return false;
	}
	memcpy(o->record.reason, options.reason, sizeof(options.reason));
	o->record.until = options.for_ms > 0 ? o->record.since + options.for_ms : 0;
	if (!take_node(call->m->node, kind, o->word->put, options.node, &o->record, why))
		return false;
	if (!pins || options.force)
		return true;
	/* A worker that lists one partition lists them all. */
	struct task *const *tasks = subject_tasks(&o->subject, &n);
	return n == 0 || !order_say_no_version(call->m->node, tasks[0], subject_name(&o->subject),
					       o->record.version, why);
}

/* Takes the parameters [TASK,] [VERSION,] [OPTIONS]. False after an error answer. */
static bool take(struct call *call, struct order *o)
{
	char why[EXPLAIN_TEXT_MAX] = "";

	if (o->word->names > 0 && !take_subject(call, o))
		return false;
	if (o->word->kind == POLICY_RESIGN && o->word->put && !take_led(call, o))
		return false;
	if (!take_rest(call, o, why))
		return call_refuse(call, why);
	if (!o->word->put && o->word->names > 0)
		take_decided(call->m->node, o);
	return true;
}

void order_give(struct call *call)
{
	static const struct ask_kind kind = {
		.size = sizeof(struct order), .asks = true, .done = order_done};
	const struct node *n = call->m->node;
	const struct word *word = words;
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
	identity_machine(&n->registry.fleet, o->record.node, n->registry.node, n->registry.machine,
			 o->record.machine);
	ask_user(&o->ask, o->record.by, on_user);
}
