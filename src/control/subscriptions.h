/* Clients that want to hear of each change of leadership, membership and policy as it happens. */
#ifndef ZKLEADER_CONTROL_SUBSCRIPTIONS_H
#define ZKLEADER_CONTROL_SUBSCRIPTIONS_H

#include "control/peer.h"
#include "node/node.h"

struct subscriptions {
	const struct node *node;
	struct subscription *list;
};

void subscriptions_init(struct subscriptions *s, const struct node *node);

/* The client hears of these n tasks, of all (also of later ones) for n = 0; replaces what it had. */
void subscription_begin(struct subscriptions *s, struct peer *c, struct task *const *tasks,
			size_t n);
void subscription_end(struct subscriptions *s, struct peer *c);

void subscriptions_task_changed(struct subscriptions *s, struct task *t);
void subscriptions_task_added(struct subscriptions *s, struct task *t);
void subscriptions_task_removed(const struct subscriptions *s, const struct task *t);
/* event is "joined" or "left". */
void subscriptions_membership(const struct subscriptions *s, const char *event,
			      const struct member *m);
/* To those who hear of the item's task, and to all where it is about a whole node. */
void subscriptions_decision(const struct subscriptions *s, const struct policy_item *item,
			    bool ended);

#endif
