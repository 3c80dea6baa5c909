/*
 * Orders of operators to the fleet. Each changes the policy under ROOT/policy, and is answered when
 * that is done.
 */
#ifndef ZKLEADER_CONTROL_ORDERS_ORDERS_H
#define ZKLEADER_CONTROL_ORDERS_ORDERS_H

#include "control/ask/methods.h"

/* How long a resignation lasts by default. */
#define ORDERS_RESIGN_MS (INT64_C(60) * 60 * 1000)

/* The error for a bad reason. */
#define ORDERS_REASON "the reason is over 200 bytes long, or has control characters"

/* drain, undrain, pause, resume, resign, unresign, pin, unpin. */
void order_give(struct call *call);
/* Changes the number of partitions of a task. */
void repartition(struct call *call);
/* Answered once all files have been read and are in force. */
void reload_answer(struct call *call);

#endif
