#include "control/ticks/run_requests.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/text/duration.h"
#include "base/text/utf8.h"
#include "control/ask/explain_text.h"
#include "control/ask/refusal.h"
#include "control/ask/subject.h"
#include "node/node.h"

static struct runs *runs_of(const struct call *call)
{
	return &call->m->node->runs;
}

/* --- answers -------------------------------------------------------------- */

static void pack_claim(struct pack *p, const struct run_answer *a)
{
	pack_map(p, a->index >= 0 ? 15 : 14);
	pack_kv_str(p, "outcome", a->outcome);
	pack_kv_str(p, "tick", a->tick);
	pack_kv_int(p, "token", a->token);
	pack_kv_int(p, "attempt", a->attempt);
	pack_kv_str(p, "worker_id", a->worker_id);
	pack_kv_str(p, "version", a->version);
	pack_kv_int(p, "lease_ms", a->lease_ms);
	pack_kv_uint(p, "run", a->run);
	pack_kv_bool(p, "busy", a->busy);
	pack_kv_bool(p, "output", a->output);
	pack_kv_str(p, "why", a->why);
	pack_kv_str(p, "notice", a->notice[0] ? a->notice : NULL);
	if (a->partitions > 0)
		pack_kv_int(p, "partition", a->partition);
	else
		pack_kv_nil(p, "partition");
	if (a->partitions > 0)
		pack_kv_uint(p, "partitions", a->partitions);
	else
		pack_kv_nil(p, "partitions");
	if (a->index >= 0)
		pack_kv_int(p, "index", a->index);
}

static void pack_attach(struct pack *p, const struct run_answer *a)
{
	pack_map(p, 3);
	pack_kv_bool(p, "attached", a->attached);
	pack_kv_uint(p, "run", a->run);
	pack_kv_bool(p, "recorded", a->recorded);
}

static void pack_renew(struct pack *p, const struct run_answer *a)
{
	pack_map(p, 3);
	pack_kv_bool(p, "leads", a->lease_ms > 0);
	pack_kv_int(p, "lease_ms", a->lease_ms);
	pack_kv_int(p, "timeout_ms", a->timeout_ms);
}

void run_requests_answer(void *owner, uint32_t request, const struct run_answer *a)
{
	struct peer *c = owner;

	if (a->kind == RUN_ANSWER_MISUSE || a->kind == RUN_ANSWER_FAILED) {
		peer_error(c, request, a->kind == RUN_ANSWER_MISUSE ? RPC_MISUSE : RPC_CANNOT_TELL,
			   a->why);
		return;
	}
	struct pack *p = peer_begin(c);
	rpc_pack_result(p, request);
	if (a->kind == RUN_ANSWER_CLAIM)
		pack_claim(p, a);
	else if (a->kind == RUN_ANSWER_ATTACH)
		pack_attach(p, a);
	else if (a->kind == RUN_ANSWER_RENEW)
		pack_renew(p, a);
	else
		pack_bool(p, a->recorded);
	peer_end(c, request);
}

void run_requests_released(void *owner)
{
	((struct peer *)owner)->parked--;
}

/* --- the methods ---------------------------------------------------------- */

static bool is_time(int64_t ms)
{
	return ms >= 0 && ms <= DURATION_MAX_MS;
}

/* Takes the tick of a claim that a schedule has made. */
static bool take_tick(struct run_options *o, struct reader_text text)
{
	char name[TICK_NAME_SIZE];

	o->tick_ms = 1000;
	o->zone_ms = 0;
	return o->scheduled > 0 && o->scheduled < INT32_MAX && !o->once &&
	       reader_text_copy(text, name, sizeof(name)) == 0 && tick_parse(name, &o->now_ms);
}

/* Reads the numbers of the partitions that the client has claimed before. */
static int read_got(struct reader *r, uint64_t got[static NAME_PARTITIONS_MAX / 64])
{
	uint64_t k;
	size_t n;
	int e = reader_array(r, &n);

	for (; e == 0 && n > 0; n--) {
		e = reader_uint(r, &k);
		if (e == 0 && k >= NAME_PARTITIONS_MAX)
			return -EBADMSG;
		if (e == 0)
			got[k / 64] |= UINT64_C(1) << (k % 64);
	}
	return e;
}

