/*
 * Where one member stands in the ranking of a task, kept up to date while others join and leave.
 * The answer is that of fleet_stand(), which looks at the whole fleet; a tally compares only the
 * member that joins or leaves. A part of the fleet: fleet.c tells each tally of every change.
 */
#ifndef ZKLEADER_CORE_TALLY_H
#define ZKLEADER_CORE_TALLY_H

#include "core/fleet.h"

/* All zero knows nothing, and is as good as any. */
struct tally {
	bool known;
	const struct member *self; /* of whom it is, NULL */
	bool self_candidate;
	uint64_t self_rank;
	struct ranked best; /* its member is NULL: there is no candidate */
	size_t ahead;	    /* candidates that beat self */
};

/* The contest has changed, or which members have resigned from it. */
void tally_forget(struct tally *t);
/*
 * After that member was added to the fleet, and before it is removed; and where it is drained or
 * not any more, before as if it left and behind as if it joined. All of them have to be told.
 */
void tally_joined(struct tally *t, const struct fleet *f, const struct contest *c, size_t index,
		  const struct member *m);
void tally_left(struct tally *t, const struct fleet *f, const struct contest *c, size_t index,
		const struct member *m);
/* The same as fleet_stand() for that member, NULL: for none. */
struct standing tally_stand(struct tally *t, const struct fleet *f, const struct contest *c,
			    size_t index, const struct member *self);

/* For each contest of the fleet, behind a member's coming and before its going. */
void tally_all_joined(struct fleet *f, const struct member *m);
void tally_all_left(struct fleet *f, const struct member *m);
void tally_forget_all(struct fleet *f);

#endif
