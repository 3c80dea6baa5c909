/*
 * The candidates of each task, as this node sees them: the best of the fleet, adjusted by the
 * decisions of operators and by lost runs. Each election is told its view.
 */
#ifndef ZKLEADER_NODE_ELECTION_CANDIDATES_H
#define ZKLEADER_NODE_ELECTION_CANDIDATES_H

#include <stdbool.h>

#include "base/text/name.h"
#include "core/fleet/fleet.h"

struct leaders;
struct task;

/* The candidates of a task. */
struct task_standing {
	const char *best_id; /* of the best, if that is another, ""; one of leaders.ids */
	bool paused;	     /* by an operator: nobody in the fleet may lead it */
	char *pinned;	     /* the version that an operator has pinned it to, NULL */
};

/* Computes the candidates from the present settings; a new task is not in the fleet yet. */
void candidates_configure(struct task *t, bool is_new);
/* The task is about to be freed. */
void candidates_forget(struct task *t);
void candidates_joined(struct leaders *l, struct member *m);
/* Called after these, and when the decisions of operators have changed. */
void candidates_changed(struct leaders *l);

#endif
