/* Orders about several tasks: the names and globs that they are given, and their answers. */
#include <fnmatch.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/text/names.h"
#include "control/answer/explain.h"
#include "control/ask/nodes.h"
#include "control/orders/order_parts.h"
#include "node/node.h"

#define SHOWN_MAX 10  /* names in an answer */
#define GLOB_MAX  256 /* bytes of a glob, with its NUL */

/* --- parts ---------------------------------------------------------------- */

void order_add_part(struct order *o, const char *name)
{
	if ((o->n_parts & (o->n_parts - 1)) == 0) /* room for a power of two */
		o->parts = mem_resize(o->parts, o->n_parts ? 2 * o->n_parts : 1, sizeof(*o->parts));
	o->parts[o->n_parts].done = false;
	snprintf(o->parts[o->n_parts++].task, sizeof(o->parts->task), "%s", name);
}

size_t order_done_parts(const struct order *o)
{
	size_t n = 0;

	for (size_t i = 0; i < o->n_parts; i++)
		n += o->parts[i].done;
	return n;
}

static int by_name(const void *a, const void *b)
{
	return names_natural(((const struct policy_part *)a)->task,
			     ((const struct policy_part *)b)->task);
}

/* Sorts the parts by name, each once. */
static void sort_parts(struct order *o)
{
	size_t kept = 0;

	qsort(o->parts, o->n_parts, sizeof(*o->parts), by_name);
	for (size_t i = 0; i < o->n_parts; i++)
		if (kept == 0 || strcmp(o->parts[kept - 1].task, o->parts[i].task) != 0)
			o->parts[kept++] = o->parts[i];
	o->n_parts = kept;
}

bool order_is_decided(const struct node *n, const struct order *o, struct reader_text name)
{
	for (size_t i = 0; i < n->policy.n; i++)
		if (n->policy.items[i]->kind == o->word->kind &&
		    reader_text_is(name, n->policy.items[i]->record.task))
			return true;
	return false;
}

void order_add_decided(const struct node *n, struct order *o)
{
	char whole[NAME_TASK_MAX + 1];

	sort_parts(o);
	for (size_t i = 0, named = o->n_parts; i < n->policy.n; i++) {
		const struct policy_item *item = n->policy.items[i];
		struct policy_part key = {.done = false};

		if (item->kind != o->word->kind || !policy_whole(item->record.task, whole) ||
		    (o->word->kind == POLICY_RESIGN &&
		     strcmp(item->record.node, o->record.node) != 0))
			continue;
		snprintf(key.task, sizeof(key.task), "%s", whole);
		if (bsearch(&key, o->parts, named, sizeof(key), by_name))
			order_add_part(o, item->record.task);
	}
	sort_parts(o);
}

bool order_is_led(const struct subject *s)
{
	size_t n, led = 0;
	struct task *const *tasks = subject_tasks(s, &n);

	for (size_t i = 0; i < n; i++)
		led += election_leads(&tasks[i]->election);
	return led > 0;
}

/* --- names and globs ------------------------------------------------------ */

struct globbing {
	struct call *call;
	struct order *order;
	char glob[GLOB_MAX];
	size_t matched, taken;
	bool failed; /* after an error answer */
};

static void offer(struct globbing *g, const char *name)
{
	struct order *o = g->order;
	struct subject s;

	if (g->failed || fnmatch(g->glob, name, 0) != 0)
		return;
	g->matched++;
	if (o->word->kind != POLICY_RESIGN || !o->word->put) {
		order_add_part(o, name);
	} else if (subject_find(&g->call->m->node->leaders, name, strlen(name), &s) &&
		   order_is_led(&s)) {
		g->taken++;
		g->failed = !order_take_led(g->call, o, &s);
	}
}

