/*
 * Who may not run a task is told what to add where; the name of the user is looked up off the loop.
 */
#ifndef ZKLEADER_CONTROL_REFUSAL_H
#define ZKLEADER_CONTROL_REFUSAL_H

#include "control/methods.h"

/* Answers the call, later. */
void refusal_tell(const struct call *call, const char *task);
/* Nobody waits for the answer any more. */
void refusals_client_gone(struct methods *m, const struct peer *c);

#endif
