/*
 * The ledgers of what a task was led by before: of the partitions that are no more since their
 * number was changed, and of the task as a whole once it is split. They can be read as long as
 * partition 0 (or the whole, where that is led now) keeps ticks of that age. Who leads that prunes
 * them with its claims. Each keeps its folder, with the oldest tick that pruning has left: what was
 * claimed there stays claimed for ever, also where the number is changed back.
 */
#ifndef ZKLEADER_NODE_GONE_H
#define ZKLEADER_NODE_GONE_H

struct task;

/* NULL while there is nothing to prune. */
struct task_gone {
	struct gone *state;
};

/*
 * A claim of t has pruned its own ledger: `floor` is the oldest tick that it has kept. One
 * transaction follows at the most.
 */
void gone_prune(struct task *t, const char *floor);
/* The task is about to be freed. */
void gone_forget(struct task *t);

#endif
