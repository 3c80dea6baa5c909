/* barrier and barrier_leave: wait until enough members are there, and until all have left. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/text/duration.h"
#include "control/recipes/recipes.h"
#include "node/node.h"

#define ID_LEN 16

/* A request that waits. The node answers it also when its client goes. */
struct barrier_request {
	struct peer *client;
	uint32_t msgid;
};

static struct barrier_request *request_new(const struct call *call)
{
	struct barrier_request *r = mem_alloc(sizeof(*r));

	*r = (struct barrier_request){call->c, call->msgid};
	call->c->parked++;
	return r;
}

static void tell(const struct barrier_request *r, const char *state, int64_t round)
{
	struct pack *p = peer_begin(r->client);

	rpc_pack_result(p, r->msgid);
	pack_map(p, 2);
	pack_kv_str(p, "state", state);
	pack_kv_int(p, "round", round);
	peer_end(r->client, r->msgid);
}

static void on_answer(void *arg, const struct party_answer *a)
{
	struct barrier_request *r = arg;
	char text[100];

	r->client->parked--;
	switch (a->outcome) {
	case PARTY_OPENED: tell(r, "opened", a->round); break;
	case PARTY_LEFT: tell(r, "left", a->round); break;
	case PARTY_TIMEOUT: tell(r, "timeout", 0); break;
	case PARTY_OTHER_COUNT:
		snprintf(text, sizeof(text), "the others of this round wait for %u", a->count);
		peer_error(r->client, r->msgid, RPC_MISUSE, text);
		break;
	case PARTY_MISUSE: peer_error(r->client, r->msgid, RPC_MISUSE, a->why); break;
	case PARTY_FAILED: peer_error(r->client, r->msgid, RPC_CANNOT_TELL, a->why); break;
	case PARTY_IN_USE:
	case PARTY_NOT_THERE: /* of gangs */
	case PARTY_WITHDRAWN:
	case PARTY_ENDED:
		break; /* the client's connection is closed: the client asks the next sidecar */
	}
	free(r);
}

/* --- parameters ----------------------------------------------------------- */

struct barrier_options {
	uint64_t id;
	int64_t count, timeout_ms, round;
	bool command, again;
};

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

static int take_option(struct reader *r, struct barrier_options *o)
{
	struct reader_text key;
	int e = reader_str(r, &key);

	if (e != 0)
		return e;
	if (reader_text_is(key, "id"))
		return take_id(r, &o->id);
	if (reader_text_is(key, "count"))
		return reader_int(r, &o->count);
	if (reader_text_is(key, "timeout_ms"))
		return reader_int(r, &o->timeout_ms);
	if (reader_text_is(key, "round"))
		return reader_int(r, &o->round);
	if (reader_text_is(key, "again"))
		return reader_bool(r, &o->again);
	if (reader_text_is(key, "command"))
		return reader_bool(r, &o->command);
	return reader_skip(r);
}

/* Takes the parameters, a name and a map; unknown keys are skipped. False after an error answer. */
static bool take(struct call *call, char name[NAME_TASK_MAX + 1], struct barrier_options *o,
		 const char *usage)
{
	size_t n = 0;
	bool good = call->n_params == 2;

	if (!recipes_may_use(call) || (good && !recipes_take_name(call, name)))
		return false;
	good = good && reader_map(&call->params, &n) == 0;
	for (; good && n > 0; n--)
		good = take_option(&call->params, o) == 0;
	good = good && o->id != 0 && o->count >= 1 && o->count <= BARRIER_COUNT_MAX &&
	       o->timeout_ms >= -1 && o->timeout_ms <= DURATION_MAX_MS && o->round >= 0;
	if (!good)
		peer_error(call->c, call->msgid, RPC_MISUSE, usage);
	return good;
}

void recipe_barrier(struct call *call)
{
	struct barrier_options o = {.timeout_ms = -1};
	char name[NAME_TASK_MAX + 1];

	if (!take(call, name, &o,
		  "barrier takes a name and a map: id, 16 hexadecimal digits, and count, from 1 to "
		  "1000; it may have timeout_ms and command"))
		return;
	const struct barrier_entry entry = {.name = name,
					    .id = o.id,
					    .count = (unsigned)o.count,
					    .command = o.command,
					    .timeout_ms = o.timeout_ms,
					    .again = o.again,
					    .round = o.again ? o.round : 0,
					    .owner = call->c};
	barriers_enter(&call->m->node->recipes.barriers, &entry, on_answer, request_new(call));
}

void recipe_barrier_leave(struct call *call)
{
	struct barrier_options o = {.timeout_ms = -1, .count = 1};
	char name[NAME_TASK_MAX + 1];

	if (!take(call, name, &o,
		  "barrier_leave takes a name and a map: id and round, as barrier was asked and "
		  "answered"))
		return;
	barriers_leave(&call->m->node->recipes.barriers, name, o.id, o.round, call->c, on_answer,
		       request_new(call));
}
