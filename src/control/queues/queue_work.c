/* job_begin, job_renew, job_finish, job_attach: the supervisor of one job, on this node. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "control/ask/options.h"
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
	call_refuse(call, "not allowed: only the user of the queue, and root, begins its jobs");
	return NULL;
}

static void on_due(struct ask *a);

/* Once the client, which is to own the job, is gone, the node calls back no more. */
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
	struct pack *p;
	int64_t now = host_now_ms(a->ask.methods->node->host);

	if (a->attaches && !begun->yours && now < a->until_ms) {
		ask_until(&a->ask, now + ATTACH_AGAIN_MS);
		return;
	}
	p = ask_result(&a->ask);
	if (a->attaches)
		pack_attached(p, begun);
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
	uint64_t number;
	int64_t lease_ms = -1;

	if (reader_uint(&call->params, &number) == 0)
		lease_ms = queues_renew(&call->m->node->queues, call->c, number);
	methods_renewed(call, lease_ms, "job_renew takes the number of a job of this connection");
}

/* How an attempt has ended: with an exit status for a command, with `how` for an HTTP request. */
struct ended {
	struct job_end end;
	bool answered;
};

static int read_output(struct reader *r, void *to)
{
	struct ended *e = to;
	struct reader_text output;

	if (reader_bin(r, &output) != 0 || output.len > RECORD_OUTPUT_MAX)
		return -EBADMSG;
	e->end.output = output.data;
	e->end.len = output.len;
	return 0;
}

/* A text for people alone: what has no room is left out. */
static int read_start(struct reader *r, void *to)
{
	struct ended *e = to;
	struct reader_text text;

	if (reader_str(r, &text) != 0)
		return -EBADMSG;
	if (reader_text_copy(text, e->end.start, sizeof(e->end.start)) != 0)
		e->end.start[0] = '\0';
	return 0;
}

/* The answer to an HTTP request. */
static int read_how(struct reader *r, void *to)
{
	static const struct {
		const char *word;
		enum attempt_answer answer;
	} words[] = {{"ok", ATTEMPT_ACCEPTED},
		     {"dead", ATTEMPT_REFUSED},
		     {"failed", ATTEMPT_UNANSWERED}};
	struct ended *e = to;
	struct reader_text text;
	int error = reader_str(r, &text);

	for (size_t i = 0; error == 0 && i < sizeof(words) / sizeof(words[0]); i++) {
		if (!reader_text_is(text, words[i].word))
			continue;
		e->end.what.answer = words[i].answer;
		e->answered = true;
	}
	return e->answered ? 0 : -EBADMSG;
}

static bool take_end(struct call *call, struct job_end *ret)
{
	static const struct key keys[] = {
		OPTION_INT(ended, end.what.exit_status, "exit_status", -1, 255,
			   "not from 0 to 255"),
		OPTION_INT(ended, end.retry_ms, "retry_ms", -1, QUEUE_DELAY_MAX_MS,
			   "not a time up to 90 days"),
		OPTION_BOOL(ended, end.what.interrupted, "interrupted"),
		OPTION_BOOL(ended, end.what.timeout, "timeout"),
		OPTION("how", read_how, "not one of ok, dead, failed"),
		OPTION("output", read_output, "not a bin of at most 2048 bytes"),
		OPTION("start", read_start, "not a text"),
	};
	struct ended e = {.end = {.what.exit_status = -1, .retry_ms = -1}};

	if (!options_take(call, OPTIONS(keys), &e))
		return false;
	if (!e.answered && e.end.what.exit_status < 0)
		return call_refuse(call, "exit_status: missing");
	if (e.answered)
		e.end.what.exit_status = -1; /* the process's status says nothing of the request */
	*ret = e.end;
	return true;
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
	struct job_end end;
	struct ask *a;
	uint64_t number;

	if (reader_uint(&call->params, &number) != 0) {
		call_refuse(call, "job_finish takes the number of a job and a map of how it has "
				  "ended");
		return;
	}
	if (!take_end(call, &end))
		return;
	a = ask_new(call, &kind);
	if (!queues_finish(&call->m->node->queues, call->c, number, &end, on_ended, a))
		ask_fail(a, RPC_MISUSE, "no such job on this connection");
}
