/* The method `history`: the records of a task's ticks, as the ledger keeps them. */
#ifndef ZKLEADER_CONTROL_HISTORY_H
#define ZKLEADER_CONTROL_HISTORY_H

#include "control/methods.h"

/*
 * Answers, later as a rule. Of a task with partitions: those of all, by tick; without a task: those
 * of all tasks.
 */
void history_method(struct call *call);
/* Nobody waits for the answer any more. */
void histories_client_gone(struct methods *m, const struct peer *c);

#endif
