/* Methods that only read: who leads, the tables, status, and notifications of changes. */
#ifndef ZKLEADER_CONTROL_CHECKS_H
#define ZKLEADER_CONTROL_CHECKS_H

#include "control/ask/methods.h"

void method_check(struct call *call);
void method_tasks(struct call *call);
void method_workers(struct call *call);
void method_explain(struct call *call);
void method_partitions(struct call *call);
void method_status(struct call *call);
void method_subscribe(struct call *call);

#endif
