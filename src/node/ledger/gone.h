/*
 * The ledgers of former partitions: those that a change of the number removed, and that of the
 * whole task once it is split. They are readable as long as partition 0 (or the whole, if that is
 * led now) keeps ticks of that age; its leader prunes them with its claims. Each keeps its folder
 * with the oldest tick that pruning has left, so ticks claimed there stay claimed for ever, even if
 * the number is changed back.
 */
#ifndef ZKLEADER_NODE_LEDGER_GONE_H
#define ZKLEADER_NODE_LEDGER_GONE_H

struct task;

/*
 * A claim of t has pruned its own ledger: `floor` is the oldest tick that it kept. At most one
 * transaction follows.
 */
void gone_prune(struct task *t, const char *floor);
/* The task is about to be freed. */
void gone_forget(struct task *t);

#endif
