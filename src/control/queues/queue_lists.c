/* jobs: the jobs of a queue, the newest first, part by part. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "control/ask/options.h"
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

static bool is_state(const char *text, size_t len)
{
	static const char *const states[] = {"queued", "assigned", "running",  "ok",
					     "dead",   "lost",	   "cancelled"};

	for (size_t i = 0; i < sizeof(states) / sizeof(states[0]); i++)
		if (strlen(states[i]) == len && memcmp(text, states[i], len) == 0)
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

static int read_after(struct reader *r, void *to)
{
	struct jobs_request *j = to;
	char cursor[CURSOR_MAX + 1];
	struct reader_text text;

	j->has_after = true;
	return reader_str(r, &text) == 0 && reader_text_copy(text, cursor, sizeof(cursor)) == 0 &&
			       take_cursor(cursor, &j->after)
		       ? 0
		       : -EBADMSG;
}

static const struct key keys[] = {
	OPTION_TEXT(jobs_request, state, "state", is_state,
		    "none of queued, assigned, running, ok, dead, lost, cancelled"),
	OPTION_INT(jobs_request, most, "limit", 1, INT64_MAX, "no number from 1 on"),
	OPTION("after", read_after, "not `more` of an answer before"),
};

static void on_jobs(void *arg, const struct job_record *const *jobs, size_t n,
		    const struct queue_cursor *more)
{
	struct queue_ask *a = arg;
	char cursor[CURSOR_MAX + 1];
	struct pack *p;

	if (!jobs) {
		queue_ask_no_session(a);
		return;
	}
	p = ask_result(&a->ask);
	pack_map(p, 2);
	pack_str(p, "jobs");
	pack_array(p, n);
	for (size_t i = 0; i < n; i++)
		queue_ask_pack_summary(p, a->ask.methods->node, jobs[i]);
	if (more)
		snprintf(cursor, sizeof(cursor), "%" PRId64 ".%" PRId64, more->minute, more->zxid);
	pack_kv_str(p, "more", more ? cursor : NULL);
	ask_end(&a->ask);
}

void method_jobs(struct call *call)
{
	struct jobs_request j = {.most = 0};
	const struct listing *l = queue_ask_take(call);

	if (l && options_take(call, OPTIONS(keys), &j))
		queues_list(&call->m->node->queues, l->name, j.state, (size_t)j.most,
			    j.has_after ? &j.after : NULL, on_jobs, ask_new(call, &queue_ask_kind));
}
