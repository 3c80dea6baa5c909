/* The method `explain` with a tick: what became of it. */
#ifndef ZKLEADER_CONTROL_TICKS_EXPLAIN_TICK_H
#define ZKLEADER_CONTROL_TICKS_EXPLAIN_TICK_H

#include "control/ask/methods.h"

/* Answers, usually later. */
void explain_tick_method(struct call *call);

#endif
