#include "control/ticks/ticks.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/text/duration.h"
#include "base/utf8.h"
#include "control/answer/answers.h"
#include "control/ask/explain_text.h"
#include "control/ask/held.h"
#include "control/ask/options.h"
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
	pack_map(p, a->index >= 0 ? 16 : 15);
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
	pack_kv_bool(p, "keep_output", a->keep_output);
	pack_kv_str(p, "why", a->why);
	pack_kv_text(p, "notice", a->notice);
	pack_kv_known(p, "partition", a->partitions > 0, a->partition);
	pack_kv_known(p, "partitions", a->partitions > 0, a->partitions);
	if (a->index >= 0)
		pack_kv_int(p, "index", a->index);
}

void run_requests_answer(void *owner, uint32_t request, const struct run_answer *a)
{
	struct peer *c = owner;
	struct pack *p;

	if (a->kind == RUN_ANSWER_MISUSE || a->kind == RUN_ANSWER_FAILED) {
		peer_error(c, request, a->kind == RUN_ANSWER_MISUSE ? RPC_MISUSE : RPC_CANNOT_TELL,
			   a->why);
		return;
	}
	p = peer_begin(c);
	rpc_pack_result(p, request);
	if (a->kind == RUN_ANSWER_CLAIM)
		pack_claim(p, a);
	else if (a->kind == RUN_ANSWER_ATTACH)
		held_pack_attached(p, a->attached, a->run, a->recorded);
	else if (a->kind == RUN_ANSWER_RENEW)
		held_pack_renewed(p, a->lease_ms, a->timeout_ms);
	else
		pack_bool(p, a->recorded);
	peer_end(c, request);
}

/* --- the methods ---------------------------------------------------------- */

/* The options of a claim, as the client sends them. Some of the run's options follow from them. */
struct said {
	struct run_options o;
	int64_t waited_ms, ran;
	char kind[8], id[NAME_ID_MAX + 1], tick[TICK_NAME_SIZE];
};

/* Reads the numbers of the partitions that the client has claimed before. */
static int read_got(struct reader *r, void *to)
{
	struct said *said = to;
	uint64_t k;
	size_t n;
	int e = reader_array(r, &n);

	for (; e == 0 && n > 0; n--) {
		e = reader_uint(r, &k);
		if (e == 0 && k >= NAME_PARTITIONS_MAX)
			return -EBADMSG;
		if (e == 0)
			said->o.got[k / 64] |= UINT64_C(1) << (k % 64);
	}
	return e;
}

/* A tick is named by its second, and zones count for ticks of a day; 0: there is none. */
static int read_tick_ms(struct reader *r, void *to)
{
	int64_t *ms = to;
	int e = keys_parse_int(r, 0, TICK_DAY_MS, ms);

	return e == 0 && *ms % 1000 != 0 ? -EBADMSG : e;
}

static bool is_kind(const char *text, size_t len)
{
	return (len == 4 && memcmp(text, "once", 4) == 0) ||
	       (len == 3 && memcmp(text, "run", 3) == 0);
}

static bool is_id_or_none(const char *text, size_t len)
{
	return len == 0 || name_is_id(text, len);
}

#define A_TIME "not a number of ms up to the longest time"

static const struct key claim_keys[] = {
	OPTION_TEXT(said, kind, "kind", is_kind, "not run or once"),
	OPTION_INT(said, o.now_ms, "now_ms", 0, INT64_MAX, "not a time since 1970 in ms"),
	OPTION_INT(said, o.zone_ms, "zone_ms", -TICK_ZONE_MAX_MS, TICK_ZONE_MAX_MS,
		   "not the distance of a zone in ms"),
	OPTION_TEXT(said, id, "id", is_id_or_none, "not the id of a claim"),
	OPTION_BOOL(said, o.again, "again"),
	OPTION_READ(said, o.tick_ms, "tick_ms", read_tick_ms, "not whole seconds, up to a day"),
	OPTION_INT(said, o.wait_ms, "wait_ms", 0, DURATION_MAX_MS, A_TIME),
	OPTION_INT(said, waited_ms, "waited_ms", 0, DURATION_MAX_MS, A_TIME),
	OPTION_READ(said, tick, "tick", options_read_tick, OPTIONS_TICK),
	OPTION_INT(said, o.scheduled, "scheduled", 0, INT32_MAX - 1,
		   "not the number of an attempt"),
	OPTION_INT(said, ran, "ran", 0, NAME_PARTITIONS_MAX, "not a number of partitions"),
	OPTION("got", read_got, "not a list of numbers of partitions"),
};

