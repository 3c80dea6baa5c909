/*
 * Jobs of a queue. A process of its own, with its guard, begins one at the sidecar and keeps its
 * command, or its request, within the lease; then it waits for another one of the queue.
 */
#ifndef ZKLEADER_RUNNER_QUEUE_JOB_H
#define ZKLEADER_RUNNER_QUEUE_JOB_H

#include <sys/types.h>

#include "runner/offer.h"
#include "runner/start.h"

/*
 * The number of the process, which begins the job that is offered, and the socket by which it gets
 * one struct offer after the other then. It ends when that is closed and its job has ended. Or a
 * negative errno.
 */
pid_t start_keeper(const struct start *s, const struct task_config *queue,
		   const struct offer *first, int *ret_offers);

#endif
