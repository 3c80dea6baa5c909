#include "control/orders.h"

#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/duration.h"
#include "base/log.h"
#include "base/mem.h"
#include "control/explain.h"
#include "node/policy.h"
#include "node/node.h"
#include "node/tasks.h"

#define USER_BUFFER_MAX 16384

struct order {
	struct order *prev, *next;
	struct methods *methods;
	struct peer *client; /* NULL: gone */
	uint32_t msgid;
	uid_t uid;
	pid_t pid;
	const char *word; /* the method */
	bool put;	  /* or to take back */
	struct policy_record record;
};

/* --- answering ------------------------------------------------------------------------------------- */

static void count_led(const struct node *s, size_t *ret_led, size_t *ret_held)
{
	*ret_led = *ret_held = 0;
	for (size_t i = 0; i < s->leaders.n_tasks; i++) {
		const struct task *t = s->leaders.tasks[i];
		if (!election_leads(&t->election))
			continue;
		++*ret_led;
		*ret_held += runs_hold(&s->runs, t);
	}
}

static void say_drained(const struct node *s, char text[EXPLAIN_TEXT_MAX])
{
	size_t led, held;

	count_led(s, &led, &held);
	if (led == 0)
		explain_say(text, "; it leads nothing");
	else if (held == 0)
		explain_say(text, "; %zu %s given up", led, led == 1 ? "task is" : "tasks are");
	else
		explain_say(text, "; %zu %s given up, %zu of them when their jobs have ended", led,
			    led == 1 ? "task is" : "tasks are", held);
}

static void say_task(const struct node *s, const struct task *t, enum policy_kind kind,
		     char text[EXPLAIN_TEXT_MAX])
{
	const struct standing standing =
		fleet_stand(&s->registry.fleet, &t->contest, t->index, s->registry.id);

	if (runs_hold(&s->runs, t))
		explain_say(text, "; when the job that runs has ended");
	else if (kind == POLICY_RESIGN && standing.best)
		explain_say(text, "; the next is %s (%s)", standing.best->worker->hostname,
			    standing.best->worker->version);
	else if (kind == POLICY_PIN && !standing.best)
		explain_say(text, "; no candidate has that version, so nobody leads it");
}

/* What was done, as a line for people. */
static void say_done(const struct order *o, char text[EXPLAIN_TEXT_MAX])
{
	const struct node *s = o->methods->node;
	const struct policy_record *r = &o->record;
	enum policy_kind kind = POLICY_PAUSE;
	char decision[EXPLAIN_TEXT_MAX];

	policy_kind_parse(r->kind, strlen(r->kind), &kind);
	const struct task *t = tasks_find(&s->leaders, r->task, strlen(r->task));
	const struct policy_item *item = policy_find(&s->policy, kind, r->task, r->node);
	const char *what = r->task[0] ? r->task : s->registry.hostname;
	if (!o->put || !item) {
		explain_say(text, "%s is no longer %s", what,
			    kind == POLICY_DRAIN   ? "drained"
			    : kind == POLICY_PAUSE ? "paused"
						   : "pinned");
		return;
	}
	explain_decision(item, decision);
	if (kind == POLICY_RESIGN)
		explain_say(text, "%s: %s", what, decision);
	else
		explain_say(text, "%s is %s", what, decision);
	if (kind == POLICY_DRAIN)
		say_drained(s, text);
	else if (t)
		say_task(s, t, kind, text);
}

static void answer(struct order *o, bool done)
{
	char text[EXPLAIN_TEXT_MAX] = "";
	struct pack *p = peer_begin(o->client);

	if (done)
		say_done(o, text);
	else
		explain_say(text, "nothing to take back: it is not so");
	rpc_pack_result(p, o->msgid);
	pack_map(p, 2);
	pack_kv_bool(p, "done", done);
	pack_kv_str(p, "message", text);
	peer_end(o->client, o->msgid);
}

static void end_order(struct order *o)
{
	if (o->prev)
		o->prev->next = o->next;
	else
		o->methods->orders = o->next;
	if (o->next)
		o->next->prev = o->prev;
	if (o->client) {
		o->client->parked--;
		o->client->asking--;
	}
	free(o);
}

