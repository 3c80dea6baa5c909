#include "control/queues/queue_asks.h"

#include <stdlib.h>
#include <string.h>

#include "base/text/nearest.h"
#include "control/ask/explain_text.h"
#include "control/ask/refusal.h"
#include "control/ask/subject.h"
#include "node/node.h"

/* --- asks ----------------------------------------------------------------- */

void queue_ask_done(struct ask *ask)
{
	struct queue_ask *a = (struct queue_ask *)ask;

	buffer_done(&a->views);
	free(a->why);
}

const struct ask_kind queue_ask_kind = {
	.size = sizeof(struct queue_ask), .asks = true, .done = queue_ask_done};

void queue_ask_fail(struct queue_ask *a, enum job_outcome outcome, const char *why)
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

	ask_fail(&a->ask, errors[outcome].code, why ? why : errors[outcome].text);
}

void queue_ask_no_session(struct queue_ask *a)
{
	queue_ask_fail(a, JOB_NO_SESSION, METHODS_NOT_READ);
}

/* --- the subjects of requests --------------------------------------------- */

static void unknown(const struct call *call, const char *name, size_t len)
{
	const struct leaders *l = &call->m->node->leaders;
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
		subject_say_refused(call, text);
	}
	call_refuse(call, text);
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
	call_refuse(call, "a parameter is not the name of a queue");
	return NULL;
}

struct listing *queue_ask_take_job(struct call *call, struct job_id *ret_id)
{
	struct reader_text text;

	if (reader_str(&call->params, &text) == 0 && job_id_parse(text.data, text.len, ret_id))
		return queue_ask_find(call, ret_id->queue, strlen(ret_id->queue));
	call_refuse(call, "that is not the id of a job, which is QUEUE.MINUTE.UUID");
	return NULL;
}

bool queue_ask_may_read(const struct peer *c, const struct listing *l)
{
	const struct task_settings *s = &l->settings;

	return refusal_spares(c, s->uids, s->n_uids) || (s->has_user && s->user == c->uid);
}
