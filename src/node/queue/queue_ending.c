#include "node/queue/queue_ending.h"

#include <assert.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "node/notices/run_event.h"
#include "node/tree/paths.h"

static const char *state_of(enum job_next next)
{
	switch (next) {
	case JOB_NEXT_OK: return "ok";
	case JOB_NEXT_DEAD: return "dead";
	case JOB_NEXT_LOST: return "lost";
	case JOB_NEXT_CANCELLED: return "cancelled";
	case JOB_NEXT_AGAIN: break;
	}
	return "queued";
}

/* A dead letter keeps its payload, as it may be requeued. */
void job_ending_fill(struct job_record *r, enum job_next next, int64_t now_ms, int64_t delay_ms)
{
	snprintf(r->state, sizeof(r->state), "%s", state_of(next));
	if (next == JOB_NEXT_AGAIN)
		r->due = now_ms + delay_ms;
	else
		r->ended = now_ms > 0 ? now_ms : 1;
	if (next != JOB_NEXT_OK && next != JOB_NEXT_CANCELLED)
		return;
	r->payload = NULL;
	r->why[0] = r->detail[0] = '\0';
}

static bool is_dead_letter(const struct job_ending *e)
{
	return e->next == JOB_NEXT_DEAD || e->next == JOB_NEXT_LOST;
}

static bool has_callback(const struct job_ending *e)
{
	return !e->pointer.callback && e->next != JOB_NEXT_AGAIN && e->record->callback[0];
}

/* Pointer in `due` of the next attempt. A callback keeps its due time. */
static struct job_pointer due_of(const struct job_ending *e)
{
	struct job_pointer p = e->pointer;

	if (!p.callback)
		p.due_ms = e->record->due;
	return p;
}

static struct job_pointer callback_of(const struct job_ending *e)
{
	struct job_pointer p = e->pointer;

	p.due_ms = e->record->ended;
	p.callback = true;
	return p;
}

static void pack_tries(struct job_ending *e)
{
	struct at_record tries = {.attempt = e->attempt};

	snprintf(tries.worker, sizeof(tries.worker), "none");
	buffer_init(&e->tries, RECORD_AT_MAX);
	int error = record_pack_at(&e->tries, &tries);
	assert(error == 0);
	(void)error;
}

static void set_path_of_to(struct job_ending *e)
{
	const struct node_settings *s = queue_paths(e->queue);
	struct job_pointer p = due_of(e);
	char name[JOB_POINTER_MAX + 1];

	if (e->next == JOB_NEXT_AGAIN) {
		path_of_due(s, e->queue->name, queue_due_minute(e->queue, &p), &p, e->to);
	} else {
		job_pointer_format(&p, false, name);
		path_of_queue(s, e->queue->name, "dead", name, e->to);
	}
}

size_t job_ending_ops(struct job_ending *e, struct store_op ops[ENDING_OPS])
{
	const struct node_settings *s = queue_paths(e->queue);
	struct job_pointer callback;
	struct job_id id;
	size_t n = 0;

	pack_tries(e);
	buffer_init(&e->bytes, RECORD_JOB_MAX);
	if (!e->pointer.callback) {
		job_pointer_id(&e->pointer, e->queue->name, &id);
		path_of_job(s, &id, e->job);
		int error = record_pack_job(&e->bytes, e->record);
		assert(error == 0); /* all of it is bounded */
		(void)error;
		ops[n++] = (struct store_op){.type = STORE_OP_SET,
					     .path = e->job,
					     .version = e->job_version,
					     .data = e->bytes.data,
					     .len = e->bytes.len};
	}
	ops[n++] = (struct store_op){
		.type = STORE_OP_DELETE, .path = e->from, .version = e->from_version};
	if (e->next == JOB_NEXT_AGAIN || (is_dead_letter(e) && !e->pointer.callback)) {
		set_path_of_to(e);
		ops[n++] = (struct store_op){.type = STORE_OP_CREATE,
					     .path = e->to,
					     .data = e->tries.data,
					     .len = e->pointer.callback ? e->tries.len : 0};
	}
	if (has_callback(e)) {
		callback = callback_of(e);
		path_of_due(s, e->queue->name, queue_due_minute(e->queue, &callback), &callback,
			    e->callback);
		ops[n++] = (struct store_op){.type = STORE_OP_CREATE,
					     .path = e->callback,
					     .data = e->tries.data,
					     .len = e->tries.len};
	}
	return n;
}

