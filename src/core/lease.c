#include "core/lease.h"

/*
 * The server forgets a session no sooner than its timeout after the last sign of life that it got,
 * and it got ours no sooner than we sent it: until sent + T nobody else can have been given the
 * task. The margin keeps clear of that end.
 */

void lease_begin(struct lease *l, int64_t timeout_ms)
{
	*l = (struct lease){.timeout_ms = timeout_ms > 0 ? timeout_ms : 0};
}

void lease_end(struct lease *l)
{
	*l = (struct lease){0};
}

void lease_confirm(struct lease *l, int64_t sent_ms)
{
	/* A timeout that its margin uses up, like none at all, gives no lease. */
	int64_t span_ms = l->timeout_ms - lease_margin(l->timeout_ms);
	if (span_ms <= 0)
		return;

	/* Answers may be handled in another order than the requests were sent in. */
	if (sent_ms + span_ms > l->deadline_ms)
		l->deadline_ms = sent_ms + span_ms;
}

int64_t lease_left(const struct lease *l, int64_t now_ms)
{
	return now_ms < l->deadline_ms ? l->deadline_ms - now_ms : 0;
}

int64_t lease_margin(int64_t timeout_ms)
{
	return timeout_ms / 4 + timeout_ms / 100 + 100;
}

int64_t lease_interval(int64_t timeout_ms)
{
	return timeout_ms / 6;
}
