/* Reads the state of a job assigned to this node, and decides its next step. */
#include <stdlib.h>
#include <string.h>

#include "base/log/log.h"
#include "base/mem.h"
#include "node/queue/work/queue_work.h"

/* --- deciding by what was read -------------------------------------------- */

static bool is_ours(const struct work *w)
{
	return w->seen.at == STORE_OK && w->seen.at_record.session == work_queues(w)->session->id &&
	       (w->token == 0 || w->token == w->seen.at_stat.czxid);
}

static bool take_record(struct work *w)
{
	char path[STORE_PATH_MAX];
	const char *why;

	free(w->data);
	w->data = w->seen.data;
	w->len = w->seen.len;
	w->seen.data = NULL;
	w->job_version = w->seen.job_version;
	if (record_parse_job(w->data, w->len, &w->record, &why) == 0)
		return true;
	work_job_path(w, path);
	log_warning("job not understood", LOG_STR("znode", path), LOG_STR("why", why));
	return false;
}

static void take_at(struct work *w)
{
	w->token = w->seen.at_stat.czxid;
	w->at_version = w->seen.at_stat.version;
	w->at = w->seen.at_record;
	if (w->at.cancelled && !w->cancelled)
		work_is_cancelled(w);
	w->cancelled = w->at.cancelled;
	if (w->cancelled && w->state == WORK_ENDING && w->next_state == JOB_NEXT_AGAIN) {
		w->next_state = JOB_NEXT_CANCELLED;
		w->end.due = w->record.due;
		job_ending_fill(&w->end, w->next_state, queues_server_ms(work_queues(w)), 0);
	}
}

/* Whether the attempt was begun in this session by this node. */
static bool is_running_here(const struct work *w)
{
	return w->pointer.callback ? w->at_version > 0 /* only the begin changes it */
				   : strcmp(w->record.state, "running") == 0 &&
					     strcmp(w->record.node, work_own_node(w)) == 0;
}

/*
 * Returns the job to `due`. If its record is gone, as with the callback of a purged job, only the
 * assignment is deleted: it would take a slot for as long as this session lasts.
 */
static void return_it(struct work *w)
{
	take_at(w);
	w->gone = w->seen.job == STORE_NO_NODE;
	w->state = WORK_RETURNING;
}

static void decide_new(struct work *w)
{
	if (w->seen.at == STORE_NO_NODE) {
		work_is_over(w, false);
	} else if (is_ours(w) && w->seen.job == STORE_NO_NODE) {
		return_it(w);
	} else if (!is_ours(w) || w->seen.job != STORE_OK || !take_record(w)) {
		w->state = WORK_STRANGE;
	} else {
		take_at(w);
		if (is_running_here(w))
			work_has_begun(w, true);
		else if (w->pointer.callback || strcmp(w->record.state, "queued") == 0)
			w->state = WORK_GIVEN;
		else
			w->state = WORK_STRANGE;
	}
}

/* The answer to the begin was lost. */
static void decide_begin(struct work *w)
{
	int64_t attempt = w->record.attempt;
	int32_t version = w->job_version;

	if (!is_ours(w)) {
		work_is_over(w, false);
		return;
	}
	if (w->seen.job != STORE_OK) {
		return_it(w);
		return;
	}
	int32_t at_version = w->at_version;
	take_at(w);
	if (w->pointer.callback) {
		if (w->at_version > at_version && w->at.attempt > 0)
			work_has_begun(w, false);
		return;
	}
	if (!take_record(w))
		work_is_over(w, false);
	else if (w->job_version == version + 1 && w->record.attempt == attempt + 1 &&
		 is_running_here(w))
		work_has_begun(w, false);
	else if (w->job_version != version)
		work_is_over(w, false);
}

