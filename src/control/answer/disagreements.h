/* The workers whose configuration of a task differs from that of this sidecar. */
#ifndef ZKLEADER_CONTROL_ANSWER_DISAGREEMENTS_H
#define ZKLEADER_CONTROL_ANSWER_DISAGREEMENTS_H

#include "node/node.h"
#include "wire/pack.h"

/* The key `disagreements` and its value, of limited length. */
void disagreements_pack(struct pack *p, const struct node *s);
/*
 * Whether the worker's files may set that key of the task that it lists at that index: true, too,
 * where its record does not tell which keys they set.
 */
bool disagreements_may_set(const struct worker *w, size_t at, const char *key);

#endif
