/* Counts, by owner, the leader nodes of tasks that this sidecar does not have itself. */
#ifndef ZKLEADER_NODE_FLEET_SURVEY_H
#define ZKLEADER_NODE_FLEET_SURVEY_H

#include <stdbool.h>
#include <stddef.h>

#include "node/fleet/registry.h"

struct survey;

/* Whether a leader node of that name is of one of our own tasks. */
typedef bool survey_ours_fn(const void *arg, const char *name);

/*
 * Asks ZooKeeper; done is called once, unless survey_free() comes first. Needs a session that is
 * up.
 */
struct survey *survey_start(struct registry *r, survey_ours_fn *ours, const void *ours_arg,
			    void (*done)(void *arg), void *arg);
bool survey_is_done(const struct survey *s);
/* Calls fn for each of those tasks that a member leads. */
void survey_each(const struct survey *s, void (*fn)(void *arg, const struct member *m), void *arg);
/* Frees a survey, even before it is done. Takes NULL. */
void survey_free(struct survey *s);

#endif
