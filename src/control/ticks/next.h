/* The method `next`: when tasks are due, by their schedules. */
#ifndef ZKLEADER_CONTROL_TICKS_NEXT_H
#define ZKLEADER_CONTROL_TICKS_NEXT_H

#include "control/ask/methods.h"

#define NEXT_EACH_MAX 1000  /* instants of a task */
#define NEXT_ALL_MAX  20000 /* of all tasks of a request */

void method_next(struct call *call);

#endif