/* Adds what the glob matches: tasks, partitions for one with a colon, and what was decided. */
static bool take_glob(struct call *call, struct order *o, struct reader_text word)
{
	const struct node *n = call->m->node;
	struct globbing g = {.call = call, .order = o};
	char why[EXPLAIN_TEXT_MAX] = "";

	if (reader_text_copy(word, g.glob, sizeof(g.glob)) != 0)
		return call_refuse(call, "a parameter is not the name of a task");
	for (size_t i = 0; i < n->leaders.n_listings; i++)
		offer(&g, n->leaders.listings[i]->name);
	for (size_t i = 0; strchr(g.glob, ':') && i < n->leaders.n_tasks; i++)
		offer(&g, n->leaders.tasks[i]->name);
	for (size_t i = 0; !o->word->put && i < n->policy.n; i++)
		if (n->policy.items[i]->kind == o->word->kind)
			offer(&g, n->policy.items[i]->record.task);
	if (g.failed)
		return false;
	if (g.matched == 0) {
		explain_say(why, "no task matches \"%s\", so nothing is done", g.glob);
		return call_refuse(call, why);
	}
	if (o->word->kind == POLICY_RESIGN && o->word->put && g.taken == 0) {
		explain_say(why, "this node leads none of the tasks that \"%s\" matches", g.glob);
		return call_fail(call, RPC_NOT_LEADER, why);
	}
	return true;
}

/* Takes a word that is no glob. */
static bool take_name(struct call *call, struct order *o, struct reader_text word)
{
	char name[NAME_ELECTION_MAX + 1];
	struct subject s;

	if (!o->word->put && order_is_decided(call->m->node, o, word) &&
	    reader_text_copy(word, name, sizeof(name)) == 0) {
		order_add_part(o, name);
		return reader_skip(&call->params) == 0;
	}
	if (!subject_take(call, &s))
		return false;
	if (o->word->kind == POLICY_RESIGN && o->word->put)
		return order_take_led(call, o, &s);
	order_add_part(o, subject_name(&s));
	return true;
}

static bool is_glob(struct reader_text word)
{
	return memchr(word.data, '*', word.len) || memchr(word.data, '?', word.len) ||
	       memchr(word.data, '[', word.len);
}

/* Whether the word can only be a node: the last one of unresign, behind others. */
static bool is_node(const struct call *call, const struct order *o, struct reader_text word,
		    size_t before, size_t left)
{
	struct subject s;

	return o->word->kind == POLICY_RESIGN && !o->word->put && before > 0 && left == 0 &&
	       !is_glob(word) && !order_is_decided(call->m->node, o, word) &&
	       !subject_find(&call->m->node->leaders, word.data, word.len, &s);
}

bool order_take_list(struct call *call, struct order *o, struct reader_text *ret_node)
{
	struct reader_text word;
	bool globs = false;
	size_t n;

	if (reader_array(&call->params, &n) != 0 || n == 0 || n > METHODS_NAMES_MAX)
		return call_refuse(call, "names: not from 1 to 10,000");
	for (size_t i = 0; i < n; i++) {
		struct reader peeked = call->params;

		if (reader_str(&peeked, &word) != 0)
			return call_refuse(call, "a parameter is not the name of a task");
		globs |= is_glob(word);
		if (is_node(call, o, word, i, n - i - 1)) {
			*ret_node = word;
			call->params = peeked;
		} else if (is_glob(word)) {
			call->params = peeked;
			if (!take_glob(call, o, word))
				return false;
		} else if (!take_name(call, o, word)) {
			return false;
		}
	}
	sort_parts(o);
	/* A task and a node alone are answered as an order about one task. */
	o->several = globs || o->n_parts != 1 || ret_node->len == 0;
	if (!o->several)
		memcpy(o->record.task, o->parts[0].task, sizeof(o->record.task));
	return true;
}

/* --- answers -------------------------------------------------------------- */

static bool would_do(const struct node *n, const struct order *o, const char *name)
{
	return o->word->put ||
	       policy_find_node(&n->policy, o->word->kind, name, o->record.node, o->record.machine);
}

/* Says how many, and their names: "12 tasks (job-1, job-2 and 10 more)". */
static void say_parts(const struct order *o, bool done, char text[EXPLAIN_TEXT_MAX])
{
	size_t n = 0, shown = 0;

	for (size_t i = 0; i < o->n_parts; i++)
		n += o->parts[i].done == done;
	explain_say(text, "%zu %s", n, n == 1 ? "task" : "tasks");
	for (size_t i = 0; i < o->n_parts && shown < SHOWN_MAX; i++)
		if (o->parts[i].done == done)
			explain_say(text, "%s%s", shown++ == 0 ? " (" : ", ", o->parts[i].task);
	if (n > shown)
		explain_say(text, " and %zu more", n - shown);
	if (n > 0)
		explain_say(text, ")");
}

