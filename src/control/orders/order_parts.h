/* An order, and what the files of orders.h share. */
#ifndef ZKLEADER_CONTROL_ORDERS_ORDER_PARTS_H
#define ZKLEADER_CONTROL_ORDERS_ORDER_PARTS_H

#include <stdbool.h>
#include <stddef.h>

#include "control/ask/explain_text.h"
#include "control/ask/methods.h"
#include "control/ask/subject.h"
#include "node/fleet/policy.h"

/* A method. put: false if it revokes a decision; names: parameters before the options. */
struct order_word {
	const char *word;
	enum policy_kind kind;
	bool put;
	size_t names;
};

/* The parts of an order that one transaction has. */
struct order_chunk {
	struct order *order;
	size_t first, n;
	enum policy_result result;
};

struct order {
	struct ask ask;
	const struct order_word *word;
	pid_t pid;
	struct policy_record record;
	struct subject subject; /* empty if the order revokes a known decision */
	/* A record for each of these; NULL: the order is about a node, or one task. */
	struct policy_part *parts;
	size_t n_parts;
	bool several; /* it was given names or globs, and its answer lists what they stand for */
	bool dry_run, force;
	char refused[EXPLAIN_TEXT_MAX]; /* why what was decided meanwhile refuses it */
	struct order_chunk *chunks;
	size_t n_chunks, pending;
};

void order_add_part(struct order *o, const char *name);
/* How many of the parts are done. */
size_t order_done_parts(const struct order *o);
/*
 * Revoking a decision about a task also revokes those about its partitions: adds these to the
 * parts.
 */
void order_add_decided(const struct node *n, struct order *o);
/* Whether a decision of the order's kind is known about the name. */
bool order_is_decided(const struct node *n, const struct order *o, struct reader_text name);
/* Whether this node leads the subject, or a partition of it. */
bool order_is_led(const struct subject *s);
/* Adds the parts of the subject that this node can resign from. False after an error answer. */
bool order_take_led(struct call *call, struct order *o, const struct subject *s);

/* order_list.c: an array of names and globs as the next parameter. */

/*
 * Takes it. A word that matches nothing refuses the order. unresign: *ret_node is the last word
 * where that names no task.
 */
bool order_take_list(struct call *call, struct order *o, struct reader_text *ret_node);
/* Answer such an order, and end it. A dry run says what would be done. */
void order_answer_list(struct order *o);
void order_fail_list(struct order *o, const char *why);

#endif