static void on_decided(void *arg, enum policy_result result)
{
	struct order *o = arg;

	if (o->client && result == POLICY_UNKNOWN)
		peer_error(o->client, o->msgid, RPC_CANNOT_TELL,
			   "the connection to ZooKeeper went: it may or may not have been done");
	else if (o->client && result == POLICY_FAILED)
		peer_error(o->client, o->msgid, RPC_CANNOT_TELL,
			   "refused by the ZooKeeper server: see the sidecar's log");
	else if (o->client)
		answer(o, result == POLICY_DONE);
	end_order(o);
}

/* --- doing it -------------------------------------------------------------------------------------- */

/* Off the loop: a directory service may be asked. */
static void find_user(void *arg)
{
	struct order *o = arg;
	struct passwd user, *found = NULL;
	char *buffer = mem_alloc(USER_BUFFER_MAX);

	if (getpwuid_r(o->uid, &user, buffer, USER_BUFFER_MAX, &found) == 0 && found)
		snprintf(o->record.by, sizeof(o->record.by), "%s", found->pw_name);
	else
		snprintf(o->record.by, sizeof(o->record.by), "uid %u", (unsigned)o->uid);
	free(buffer);
}

static void on_user_found(void *arg)
{
	struct order *o = arg;
	struct node *s = o->methods->node;

	log_debug("order", LOG_STR("word", o->word),
		  LOG_STR("task", o->record.task[0] ? o->record.task : NULL),
		  LOG_STR("by", o->record.by), LOG_INT("pid", o->pid),
		  LOG_STR("reason", o->record.reason[0] ? o->record.reason : NULL));
	if (!session_is_up(&s->session))
		on_decided(o, POLICY_UNKNOWN);
	else if (o->put)
		policy_put(&s->policy, &o->record, on_decided, o);
	else
		policy_remove(&s->policy, &o->record, on_decided, o);
}

static bool is_text(struct reader_text text)
{
	for (size_t i = 0; i < text.len; i++)
		if ((unsigned char)text.data[i] < ' ' || text.data[i] == 0x7f)
			return false;
	return text.len <= POLICY_TEXT_MAX;
}

/* The map of options at the end; keys that are not known are passed over. NULL: all is well. */
static const char *take_options(struct call *call, struct policy_record *record,
				int64_t *ret_for_ms)
{
	struct reader_text key, reason = {"", 0};
	size_t n;

	if (reader_map(&call->params, &n) != 0)
		return "the options are no map";
	for (; n > 0; n--) {
		int e = reader_str(&call->params, &key);
		if (e == 0 && reader_text_is(key, "reason"))
			e = reader_str(&call->params, &reason);
		else if (e == 0 && reader_text_is(key, "for_ms"))
			e = reader_int(&call->params, ret_for_ms);
		else if (e == 0)
			e = reader_skip(&call->params);
		if (e != 0)
			return "an option is not good";
	}
	if (!is_text(reason))
		return "the reason is over 200 bytes long, or has control characters";
	if (*ret_for_ms < 0 || *ret_for_ms > DURATION_MAX_MS)
		return "the time that it is for is not one from 1 ms on";
	memcpy(record->reason, reason.data, reason.len);
	return NULL;
}

/* Whether the peer may change something and it can be done now; tells it if not. */
static bool may_order(const struct call *call)
{
	const struct node *s = call->m->node;

	if (!peer_may_change(call->c)) {
		peer_error(call->c, call->msgid, RPC_MISUSE, METHODS_NOT_ALLOWED);
		return false;
	}
	if (!session_is_up(&s->session) || !s->policy.folder.ready) {
		peer_error(call->c, call->msgid, RPC_CANNOT_TELL,
			   "no confirmed session with ZooKeeper");
		return false;
	}
	return true;
}

