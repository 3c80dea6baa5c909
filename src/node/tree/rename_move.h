/*
 * Moves what the ledger has under the former name of a renamed task to its new name: the records of
 * runs, some at a time, then the schedule in force and the time of the last good run. Each
 * transaction proves that nobody leads the former name.
 */
#ifndef ZKLEADER_NODE_TREE_RENAME_MOVE_H
#define ZKLEADER_NODE_TREE_RENAME_MOVE_H

#include <stdbool.h>

struct session;

struct rename_move_handlers {
	/* Whether this node is the best candidate for the task, who moves it. */
	bool (*is_best)(void *arg, const char *task);
	/*
	 * To be called at the end of the move, unless the session has ended. wants: what it waits
	 * for, a constant text; NULL: nothing, or the log says it.
	 */
	void (*done)(void *arg, const char *task, bool moved, const char *wants);
	void *arg;
};

/* Looks for something to move, and moves it. The names and the handlers are copied. */
void rename_move_begin(struct session *session, const char *task, const char *former,
		       const struct rename_move_handlers *handlers);

#endif
