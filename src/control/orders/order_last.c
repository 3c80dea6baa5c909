#include "control/orders/order_last.h"

#include <string.h>

#include "base/mem.h"
#include "base/text/names.h"
#include "control/ask/nodes.h"
#include "core/fleet/identity.h"
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

/* A task of the node's record that has no file here: its list of candidates is who lists it. */
static bool is_last_lister(const struct node *n, const struct policy_record *r, const char *task)
{
	const struct fleet *f = &n->registry.fleet;

	for (size_t i = 0; i < f->n_members; i++) {
		const struct member *m = f->by_id[i];
		if (!m->drained && !is_node(n, r, m) &&
		    names_has(m->worker->tasks, m->worker->n_tasks, task))
			return false;
	}
	return true;
}

static void find_unlisted(const struct node *n, const struct policy_record *r, struct lasts *l)
{
	const struct fleet *f = &n->registry.fleet;

	for (size_t i = 0; i < f->n_members; i++) {
		const struct worker *w = f->by_id[i]->worker;
		if (f->by_id[i]->drained || !is_node(n, r, f->by_id[i]))
			continue;
		for (size_t k = 0; k < w->n_tasks; k++)
			if (!listings_find(&n->leaders, w->tasks[k], strlen(w->tasks[k])) &&
			    is_last_lister(n, r, w->tasks[k]))
				add(l, w->tasks[k], false);
	}
}

bool order_say_last(const struct node *n, const struct policy_record *r,
		    char text[EXPLAIN_TEXT_MAX])
{
	struct lasts l = {.tasks = 0};
	char name[WORKER_NODE_MAX + 1];

	for (size_t i = 0; i < n->leaders.n_listings; i++) {
		const struct listing *listing = n->leaders.listings[i];
		bool last = false;
		for (size_t k = 0; k < listing->n && !last; k++)
			last = is_last(n, r, listing->tasks[k]);
		if (last)
			add(&l, listing->name, listing->settings.queue != NULL);
	}
	find_unlisted(n, r, &l);
	if (l.tasks + l.queues == 0)
		return false;
	nodes_name(n, r->node, name);
	explain_say(text, "without %s nobody could lead ", name);
	if (l.tasks > 0)
		explain_say(text, "%zu %s", l.tasks, l.tasks == 1 ? "task" : "tasks");
	if (l.queues > 0)
		explain_say(text, "%s%zu %s", l.tasks > 0 ? " and " : "", l.queues,
			    l.queues == 1 ? "queue" : "queues");
	explain_say(text, ": %s", l.names);
	explain_list_end(text, l.tasks + l.queues);
	explain_say(text, "; --force drains it all the same");
	return true;
}
