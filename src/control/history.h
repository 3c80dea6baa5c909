/* The method `history`: the records of a task's ticks, as the ledger keeps them. */
#ifndef ZKLEADER_CONTROL_HISTORY_H
#define ZKLEADER_CONTROL_HISTORY_H

#include <stdint.h>

#include "control/methods.h"

struct subject;

/* Answers the client, later as a rule. Of a task with partitions: those of all, by tick. */
void history_answer(struct methods *m, struct peer *c, uint32_t msgid, const struct subject *s);
/* Whether it names a partition of a known task, which it may have now or may have had. */
bool history_is_of_partition(const struct node *n, struct reader_text name);
void history_answer_partition(struct methods *m, struct peer *c, uint32_t msgid,
			      struct reader_text name);
/* Nobody waits for the answer any more. */
void histories_client_gone(struct methods *m, const struct peer *c);

#endif