/* The options of claim: a map; unknown keys are skipped. */
static bool take_run_options(struct reader *r, struct run_options *o)
{
	struct reader_text key, kind = {"", 0}, id = {"", 0}, tick = {"", 0};
	int64_t waited_ms = 0;
	uint64_t ran = 0;
	size_t n;

	if (reader_map(r, &n) != 0)
		return false;
	for (; n > 0; n--) {
		int e = reader_str(r, &key);
		if (e != 0)
			return false;
		if (reader_text_is(key, "kind"))
			e = reader_str(r, &kind);
		else if (reader_text_is(key, "now_ms"))
			e = reader_int(r, &o->now_ms);
		else if (reader_text_is(key, "zone_ms"))
			e = reader_int(r, &o->zone_ms);
		else if (reader_text_is(key, "id"))
			e = reader_str(r, &id);
		else if (reader_text_is(key, "again"))
			e = reader_bool(r, &o->again);
		else if (reader_text_is(key, "tick_ms"))
			e = reader_int(r, &o->tick_ms);
		else if (reader_text_is(key, "wait_ms"))
			e = reader_int(r, &o->wait_ms);
		else if (reader_text_is(key, "waited_ms"))
			e = reader_int(r, &waited_ms);
		else if (reader_text_is(key, "tick"))
			e = reader_str(r, &tick);
		else if (reader_text_is(key, "scheduled"))
			e = reader_int(r, &o->scheduled);
		else if (reader_text_is(key, "ran"))
			e = reader_uint(r, &ran);
		else if (reader_text_is(key, "got"))
			e = read_got(r, o->got);
		else
			e = reader_skip(r);
		if (e != 0)
			return false;
	}
	if (id.len > 0 && !name_is_id(id.data, id.len))
		return false;
	memcpy(o->id, id.data, id.len);
	o->once = reader_text_is(kind, "once");
	if (!is_time(waited_ms) || ran > NAME_PARTITIONS_MAX)
		return false;
	o->wait_ms = waited_ms < o->wait_ms ? o->wait_ms - waited_ms : 0;
	o->ran = (unsigned)ran;
	if (o->scheduled != 0 && !take_tick(o, tick))
		return false;
	return (o->once || reader_text_is(kind, "run")) && o->now_ms >= 0 && is_time(o->tick_ms) &&
	       is_time(o->wait_ms) && o->zone_ms >= -TICK_ZONE_MAX_MS &&
	       o->zone_ms <= TICK_ZONE_MAX_MS;
}

/* --- a claim that waits for this node's number ---------------------------- */

struct indexed_claim {
	struct indexed_claim *prev, *next;
	struct methods *methods;
	struct peer *client; /* NULL: gone */
	uint32_t msgid;
	char task[NAME_ELECTION_MAX + 1];
	struct run_options options;
};

void run_requests_client_gone(struct methods *m, const struct peer *c)
{
	for (struct indexed_claim *w = m->indexed; w; w = w->next)
		if (w->client == c)
			w->client = NULL;
}

/* Claims a run of the task, or of one of its partitions led here. The client is parked already. */
static void claim(struct methods *m, struct peer *c, uint32_t msgid, const struct subject *s,
		  const struct run_options *options)
{
	if (s->task)
		runs_claim(&m->node->runs, c, msgid, s->task, options);
	else
		runs_claim_any(&m->node->runs, c, msgid, s->listing, options);
}

static void go_on(struct indexed_claim *w, int64_t index, const char *why)
{
	const struct leaders *l = &w->methods->node->leaders;
	struct subject s;
	bool there = subject_find(l, w->task, strlen(w->task), &s) && (s.task || s.listing->n > 0);

	w->options.index = index;
	if (index >= 0 && there) {
		claim(w->methods, w->client, w->msgid, &s, &w->options);
		return;
	}
	w->client->parked--;
	peer_error(w->client, w->msgid, there ? RPC_CANNOT_TELL : RPC_MISUSE,
		   there ? why : "the task has been removed");
}

static void on_index(void *arg, int64_t index, const char *why)
{
	struct indexed_claim *w = arg;

	if (w->prev)
		w->prev->next = w->next;
	else
		w->methods->indexed = w->next;
	if (w->next)
		w->next->prev = w->prev;
	if (w->client)
		go_on(w, index, why);
	free(w);
}

static void wait_for_index(const struct call *call, const struct subject *s,
			   const struct run_options *options)
{
	struct indexed_claim *w = mem_calloc(1, sizeof(*w));

	w->methods = call->m;
	w->client = call->c;
	w->msgid = call->msgid;
	snprintf(w->task, sizeof(w->task), "%s", subject_name(s));
	w->options = *options;
	w->next = call->m->indexed;
	if (w->next)
		w->next->prev = w;
	call->m->indexed = w;
	own_index_ask(&call->m->node->recipes.index, on_index, w);
}

