/* submit: takes a job from a user, whose name is looked up first. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/mem.h"
#include "config/keys/callback_url.h"
#include "control/ask/explain_text.h"
#include "control/ask/options.h"
#include "control/ask/refusal.h"
#include "control/ask/user.h"
#include "control/queues/queue_asks.h"
#include "control/queues/queues.h"
#include "node/node.h"
#include "node/session/id.h"

#define HELD_BY_EACH 400 /* bytes that a submit costs, besides its payload */

/* --- options of a submit -------------------------------------------------- */

struct submission {
	struct job_submit job;
	struct job_id id;
	bool has_id, has_at, has_in;
	char key[JOB_KEY_MAX + 1], callback[JOB_CALLBACK_MAX + 1];
};

/* Why a submit is refused, for people. */
struct refusal_text {
	char text[EXPLAIN_TEXT_MAX];
};

static int read_id(struct reader *r, void *to)
{
	struct submission *s = to;
	struct reader_text text;

	s->has_id = true;
	return reader_str(r, &text) != 0 || !job_id_parse(text.data, text.len, &s->id) ? -EBADMSG
										       : 0;
}

static int read_while(struct reader *r, void *to)
{
	struct submission *s = to;
	struct reader_text text;

	if (reader_str(r, &text) != 0)
		return -EBADMSG;
	s->job.while_open = reader_text_is(text, "open");
	return s->job.while_open || reader_text_is(text, "kept") ? 0 : -EBADMSG;
}

static int read_payload(struct reader *r, void *to)
{
	struct submission *s = to;
	enum reader_type type = READER_NIL;
	struct reader_text data;

	reader_peek(r, &type);
	if ((type == READER_STR ? reader_str(r, &data) : reader_bin(r, &data)) != 0)
		return -EBADMSG;
	s->job.payload = data.data;
	s->job.len = data.len;
	return 0;
}

static int read_at(struct reader *r, void *to)
{
	struct submission *s = to;
	char at[CLOCK_TEXT_SIZE * 2];
	struct reader_text text;

	s->has_at = true;
	return reader_str(r, &text) == 0 && reader_text_copy(text, at, sizeof(at)) == 0 &&
			       clock_parse(at, &s->job.at_ms) == 0 && s->job.at_ms > 0
		       ? 0
		       : -EBADMSG;
}

static int read_in(struct reader *r, void *to)
{
	struct submission *s = to;

	s->has_in = true;
	return keys_parse_int(r, 0, INT64_MAX, &s->job.in_ms);
}

static const struct key submit_keys[] = {
	OPTION("id", read_id, "no id of a job, which is QUEUE.MINUTE.UUID"),
	OPTION("payload", read_payload, "not bytes"),
	OPTION("at", read_at, "no time as RFC 3339 has it, such as 2026-11-20T02:00:00Z"),
	OPTION("in_ms", read_in, "no time from now on"),
	OPTION_TEXT(submission, key, "key", options_is_line,
		    "no text of up to 200 bytes without control characters"),
	OPTION("while", read_while, "neither \"kept\" nor \"open\""),
	OPTION_TEXT(submission, callback, "callback", options_is_line,
		    "no URL of up to 1,000 bytes"),
};

static bool check_times(const struct submission *s, int64_t now_ms, struct refusal_text *why)
{
	int64_t delay_ms = s->has_at ? s->job.at_ms - now_ms : s->job.in_ms;

	if (s->has_at && s->has_in)
		explain_say(why->text, "at and in go not together");
	else if (delay_ms > QUEUE_DELAY_MAX_MS)
		explain_say(why->text, "a job may wait for 90 days at most");
	return !why->text[0];
}

static bool check(const struct call *call, const struct listing *l, const struct submission *s,
		  struct refusal_text *why)
{
	const struct task_config *config = task_files_find(call->m->process->tasks, l->name);
	const char *wrong = NULL;

