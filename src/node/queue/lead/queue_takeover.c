/*
 * Takes jobs and callbacks from a worker that cannot answer for them: they go to another worker, or
 * end. The worker's session has ended if its registration is missing in a list that was read behind
 * a confirmation of ours, and that confirmation came after the assignment was read. A live session
 * may belong to a sidecar that was restarted under another name, or without the queue. Its record
 * then says so, and the transaction checks that this record still exists. In either case processes
 * may be alive: a job that has begun stays with its worker for as long as its lease can last.
 */
#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/log/log.h"
#include "base/mem.h"
#include "node/notices/run_event.h"
#include "node/queue/lead/queue_lead.h"
#include "node/queue/queue_ending.h"
#include "node/tree/paths.h"

struct takeover {
	struct given_node *node;
	struct given *given;
	enum store_code at_code, job_code;
	struct at_record at;
	struct store_stat at_stat;
	uint8_t *data; /* the job's record; owned */
	size_t len;
	int32_t job_version;
	struct job_record record;
	bool begun;
	enum job_next next;
	char worker[STORE_PATH_MAX]; /* the path of the worker's record that is checked; "": none */
	int worker_op;		     /* index of that check; 0: none */
};

static struct queue_lead *lead_of(const struct takeover *t)
{
	return t->node->lead;
}

static void takeover_free(struct takeover *t)
{
	t->given->takeover = NULL;
	lead_of(t)->given.takeovers--;
	queue_calls_forget(lead_calls(lead_of(t)), t);
	free(t->data);
	free(t);
}

void takeover_forget(struct queue_lead *lead, struct given *g)
{
	(void)lead;
	if (g->takeover)
		takeover_free(g->takeover);
}

static void again(struct takeover *t, int64_t in_ms)
{
	struct queues *q = lead_queues(lead_of(t));

	t->given->retry_ms = queues_now(q) + in_ms;
	queues_wake(q, in_ms);
	takeover_free(t);
}

/* The assignment no longer exists. */
static void gone(struct takeover *t)
{
	struct given_node *n = t->node;

	queues_wake(lead_queues(lead_of(t)), 0);
	given_remove(n, t->given); /* frees t as well */
}

/* --- the transaction ------------------------------------------------------ */

static void tell(const struct takeover *t)
{
	const struct queues *q = lead_queues(lead_of(t));

	log_warning("job taken from a worker that has gone",
		    LOG_STR("queue", lead_name(lead_of(t))), LOG_STR("job", t->given->pointer.uuid),
		    LOG_STR("node", t->node->node), LOG_STR("state", t->record.state),
		    LOG_INT("attempt", t->record.attempt), LOG_STR("why", t->record.why));
	if (t->begun && !t->given->pointer.callback && q->handlers.told)
		q->handlers.told(q->handlers.arg, &t->record);
}

static void on_taken(void *arg, const struct store_reply *reply)
{
	struct takeover *t = arg;
	struct queue_lead *lead = lead_of(t);

	if (lead_took(lead, reply))
		return; /* lead_took() has freed it */
	if (reply->code == STORE_OK) {
		tell(t);
		if (t->given->pointer.callback && t->next == JOB_NEXT_DEAD)
			queue_given_up(lead->queue, &t->given->pointer, t->at.attempt);
		gone(t);
		return;
	}
	if (reply->code == STORE_NO_NODE && reply->failed_op != t->worker_op) {
		struct job_ending e = {.queue = lead->queue,
				       .pointer = t->given->pointer,
				       .next = t->next,
				       .record = &t->record};
		struct queue_folders folders = job_ending_folders(&e);
		queue_make_folders(lead->queue, &folders);
	}
	t->given->due_there = reply->code == STORE_NODE_EXISTS;
	again(t, QUEUE_AGAIN_MS);
}

/* A live session's record does not answer for the job: adds the check that it still exists. */
static size_t add_check(struct takeover *t, struct store_op *ops, size_t n)
{
	const struct queues *q = lead_queues(lead_of(t));
	const struct member *m = fleet_find_session(&q->registry->fleet, t->given->session);

	t->worker_op = 0;
	if (!m)
		return n;
	path_of(lead_paths(lead_of(t)), PATH_WORKERS, m->worker->id, t->worker);
	t->worker_op = (int)n;
	ops[n] = (struct store_op){.type = STORE_OP_CHECK, .path = t->worker, .version = -1};
	return n + 1;
}

