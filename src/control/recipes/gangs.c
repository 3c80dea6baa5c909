#include "control/recipes/gangs.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/text/duration.h"
#include "control/recipes/recipes.h"
#include "node/node.h"

#define ID_LEN 16

/* A request that waits for the node: join, join_attach or join_finish. */
struct gang_ask {
	struct gang_ask *prev, *next;
	struct methods *methods;
	struct peer *client; /* NULL: gone */
	uint32_t msgid;
	bool attaches;
};

static struct gang_ask *ask_new(const struct call *call)
{
	struct gang_ask *a = mem_calloc(1, sizeof(*a));

	a->methods = call->m;
	a->client = call->c;
	a->msgid = call->msgid;
	a->next = call->m->gangs;
	if (a->next)
		a->next->prev = a;
	call->m->gangs = a;
	call->c->parked++;
	return a;
}

static void ask_free(struct gang_ask *a)
{
	if (a->prev)
		a->prev->next = a->next;
	else
		a->methods->gangs = a->next;
	if (a->next)
		a->next->prev = a->prev;
	if (a->client)
		a->client->parked--;
	free(a);
}

void gang_requests_client_gone(struct methods *m, const struct peer *c)
{
	for (struct gang_ask *a = m->gangs; a; a = a->next)
		if (a->client == c)
			a->client = NULL;
	parties_owner_gone(&m->node->recipes.gangs, c);
}

/* A member of a gang counts as a waiting request of its client until the node releases it. */
static void on_released(void *owner)
{
	((struct peer *)owner)->parked--;
}

void gang_requests_init(struct methods *m)
{
	parties_on_release(&m->node->recipes.gangs, on_released);
}

/* --- join, join_attach ---------------------------------------------------- */

static void pack_started(struct pack *p, const struct party_answer *a)
{
	pack_map(p, 6);
	pack_kv_str(p, "state", "started");
	pack_kv_uint(p, "number", a->number);
	pack_kv_uint(p, "index", a->index);
	pack_kv_uint(p, "count", a->record->n);
	pack_kv_int(p, "instance", a->record->instance);
	pack_str(p, "peers");
	pack_array(p, a->record->n);
	for (size_t i = 0; i < a->record->n; i++) {
		pack_array(p, 2);
		pack_str(p, a->record->members[i].ip);
		pack_str(p, a->record->members[i].hostname);
	}
}

static void pack_state(struct pack *p, const char *state, const char *why, unsigned count)
{
	pack_map(p, 3);
	pack_kv_str(p, "state", state);
	pack_kv_str(p, "why", why);
	pack_kv_uint(p, "count", count);
}

static void pack_join(struct pack *p, const struct party_answer *a)
{
	if (a->outcome == PARTY_OPENED)
		pack_started(p, a);
	else if (a->outcome == PARTY_TIMEOUT)
		pack_state(p, "timeout", NULL, 0);
	else if (a->outcome == PARTY_IN_USE)
		pack_state(p, "in_use", a->why, 0);
	else
		pack_state(p, "count", NULL, a->count);
}

static void pack_attach(struct pack *p, const struct party_answer *a)
{
	pack_map(p, 3);
	pack_kv_bool(p, "attached", a->outcome == PARTY_OPENED);
	pack_kv_uint(p, "run", a->number);
	pack_kv_bool(p, "recorded", false);
}

static void on_answer(void *arg, const struct party_answer *answer)
{
	struct gang_ask *a = arg;

	bool failed = answer->outcome == PARTY_FAILED || answer->outcome == PARTY_ENDED;

	if (a->client && !a->attaches && failed) {
		peer_error(a->client, a->msgid, RPC_CANNOT_TELL, answer->why);
	} else if (a->client) {
		struct pack *p = peer_begin(a->client);
		rpc_pack_result(p, a->msgid);
		if (a->attaches)
			pack_attach(p, answer);
		else
			pack_join(p, answer);
		peer_end(a->client, a->msgid);
	}
	ask_free(a);
}

static int take_id(struct reader *r, uint64_t *ret_id)
{
	char digits[ID_LEN + 1];
	struct reader_text text;
	int e = reader_str(r, &text);

	if (e == 0)
		e = reader_text_copy(text, digits, sizeof(digits));
	if (e != 0 || strspn(digits, "0123456789abcdef") != ID_LEN)
		return -1;
	*ret_id = strtoull(digits, NULL, 16);
	return *ret_id == 0 ? -1 : 0;
}

static int take_key(struct reader *r, char key[NAME_TASK_MAX + 1])
{
	struct reader_text text;
	int e = reader_str(r, &text);

	if (e == 0 && !name_is_task(text.data, text.len))
		return -1;
	return e != 0 ? e : reader_text_copy(text, key, NAME_TASK_MAX + 1);
}

struct join_options {
	uint64_t id;
	char key[NAME_TASK_MAX + 1];
	int64_t count, timeout_ms;
	bool goes_on;
};

