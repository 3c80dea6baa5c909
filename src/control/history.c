#include "control/history.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "control/answers.h"
#include "node/ledger.h"
#include "node/node.h"

/* A request whose answer is on its way. */
struct history {
	struct history *prev, *next;
	struct methods *methods;
	struct peer *client; /* NULL: gone */
	uint32_t msgid;
};

static void pack_entry(struct pack *p, const struct registry *registry,
		       const struct ledger_entry *e)
{
	const struct run_record *r = &e->record;

	pack_map(p, 9);
	pack_kv_str(p, "tick", e->tick);
	pack_kv_str(p, "state", ledger_state(registry, r->state, r->session));
	pack_kv_str(p, "id", r->id);
	pack_kv_str(p, "hostname", r->hostname);
	pack_kv_int(p, "token", r->token);
	pack_kv_int(p, "attempt", r->attempt);
	answers_pack_time(p, "started_at", r->started_at);
	answers_pack_time(p, "ended_at", r->ended_at);
	if (r->exit_status >= 0)
		pack_kv_int(p, "exit_status", r->exit_status);
	else
		pack_kv_nil(p, "exit_status");
}

static void end_history(struct history *h)
{
	if (h->prev)
		h->prev->next = h->next;
	else
		h->methods->histories = h->next;
	if (h->next)
		h->next->prev = h->prev;
	if (h->client) {
		h->client->parked--;
		h->client->asking--;
	}
	free(h);
}

static void on_history(void *arg, bool ok, const struct ledger_entry *entries, size_t n)
{
	struct history *h = arg;
	struct peer *c = h->client;
	uint32_t msgid = h->msgid;
	const struct registry *registry = &h->methods->node->registry;

	end_history(h);
	if (c && !ok) {
		peer_error(c, msgid, RPC_CANNOT_TELL, "the ledger could not be read");
	} else if (c) {
		struct pack *p = peer_begin(c);
		rpc_pack_result(p, msgid);
		pack_array(p, n);
		for (size_t i = 0; i < n; i++)
			pack_entry(p, registry, &entries[i]);
		peer_end(c, msgid);
	}
}

void history_answer(struct methods *m, struct peer *c, uint32_t msgid, const struct task *t)
{
	if (!session_is_up(&m->node->session)) {
		peer_error(c, msgid, RPC_CANNOT_TELL, "no confirmed session with ZooKeeper");
		return;
	}
	struct history *h = mem_calloc(1, sizeof(*h));
	h->methods = m;
	h->client = c;
	h->msgid = msgid;
	h->next = m->histories;
	if (h->next)
		h->next->prev = h;
	m->histories = h;
	c->parked++;
	c->asking++;
	ledger_history(&m->node->leaders, t->name, on_history, h);
}

void histories_client_gone(struct methods *m, const struct peer *c)
{
	for (struct history *h = m->histories; h; h = h->next)
		if (h->client == c)
			h->client = NULL;
}