/* Moves the pointer back to `due`, unless it is there already. The record is unchanged. */
static void return_it(struct takeover *t)
{
	struct queue_lead *lead = lead_of(t);
	char queue[STORE_PATH_MAX], job[STORE_PATH_MAX], at[STORE_PATH_MAX], due[STORE_PATH_MAX];
	struct store_op ops[LEAD_CHECKS + 4];
	struct at_record tries = {.attempt = t->at.attempt};
	struct job_pointer p = t->given->pointer;
	struct buffer bytes;
	struct job_id id;

	p.due_ms = p.callback ? t->record.ended : t->record.due;
	snprintf(tries.worker, sizeof(tries.worker), "none");
	buffer_init(&bytes, RECORD_AT_MAX);
	int error = record_pack_at(&bytes, &tries);
	assert(error == 0);
	(void)error;
	job_pointer_id(&p, lead_name(lead), &id);
	lead_checks(lead, queue, ops);
	path_of_job(lead_paths(lead), &id, job);
	(void)path_of_at(lead_paths(lead), lead_name(lead), t->node->node, &p, at);
	path_of_due(lead_paths(lead), lead_name(lead), queue_due_minute(lead->queue, &p), &p, due);
	ops[2] = (struct store_op){
		.type = STORE_OP_CHECK, .path = job, .version = p.callback ? -1 : t->job_version};
	ops[3] = (struct store_op){
		.type = STORE_OP_DELETE, .path = at, .version = t->at_stat.version};
	ops[4] = (struct store_op){.type = STORE_OP_CREATE,
				   .path = due,
				   .data = bytes.data,
				   .len = p.callback ? bytes.len : 0};
	if (t->given->due_there)
		ops[4] = (struct store_op){.type = STORE_OP_CHECK, .path = due, .version = -1};
	t->next = JOB_NEXT_AGAIN;
	queue_multi(lead_calls(lead), ops, add_check(t, ops, LEAD_CHECKS + 3), on_taken, t);
	buffer_done(&bytes);
}

/* Deletes an assignment whose job has ended or does not exist. */
static void drop_it(struct takeover *t)
{
	struct queue_lead *lead = lead_of(t);
	char queue[STORE_PATH_MAX], at[STORE_PATH_MAX];
	struct store_op ops[LEAD_CHECKS + 2];

	lead_checks(lead, queue, ops);
	(void)path_of_at(lead_paths(lead), lead_name(lead), t->node->node, &t->given->pointer, at);
	ops[2] = (struct store_op){
		.type = STORE_OP_DELETE, .path = at, .version = t->at_stat.version};
	queue_multi(lead_calls(lead), ops, add_check(t, ops, LEAD_CHECKS + 1), on_taken, t);
}

/* Ends an attempt that has crashed. */
static void end_it(struct takeover *t)
{
	struct queue_lead *lead = lead_of(t);
	struct queues *q = lead_queues(lead);
	bool callback = t->given->pointer.callback;
	struct attempt_end what = ATTEMPT_CRASHED;
	struct job_attempt attempt = {.number = callback ? t->at.attempt
							 : t->record.attempt - t->record.base,
				      .retry_ms = -1};
	struct store_op ops[LEAD_CHECKS + ENDING_OPS + 1];
	char queue[STORE_PATH_MAX];
	struct notice_record event;
	struct job_ending e;
	int64_t delay_ms = 0, now = queues_server_ms(q);

	what.cancelled = t->at.cancelled;
	attempt.how = attempt_how(&what);
	t->next = job_outcome(&lead->queue->settings, &attempt, &delay_ms);
	if (callback && t->next == JOB_NEXT_LOST)
		t->next = JOB_NEXT_AGAIN; /* on-crash is about the job */
	run_why_lost(t->record.why, t->record.detail, t->record.node);
	if (!callback)
		job_ending_fill(&t->record, t->next, now, delay_ms);
	e = (struct job_ending){.queue = lead->queue,
				.pointer = t->given->pointer,
				.next = t->next,
				.record = &t->record,
				.job_version = t->job_version,
				.from_version = t->at_stat.version,
				.attempt = t->at.attempt};
	e.pointer.due_ms = now + delay_ms;
	(void)path_of_at(lead_paths(lead), lead_name(lead), t->node->node, &e.pointer, e.from);
	lead_checks(lead, queue, ops);
	size_t n = add_check(t, ops, LEAD_CHECKS + job_ending_ops(&e, ops + LEAD_CHECKS));
	bool tells = job_ending_event(&e, lead_queues(lead)->registry, &event);
	queue_multi_noting(lead_calls(lead), lead_queues(lead)->registry, ops, n,
			   tells ? &event : NULL, on_taken, t);
	job_ending_done(&e);
}

/* --- reading and deciding ------------------------------------------------- */

/* Whether the session's worker says in its record that it answers for the job. */
static bool is_answered_for(const struct given_node *n, const struct given *g)
{
	const struct registry *r = lead_queues(n->lead)->registry;
	const struct member *m = fleet_find_session(&r->fleet, g->session);

	return m && worker_answers_for(m->worker, n->node, lead_name(n->lead));
}

/* When the last process is dead, even if only the registration was deleted, by hand. */
static int64_t alive_until(const struct takeover *t)
{
	int64_t own_ms = session_told_timeout(lead_queues(lead_of(t))->session);
	const struct given *g = t->given;

	return g->gone_ms + (g->timeout_ms > own_ms ? g->timeout_ms : own_ms);
}