/* NULL, or why not. */
static const char *may_resign(const struct node *s, const struct task *t)
{
	const struct fleet *f = &s->registry.fleet;
	const char *why = "no other worker could lead it";

	struct ranked *list = mem_calloc(f->n_members + 1, sizeof(*list));
	size_t n = fleet_rank(f, &t->contest, t->index, list);
	for (size_t i = 0; i < n; i++)
		if (list[i].candidate &&
		    strcmp(list[i].member->worker->node, s->registry.node) != 0)
			why = NULL;
	free(list);
	return why;
}

static void give(struct call *call, const char *word, enum policy_kind kind, bool put,
		 const struct policy_record *record)
{
	struct node *s = call->m->node;
	struct order *o = mem_calloc(1, sizeof(*o));

	o->methods = call->m;
	o->client = call->c;
	o->msgid = call->msgid;
	o->uid = call->c->uid;
	o->pid = call->c->pid;
	o->word = word;
	o->put = put;
	o->record = *record;
	snprintf(o->record.kind, sizeof(o->record.kind), "%s", policy_kind_name(kind));
	memcpy(o->record.host, s->registry.hostname, sizeof(o->record.host));
	if (kind == POLICY_DRAIN || kind == POLICY_RESIGN)
		memcpy(o->record.node, s->registry.node, sizeof(o->record.node));
	o->next = call->m->orders;
	if (o->next)
		o->next->prev = o;
	call->m->orders = o;
	call->c->parked++;
	call->c->asking++;
	const struct process *process = call->m->process;
	if (process->offload(process->arg, find_user, on_user_found, o) != 0)
		on_decided(o, POLICY_FAILED);
}

/* The parameters: [TASK,] [VERSION,] [OPTIONS]; whatever is wrong is told. */
static void take(struct call *call, const char *word, enum policy_kind kind, bool put)
{
	struct policy_record record = {.since = host_wall_ms(call->m->node->host)};
	size_t names = kind == POLICY_DRAIN ? 0 : put && kind == POLICY_PIN ? 2 : 1;
	int64_t for_ms = kind == POLICY_RESIGN ? ORDERS_RESIGN_MS : 0;
	struct reader_text version;
	const char *why = NULL;

	if (!may_order(call))
		return;
	if (call->n_params < names || call->n_params > names + put) {
		peer_error(call->c, call->msgid, RPC_MISUSE, "too few or too many parameters");
		return;
	}
	if (names > 0) {
		const struct task *t = methods_take_task(call);
		if (!t)
			return;
		if (kind == POLICY_RESIGN && !election_leads(&t->election)) {
			peer_error(call->c, call->msgid, RPC_NOT_LEADER,
				   "this node does not lead it");
			return;
		}
		snprintf(record.task, sizeof(record.task), "%s", t->name);
		why = kind == POLICY_RESIGN ? may_resign(call->m->node, t) : NULL;
	}
	if (!why && names > 1 &&
	    (reader_str(&call->params, &version) != 0 ||
	     !name_is_version(version.data, version.len)))
		why = "that is no version";
	else if (!why && names > 1)
		memcpy(record.version, version.data, version.len);
	if (!why && call->n_params > names)
		why = take_options(call, &record, &for_ms);
	if (why) {
		peer_error(call->c, call->msgid, RPC_MISUSE, why);
		return;
	}
	record.until = for_ms > 0 ? record.since + for_ms : 0;
	give(call, word, kind, put, &record);
}

void order_drain(struct call *call)
{
	take(call, "drain", POLICY_DRAIN, true);
}

void order_undrain(struct call *call)
{
	take(call, "undrain", POLICY_DRAIN, false);
}

void order_pause(struct call *call)
{
	take(call, "pause", POLICY_PAUSE, true);
}

void order_resume(struct call *call)
{
	take(call, "resume", POLICY_PAUSE, false);
}

void order_resign(struct call *call)
{
	take(call, "resign", POLICY_RESIGN, true);
}

void order_pin(struct call *call)
{
	take(call, "pin", POLICY_PIN, true);
}

void order_unpin(struct call *call)
{
	take(call, "unpin", POLICY_PIN, false);
}

void orders_client_gone(struct methods *m, const struct peer *c)
{
	for (struct order *o = m->orders; o; o = o->next)
		if (o->client == c)
			o->client = NULL;
}
