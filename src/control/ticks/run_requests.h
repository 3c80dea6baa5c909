/* The methods that run jobs: claim, renew, finish and attach. */
#ifndef ZKLEADER_CONTROL_TICKS_RUN_REQUESTS_H
#define ZKLEADER_CONTROL_TICKS_RUN_REQUESTS_H

#include "control/ask/methods.h"
#include "node/runs/runs.h"

/* The methods. */
void run_request_claim(struct call *call);
void run_request_renew(struct call *call);
void run_request_finish(struct call *call);
void run_request_attach(struct call *call);

/* The node's handler for runs; the owner is the client. */
void run_requests_answer(void *owner, uint32_t request, const struct run_answer *a);

#endif
