/* An id of now for a job that is not there yet: asks for the time of jobs. */
#include <stdlib.h>

#include "base/mem.h"
#include "node/queue/queue_op.h"

#define AGAIN_MS 100 /* while the time is not known */

struct stamp {
	struct queue_op op;
	struct job_id id;
	job_fn fn;
	void *arg;
};

static void stamp_fail(struct queue_op *op, enum job_outcome outcome, const char *why)
{
	struct stamp *s = (struct stamp *)op; /* its first member */

	s->fn(s->arg, &(struct job_answer){.outcome = outcome, .why = why, .id = s->id});
}

static void stamp_step(struct queue_op *op)
{
	struct stamp *s = (struct stamp *)op;

	if (!queues_may_begin(op->queues)) {
		op_again(op, AGAIN_MS);
		return;
	}
	s->id.minute = queues_server_ms(op->queues) / JOB_MINUTE_MS;
	op_fail(op, JOB_DONE, NULL);
}

static void stamp_free(struct queue_op *op)
{
	free(op);
}

void queues_stamp(struct queues *q, const struct job_id *id, job_fn fn, void *arg)
{
	struct stamp *s = mem_calloc(1, sizeof(*s));

	s->op.step = stamp_step;
	s->op.fail = stamp_fail;
	s->op.free = stamp_free;
	s->id = *id;
	s->fn = fn;
	s->arg = arg;
	op_begin(q, &s->op, id->queue);
}
