/* job, cancel, requeue, purge, dead: methods about submitted jobs. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "control/answer/answers.h"
#include "control/ask/explain_text.h"
#include "control/ask/nodes.h"
#include "control/ask/options.h"
#include "control/queues/queue_asks.h"
#include "control/queues/queues.h"
#include "node/node.h"

static void pack_fields(struct pack *p, const struct node *n, const struct job_record *r)
{
	pack_kv_str(p, "id", r->id);
	pack_kv_str(p, "queue", r->queue);
	pack_kv_str(p, "state", r->state);
	pack_kv_int(p, "attempt", r->attempt);
	pack_kv_text(p, "key", r->key);
	pack_kv_text(p, "by", r->by);
	pack_kv_text(p, "host", r->host);
	pack_kv_time(p, "submitted", r->submitted);
	pack_kv_time(p, "due", r->due);
	pack_kv_time(p, "started", r->started);
	pack_kv_time(p, "ended", r->ended);
	nodes_pack(p, n, "node", r->node);
	pack_kv_known(p, "exit_status", r->exit_status >= 0, r->exit_status);
	pack_kv_text(p, "why", r->why);
	pack_kv_text(p, "detail", r->detail);
}

void queue_ask_pack_summary(struct pack *p, const struct node *n, const struct job_record *r)
{
	pack_map(p, 15);
	pack_fields(p, n, r);
}

void queue_ask_pack_job(struct pack *p, const struct node *n, const struct job_record *r,
			bool outputs)
{
	pack_map(p, 16);
	pack_fields(p, n, r);
	pack_kv_strn(p, "output", r->output_len > 0 && outputs ? r->output : NULL, r->output_len);
}

/* --- job ------------------------------------------------------------------ */

static void on_read(void *arg, const struct job_answer *answer)
{
	struct queue_ask *a = arg;

	if (answer->outcome != JOB_DONE || !answer->record) {
		queue_ask_fail(a, answer->outcome, answer->why);
		return;
	}
	queue_ask_pack_job(ask_result(&a->ask), a->ask.methods->node, answer->record, a->outputs);
	ask_end(&a->ask);
}

/* The options: `after` is the last job of the previous answer. */
struct job_options {
	struct job_id after;
	bool has_after;
	int64_t wait_ms;
	char queue[NAME_TASK_MAX + 1];
};

#define THE_QUEUE "not the name of a queue"

static int read_after(struct reader *r, void *to)
{
	struct job_options *o = to;
	struct reader_text id;

	o->has_after = true;
	return reader_str(r, &id) == 0 && job_id_parse(id.data, id.len, &o->after) ? 0 : -EBADMSG;
}

static const struct job_id *after_of(const struct job_options *o)
{
	return o->has_after ? &o->after : NULL;
}

/* Takes the options of a request about all of a queue. False after an error answer. */
static bool take_after(struct call *call, const struct listing *l, struct job_options *o)
{
	static const struct key keys[] = {OPTION("after", read_after, "no id of a job")};

	return options_take(call, OPTIONS(keys), o) &&
	       (!o->has_after || strcmp(o->after.queue, l->name) == 0 ||
		call_refuse(call, "after is no id of a job of that queue"));
}

void method_job(struct call *call)
{
	/* The node makes no call for a wait whose client has gone. */
	static const struct ask_kind kind = {
		.size = sizeof(struct queue_ask), .asks = true, .gone = ask_end};
	static const struct key keys[] = {OPTION_INT(job_options, wait_ms, "wait_ms", 0,
						     METHODS_WAIT_MAX_MS, "not a time up to 24h")};
	struct job_options o = {.wait_ms = 0};
	struct job_id id;
	struct listing *l = queue_ask_take_job(call, &id);
	struct queue_ask *a;

	if (!l || !options_take(call, OPTIONS(keys), &o))
		return;
	if (o.wait_ms > 0 && !peer_may_wait(call->c)) {
		call_fail(call, RPC_CANNOT_TELL,
			  "too many requests of this user wait at this sidecar");
		return;
	}
	a = ask_new(call, &kind);
	if (o.wait_ms > 0)
		ask_takes_long(&a->ask);
	a->outputs = queue_ask_may_read(call->c, l);
	queues_read(&call->m->node->queues, &id, o.wait_ms, call->c, on_read, a);
}

/* --- orders --------------------------------------------------------------- */

/* A job that has ended already stays as it is, and the request has not failed. */
static void on_cancelled(void *arg, const struct job_answer *answer)
{
	struct queue_ask *a = arg;
	bool done = answer->outcome == JOB_DONE;
	char id[JOB_ID_MAX + 1], text[EXPLAIN_TEXT_MAX] = "";
	struct pack *p;

	if (!done && answer->outcome != JOB_NOT_SO) {
		queue_ask_fail(a, answer->outcome, answer->why);
		return;
	}
	p = ask_result(&a->ask);
	job_id_format(&a->id, id);
	explain_say(text, "%s: %s", id,
		    done	  ? "cancelled"
		    : answer->why ? answer->why
				  : "has ended already");
	pack_map(p, 3);
	pack_kv_str(p, "id", id);
	pack_kv_bool(p, "done", done);
	pack_kv_str(p, "message", text);
	ask_end(&a->ask);
}

