/*
 * One job of a queue: a process of its own begins it at the sidecar, and keeps its command, or its
 * request, within the lease.
 */
#ifndef ZKLEADER_RUNNER_QUEUE_JOB_H
#define ZKLEADER_RUNNER_QUEUE_JOB_H

#include <sys/types.h>

#include "runner/offer.h"
#include "runner/start.h"

/* The number of the process, which lives on without its parent; or a negative errno. */
pid_t start_job(const struct start *s, const struct task_config *queue, const struct offer *offer);

#endif
