/* Reads the record of a job, now or once the job has ended. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "node/queue/queue_op.h"
#include "node/tree/paths.h"

struct look {
	uint8_t *data; /* the record's bytes */
	struct job_record record;
};

struct read {
	struct queue_op op;
	struct job_id id;
	int64_t until_ms; /* CLOCK_BOOTTIME: waits for the end until then; 0: no wait */
	bool sure;	  /* the next read follows a confirmation */
	char *path;
	struct look *look; /* the record during a step; NULL in between, as thousands may wait */
	const void *owner; /* the client; NULL: nobody who may go */
	job_fn fn;
	void *arg;
};

static struct read *of(struct queue_op *op)
{
	return (struct read *)op; /* its first member */
}

static void forget_look(struct read *r)
{
	if (r->look)
		free(r->look->data);
	free(r->look);
	r->look = NULL;
}

static void read_free(struct queue_op *op)
{
	struct read *r = of(op);

	queue_unwatch(op_calls(op), r->path, WATCH_NODE, op);
	forget_look(r);
	free(r->path);
	free(op);
}

static void tell(struct read *r, enum job_outcome outcome, const char *why,
		 const struct job_record *record)
{
	r->fn(r->arg,
	      &(struct job_answer){.outcome = outcome, .why = why, .id = r->id, .record = record});
}

static void read_fail(struct queue_op *op, enum job_outcome outcome, const char *why)
{
	/* A read changes nothing: that its outcome is unknown means that nobody answered. */
	tell(of(op), outcome == JOB_UNKNOWN ? JOB_NO_SESSION : outcome, why, NULL);
}

static bool has_ended(const struct job_record *j)
{
	return j->ended > 0;
}

static void done(struct read *r)
{
	tell(r, JOB_DONE, NULL, &r->look->record);
	op_end(&r->op);
}

/* Queued, or assigned and not begun. */
static void on_place(struct queue_op *op, const struct job_place *place)
{
	struct read *r = of(op);
	struct job_record *job = &r->look->record;

	if (place->node[0]) {
		snprintf(job->state, sizeof(job->state), "assigned");
		memcpy(job->node, place->node, sizeof(job->node));
	}
	done(r);
}

static void on_record(void *arg, const struct store_reply *reply)
{
	struct read *r = arg;
	int64_t now = queues_now(r->op.queues);
	const char *why;

	if (op_took(&r->op, reply))
		return;
	if (reply->code != STORE_OK && !r->sure) {
		r->sure = true; /* another host may have made it a moment ago */
		op_again(&r->op, 0);
		return;
	}
	if (reply->code != STORE_OK) {
		op_fail(&r->op, JOB_NOT_THERE, QUEUE_NO_JOB);
		return;
	}
	forget_look(r);
	r->look = mem_calloc(1, sizeof(*r->look));
	r->look->data = mem_alloc(reply->len + 1);
	if (reply->len > 0)
		memcpy(r->look->data, reply->data, reply->len);
	struct job_record *job = &r->look->record;
	if (record_parse_job(r->look->data, reply->len, job, &why) != 0) {
		op_fail(&r->op, JOB_NOT_SO, why);
	} else if (job->purged) {
		op_fail(&r->op, JOB_NOT_THERE, QUEUE_NO_JOB);
	} else if (has_ended(job) || (now >= r->until_ms && job->state[0] != 'q')) {
		done(r);
	} else if (now >= r->until_ms) {
		queue_find_place(&r->op, &r->id, job->due, on_place);
	} else {
		forget_look(r);
		op_sleep(&r->op, r->path, r->until_ms - now);
	}
}

static void read_step(struct queue_op *op)
{
	struct read *r = of(op);

	if (r->sure)
		op_confirm(op);
	if (queues_now(op->queues) < r->until_ms)
		queue_watch(op_calls(op), r->path, WATCH_WAIT, on_record, r);
	else
		queue_get(op_calls(op), r->path, on_record, r);
}

static void forget_owner(struct queue_op_list *list, const void *owner)
{
	for (struct queue_op *op = TAILQ_FIRST(list), *next; op; op = next) {
		next = TAILQ_NEXT(op, link);
		if (op->step == read_step && of(op)->owner == owner)
			op_end(op);
	}
}

void queue_reads_owner_gone(struct queues *q, const void *owner)
{
	forget_owner(&q->waiting, owner);
	forget_owner(&q->others, owner);
}

void queues_read(struct queues *q, const struct job_id *id, int64_t wait_ms, const void *owner,
		 job_fn fn, void *arg)
{
	struct read *r = mem_calloc(1, sizeof(*r));
	int64_t now = queues_now(q);
	char path[STORE_PATH_MAX];

	r->op.step = read_step;
	r->op.fail = read_fail;
	r->op.free = read_free;
	r->id = *id;
	r->until_ms = wait_ms > 0 ? now + wait_ms : 0;
	r->op.deadline_ms = (wait_ms > 0 ? r->until_ms : now) + QUEUE_PATIENCE_MS;
	r->fn = fn;
	r->arg = arg;
	r->owner = owner;
	path_of_job(q->registry->settings, id, path);
	r->path = mem_strdup(path);
	op_begin(q, &r->op, id->queue);
}
