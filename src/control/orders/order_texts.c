#include "control/orders/order_texts.h"

#include <string.h>

#include "base/mem.h"
#include "control/answer/explain.h"
#include "control/ask/nodes.h"
#include "core/fleet/identity.h"
#include "core/fleet/version.h"
#include "node/election/tasks.h"

/* --- consequences of an order --------------------------------------------- */

struct jobs {
	char *text;
	size_t n;
};

static void add_job(void *arg, const char *task, const char *tick)
{
	struct jobs *jobs = arg;

	char job[EXPLAIN_TEXT_MAX] = "";

	explain_say(job, tick[0] ? "%s (%s)" : "%s", task, tick);
	explain_entry(jobs->text, jobs->n++, ": ", job);
}

/* A drain of this node: says what it leads, and which jobs still run. */
static void say_own_rest(const struct node *n, char text[EXPLAIN_TEXT_MAX])
{
	struct jobs jobs = {.text = text};
	size_t led = 0, held = 0;

	for (size_t i = 0; i < n->leaders.n_tasks; i++) {
		const struct task *t = n->leaders.tasks[i];
		led += election_leads(&t->election);
		held += election_leads(&t->election) && runs_hold(&n->runs, t);
	}
	if (led == 0)
		explain_say(text, "; it leads nothing");
	else
		explain_say(text, "; %zu %s given up", led, led == 1 ? "task is" : "tasks are");
	if (held == 0)
		return;
	if (held < led)
		explain_say(text, ", %zu of them", held);
	explain_say(text, " when %s ended", held == 1 ? "its job has" : "their jobs have");
	runs_each_going(&n->runs, host_now_ms(n->host), add_job, &jobs);
	explain_list_end(text, jobs.n);
}

/* A drain of another node: says how many of our tasks it leads, as far as is known here. */
static void say_rest_of(const struct node *n, const char *node, char text[EXPLAIN_TEXT_MAX])
{
	size_t led = 0;

	for (size_t i = 0; i < n->leaders.n_tasks; i++) {
		const struct member *m = leaders_leader(n->leaders.tasks[i]);
		led += m && strcmp(m->worker->node, node) == 0;
	}
	if (led == 0)
		explain_say(text, "; it leads none of the tasks of this node");
	else
		explain_say(text, "; %zu %s given up, when jobs that run there have ended", led,
			    led == 1 ? "task is" : "tasks are");
}

static void say_task(const struct node *n, const struct task *t, enum policy_kind kind,
		     char text[EXPLAIN_TEXT_MAX])
{
	const struct standing standing =
		fleet_stand(&n->registry.fleet, &t->contest, t->index, n->registry.id);

	if (runs_hold(&n->runs, t))
		explain_say(text, "; when the job that runs has ended");
	else if (kind == POLICY_RESIGN && standing.best)
		explain_say(text, "; the next is %s (%s)", identity_name(standing.best),
			    standing.best->worker->version);
	else if (kind == POLICY_PIN && !standing.best)
		explain_say(text, "; no candidate has that version, so nobody leads it");
}

/* A task with partitions: says how many of their jobs still run here. */
static void say_listing(const struct node *n, const struct listing *l, char text[EXPLAIN_TEXT_MAX])
{
	size_t held = 0;

	for (size_t k = 0; k < l->n; k++)
		held += runs_hold(&n->runs, l->tasks[k]);
	if (held > 0)
		explain_say(text, "; when the %zu %s here ended", held,
			    held == 1 ? "job that runs has" : "jobs that run have");
}

/*
 * The group of the rolling restart that keeps the node drained, whatever an operator has decided;
 * NULL: none.
 */
static const char *rolling_of(const struct node *n, const struct policy_record *r)
{
	for (size_t i = 0; i < n->policy.n; i++) {
		const struct policy_item *item = n->policy.items[i];
		if (item->record.rolling[0] && item->kind == POLICY_DRAIN &&
		    policy_is_about(&n->policy, item, r->node, r->machine))
			return item->record.rolling;
	}
	return NULL;
}

static void say_rolling(const struct node *n, const struct policy_record *r, const char *name,
			char text[EXPLAIN_TEXT_MAX])
{
	const char *group = rolling_of(n, r);

	explain_say(text,
		    "%s stays drained by the rolling restart of %s, and undrain does not end "
		    "that; see zkleader rolling %s --status",
		    name, group, group);
}

/* --- an order that was done ----------------------------------------------- */

static void say_taken_back(const struct node *n, const struct policy_record *r,
			   enum policy_kind kind, char text[EXPLAIN_TEXT_MAX])
{
	char name[WORKER_NODE_MAX + 1];

	nodes_name(n, r->node, name);
	if (kind == POLICY_DRAIN && rolling_of(n, r))
		say_rolling(n, r, name, text);
	else if (kind == POLICY_DRAIN)
		explain_say(text, "%s is no longer drained", name);
	else if (kind == POLICY_RESIGN)
		explain_say(text, "%s has taken its resignation from %s back", name, r->task);
	else
		explain_say(text, "%s is no longer %s", r->task,
			    kind == POLICY_PAUSE ? "paused" : "pinned");
}