/* The decision that was made about the parts. */
static const struct policy_item *made(const struct node *n, const struct order *o)
{
	for (size_t i = 0; i < o->n_parts; i++)
		if (o->parts[i].done)
			return policy_find_node(&n->policy, o->word->kind, o->parts[i].task,
						o->record.node, o->record.machine);
	return NULL;
}

static void say_done(const struct node *n, const struct order *o, size_t done,
		     char text[EXPLAIN_TEXT_MAX])
{
	enum policy_kind kind = o->word->kind;
	const struct policy_item *item = o->word->put ? made(n, o) : NULL;
	char decision[EXPLAIN_TEXT_MAX] = "done", name[WORKER_NODE_MAX + 1] = "";

	if (kind == POLICY_RESIGN)
		nodes_name(n, o->record.node, name);
	if (item)
		explain_decision(item, decision);
	if (kind == POLICY_RESIGN)
		explain_say(text, "%s: ", name);
	say_parts(o, true, text);
	if (o->word->put)
		explain_say(text, " %s %s", done == 1 ? "is" : "are", decision);
	else
		explain_say(text, " %s no longer %s", done == 1 ? "is" : "are",
			    kind == POLICY_PAUSE ? "paused"
			    : kind == POLICY_PIN ? "pinned"
						 : "resigned");
}

static void say_would(const struct order *o, char text[EXPLAIN_TEXT_MAX])
{
	explain_say(text, "%s would be for ", o->word->word);
	say_parts(o, true, text);
	if (o->record.version[0])
		explain_say(text, ", version %s", o->record.version);
	explain_say(text, "; nothing is changed (--dry-run)");
}

void order_answer_list(struct order *o)
{
	const struct node *n = o->ask.methods->node;
	char text[EXPLAIN_TEXT_MAX] = "";
	struct pack *p = ask_result(&o->ask);

	for (size_t i = 0; o->dry_run && i < o->n_parts; i++)
		o->parts[i].done = would_do(n, o, o->parts[i].task);
	size_t done = order_done_parts(o), others = o->n_parts - done;

	if (o->dry_run)
		say_would(o, text);
	else if (done > 0)
		say_done(n, o, done, text);
	if (others > 0 && done > 0)
		explain_say(text, "; of %zu others there was nothing to take back", others);
	else if (others > 0 && !o->dry_run) {
		explain_say(text, "nothing to take back of ");
		say_parts(o, false, text);
	}
	pack_map(p, 7);
	pack_kv_bool(p, "done", done > 0 && !o->dry_run);
	pack_kv_bool(p, "dry_run", o->dry_run);
	pack_kv_str(p, "message", text);
	pack_kv_text(p, "node", o->record.node);
	nodes_pack(p, n, "name", o->record.node);
	pack_kv_uint(p, "count", done);
	pack_str(p, "names");
	pack_array(p, done);
	for (size_t i = 0; i < o->n_parts; i++)
		if (o->parts[i].done)
			pack_str(p, o->parts[i].task);
	ask_end(&o->ask);
}

void order_fail_list(struct order *o, const char *why)
{
	char text[EXPLAIN_TEXT_MAX] = "";
	size_t done;

	/* Parts that had nothing to take back count as done. */
	for (size_t i = 0; i < o->n_chunks; i++) {
		const struct order_chunk *c = &o->chunks[i];
		for (size_t k = 0; k < c->n; k++)
			o->parts[c->first + k].done =
				c->result == POLICY_DONE || c->result == POLICY_NOTHING;
	}
	done = order_done_parts(o);
	explain_say(text, "%s: %zu of %zu tasks are done; not done: ", o->word->word, done,
		    o->n_parts);
	say_parts(o, false, text);
	explain_say(text, ": %s", why);
	ask_fail(&o->ask, RPC_CANNOT_TELL, text);
}
