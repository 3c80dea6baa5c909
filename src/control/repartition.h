/* The method `repartition`: another number of partitions of a task is put in force. */
#ifndef ZKLEADER_CONTROL_REPARTITION_H
#define ZKLEADER_CONTROL_REPARTITION_H

#include "control/methods.h"

void repartition(struct call *call);
/* Nobody waits for the answer any more. */
void repartitions_client_gone(struct methods *m, const struct peer *c);

#endif
