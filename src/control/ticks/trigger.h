/* The methods `trigger`, which runs a task by hand, and `outcome`, which returns the result. */
#ifndef ZKLEADER_CONTROL_TICKS_TRIGGER_H
#define ZKLEADER_CONTROL_TICKS_TRIGGER_H

#include "control/ask/methods.h"

void trigger_answer(struct call *call);
void outcome_answer(struct call *call);

#endif
