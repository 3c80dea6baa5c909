/* Orders of operators about a rolling restart: release a slot, and end a halt. */
#include <string.h>

#include "core/fleet/identity.h"
#include "node/recipes/rolling/rolling_deed.h"
#include "node/tree/paths.h"

#define FREED_MAX 250 /* slots in one transaction */

/* Considers a node that the order may mean. An exact match of the name has priority. */
static void consider(const char *node, const char *name, const char **found, bool *several)
{
	if ((*found && strcmp(*found, name) == 0) || !identity_means(node, name, strlen(name)))
		return;
	if (strcmp(node, name) == 0) {
		*found = node;
		*several = false;
		return;
	}
	*several |= *found && strcmp(*found, node) != 0;
	if (!*found)
		*found = node;
}

static bool is_drain(const struct rolling_op *op, const struct policy_item *item)
{
	return item->kind == POLICY_DRAIN && strcmp(item->record.rolling, op->ask.group) == 0;
}

/* Finds the node that has a slot or a drain of the group, NULL: none. False: several are meant. */
static bool find_node(const struct rolling_op *op, const char **ret_node)
{
	const struct policy *p = op->rolling->handlers.policy;
	const struct rolling_view *v = &op->view;
	bool several = false;

	*ret_node = NULL;
	for (size_t i = 0; i < v->n_slots; i++)
		consider(v->slots[i].node, op->ask.node, ret_node, &several);
	for (size_t i = 0; i < p->n; i++)
		if (is_drain(op, p->items[i]))
			consider(p->items[i]->record.node, op->ask.node, ret_node, &several);
	return !several;
}

/* Ends all drains of the node for this group, except the slot's. False: there are more. */
static bool end_drains(struct rolling_deed *d, const char *node, const struct rolling_held *held)
{
	const struct policy *p = d->op->rolling->handlers.policy;
	const char *other = held && held->known ? held->slot.drain : "";
	size_t n = 0;

	for (size_t i = 0; i < p->n; i++) {
		const struct policy_item *item = p->items[i];
		if (!is_drain(d->op, item) || strcmp(item->record.node, node) != 0 ||
		    strcmp(item->name, other) == 0)
			continue;
		if (n++ == FREED_MAX)
			return false;
		rolling_deed_end_drain(d, item->name);
	}
	return true;
}

/*
 * Each drain ends whatever else is missing: the slot's record may be garbage, and slot or group may
 * have been deleted by hand.
 */
void rolling_release(struct rolling_op *op)
{
	const struct rolling_view *v = &op->view;
	const char *node;
	struct rolling_deed d;

	if (!policy_is_read(op->rolling->handlers.policy, op->policy_due)) {
		rolling_retry(op, ROLLING_RETRY_MS);
		return;
	}
	if (!find_node(op, &node)) {
		rolling_tell(op, ROLLING_REFUSED,
			     "several nodes may be meant: give the whole name, as --status has it",
			     NULL);
		return;
	}
	if (!node) {
		rolling_tell(op, op->sent ? ROLLING_DONE : ROLLING_NOTHING, NULL, NULL);
		return;
	}
	const struct rolling_held *held = rolling_find(v, node);
	rolling_deed_begin(&d, op, 3 + FREED_MAX);
	if (v->foreign)
		path_of_rolling(op->rolling->registry->settings, op->ask.group, NULL, NULL,
				rolling_deed_add(&d, STORE_OP_CHECK, v->version));
	else if (v->exists)
		rolling_deed_set_group(&d, &v->group);
	if (held)
		rolling_deed_drop_slot(&d, held);
	bool all = end_drains(&d, node, held);
	rolling_deed_send(&d, all);
}

/* The halt ends with the last of the slots where CMD failed. */
void rolling_resume(struct rolling_op *op)
{
	const struct rolling_view *v = &op->view;
	struct rolling_group group = v->group;
	size_t failed = 0, freed = 0;
	struct rolling_deed d;

	for (size_t i = 0; i < v->n_slots; i++)
		failed += v->slots[i].known && v->slots[i].slot.state == ROLLING_FAILED;
	if (failed == 0 && group.halted_since == 0) {
		rolling_tell(op, op->sent ? ROLLING_DONE : ROLLING_NOTHING, NULL, NULL);
		return;
	}
	if (failed <= FREED_MAX)
		group = (struct rolling_group){.max_unavailable = group.max_unavailable};
	rolling_deed_begin(&d, op, 1 + 2 * FREED_MAX);
	rolling_deed_set_group(&d, &group);
	for (size_t i = 0; i < v->n_slots && freed < FREED_MAX; i++) {
		if (!v->slots[i].known || v->slots[i].slot.state != ROLLING_FAILED)
			continue;
		rolling_deed_drop_slot(&d, &v->slots[i]);
		freed++;
	}
	rolling_deed_send(&d, failed <= FREED_MAX);
}
