/* Clients that want to hear of each change of leadership, membership and policy as it happens. */
#ifndef ZKLEADER_CONTROL_SUBSCRIPTIONS_H
#define ZKLEADER_CONTROL_SUBSCRIPTIONS_H

#include "daemon/control.h"
#include "node/leaders.h"
#include "node/policy.h"

struct sidecar;

/* The client hears of these n tasks, of all (also of later ones) for n = 0; replaces what it had. */
void subscription_begin(struct sidecar *s, struct client *c, struct task *const *tasks, size_t n);
void subscription_end(struct client *c);

void subscriptions_task_changed(const struct sidecar *s, struct task *t);
void subscriptions_task_added(const struct sidecar *s, struct task *t);
void subscriptions_task_removed(const struct sidecar *s, const struct task *t);
/* event is "joined" or "left". */
void subscriptions_membership(const struct sidecar *s, const char *event, const struct member *m);
/* To those who hear of the item's task, and to all where it is about a whole node. */
void subscriptions_decision(const struct sidecar *s, const struct policy_item *item, bool ended);

#endif