static int take_option(struct reader *r, struct join_options *o)
{
	struct reader_text key;
	int e = reader_str(r, &key);

	if (e != 0)
		return e;
	if (reader_text_is(key, "id"))
		return take_id(r, &o->id);
	if (reader_text_is(key, "key"))
		return take_key(r, o->key);
	if (reader_text_is(key, "count"))
		return reader_int(r, &o->count);
	if (reader_text_is(key, "timeout_ms"))
		return reader_int(r, &o->timeout_ms);
	if (reader_text_is(key, "goes_on"))
		return reader_bool(r, &o->goes_on);
	return reader_skip(r);
}

/* Takes the options of join, a map; unknown keys are skipped. */
static bool take_options(struct reader *r, struct join_options *o)
{
	size_t n;
	int e = reader_map(r, &n);

	for (; e == 0 && n > 0; n--)
		e = take_option(r, o);
	return e == 0 && o->id != 0 && o->count >= 1 && o->count <= GANG_COUNT_MAX &&
	       o->timeout_ms >= -1 && o->timeout_ms <= DURATION_MAX_MS;
}

void method_join(struct call *call)
{
	struct join_options o = {.timeout_ms = -1};
	char name[NAME_TASK_MAX + 1];

	if (call->n_params != 2) {
		peer_error(call->c, call->msgid, RPC_MISUSE, "join takes a name and a map");
		return;
	}
	if (!recipes_may_use(call) || !recipes_take_name(call, name))
		return;
	if (!take_options(&call->params, &o)) {
		peer_error(call->c, call->msgid, RPC_MISUSE,
			   "join takes a map with id, 16 hexadecimal digits, and count, from 1 to "
			   "256; it may have key, timeout_ms and goes_on");
		return;
	}
	const struct gang_request request = {.owner = call->c,
					     .name = name,
					     .id = o.id,
					     .key = o.key[0] ? o.key : NULL,
					     .count = (unsigned)o.count,
					     .goes_on = o.goes_on,
					     .timeout_ms = o.timeout_ms};
	call->c->parked++;
	gangs_join(&call->m->node->recipes.gangs, &request, on_answer, ask_new(call));
}

void method_join_attach(struct call *call)
{
	char name[NAME_TASK_MAX + 1];
	uint64_t id;

	if (call->n_params != 2) {
		peer_error(call->c, call->msgid, RPC_MISUSE, "join_attach takes a name and an id");
		return;
	}
	if (!recipes_may_use(call) || !recipes_take_name(call, name))
		return;
	if (take_id(&call->params, &id) != 0) {
		peer_error(call->c, call->msgid, RPC_MISUSE, "that is not the id of a member");
		return;
	}
	struct gang_ask *a = ask_new(call);
	a->attaches = true;
	call->c->parked++;
	gangs_attach(&call->m->node->recipes.gangs, call->c, name, id, on_answer, a);
}

/* --- join_renew, join_finish ---------------------------------------------- */

void method_join_renew(struct call *call)
{
	struct node *n = call->m->node;
	uint64_t number;
	int64_t lease_ms = -1;

	if (call->n_params == 1 && reader_uint(&call->params, &number) == 0)
		lease_ms = gangs_renew(&n->recipes.gangs, call->c, number);
	methods_renewed(call, lease_ms,
			"join_renew takes the number of a member of this connection");
}

static void on_finished(void *arg)
{
	struct gang_ask *a = arg;

	if (a->client) {
		struct pack *p = peer_begin(a->client);
		rpc_pack_result(p, a->msgid);
		pack_bool(p, true);
		peer_end(a->client, a->msgid);
	}
	ask_free(a);
}

/* Takes `interrupted` from the map that says how the member has ended; other keys are skipped. */
static int take_interrupted(struct call *call, bool *ret_interrupted)
{
	struct reader_text key;
	size_t n = 0;
	int e = call->n_params > 1 ? reader_map(&call->params, &n) : 0;

	for (; e == 0 && n > 0; n--) {
		e = reader_str(&call->params, &key);
		if (e == 0)
			e = reader_text_is(key, "interrupted")
				    ? reader_bool(&call->params, ret_interrupted)
				    : reader_skip(&call->params);
	}
	return e;
}

void method_join_finish(struct call *call)
{
	bool interrupted = false;
	struct gang_ask *a;
	uint64_t number;

	if (call->n_params < 1 || reader_uint(&call->params, &number) != 0 ||
	    take_interrupted(call, &interrupted) != 0) {
		peer_error(call->c, call->msgid, RPC_MISUSE,
			   "join_finish takes a number and a map");
		return;
	}
	a = ask_new(call);
	if (gangs_finish(&call->m->node->recipes.gangs, call->c, number, interrupted, on_finished,
			 a))
		return;
	ask_free(a);
	peer_error(call->c, call->msgid, RPC_MISUSE, "no such member on this connection");
}