void method_cancel(struct call *call)
{
	struct queue_ask *a;
	struct job_id id;

	if (!queue_ask_take_job(call, &id))
		return;
	a = ask_new(call, &queue_ask_kind);
	a->id = id;
	queues_cancel(&call->m->node->queues, &id, NULL, on_cancelled, a);
}

/* Counts the answer to one request to the node. The first failure is told to the client. */
static void count(struct queue_ask *a, const struct job_answer *answer, size_t done)
{
	if (answer->outcome == JOB_DONE) {
		a->done += done;
	} else if (a->outcome == JOB_DONE) {
		a->outcome = answer->outcome;
		a->why = answer->why ? mem_strdup(answer->why) : NULL;
	}
}

static void conclude(struct queue_ask *a)
{
	char id[JOB_ID_MAX + 1];
	struct pack *p;

	if (a->outcome != JOB_DONE) {
		queue_ask_fail(a, a->outcome, a->why);
		return;
	}
	p = ask_result(&a->ask);
	job_id_format(&a->id, id);
	pack_map(p, a->more ? 2 : 1);
	pack_kv_uint(p, a->word, a->done);
	if (a->more)
		pack_kv_str(p, "more", id);
	ask_end(&a->ask);
}

static void on_one(void *arg, const struct job_answer *answer)
{
	struct queue_ask *a = arg;

	count(a, answer, 1);
	if (--a->left == 0)
		conclude(a);
}

static void on_all(void *arg, const struct job_answer *answer)
{
	struct queue_ask *a = arg;

	count(a, answer, answer->n);
	a->more = answer->more;
	a->id = answer->id;
	conclude(a);
}

/* Takes the ids, as parameters or in one array. All are checked before anything is done. */
static struct job_id *take_ids(struct call *call, size_t *ret_n)
{
	enum reader_type type;
	size_t n = call->n_params;
	struct job_id *ids;

	if (n == 1 && reader_peek(&call->params, &type) == 0 && type == READER_ARRAY &&
	    reader_array(&call->params, &n) != 0)
		n = 0;
	if (n == 0 || n > REQUEUE_MAX) {
		call_misused(call);
		return NULL;
	}
	ids = mem_calloc(n, sizeof(*ids));
	for (size_t i = 0; i < n; i++) {
		if (queue_ask_take_job(call, &ids[i]))
			continue;
		free(ids);
		return NULL;
	}
	*ret_n = n;
	return ids;
}

static void requeue_all(struct call *call)
{
	static const struct key keys[] = {
		OPTION_TEXT(job_options, queue, "queue", name_is_task, THE_QUEUE),
		OPTION("after", read_after, "no id of a job")};
	struct job_options o = {.queue = ""};
	const struct listing *l;
	struct queue_ask *a;

	if (!options_take(call, OPTIONS(keys), &o))
		return;
	if (!o.queue[0] || (o.has_after && strcmp(o.queue, o.after.queue) != 0)) {
		call_misused(call);
		return;
	}
	l = queue_ask_find(call, o.queue, strlen(o.queue));
	if (!l)
		return;
	a = ask_new(call, &queue_ask_kind);
	a->word = "requeued";
	queues_requeue_all(&call->m->node->queues, l->name, after_of(&o), on_all, a);
}

void method_requeue(struct call *call)
{
	enum reader_type type = READER_NIL;
	struct job_id *ids;
	struct queue_ask *a;
	size_t n = 0;

	if (call->n_params == 1 && reader_peek(&call->params, &type) == 0 && type == READER_MAP) {
		requeue_all(call);
		return;
	}
	ids = take_ids(call, &n);
	if (!ids)
		return;
	a = ask_new(call, &queue_ask_kind);
	a->word = "requeued";
	a->left = n;
	for (size_t i = 0; i < n; i++)
		queues_requeue(&call->m->node->queues, &ids[i], on_one, a);
	free(ids);
}

void method_purge(struct call *call)
{
	struct job_options o = {.has_after = false};
	const struct listing *l = queue_ask_take(call);
	struct queue_ask *a;

	if (!l || !take_after(call, l, &o))
		return;
	a = ask_new(call, &queue_ask_kind);
	a->word = "purged";
	queues_purge(&call->m->node->queues, l->name, after_of(&o), on_all, a);
}

/* --- dead ----------------------------------------------------------------- */

static void on_dead(void *arg, const struct job_record *const *jobs, size_t n)
{
	struct queue_ask *a = arg;
	struct pack *p;

	if (!jobs) {
		queue_ask_no_session(a);
		return;
	}
	p = ask_result(&a->ask);
	pack_array(p, n);
	for (size_t i = 0; i < n; i++)
		queue_ask_pack_job(p, a->ask.methods->node, jobs[i], a->outputs);
	ask_end(&a->ask);
}

void method_dead(struct call *call)
{
	struct job_options o = {.has_after = false};
	const struct listing *l = queue_ask_take(call);
	struct queue_ask *a;

	if (!l || !take_after(call, l, &o))
		return;
	a = ask_new(call, &queue_ask_kind);
	a->outputs = queue_ask_may_read(call->c, l);
	queues_dead(&call->m->node->queues, l->name, after_of(&o), on_dead, a);
}
