/*
 * The state of the fleet as printed by `watch`: leaders, workers and decisions. A notification is
 * news only if it changes this state.
 */
#ifndef ZKLEADER_CLI_UI_SNAPSHOT_H
#define ZKLEADER_CLI_UI_SNAPSHOT_H

#include <stdbool.h>

#include <jansson.h>

struct snapshot {
	json_t *tasks;	   /* the answer's entries by name; NULL: nothing is known yet */
	json_t *workers;   /* by id */
	json_t *decisions; /* by kind, task and node */
};

void snapshot_done(struct snapshot *s);
/*
 * Makes the state from the answers to `tasks` and `workers`. False if the sidecar had no confirmed
 * session: the answers then say nothing about the fleet.
 */
bool snapshot_make(struct snapshot *ret, const json_t *tasks, const json_t *workers);
/* Applies a notification. Returns whether it was news. */
bool snapshot_leadership(struct snapshot *s, json_t *change);
bool snapshot_membership(struct snapshot *s, json_t *change);
bool snapshot_decision(struct snapshot *s, json_t *change);

/*
 * Calls tell for each difference, as if it were a notification: first members that left or joined,
 * then decisions, then leaders. tell may change `change`, but not keep it.
 */
void snapshot_compare(const struct snapshot *before, const struct snapshot *now,
		      void (*tell)(void *arg, const char *method, json_t *change), void *arg);

#endif
