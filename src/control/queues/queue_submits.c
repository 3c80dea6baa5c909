/* submit: takes a job from a user, whose name is looked up first. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/mem.h"
#include "base/text/utf8.h"
#include "config/keys/callback_url.h"
#include "control/ask/explain_text.h"
#include "control/ask/refusal.h"
#include "control/ask/user.h"
#include "control/queues/queue_asks.h"
#include "control/queues/queues.h"
#include "node/node.h"
#include "node/session/id.h"

#define NAME_KEPT_MS INT64_C(60000) /* how long a user's name is kept */
#define NAMES_MAX    1000	    /* users whose names are kept */
#define HELD_BY_EACH 400	    /* bytes that a submit costs, besides its payload */

/* --- the names of users --------------------------------------------------- */

/* A submit that waits for its user's name. */
struct submit_wait {
	struct submit_wait *next;
	struct peer *client; /* NULL: gone */
	uint32_t msgid;
	size_t n_params, len;
	unsigned char *params; /* a copy */
};

struct submitter {
	struct submitter *next;
	struct methods *methods;
	uid_t uid;
	bool known, busy;
	int64_t at_ms; /* when the name was looked up, by host_now_ms() */
	char name[POLICY_TEXT_MAX + 1], found[POLICY_TEXT_MAX + 1];
	struct submit_wait *waits, **last_wait;
};

static void submit(struct call *call, const char *by);

static void find_name(void *arg)
{
	struct submitter *s = arg;

	user_name(s->uid, s->found, sizeof(s->found));
}

/* Serves the submits that have waited for the name, in their order. */
static void on_name(void *arg)
{
	struct submitter *s = arg;
	struct methods *m = s->methods;
	struct submit_wait *waits = s->waits;

	s->busy = false;
	if (s->found[0])
		memcpy(s->name, s->found, sizeof(s->name));
	s->known = true;
	s->at_ms = host_now_ms(m->node->host);
	s->waits = NULL;
	s->last_wait = &s->waits;
	while (waits) {
		struct submit_wait *w = waits;

		waits = w->next;
		if (w->client) {
			struct call call = {m,
					    w->client,
					    w->msgid,
					    {w->params, w->params + w->len},
					    w->n_params};
			w->client->parked--;
			w->client->held -= w->len;
			submit(&call, s->name);
		}
		free(w->params);
		free(w);
	}
}

static void look_up(struct submitter *s)
{
	const struct process *process = s->methods->process;

	s->busy = true;
	snprintf(s->found, sizeof(s->found), "uid %u", (unsigned)s->uid);
	if (process->offload(process->arg, find_name, on_name, s) != 0)
		on_name(s);
}

/* The entry of the user; NULL: there are too many users. */
static struct submitter *submitter_of(struct methods *m, uid_t uid)
{
	struct submitter *s = m->submitters;
	size_t n = 0;

	for (; s; s = s->next, n++)
		if (s->uid == uid)
			return s;
	if (n >= NAMES_MAX)
		return NULL;
	s = mem_calloc(1, sizeof(*s));
	s->methods = m;
	s->uid = uid;
	s->last_wait = &s->waits;
	s->next = m->submitters;
	m->submitters = s;
	return s;
}

static void wait_for_name(const struct call *call, struct submitter *s)
{
	struct submit_wait *w = mem_calloc(1, sizeof(*w));

	w->client = call->c;
	w->msgid = call->msgid;
	w->n_params = call->n_params;
	w->len = (size_t)(call->params.end - call->params.p);
	w->params = mem_alloc(w->len + 1);
	memcpy(w->params, call->params.p, w->len);
	call->c->parked++;
	call->c->held += w->len;
	*s->last_wait = w;
	s->last_wait = &w->next;
	if (!s->busy)
		look_up(s);
}

void queue_submits_client_gone(struct methods *m, const struct peer *c)
{
	for (struct submitter *s = m->submitters; s; s = s->next)
		for (struct submit_wait *w = s->waits; w; w = w->next)
			if (w->client == c)
				w->client = NULL;
}

/* An entry whose name is being looked up is not freed: a thread uses it, and the process ends. */
void queue_submits_done(struct methods *m)
{
	while (m->submitters) {
		struct submitter *s = m->submitters;

		m->submitters = s->next;
		if (!s->busy)
			free(s);
	}
}

/* --- what is submitted ---------------------------------------------------- */

struct submission {
	struct job_submit job;
	struct job_id id;
	bool has_id;
	bool has_at, has_in;
	char at[CLOCK_TEXT_SIZE * 2];
	char key[JOB_KEY_MAX + 1], callback[JOB_CALLBACK_MAX + 1];
};

/* Why a submit is refused, for people. */
struct refusal_text {
	char text[EXPLAIN_TEXT_MAX];
};

static int take_text(struct reader *r, char *to, size_t size)
{
	struct reader_text text;

	if (reader_str(r, &text) != 0 || !utf8_is_valid(text.data, text.len))
		return -1;
	for (size_t i = 0; i < text.len; i++)
		if ((unsigned char)text.data[i] < ' ' || text.data[i] == 0x7f)
			return -1;
	return reader_text_copy(text, to, size);
}

static int take_id(struct reader *r, struct submission *s)
{
	struct reader_text text;

	s->has_id = true;
	return reader_str(r, &text) != 0 || !job_id_parse(text.data, text.len, &s->id) ? -1 : 0;
}

static int take_while(struct reader *r, bool *ret_open)
{
	struct reader_text text;

	if (reader_str(r, &text) != 0)
		return -1;
	*ret_open = reader_text_is(text, "open");
	return *ret_open || reader_text_is(text, "kept") ? 0 : -1;
}

