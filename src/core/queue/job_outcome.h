/* The consequence of the end of a job's attempt. */
#ifndef ZKLEADER_CORE_QUEUE_JOB_OUTCOME_H
#define ZKLEADER_CORE_QUEUE_JOB_OUTCOME_H

#include <stdbool.h>
#include <stdint.h>

#include "core/queue/attempt.h"
#include "core/queue/queue_settings.h"

enum job_next { JOB_NEXT_OK, JOB_NEXT_DEAD, JOB_NEXT_LOST, JOB_NEXT_CANCELLED, JOB_NEXT_AGAIN };

struct job_attempt {
	enum attempt_how how;
	int64_t number;	  /* 1 for the first since it was submitted or requeued */
	int64_t retry_ms; /* delay that the receiver of a post asked for; -1: none */
	uint32_t draw;	  /* random */
};

/* JOB_NEXT_AGAIN: *ret_delay_ms is the delay until then. */
enum job_next job_outcome(const struct queue_settings *s, const struct job_attempt *a,
			  int64_t *ret_delay_ms);
/* min(backoff-max, backoff × 2^(number-1)) × uniform(0.5, 1) */
int64_t job_backoff_ms(const struct queue_settings *s, int64_t number, uint32_t draw);

#endif
