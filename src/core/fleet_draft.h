/*
 * The drafts of a fleet: contests that are won together, the partitions of a task or the tasks of a
 * spread group. Who is best for each of them follows from the fleet and is worked out when somebody
 * asks, and again only when something has changed that it may depend on. A part of the fleet
 * (fleet.c).
 */
#ifndef ZKLEADER_CORE_FLEET_DRAFT_H
#define ZKLEADER_CORE_FLEET_DRAFT_H

#include <stdbool.h>
#include <stddef.h>

#include "core/fleet.h"

struct fleet_draft {
	const char *name;
	bool partitioned; /* into partitions of the task; else the tasks of a group */
	size_t limit;	  /* 0: none */
	size_t n;
	size_t *indexes;	      /* of the contests, in the order of the items; owned */
	bool known;		      /* the owners are right */
	const struct member **owners; /* of the items, NULL: nobody; owned array */
	bool next_known;
	const struct member **next; /* who is drafted if the owner leaves; likewise */
	/*
	 * All was taken in the first pass, and this one took last, in the first turn of its tier:
	 * whoever comes behind it finds nothing left. NULL: that is not so.
	 */
	const struct member *last;
};

/* The drafts of the fleet's contests, which have just been set. */
void fleet_drafts_set(struct fleet *f);
void fleet_drafts_done(struct fleet *f);
/* After that member was added, and before it is removed; a contest is another; all is. */
void fleet_drafts_joined(struct fleet *f, const struct member *m);
void fleet_drafts_left(struct fleet *f, const struct member *m);
void fleet_draft_changed(struct fleet *f, size_t index);
void fleet_drafts_forget(struct fleet *f);

/* Who is drafted for the contest, NULL: nobody, or it is in no draft. */
const struct member *fleet_draft_owner(const struct fleet *f, size_t index);
/* For how many items of that contest's draft the member is drafted. */
size_t fleet_draft_count(const struct fleet *f, size_t index, const struct member *m);
/* Makes of a standing by rank the one by the contest's draft. */
void fleet_draft_stand(const struct fleet *f, const struct contest *c, size_t index,
		       struct standing *s);

#endif
