/*
 * Requests to ZooKeeper of a job that is assigned to this node, step by step. The end checks the
 * version of the record that the start made; a takeover sets the record, so that the late end of an
 * older attempt fails.
 */
#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/log/log.h"
#include "base/mem.h"
#include "node/notices/run_event.h"
#include "node/queue/work/queue_work.h"
#include "node/tree/paths.h"

struct queues *work_queues(const struct work *w)
{
	return w->queue->queues;
}

const char *work_own_node(const struct work *w)
{
	return work_queues(w)->registry->node;
}

void work_path(const struct work *w, char path[STORE_PATH_MAX])
{
	/* The path of a job that was listed is never too long. */
	(void)path_of_at(queue_paths(w->queue), w->queue->name, work_own_node(w), &w->pointer,
			 path);
}

void work_job_path(const struct work *w, char path[STORE_PATH_MAX])
{
	struct job_id id;

	job_pointer_id(&w->pointer, w->queue->name, &id);
	path_of_job(queue_paths(w->queue), &id, path);
}

void work_later(struct work *w)
{
	w->retry_ms = queues_now(work_queues(w)) + QUEUE_AGAIN_MS;
	queues_wake(work_queues(w), QUEUE_AGAIN_MS);
}

/* --- the transactions ----------------------------------------------------- */

/* Whether the failure was handled here. */
static bool took(struct work *w, const struct store_reply *reply)
{
	w->flying = 0;
	if (queue_is_cut(reply)) {
		w->doubt = true;
		queues_wake(work_queues(w), 0);
	} else if (store_is_refusal(reply->code)) {
		log_warning("job refused by the server", LOG_STR("queue", w->queue->name),
			    LOG_STR("why", reply->text));
		work_later(w);
	} else if (reply->code != STORE_OK && reply->failed_op == 0) {
		session_confirm(work_queues(w)->session); /* we are not registered */
		work_later(w);
	} else {
		return false;
	}
	return true;
}

static void look_again(struct work *w)
{
	w->doubt = true;
	queues_wake(work_queues(w), 0);
}

static void on_started(void *arg, const struct store_reply *reply)
{
	struct work *w = arg;

	if (took(w, reply))
		return;
	if (reply->code != STORE_OK) {
		look_again(w);
		return;
	}
	if (w->pointer.callback) {
		w->at_version++;
		w->at.attempt++;
	} else {
		w->job_version++;
		w->record = w->end;
	}
	work_has_begun(w, false);
	queues_wake(work_queues(w), 0);
}

static void pack_job(const struct job_record *j, struct buffer *bytes)
{
	buffer_init(bytes, RECORD_JOB_MAX);
	int error = record_pack_job(bytes, j);
	assert(error == 0); /* all of it is bounded */
	(void)error;
}

static void pack_at(const struct at_record *a, struct buffer *bytes)
{
	buffer_init(bytes, RECORD_AT_MAX);
	int error = record_pack_at(bytes, a);
	assert(error == 0);
	(void)error;
}

static void start_callback(struct work *w)
{
	char at[STORE_PATH_MAX];
	struct at_record record = w->at;
	struct buffer bytes;

	record.attempt++;
	work_path(w, at);
	pack_at(&record, &bytes);
	struct store_op ops[] = {
		queue_check_me(work_queues(w)),
		{.type = STORE_OP_SET,
		 .path = at,
		 .version = w->at_version,
		 .data = bytes.data,
		 .len = bytes.len},
	};
	w->flying = 1;
	queue_multi(&work_queues(w)->calls, ops, 2, on_started, w);
	buffer_done(&bytes);
}

