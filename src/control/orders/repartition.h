/* The method `repartition`: changes the number of partitions of a task. */
#ifndef ZKLEADER_CONTROL_ORDERS_REPARTITION_H
#define ZKLEADER_CONTROL_ORDERS_REPARTITION_H

#include "control/ask/methods.h"

void repartition(struct call *call);

#endif
