/* What operators do to a rolling restart: release a slot, and end a halt. */
#include <string.h>

#include "core/identity.h"
#include "node/rolling_deed.h"

#define FREED_MAX 250 /* slots in one transaction */

void rolling_release(struct rolling_op *op)
{
	const struct rolling_view *v = &op->view;
	const char *name = op->ask.node;
	const struct rolling_held *found = rolling_find(v, name);
	bool whole = found != NULL;
	size_t n = whole;
	struct rolling_deed d;

	for (size_t i = 0; !whole && i < v->n_slots; i++) {
		if (!identity_means(v->slots[i].node, name, strlen(name)))
			continue;
		found = &v->slots[i];
		n++;
	}
	if (n == 0) {
		rolling_tell(op, op->sent ? ROLLING_DONE : ROLLING_NOTHING, NULL, NULL);
		return;
	}
	if (n > 1) {
		rolling_tell(op, ROLLING_REFUSED,
			     "several nodes may be meant: give the whole name, as --status has it",
			     NULL);
		return;
	}
	rolling_deed_begin(&d, op, 3);
	rolling_deed_set_group(&d, &v->group);
	rolling_deed_drop_slot(&d, found);
	rolling_deed_send(&d, true);
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
