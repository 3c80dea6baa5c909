/* A drain of the last candidate of a task. */
#ifndef ZKLEADER_CONTROL_ORDERS_ORDER_LAST_H
#define ZKLEADER_CONTROL_ORDERS_ORDER_LAST_H

#include <stdbool.h>

#include "control/ask/explain_text.h"
#include "node/node.h"
#include "wire/records/record.h"

/*
 * Whether tasks or queues would have no candidate left without the node of the record: says how
 * many, the first of them, and the remedy. Those that have none already do not count. Of tasks that
 * have no file here the workers' records tell that but for min-version: where it decides, the text
 * says "perhaps".
 */
bool order_say_last(const struct node *n, const struct policy_record *r,
		    char text[EXPLAIN_TEXT_MAX]);

#endif