static int take_payload(struct reader *r, struct submission *s)
{
	struct reader_text data;
	enum reader_type type;

	if (reader_peek(r, &type) != 0)
		return -1;
	if ((type == READER_STR ? reader_str(r, &data) : reader_bin(r, &data)) != 0)
		return -1;
	s->job.payload = data.data;
	s->job.len = data.len;
	return 0;
}

/* Takes one option. Returns what is wrong with it, for people; NULL: nothing. */
static const char *take_option(struct reader *r, struct submission *s)
{
	struct reader_text key;

	if (reader_str(r, &key) != 0)
		return "an option has no name";
	if (reader_text_is(key, "id"))
		return take_id(r, s) == 0 ? NULL
					  : "id is no id of a job, which is QUEUE.MINUTE.UUID";
	if (reader_text_is(key, "payload"))
		return take_payload(r, s) == 0 ? NULL : "payload is not bytes";
	if (reader_text_is(key, "at")) {
		s->has_at = true;
		return take_text(r, s->at, sizeof(s->at)) == 0 &&
				       clock_parse(s->at, &s->job.at_ms) == 0 && s->job.at_ms > 0
			       ? NULL
			       : "at is no time as RFC 3339 has it, such as 2026-11-20T02:00:00Z";
	}
	if (reader_text_is(key, "in_ms")) {
		s->has_in = true;
		return reader_int(r, &s->job.in_ms) == 0 && s->job.in_ms >= 0
			       ? NULL
			       : "in_ms is no time from now on";
	}
	if (reader_text_is(key, "key"))
		return take_text(r, s->key, sizeof(s->key)) == 0
			       ? NULL
			       : "key is no text of up to 200 bytes without control characters";
	if (reader_text_is(key, "while"))
		return take_while(r, &s->job.while_open) == 0
			       ? NULL
			       : "while is neither \"kept\" nor \"open\"";
	if (reader_text_is(key, "callback"))
		return take_text(r, s->callback, sizeof(s->callback)) == 0
			       ? NULL
			       : "callback is no URL of up to 1,000 bytes";
	return reader_skip(r) == 0 ? NULL : "an option is not good";
}

static bool take_submission(struct reader *r, struct submission *s, const char **ret_why)
{
	size_t n;

	*ret_why = reader_map(r, &n) == 0 ? NULL : "submit takes a queue and a map of options";
	for (; !*ret_why && n > 0; n--)
		*ret_why = take_option(r, s);
	return !*ret_why;
}

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

	if (answer->outcome != JOB_DONE) {
		queue_ask_fail(a, answer->outcome, answer->why);
	} else if (a->client) {
		struct pack *p = peer_begin(a->client);
		job_id_format(&answer->id, id);
		rpc_pack_result(p, a->msgid);
		pack_map(p, 1);
		pack_kv_str(p, "id", id);
		peer_end(a->client, a->msgid);
	}
	queue_ask_free(a);
}

/* Its minute is set once the clock that jobs go by is known. */
static void new_id(const struct node *n, const char *queue, struct job_id *ret)
{
	char uuid[NAME_ID_MAX + 1];

	id_new(n->host, uuid);
	snprintf(ret->queue, sizeof(ret->queue), "%s", queue);
	ret->minute = queues_server_ms(&n->queues) / JOB_MINUTE_MS;
	memcpy(ret->uuid, uuid, sizeof(ret->uuid));
}

static void submit(struct call *call, const char *by)
{
	struct submission s = {.job = {.by = by}};
	struct refusal_text why = {""};
	const char *wrong;
	struct listing *l = queue_ask_take(call);

	if (!l)
		return;
	if (!take_submission(&call->params, &s, &wrong)) {
		peer_error(call->c, call->msgid, RPC_MISUSE, wrong);
		return;
	}
	if (!check(call, l, &s, &why)) {
		peer_error(call->c, call->msgid, RPC_MISUSE, why.text);
		return;
	}
	if (!s.has_id)
		new_id(call->m->node, l->name, &s.id);
	s.job.id = &s.id;
	s.job.drawn = !s.has_id;
	s.job.key = s.key[0] ? s.key : NULL;
	s.job.callback = s.callback[0] ? s.callback : NULL;
	queues_submit(&call->m->node->queues, &s.job, on_submitted,
		      queue_ask_new(call, false, s.job.len + HELD_BY_EACH));
}

void method_submit(struct call *call)
{
	struct call first = *call;
	struct submitter *s;
	struct listing *l;

	if (call->n_params != 2) {
		peer_error(call->c, call->msgid, RPC_MISUSE,
			   "submit takes a queue and a map of options");
		return;
	}
	l = queue_ask_take(&first);
	if (!l || !refusal_may(call, &l->settings, l->name))
		return;
	s = submitter_of(call->m, call->c->uid);
	if (!s)
		peer_error(call->c, call->msgid, RPC_CANNOT_TELL, "too many users submit");
	else if (!s->known ||
		 (!s->busy && host_now_ms(call->m->node->host) - s->at_ms >= NAME_KEPT_MS))
		wait_for_name(call, s);
	else
		submit(call, s->name);
}

void method_job_id(struct call *call)
{
	struct listing *l;
	struct job_id id;

	if (call->n_params != 1) {
		peer_error(call->c, call->msgid, RPC_MISUSE, "job_id takes the name of a queue");
		return;
	}
	l = queue_ask_take(call);
	if (!l)
		return;
	new_id(call->m->node, l->name, &id);
	queues_stamp(&call->m->node->queues, &id, on_submitted, queue_ask_new(call, true, 0));
}
