/*
 * The operations by which a transaction proves that nobody leads a task: not as a whole, and none
 * of its partitions, whatever number of them was in force before. Where that number is not known,
 * as its znode is gone or damaged, there is nothing else to go by. A leader node is made and
 * deleted for each of the 256 that there may be, which fails while it is there. That is some 50 KB
 * each time that a number is put in force, and costs claims nothing: to prove it by the version of
 * a znode would need a write to that in each claim, and fail as long as others claim.
 */
#ifndef ZKLEADER_NODE_TREE_UNLED_H
#define ZKLEADER_NODE_TREE_UNLED_H

#include "base/buffer.h"
#include "base/text/name.h"
#include "node/settings.h"
#include "node/store.h"

#define UNLED_OPS   (2 * NAME_PARTITIONS_MAX + 3)
#define UNLED_PATHS (NAME_PARTITIONS_MAX + 2)

/* The marker in the place of the leader node of the whole, before the transaction and after it. */
enum unled_marker {
	UNLED_MAKES, /* nothing is there: the marker is made */
	UNLED_KEEPS, /* the marker is there, and stays */
	UNLED_DROPS, /* the marker is there, and goes */
	UNLED_NONE   /* nothing is there, and nothing will be */
};

struct unled {
	struct store_op ops[UNLED_OPS];
	size_t n;
	char paths[UNLED_PATHS][STORE_PATH_MAX];
};

/* The struct is too big for the stack. marker: what is written, borrowed. */
void unled_init(struct unled *u, const struct node_settings *s, const char *task,
		enum unled_marker marker, const struct buffer *data);
/*
 * Gives the leader node because of which the operation of that index failed. Returns whether it is
 * that of a partition, not of the whole.
 */
bool unled_culprit(const struct node_settings *s, const char *task, enum unled_marker marker,
		   size_t op, char path[STORE_PATH_MAX]);

#endif
