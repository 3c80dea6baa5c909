/* Functions that the files of policy.h share. */
#ifndef ZKLEADER_NODE_FLEET_POLICY_PARTS_H
#define ZKLEADER_NODE_FLEET_POLICY_PARTS_H

#include "node/fleet/policy.h"

/* The order of items: of the same kind, about the same task, about the same node. */
int policy_compare(const struct policy_item *a, enum policy_kind kind, const char *task,
		   const char *node);
/* The first item that is not before this subject. */
size_t policy_place(const struct policy *p, enum policy_kind kind, const char *task,
		    const char *node);
/* ended_by is NULL if it is not known, or the decision has ended by itself. */
void policy_forget_item(struct policy *p, const char *name, const char *ended_by);
/* Sends the changes for which what is known is new enough. */
void policy_run_changes(struct policy *p);
/* Ends those that wait, with an unknown outcome. */
void policy_drop_changes(struct policy *p);

#endif
