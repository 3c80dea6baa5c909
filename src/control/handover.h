/* Who led a task before, why another does now, and for how long nobody did: for subscribers. */
#ifndef ZKLEADER_CONTROL_HANDOVER_H
#define ZKLEADER_CONTROL_HANDOVER_H

#include <stdint.h>

#include "node/leaders.h"
#include "wire/pack.h"

/* How many pairs handover_pack() writes. */
#define HANDOVER_FIELDS 3

/* After anything about the task has changed. It is kept in mind while somebody watches the task. */
void handover_look(struct task *t);
void handover_forget(struct task *t);
/* The keys `previous`, `reason` and `vacant_ms` of how it is now, as far as that has been seen. */
void handover_pack(struct pack *p, const struct task *t);

#endif
