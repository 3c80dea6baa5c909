/* jobs: the jobs of a queue, the newest first, part by part. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "control/queues/queue_asks.h"
#include "control/queues/queues.h"
#include "node/node.h"

#define CURSOR_MAX 40 /* bytes: MINUTE.ZXID, of no meaning to clients */

struct jobs_request {
	char state[JOB_STATE_MAX + 1];
	int64_t most; /* 0: as many as an answer takes */
	struct queue_cursor after;
	bool has_after;
};

static bool is_state(const char *text)
{
	static const char *const states[] = {"queued", "assigned", "running",  "ok",
					     "dead",   "lost",	   "cancelled"};

	for (size_t i = 0; i < sizeof(states) / sizeof(states[0]); i++)
		if (strcmp(text, states[i]) == 0)
			return true;
	return false;
}

static bool take_cursor(const char *text, struct queue_cursor *ret)
{
	char *end;

	ret->minute = strtoll(text, &end, 10);
	if (end == text || *end != '.')
		return false;
	text = end + 1;
	ret->zxid = strtoll(text, &end, 10);
	return end != text && *end == '\0' && ret->minute >= 0 && ret->zxid >= 0;
}

/* Takes one option. Returns what is wrong with it, for people; NULL: nothing. */
static const char *take_one(struct reader *r, struct jobs_request *j)
{
	struct reader_text key, text;
	char cursor[CURSOR_MAX + 1];

	if (reader_str(r, &key) != 0)
		return "an option has no name";
	if (reader_text_is(key, "state"))
		return reader_str(r, &text) == 0 &&
				       reader_text_copy(text, j->state, sizeof(j->state)) == 0 &&
				       is_state(j->state)
			       ? NULL
			       : "state is none of queued, assigned, running, ok, dead, lost, "
				 "cancelled";
	if (reader_text_is(key, "limit"))
		return reader_int(r, &j->most) == 0 && j->most > 0 ? NULL
								   : "limit is no number from 1 on";
	if (reader_text_is(key, "after")) {
		j->has_after = true;
		return reader_str(r, &text) == 0 &&
				       reader_text_copy(text, cursor, sizeof(cursor)) == 0 &&
				       take_cursor(cursor, &j->after)
			       ? NULL
			       : "after is not `more` of an answer before";
	}
	return reader_skip(r) == 0 ? NULL : "an option is not good";
}

static const char *take_request(struct call *call, struct jobs_request *j)
{
	const char *wrong = NULL;
	size_t n = 0;

	if (call->n_params == 2 && reader_map(&call->params, &n) != 0)
		return "jobs takes the name of a queue, and a map of options";
	for (; !wrong && n > 0; n--)
		wrong = take_one(&call->params, j);
	return wrong;
}

static void on_jobs(void *arg, const struct job_record *const *jobs, size_t n,
		    const struct queue_cursor *more)
{
	struct queue_ask *a = arg;
	char cursor[CURSOR_MAX + 1];

	if (!jobs) {
		queue_ask_fail(a, JOB_NO_SESSION,
			       "no confirmed session with ZooKeeper, or its servers do not answer");
	} else if (a->client) {
		struct pack *p = peer_begin(a->client);
		rpc_pack_result(p, a->msgid);
		pack_map(p, 2);
		pack_str(p, "jobs");
		pack_array(p, n);
		for (size_t i = 0; i < n; i++)
			queue_ask_pack_summary(p, a->methods->node, jobs[i]);
		if (more)
			snprintf(cursor, sizeof(cursor), "%" PRId64 ".%" PRId64, more->minute,
				 more->zxid);
		pack_kv_str(p, "more", more ? cursor : NULL);
		peer_end(a->client, a->msgid);
	}
	queue_ask_free(a);
}

void method_jobs(struct call *call)
{
	struct jobs_request j = {.most = 0};
	struct listing *l;
	const char *wrong;

	if (call->n_params < 1 || call->n_params > 2) {
		peer_error(call->c, call->msgid, RPC_MISUSE,
			   "jobs takes the name of a queue, and a map of options");
		return;
	}
	l = queue_ask_take(call);
	if (!l)
		return;
	wrong = take_request(call, &j);
	if (wrong) {
		peer_error(call->c, call->msgid, RPC_MISUSE, wrong);
		return;
	}
	queues_list(&call->m->node->queues, l->name, j.state, (size_t)j.most,
		    j.has_after ? &j.after : NULL, on_jobs, queue_ask_new(call, true, 0));
}
