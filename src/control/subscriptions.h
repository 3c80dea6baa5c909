/*
 * Clients that want to hear of each change of leadership, membership and policy as it happens.
 *
 * Of each task that a client has subscribed to it is told the state once, as soon as that is
 * certain, and then each other state: so what it has been told of is kept, and compared at the end
 * of each turn of the loop. Who reads slowly hears of the last state alone, and of nothing twice.
 */
#ifndef ZKLEADER_CONTROL_SUBSCRIPTIONS_H
#define ZKLEADER_CONTROL_SUBSCRIPTIONS_H

#include "control/peer.h"
#include "node/node.h"

#define SUBSCRIPTIONS_US 2000 /* for telling in one turn of the loop */
#define SUBSCRIPTIONS_PART \
	64 /* tasks that one client is told of before it is the next one's turn */

struct subjects;

struct subscriptions {
	const struct node *node;
	struct subscription *list;
	bool changed; /* something may have to be told */
	bool up;      /* the session was confirmed when that was last looked at */
};

void subscriptions_init(struct subscriptions *s, const struct node *node);

/*
 * The client hears of these subjects, whose names it takes over, of all (also of later ones) where
 * there are none; of a task with partitions it hears of each, also of later ones. Replaces what it
 * had.
 * mine: it wants to know what this node leads, and nothing of who else leads: that is known without
 * a question.
 */
void subscription_begin(struct subscriptions *s, struct peer *c, struct subjects *subjects,
			bool mine);
void subscription_end(struct subscriptions *s, struct peer *c);

/*
 * At the end of a turn: tells what has become different. False: there is more, for the next turn.
 */
bool subscriptions_tell(struct subscriptions *s);
/* A task, the session or a client is not as it was. */
void subscriptions_changed(struct subscriptions *s);
void subscriptions_task_added(struct subscriptions *s, struct task *t);
void subscriptions_task_removed(const struct subscriptions *s, const struct task *t);
/* event is "joined" or "left". */
void subscriptions_membership(const struct subscriptions *s, const char *event,
			      const struct member *m);
/* To those who hear of the item's task, and to all where it is about a whole node. */
void subscriptions_decision(const struct subscriptions *s, const struct policy_item *item,
			    bool ended);
/* A run of that task here has begun, or ended, as the record says; tick: "" where it has none. */
void subscriptions_run(const struct subscriptions *s, const char *task, const char *tick,
		       const struct run_record *record);

#endif
