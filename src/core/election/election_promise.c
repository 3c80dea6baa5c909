#include "core/election/election_promise.h"

#include "core/election/election_times.h"

static int64_t may_promise(const struct election *e, struct election_time now, int64_t lease_ms)
{
	const char *reason;

	/* A leader that is no candidate any more may still hold a run, but begins nothing. */
	if (e->state != ELECTION_LEADING || !e->view.candidate)
		return 0;
	int64_t most = e->timeout_ms / 4;
	if (e->config.yield_delay_ms > most)
		most = e->config.yield_delay_ms;
	int64_t at = election_release_time(e, now, &reason);
	if (at != ELECTION_NEVER && at - now.boot_ms < most)
		most = at - now.boot_ms;
	return lease_ms < most ? lease_ms : most;
}

bool election_says(const struct election *e, struct election_time now, int64_t lease_ms)
{
	return may_promise(e, now, lease_ms) > 0;
}

void election_promised(struct election *e, int64_t until_ms)
{
	if (until_ms > e->promised_ms)
		e->promised_ms = until_ms;
}

int64_t election_promise(struct election *e, struct election_time now, int64_t lease_ms)
{
	int64_t ms = may_promise(e, now, lease_ms);

	if (ms > 0)
		election_promised(e, now.boot_ms + ms);
	return ms;
}
