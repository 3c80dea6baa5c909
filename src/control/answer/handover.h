/* For subscribers: the previous leader, why there is a new one, and how long there was none. */
#ifndef ZKLEADER_CONTROL_ANSWER_HANDOVER_H
#define ZKLEADER_CONTROL_ANSWER_HANDOVER_H

#include <stdint.h>

#include "node/election/leaders.h"
#include "wire/pack.h"

/* Number of pairs that handover_pack() writes. */
#define HANDOVER_FIELDS 3

/* After any change of the task. Handovers are recorded while a subscriber watches the task. */
void handover_look(struct task *t);
void handover_forget(struct task *t);
/* The keys `previous`, `reason` and `vacant_ms` of the last handover, as far as observed. */
void handover_pack(struct pack *p, const struct task *t);

#endif
