/* Texts for an operator about an order: the present state, and what follows from it. */
#ifndef ZKLEADER_CONTROL_ORDERS_ORDER_TEXTS_H
#define ZKLEADER_CONTROL_ORDERS_ORDER_TEXTS_H

#include <stdbool.h>

#include "control/ask/explain_text.h"
#include "node/node.h"
#include "wire/records/record.h"

/* The order is in force (put), or was revoked; all of these append. */
void order_say_done(const struct node *n, const struct policy_record *r, enum policy_kind kind,
		    bool put, char text[EXPLAIN_TEXT_MAX]);
/* The order had nothing to revoke. */
void order_say_nothing(const struct node *n, const struct policy_record *r, enum policy_kind kind,
		       char text[EXPLAIN_TEXT_MAX]);
/* The same for that many partitions of a task. */
void order_say_partitions(const struct node *n, const struct policy_record *r,
			  enum policy_kind kind, bool put, size_t done,
			  char text[EXPLAIN_TEXT_MAX]);
/* Says that the task is not led here, and its leader; t is NULL for all partitions of a task. */
void order_say_not_led(const struct task *t, const char *name, char text[EXPLAIN_TEXT_MAX]);
/*
 * Why the task cannot be pinned to the version: no worker that lists the task has it. False: one
 * has. t is the task's election, or one of them.
 */
bool order_say_no_version(const struct node *n, const struct task *t, const char *name,
			  const char *version, char text[EXPLAIN_TEXT_MAX]);

#endif
