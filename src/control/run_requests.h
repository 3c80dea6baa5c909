/* The methods by which jobs are run: claim, renew, finish and attach. */
#ifndef ZKLEADER_CONTROL_RUN_REQUESTS_H
#define ZKLEADER_CONTROL_RUN_REQUESTS_H

#include "control/methods.h"
#include "node/runs.h"

/* The methods. */
void run_request_claim(struct call *call);
void run_request_renew(struct call *call);
void run_request_finish(struct call *call);
void run_request_attach(struct call *call);

/* The node's handlers for runs; the owner is the client. */
void run_requests_answer(void *owner, uint32_t request, const struct run_answer *a);
void run_requests_released(void *owner);

#endif
