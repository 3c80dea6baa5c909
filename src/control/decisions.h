/* What operators have decided, as answers have it. */
#ifndef ZKLEADER_CONTROL_DECISIONS_H
#define ZKLEADER_CONTROL_DECISIONS_H

#include "node/node.h"
#include "wire/pack.h"

struct listing;

#define DECISIONS_FIELDS 7 /* that decisions_pack_item() writes */

/* What somebody has decided, into a map that the caller has opened. */
void decisions_pack_item(struct pack *p, const struct policy_item *item);
/* The key `decisions` and what has been decided about the task; of a partition, its task's too. */
void decisions_pack(struct pack *p, const struct node *s, const struct task *t);
/* The same of a task with partitions: about it and about any of them. */
void decisions_pack_listing(struct pack *p, const struct node *s, const struct listing *l);
/* The key `drain` and who drained that node on that machine, nil. */
void decisions_pack_drain(struct pack *p, const struct node *s, const char *node,
			  const char *machine);

#endif
