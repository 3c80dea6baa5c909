/*
 * The state of the fleet as `watch` has told it: leaders, workers and decisions. A notification is
 * news only if it changes this state.
 */
#ifndef ZKLEADER_CLIENT_PICTURE_H
#define ZKLEADER_CLIENT_PICTURE_H

#include <stdbool.h>

#include <jansson.h>

struct picture {
	json_t *tasks;	   /* the answer's entries by name; NULL: nothing is known yet */
	json_t *workers;   /* by id */
	json_t *decisions; /* by kind, task and node */
};

void picture_done(struct picture *p);
/*
 * Makes it from the answers to `tasks` and `workers`. False if the sidecar had no confirmed
 * session, so that they say nothing.
 */
bool picture_make(struct picture *ret, const json_t *tasks, const json_t *workers);
/* Applies a notification: whether it is news. */
bool picture_leadership(struct picture *p, json_t *change);
bool picture_membership(struct picture *p, json_t *change);
bool picture_decision(struct picture *p, json_t *change);

/*
 * Calls tell for each difference, as if it were a notification: first who left and joined, then
 * decisions, then leaders. The callee may change the object, but not keep it.
 */
void picture_compare(const struct picture *before, const struct picture *now,
		     void (*tell)(void *arg, const char *method, json_t *change), void *arg);

#endif
