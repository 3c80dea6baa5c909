/* The choice of the worker that gets the next job of a queue. */
#ifndef ZKLEADER_CORE_QUEUE_ASSIGN_H
#define ZKLEADER_CORE_QUEUE_ASSIGN_H

#include <stddef.h>
#include <stdint.h>

#include "core/queue/queue_settings.h"

struct assign_worker {
	unsigned slots, running; /* running: jobs assigned to it that have not ended */
};

#define ASSIGN_NOBODY SIZE_MAX

/*
 * The index of a worker with a free slot, or ASSIGN_NOBODY if all are busy. *cursor is the last
 * worker picked: round robin goes on behind it, and equally loaded workers are picked in rotation.
 * draw is a random number.
 */
size_t assign_pick(enum queue_assign how, const struct assign_worker *workers, size_t n,
		   size_t *cursor, uint32_t draw);

#endif
