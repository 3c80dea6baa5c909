/*
 * What an operator tells the fleet through this sidecar: drain, undrain, pause, resume, resign,
 * unresign, pin, unpin. Each is a change of the policy under ROOT/policy, answered when it is done.
 */
#ifndef ZKLEADER_CONTROL_ORDERS_H
#define ZKLEADER_CONTROL_ORDERS_H

#include "control/methods.h"

/* How long a worker that has resigned comes last for the task, where the operator does not say. */
#define ORDERS_RESIGN_MS (INT64_C(60) * 60 * 1000)

/* The methods. */
void order_drain(struct call *call);
void order_undrain(struct call *call);
void order_pause(struct call *call);
void order_resume(struct call *call);
void order_resign(struct call *call);
void order_unresign(struct call *call);
void order_pin(struct call *call);
void order_unpin(struct call *call);

/* Nobody waits for the answer any more; the order itself goes on. */
void orders_client_gone(struct methods *m, const struct peer *c);

#endif
