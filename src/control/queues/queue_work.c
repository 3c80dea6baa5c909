/* job_begin, job_renew, job_finish, job_attach: the supervisor of one job, on this node. */
#include <stdlib.h>
#include <string.h>

#include "control/ask/held.h"
#include "control/ask/options.h"
#include "control/queues/queue_asks.h"
#include "control/queues/queues.h"
#include "node/node.h"

#define DIGITS_MAX	10   /* digits of an attempt's number */
#define ATTACH_MS	5000 /* attaching waits so long for a job that is not known here yet */
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
	call_refuse(call, "not allowed: only the user of the queue, and root, begins its jobs");
	return NULL;
}

static void on_due(struct ask *a);

/* The client is to own the job: the node makes no call if it has gone. */
static const struct ask_kind kind = {
	.size = sizeof(struct queue_ask), .gone = ask_end, .due = on_due};

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

static void on_begun(void *arg, const struct job_begun *begun)
{
	struct queue_ask *a = arg;
	struct pack *p;
	int64_t now = host_now_ms(a->ask.methods->node->host);

	if (a->attaches && !begun->yours && now < a->until_ms) {
		ask_until(&a->ask, now + ATTACH_AGAIN_MS);
		return;
	}
	p = ask_result(&a->ask);
	if (a->attaches)
		held_pack_attached(p, begun->yours, begun->yours ? begun->number : 0, false);
	else
		pack_begun(p, a->ask.methods->node, begun);
	if (begun->yours)
		asks_hold(a->ask.client);
	ask_end(&a->ask);
}

/*
 * A restarted sidecar does not know at once which jobs go on here, and a sidecar may not know yet
 * that the previous connection is closed. So attaching is retried.
 */
static void on_due(struct ask *ask)
{
	struct queue_ask *a = (struct queue_ask *)ask;

	ask_until(ask, INT64_MAX);
	queues_attach(&ask->methods->node->queues, ask->client, &a->id, a->attempt, on_begun, a);
}

void method_job_begin(struct call *call)
{
	struct job_id id;

	if (take_own_job(call, &id))
		queues_begin(&call->m->node->queues, call->c, &id, on_begun, ask_new(call, &kind));
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

	if (!take_own_job(call, &id))
		return;
	if (!take_attempt(&call->params, &attempt)) {
		call_refuse(call, "that is no number of an attempt");
		return;
	}
	struct queue_ask *a = ask_new(call, &kind);
	a->attaches = true;
	a->id = id;
	a->attempt = attempt;
	a->until_ms = host_now_ms(call->m->node->host) + ATTACH_MS;
	queues_attach(&call->m->node->queues, call->c, &id, attempt, on_begun, a);
}

/* --- job_renew, job_finish ------------------------------------------------ */

void method_job_renew(struct call *call)
{
	held_renewed(call, queues_renew(&call->m->node->queues, call->c, held_number(call)));
}

static void on_ended(void *arg, bool recorded)
{
	struct ask *a = arg;

	pack_bool(ask_result(a), recorded);
	asks_released(a->client);
	ask_end(a);
}

void method_job_finish(struct call *call)
{
	struct held_end end;
	struct ask *a;
	uint64_t number;

	if (reader_uint(&call->params, &number) != 0) {
		call_misused(call);
		return;
	}
	if (!held_take_end(call, &end))
		return;
	if (end.what.exit_status < 0 && end.what.answer == ATTEMPT_NO_ANSWER) {
		call_refuse(call, "exit_status: missing");
		return;
	}
	struct job_end told = {
		.what = end.what, .retry_ms = end.retry_ms, .output = end.output, .len = end.len};
	memcpy(told.start, end.start, sizeof(told.start));
	a = ask_new(call, &kind);
	if (!queues_finish(&call->m->node->queues, call->c, number, &told, on_ended, a))
		ask_fail(a, RPC_MISUSE, "no such job on this connection");
}
