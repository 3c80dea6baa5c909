/* The method `history`: the records of a task's ticks, as the ledger keeps them. */
#ifndef ZKLEADER_CONTROL_HISTORY_H
#define ZKLEADER_CONTROL_HISTORY_H

#include "control/methods.h"

/*
 * Answers, usually later. For a task with partitions: the records of all partitions, by tick;
 * without a task: those of all tasks.
 */
void history_method(struct call *call);
/* The client is gone: the answers are dropped. */
void histories_client_gone(struct methods *m, const struct peer *c);

#endif
