/*
 * Orders of operators to the fleet: drain, undrain, pause, resume, resign, unresign, pin, unpin.
 * Each changes the policy under ROOT/policy, and is answered when that is done.
 */
#ifndef ZKLEADER_CONTROL_ORDERS_ORDERS_H
#define ZKLEADER_CONTROL_ORDERS_ORDERS_H

#include "control/ask/methods.h"

/* How long a resignation lasts by default. */
#define ORDERS_RESIGN_MS (INT64_C(60) * 60 * 1000)

/* What is wrong with a reason for people. */
#define ORDERS_REASON "the reason is over 200 bytes long, or has control characters"

/* The methods. */
void order_drain(struct call *call);
void order_undrain(struct call *call);
void order_pause(struct call *call);
void order_resume(struct call *call);
void order_resign(struct call *call);
void order_unresign(struct call *call);
void order_pin(struct call *call);
void order_unpin(struct call *call);
/* Changes the number of partitions of a task. */
void repartition(struct call *call);
/* Answered once all files have been read and are in force. */
void reload_answer(struct call *call);

#endif
