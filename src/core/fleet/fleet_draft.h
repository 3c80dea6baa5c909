/*
 * The drafts of a fleet: contests that are decided together, those of the partitions of a task or
 * of the tasks of a spread group. The owners are computed when they are asked for, and again only
 * after a change that may affect them. A part of the fleet (fleet.c).
 */
#ifndef ZKLEADER_CORE_FLEET_FLEET_DRAFT_H
#define ZKLEADER_CORE_FLEET_FLEET_DRAFT_H

#include <stdbool.h>
#include <stddef.h>

#include "core/fleet/fleet.h"

struct fleet_draft {
	const char *name;
	bool partitioned; /* into partitions of the task; else the tasks of a group */
	size_t limit;	  /* 0: none */
	size_t n;
	size_t *indexes;	      /* contests in the order of the items; owned */
	bool known;		      /* owners is up to date */
	const struct member **owners; /* owners of the items, NULL: nobody; owned array */
	bool next_known;	      /* next is up to date */
	const struct member **next;   /* the successors if the owner leaves; likewise */
	/*
	 * The member that took the last item, if all items were taken in the first pass and in the
	 * first turn of its tier: a member that comes behind it gets nothing. Else NULL.
	 */
	const struct member *last;
};

/* Makes the drafts of the fleet's contests, which have just been set. */
void fleet_drafts_set(struct fleet *f);
void fleet_drafts_done(struct fleet *f);
/*
 * To be called after a member was added; before one is removed; after a contest, or everything, has
 * changed.
 */
void fleet_drafts_joined(struct fleet *f, const struct member *m);
void fleet_drafts_left(struct fleet *f, const struct member *m);
void fleet_draft_changed(struct fleet *f, size_t index);
void fleet_drafts_forget(struct fleet *f);

/* The member drafted for the contest. NULL: none, or the contest is in no draft. */
const struct member *fleet_draft_owner(const struct fleet *f, size_t index);
/* Turns a standing by rank into the standing by the contest's draft. */
void fleet_draft_stand(const struct fleet *f, const struct contest *c, size_t index,
		       struct standing *s);

#endif
