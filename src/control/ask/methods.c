#include "control/ask/methods.h"

#include "control/ask/explain_text.h"
#include "control/ask/subject.h"
#include "node/election/partitions.h"

void methods_refuse_whole(const struct call *call, const struct listing *l)
{
	char text[EXPLAIN_TEXT_MAX] = "", problem[PARTITIONS_TEXT_MAX];

	if (partitions_problem(l, problem))
		explain_say(text, "%s: %s", l->name, problem);
	else if (l->n == 0)
		explain_say(text, "how many partitions %s has is not known yet", l->name);
	else
		explain_say(text, "%s has %zu partitions: name one of them, as %s:0, or --any",
			    l->name, l->n, l->name);
	peer_error(call->c, call->msgid, RPC_MISUSE, text);
}

void methods_renewed(const struct call *call, int64_t lease_ms, const char *misuse)
{
	if (lease_ms < 0) {
		peer_error(call->c, call->msgid, RPC_MISUSE, misuse);
		return;
	}
	struct pack *p = peer_begin(call->c);
	rpc_pack_result(p, call->msgid);
	pack_map(p, 3);
	pack_kv_bool(p, "leads", lease_ms > 0);
	pack_kv_int(p, "lease_ms", lease_ms);
	pack_kv_int(p, "timeout_ms", call->m->node->session.lease.timeout_ms);
	peer_end(call->c, call->msgid);
}

struct task *methods_take_task(struct call *call)
{
	struct subject s;

	if (!subject_take(call, &s))
		return NULL;
	if (!s.task)
		methods_refuse_whole(call, s.listing);
	return s.task;
}

/* The options of check: a map; unknown keys are skipped. */
