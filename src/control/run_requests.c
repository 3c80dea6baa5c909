#include "control/run_requests.h"

#include <string.h>

#include "base/duration.h"
#include "control/refusal.h"
#include "node/node.h"

static struct runs *runs_of(const struct call *call)
{
	return &call->m->node->runs;
}

/* --- answers -------------------------------------------------------------- */

static void pack_claim(struct pack *p, const struct run_answer *a)
{
	pack_map(p, 11);
	pack_kv_str(p, "outcome", a->outcome);
	pack_kv_str(p, "tick", a->tick);
	pack_kv_int(p, "token", a->token);
	pack_kv_int(p, "attempt", a->attempt);
	pack_kv_str(p, "worker_id", a->worker_id);
	pack_kv_str(p, "version", a->version);
	pack_kv_int(p, "lease_ms", a->lease_ms);
	pack_kv_uint(p, "run", a->run);
	pack_kv_bool(p, "busy", a->busy);
	pack_kv_str(p, "why", a->why);
	pack_kv_str(p, "notice", a->notice[0] ? a->notice : NULL);
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

/*
 * Whether the peer may run the task; tells it who may if not. Where that is not known yet, the
 * request is put off.
 */
static bool may_run(const struct call *call, const struct task *t)
{
	if (peer_may_change(call->c))
		return true;
	for (size_t i = 0; i < t->settings.n_uids; i++)
		if (t->settings.uids[i] == call->c->uid)
			return true;
	if (t->settings.users_asked)
		peer_put_off(call->c);
	else
		refusal_tell(call, t);
	return false;
}

static bool is_time(int64_t ms)
{
	return ms >= 0 && ms <= DURATION_MAX_MS;
}

/* The options of claim: a map; keys that are not known are passed over. */
static bool take_run_options(struct reader *r, struct run_options *o)
{
	struct reader_text key, kind = {"", 0}, id = {"", 0};
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
		else
			e = reader_skip(r);
		if (e != 0)
			return false;
	}
	if (id.len > 0 && !name_is_id(id.data, id.len))
		return false;
	memcpy(o->id, id.data, id.len);
	o->once = reader_text_is(kind, "once");
	return (o->once || reader_text_is(kind, "run")) && o->now_ms >= 0 && is_time(o->tick_ms) &&
	       is_time(o->wait_ms) && o->zone_ms >= -TICK_ZONE_MAX_MS &&
	       o->zone_ms <= TICK_ZONE_MAX_MS;
}

void run_request_claim(struct call *call)
{
	struct task *t = call->n_params == 2 ? methods_take_task(call) : NULL;

	if (call->n_params != 2)
		peer_error(call->c, call->msgid, RPC_MISUSE,
			   "claim takes a task and a map of options");
	if (!t || !may_run(call, t))
		return;
	struct run_options options = {.now_ms = host_wall_ms(call->m->node->host),
				      .tick_ms = t->settings.tick_ms,
				      .wait_ms = t->settings.wait_ms,
				      .pid = call->c->pid};
	if (!take_run_options(&call->params, &options)) {
		peer_error(call->c, call->msgid, RPC_MISUSE, "an option of claim is not good");
		return;
	}
	call->c->parked++;
	runs_claim(runs_of(call), call->c, call->msgid, t, &options);
}

void run_request_attach(struct call *call)
{
	struct task *t = call->n_params == 2 ? methods_take_task(call) : NULL;
	char id[NAME_ID_MAX + 1] = "";
	struct reader_text text;

	if (call->n_params != 2)
		peer_error(call->c, call->msgid, RPC_MISUSE,
			   "attach takes a task and the id of a claim");
	if (!t || !may_run(call, t))
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

/* How a run has ended: a map; keys that are not known are passed over. */
static bool take_end(struct reader *r, int64_t *ret_status, bool *ret_interrupted)
{
	struct reader_text key;
	size_t n;

	if (reader_map(r, &n) != 0)
		return false;
	for (; n > 0; n--) {
		int e = reader_str(r, &key);
		if (e == 0 && reader_text_is(key, "exit_status"))
			e = reader_int(r, ret_status);
		else if (e == 0 && reader_text_is(key, "interrupted"))
			e = reader_bool(r, ret_interrupted);
		else if (e == 0)
			e = reader_skip(r);
		if (e != 0)
			return false;
	}
	return *ret_status >= 0 && *ret_status <= 255;
}

void run_request_finish(struct call *call)
{
	int64_t status = -1;
	bool interrupted = false;
	uint64_t id;

	if (call->n_params != 2 || reader_uint(&call->params, &id) != 0 ||
	    !take_end(&call->params, &status, &interrupted))
		peer_error(call->c, call->msgid, RPC_MISUSE,
			   "finish takes the number of a run and its exit_status");
	else
		runs_finish(runs_of(call), call->c, call->msgid, id, status, interrupted);
}
