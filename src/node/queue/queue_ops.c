#include <stdlib.h>
#include <string.h>

#include "base/log/log.h"
#include "node/queue/queue_op.h"

#define LOOK_MS 1000 /* while there are any */

/* --- the lists: those that wait for their turn, and the others ------------ */

static struct queue_op_list *list_of(struct queue_op *op)
{
	return op->state == OP_WAITING ? &op->queues->waiting : &op->queues->others;
}

static void unlink_op(struct queue_op *op)
{
	TAILQ_REMOVE(list_of(op), op, link);
}

static void link_op(struct queue_op *op, enum queue_op_state state)
{
	op->state = state;
	TAILQ_INSERT_TAIL(list_of(op), op, link);
}

static void move(struct queue_op *op, enum queue_op_state state)
{
	unlink_op(op);
	link_op(op, state);
}

/* The others are checked in so many ms at the latest. */
static void look_in(struct queues *q, int64_t in_ms)
{
	int64_t at = queues_now(q) + in_ms;

	if (at < q->look_ms)
		q->look_ms = at;
	queues_wake(q, in_ms);
}

struct queue *op_queue(const struct queue_op *op)
{
	return queue_find(op->queues, op->queue);
}

struct queue_calls *op_calls(const struct queue_op *op)
{
	return &op->queues->calls;
}

void op_confirm(struct queue_op *op)
{
	session_confirm(op->queues->session);
}

void op_begin(struct queues *q, struct queue_op *op, const char *queue)
{
	op->queues = q;
	op->asked_ms = queues_now(q);
	if (op->deadline_ms == 0)
		op->deadline_ms = op->asked_ms + QUEUE_PATIENCE_MS;
	memcpy(op->queue, queue, strlen(queue) + 1);
	link_op(op, OP_WAITING);
	q->n_ops++;
	queues_wake(q, 0);
}

void op_end(struct queue_op *op)
{
	struct queues *q = op->queues;

	queue_calls_forget(&q->calls, op);
	queue_places_forget(op);
	unlink_op(op);
	q->n_ops--;
	op->free(op);
}

void op_fail(struct queue_op *op, enum job_outcome outcome, const char *why)
{
	op->fail(op, outcome, why);
	op_end(op);
}

void op_again(struct queue_op *op, int64_t in_ms)
{
	queue_calls_forget(&op->queues->calls, op);
	queue_places_forget(op);
	op->watched = NULL;
	op->retry_ms = queues_now(op->queues) + in_ms;
	move(op, in_ms > 0 ? OP_SLEEPING : OP_WAITING);
	look_in(op->queues, in_ms);
}

void op_sleep(struct queue_op *op, const char *path, int64_t in_ms)
{
	op_again(op, in_ms > 0 ? in_ms : 1);
	op->watched = path;
}

void op_stall(struct queue_op *op)
{
	op_again(op, QUEUE_AGAIN_MS);
	op->stalled = true;
}

bool queue_is_cut(const struct store_reply *reply)
{
	return store_is_lost(reply->code);
}

/* The servers have refused the request. */
static void op_refused(struct queue_op *op, enum store_code code)
{
	op_fail(op, code == STORE_FULL ? JOB_NOT_NOW : JOB_NO_SESSION, store_refused_why(code));
}

bool op_took(struct queue_op *op, const struct store_reply *reply)
{
	if (queue_is_cut(reply)) {
		op->doubt = true;
		op_again(op, 0);
		return true;
	}
	if (!store_is_refusal(reply->code))
		return false;
	log_warning("job refused by the server", LOG_STR("queue", op->queue),
		    LOG_STR("why", reply->text));
	op_refused(op, reply->code);
	return true;
}

void op_make_folders(struct queue_op *op, const struct queue_folders *folders)
{
	struct queue *queue = op_queue(op);

	if (queue && ++op->tries <= QUEUE_TRIES_MAX) {
		queue_make_folders(queue, folders);
		op_stall(op);
	} else if (queue && queue->refused != STORE_OK) {
		op_refused(op, queue->refused);
	} else {
		op_fail(op, JOB_NO_SESSION, "the znodes of the queue cannot be made");
	}
}

/* --- steps, when they are due --------------------------------------------- */

/* Whether it was answered. */
static bool is_late(struct queue_op *op, int64_t now)
{
	const struct queues *q = op->queues;
	const char *why = "ZooKeeper does not answer";

	int64_t since = op->asked_ms > q->cut_ms ? op->asked_ms : q->cut_ms;
	if (!queues_ready(q) && now >= since + SESSION_PATIENCE_MS)
		why = SESSION_NONE;
	else if (now < op->deadline_ms)
		return false;
	op_fail(op, op->doubt ? JOB_UNKNOWN : JOB_NO_SESSION, why);
	return true;
}

static void look_at_others(struct queues *q, int64_t now)
{
	q->look_ms = INT64_MAX;
	if (!TAILQ_EMPTY(&q->others))
		look_in(q, LOOK_MS);
	for (struct queue_op *op = TAILQ_FIRST(&q->others), *next; op; op = next) {
		next = TAILQ_NEXT(op, link);
		const struct queue *queue = op_queue(op);
		if (op->stalled && queue && queue->making == 0 && !queue->room.busy) {
			op->stalled = false;
			op_again(op, 0);
		} else if (op->state == OP_SLEEPING && now >= op->retry_ms) {
			op_again(op, 0);
		} else if (!is_late(op, now) && op->state == OP_SLEEPING) {
			look_in(q, op->retry_ms - now);
		}
	}
}

static void look_at_waiting(struct queues *q, int64_t now)
{
	struct queue_op *op;

	while (queues_ready(q) && (op = TAILQ_FIRST(&q->waiting)) &&
	       q->calls.n < QUEUE_CALLS_PEOPLE) {
		move(op, OP_ACTIVE);
		look_in(q, LOOK_MS);
		op->step(op);
	}
	if (queues_ready(q))
		return;
	for (struct queue_op *at = TAILQ_FIRST(&q->waiting), *next; at; at = next) {
		next = TAILQ_NEXT(at, link);
		if (!is_late(at, now))
			look_in(q, LOOK_MS);
	}
}

void queue_ops_pump(struct queues *q, int64_t now)
{
	if (now >= q->look_ms)
		look_at_others(q, now);
	look_at_waiting(q, now);
	if (q->look_ms != INT64_MAX)
		queues_wake(q, q->look_ms - now);
}

void queue_ops_watch(struct queues *q, const char *path)
{
	for (struct queue_op *op = TAILQ_FIRST(&q->others), *next; op; op = next) {
		next = TAILQ_NEXT(op, link);
		if (op->watched && strcmp(op->watched, path) == 0)
			op_again(op, 0);
	}
}

/* A new session has no watches. */
void queue_ops_up(struct queues *q)
{
	for (struct queue_op *op = TAILQ_FIRST(&q->others), *next; op; op = next) {
		next = TAILQ_NEXT(op, link);
		if (op->watched)
			op_again(op, 0);
	}
}

void queue_ops_init(struct queues *q)
{
	TAILQ_INIT(&q->waiting);
	TAILQ_INIT(&q->others);
	q->look_ms = INT64_MAX;
}

void queue_ops_done(struct queues *q)
{
	struct queue_op *op;

	while ((op = TAILQ_FIRST(&q->waiting)) || (op = TAILQ_FIRST(&q->others)))
		op_fail(op, op->doubt ? JOB_UNKNOWN : JOB_NO_SESSION, "the sidecar has ended");
}
