#include "control/nodes.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/names.h"
#include "base/nearest.h"

#define SHOWN_MAX 5 /* names in one message */

/* All that are known, each once, sorted: a heap array of borrowed names. */
static const char **known_nodes(const struct node *n, size_t *ret_n)
{
	const struct fleet *f = &n->registry.fleet;
	const struct policy *p = &n->policy;
	const char **list = mem_calloc(f->n_members + p->n + 1, sizeof(*list));
	size_t all = 0, kept = 0;

	for (size_t i = 0; i < f->n_members; i++)
		list[all++] = f->by_id[i]->worker->node;
	for (size_t i = 0; i < p->n; i++)
		list[all++] = p->items[i]->record.node;
	qsort(list, all, sizeof(*list), names_compare);
	for (size_t i = 0; i < all; i++)
		if (list[i][0] && (kept == 0 || strcmp(list[kept - 1], list[i]) != 0))
			list[kept++] = list[i];
	*ret_n = kept;
	return list;
}

static size_t host_len(const char *node)
{
	return strcspn(node, ":");
}

/* Whether the text is the node's name, whole or its host's. */
static bool is_of(const char *node, const char *text, size_t len)
{
	return (strlen(node) == len || host_len(node) == len) && memcmp(node, text, len) == 0;
}

static void say_unknown(const struct node *n, struct reader_text name, char why[EXPLAIN_TEXT_MAX])
{
	const struct fleet *f = &n->registry.fleet;
	struct nearest nearest;

	nearest_init(&nearest, name.data, name.len);
	for (size_t i = 0; i < f->n_members; i++) {
		nearest_offer(&nearest, f->by_id[i]->worker->hostname);
		nearest_offer(&nearest, f->by_id[i]->worker->node);
	}
	explain_say(why, "no node \"%.*s\" is known: ", (int)(name.len < 100 ? name.len : 100),
		    name.data);
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
	for (size_t i = 0; i < n; i++) {
		if (!is_of(list[i], name.data, name.len))
			continue;
		if (shown++ < SHOWN_MAX)
			explain_say(why, "%s%s", shown > 1 ? ", " : "", list[i]);
	}
	if (shown > SHOWN_MAX)
		explain_say(why, " and %zu more", shown - SHOWN_MAX);
}

bool nodes_find(const struct node *n, struct reader_text name, char ret_node[WORKER_NODE_MAX + 1],
		char why[EXPLAIN_TEXT_MAX])
{
	size_t n_known, matches = 0;
	const char **known = known_nodes(n, &n_known);
	const char *found = NULL;

	why[0] = '\0';
	for (size_t i = 0; i < n_known; i++) {
		if (!is_of(known[i], name.data, name.len))
			continue;
		matches++;
		found = known[i];
		if (strlen(found) == name.len) {
			matches = 1; /* it is meant whatever begins like it */
			break;
		}
	}
	if (matches == 1)
		snprintf(ret_node, WORKER_NODE_MAX + 1, "%s", found);
	else if (matches == 0)
		say_unknown(n, name, why);
	else
		say_several(known, n_known, name, why);
	free(known);
	return matches == 1;
}

void nodes_name(const struct node *n, const char *node, char ret_name[WORKER_NODE_MAX + 1])
{
	size_t n_known, len = host_len(node), matches = 0;
	const char **known = known_nodes(n, &n_known);

	for (size_t i = 0; i < n_known; i++)
		matches += is_of(known[i], node, len);
	snprintf(ret_name, WORKER_NODE_MAX + 1, "%.*s", matches > 1 ? WORKER_NODE_MAX : (int)len,
		 node);
	free(known);
}
