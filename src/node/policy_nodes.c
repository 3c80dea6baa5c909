#include <string.h>

#include "core/identity.h"
#include "node/policy.h"

bool policy_is_about(const struct policy *p, const struct policy_item *item, const char *node,
		     const char *machine)
{
	return identity_concerns(&p->registry->fleet, item->record.node, item->record.machine, node,
				 machine);
}

bool policy_concerns(const struct policy *p, const struct policy_item *item, const struct worker *w)
{
	return policy_is_about(p, item, w->node, w->machine);
}

const struct policy_item *policy_find_node(const struct policy *p, enum policy_kind kind,
					   const char *task, const char *node, const char *machine)
{
	const struct policy_item *first = policy_find(p, kind, task, node);

	if (!first || policy_is_about(p, first, node, machine))
		return first;
	for (size_t i = 0; i < p->n; i++) {
		const struct policy_item *item = p->items[i];
		if (item->kind == kind && strcmp(item->record.task, task) == 0 &&
		    policy_is_about(p, item, node, machine))
			return item;
	}
	return NULL;
}
