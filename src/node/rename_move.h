/* What the ledger has under the other name of a task that was renamed comes under its own. */
#ifndef ZKLEADER_NODE_RENAME_MOVE_H
#define ZKLEADER_NODE_RENAME_MOVE_H

struct renames;
struct task;

/* Looks for it, and moves it if this is the best candidate; r->busy until that is over. */
void rename_move_begin(struct renames *r, const struct task *t);

#endif
