/*
 * Jobs of a queue. A process of its own, with its guard, begins a job at the sidecar and keeps its
 * command or request within the lease. Then it waits for another job of the queue.
 */
#ifndef ZKLEADER_RUNNER_QUEUE_JOB_H
#define ZKLEADER_RUNNER_QUEUE_JOB_H

#include <sys/types.h>

#include "runner/offer.h"
#include "runner/start.h"

/*
 * Starts the process that begins the offered job. Returns its pid, and the socket by which it gets
 * further jobs, each as a struct offer; or a negative errno. The process ends when the socket is
 * closed and its job has ended.
 */
pid_t start_keeper(const struct start *s, const struct task_config *queue,
		   const struct offer *first, int *ret_offers);

#endif
