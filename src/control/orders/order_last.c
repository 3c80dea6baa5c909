#include "control/orders/order_last.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/text/names.h"
#include "control/answer/disagreements.h"
#include "control/ask/nodes.h"
#include "core/fleet/identity.h"
#include "core/fleet/version.h"
#include "node/election/listing.h"
#include "node/election/tasks.h"

struct lasts {
	size_t tasks, queues;
	char names[EXPLAIN_TEXT_MAX];
};

static void add(struct lasts *l, const char *name, bool queue)
{
	explain_entry(l->names, l->tasks + l->queues, "", name);
	l->tasks += !queue;
	l->queues += queue;
}

static bool is_node(const struct node *n, const struct policy_record *r, const struct member *m)
{
	return identity_concerns(&n->registry.fleet, r->node, r->machine, m->worker->node,
				 m->worker->machine);
}

/* Whether the node is a candidate, and no other node is. */
static bool is_last(const struct node *n, const struct policy_record *r, const struct task *t)
{
	const struct fleet *f = &n->registry.fleet;
	bool own = false;

	for (size_t i = 0; i < f->n_members; i++) {
		if (fleet_fitness(f->by_id[i], &t->contest, t->index) != WHY_BEST)
			continue;
		if (!is_node(n, r, f->by_id[i]))
			return false;
		own = true;
	}
	return own;
}

/* --- tasks that have no file here --------------------------------------------- */

/* Whether a member is a candidate for such a task, as far as the records tell. */
enum chance { CHANCE_NONE, CHANCE_UNKNOWN, CHANCE_SURE };

/* The index of the task in what the worker lists; SIZE_MAX: it does not list it. */
static size_t place_of(const struct worker *w, const char *task)
{
	char *const *at = w->n_tasks == 0 ? NULL
					  : bsearch(&task, w->tasks, w->n_tasks, sizeof(*w->tasks),
						    names_compare);

	return at ? (size_t)(at - w->tasks) : SIZE_MAX;
}

/* A record tells whether min-version is set, but not to what; of an older release not even that. */
static enum chance chance_of(const struct node *n, const struct member *m, const char *task,
			     size_t at)
{
	const struct policy_item *pin = policy_find(&n->policy, POLICY_PIN, task, "");
	const struct worker *w = m->worker;

	if (at == SIZE_MAX || m->drained || worker_is_unhealthy(w, task) ||
	    (pin && version_compare(w->version, pin->record.version) != 0))
		return CHANCE_NONE;
	return disagreements_may_set(w, at, "min-version") ? CHANCE_UNKNOWN : CHANCE_SURE;
}

/* Whether both files have the same rules: a newer version may lead then if an older one may. */
static bool has_same_rules(const struct worker *a, size_t at_a, const struct worker *b, size_t at_b)
{
	return a->scheme == b->scheme && a->n_digests == a->n_tasks && b->n_digests == b->n_tasks &&
	       a->digests[at_a] == b->digests[at_b];
}

/* The same for another member, if the node's own one is a candidate. */
static enum chance chance_besides(const struct node *n, const struct member *m,
				  const struct worker *own, size_t at_own)
{
	const char *task = own->tasks[at_own];
	size_t at = place_of(m->worker, task);
	enum chance chance = chance_of(n, m, task, at);

	if (chance == CHANCE_NONE)
		return CHANCE_NONE;
	if (has_same_rules(own, at_own, m->worker, at) &&
	    version_compare(m->worker->version, own->version) >= 0)
		return CHANCE_SURE;
	/* Which of two numbers of partitions is in force is not known here. */
	if (worker_partitions(m->worker, task) != worker_partitions(own, task))
		return CHANCE_UNKNOWN;
	return chance;
}

/* Whether the node's member is the only candidate. */
static enum chance is_last_lister(const struct node *n, const struct policy_record *r,
				  const struct member *own, size_t at)
{
	const struct fleet *f = &n->registry.fleet;
	enum chance last = chance_of(n, own, own->worker->tasks[at], at);

	for (size_t i = 0; i < f->n_members && last != CHANCE_NONE; i++) {
		if (is_node(n, r, f->by_id[i]))
			continue;
		switch (chance_besides(n, f->by_id[i], own->worker, at)) {
		case CHANCE_NONE: break;
		case CHANCE_UNKNOWN: last = CHANCE_UNKNOWN; break;
		case CHANCE_SURE: return CHANCE_NONE;
		}
	}
	return last;
}

static bool is_queue(const struct worker *w, const char *name)
{
	return worker_slots(w, name) > 0 || names_has(w->answers, w->n_answers, name);
}

static void find_unlisted(const struct node *n, const struct policy_record *r, struct lasts *sure,
			  struct lasts *perhaps)
{
	const struct fleet *f = &n->registry.fleet;

	for (size_t i = 0; i < f->n_members; i++) {
		const struct worker *w = f->by_id[i]->worker;
		if (f->by_id[i]->drained || !is_node(n, r, f->by_id[i]))
			continue;
		for (size_t k = 0; k < w->n_tasks; k++) {
			if (listings_find(&n->leaders, w->tasks[k], strlen(w->tasks[k])))
				continue;
			enum chance last = is_last_lister(n, r, f->by_id[i], k);
			if (last != CHANCE_NONE)
				add(last == CHANCE_SURE ? sure : perhaps, w->tasks[k],
				    is_queue(w, w->tasks[k]));
		}
	}
}

/* --- the sentence ------------------------------------------------------------- */

static size_t count(const struct lasts *l)
{
	return l->tasks + l->queues;
}

static void say_lasts(char text[EXPLAIN_TEXT_MAX], const struct lasts *l)
{
	if (l->tasks > 0)
		explain_say(text, "%zu %s", l->tasks, l->tasks == 1 ? "task" : "tasks");
	if (l->queues > 0)
		explain_say(text, "%s%zu %s", l->tasks > 0 ? " and " : "", l->queues,
			    l->queues == 1 ? "queue" : "queues");
	explain_say(text, ": %s", l->names);
	explain_list_end(text, count(l));
}

bool order_say_last(const struct node *n, const struct policy_record *r,
		    char text[EXPLAIN_TEXT_MAX])
{
	struct lasts sure = {.tasks = 0}, perhaps = {.tasks = 0};
	char name[WORKER_NODE_MAX + 1];

	for (size_t i = 0; i < n->leaders.n_listings; i++) {
		const struct listing *listing = n->leaders.listings[i];
		bool last = false;
		for (size_t k = 0; k < listing->n && !last; k++)
			last = is_last(n, r, listing->tasks[k]);
		if (last)
			add(&sure, listing->name, listing->settings.queue != NULL);
	}
	find_unlisted(n, r, &sure, &perhaps);
	if (count(&sure) + count(&perhaps) == 0)
		return false;
	nodes_name(n, r->node, name);
	explain_say(text, "without %s ", name);
	if (count(&sure) > 0) {
		explain_say(text, "nobody could lead ");
		say_lasts(text, &sure);
	}
	if (count(&perhaps) > 0) {
		explain_say(text, count(&sure) > 0 ? ", and perhaps nobody "
						   : "perhaps nobody could lead ");
		say_lasts(text, &perhaps);
		explain_say(text, " (who may is in files that this node does not have)");
	}
	explain_say(text, "; --force drains it all the same");
	return true;
}