static void put_text(const struct job_ending *e, struct notice_record *event)
{
	const struct job_record *job = e->record;
	const char *colon = job->detail[0] ? ": " : "";

	switch (e->next) {
	case JOB_NEXT_OK:
		snprintf(event->text, sizeof(event->text), "job %.199s ended well", job->id);
		break;
	case JOB_NEXT_AGAIN:
		snprintf(event->text, sizeof(event->text),
			 "attempt %" PRId64 " of job %.149s failed%s%.150s; another one follows",
			 job->attempt, job->id, colon, job->detail);
		break;
	case JOB_NEXT_LOST:
		snprintf(event->text, sizeof(event->text),
			 "job %.149s was lost with its worker%s%.90s: zkleader dead %s", job->id,
			 colon, job->detail, e->queue->name);
		break;
	case JOB_NEXT_DEAD:
	case JOB_NEXT_CANCELLED:
		snprintf(event->text, sizeof(event->text),
			 "job %.149s is given up%s%.100s: zkleader dead %s", job->id, colon,
			 job->detail, e->queue->name);
		break;
	}
}

/*
 * The notice has no output of the job: only users who may submit may read that, but everyone with
 * access to a notice channel reads notices.
 */
bool job_ending_event(const struct job_ending *e, const struct registry *r,
		      struct notice_record *ret_event)
{
	const struct job_record *job = e->record;
	bool callback = e->pointer.callback;

	if (callback ? !is_dead_letter(e) : e->next == JOB_NEXT_CANCELLED)
		return false;
	notice_init(r, ret_event,
		    e->next == JOB_NEXT_OK	? NOTICE_RECOVERED
		    : e->next == JOB_NEXT_AGAIN ? NOTICE_RETRYING
						: NOTICE_DEAD,
		    e->queue->name);
	if (callback) {
		ret_event->attempt = e->attempt;
		snprintf(ret_event->text, sizeof(ret_event->text),
			 "the callback of job %.199s was given up: its receiver does not know that "
			 "it is %s",
			 job->id, job->state);
		return true;
	}
	ret_event->failed = is_dead_letter(e);
	ret_event->attempt = job->attempt;
	ret_event->exit_status = job->exit_status;
	run_why_set(ret_event->why, ret_event->detail, job->why, job->detail);
	if (job->node[0] && e->next == JOB_NEXT_LOST)
		snprintf(ret_event->node, sizeof(ret_event->node), "%s", job->node);
	put_text(e, ret_event);
	return true;
}

enum ending_op job_ending_op(const struct job_ending *e, size_t index)
{
	size_t set = !e->pointer.callback;
	bool to = e->to[0] != '\0';

	if (index < set)
		return ENDING_SET;
	if (index == set)
		return ENDING_DELETE;
	return index == set + 1 && to ? ENDING_TO : ENDING_CALLBACK;
}

struct queue_folders job_ending_folders(const struct job_ending *e)
{
	struct job_pointer p = e->next == JOB_NEXT_AGAIN ? due_of(e) : callback_of(e);

	return (struct queue_folders){.job_minute = -1,
				      .due_minute = queue_due_minute(e->queue, &p),
				      .callbacks = p.callback};
}

void job_ending_done(struct job_ending *e)
{
	buffer_done(&e->bytes);
	buffer_done(&e->tries);
}
