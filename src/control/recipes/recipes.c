#include "control/recipes/recipes.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "control/answer/answers.h"
#include "control/ask/nodes.h"
#include "node/node.h"

/* A request that waits for the node. */
struct recipe_request {
	struct recipe_request *prev, *next;
	struct methods *methods;
	struct peer *client; /* NULL: gone */
	uint32_t msgid;
};

static struct recipe_request *request_new(const struct call *call)
{
	struct recipe_request *r = mem_calloc(1, sizeof(*r));

	r->methods = call->m;
	r->client = call->c;
	r->msgid = call->msgid;
	r->next = call->m->recipes;
	if (r->next)
		r->next->prev = r;
	call->m->recipes = r;
	call->c->parked++;
	call->c->asking++;
	return r;
}

static void request_free(struct recipe_request *r)
{
	if (r->prev)
		r->prev->next = r->next;
	else
		r->methods->recipes = r->next;
	if (r->next)
		r->next->prev = r->prev;
	if (r->client) {
		r->client->parked--;
		r->client->asking--;
	}
	free(r);
}

void recipes_client_gone(struct methods *m, const struct peer *c)
{
	for (struct recipe_request *r = m->recipes; r; r = r->next)
		if (r->client == c)
			r->client = NULL;
	recipe_waits_client_gone(m, c);
	rollings_client_gone(m, c);
	parties_owner_gone(&m->node->recipes.barriers, c);
}

bool recipes_may_use(const struct call *call)
{
	const struct recipe_users *users = call->m->process->recipe_users;

	if (peer_may_change(call->c))
		return true;
	for (size_t i = 0; i < users->n; i++)
		if (users->uids[i] == call->c->uid)
			return true;
	if (users->asked)
		peer_put_off(call->c);
	else
		peer_error(call->c, call->msgid, RPC_MISUSE,
			   "not allowed: only root, the sidecar's own user, the members of "
			   "socket-group and the recipe-users of zkleader.conf may");
	return false;
}

bool recipes_take_name(struct call *call, char ret_name[NAME_TASK_MAX + 1])
{
	struct reader_text name;

	if (reader_str(&call->params, &name) != 0 || !name_is_task(name.data, name.len)) {
		peer_error(call->c, call->msgid, RPC_MISUSE,
			   "that is no name: up to 100 letters, digits, dots, hyphens and "
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
	struct recipe_request *r = arg;

	if (r->client) {
		struct pack *p = peer_begin(r->client);
		rpc_pack_result(p, r->msgid);
		pack_map(p, 3);
		if (a->outcome == COUNTER_DONE)
			pack_kv_int(p, "value", a->value);
		else
			pack_kv_nil(p, "value");
		if (a->outcome == COUNTER_UNKNOWN)
			pack_kv_nil(p, "done");
		else
			pack_kv_bool(p, "done", a->outcome == COUNTER_DONE);
		pack_kv_str(p, "why", a->why);
		peer_end(r->client, r->msgid);
	}
	request_free(r);
}

void recipe_counter(struct call *call)
{
	char name[NAME_TASK_MAX + 1];
	int64_t delta = 0;

	if (call->n_params < 1 || call->n_params > 2) {
		peer_error(call->c, call->msgid, RPC_MISUSE,
			   "counter takes a name, and how much to add");
		return;
	}
	if (!recipes_may_use(call) || !recipes_take_name(call, name))
		return;
	if (call->n_params == 2 && reader_int(&call->params, &delta) != 0) {
		peer_error(call->c, call->msgid, RPC_MISUSE, "what is to be added is not an int64");
		return;
	}
	counters_add(&call->m->node->recipes.counters, name, call->n_params == 2, delta, on_counted,
		     request_new(call));
}

/* --- index, roster, forget ------------------------------------------------ */

static bool takes_none(struct call *call)
{
	if (call->n_params == 0)
		return true;
	peer_error(call->c, call->msgid, RPC_MISUSE, "too many parameters");
	return false;
}

static void on_index(void *arg, int64_t index, const char *why)
{
	struct recipe_request *r = arg;

	if (r->client && index < 0) {
		peer_error(r->client, r->msgid, RPC_CANNOT_TELL, why);
	} else if (r->client) {
		struct pack *p = peer_begin(r->client);
		rpc_pack_result(p, r->msgid);
		pack_map(p, 1);
		pack_kv_int(p, "index", index);
		peer_end(r->client, r->msgid);
	}
	request_free(r);
}

void recipe_index(struct call *call)
{
	if (takes_none(call) && recipes_may_use(call))
		own_index_ask(&call->m->node->recipes.index, on_index, request_new(call));
}

static void pack_entry(struct pack *p, const struct node *n, const struct roster_entry *e)
{
	char name[WORKER_NODE_MAX + 1];

	nodes_name(n, e->node, name);
	pack_map(p, 5);
	pack_kv_str(p, "node", name);
	if (e->record.index >= 0)
		pack_kv_int(p, "index", e->record.index);
	else
		pack_kv_nil(p, "index");
	pack_kv_str(p, "hostname", e->record.hostname[0] ? e->record.hostname : NULL);
	answers_pack_time(p, "since", e->record.since);
	answers_pack_time(p, "departed", e->record.departed);
}

static int compare_numbers(const void *a, const void *b)
{
	const struct roster_entry *const *x = a, *const *y = b;

	return ((*x)->record.index > (*y)->record.index) -
	       ((*x)->record.index < (*y)->record.index);
}

static void answer_roster(const struct recipe_request *r)
{
	const struct node *n = r->methods->node;
	const struct roster *roster = &n->recipes.roster;
	const struct roster_entry **list = mem_calloc(roster->n + 1, sizeof(*list));

	for (size_t i = 0; i < roster->n; i++)
		list[i] = &roster->entries[i];
	qsort(list, roster->n, sizeof(*list), compare_numbers);
	struct pack *p = peer_begin(r->client);
	rpc_pack_result(p, r->msgid);
	pack_array(p, roster->n);
	for (size_t i = 0; i < roster->n; i++)
		pack_entry(p, n, list[i]);
	peer_end(r->client, r->msgid);
	free(list);
}

static void on_roster(void *arg, enum roster_result result)
{
	struct recipe_request *r = arg;

	if (r->client && result == ROSTER_DONE)
		answer_roster(r);
	else if (r->client)
		peer_error(r->client, r->msgid, RPC_CANNOT_TELL,
			   "no confirmed session with ZooKeeper, or its servers do not answer");
	request_free(r);
}

void recipe_roster(struct call *call)
{
	if (takes_none(call) && recipes_may_use(call))
		roster_list(&call->m->node->recipes.roster, on_roster, request_new(call));
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
	struct recipe_request *r = arg;

	if (r->client && result == ROSTER_DONE) {
		struct pack *p = peer_begin(r->client);
		rpc_pack_result(p, r->msgid);
		pack_map(p, 1);
		pack_kv_bool(p, "done", true);
		peer_end(r->client, r->msgid);
	} else if (r->client) {
		peer_error(r->client, r->msgid, errors[result].code, errors[result].text);
	}
	request_free(r);
}

void recipe_forget(struct call *call)
{
	struct reader_text name;

	if (call->n_params != 1 || reader_str(&call->params, &name) != 0) {
		peer_error(call->c, call->msgid, RPC_MISUSE, "forget takes the name of a node");
		return;
	}
	if (recipes_may_use(call))
		roster_forget(&call->m->node->recipes.roster, name.data, name.len, on_forgotten,
			      request_new(call));
}
