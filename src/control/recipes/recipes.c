#include "control/recipes/recipes.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "control/answer/answers.h"
#include "control/ask/nodes.h"
#include "control/ask/refusal.h"
#include "node/node.h"

/* Requests that wait for the node. */
static const struct ask_kind kind = {.size = sizeof(struct ask), .asks = true};

bool recipes_may_use(const struct call *call)
{
	const struct recipe_users *users = call->m->process->recipe_users;

	if (refusal_spares(call->c, users->uids, users->n))
		return true;
	if (users->asked)
		peer_put_off(call->c);
	else
		call_refuse(call, "not allowed: only root, the sidecar's own user, the members of "
				  "socket-group and the recipe-users of zkleader.conf may");
	return false;
}

bool recipes_take_name(struct call *call, char ret_name[NAME_TASK_MAX + 1])
{
	struct reader_text name;

	if (reader_str(&call->params, &name) != 0 || !name_is_task(name.data, name.len)) {
		call_refuse(call, "that is no name: up to 100 letters, digits, dots, hyphens and "
				  "underscores, a letter or digit first");
		return false;
	}
	memcpy(ret_name, name.data, name.len);
	ret_name[name.len] = '\0';
	return true;
}

/* --- counter -------------------------------------------------------------- */

static void on_counted(void *arg, const struct counter_answer *a)
{
	struct pack *p = ask_result(arg);

	pack_map(p, 3);
	pack_kv_known(p, "value", a->outcome == COUNTER_DONE, a->value);
	if (a->outcome == COUNTER_UNKNOWN)
		pack_kv_nil(p, "done");
	else
		pack_kv_bool(p, "done", a->outcome == COUNTER_DONE);
	pack_kv_str(p, "why", a->why);
	ask_end(arg);
}

void recipe_counter(struct call *call)
{
	char name[NAME_TASK_MAX + 1];
	int64_t delta = 0;

	if (!recipes_take_name(call, name))
		return;
	if (call->n_params == 2 && reader_int(&call->params, &delta) != 0) {
		call_refuse(call, "what is to be added is not an int64");
		return;
	}
	counters_add(&call->m->node->recipes.counters, name, call->n_params == 2, delta, on_counted,
		     ask_new(call, &kind));
}

/* --- index, roster, forget ------------------------------------------------ */

static void on_index(void *arg, int64_t index, const char *why)
{
	struct pack *p;

	if (index < 0) {
		ask_fail(arg, RPC_CANNOT_TELL, why);
		return;
	}
	p = ask_result(arg);
	pack_map(p, 1);
	pack_kv_int(p, "index", index);
	ask_end(arg);
}

void recipe_index(struct call *call)
{
	own_index_ask(&call->m->node->recipes.index, on_index, ask_new(call, &kind));
}

static void pack_entry(struct pack *p, const struct node *n, const struct roster_entry *e)
{
	pack_map(p, 5);
	nodes_pack(p, n, "node", e->node);
	pack_kv_known(p, "index", e->record.index >= 0, e->record.index);
	pack_kv_text(p, "hostname", e->record.hostname);
	pack_kv_time(p, "since", e->record.since);
	pack_kv_time(p, "departed", e->record.departed);
}

static int compare_numbers(const void *a, const void *b)
{
	const struct roster_entry *const *x = a, *const *y = b;

	return ((*x)->record.index > (*y)->record.index) -
	       ((*x)->record.index < (*y)->record.index);
}

static void on_roster(void *arg, enum roster_result result)
{
	struct ask *a = arg;
	const struct node *n = a->methods->node;
	const struct roster *roster = &n->recipes.roster;
	const struct roster_entry **list;
	struct pack *p;

	if (result != ROSTER_DONE) {
		ask_fail(a, RPC_CANNOT_TELL, METHODS_NOT_READ);
		return;
	}
	list = mem_calloc(roster->n + 1, sizeof(*list));
	for (size_t i = 0; i < roster->n; i++)
		list[i] = &roster->entries[i];
	qsort(list, roster->n, sizeof(*list), compare_numbers);
	p = ask_result(a);
	pack_array(p, roster->n);
	for (size_t i = 0; i < roster->n; i++)
		pack_entry(p, n, list[i]);
	ask_end(a);
	free(list);
}

void recipe_roster(struct call *call)
{
	roster_list(&call->m->node->recipes.roster, on_roster, ask_new(call, &kind));
}

static void on_forgotten(void *arg, enum roster_result result)
{
	static const struct {
		enum rpc_code code;
		const char *text;
	} errors[] = {
		[ROSTER_NOT_KNOWN] = {RPC_MISUSE, "no such node: zkleader roster lists them"},
		[ROSTER_SEVERAL] = {RPC_MISUSE, "several nodes may be meant: give the whole name, "
						"as zkleader roster has it"},
		[ROSTER_THERE] =
			{RPC_MISUSE,
			 "that node is in the fleet: only one that is gone can be forgotten"},
		[ROSTER_JUST_GONE] = {RPC_CANNOT_TELL,
				      "that node has only just gone: not done, try again"},
		[ROSTER_UNKNOWN] = {RPC_CANNOT_TELL, "no confirmed session with ZooKeeper, or its "
						     "servers do not answer: it may or may not "
						     "have been done"},
	};
	struct pack *p;

	if (result != ROSTER_DONE) {
		ask_fail(arg, errors[result].code, errors[result].text);
		return;
	}
	p = ask_result(arg);
	pack_map(p, 1);
	pack_kv_bool(p, "done", true);
	ask_end(arg);
}

void recipe_forget(struct call *call)
{
	struct reader_text name;

	if (reader_str(&call->params, &name) != 0)
		call_misused(call);
	else
		roster_forget(&call->m->node->recipes.roster, name.data, name.len, on_forgotten,
			      ask_new(call, &kind));
}