void order_say_done(const struct node *n, const struct policy_record *r, enum policy_kind kind,
		    bool put, char text[EXPLAIN_TEXT_MAX])
{
	const struct policy_item *item =
		policy_find_node(&n->policy, kind, r->task, r->node, r->machine);
	const struct task *t = tasks_find(&n->leaders, r->task, strlen(r->task));
	const struct listing *listing = listings_find(&n->leaders, r->task, strlen(r->task));
	char decision[EXPLAIN_TEXT_MAX], name[WORKER_NODE_MAX + 1];

	if (!put || !item) {
		say_taken_back(n, r, kind, text);
		return;
	}
	explain_decision(item, decision);
	nodes_name(n, r->node, name);
	explain_say(text, "%s%s %s", kind == POLICY_DRAIN ? name : r->task,
		    kind == POLICY_RESIGN ? ":" : " is", decision);
	if (kind == POLICY_DRAIN && strcmp(r->node, n->registry.node) == 0)
		say_own_rest(n, text);
	else if (kind == POLICY_DRAIN)
		say_rest_of(n, r->node, text);
	else if (t)
		say_task(n, t, kind, text);
	else if (listing)
		say_listing(n, listing, text);
}

void order_say_partitions(const struct node *n, const struct policy_record *r,
			  enum policy_kind kind, bool put, size_t done, char text[EXPLAIN_TEXT_MAX])
{
	char name[WORKER_NODE_MAX + 1];

	nodes_name(n, r->node, name);
	if (put)
		explain_say(text, "%s has resigned from all %zu partitions of %s", name, done,
			    r->task);
	else if (kind == POLICY_RESIGN)
		explain_say(text, "%s has taken its resignation from %zu %s of %s back", name, done,
			    done == 1 ? "partition" : "partitions", r->task);
	else
		explain_say(text, "%s is no longer %s, nor is any of its partitions", r->task,
			    kind == POLICY_PAUSE ? "paused" : "pinned");
	if (put && r->reason[0])
		explain_say(text, ": %s", r->reason);
}

/* --- nothing to revoke ---------------------------------------------------- */

/* Lists other decisions of that kind: the name may have been mistyped. */
static void say_others(const struct node *n, const struct policy_record *r, enum policy_kind kind,
		       char text[EXPLAIN_TEXT_MAX])
{
	static const char *const words[POLICY_SHOWN] = {[POLICY_PAUSE] = "paused",
							[POLICY_PIN] = "pinned",
							[POLICY_DRAIN] = "drained",
							[POLICY_RESIGN] = "resigned",
							[POLICY_RERUN] = ""};
	char name[WORKER_NODE_MAX + 1];
	size_t shown = 0;

	for (size_t i = 0; i < n->policy.n; i++) {
		const struct policy_item *item = n->policy.items[i];

		if (item->kind != kind ||
		    (kind == POLICY_RESIGN && strcmp(item->record.task, r->task) != 0))
			continue;
		nodes_name(n, item->record.node, name);
		explain_entry(text, shown++, "; ", item->record.node[0] ? name : item->record.task);
	}
	explain_list_end(text, shown);
	if (shown > 0)
		explain_say(text, " %s %s", shown > 1 || kind == POLICY_RESIGN ? "are" : "is",
			    words[kind]);
	else
		explain_say(text, kind == POLICY_DRAIN	  ? "; no node is drained"
				  : kind == POLICY_RESIGN ? "; nobody has"
							  : "; no task is");
}

/* Other decisions about the task itself. */
static void say_of_task(const struct node *n, const char *task, char text[EXPLAIN_TEXT_MAX])
{
	char decision[EXPLAIN_TEXT_MAX];

	for (size_t i = 0; i < n->policy.n; i++) {
		if (strcmp(n->policy.items[i]->record.task, task) != 0)
			continue;
		explain_decision(n->policy.items[i], decision);
		explain_say(text, "; it is %s", decision);
	}
}

void order_say_nothing(const struct node *n, const struct policy_record *r, enum policy_kind kind,
		       char text[EXPLAIN_TEXT_MAX])
{
	char name[WORKER_NODE_MAX + 1];

	nodes_name(n, r->node, name);
	if (kind == POLICY_DRAIN && rolling_of(n, r)) {
		say_rolling(n, r, name, text);
		return;
	}
	if (kind == POLICY_DRAIN)
		explain_say(text, "%s is not drained", name);
	else if (kind == POLICY_RESIGN)
		explain_say(text, "%s has not resigned from %s", name, r->task);
	else
		explain_say(text, "%s is not %s", r->task,
			    kind == POLICY_PAUSE ? "paused" : "pinned");
	say_others(n, r, kind, text);
	if (kind == POLICY_PAUSE || kind == POLICY_PIN)
		say_of_task(n, r->task, text);
}

/* --- versions ------------------------------------------------------------- */

bool order_say_no_version(const struct node *n, const struct task *t, const char *name,
			  const char *version, char text[EXPLAIN_TEXT_MAX])
{
	const struct fleet *f = &n->registry.fleet;
	const char *last = NULL;
	size_t versions = 0;

	/* Members with the same version stand next to each other. */
	for (size_t i = 0; i < f->n_members; i++) {
		const struct member *m = f->by_version[i];

		if (fleet_fitness(m, &t->contest, t->index) == WHY_NOT_LISTED)
			continue;
		if (version_compare(m->worker->version, version) == 0)
			return false;
		if (last && strcmp(last, m->worker->version) == 0)
			continue;
		last = m->worker->version;
		if (versions == 0)
			explain_say(text, "no worker that lists %s has version %s: there is ", name,
				    version);
		explain_entry(text, versions++, "", last);
	}
	if (versions == 0)
		explain_say(text, "no worker lists %s, so none has version %s", name, version);
	explain_list_end(text, versions);
	explain_say(text, "; --force pins it all the same");
	return true;
}

void order_say_not_led(const struct task *t, const char *name, char text[EXPLAIN_TEXT_MAX])
{
	const struct member *m = t ? leaders_leader(t) : NULL;

	explain_say(text, "this node %s %s", t ? "does not lead" : "leads no partition of", name);
	if (m)
		explain_say(text, ": %s does", identity_name(m));
}
