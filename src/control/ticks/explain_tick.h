/* The method `explain` with a tick: what became of it. */
#ifndef ZKLEADER_CONTROL_TICKS_EXPLAIN_TICK_H
#define ZKLEADER_CONTROL_TICKS_EXPLAIN_TICK_H

#include "control/ask/methods.h"

/* Answers, usually later. */
void explain_tick_method(struct call *call);
/* The client is gone: the answers are dropped. */
void explain_ticks_client_gone(struct methods *m, const struct peer *c);

#endif
