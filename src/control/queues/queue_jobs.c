/* job, cancel, requeue, purge, dead: what becomes of jobs. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "control/answer/answers.h"
#include "control/ask/explain_text.h"
#include "control/ask/nodes.h"
#include "control/queues/queue_asks.h"
#include "control/queues/queues.h"
#include "node/node.h"

#define REQUEUE_MAX 1000 /* jobs of one request */
#define REQUEUE_TAKES \
	"requeue takes up to 1,000 ids of jobs, or {\"queue\": Q} and in it \"after\": ID"

static void pack_fields(struct pack *p, const struct node *n, const struct job_record *r)
{
	char node[WORKER_NODE_MAX + 1] = "";

	if (r->node[0])
		nodes_name(n, r->node, node);
	pack_kv_str(p, "id", r->id);
	pack_kv_str(p, "queue", r->queue);
	pack_kv_str(p, "state", r->state);
	pack_kv_int(p, "attempt", r->attempt);
	pack_kv_str(p, "key", r->key[0] ? r->key : NULL);
	pack_kv_str(p, "by", r->by[0] ? r->by : NULL);
	pack_kv_str(p, "host", r->host[0] ? r->host : NULL);
	answers_pack_time(p, "submitted", r->submitted);
	answers_pack_time(p, "due", r->due);
	answers_pack_time(p, "started", r->started);
	answers_pack_time(p, "ended", r->ended);
	pack_kv_str(p, "node", node[0] ? node : NULL);
	if (r->exit_status >= 0)
		pack_kv_int(p, "exit_status", r->exit_status);
	else
		pack_kv_nil(p, "exit_status");
	pack_kv_str(p, "why", r->why[0] ? r->why : NULL);
	pack_kv_str(p, "detail", r->detail[0] ? r->detail : NULL);
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
	pack_str(p, "output");
	if (r->output_len > 0 && outputs)
		pack_strn(p, r->output, r->output_len);
	else
		pack_nil(p);
}

/* --- job ------------------------------------------------------------------ */

static void on_read(void *arg, const struct job_answer *answer)
{
	struct queue_ask *a = arg;

	if (answer->outcome != JOB_DONE || !answer->record) {
		queue_ask_fail(a, answer->outcome, answer->why);
	} else if (a->client) {
		struct pack *p = peer_begin(a->client);
		rpc_pack_result(p, a->msgid);
		queue_ask_pack_job(p, a->methods->node, answer->record, a->outputs);
		peer_end(a->client, a->msgid);
	}
	queue_ask_free(a);
}

/*
 * Reads the option of that name from the map behind the first parameter, if there is one; unknown
 * keys are skipped.
 */
static bool take_option(struct call *call, const char *name,
			int (*read)(struct reader *r, void *to), void *to)
{
	struct reader_text key;
	size_t n;

	if (call->n_params == 1)
		return true;
	if (reader_map(&call->params, &n) != 0)
		return false;
	for (; n > 0; n--) {
		int e = reader_str(&call->params, &key);
		if (e == 0 && reader_text_is(key, name))
			e = read(&call->params, to);
		else if (e == 0)
			e = reader_skip(&call->params);
		if (e != 0)
			return false;
	}
	return true;
}

/* The option `after`: the last job of the previous answer. */
struct after {
	struct job_id id;
	bool given;
};

static int read_after(struct reader *r, void *to)
{
	struct after *after = to;
	struct reader_text id;

	if (reader_str(r, &id) != 0 || !job_id_parse(id.data, id.len, &after->id))
		return -EBADMSG;
	after->given = true;
	return 0;
}

/* Takes the options of a request about all of a queue. False after an error answer. */
static bool take_after(struct call *call, const struct listing *l, struct after *after)
{
	if (take_option(call, "after", read_after, after) &&
	    (!after->given || strcmp(after->id.queue, l->name) == 0))
		return true;
	peer_error(call->c, call->msgid, RPC_MISUSE, "after is no id of a job of that queue");
	return false;
}