static void start(struct work *w)
{
	char at[STORE_PATH_MAX], job[STORE_PATH_MAX];
	struct buffer bytes;

	w->end = w->record;
	snprintf(w->end.state, sizeof(w->end.state), "running");
	snprintf(w->end.node, sizeof(w->end.node), "%s", work_own_node(w));
	w->end.attempt++;
	w->end.started = queues_server_ms(work_queues(w));
	w->end.exit_status = -1;
	w->end.output_len = 0;
	w->end.why[0] = w->end.detail[0] = '\0';
	work_path(w, at);
	work_job_path(w, job);
	pack_job(&w->end, &bytes);
	struct store_op ops[] = {
		queue_check_me(work_queues(w)),
		{.type = STORE_OP_CHECK, .path = at, .version = w->at_version},
		{.type = STORE_OP_SET,
		 .path = job,
		 .version = w->job_version,
		 .data = bytes.data,
		 .len = bytes.len},
	};
	w->flying = 1;
	queue_multi(&work_queues(w)->calls, ops, 3, on_started, w);
	buffer_done(&bytes);
}

static void on_returned(void *arg, const struct store_reply *reply)
{
	struct work *w = arg;

	if (took(w, reply))
		return;
	if (reply->code == STORE_OK)
		work_is_over(w, true);
	else if (reply->code == STORE_NO_NODE && reply->failed_op == 2 && !w->due_there)
		queue_make_folders(w->queue,
				   &(struct queue_folders){
					   .job_minute = -1,
					   .due_minute = queue_due_minute(w->queue, &w->pointer),
					   .callbacks = w->pointer.callback});
	else
		look_again(w);
	w->due_there = reply->code == STORE_NODE_EXISTS;
	if (reply->code != STORE_OK)
		work_later(w);
}

/*
 * Moves the pointer back to `due`; the job's record is unchanged. The callback of a job that was
 * requeued and has ended again may already be due. One callback for both ends is enough.
 */
static void give_back(struct work *w)
{
	char at[STORE_PATH_MAX], due[STORE_PATH_MAX];
	struct at_record tries = {.attempt = w->at.attempt};
	struct job_pointer p = w->pointer;
	struct buffer bytes;

	p.due_ms = p.callback ? w->record.ended : w->record.due;
	w->pointer.due_ms = p.due_ms;
	snprintf(tries.worker, sizeof(tries.worker), "none");
	work_path(w, at);
	path_of_due(queue_paths(w->queue), w->queue->name, queue_due_minute(w->queue, &p), &p, due);
	pack_at(&tries, &bytes);
	struct store_op ops[] = {
		queue_check_me(work_queues(w)),
		{.type = STORE_OP_DELETE, .path = at, .version = w->at_version},
		{.type = STORE_OP_CREATE,
		 .path = due,
		 .data = bytes.data,
		 .len = p.callback ? bytes.len : 0},
	};
	if (w->due_there)
		ops[2] = (struct store_op){.type = STORE_OP_CHECK, .path = due, .version = -1};
	w->flying = 1;
	queue_multi(&work_queues(w)->calls, ops, w->gone ? 2 : 3, on_returned, w);
	buffer_done(&bytes);
}

/* --- the end -------------------------------------------------------------- */

static enum attempt_how how_of(const struct work *w, const struct job_end *end)
{
	struct attempt_end what = end->what;

	what.cancelled = w->cancelled;
	return attempt_how(&what);
}

void work_set_end(struct work *w, const struct job_end *end)
{
	struct queues *q = work_queues(w);
	bool callback = w->pointer.callback;
	struct job_attempt attempt = {.how = how_of(w, end),
				      .number = callback ? w->at.attempt
							 : w->record.attempt - w->record.base,
				      .retry_ms = end->retry_ms};
	int64_t delay_ms = 0, now = queues_server_ms(q);

	host_random(q->session->host, &attempt.draw, sizeof(attempt.draw));
	w->next_state = job_outcome(&w->queue->settings, &attempt, &delay_ms);
	w->state = WORK_ENDING;
	w->end = w->record;
	w->pointer.due_ms = now + delay_ms;
	if (callback)
		return;
	free(w->output);
	w->output = mem_alloc(end->len + 1);
	w->end.output_len = end->len < RECORD_OUTPUT_MAX ? end->len : RECORD_OUTPUT_MAX;
	if (end->len > 0)
		memcpy(w->output, end->output + (end->len - w->end.output_len), w->end.output_len);
	w->end.output = w->output;
	w->end.exit_status = end->what.exit_status;
	run_why_attempt(w->end.why, w->end.detail, attempt.how, end->what.exit_status, end->start);
	job_ending_fill(&w->end, w->next_state, now, delay_ms);
}

