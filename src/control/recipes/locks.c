#include "control/recipes/locks.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/text/duration.h"
#include "base/text/utf8.h"
#include "control/answer/answers.h"
#include "control/ask/nodes.h"
#include "control/recipes/recipes.h"
#include "node/node.h"
#include "node/recipes/lock/lock_list.h"

/* A request that waits for the node: lock, lock_attach, lock_finish or locks. */
struct lock_ask {
	struct lock_ask *prev, *next;
	struct methods *methods;
	struct peer *client; /* NULL: gone */
	uint32_t msgid;
	bool attaches, asks; /* asks: for a table from ZooKeeper, counted in peer.asking */
};

static struct lock_ask *ask_new(const struct call *call, bool asks)
{
	struct lock_ask *a = mem_calloc(1, sizeof(*a));

	a->methods = call->m;
	a->client = call->c;
	a->msgid = call->msgid;
	a->asks = asks;
	a->next = call->m->locks;
	if (a->next)
		a->next->prev = a;
	call->m->locks = a;
	call->c->parked++;
	call->c->asking += asks;
	return a;
}

static void ask_free(struct lock_ask *a)
{
	if (a->prev)
		a->prev->next = a->next;
	else
		a->methods->locks = a->next;
	if (a->next)
		a->next->prev = a->prev;
	if (a->client) {
		a->client->parked--;
		a->client->asking -= a->asks;
	}
	free(a);
}

void lock_requests_client_gone(struct methods *m, const struct peer *c)
{
	for (struct lock_ask *a = m->locks; a; a = a->next)
		if (a->client == c)
			a->client = NULL;
	locks_owner_gone(&m->node->recipes.locks, c);
}

/* A lock that is held or waited for counts as a waiting request of its client until its release. */
static void on_released(void *owner)
{
	((struct peer *)owner)->parked--;
}

void lock_requests_init(struct methods *m)
{
	locks_on_release(&m->node->recipes.locks, on_released);
}

/* --- lock, lock_attach ---------------------------------------------------- */

static void pack_lock(struct pack *p, const struct lock_answer *a)
{
	static const char *const outcomes[] = {[LOCK_YOURS] = "yours",
					       [LOCK_NOT_IN_TIME] = "waited",
					       [LOCK_OTHER_SLOTS] = "slots"};

	pack_map(p, 4);
	pack_kv_str(p, "outcome", outcomes[a->outcome]);
	pack_kv_int(p, "token", a->token);
	pack_kv_uint(p, "number", a->number);
	pack_kv_int(p, "slots", a->slots);
}

static void pack_attach(struct pack *p, const struct lock_answer *a)
{
	pack_map(p, 3);
	pack_kv_bool(p, "attached", a->outcome == LOCK_YOURS);
	pack_kv_uint(p, "run", a->number);
	pack_kv_bool(p, "recorded", false);
}

static void on_lock(void *arg, const struct lock_answer *answer)
{
	struct lock_ask *a = arg;

	if (a->client && !a->attaches && answer->outcome == LOCK_REFUSED) {
		peer_error(a->client, a->msgid, RPC_CANNOT_TELL, answer->why);
	} else if (a->client) {
		struct pack *p = peer_begin(a->client);
		rpc_pack_result(p, a->msgid);
		if (a->attaches)
			pack_attach(p, answer);
		else
			pack_lock(p, answer);
		peer_end(a->client, a->msgid);
	}
	ask_free(a);
}

struct texts {
	char name[NAME_TASK_MAX + 1];
	char id[LOCK_ID_LEN + 1];
	char command[LOCK_COMMAND_MAX + 1];
};

static int take_id(struct reader *r, char id[LOCK_ID_LEN + 1])
{
	struct reader_text text;
	int e = reader_str(r, &text);

	if (e == 0 && !lock_is_id(text.data, text.len))
		return -1;
	return e != 0 ? e : reader_text_copy(text, id, LOCK_ID_LEN + 1);
}

static int take_command(struct reader *r, char command[LOCK_COMMAND_MAX + 1])
{
	struct reader_text text;
	int e = reader_str(r, &text);

	if (e == 0 && !utf8_is_valid(text.data, text.len))
		return -1;
	return e != 0 ? e : reader_text_copy(text, command, LOCK_COMMAND_MAX + 1);
}

/* Takes the options of lock, a map; unknown keys are skipped. */
static bool take_options(struct reader *r, struct lock_request *q, struct texts *texts)
{
	struct reader_text key;
	size_t n;
	int e = reader_map(r, &n);

	for (; e == 0 && n > 0; n--) {
		e = reader_str(r, &key);
		if (e != 0)
			break;
		if (reader_text_is(key, "id"))
			e = take_id(r, texts->id);
		else if (reader_text_is(key, "command"))
			e = take_command(r, texts->command);
		else if (reader_text_is(key, "slots"))
			e = reader_int(r, &q->slots);
		else if (reader_text_is(key, "wait_ms"))
			e = reader_int(r, &q->wait_ms);
		else if (reader_text_is(key, "again"))
			e = reader_bool(r, &q->again);
		else
			e = reader_skip(r);
	}
	return e == 0 && texts->id[0] && q->slots >= 1 && q->slots <= LOCK_SLOTS_MAX &&
	       q->wait_ms >= -1 && q->wait_ms <= DURATION_MAX_MS;
}

