#include <string.h>

#include "core/fleet/identity.h"
#include "node/fleet/policy.h"

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

bool policy_has(const struct policy *p, const char *name)
{
	for (size_t i = 0; i < p->n; i++)
		if (strcmp(p->items[i]->name, name) == 0)
			return true;
	return false;
}

const struct policy_item *policy_find(const struct policy *p, enum policy_kind kind,
				      const char *task, const char *node)
{
	const struct policy_item *item = policy_find_own(p, kind, task, node);
	char whole[NAME_TASK_MAX + 1];

	if (p->n == 0 || item || !policy_whole(task, whole))
		return item;
	return policy_find_own(p, kind, whole, node);
}

static const struct policy_item *find_node(const struct policy *p, enum policy_kind kind,
					   const char *task, const char *node, const char *machine)
{
	const struct policy_item *first = policy_find_own(p, kind, task, node);

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

const struct policy_item *policy_find_node(const struct policy *p, enum policy_kind kind,
					   const char *task, const char *node, const char *machine)
{
	const struct policy_item *item = find_node(p, kind, task, node, machine);
	char whole[NAME_TASK_MAX + 1];

	if (p->n == 0 || item || !policy_whole(task, whole))
		return item;
	return find_node(p, kind, whole, node, machine);
}

bool policy_whole(const char *task, char ret_whole[NAME_TASK_MAX + 1])
{
	size_t len = 0;

	if (!name_partition_parse(task, strlen(task), &len, NULL))
		return false;
	memcpy(ret_whole, task, len);
	ret_whole[len] = '\0';
	return true;
}
