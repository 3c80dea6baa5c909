/* Questions about a run: when to call it again, and whether its job may be alive. */
#include "core/election/run.h"

int64_t run_due(const struct run_state *r, int64_t now_ms)
{
	int64_t first = INT64_MAX;
	int64_t call_ms = r->orphan_ms > 0 ? r->orphan_ms + RUN_CALL_MS : 0;

	if (r->phase == RUN_OVER)
		return first;
	if (r->phase != RUN_GOING && r->deadline_ms > now_ms)
		first = r->deadline_ms;
	if (r->not_before_ms > now_ms && r->not_before_ms < first)
		first = r->not_before_ms;
	if (call_ms > now_ms && call_ms < first)
		first = call_ms;
	return first;
}

bool run_is_open(const struct run_state *r)
{
	return r->phase != RUN_WAITING && r->phase != RUN_OVER;
}

bool run_is_alive(const struct run_state *r, int64_t now_ms)
{
	switch (r->phase) {
	case RUN_GOING: return true;
	case RUN_DYING:
	case RUN_INHERITED: return now_ms < r->deadline_ms;
	case RUN_WAITING:
	case RUN_FINISHING:
	case RUN_OVER: break;
	}
	return false;
}

bool run_holds(const struct run_state *r)
{
	bool claims =
		r->asked == RUN_CLAIM || r->asked == RUN_CLAIM_ANEW || r->asked == RUN_TAKE_OVER;
	/* The answer to a claim was lost, and the record does not deny that the tick is ours. */
	bool open = r->unsure && (!r->looked || (r->there && r->seen.readable && r->seen.ours));

	switch (r->phase) {
	case RUN_WAITING: return !r->once && (claims || open);
	case RUN_GOING:
	case RUN_DYING:
	case RUN_INHERITED: return true;
	case RUN_FINISHING:
	case RUN_OVER: break;
	}
	return false;
}
