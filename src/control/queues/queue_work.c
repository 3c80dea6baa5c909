/* job_begin, job_renew, job_finish, job_attach: the supervisor of one job, on this node. */
#include <stdlib.h>
#include <string.h>

#include "control/queues/queue_asks.h"
#include "control/queues/queues.h"
#include "node/node.h"

#define DIGITS_MAX	10   /* of an attempt's number */
#define ATTACH_MS	5000 /* how long attaching waits for a job that is not known here yet */
#define ATTACH_AGAIN_MS 50

/*
 * Takes the id of a job that the client may begin: root may, and the user of the queue. NULL after
 * an error answer.
 */
static struct listing *take_own_job(struct call *call, struct job_id *ret_id)
{
	struct listing *l = queue_ask_take_job(call, ret_id);

	if (!l || call->c->uid == 0 || (l->settings.has_user && l->settings.user == call->c->uid))
		return l;
	peer_error(call->c, call->msgid, RPC_MISUSE,
		   "not allowed: only the user of the queue, and root, begins its jobs");
	return NULL;
}

static struct queue_ask *ask_of_owner(const struct call *call)
{
	struct queue_ask *a = queue_ask_new(call, false, 0);

	a->owner = call->c;
	return a;
}

/* --- job_begin, job_attach ------------------------------------------------ */

static void pack_begun(struct pack *p, const struct node *n, const struct job_begun *b)
{
	if (!b->yours) {
		pack_map(p, 2);
		pack_kv_str(p, "outcome", "gone");
		pack_kv_str(p, "why", b->why);
		return;
	}
	pack_map(p, 8);
	pack_kv_str(p, "outcome", "yours");
	pack_kv_uint(p, "number", b->number);
	pack_kv_int(p, "token", b->token);
	pack_kv_int(p, "attempt", b->attempt);
	pack_kv_int(p, "timeout_ms", b->timeout_ms);
	if (b->callback || !b->payload)
		pack_kv_nil(p, "payload");
	else
		pack_kv_bin(p, "payload", b->payload, b->len);
	pack_kv_str(p, "callback", b->callback);
	pack_str(p, "job");
	if (b->callback && b->record)
		queue_ask_pack_job(p, n, b->record, false);
	else
		pack_nil(p);
}

static void pack_attached(struct pack *p, const struct job_begun *b)
{
	pack_map(p, 3);
	pack_kv_bool(p, "attached", b->yours);
	pack_kv_uint(p, "run", b->yours ? b->number : 0);
	pack_kv_bool(p, "recorded", false);
}

static void on_begun(void *arg, const struct job_begun *begun)
{
	struct queue_ask *a = arg;
	struct host *host = a->methods->node->host;

	if (a->client && a->attaches && !begun->yours && host_now_ms(host) < a->until_ms) {
		a->again = true;
		host_timer_start(&a->methods->attach_due, ATTACH_AGAIN_MS);
		return;
	}
	if (a->client) {
		struct pack *p = peer_begin(a->client);
		rpc_pack_result(p, a->msgid);
		if (a->attaches)
			pack_attached(p, begun);
		else
			pack_begun(p, a->methods->node, begun);
		peer_end(a->client, a->msgid);
		/* A supervised job counts as a waiting request until it has ended. */
		a->client->parked += begun->yours;
	}
	queue_ask_free(a);
}

/*
 * A restarted sidecar does not know at once which jobs go on here, and a sidecar may not know yet
 * that the previous connection is closed. So attaching is retried.
 */
static void on_attach_due(void *arg)
{
	struct methods *m = arg;
	struct queue_ask *next;

	for (struct queue_ask *a = m->queue_asks; a; a = next) {
		next = a->next;
		if (!a->again)
			continue;
		a->again = false;
		if (a->client)
			queues_attach(&m->node->queues, a->client, &a->id, a->attempt, on_begun, a);
		else
			queue_ask_free(a);
	}
}

void queue_work_init(struct methods *m)
{
	host_timer_init(&m->attach_due, m->node->host, on_attach_due, m);
}

void method_job_begin(struct call *call)
{
	struct job_id id;

	if (call->n_params != 1)
		peer_error(call->c, call->msgid, RPC_MISUSE, "job_begin takes the id of a job");
	else if (take_own_job(call, &id))
		queues_begin(&call->m->node->queues, call->c, &id, on_begun, ask_of_owner(call));
}

/* Takes the number of an attempt, an int or digits in a text: clients may send either. */
static bool take_attempt(struct reader *r, int64_t *ret_attempt)
{
	struct reader_text text;
	char digits[DIGITS_MAX + 1];

	if (reader_int(r, ret_attempt) == 0)
		return *ret_attempt > 0;
	if (reader_str(r, &text) != 0 || text.len == 0 ||
	    reader_text_copy(text, digits, sizeof(digits)) != 0 ||
	    strspn(digits, "0123456789") != text.len)
		return false;
	*ret_attempt = strtoll(digits, NULL, 10);
	return *ret_attempt > 0;
}

