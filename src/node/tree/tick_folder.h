/* The folder of a task's ticks in its ledger: a child for each tick that is kept. */
#ifndef ZKLEADER_NODE_TREE_TICK_FOLDER_H
#define ZKLEADER_NODE_TREE_TICK_FOLDER_H

#include <stddef.h>

#include "core/time/tick.h"
#include "node/store.h"

/* The oldest tick that pruning has left, from the task's folder; "": never pruned. */
void tick_folder_floor(const struct store_reply *reply, char floor[TICK_NAME_SIZE]);
/* The ticks of a listing of the ledger, sorted; the caller frees the array. */
char (*tick_folder_names(const struct store_reply *reply, size_t *ret_n))[TICK_NAME_SIZE];

#endif
