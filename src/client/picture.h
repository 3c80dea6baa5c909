/*
 * What is known of the fleet while it is watched: who leads what, which workers there are, what has been
 * decided. A change is news only if it makes the picture another one.
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
 * From the answers to `tasks` and `workers`; false where they are not worth anything, as the sidecar has
 * no confirmed session.
 */
bool picture_make(struct picture *ret, const json_t *tasks, const json_t *workers);
/* Takes a notification in: whether it is news. */
bool picture_leadership(struct picture *p, json_t *change);
bool picture_membership(struct picture *p, json_t *change);
bool picture_decision(struct picture *p, json_t *change);

/*
 * Calls tell with a change of the kind of a notification (its method) for each difference, in the order
 * in which such a thing happens: who left and joined, what was decided, who leads. The change is the
 * callee's to alter, not to keep.
 */
void picture_compare(const struct picture *before, const struct picture *now,
		     void (*tell)(void *arg, const char *method, json_t *change), void *arg);

#endif
