/*
 * Tasks of a spread group that other workers list and that this node has no file for: they are
 * items of the group's draft all the same, which so follows from the workers' records alone.
 */
#ifndef ZKLEADER_NODE_ELECTION_GROUPS_H
#define ZKLEADER_NODE_ELECTION_GROUPS_H

#include <stdbool.h>
#include <stddef.h>

#include "core/fleet/fleet.h"

struct leaders;

struct guest {
	char *name;
	char *group;
	char *pinned; /* NULL */
	struct contest contest;
	size_t index; /* in the fleet's contests */
};

/* Collects the guests again from the records of the fleet, sorted by name. */
void groups_collect(struct leaders *l);
/* Whether the member lists a guest that is not known. */
bool groups_has_news(const struct leaders *l, const struct member *m);
/* Applies the decisions of operators to the guests. */
void groups_take_decisions(struct leaders *l);
struct guest *groups_find(const struct leaders *l, const char *name);
void groups_done(struct leaders *l);

#endif
