#include "core/queue/attempt.h"

/* The result of an attempt that ended by itself: by its status, or by the answer to its request. */
static enum attempt_how by_itself(const struct attempt_end *e)
{
	if (e->answer == ATTEMPT_NO_ANSWER)
		return e->exit_status == 0 ? ATTEMPT_OK : ATTEMPT_FAILED;
	if (e->answer == ATTEMPT_REFUSED)
		return ATTEMPT_DEAD;
	return e->answer == ATTEMPT_ACCEPTED ? ATTEMPT_OK : ATTEMPT_FAILED;
}

enum attempt_how attempt_how(const struct attempt_end *e)
{
	bool answered = e->answer == ATTEMPT_ACCEPTED || e->answer == ATTEMPT_REFUSED;
	bool ended = (e->interrupted || e->timeout) && !answered;
	enum attempt_how how = by_itself(e);

	if (!ended && how == ATTEMPT_OK)
		return ATTEMPT_OK; /* a cancel came too late */
	if (e->cancelled)
		return ATTEMPT_CANCELLED;
	if (!ended)
		return how;
	return e->interrupted ? ATTEMPT_LOST : ATTEMPT_TIMEOUT;
}
