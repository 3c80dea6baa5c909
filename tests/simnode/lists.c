#include "lists.h"

#include <stdio.h>
#include <string.h>

#include "faults.h"
#include "node/fleet/lists.h"
#include "scenario.h"
#include "server.h"
#include "site.h"
#include "wire/records/record.h"

#define LISTS_PATH   SITE_ROOT "/lists/"
#define WORKERS_PATH SITE_ROOT "/workers/"
#define VANISH_US    (100 * MS) /* in which a list that was just made may go again */
#define MADE_MAX     4096
#define MAKING_US    (5 * SECOND)
#define MEAN_US	     (8 * SECOND)

/* As sidecars have made them. */
static struct made {
	path_id path;
	struct blob *data;
} made[MADE_MAX];
static size_t n_made;
static int64_t well_at; /* true time at which all had all lists last */

static bool is_list(path_id path)
{
	const char *text = path_text(path);

	return strncmp(text, LISTS_PATH, strlen(LISTS_PATH)) == 0 &&
	       !strchr(text + strlen(LISTS_PATH), '/');
}

static path_id unused_of(path_id list)
{
	char path[STORE_PATH_MAX];

	snprintf(path, sizeof(path), "%s/" LISTS_UNUSED, path_text(list));
	return path_intern(path);
}

/* --- hands -------------------------------------------------------------------------------------------- */

static void hand_remove(const struct tree *t, path_id list)
{
	bool noted = tree_get(t, unused_of(list)) != NULL;
	struct transaction *x = by_hand(noted ? 2 : 1);

	TRACE("%s is deleted by hand", path_text(list));
	x->ops[0].type = x->ops[x->n_ops - 1].type = STORE_OP_DELETE;
	if (noted)
		x->ops[0].path = unused_of(list);
	x->ops[x->n_ops - 1].path = list;
	servers_by_hand(x);
}

static void hand_write(path_id list, struct blob *data)
{
	struct transaction *x = by_hand(1);

	TRACE("%s is written by hand", path_text(list));
	x->ops[0].type = STORE_OP_SET;
	x->ops[0].path = list;
	x->ops[0].data = data;
	servers_by_hand(x);
}

static void hand_note(path_id list)
{
	struct transaction *x = by_hand(1);

	TRACE("%s is noted as unused by hand", path_text(list));
	x->ops[0].type = STORE_OP_CREATE;
	x->ops[0].path = unused_of(list);
	servers_by_hand(x);
}

static void on_fault(void *arg, uint64_t number)
{
	static const char text[] = "\x81\xa5tasks\x91\xa4junk";
	const struct tree *t = servers_tree();
	const struct znode *folder = t ? tree_get(t, path_intern(SITE_ROOT "/lists")) : NULL;

	(void)arg, (void)number;
	event_at(sim.now + random_exp(MEAN_US), on_fault, NULL, 0);
	if (!scenario_is_storm() || !folder || folder->n_children == 0)
		return;
	path_id list = folder->children[random_range(0, (int64_t)folder->n_children - 1)];
	path_id other = folder->children[random_range(0, (int64_t)folder->n_children - 1)];
	const struct znode *node = tree_get(t, other);
	sim.figures.lists++;
	switch (random_range(0, 4)) {
	case 0: hand_write(list, NULL); break;
	case 1: hand_write(list, blob_new(text, sizeof(text) - 1)); break;
	case 2: hand_write(list, node->data ? blob_keep(node->data) : NULL); break;
	case 3: hand_note(list); break;
	default: hand_remove(t, list); break;
	}
}

static void on_vanish(void *arg, uint64_t path)
{
	const struct tree *t = servers_tree();

	(void)arg;
	if (scenario_is_storm() && t && tree_get(t, (path_id)path))
		hand_remove(t, (path_id)path);
}

/* --- what is judged ----------------------------------------------------------------------------------- */

/* The list that a record names, in the tree's paths. */
static bool names_list(const struct blob *data, path_id *ret_list)
{
	char path[STORE_PATH_MAX];
	struct worker *w;
	const char *why;

	if (!data || record_parse_worker(data->bytes, data->len, &w, &why) != 0)
		return false;
	bool names = w->list[0] != '\0';
	snprintf(path, sizeof(path), LISTS_PATH "%s", w->list);
	worker_free(w);
	if (names)
		*ret_list = path_intern(path);
	return names;
}

static bool is_named(const struct tree *t, path_id list)
{
	const struct znode *folder = tree_get(t, path_intern(SITE_ROOT "/workers"));
	path_id named;

	for (size_t i = 0; folder && i < folder->n_children; i++)
		if (names_list(tree_get(t, folder->children[i])->data, &named) && named == list)
			return true;
	return false;
}

static void remember(path_id list, struct blob *data)
{
	for (size_t i = 0; i < n_made; i++)
		if (made[i].path == list)
			return;
	if (n_made < MADE_MAX)
		made[n_made++] = (struct made){list, blob_keep(data)};
}

void lists_adopt(struct worker *w)
{
	char path[STORE_PATH_MAX];
	struct worker *list;
	const char *why;

	if (!w->unlisted)
		return;
	snprintf(path, sizeof(path), LISTS_PATH "%s", w->list);
	path_id id = path_intern(path);
	for (size_t i = 0; i < n_made; i++) {
		if (made[i].path != id ||
		    record_parse_list(made[i].data->bytes, made[i].data->len, &list, &why) != 0)
			continue;
		worker_adopt(w, list);
		worker_free(list);
		return;
	}
}

void lists_propose(const struct transaction *x, const struct tree *before)
{
	path_id list;

	for (size_t i = 0; x->session != HAND && i < x->n_ops; i++) {
		const struct op *op = &x->ops[i];
		if (op->type == STORE_OP_CREATE_EPHEMERAL &&
		    strncmp(path_text(op->path), WORKERS_PATH, strlen(WORKERS_PATH)) == 0 &&
		    names_list(op->data, &list) && !tree_get(before, list))
			sim_violation("%s names a list that is not there", path_text(op->path));
		if (op->type == STORE_OP_DELETE && is_list(op->path) && is_named(before, op->path))
			sim_violation("%s is removed, and a worker names it", path_text(op->path));
		if (op->type == STORE_OP_CREATE && is_list(op->path))
			remember(op->path, op->data);
		if (op->type == STORE_OP_CREATE && is_list(op->path) && scenario_is_storm() &&
		    random_chance(250))
			event_at(sim.now + random_range(0, VANISH_US), on_vanish, NULL, op->path);
	}
}

static const char *problem_at(const struct site *s)
{
	const struct lists *l = &s->node.registry.lists;

	if (!s->running || s->machine->older)
		return NULL;
	if (l->refused)
		return "a worker's list is refused";
	if (!l->own_there)
		return "a worker does not know its list to be there";
	for (size_t k = 0; k < l->n; k++)
		if (l->entries[k].why)
			return "a list cannot be used";
	return NULL;
}

const char *lists_problem(void)
{
	const char *problem = NULL;

	for (unsigned i = 0; sim.options.lists && !problem && i < sim.n_hosts; i++)
		problem = problem_at(&sites[i]);
	if (!problem)
		well_at = sim.now;
	return sim.now - well_at > MAKING_US ? problem : NULL;
}

void lists_begin(void)
{
	while (n_made > 0)
		blob_drop(made[--n_made].data);
	well_at = 0;
	if (sim.options.lists)
		event_at(SECOND, on_fault, NULL, 0);
}