void method_lock(struct call *call)
{
	struct texts texts = {.id = ""};
	struct lock_request q = {.owner = call->c,
				 .name = texts.name,
				 .id = texts.id,
				 .command = texts.command,
				 .pid = call->c->pid,
				 .slots = 1,
				 .wait_ms = -1};

	if (call->n_params != 2) {
		peer_error(call->c, call->msgid, RPC_MISUSE,
			   "lock takes a name and a map of options");
		return;
	}
	if (!recipes_may_use(call) || !recipes_take_name(call, texts.name))
		return;
	if (!take_options(&call->params, &q, &texts)) {
		peer_error(call->c, call->msgid, RPC_MISUSE, "an option of lock is not good");
		return;
	}
	call->c->parked++;
	locks_take(&call->m->node->recipes.locks, &q, on_lock, ask_new(call, false));
}

void method_lock_attach(struct call *call)
{
	struct texts texts = {.id = ""};

	if (call->n_params != 2) {
		peer_error(call->c, call->msgid, RPC_MISUSE, "lock_attach takes a name and an id");
		return;
	}
	if (!recipes_may_use(call) || !recipes_take_name(call, texts.name))
		return;
	if (take_id(&call->params, texts.id) != 0) {
		peer_error(call->c, call->msgid, RPC_MISUSE, "that is not the id of a lock");
		return;
	}
	struct lock_ask *a = ask_new(call, false);
	a->attaches = true;
	call->c->parked++;
	locks_attach(&call->m->node->recipes.locks, call->c, texts.name, texts.id, on_lock, a);
}

/* --- lock_renew, lock_finish ---------------------------------------------- */

void method_lock_renew(struct call *call)
{
	uint64_t number;
	int64_t lease_ms = -1;

	if (call->n_params == 1 && reader_uint(&call->params, &number) == 0)
		lease_ms = locks_renew(&call->m->node->recipes.locks, call->c, number);
	methods_renewed(call, lease_ms, "lock_renew takes the number of a lock of this connection");
}

static void on_finished(void *arg)
{
	struct lock_ask *a = arg;

	if (a->client) {
		struct pack *p = peer_begin(a->client);
		rpc_pack_result(p, a->msgid);
		pack_bool(p, true);
		peer_end(a->client, a->msgid);
	}
	ask_free(a);
}

/* A client may also send how its command has ended, which is not read. */
void method_lock_finish(struct call *call)
{
	uint64_t number;
	struct lock_ask *a;

	if (call->n_params < 1 || reader_uint(&call->params, &number) != 0) {
		peer_error(call->c, call->msgid, RPC_MISUSE, "lock_finish takes a number");
		return;
	}
	a = ask_new(call, false);
	if (locks_finish(&call->m->node->recipes.locks, call->c, number, on_finished, a))
		return;
	ask_free(a);
	peer_error(call->c, call->msgid, RPC_MISUSE, "no such lock on this connection");
}

/* --- locks ---------------------------------------------------------------- */

static void pack_entry(struct pack *p, const struct node *n, const struct lock_list_entry *e)
{
	char node[WORKER_NODE_MAX + 1] = "";

	if (e->record.node[0])
		nodes_name(n, e->record.node, node);
	pack_map(p, 6);
	pack_kv_str(p, "node", node[0] ? node : NULL);
	pack_kv_str(p, "command", e->record.command[0] ? e->record.command : NULL);
	pack_kv_int(p, "pid", e->record.pid);
	answers_pack_time(p, "since", e->asked_ms);
	answers_pack_time(p, "held", e->held_ms);
	pack_kv_int(p, "token", e->token);
}

static size_t count_read(const struct lock_list_lock *l)
{
	size_t n = 0;

	for (size_t i = 0; i < l->n; i++)
		n += l->entries[i].read;
	return n;
}

/* A lock without entries is about to be removed: it is left out. */
static bool is_shown(const struct lock_list_lock *l)
{
	return count_read(l) > 0;
}

static void pack_one(struct pack *p, const struct node *n, const struct lock_list_lock *l)
{
	pack_map(p, 3);
	pack_kv_str(p, "name", l->name);
	pack_kv_int(p, "slots", l->slots);
	pack_str(p, "entries");
	pack_array(p, count_read(l));
	for (size_t i = 0; i < l->n; i++)
		if (l->entries[i].read)
			pack_entry(p, n, &l->entries[i]);
}

static void on_list(void *arg, const struct lock_list *list)
{
	struct lock_ask *a = arg;
	size_t shown = 0;

	if (a->client && !list) {
		peer_error(a->client, a->msgid, RPC_CANNOT_TELL,
			   "no confirmed session with ZooKeeper, or its servers do not answer");
	} else if (a->client) {
		for (size_t i = 0; i < list->n; i++)
			shown += is_shown(&list->locks[i]);
		struct pack *p = peer_begin(a->client);
		rpc_pack_result(p, a->msgid);
		pack_array(p, shown);
		for (size_t i = 0; i < list->n; i++)
			if (is_shown(&list->locks[i]))
				pack_one(p, a->methods->node, &list->locks[i]);
		peer_end(a->client, a->msgid);
	}
	ask_free(a);
}

void method_locks(struct call *call)
{
	char name[NAME_TASK_MAX + 1];
	struct node *n = call->m->node;

	if (call->n_params > 1) {
		peer_error(call->c, call->msgid, RPC_MISUSE, "locks takes a name, or nothing");
		return;
	}
	if (!recipes_may_use(call) || (call->n_params == 1 && !recipes_take_name(call, name)))
		return;
	lock_list_read(&n->session, &n->registry, call->n_params == 1 ? name : NULL, on_list,
		       ask_new(call, true));
}
