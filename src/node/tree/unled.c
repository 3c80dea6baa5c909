#include "node/tree/unled.h"

#include <stdio.h>

#include "node/tree/paths.h"

/* The number of operations before those about partitions. */
static const size_t before_partitions[] = {
	[UNLED_MAKES] = 1, [UNLED_KEEPS] = 2, [UNLED_DROPS] = 3, [UNLED_NONE] = 2};

static void add(struct unled *u, enum store_op_type type, const char *path)
{
	u->ops[u->n++] = (struct store_op){.type = type, .path = path, .version = -1};
}

static void partition_path(const struct node_settings *s, const char *task, unsigned k,
			   char path[STORE_PATH_MAX])
{
	char name[NAME_TASK_MAX + sizeof(":4294967295")];

	snprintf(name, sizeof(name), "%s:%u", task, k);
	path_of(s, PATH_LEADERS, name, path);
}

/*
 * Adds the operations about the task as a whole. The marker and a leader's node may have the same
 * version. But nothing can be made below an ephemeral node, as a leader's node is.
 */
static void add_whole(struct unled *u, const struct node_settings *s, const char *task,
		      enum unled_marker marker, const struct buffer *data)
{
	char *whole = u->paths[0], *below = u->paths[1];

	path_of(s, PATH_LEADERS, task, whole);
	if (marker == UNLED_MAKES || marker == UNLED_NONE)
		add(u, STORE_OP_CREATE, whole);
	if (marker == UNLED_MAKES) {
		u->ops[0].data = data->data;
		u->ops[0].len = data->len;
	}
	if (marker == UNLED_KEEPS || marker == UNLED_DROPS) {
		snprintf(below, STORE_PATH_MAX, "%.*s/none", STORE_PATH_MAX - 6, whole);
		add(u, STORE_OP_CREATE, below);
		add(u, STORE_OP_DELETE, below);
	}
	if (marker == UNLED_DROPS || marker == UNLED_NONE)
		add(u, STORE_OP_DELETE, whole);
}

void unled_init(struct unled *u, const struct node_settings *s, const char *task,
		enum unled_marker marker, const struct buffer *data)
{
	u->n = 0;
	add_whole(u, s, task, marker, data);
	for (unsigned k = 0; k < NAME_PARTITIONS_MAX; k++) {
		char *path = u->paths[2 + k];

		partition_path(s, task, k, path);
		add(u, STORE_OP_CREATE, path);
		add(u, STORE_OP_DELETE, path);
	}
}

bool unled_culprit(const struct node_settings *s, const char *task, enum unled_marker marker,
		   size_t op, char path[STORE_PATH_MAX])
{
	size_t first = before_partitions[marker];

	if (op < first)
		path_of(s, PATH_LEADERS, task, path);
	else
		partition_path(s, task, (unsigned)(op - first) / 2, path);
	return op >= first;
}