	if (s->has_id && strcmp(s->id.queue, l->name) != 0)
		explain_say(why->text, "the id is of the queue %s, and not of %s", s->id.queue,
			    l->name);
	else if (s->job.len > QUEUE_PAYLOAD_MAX)
		explain_say(why->text,
			    "the payload has %zu bytes, more than %d: put it somewhere that the "
			    "workers reach, and submit where",
			    s->job.len, QUEUE_PAYLOAD_MAX);
	else if (s->callback[0] && config && config->queue)
		wrong = callback_url_problem(s->callback, config->queue->callback_allow,
					     config->queue->n_callback_allow);
	if (wrong)
		explain_say(why->text, "not allowed as a callback: %s", wrong);
	return !why->text[0] && check_times(s, queues_server_ms(&call->m->node->queues), why);
}

static void on_submitted(void *arg, const struct job_answer *answer)
{
	struct queue_ask *a = arg;
	char id[JOB_ID_MAX + 1];
	struct pack *p;

	if (answer->outcome != JOB_DONE) {
		queue_ask_fail(a, answer->outcome, answer->why);
		return;
	}
	p = ask_result(&a->ask);
	job_id_format(&answer->id, id);
	pack_map(p, 1);
	pack_kv_str(p, "id", id);
	ask_end(&a->ask);
}

/* The minute of the id is set later, once the clock of jobs is known. */
static void new_id(const struct node *n, const char *queue, struct job_id *ret)
{
	char uuid[NAME_ID_MAX + 1];

	id_new(n->host, uuid);
	snprintf(ret->queue, sizeof(ret->queue), "%s", queue);
	ret->minute = queues_server_ms(&n->queues) / JOB_MINUTE_MS;
	memcpy(ret->uuid, uuid, sizeof(ret->uuid));
}

/* Submits are bounded by the bytes that they hold: they do not count as asking ZooKeeper. */
static const struct ask_kind submit_kind = {.size = sizeof(struct queue_ask)};

static void submit(struct call *call, const char *by)
{
	struct submission s = {.job = {.by = by}};
	struct refusal_text why = {""};
	const struct listing *l = queue_ask_take(call);
	struct ask *a;

	if (!l || !options_take(call, OPTIONS(submit_keys), &s))
		return;
	if (!check(call, l, &s, &why)) {
		call_refuse(call, why.text);
		return;
	}
	if (!s.has_id)
		new_id(call->m->node, l->name, &s.id);
	s.job.id = &s.id;
	s.job.drawn = !s.has_id;
	s.job.key = s.key[0] ? s.key : NULL;
	s.job.callback = s.callback[0] ? s.callback : NULL;
	a = ask_new(call, &submit_kind);
	ask_holds(a, s.job.len + HELD_BY_EACH);
	queues_submit(&call->m->node->queues, &s.job, on_submitted, a);
}

/* A submit that waits for its user's name. */
struct submit_wait {
	struct ask ask;
	char by[USER_NAME_MAX + 1];
	size_t n_params, len;
	unsigned char *params; /* a copy */
};

static void wait_done(struct ask *a)
{
	free(((struct submit_wait *)a)->params);
}

/* Submits the job, unless the client has gone. */
static void on_user(struct ask *a)
{
	struct submit_wait *w = (struct submit_wait *)a;
	struct call call = {a->methods,	 a->client, a->msgid, {w->params, w->params + w->len},
			    w->n_params, "submit",  NULL};

	if (a->client)
		submit(&call, w->by);
	ask_end(a);
}

void method_submit(struct call *call)
{
	static const struct ask_kind kind = {.size = sizeof(struct submit_wait), .done = wait_done};
	const char *by = user_known(call->m, call->c->uid);
	struct call first = *call;
	const struct listing *l = queue_ask_take(&first);
	struct submit_wait *w;

	if (!l || !refusal_may(call, &l->settings, l->name))
		return;
	if (by) {
		submit(call, by);
		return;
	}
	w = ask_new(call, &kind);
	w->n_params = call->n_params;
	w->len = (size_t)(call->params.end - call->params.p);
	w->params = mem_alloc(w->len + 1);
	memcpy(w->params, call->params.p, w->len);
	ask_holds(&w->ask, w->len);
	ask_user(&w->ask, w->by, on_user);
}

void method_job_id(struct call *call)
{
	const struct listing *l = queue_ask_take(call);
	struct job_id id;

	if (!l)
		return;
	new_id(call->m->node, l->name, &id);
	queues_stamp(&call->m->node->queues, &id, on_submitted, ask_new(call, &queue_ask_kind));
}
