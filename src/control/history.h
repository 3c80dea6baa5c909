/* The method `history`: the records of a task's ticks, as the ledger keeps them. */
#ifndef ZKLEADER_CONTROL_HISTORY_H
#define ZKLEADER_CONTROL_HISTORY_H

#include <stdint.h>

struct client;
struct sidecar;
struct task;

/* Answers the client, later as a rule. */
void history_answer(struct sidecar *s, struct client *c, uint32_t msgid, const struct task *t);

#endif
