/*
 * Refuses a user who may not run a task, with advice on what to configure. The name of the user is
 * looked up off the loop.
 */
#ifndef ZKLEADER_CONTROL_ASK_REFUSAL_H
#define ZKLEADER_CONTROL_ASK_REFUSAL_H

#include "control/ask/methods.h"

/* Whether the peer may make changes, or is one of these users. */
bool refusal_spares(const struct peer *c, const uid_t *uids, size_t n);
/*
 * Whether the peer may run the task; if not, answers who may. If that is not known yet, the request
 * is put off.
 */
bool refusal_may(const struct call *call, const struct task_settings *t, const char *name);

#endif
