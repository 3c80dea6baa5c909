/* Problems of the fleet: versions, pins, and tasks that nobody leads. */
#ifndef ZKLEADER_CONTROL_ANSWER_FLEET_TROUBLES_H
#define ZKLEADER_CONTROL_ANSWER_FLEET_TROUBLES_H

#include "config/text/problem.h"
#include "node/node.h"

void fleet_troubles_find(const struct node *n, struct problems *problems);

#endif
