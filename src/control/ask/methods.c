#include "control/ask/methods.h"

#include "control/ask/explain_text.h"
#include "control/ask/subject.h"
#include "node/election/partitions.h"

struct pack *call_result(const struct call *call)
{
	struct pack *p = peer_begin(call->c);

	rpc_pack_result(p, call->msgid);
	return p;
}

void call_end(const struct call *call)
{
	peer_end(call->c, call->msgid);
}

void call_done(const struct call *call)
{
	pack_map(call_result(call), 0);
	call_end(call);
}

bool call_fail(const struct call *call, enum rpc_code code, const char *why)
{
	peer_error(call->c, call->msgid, code, why);
	return false;
}

bool call_refuse(const struct call *call, const char *why)
{
	return call_fail(call, RPC_MISUSE, why);
}

bool call_misused(const struct call *call)
{
	char text[EXPLAIN_TEXT_MAX] = "";

	explain_say(text, "%s takes %s", call->method, call->takes);
	return call_refuse(call, text);
}

bool call_may_change(const struct call *call)
{
	return peer_may_change(call->c) || call_refuse(call, METHODS_NOT_ALLOWED);
}

bool call_has_session(const struct call *call)
{
	return session_is_up(&call->m->node->session) ||
	       call_fail(call, RPC_CANNOT_TELL, SESSION_NONE);
}

bool call_has_policy(const struct call *call)
{
	return call_has_session(call) && (call->m->node->policy.folder.ready ||
					  call_fail(call, RPC_CANNOT_TELL, SESSION_NONE));
}

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
	call_refuse(call, text);
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
