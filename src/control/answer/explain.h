/*
 * Explains in words why this node leads a task or not, what waits, what was decided, who disagrees.
 */
#ifndef ZKLEADER_CONTROL_ANSWER_EXPLAIN_H
#define ZKLEADER_CONTROL_ANSWER_EXPLAIN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "control/ask/explain_text.h"
#include "control/ask/peer.h"
#include "node/node.h"

/*
 * This node's state for the task, as shown by `tasks`. `says`: whether it may say "leads", as the
 * rest of the answer has it. Time goes on while an answer is made, so it is looked at once.
 */
const char *explain_state(const struct node *s, const struct task *t, bool says);
/* Why this node may say "leads" or may not, in a sentence. */
void explain_why(const struct node *s, const struct task *t, bool says,
		 char text[EXPLAIN_TEXT_MAX]);
/*
 * The message of a failing health check, of this node or for this task or partition; NULL: none
 * fails.
 */
const char *explain_unhealthy(const struct node *s, const char *name);
/* Append that this node is not healthy, if it is not, and why there is no session. */
void explain_sick(const struct node *s, const char *name, char text[EXPLAIN_TEXT_MAX]);
void explain_no_session(const struct node *s, char text[EXPLAIN_TEXT_MAX]);
/* The leader, why it leads, and what will happen next, in a sentence. */
void explain_reason(const struct node *s, const struct task *t, bool says,
		    char text[EXPLAIN_TEXT_MAX]);
/* The reason for a worker's place in the ranking. */
void explain_ranked(const struct node *s, const struct task *t, const struct ranked *r,
		    char text[EXPLAIN_TEXT_MAX]);
/* A row of the ranking; settings: of the task, NULL. */
void explain_pack_ranked(struct pack *p, const struct node *s, const struct ranked *r,
			 const char *why, const struct task_settings *settings);
/* "paused by NAME at HOST until WHEN: REASON" */
void explain_decision(const struct policy_item *item, char text[EXPLAIN_TEXT_MAX]);
/* The whole answer to `explain`. */
void answer_explain(struct pack *p, const struct node *s, const struct task *t);
/* Likewise who keeps the roll of the fleet, as if that were the leader of a task of this name. */
#define EXPLAIN_ROLL "zkleader:roll"
void answer_explain_roll(struct pack *p, const struct node *s);

#endif
