#include "control/recipes/recipes.h"

#include <assert.h>

#include "base/text/duration.h"
#include "base/utf8.h"
#include "control/answer/answers.h"
#include "control/ask/nodes.h"
#include "control/ask/held.h"
#include "control/ask/options.h"
#include "node/node.h"
#include "node/recipes/lock/lock_list.h"

/* --- lock, lock_attach ---------------------------------------------------- */

static void pack_lock(struct pack *p, const struct lock_answer *a)
{
	static const char *const outcomes[] = {[LOCK_YOURS] = "yours",
					       [LOCK_NOT_IN_TIME] = "waited",
					       [LOCK_OTHER_SLOTS] = "slots"};

	assert(a->outcome <= LOCK_OTHER_SLOTS);
	pack_map(p, 4);
	pack_kv_str(p, "outcome", outcomes[a->outcome]);
	pack_kv_int(p, "token", a->token);
	pack_kv_uint(p, "number", a->number);
	pack_kv_int(p, "slots", a->slots);
}

static void on_lock(void *arg, const struct lock_answer *answer)
{
	struct held_ask *a = arg;
	struct pack *p = held_answer(a, answer->outcome == LOCK_REFUSED, answer->why,
				     answer->outcome == LOCK_YOURS, answer->number);

	if (!p)
		return;
	pack_lock(p, answer);
	ask_end(&a->ask);
}

/* A lock as a client asks for it. */
struct wanted {
	struct lock_request q;
	char name[NAME_TASK_MAX + 1];
	char id[LOCK_ID_LEN + 1];
	char command[LOCK_COMMAND_MAX + 1];
};

void method_lock(struct call *call)
{
	static const struct key keys[] = {
		OPTION_TEXT(wanted, id, "id", lock_is_id, "not 32 hexadecimal digits"),
		OPTION_TEXT(wanted, command, "command", utf8_is_valid, "not a short text"),
		OPTION_INT(wanted, q.slots, "slots", 1, LOCK_SLOTS_MAX, "not a number of slots"),
		OPTION_INT(wanted, q.wait_ms, "wait_ms", -1, DURATION_MAX_MS, "not a number of ms"),
		OPTION_BOOL(wanted, q.again, "again"),
	};
	struct wanted w = {.q = {.owner = call->c, .pid = call->c->pid, .slots = 1, .wait_ms = -1}};

	if (!recipes_take_name(call, w.name) || !options_take(call, OPTIONS(keys), &w))
		return;
	if (!w.id[0]) {
		call_refuse(call, "id: missing");
		return;
	}
	w.q.name = w.name;
	w.q.id = w.id;
	w.q.command = w.command;
	asks_hold(call->c);
	locks_take(&call->m->node->recipes.locks, &w.q, on_lock, ask_new(call, &held_ask_kind));
}

void method_lock_attach(struct call *call)
{
	char name[NAME_TASK_MAX + 1], id[LOCK_ID_LEN + 1];
	struct reader_text text;
	struct held_ask *a;

	if (!recipes_take_name(call, name))
		return;
	if (reader_str(&call->params, &text) != 0 || !lock_is_id(text.data, text.len) ||
	    reader_text_copy(text, id, sizeof(id)) != 0) {
		call_refuse(call, "that is not the id of a lock");
		return;
	}
	a = ask_new(call, &held_ask_kind);
	a->attaches = true;
	asks_hold(call->c);
	locks_attach(&call->m->node->recipes.locks, call->c, name, id, on_lock, a);
}

/* --- lock_renew, lock_finish ---------------------------------------------- */

void method_lock_renew(struct call *call)
{
	held_renewed(call, locks_renew(&call->m->node->recipes.locks, call->c, held_number(call)));
}

/* A client may also send how its command has ended, which is not read. */
void method_lock_finish(struct call *call)
{
	uint64_t number;
	struct ask *a;

	if (reader_uint(&call->params, &number) != 0) {
		call_misused(call);
		return;
	}
	a = ask_new(call, &held_ask_kind);
	if (!locks_finish(&call->m->node->recipes.locks, call->c, number, held_finished, a))
		ask_fail(a, RPC_MISUSE, "no such lock on this connection");
}

/* --- locks ---------------------------------------------------------------- */

static void pack_entry(struct pack *p, const struct node *n, const struct lock_list_entry *e)
{
	pack_map(p, 6);
	nodes_pack(p, n, "node", e->record.node);
	pack_kv_text(p, "command", e->record.command);
	pack_kv_int(p, "pid", e->record.pid);
	pack_kv_time(p, "since", e->asked_ms);
	pack_kv_time(p, "held", e->held_ms);
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
	struct ask *a = arg;
	size_t shown = 0;
	struct pack *p;

	if (!list) {
		ask_fail(a, RPC_CANNOT_TELL, METHODS_NOT_READ);
		return;
	}
	for (size_t i = 0; i < list->n; i++)
		shown += is_shown(&list->locks[i]);
	p = ask_result(a);
	pack_array(p, shown);
	for (size_t i = 0; i < list->n; i++)
		if (is_shown(&list->locks[i]))
			pack_one(p, a->methods->node, &list->locks[i]);
	ask_end(a);
}

void method_locks(struct call *call)
{
	static const struct ask_kind table = {.size = sizeof(struct ask), .asks = true};
	char name[NAME_TASK_MAX + 1];
	struct node *n = call->m->node;

	if (call->n_params == 1 && !recipes_take_name(call, name))
		return;
	lock_list_read(&n->session, &n->registry, call->n_params == 1 ? name : NULL, on_list,
		       ask_new(call, &table));
}
