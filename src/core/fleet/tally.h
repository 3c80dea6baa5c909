/*
 * The standing of one member in the ranking of a task, kept up to date while others join and leave.
 * The result is that of fleet_stand(), which searches the whole fleet; a tally compares only the
 * member that joins or leaves. A part of the fleet: fleet.c reports every change to each tally.
 */
#ifndef ZKLEADER_CORE_FLEET_TALLY_H
#define ZKLEADER_CORE_FLEET_TALLY_H

#include "core/fleet/fleet.h"

/* A tally. All zero is a valid one that knows nothing. */
struct tally {
	bool known;
	const struct member *self; /* the member whose standing it is; NULL: none */
	bool self_candidate;
	uint64_t self_rank;
	struct ranked best; /* its member is NULL: there is no candidate */
	size_t ahead;	    /* candidates that beat self */
};

/* The contest or its resignations have changed. */
void tally_forget(struct tally *t);
/*
 * To be called after a member was added, and before it is removed. A change of its drain counts as
 * leaving before and joining afterwards. No change may be left out.
 */
void tally_joined(struct tally *t, const struct fleet *f, const struct contest *c, size_t index,
		  const struct member *m);
void tally_left(struct tally *t, const struct fleet *f, const struct contest *c, size_t index,
		const struct member *m);
/* Returns the same as fleet_stand() for that member, or for none if NULL. */
struct standing tally_stand(struct tally *t, const struct fleet *f, const struct contest *c,
			    size_t index, const struct member *self);

/* The same for each contest of the fleet. */
void tally_all_joined(struct fleet *f, const struct member *m);
void tally_all_left(struct fleet *f, const struct member *m);
void tally_forget_all(struct fleet *f);

#endif
