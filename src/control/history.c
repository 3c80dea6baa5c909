#include "control/history.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "control/answers.h"
#include "node/ledger.h"
#include "daemon/sidecar.h"

struct history_call {
	struct sidecar *sidecar;
	uint64_t client; /* its serial: it may be gone */
	uint32_t msgid;
};

static void pack_entry(struct pack *p, const struct registry *registry,
		       const struct ledger_entry *e)
{
	const struct run_record *r = &e->record;
	bool lost = strcmp(r->state, "running") == 0 && registry_settled(registry) &&
		    !fleet_find_session(&registry->fleet, r->session);

	pack_map(p, 9);
	pack_kv_str(p, "tick", e->tick);
	pack_kv_str(p, "state", lost ? "lost" : r->state);
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

static void on_history(void *arg, bool ok, const struct ledger_entry *entries, size_t n)
{
	struct history_call *call = arg;
	struct client *c = control_find(&call->sidecar->control, call->client);

	if (c) {
		c->parked--;
		c->asking--;
	}
	if (c && !ok) {
		control_error(c, call->msgid, RPC_CANNOT_TELL, "the ledger could not be read");
	} else if (c) {
		struct pack *p = control_begin(c);
		rpc_pack_result(p, call->msgid);
		pack_array(p, n);
		for (size_t i = 0; i < n; i++)
			pack_entry(p, &call->sidecar->registry, &entries[i]);
		control_end(c, call->msgid);
	}
	free(call);
}

void history_answer(struct sidecar *s, struct client *c, uint32_t msgid, const struct task *t)
{
	if (!session_is_up(&s->session)) {
		control_error(c, msgid, RPC_CANNOT_TELL, "no confirmed session with ZooKeeper");
		return;
	}
	struct history_call *call = mem_calloc(1, sizeof(*call));
	call->sidecar = s;
	call->client = c->serial;
	call->msgid = msgid;
	c->parked++;
	c->asking++;
	ledger_history(&s->leaders, t->name, on_history, call);
}
