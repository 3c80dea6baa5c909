/*
 * People who delete znodes of rolling restarts, or write garbage to them. What is left are drains
 * that nothing ends but --release: other nodes are told that until it is so, and once one has
 * answered that it is, no such drain may be there.
 */
#include <stdio.h>
#include <string.h>

#include "faults.h"
#include "recipes.h"
#include "server.h"
#include "wire/records/record.h"

#define GROUP	 "g"
#define FOLDER	 SITE_ROOT "/rolling/" GROUP
#define AGAIN_US (2 * SECOND)

static struct hand {
	bool damaged;
	int64_t damaged_at, asked_at;
	struct site *asked; /* NULL: none */
	uint64_t life;	    /* of its process */
} hands[HOSTS_MAX];

static path_id slot_path(unsigned k)
{
	char path[STORE_PATH_MAX];

	snprintf(path, sizeof(path), FOLDER "/slots/%s:%%2Frun%%2Fzkleader", sites[k].hostname);
	return path_intern(path);
}

/* --- the deed --------------------------------------------------------------- */

static size_t add_children(const struct tree *t, const char *folder, path_id *paths, size_t n)
{
	const struct znode *node = tree_get(t, path_intern(folder));

	for (size_t i = 0; node && i < node->n_children; i++)
		if (n < HOSTS_MAX * 4)
			paths[n++] = node->children[i];
	return n;
}

static void delete_group(const struct tree *t)
{
	path_id paths[HOSTS_MAX * 4 + 3];
	size_t n = add_children(t, FOLDER "/slots", paths, 0);

	n = add_children(t, FOLDER "/waiting", paths, n);
	paths[n++] = path_intern(FOLDER "/slots");
	paths[n++] = path_intern(FOLDER "/waiting");
	paths[n++] = path_intern(FOLDER);
	struct transaction *x = by_hand(n);
	for (size_t i = 0; i < n; i++) {
		x->ops[i].type = STORE_OP_DELETE;
		x->ops[i].path = paths[i];
	}
	servers_by_hand(x);
}

static void damage(path_id slot)
{
	struct transaction *x = by_hand(1);

	x->ops[0].type = STORE_OP_SET;
	x->ops[0].path = slot;
	x->ops[0].data = blob_new("garbage", 7);
	servers_by_hand(x);
}

void rolling_hand(void)
{
	const struct tree *t = servers_tree();
	unsigned k = (unsigned)random_range(0, sim.n_hosts - 1);
	int64_t what = random_range(0, 2);

	if (!t || !tree_get(t, slot_path(k)))
		return;
	TRACE("a hand %s of the rolling restart of site %u",
	      what == 0	  ? "damages the slot"
	      : what == 1 ? "deletes the slot"
			  : "deletes the group",
	      k);
	if (what == 0)
		damage(slot_path(k));
	else if (what == 1)
		hand_delete(slot_path(k));
	else
		delete_group(t);
}

void rolling_hand_commit(const struct transaction *x)
{
	for (size_t i = 0; i < x->n_ops; i++) {
		rolling_lose(x->ops[i].path);
		for (unsigned k = 0; k < sim.n_hosts; k++) {
			if (x->ops[i].path != slot_path(k))
				continue;
			hands[k].damaged = true;
			hands[k].damaged_at = sim.now;
		}
	}
}

/* --- what follows ------------------------------------------------------------- */

static bool has_slot(const struct tree *t, unsigned k)
{
	const struct znode *node = tree_get(t, slot_path(k));
	struct rolling_slot slot;
	const char *why;

	return node && node->data &&
	       record_parse_rolling_slot(node->data->bytes, node->data->len, &slot, &why) == 0;
}

static bool has_drain(const struct tree *t, unsigned k)
{
	const struct znode *folder = tree_get(t, path_intern(SITE_ROOT "/policy"));

	for (size_t i = 0; folder && i < folder->n_children; i++) {
		const struct znode *node = tree_get(t, folder->children[i]);
		struct policy_record r;
		const char *why;
		if (node->data &&
		    record_parse_policy(node->data->bytes, node->data->len, &r, &why) == 0 &&
		    strcmp(r.rolling, GROUP) == 0 && strcmp(r.node, sites[k].name) == 0)
			return true;
	}
	return false;
}

static void on_released(void *arg, const struct rolling_answer *a)
{
	struct hand *h = arg;
	unsigned k = (unsigned)(h - hands);
	const struct tree *t = servers_tree();
	bool told = a->result == ROLLING_DONE || a->result == ROLLING_NOTHING;

	h->asked = NULL;
	if (!told || !t || h->damaged_at > h->asked_at)
		return;
	if (has_drain(t, k) && !has_slot(t, k))
		sim_violation("it is told that the drain of site %u is ended, and it is not", k);
	h->damaged = false;
}

static void release(struct hand *h)
{
	unsigned k = (unsigned)(h - hands);
	struct rolling_request q = {.order = ROLLING_RELEASE, .group = GROUP, .max_unavailable = 1};
	struct site *s = recipes_any_site();

	const struct tree *t = servers_tree();
	if (!s || !t)
		return;
	/* Its own node frees a slot by its health alone. */
	if (strcmp(s->name, sites[k].name) == 0 && has_slot(t, k))
		return;
	snprintf(q.node, sizeof(q.node), "%s", sites[k].name);
	h->asked = s;
	h->life = s->life;
	h->asked_at = sim.now;
	rolling_ask(&s->node.recipes.rolling, &q, on_released, h);
	machine_wake(s->machine, 0);
}

void rolling_hand_look(void)
{
	for (unsigned k = 0; k < sim.n_hosts; k++) {
		struct hand *h = &hands[k];
		bool asking = h->asked && h->asked->running && h->asked->life == h->life;
		if (h->damaged && !asking && sim.now > h->asked_at + AGAIN_US)
			release(h);
	}
}

bool rolling_hand_releases(unsigned k)
{
	return hands[k].asked != NULL;
}

bool rolling_hand_is_left(void)
{
	const struct tree *t = servers_tree();

	for (unsigned k = 0; t && recipes_any_site() && k < sim.n_hosts; k++)
		if (hands[k].damaged && has_drain(t, k) && !has_slot(t, k))
			return true;
	return false;
}

void rolling_hand_forget(void)
{
	memset(hands, 0, sizeof(hands));
}
