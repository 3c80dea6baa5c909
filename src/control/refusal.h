/*
 * Refuses a user who may not run a task, with advice on what to configure. The name of the user is
 * looked up off the loop.
 */
#ifndef ZKLEADER_CONTROL_REFUSAL_H
#define ZKLEADER_CONTROL_REFUSAL_H

#include "control/methods.h"

/* Answers the call, later. */
void refusal_tell(const struct call *call, const char *task);
/* The client is gone: the answers are dropped. */
void refusals_client_gone(struct methods *m, const struct peer *c);

#endif