static int read_wait(struct reader *r, void *to)
{
	int64_t *wait_ms = to;

	return reader_int(r, wait_ms) == 0 && *wait_ms >= 0 && *wait_ms <= METHODS_WAIT_MAX_MS
		       ? 0
		       : -EBADMSG;
}

void method_job(struct call *call)
{
	struct listing *l;
	struct job_id id;
	int64_t wait_ms = 0;

	if (call->n_params < 1 || call->n_params > 2) {
		peer_error(call->c, call->msgid, RPC_MISUSE,
			   "job takes the id of a job, and a map of options");
		return;
	}
	l = queue_ask_take_job(call, &id);
	if (!l)
		return;
	if (!take_option(call, "wait_ms", read_wait, &wait_ms)) {
		peer_error(call->c, call->msgid, RPC_MISUSE, "wait_ms is no time up to 24h");
		return;
	}
	if (wait_ms > 0 && !peer_may_wait(call->c)) {
		peer_error(call->c, call->msgid, RPC_CANNOT_TELL,
			   "too many requests of this user wait at this sidecar");
		return;
	}
	/* A request that may wait for hours is not counted among those that wait for ZooKeeper. */
	struct queue_ask *a = queue_ask_new(call, wait_ms == 0, 0);
	a->outputs = queue_ask_may_read(call->c, l);
	a->owner = call->c;
	queues_read(&call->m->node->queues, &id, wait_ms, call->c, on_read, a);
}

/* --- orders --------------------------------------------------------------- */

static bool may_order(const struct call *call)
{
	if (peer_may_change(call->c))
		return true;
	peer_error(call->c, call->msgid, RPC_MISUSE, METHODS_NOT_ALLOWED);
	return false;
}

/* A job that has ended already stays as it is, and the request has not failed. */
static void on_cancelled(void *arg, const struct job_answer *answer)
{
	struct queue_ask *a = arg;
	bool done = answer->outcome == JOB_DONE;
	char id[JOB_ID_MAX + 1], text[EXPLAIN_TEXT_MAX] = "";

	if (!done && answer->outcome != JOB_NOT_SO) {
		queue_ask_fail(a, answer->outcome, answer->why);
	} else if (a->client) {
		struct pack *p = peer_begin(a->client);
		job_id_format(&a->id, id);
		explain_say(text, "%s: %s", id,
			    done	  ? "cancelled"
			    : answer->why ? answer->why
					  : "has ended already");
		rpc_pack_result(p, a->msgid);
		pack_map(p, 3);
		pack_kv_str(p, "id", id);
		pack_kv_bool(p, "done", done);
		pack_kv_str(p, "message", text);
		peer_end(a->client, a->msgid);
	}
	queue_ask_free(a);
}

