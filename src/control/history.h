/* The method `history`: the records of a task's ticks, as the ledger keeps them. */
#ifndef ZKLEADER_CONTROL_HISTORY_H
#define ZKLEADER_CONTROL_HISTORY_H

#include <stdint.h>

#include "control/methods.h"

/* Answers the client, later as a rule. */
void history_answer(struct methods *m, struct peer *c, uint32_t msgid, const struct task *t);
/* Nobody waits for the answer any more. */
void histories_client_gone(struct methods *m, const struct peer *c);

#endif
