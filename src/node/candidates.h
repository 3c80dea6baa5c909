/*
 * Who may lead each task, as this node sees it: the best of the fleet, and what operators and runs
 * that were lost change of that. Each election is told its view.
 */
#ifndef ZKLEADER_NODE_CANDIDATES_H
#define ZKLEADER_NODE_CANDIDATES_H

#include <stdbool.h>

#include "base/name.h"
#include "core/fleet.h"

struct leaders;
struct task;

/* Of a task. */
struct task_standing {
	const char *best_id; /* of the best, if that is another, ""; one of leaders.ids */
	bool paused;	     /* by an operator: nobody in the fleet may lead it */
	char *pinned;	     /* the version that an operator has pinned it to, NULL */
};

/* Who may lead it is decided by its settings as they are now; a new one is not in the fleet yet. */
void candidates_configure(struct task *t, bool is_new);
/* The task is about to be freed. */
void candidates_forget(struct task *t);
void candidates_joined(struct leaders *l, struct member *m);
/* After these, or what has been decided is other. */
void candidates_changed(struct leaders *l);

#endif