/* Whether the record has the end of this attempt. */
static bool is_recorded(const struct work *w)
{
	struct job_record r;
	const char *why;

	return w->seen.job == STORE_OK && w->seen.job_version == w->job_version + 1 &&
	       record_parse_job(w->seen.data, w->seen.len, &r, &why) == 0 &&
	       strcmp(r.state, w->end.state) == 0 && r.attempt == w->end.attempt &&
	       r.due == w->end.due && r.ended == w->end.ended;
}

static void decide_end(struct work *w)
{
	if (is_ours(w)) {
		take_at(w); /* not done: takes the step again */
		return;
	}
	work_is_over(w, w->pointer.callback ? w->seen.at == STORE_NO_NODE : is_recorded(w));
}

static void decide_running(struct work *w)
{
	if (is_ours(w)) {
		take_at(w);
		return;
	}
	log_warning("job lost", LOG_STR("queue", w->queue->name), LOG_STR("job", w->pointer.uuid));
	holder_lose(&w->held);
}

static void decide(struct work *w)
{
	if (w->seen.cut) {
		work_later(w);
		return;
	}
	w->doubt = false;
	switch (w->state) {
	case WORK_READING: decide_new(w); break;
	case WORK_GIVEN:
		w->state = WORK_READING;
		decide_new(w);
		break;
	case WORK_BEGINNING: decide_begin(w); break;
	case WORK_RUNNING: decide_running(w); break;
	case WORK_ENDING: decide_end(w); break;
	case WORK_RETURNING:
		if (!is_ours(w))
			work_is_over(w, true);
		else
			return_it(w);
		break;
	case WORK_STRANGE:
		w->token = 0; /* perhaps a new assignment, which is ours */
		w->state = WORK_READING;
		decide_new(w);
		break;
	case WORK_GONE: break;
	}
	queues_wake(work_queues(w), 0);
}

static void read_one(struct work *w, const struct store_reply *reply)
{
	w->seen.cut |= reply->code != STORE_OK && reply->code != STORE_NO_NODE;
	if (--w->flying > 0)
		return;
	decide(w);
	free(w->seen.data);
	w->seen.data = NULL;
}

static void on_at(void *arg, const struct store_reply *reply)
{
	struct work *w = arg;
	char path[STORE_PATH_MAX];
	const char *why;

	w->seen.at = reply->code;
	w->seen.at_stat = reply->stat;
	if (reply->code == STORE_OK &&
	    record_parse_at(reply->data, reply->len, &w->seen.at_record, &why) != 0) {
		work_path(w, path);
		log_warning("assignment not understood", LOG_STR("znode", path),
			    LOG_STR("why", why));
		w->seen.at_record.session = 0;
	}
	read_one(w, reply);
}

static void on_job(void *arg, const struct store_reply *reply)
{
	struct work *w = arg;

	struct job_record r;
	const char *why;

	w->seen.job = reply->code;
	if (reply->code == STORE_OK && record_parse_job(reply->data, reply->len, &r, &why) == 0 &&
	    r.purged)
		w->seen.job = STORE_NO_NODE;
	w->seen.job_version = reply->stat.version;
	w->seen.data = mem_alloc(reply->len + 1);
	w->seen.len = reply->len;
	if (reply->len > 0)
		memcpy(w->seen.data, reply->data, reply->len);
	read_one(w, reply);
}

void work_recheck(struct work *w)
{
	struct queue_calls *calls = &work_queues(w)->calls;
	char path[STORE_PATH_MAX];

	free(w->seen.data);
	memset(&w->seen, 0, sizeof(w->seen));
	w->flying = 2;
	if (w->doubt)
		session_confirm(work_queues(w)->session); /* later reads are as new as this */
	work_path(w, path);
	queue_watch(calls, path, WATCH_QUEUE, on_at, w);
	work_job_path(w, path);
	queue_get(calls, path, on_job, w);
}

bool queue_works_known(const struct queue *queue)
{
	bool known = queue->works.known;

	for (const struct work *w = TAILQ_FIRST(&queue->works.list); w; w = TAILQ_NEXT(w, link))
		known &= w->state != WORK_READING;
	return known;
}
