#include "control/ask/nodes.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/text/names.h"
#include "base/text/nearest.h"
#include "core/fleet/identity.h"

/*
 * The nodes in the fleet; if `decided`, also nodes that a decision is about. Each is there once,
 * sorted. The array is for the caller to free(), the names are borrowed.
 */
static const char **known_nodes(const struct node *n, bool decided, size_t *ret_n)
{
	const struct fleet *f = &n->registry.fleet;
	const struct policy *p = &n->policy;
	const char **list = mem_calloc(f->n_members + p->n + 1, sizeof(*list));
	size_t all = 0, kept = 0;

	for (size_t i = 0; i < f->n_members; i++)
		list[all++] = f->by_id[i]->worker->node;
	for (size_t i = 0; decided && i < p->n; i++)
		list[all++] = p->items[i]->record.node;
	qsort(list, all, sizeof(*list), names_compare);
	for (size_t i = 0; i < all; i++)
		if (list[i][0] && (kept == 0 || strcmp(list[kept - 1], list[i]) != 0))
			list[kept++] = list[i];
	*ret_n = kept;
	return list;
}

/* If the name is the hostname of nodes with other names, says those. False otherwise. */
static bool say_host(const struct fleet *f, struct reader_text name, char why[EXPLAIN_TEXT_MAX])
{
	size_t n = 0;

	for (size_t i = 0; i < f->n_members; i++) {
		const char *hostname = f->by_id[i]->worker->hostname;
		if (strlen(hostname) != name.len || memcmp(hostname, name.data, name.len) != 0)
			continue;
		explain_entry(why, n++, "that is the host of ", f->by_id[i]->worker->node);
	}
	explain_list_end(why, n);
	return n > 0;
}

static void say_unknown(const struct node *n, struct reader_text name, char why[EXPLAIN_TEXT_MAX])
{
	const struct fleet *f = &n->registry.fleet;
	struct nearest nearest;

	explain_say(why, "no node \"%.*s\" is known: ", (int)(name.len < 100 ? name.len : 100),
		    name.data);
	if (say_host(f, name, why))
		return;
	nearest_init(&nearest, name.data, name.len);
	for (size_t i = 0; i < f->n_members; i++) {
		nearest_offer(&nearest, f->by_id[i]->worker->hostname);
		nearest_offer(&nearest, f->by_id[i]->worker->node);
	}
	if (nearest.best)
		explain_say(why, "did you mean \"%s\"?", nearest.best);
	else
		explain_say(why, "zkleader list shows the nodes");
}

static void say_several(const char *const *list, size_t n, struct reader_text name,
			char why[EXPLAIN_TEXT_MAX])
{
	size_t shown = 0;

	explain_say(why, "%.*s has several sidecars, which one? ", (int)name.len, name.data);
	for (size_t i = 0; i < n; i++)
		if (identity_means(list[i], name.data, name.len))
			explain_entry(why, shown++, "", list[i]);
	explain_list_end(why, shown);
}

/* If several machines have this node name, says their addresses. False otherwise. */
static bool is_twins(const struct node *n, const char *node, char why[EXPLAIN_TEXT_MAX])
{
	const struct fleet *f = &n->registry.fleet;
	char begin[EXPLAIN_TEXT_MAX] = "";
	size_t twins = 0;

	explain_say(begin, "%s is the name of several machines, with the addresses ", node);
	for (size_t i = 0; i < f->n_members; i++) {
		const struct worker *w = f->by_id[i]->worker;
		if (!f->by_id[i]->twin || strcmp(w->node, node) != 0)
			continue;
		explain_entry(why, twins++, begin, w->ip);
	}
	explain_list_end(why, twins);
	if (twins > 0)
		explain_say(why, ": say it on the one that is meant, without a name");
	return twins > 0;
}

/* How many nodes of the list the name may mean: one, if a node has exactly this name. */
static size_t count_meant(const char *const *list, size_t n, struct reader_text name,
			  const char **ret_last)
{
	size_t meant = 0;

	for (size_t i = 0; i < n; i++) {
		if (!identity_means(list[i], name.data, name.len))
			continue;
		meant++;
		*ret_last = list[i];
		if (strlen(list[i]) == name.len)
			return 1;
	}
	return meant;
}

bool nodes_find(const struct node *n, struct reader_text name, char ret_node[WORKER_NODE_MAX + 1],
		char why[EXPLAIN_TEXT_MAX])
{
	size_t n_known, meant = 0;
	const char **known = NULL;
	const char *found = NULL;

	why[0] = '\0';
	for (int decided = 0; meant == 0 && decided <= 1; decided++) {
		free(known);
		known = known_nodes(n, decided, &n_known);
		meant = count_meant(known, n_known, name, &found);
	}
	bool clear = meant == 1 && !is_twins(n, found, why);
	if (clear)
		snprintf(ret_node, WORKER_NODE_MAX + 1, "%s", found);
	else if (meant == 0)
		say_unknown(n, name, why);
	else if (meant > 1)
		say_several(known, n_known, name, why);
	free(known);
	return clear;
}

void nodes_name(const struct node *n, const char *node, char ret_name[WORKER_NODE_MAX + 1])
{
	const struct fleet *f = &n->registry.fleet;
	size_t n_known, len = strcspn(node, ":"), meant = 0;
	const char **known;

	for (size_t i = 0; i < f->n_members; i++) {
		if (strcmp(f->by_id[i]->worker->node, node) != 0)
			continue;
		snprintf(ret_name, WORKER_NODE_MAX + 1, "%s", identity_name(f->by_id[i]));
		return;
	}
	known = known_nodes(n, true, &n_known);
	for (size_t i = 0; i < n_known; i++)
		meant += identity_means(known[i], node, len);
	snprintf(ret_name, WORKER_NODE_MAX + 1, "%.*s", meant > 1 ? WORKER_NODE_MAX : (int)len,
		 node);
	free(known);
}

void nodes_pack(struct pack *p, const struct node *n, const char *key, const char *node)
{
	char name[WORKER_NODE_MAX + 1] = "";

	if (node[0])
		nodes_name(n, node, name);
	pack_kv_text(p, key, name);
}
