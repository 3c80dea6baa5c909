/* The workers whose configuration of a task differs from that of this sidecar. */
#ifndef ZKLEADER_CONTROL_ANSWER_DISAGREEMENTS_H
#define ZKLEADER_CONTROL_ANSWER_DISAGREEMENTS_H

#include "node/node.h"
#include "wire/pack.h"

/* The key `disagreements` and its value, of limited length. */
void disagreements_pack(struct pack *p, const struct node *s);

#endif
