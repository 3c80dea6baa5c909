/* The decisions of operators in answers. */
#ifndef ZKLEADER_CONTROL_ANSWER_DECISIONS_H
#define ZKLEADER_CONTROL_ANSWER_DECISIONS_H

#include "node/node.h"
#include "wire/pack.h"

struct listing;

#define DECISIONS_FIELDS 7 /* pairs that decisions_pack_item() writes */

/* A decision, into a map that the caller has opened. */
void decisions_pack_item(struct pack *p, const struct policy_item *item);
/*
 * The key `decisions` and the decisions about the task; for a partition also those about its task.
 */
void decisions_pack(struct pack *p, const struct node *s, const struct task *t);
/* The same for a task with partitions: decisions about it and about any partition. */
void decisions_pack_listing(struct pack *p, const struct node *s, const struct listing *l);
/* The key `drain` and the drain of that node on that machine, nil. */
void decisions_pack_drain(struct pack *p, const struct node *s, const char *node,
			  const char *machine);

#endif