/* A queue has no runs to claim: its workers run the jobs that are submitted. */
static void refuse_queue(const struct call *call, const char *name)
{
	char text[EXPLAIN_TEXT_MAX] = "";

	explain_say(text, "%s is a queue: hand its jobs in with zkleader submit %s", name, name);
	peer_error(call->c, call->msgid, RPC_MISUSE, text);
}

void run_request_claim(struct call *call)
{
	const struct task_settings *settings;
	struct subject s;

	if (call->n_params != 2)
		peer_error(call->c, call->msgid, RPC_MISUSE,
			   "claim takes a task and a map of options");
	if (call->n_params != 2 || !subject_take(call, &s))
		return;
	settings = s.task ? s.task->settings : &s.listing->settings;
	if (settings->queue) {
		refuse_queue(call, subject_name(&s));
		return;
	}
	if (!refusal_may(call, settings, subject_name(&s)))
		return;
	struct run_options options = {.now_ms = host_wall_ms(call->m->node->host),
				      .tick_ms = settings->tick_ms,
				      .wait_ms = settings->wait_ms,
				      .pid = call->c->pid,
				      .index = -1};
	if (!take_run_options(&call->params, &options)) {
		peer_error(call->c, call->msgid, RPC_MISUSE, "an option of claim is not good");
		return;
	}
	if (!s.task && (options.once || options.scheduled > 0 || s.listing->n == 0)) {
		methods_refuse_whole(call, s.listing);
		return;
	}
	call->c->parked++;
	if (settings->index && !options.once)
		wait_for_index(call, &s, &options);
	else
		claim(call->m, call->c, call->msgid, &s, &options);
}

void run_request_attach(struct call *call)
{
	struct task *t = call->n_params == 2 ? methods_take_task(call) : NULL;
	char id[NAME_ID_MAX + 1] = "";
	struct reader_text text;

	if (call->n_params != 2)
		peer_error(call->c, call->msgid, RPC_MISUSE,
			   "attach takes a task and the id of a claim");
	if (!t || !refusal_may(call, t->settings, t->name))
		return;
	if (reader_str(&call->params, &text) != 0 || !name_is_id(text.data, text.len)) {
		peer_error(call->c, call->msgid, RPC_MISUSE, "that is not the id of a claim");
		return;
	}
	memcpy(id, text.data, text.len);
	call->c->parked++;
	runs_attach(runs_of(call), call->c, call->msgid, t, id, call->c->pid);
}

void run_request_renew(struct call *call)
{
	uint64_t id;

	if (call->n_params != 1 || reader_uint(&call->params, &id) != 0)
		peer_error(call->c, call->msgid, RPC_MISUSE, "renew takes the number of a run");
	else
		runs_renew(runs_of(call), call->c, call->msgid, id);
}

/* A text for people, of which no more is kept than a record has room for. */
static int take_start(struct reader *r, struct run_outcome *o)
{
	struct reader_text text;
	int e = reader_str(r, &text);

	if (e == 0 && utf8_is_valid(text.data, text.len) &&
	    reader_text_copy(text, o->start, sizeof(o->start)) != 0)
		o->start[0] = '\0';
	return e;
}

/* How a run has ended: a map; unknown keys are skipped. */
static bool take_end(struct reader *r, struct run_outcome *o)
{
	struct reader_text key, output = {NULL, 0};
	size_t n;

	if (reader_map(r, &n) != 0)
		return false;
	for (; n > 0; n--) {
		int e = reader_str(r, &key);
		if (e == 0 && reader_text_is(key, "exit_status"))
			e = reader_int(r, &o->what.exit_status);
		else if (e == 0 && reader_text_is(key, "interrupted"))
			e = reader_bool(r, &o->what.interrupted);
		else if (e == 0 && reader_text_is(key, "timeout"))
			e = reader_bool(r, &o->what.timeout);
		else if (e == 0 && reader_text_is(key, "output"))
			e = reader_bin(r, &output);
		else if (e == 0 && reader_text_is(key, "start"))
			e = take_start(r, o);
		else if (e == 0)
			e = reader_skip(r);
		if (e != 0)
			return false;
	}
	o->output = output.data;
	o->output_len = output.len;
	return o->what.exit_status >= 0 && o->what.exit_status <= 255 &&
	       output.len <= RECORD_OUTPUT_MAX;
}

void run_request_finish(struct call *call)
{
	struct run_outcome outcome = {.what.exit_status = -1};
	uint64_t id;

	if (call->n_params != 2 || reader_uint(&call->params, &id) != 0 ||
	    !take_end(&call->params, &outcome))
		peer_error(call->c, call->msgid, RPC_MISUSE,
			   "finish takes the number of a run and its exit_status");
	else
		runs_finish(runs_of(call), call->c, call->msgid, id, &outcome);
}