static void decide(struct takeover *t)
{
	int64_t now = queues_now(lead_queues(lead_of(t)));
	bool callback = t->given->pointer.callback;

	if (t->at_code == STORE_NO_NODE) {
		gone(t);
		return;
	}
	if (is_answered_for(t->node, t->given)) {
		again(t, 0); /* since it was read, or again */
		return;
	}
	if (t->at.session != t->given->session) {
		t->given->session = t->at.session; /* another session's by now */
		t->given->suspected_ms = t->given->gone_ms = 0;
		again(t, 0);
		return;
	}
	t->begun = callback ? t->at_stat.version > 0 : strcmp(t->record.state, "running") == 0;
	if (t->job_code == STORE_NO_NODE ||
	    (!callback && !t->begun && strcmp(t->record.state, "queued") != 0))
		drop_it(t);
	else if (!t->begun)
		return_it(t);
	else if (now < alive_until(t))
		again(t, alive_until(t) - now);
	else
		end_it(t);
}

static void on_at(void *arg, const struct store_reply *reply)
{
	struct takeover *t = arg;
	const char *why;

	if (reply->code != STORE_OK && reply->code != STORE_NO_NODE) {
		(void)lead_took(lead_of(t), reply);
		return;
	}
	t->at_code = reply->code;
	t->at_stat = reply->stat;
	if (reply->code == STORE_OK && record_parse_at(reply->data, reply->len, &t->at, &why) != 0)
		t->at.session = -1; /* belongs to no session */
}

static void path_of_given(const struct queue_lead *lead, const struct given *g,
			  char path[STORE_PATH_MAX])
{
	struct job_id id;

	job_pointer_id(&g->pointer, lead_name(lead), &id);
	path_of_job(lead_paths(lead), &id, path);
}

static void on_job(void *arg, const struct store_reply *reply)
{
	struct takeover *t = arg;
	char path[STORE_PATH_MAX];
	const char *why;

	if (reply->code != STORE_OK && reply->code != STORE_NO_NODE) {
		(void)lead_took(lead_of(t), reply);
		return;
	}
	t->job_code = reply->code;
	t->job_version = reply->stat.version;
	t->data = mem_alloc(reply->len + 1);
	if (reply->len > 0)
		memcpy(t->data, reply->data, reply->len);
	if (reply->code == STORE_OK &&
	    record_parse_job(t->data, reply->len, &t->record, &why) != 0) {
		path_of_given(lead_of(t), t->given, path);
		log_warning("job not understood", LOG_STR("znode", path), LOG_STR("why", why));
		again(t, 60 * QUEUE_AGAIN_MS);
		return;
	}
	if (t->record.purged)
		t->job_code = STORE_NO_NODE;
	decide(t);
}

static void begin(struct given_node *n, struct given *g)
{
	struct takeover *t = g->takeover = mem_calloc(1, sizeof(*t));
	struct queue_lead *lead = n->lead;
	char path[STORE_PATH_MAX];

	t->node = n;
	t->given = g;
	lead->given.takeovers++;
	session_confirm(lead_queues(lead)->session);
	(void)path_of_at(lead_paths(lead), lead_name(lead), n->node, &g->pointer, path);
	queue_get(lead_calls(lead), path, on_at, t);
	path_of_given(lead, g, path);
	queue_get(lead_calls(lead), path, on_job, t);
}

/* --- workers that cannot answer for a job ---------------------------------- */

/* Whether surely no worker answers for the job. */
static bool is_gone(struct given_node *n, struct given *g, int64_t now)
{
	struct queue_lead *lead = n->lead;
	struct registry *r = lead_queues(lead)->registry;
	struct given_set *s = &lead->given;
	const struct member *m = fleet_find_session(&r->fleet, g->session);

	if (m && m->worker->timeout_ms > g->timeout_ms)
		g->timeout_ms = m->worker->timeout_ms;
	if (m && !is_answered_for(n, g)) {
		g->suspected_ms = 0;
		if (g->gone_ms == 0)
			g->gone_ms = now;
		return true;
	}
	if (m) {
		g->suspected_ms = g->gone_ms = 0;
		return false;
	}
	if (g->suspected_ms == 0) {
		if (s->refreshed_ms != now) {
			session_confirm(lead_queues(lead)->session);
			s->refreshed_lists = folder_refresh(&r->workers);
			s->refreshed_ms = now;
		}
		g->suspected_ms = now;
		g->lists = s->refreshed_lists;
		return false;
	}
	if (r->workers.lists < g->lists || !registry_settled(r))
		return false;
	if (g->gone_ms == 0)
		g->gone_ms = now;
	return true;
}

void takeover_look(struct given_node *n, struct given *g, int64_t now)
{
	struct queue_lead *lead = n->lead;

	if (g->takeover || !is_gone(n, g, now))
		return;
	if (now < g->retry_ms)
		queues_wake(lead_queues(lead), g->retry_ms - now);
	else if (lead->given.takeovers < LEAD_READS_MAX)
		begin(n, g); /* the others follow */
}