void method_cancel(struct call *call)
{
	struct job_id id;

	if (call->n_params != 1) {
		peer_error(call->c, call->msgid, RPC_MISUSE, "cancel takes the id of a job");
		return;
	}
	if (!may_order(call) || !queue_ask_take_job(call, &id))
		return;
	struct queue_ask *a = queue_ask_new(call, true, 0);
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
	if (a->outcome != JOB_DONE) {
		queue_ask_fail(a, a->outcome, a->why);
	} else if (a->client) {
		struct pack *p = peer_begin(a->client);
		char id[JOB_ID_MAX + 1];
		job_id_format(&a->id, id);
		rpc_pack_result(p, a->msgid);
		pack_map(p, a->more ? 2 : 1);
		pack_kv_uint(p, a->word, a->done);
		if (a->more)
			pack_kv_str(p, "more", id);
		peer_end(a->client, a->msgid);
	}
	queue_ask_free(a);
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
		peer_error(call->c, call->msgid, RPC_MISUSE, REQUEUE_TAKES);
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

/* Takes {"queue", "after"}. NULL after an error answer. */
static struct listing *take_requeue_all(struct call *call, struct after *after)
{
	struct reader_text key, name = {.len = 0};
	size_t n;
	int e = reader_map(&call->params, &n);

	for (; e == 0 && n > 0; n--) {
		e = reader_str(&call->params, &key);
		if (e == 0 && reader_text_is(key, "queue"))
			e = reader_str(&call->params, &name);
		else if (e == 0 && reader_text_is(key, "after"))
			e = read_after(&call->params, after);
		else if (e == 0)
			e = reader_skip(&call->params);
	}
	if (e != 0 || name.len == 0 || (after->given && !reader_text_is(name, after->id.queue))) {
		peer_error(call->c, call->msgid, RPC_MISUSE, REQUEUE_TAKES);
		return NULL;
	}
	return queue_ask_find(call, name.data, name.len);
}

static void requeue_all(struct call *call)
{
	struct after after = {.given = false};
	const struct listing *l = take_requeue_all(call, &after);

	if (!l)
		return;
	struct queue_ask *a = queue_ask_new(call, true, 0);
	a->word = "requeued";
	queues_requeue_all(&call->m->node->queues, l->name, after.given ? &after.id : NULL, on_all,
			   a);
}

void method_requeue(struct call *call)
{
	enum reader_type type = READER_NIL;
	struct job_id *ids;
	struct queue_ask *a;
	size_t n = 0;

	if (!may_order(call))
		return;
	if (call->n_params == 1 && reader_peek(&call->params, &type) == 0 && type == READER_MAP) {
		requeue_all(call);
		return;
	}
	ids = take_ids(call, &n);
	if (!ids)
		return;
	a = queue_ask_new(call, true, 0);
	a->word = "requeued";
	a->left = n;
	for (size_t i = 0; i < n; i++)
		queues_requeue(&call->m->node->queues, &ids[i], on_one, a);
	free(ids);
}

void method_purge(struct call *call)
{
	struct after after = {.given = false};
	struct listing *l;

	if (call->n_params < 1 || call->n_params > 2) {
		peer_error(call->c, call->msgid, RPC_MISUSE,
			   "purge takes the name of a queue, and a map of options");
		return;
	}
	if (!may_order(call))
		return;
	l = queue_ask_take(call);
	if (!l || !take_after(call, l, &after))
		return;
	struct queue_ask *a = queue_ask_new(call, true, 0);
	a->word = "purged";
	queues_purge(&call->m->node->queues, l->name, after.given ? &after.id : NULL, on_all, a);
}

/* --- dead ----------------------------------------------------------------- */

static void on_dead(void *arg, const struct job_record *const *jobs, size_t n)
{
	struct queue_ask *a = arg;

	if (!jobs) {
		queue_ask_fail(a, JOB_NO_SESSION,
			       "no confirmed session with ZooKeeper, or its servers do not answer");
	} else if (a->client) {
		struct pack *p = peer_begin(a->client);
		rpc_pack_result(p, a->msgid);
		pack_array(p, n);
		for (size_t i = 0; i < n; i++)
			queue_ask_pack_job(p, a->methods->node, jobs[i], a->outputs);
		peer_end(a->client, a->msgid);
	}
	queue_ask_free(a);
}

void method_dead(struct call *call)
{
	struct listing *l;
	struct after after = {.given = false};

	if (call->n_params < 1 || call->n_params > 2) {
		peer_error(call->c, call->msgid, RPC_MISUSE,
			   "dead takes the name of a queue, and a map of options");
		return;
	}
	l = queue_ask_take(call);
	if (!l)
		return;
	if (!take_after(call, l, &after))
		return;
	struct queue_ask *a = queue_ask_new(call, true, 0);
	a->outputs = queue_ask_may_read(call->c, l);
	queues_dead(&call->m->node->queues, l->name, after.given ? &after.id : NULL, on_dead, a);
}
