/*
 * Subscriptions: clients are notified of each change of leadership, membership and policy.
 *
 * For each task of its subscription a client is sent the state once, as soon as that is certain,
 * and then each new state. So the last state sent is kept, and compared at the end of each turn of
 * the loop. A client that reads slowly gets only the last state, and none twice.
 */
#ifndef ZKLEADER_CONTROL_ANSWER_SUBSCRIPTIONS_H
#define ZKLEADER_CONTROL_ANSWER_SUBSCRIPTIONS_H

#include <sys/queue.h>

#include "control/ask/peer.h"
#include "node/node.h"

#define SUBSCRIPTIONS_US   2000 /* microseconds for notifications in one turn of the loop */
#define SUBSCRIPTIONS_PART 64	/* tasks that one client is notified of before the next client */

struct subjects;

struct subscriptions {
	const struct node *node;
	TAILQ_HEAD(subscription_list, subscription) list; /* the next to be told first */
	bool changed;					  /* notifications may be due */
	bool up; /* whether the session was confirmed at the last check */
};

/* Owned by the caller, who frees it with free() once no client is left. */
struct subscriptions *subscriptions_new(const struct node *node);

/*
 * Subscribes the client to these subjects, whose names it takes over; without any to all tasks,
 * also later ones. A task with partitions stands for each partition, also later ones. Replaces the
 * client's earlier subscription. mine: the client only wants to know what this node leads, which is
 * known without asking ZooKeeper.
 */
void subscription_begin(struct subscriptions *s, struct peer *c, struct subjects *subjects,
			bool mine);
void subscription_end(struct subscriptions *s, struct peer *c);

/*
 * At the end of a turn: sends notifications of changes. False: there are more, for the next turn.
 */
bool subscriptions_tell(struct subscriptions *s);
/* A task, the session or a client has changed. */
void subscriptions_changed(struct subscriptions *s);
void subscriptions_task_added(struct subscriptions *s, struct task *t);
void subscriptions_task_removed(const struct subscriptions *s, const struct task *t);
/* Notifies of a member; event is "joined" or "left". */
void subscriptions_membership(const struct subscriptions *s, const char *event,
			      const struct member *m);
/* Notifies subscribers of the item's task, and all if it is about a whole node. */
void subscriptions_decision(const struct subscriptions *s, const struct policy_item *item,
			    bool ended);
/* Notifies of a run that has begun or ended here, by its record; tick: "" if it has none. */
void subscriptions_run(const struct subscriptions *s, const char *task, const char *tick,
		       const struct run_record *record);

#endif
