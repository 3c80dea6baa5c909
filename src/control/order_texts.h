/* What an operator is told about an order: what is so now, and what follows from it. */
#ifndef ZKLEADER_CONTROL_ORDER_TEXTS_H
#define ZKLEADER_CONTROL_ORDER_TEXTS_H

#include <stdbool.h>

#include "control/explain.h"
#include "node/node.h"
#include "wire/record.h"

/* It has been decided (put), or has been taken back; all of these append. */
void order_say_done(const struct node *n, const struct policy_record *r, enum policy_kind kind,
		    bool put, char text[EXPLAIN_TEXT_MAX]);
/* There was nothing to take back. */
void order_say_nothing(const struct node *n, const struct policy_record *r, enum policy_kind kind,
		       char text[EXPLAIN_TEXT_MAX]);
/* The same for that many partitions of a task. */
void order_say_partitions(const struct node *n, const struct policy_record *r,
			  enum policy_kind kind, bool put, size_t done,
			  char text[EXPLAIN_TEXT_MAX]);
/* That it is not led here, and by whom it is; t is NULL for all partitions of one. */
void order_say_not_led(const struct task *t, const char *name, char text[EXPLAIN_TEXT_MAX]);
/*
 * Why the task, whose election or one of whose is t, cannot be pinned to the version: no worker
 * that lists it has it. False: one has.
 */
bool order_say_no_version(const struct node *n, const struct task *t, const char *name,
			  const char *version, char text[EXPLAIN_TEXT_MAX]);

#endif
