/* The methods `trigger`, by which a task is run by hand, and `outcome`, which tells how it went. */
#ifndef ZKLEADER_CONTROL_TRIGGER_H
#define ZKLEADER_CONTROL_TRIGGER_H

#include "control/methods.h"

void trigger_answer(struct call *call);
void outcome_answer(struct call *call);

/* Nobody waits for the answers any more. */
void triggers_client_gone(struct methods *m, const struct peer *c);

#endif
