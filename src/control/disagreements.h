/* The workers that go by something else for a task than this sidecar does. */
#ifndef ZKLEADER_CONTROL_DISAGREEMENTS_H
#define ZKLEADER_CONTROL_DISAGREEMENTS_H

#include "node/node.h"
#include "wire/pack.h"

/* The key `disagreements` and its value: as many as are shown. */
void disagreements_pack(struct pack *p, const struct node *s);

#endif
