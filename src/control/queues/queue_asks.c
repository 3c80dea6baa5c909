#include "control/queues/queue_asks.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/text/nearest.h"
#include "control/ask/explain_text.h"
#include "node/node.h"

/* --- asks ----------------------------------------------------------------- */

struct queue_ask *queue_ask_new(const struct call *call, bool asks, size_t held)
{
	struct queue_ask *a = mem_calloc(1, sizeof(*a));

	a->methods = call->m;
	a->client = call->c;
	a->msgid = call->msgid;
	a->asks = asks;
	a->held = held;
	a->next = call->m->queue_asks;
	if (a->next)
		a->next->prev = a;
	call->m->queue_asks = a;
	call->c->parked++;
	call->c->asking += asks;
	call->c->held += held;
	buffer_init(&a->views, RPC_RESPONSE_MAX / 2);
	return a;
}

void queue_ask_release(struct queue_ask *a)
{
	if (a->client) {
		a->client->parked--;
		a->client->asking -= a->asks;
		a->client->held -= a->held;
	}
	a->client = NULL;
}

void queue_ask_free(struct queue_ask *a)
{
	if (a->prev)
		a->prev->next = a->next;
	else
		a->methods->queue_asks = a->next;
	if (a->next)
		a->next->prev = a->prev;
	queue_ask_release(a);
	buffer_done(&a->views);
	free(a->why);
	free(a);
}

void queue_asks_client_gone(struct methods *m, struct peer *c)
{
	for (struct queue_ask *a = m->queue_asks; a; a = a->next)
		if (a->client == c)
			a->client = NULL;
	queues_owner_gone(&m->node->queues, c);
	for (struct queue_ask *a = m->queue_asks, *next; a; a = next) {
		next = a->next;
		if (a->owner == c)
			queue_ask_free(a);
	}
}

void queue_ask_fail(const struct queue_ask *a, enum job_outcome outcome, const char *why)
{
	static const struct {
		enum rpc_code code;
		const char *text;
	} errors[] = {
		[JOB_DONE] = {RPC_OK, ""},
		[JOB_NOT_THERE] = {RPC_MISUSE, "no such job: there never was one of that id, or it "
					       "is not kept any more"},
		[JOB_NOT_SO] = {RPC_MISUSE, "the job is in a state that this is not for"},
		[JOB_MISUSE] = {RPC_MISUSE, "that cannot be done"},
		[JOB_NOT_NOW] = {RPC_NOBODY, "the queue takes nothing now"},
		[JOB_NO_SESSION] = {RPC_CANNOT_TELL,
				    "no confirmed session with ZooKeeper: nothing was done"},
		[JOB_UNKNOWN] = {RPC_CANNOT_TELL,
				 "the connection to ZooKeeper went: it may or may not have been "
				 "done"},
	};

	if (a->client)
		peer_error(a->client, a->msgid, errors[outcome].code,
			   why ? why : errors[outcome].text);
}

/* --- the subjects of requests --------------------------------------------- */

static void unknown(const struct call *call, const char *name, size_t len)
{
	const struct leaders *l = &call->m->node->leaders;
	const struct problems *problems = call->m->process->problems;
	int shown = (int)(len > NAME_TASK_MAX ? NAME_TASK_MAX : len);
	char text[EXPLAIN_TEXT_MAX] = "";
	struct nearest nearest;

	if (listings_find(l, name, len)) {
		explain_say(text, "\"%.*s\" is a task, and no queue", shown, name);
	} else {
		nearest_init(&nearest, name, len);
		for (size_t i = 0; i < l->n_listings; i++)
			if (l->listings[i]->settings.queue)
				nearest_offer(&nearest, l->listings[i]->name);
		explain_say(text, "no queue \"%.*s\" is configured on this host", shown, name);
		if (nearest.best)
			explain_say(text, ": did you mean \"%s\"?", nearest.best);
		/* A refused file may be the reason why a queue is not known. */
		if (problems->n > 0)
			explain_say(text, " (refused: %s:%d: %s)", problems->list[0].file,
				    problems->list[0].line, problems->list[0].message);
	}
	peer_error(call->c, call->msgid, RPC_MISUSE, text);
}

struct listing *queue_ask_find(const struct call *call, const char *name, size_t len)
{
	struct listing *l = listings_find(&call->m->node->leaders, name, len);

	if (l && l->settings.queue)
		return l;
	unknown(call, name, len);
	return NULL;
}

struct listing *queue_ask_take(struct call *call)
{
	struct reader_text name;

	if (reader_str(&call->params, &name) == 0)
		return queue_ask_find(call, name.data, name.len);
	peer_error(call->c, call->msgid, RPC_MISUSE, "a parameter is not the name of a queue");
	return NULL;
}

struct listing *queue_ask_take_job(struct call *call, struct job_id *ret_id)
{
	struct reader_text text;

	if (reader_str(&call->params, &text) == 0 && job_id_parse(text.data, text.len, ret_id))
		return queue_ask_find(call, ret_id->queue, strlen(ret_id->queue));
	peer_error(call->c, call->msgid, RPC_MISUSE,
		   "that is not the id of a job, which is QUEUE.MINUTE.UUID");
	return NULL;
}

bool queue_ask_may_read(const struct peer *c, const struct listing *l)
{
	const struct task_settings *s = &l->settings;
	bool may = peer_may_change(c) || (s->has_user && s->user == c->uid);

	for (size_t i = 0; i < s->n_uids; i++)
		may |= s->uids[i] == c->uid;
	return may;
}