void method_job_attach(struct call *call)
{
	struct job_id id;
	int64_t attempt;

	if (call->n_params != 2) {
		peer_error(call->c, call->msgid, RPC_MISUSE,
			   "job_attach takes the id of a job and the number of its attempt");
		return;
	}
	if (!take_own_job(call, &id))
		return;
	if (!take_attempt(&call->params, &attempt)) {
		peer_error(call->c, call->msgid, RPC_MISUSE, "that is no number of an attempt");
		return;
	}
	struct queue_ask *a = ask_of_owner(call);
	a->attaches = true;
	a->id = id;
	a->attempt = attempt;
	a->until_ms = host_now_ms(call->m->node->host) + ATTACH_MS;
	queues_attach(&call->m->node->queues, call->c, &id, attempt, on_begun, a);
}

/* --- job_renew, job_finish ------------------------------------------------ */

void method_job_renew(struct call *call)
{
	uint64_t number;
	int64_t lease_ms = -1;

	if (call->n_params == 1 && reader_uint(&call->params, &number) == 0)
		lease_ms = queues_renew(&call->m->node->queues, call->c, number);
	methods_renewed(call, lease_ms, "job_renew takes the number of a job of this connection");
}

/* How an attempt has ended: with an exit status for a command, with `how` for an HTTP request. */
struct ended {
	struct attempt_end what;
	int64_t retry_ms;
	struct reader_text how, output, start;
};

static int take_one(struct reader *r, struct ended *e)
{
	struct reader_text key;

	if (reader_str(r, &key) != 0)
		return -1;
	if (reader_text_is(key, "exit_status"))
		return reader_int(r, &e->what.exit_status);
	if (reader_text_is(key, "retry_ms"))
		return reader_int(r, &e->retry_ms);
	if (reader_text_is(key, "interrupted"))
		return reader_bool(r, &e->what.interrupted);
	if (reader_text_is(key, "timeout"))
		return reader_bool(r, &e->what.timeout);
	if (reader_text_is(key, "how"))
		return reader_str(r, &e->how);
	if (reader_text_is(key, "output"))
		return reader_bin(r, &e->output);
	if (reader_text_is(key, "start"))
		return reader_str(r, &e->start);
	return reader_skip(r);
}

/* The answer to an HTTP request, if it was one. False: `how` is no such word. */
static bool take_answer(const struct ended *e, struct attempt_end *ret)
{
	if (!e->how.data)
		return true;
	ret->exit_status = -1; /* the process's status says nothing of the request */
	if (reader_text_is(e->how, "ok"))
		ret->answer = ATTEMPT_ACCEPTED;
	else if (reader_text_is(e->how, "dead"))
		ret->answer = ATTEMPT_REFUSED;
	else if (reader_text_is(e->how, "failed"))
		ret->answer = ATTEMPT_UNANSWERED;
	return ret->answer != ATTEMPT_NO_ANSWER;
}

static bool take_end(struct reader *r, struct job_end *ret)
{
	struct ended e = {.what.exit_status = -1, .retry_ms = -1, .start = {"", 0}};
	size_t n;

	if (reader_map(r, &n) != 0)
		return false;
	for (; n > 0; n--)
		if (take_one(r, &e) != 0)
			return false;
	if (e.what.exit_status < -1 || e.what.exit_status > 255 || e.retry_ms < -1 ||
	    e.retry_ms > QUEUE_DELAY_MAX_MS || e.output.len > RECORD_OUTPUT_MAX ||
	    (!e.how.data && e.what.exit_status < 0))
		return false;
	ret->retry_ms = e.retry_ms;
	ret->output = e.output.data;
	ret->len = e.output.len;
	ret->what = e.what;
	if (reader_text_copy(e.start, ret->start, sizeof(ret->start)) != 0)
		ret->start[0] = '\0'; /* it is for people alone */
	return take_answer(&e, &ret->what);
}

static void on_ended(void *arg, bool recorded)
{
	struct queue_ask *a = arg;

	if (a->client) {
		struct pack *p = peer_begin(a->client);
		rpc_pack_result(p, a->msgid);
		pack_bool(p, recorded);
		peer_end(a->client, a->msgid);
		a->client->parked--; /* the client no longer has that job */
	}
	queue_ask_free(a);
}

void method_job_finish(struct call *call)
{
	struct job_end end;
	struct queue_ask *a;
	uint64_t number;

	if (call->n_params != 2 || reader_uint(&call->params, &number) != 0 ||
	    !take_end(&call->params, &end)) {
		peer_error(call->c, call->msgid, RPC_MISUSE,
			   "job_finish takes the number of a job and a map of how it has ended");
		return;
	}
	a = ask_of_owner(call);
	if (queues_finish(&call->m->node->queues, call->c, number, &end, on_ended, a))
		return;
	queue_ask_free(a);
	peer_error(call->c, call->msgid, RPC_MISUSE, "no such job on this connection");
}
