/* Which worker gets the next job of a queue. */
#ifndef ZKLEADER_CORE_ASSIGN_H
#define ZKLEADER_CORE_ASSIGN_H

#include <stddef.h>
#include <stdint.h>

#include "core/queue_settings.h"

struct assign_worker {
	unsigned slots, running; /* what it was given, and has not ended */
};

#define ASSIGN_NOBODY SIZE_MAX

/*
 * One with a free slot, ASSIGN_NOBODY: all are busy. *cursor is where the last search ended: for
 * round robin, and so that of those that are equally loaded each has its turn. draw: random.
 */
size_t assign_pick(enum queue_assign how, const struct assign_worker *workers, size_t n,
		   size_t *cursor, uint32_t draw);

#endif