/* Takes the options of claim into o, which has the defaults. False after an error answer. */
static bool take_run_options(struct call *call, struct run_options *o)
{
	struct said said = {.o = *o};
	bool once, good = true;

	if (!options_take(call, OPTIONS(claim_keys), &said))
		return false;
	once = strcmp(said.kind, "once") == 0;
	*o = said.o;
	o->once = once;
	o->wait_ms = said.waited_ms < o->wait_ms ? o->wait_ms - said.waited_ms : 0;
	o->ran = (unsigned)said.ran;
	memcpy(o->id, said.id, sizeof(o->id));
	if (o->scheduled != 0) { /* a tick of the schedule */
		o->tick_ms = 1000;
		o->zone_ms = 0;
		good = !once && tick_parse(said.tick, &o->now_ms);
	}
	return (good && said.kind[0]) || call_refuse(call, "an option of claim is not good");
}

/* --- a claim that waits for this node's number ---------------------------- */

struct indexed_claim {
	struct ask ask;
	char task[NAME_ELECTION_MAX + 1];
	struct run_options options;
};

/* Claims a run of the task, or of one of its partitions led here. */
static void claim(struct methods *m, struct peer *c, uint32_t msgid, const struct subject *s,
		  const struct run_options *options)
{
	asks_hold(c);
	if (s->task)
		runs_claim(&m->node->runs, c, msgid, s->task, options);
	else
		runs_claim_any(&m->node->runs, c, msgid, s->listing, options);
}

static void on_index(void *arg, int64_t index, const char *why)
{
	struct indexed_claim *w = arg;
	struct methods *m = w->ask.methods;
	struct peer *c = w->ask.client;
	struct subject s;

	w->options.index = index;
	if (!subject_find(&m->node->leaders, w->task, strlen(w->task), &s) ||
	    (!s.task && s.listing->n == 0)) {
		ask_fail(&w->ask, RPC_MISUSE, "the task has been removed");
	} else if (index < 0) {
		ask_fail(&w->ask, RPC_CANNOT_TELL, why);
	} else {
		if (c)
			claim(m, c, w->ask.msgid, &s, &w->options);
		ask_end(&w->ask);
	}
}

static void wait_for_index(const struct call *call, const struct subject *s,
			   const struct run_options *options)
{
	static const struct ask_kind kind = {.size = sizeof(struct indexed_claim)};
	struct indexed_claim *w = ask_new(call, &kind);

	snprintf(w->task, sizeof(w->task), "%s", subject_name(s));
	w->options = *options;
	own_index_ask(&call->m->node->recipes.index, on_index, w);
}

/* A queue has no runs to claim: its workers run the jobs that are submitted. */
static void refuse_queue(const struct call *call, const char *name)
{
	char text[EXPLAIN_TEXT_MAX] = "";

	explain_say(text, "%s is a queue: hand its jobs in with zkleader submit %s", name, name);
	call_refuse(call, text);
}

void run_request_claim(struct call *call)
{
	const struct task_settings *settings;
	struct subject s;

	if (!subject_take(call, &s))
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
	if (!take_run_options(call, &options))
		return;
	if (!s.task && (options.once || options.scheduled > 0 || s.listing->n == 0)) {
		methods_refuse_whole(call, s.listing);
		return;
	}
	if (settings->index && !options.once)
		wait_for_index(call, &s, &options);
	else
		claim(call->m, call->c, call->msgid, &s, &options);
}

void run_request_attach(struct call *call)
{
	struct task *t = methods_take_task(call);
	char id[NAME_ID_MAX + 1] = "";
	struct reader_text text;

	if (!t || !refusal_may(call, t->settings, t->name))
		return;
	if (reader_str(&call->params, &text) != 0 || !name_is_id(text.data, text.len)) {
		call_refuse(call, "that is not the id of a claim");
		return;
	}
	memcpy(id, text.data, text.len);
	asks_hold(call->c);
	runs_attach(runs_of(call), call->c, call->msgid, t, id, call->c->pid);
}

void run_request_renew(struct call *call)
{
	uint64_t id;

	if (reader_uint(&call->params, &id) != 0)
		call_misused(call);
	else
		runs_renew(runs_of(call), call->c, call->msgid, id);
}

void run_request_finish(struct call *call)
{
	struct run_outcome outcome = {.output = NULL};
	struct held_end end;
	uint64_t id;

	if (reader_uint(&call->params, &id) != 0) {
		call_misused(call);
		return;
	}
	if (!held_take_end(call, &end))
		return;
	if (end.what.exit_status < 0) {
		call_refuse(call, "exit_status: missing");
		return;
	}
	outcome.what = end.what;
	outcome.output = end.output;
	outcome.output_len = end.len;
	memcpy(outcome.start, end.start, sizeof(outcome.start));
	runs_finish(runs_of(call), call->c, call->msgid, id, &outcome);
}