static void describe_end(struct work *w, struct job_ending *e)
{
	*e = (struct job_ending){.queue = w->queue,
				 .pointer = w->pointer,
				 .next = w->next_state,
				 .record = &w->end,
				 .job_version = w->job_version,
				 .from_version = w->at_version,
				 .attempt = w->at.attempt};
	work_path(w, e->from);
}

static void on_ended(void *arg, const struct store_reply *reply)
{
	struct work *w = arg;
	struct store_op ops[ENDING_OPS];
	struct job_ending e;

	if (took(w, reply))
		return;
	if (reply->code == STORE_OK) {
		if (w->pointer.callback &&
		    (w->next_state == JOB_NEXT_DEAD || w->next_state == JOB_NEXT_LOST))
			queue_given_up(w->queue, &w->pointer, w->at.attempt);
		else if (w->next_state == JOB_NEXT_DEAD || w->next_state == JOB_NEXT_LOST)
			log_warning("job is given up", LOG_STR("queue", w->queue->name),
				    LOG_STR("job", w->pointer.uuid),
				    LOG_INT("attempt", w->end.attempt), LOG_STR("why", w->end.why),
				    LOG_STR("detail", w->end.detail));
		work_is_over(w, true);
		return;
	}
	describe_end(w, &e);
	job_ending_ops(&e, ops);
	enum ending_op op = job_ending_op(&e, (size_t)(reply->failed_op - 1));
	if (reply->code == STORE_NO_NODE && (op == ENDING_TO || op == ENDING_CALLBACK)) {
		struct queue_folders folders = job_ending_folders(&e);
		queue_make_folders(w->queue, &folders);
		work_later(w);
	} else {
		/* Another writer's pointer has this name: a due time 1 ms later gives a new one. */
		w->end.due += op == ENDING_TO && reply->code == STORE_NODE_EXISTS;
		look_again(w);
		work_later(w);
	}
	job_ending_done(&e);
}

static void end(struct work *w)
{
	struct store_op ops[1 + ENDING_OPS];
	struct notice_record event;
	struct job_ending e;

	describe_end(w, &e);
	ops[0] = queue_check_me(work_queues(w));
	size_t n = 1 + job_ending_ops(&e, ops + 1);
	w->flying = 1;
	bool tells = job_ending_event(&e, work_queues(w)->registry, &event);
	queue_multi_noting(&work_queues(w)->calls, work_queues(w)->registry, ops, n,
			   tells ? &event : NULL, on_ended, w);
	job_ending_done(&e);
}

/* --- which is next -------------------------------------------------------- */

void work_step(struct work *w, int64_t now)
{
	if (w->flying > 0 || !queues_ready(work_queues(w)) ||
	    work_queues(w)->calls.n >= QUEUE_CALLS_MAX)
		return; /* an answer wakes it */
	if (now < w->retry_ms) {
		queues_wake(work_queues(w), w->retry_ms - now);
		return;
	}
	if (w->doubt || w->state == WORK_READING) {
		work_recheck(w);
		return;
	}
	switch (w->state) {
	case WORK_BEGINNING: w->pointer.callback ? start_callback(w) : start(w); break;
	case WORK_ENDING: end(w); break;
	case WORK_RETURNING: give_back(w); break;
	case WORK_READING:
	case WORK_GIVEN:
	case WORK_RUNNING:
	case WORK_STRANGE:
	case WORK_GONE: break;
	}
}
