#include "core/election/election_times.h"

#include "core/time/tick.h"

#define PLACE_STAGGER_MAX 20 /* the stagger does not grow beyond this place */

int64_t election_claim_time(const struct election *e)
{
	uint32_t place = e->view.place < PLACE_STAGGER_MAX ? e->view.place : PLACE_STAGGER_MAX;
	int64_t at = e->vacant_ms + (int64_t)place * ELECTION_STAGGER_MS;

	if (e->unseen_leader)
		at += e->owner_ms > e->timeout_ms ? e->owner_ms : e->timeout_ms;
	else if (e->yielded && e->view.place > 0)
		at += ELECTION_ACCEPT_MS;
	else if (!e->handed_over && !e->node.mine)
		at += e->owner_ms;
	return at > e->retry_ms ? at : e->retry_ms;
}

/* The first time from `at` on that is not near a full minute, when crontab lines fire. */
static int64_t clear_of_tick(const struct election *e, struct election_time now, int64_t at)
{
	return at + tick_clear(at - now.boot_ms + now.wall_ms, e->config.tick_guard_ms);
}

bool election_should_yield(const struct election *e)
{
	if (!e->view.candidate || e->view.place == 0 || e->view.best == 0)
		return false;
	switch (e->config.yield) {
	case ELECTION_YIELD_RANK: return true;
	case ELECTION_YIELD_VERSION: return e->view.newer;
	case ELECTION_YIELD_NEVER: return false;
	}
	return false;
}

/*
 * When the best candidate has been the best for long enough. A worker that has just joined reads
 * the leader nodes at once, and claims those that do not exist. A worker that joined earlier, and
 * became the best only now, gets the time to read them first: if it remembers an earlier leader, it
 * would take a missing node for deleted by hand. And if other candidates are better than we as
 * well, they get the time to hear of the best one: else they would claim the task themselves.
 */
static int64_t yield_ripe(const struct election *e)
{
	int64_t delay = e->config.yield_delay_ms;

	if (e->view.place > 1 && delay < ELECTION_YIELD_MIN_MS)
		delay = ELECTION_YIELD_MIN_MS;
	if (!e->view.best_returned &&
	    e->best_since_ms - e->view.best_seen_ms <= ELECTION_YIELD_MIN_MS)
		return e->view.best_seen_ms + delay;
	return e->best_since_ms + (delay > ELECTION_YIELD_MIN_MS ? delay : ELECTION_YIELD_MIN_MS);
}

int64_t election_release_time(const struct election *e, struct election_time now,
			      const char **ret_reason)
{
	int64_t at = now.boot_ms;
	*ret_reason = "now";
	if (!e->viewed)
		return ELECTION_NEVER;

	if (e->view.candidate) {
		if (!election_should_yield(e))
			return ELECTION_NEVER;
		int64_t ripe = yield_ripe(e);
		if (ripe > at) {
			at = ripe;
			*ret_reason = "yield-delay";
		}
		if (e->backoff_until_ms > at) {
			at = e->backoff_until_ms;
			*ret_reason = "backoff";
		}
		if (now.reading && now.boot_ms + ELECTION_RETRY_MS > at) {
			at = now.boot_ms + ELECTION_RETRY_MS;
			*ret_reason = "workers to be read";
		}
	} else if (e->view.best != 0 && e->unfit_ms + ELECTION_YIELD_MIN_MS > at) {
		/* The new best candidate has to read the node first. */
		at = e->unfit_ms + ELECTION_YIELD_MIN_MS;
		*ret_reason = "yield-delay";
	}
	if (e->held && e->hold_until_ms > at) {
		at = e->hold_until_ms;
		*ret_reason = "held run";
	}
	if (e->release_ms > at)
		at = e->release_ms;
	if (e->promised_ms > at) {
		at = e->promised_ms;
		*ret_reason = "an answer that is still good";
	}
	if (e->view.candidate && clear_of_tick(e, now, at) != at) {
		at = clear_of_tick(e, now, at);
		*ret_reason = "tick-guard";
	}
	return at;
}

#define WATCHING_PLACES 2

bool election_wants_glance(const struct election *e)
{
	bool behind = e->view.place >= WATCHING_PLACES &&
		      e->view.place < WATCHING_PLACES + ELECTION_GLANCE_PLACES;

	return e->state == ELECTION_FOLLOWING && e->up && !e->watched && e->reads == 0 &&
	       e->view.candidate && behind && (e->unseen_leader || e->read_best != e->view.best);
}

/*
 * The best two watch the node, and the next best. A best candidate whose files differ may be no
 * candidate in its own eyes, and nor may those behind it: then all watch whose stagger differs.
 */
static bool wants_watch(const struct election *e)
{
	uint32_t places = e->view.best_disagrees ? PLACE_STAGGER_MAX : WATCHING_PLACES;

	return e->interest || e->state != ELECTION_FOLLOWING ||
	       (e->view.candidate && (e->view.place < places || e->view.next));
}

bool election_wants_read(const struct election *e)
{
	switch (e->state) {
	case ELECTION_RESOLVING: return e->reads == 0;
	case ELECTION_FOLLOWING:
		/* The node may be watched but not known: it was read while we were no candidate. */
		return e->reads == 0 && (!e->watched || !e->node.known) && wants_watch(e);
	case ELECTION_VACANT:
		/*
		 * Without a candidacy or a subscriber, what is known stays valid until the watch
		 * fires.
		 */
		return e->reads == 0 && !e->watched && (e->view.candidate || e->interest);
	case ELECTION_LEADING: return e->reads == 0 && !e->watched;
	case ELECTION_DOWN:
	case ELECTION_CLAIMING:
	case ELECTION_RELEASING:
	case ELECTION_STATES: break;
	}
	return false;
}

int64_t election_read_time(const struct election *e)
{
	bool patient = e->state == ELECTION_VACANT && !e->interest;

	return patient && e->vacant_read_ms > e->retry_ms ? e->vacant_read_ms : e->retry_ms;
}

bool election_is_news(const struct election *e, struct election_time now)
{
	return now.boot_ms - e->absent_ms <= ELECTION_NEWS_MS;
}

bool election_yield_at(const struct election *e, struct election_time now, int64_t *ret_boot_ms,
		       const char **ret_reason)
{
	if (e->state != ELECTION_LEADING)
		return false;
	const char *reason;
	int64_t at = election_release_time(e, now, &reason);
	if (at == ELECTION_NEVER)
		return false;
	*ret_boot_ms = at;
	*ret_reason = reason;
	return true;
}

int64_t election_deadline(const struct election *e, struct election_time now)
{
	const char *reason;

	int64_t at = ELECTION_NEVER;

	if (!e->up)
		return ELECTION_NEVER;
	if (e->state == ELECTION_VACANT && e->view.candidate) {
		at = election_claim_time(e);
		if (at <= now.boot_ms && !election_is_news(e, now))
			at = e->reads > 0 ? ELECTION_NEVER : election_read_time(e);
	} else if (e->state == ELECTION_LEADING)
		at = election_release_time(e, now, &reason);
	/* A release that is due waits for a read, or for its retry. */
	if (e->state == ELECTION_LEADING && at <= now.boot_ms)
		at = e->reads > 0 ? ELECTION_NEVER : e->retry_ms;
	if (election_wants_read(e) && election_read_time(e) < at)
		at = election_read_time(e);
	return at;
}
