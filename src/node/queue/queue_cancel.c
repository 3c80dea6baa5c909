/* Cancels a job. */
#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "node/queue/queue_ending.h"
#include "node/queue/queue_op.h"
#include "node/tree/paths.h"

struct cancel {
	struct queue_op op;
	struct job_id id;
	int32_t job_version;
	uint8_t *data; /* the record's bytes */
	struct job_record record;
	job_fn fn;
	void *arg;
};

static struct cancel *of(struct queue_op *op)
{
	return (struct cancel *)op; /* its first member */
}

static void cancel_free(struct queue_op *op)
{
	free(of(op)->data);
	free(op);
}

static void cancel_fail(struct queue_op *op, enum job_outcome outcome, const char *why)
{
	struct cancel *c = of(op);

	c->fn(c->arg, &(struct job_answer){.outcome = outcome, .why = why, .id = c->id});
}

static void done(struct cancel *c)
{
	cancel_fail(&c->op, JOB_DONE, NULL);
	op_end(&c->op);
}

/* A concurrent change has won: all is read again. */
static void once_more(struct cancel *c)
{
	if (++c->op.tries > QUEUE_TRIES_MAX)
		op_fail(&c->op, JOB_NOT_NOW, "others change it all the time");
	else
		op_again(&c->op, 0);
}

static void on_cancelled(void *arg, const struct store_reply *reply)
{
	struct cancel *c = arg;
	struct queue *queue = op_queue(&c->op);

	if (op_took(&c->op, reply))
		return;
	if (reply->code == STORE_OK) {
		done(c);
	} else if (reply->code == STORE_NO_NODE && reply->failed_op == 2 && queue) {
		struct job_ending e = {.queue = queue,
				       .pointer = job_pointer_to(&c->id, 0, false),
				       .next = JOB_NEXT_CANCELLED,
				       .record = &c->record};
		struct queue_folders folders = job_ending_folders(&e);
		op_make_folders(&c->op, &folders);
	} else {
		once_more(c);
	}
}

/* The supervisor of a running job gets this by its watch, and ends the job. */
static void mark(struct cancel *c, const struct job_place *place)
{
	struct at_record at = place->at;
	char path[STORE_PATH_MAX];
	struct buffer bytes;

	if (at.cancelled) {
		done(c);
		return;
	}
	at.cancelled = true;
	buffer_init(&bytes, RECORD_AT_MAX);
	int error = record_pack_at(&bytes, &at);
	assert(error == 0);
	(void)error;
	(void)path_of_at(c->op.queues->registry->settings, c->id.queue, place->node,
			 &c->op.find.pointer, path);
	struct store_op op = {.type = STORE_OP_SET,
			      .path = path,
			      .version = place->at_version,
			      .data = bytes.data,
			      .len = bytes.len};
	queue_multi(op_calls(&c->op), &op, 1, on_cancelled, c);
	buffer_done(&bytes);
}

/* Ends a job that has not begun. */
static void take_away(struct cancel *c, struct queue *queue, const struct job_place *place)
{
	struct job_pointer p = c->op.find.pointer;
	struct store_op ops[ENDING_OPS];
	struct job_ending e;

	job_ending_fill(&c->record, JOB_NEXT_CANCELLED, queues_server_ms(c->op.queues), 0);
	e = (struct job_ending){.queue = queue,
				.pointer = p,
				.next = JOB_NEXT_CANCELLED,
				.record = &c->record,
				.job_version = c->job_version,
				.from_version = place->due ? -1 : place->at_version};
	if (place->due)
		path_of_due(queue_paths(queue), queue->name, place->due_minute, &p, e.from);
	else
		(void)path_of_at(queue_paths(queue), queue->name, place->node, &p, e.from);
	size_t n = job_ending_ops(&e, ops);
	queue_multi(op_calls(&c->op), ops, n, on_cancelled, c);
	job_ending_done(&e);
}

static void on_place(struct queue_op *op, const struct job_place *place)
{
	struct cancel *c = of(op);
	struct queue *queue = op_queue(op);

	if (!queue)
		op_fail(op, JOB_NOT_NOW, "the queue is not configured here any more");
	else if (!place->due && !place->node[0])
		once_more(c);
	else if (strcmp(c->record.state, "running") == 0 && place->node[0])
		mark(c, place);
	else if (strcmp(c->record.state, "queued") == 0)
		take_away(c, queue, place);
	else
		once_more(c);
}

static void on_record(void *arg, const struct store_reply *reply)
{
	struct cancel *c = arg;
	const char *why;

	if (op_took(&c->op, reply))
		return;
	if (reply->code != STORE_OK) {
		op_fail(&c->op, JOB_NOT_THERE, QUEUE_NO_JOB);
		return;
	}
	free(c->data);
	c->data = mem_alloc(reply->len + 1);
	memcpy(c->data, reply->data ? reply->data : "", reply->len);
	c->job_version = reply->stat.version;
	if (record_parse_job(c->data, reply->len, &c->record, &why) != 0)
		op_fail(&c->op, JOB_NOT_SO, why);
	else if (c->record.purged)
		op_fail(&c->op, JOB_NOT_THERE, QUEUE_NO_JOB);
	else if (strcmp(c->record.state, "cancelled") == 0)
		done(c); /* perhaps by this request, whose answer was lost */
	else if (c->record.ended > 0)
		op_fail(&c->op, JOB_NOT_SO, "it has ended");
	else
		queue_find_place(&c->op, &c->id, c->record.due, on_place);
}

static void cancel_step(struct queue_op *op)
{
	char path[STORE_PATH_MAX];

	path_of_job(op->queues->registry->settings, &of(op)->id, path);
	op_confirm(op);
	queue_get(op_calls(op), path, on_record, op);
}

void queues_cancel(struct queues *q, const struct job_id *id, const char *by, job_fn fn, void *arg)
{
	struct cancel *c = mem_calloc(1, sizeof(*c));

	(void)by;
	c->op.step = cancel_step;
	c->op.fail = cancel_fail;
	c->op.free = cancel_free;
	c->id = *id;
	c->fn = fn;
	c->arg = arg;
	op_begin(q, &c->op, id->queue);
}
