/* People who change znodes by hand. */
#include "faults.h"

#include <stdio.h>
#include <string.h>

#include "oracle.h"
#include "recipes.h"
#include "server.h"
#include "splits.h"
#include "wire/records/record.h"

#define BACK_US (20 * SECOND) /* after which a hand takes back what it made, once all is healed */

struct transaction *by_hand(size_t n)
{
	struct transaction *x = transaction_new(TRANSACTION_OPS, HAND, n);

	for (size_t i = 0; i < n; i++)
		x->ops[i].version = -1;
	return x;
}

bool hand_delete(path_id path)
{
	struct transaction *x = by_hand(1);

	x->ops[0].type = STORE_OP_DELETE;
	x->ops[0].path = path;
	return servers_by_hand(x);
}
/* Only what a hand made. */
static void on_hand_back(void *arg, uint64_t path)
{
	const struct tree *t = servers_tree();
	const struct znode *node = t ? tree_get(t, (path_id)path) : NULL;

	(void)arg;
	if (node && (node->stat.owner == HAND || node->stat.owner == 0))
		hand_delete((path_id)path);
}

static bool hand_worker(void)
{
	struct site *s = fault_site(true);
	char path[STORE_PATH_MAX];

	if (!s || !s->node.registry.id[0])
		return false;
	snprintf(path, sizeof(path), SITE_ROOT "/workers/%s", s->node.registry.id);
	oracle_hand_worker(s);
	TRACE("the worker node of site %u is deleted by hand", s->id);
	return hand_delete(path_intern(path));
}

/* A record that nobody who knows the rules would write. */
static bool hand_record(void)
{
	static const char *const folders[] = {"workers", "policy", "leaders"};
	static const char *const texts[] = {"", "\x81\xa1", "hello", "\xc1", "\x93\x01\x02\x03"};
	struct transaction *x = by_hand(1);
	const char *text = texts[random_range(0, 4)];
	char path[STORE_PATH_MAX];

	snprintf(path, sizeof(path), SITE_ROOT "/%s/stray-%d", folders[random_range(0, 2)],
		 (int)random_range(0, 3));
	TRACE("%s is made by hand", path);
	x->ops[0].type = STORE_OP_CREATE;
	x->ops[0].path = path_intern(path);
	x->ops[0].data = blob_new(text, strlen(text));
	event_at(sim.now + fault_time(), on_hand_back, NULL, x->ops[0].path);
	return servers_by_hand(x);
}

static bool hand_leader(enum fault what)
{
	unsigned task = (unsigned)random_range(0, sim.n_tasks - 1);
	int leader = oracle_leader(task);
	struct transaction *x =
		by_hand(what == FAULT_HAND_DELETE || what == FAULT_HAND_SET ? 1 : 2);

	TRACE("%s: task %u", fault_names[what], task);
	x->ops[0].type = what == FAULT_HAND_SET ? STORE_OP_SET : STORE_OP_DELETE;
	x->ops[0].path = oracle_leader_path(task);
	if (x->n_ops == 2) {
		x->ops[1].type =
			what == FAULT_HAND_STAY ? STORE_OP_CREATE : STORE_OP_CREATE_EPHEMERAL;
		x->ops[1].path = x->ops[0].path;
		event_at(sim.now + fault_time(), on_hand_back, NULL, x->ops[0].path);
	}
	if (what != FAULT_HAND_SET) {
		/* The fault hurts most while the leader does not hear of it. */
		if (leader >= 0 && random_chance(500) && !sites[leader].machine->inbox.paused)
			pause_site(&sites[leader], false, fault_time());
		oracle_hand(task);
	}
	return servers_by_hand(x);
}

/*
 * Takes decisions back as people would: a site that saw one while its own clock was days off would
 * end it as late. The record of a pause's end is no such decision.
 */
static void on_decisions_back(void *arg, uint64_t number)
{
	const struct tree *t = servers_tree();
	const struct znode *folder = t ? tree_get(t, path_intern(SITE_ROOT "/policy")) : NULL;

	(void)arg;
	for (size_t i = 0; folder && number == fault_era && i < folder->n_children; i++) {
		const struct znode *node = tree_get(t, folder->children[i]);
		struct policy_record r;
		const char *why;
		if (node->data &&
		    record_parse_policy(node->data->bytes, node->data->len, &r, &why) == 0 &&
		    r.until != 0 && strcmp(r.kind, policy_kind_name(POLICY_ENDED)) != 0)
			hand_delete(folder->children[i]);
	}
}

bool faults_hands(enum fault what)
{
	if (sim.options.ticks)
		return false; /* who deletes the ledger's witnesses by hand is on his own */
	if (what == FAULT_HAND_RECORD && sim.options.recipes && random_chance(300))
		return roster_damage();
	if (what == FAULT_HAND_RECORD && sim.options.partitions && random_chance(500))
		return split_damage();
	if (what == FAULT_HAND_WORKER)
		return hand_worker();
	return what == FAULT_HAND_RECORD ? hand_record() : hand_leader(what);
}

void hands_heal(bool decisions)
{
	for (unsigned k = 0; k < sim.n_tasks; k++)
		event_at(sim.now + BACK_US, on_hand_back, NULL, oracle_leader_path(k));
	if (decisions)
		event_at(sim.now + BACK_US, on_decisions_back, NULL, fault_era);
}
