/* The methods about ticks: all but `renew` are usually answered later. */
#ifndef ZKLEADER_CONTROL_TICKS_TICKS_H
#define ZKLEADER_CONTROL_TICKS_TICKS_H

#include "control/ask/methods.h"
#include "node/runs/runs.h"

/* Runs of jobs: run_requests.c. */
void run_request_claim(struct call *call);
void run_request_renew(struct call *call);
void run_request_finish(struct call *call);
void run_request_attach(struct call *call);
/* The node's handler for runs; the owner is the client. */
void run_requests_answer(void *owner, uint32_t request, const struct run_answer *a);

void trigger_answer(struct call *call);
void outcome_answer(struct call *call); /* trigger.c: the result */
/* The method `explain` with a tick: what became of it. */
void explain_tick_method(struct call *call);
/* When tasks are due, by their schedules. */
void method_next(struct call *call);

#endif
