/* The method `metrics`: counters and gauges for zkleader-web. */
#ifndef ZKLEADER_CONTROL_METRICS_H
#define ZKLEADER_CONTROL_METRICS_H

#include "control/ask/methods.h"

void method_metrics(struct call *call);

#endif
