#include "core/election.h"

#include <assert.h>
#include <string.h>

#include "core/tick.h"

#define PLACE_TURN_MAX 20 /* from here on, every place has the same turn */

static const char *const state_names[ELECTION_STATES] = {
	[ELECTION_DOWN] = "down",	    [ELECTION_FOLLOWING] = "following",
	[ELECTION_VACANT] = "vacant",	    [ELECTION_CLAIMING] = "claiming",
	[ELECTION_RESOLVING] = "resolving", [ELECTION_LEADING] = "leading",
	[ELECTION_RELEASING] = "releasing",
};

#define TO(state) (1u << (state))
static const unsigned allowed_moves[ELECTION_STATES] = {
	[ELECTION_DOWN] = TO(ELECTION_FOLLOWING),
	[ELECTION_FOLLOWING] = TO(ELECTION_VACANT) | TO(ELECTION_LEADING) | TO(ELECTION_DOWN),
	[ELECTION_VACANT] = TO(ELECTION_FOLLOWING) | TO(ELECTION_CLAIMING) | TO(ELECTION_LEADING) |
			    TO(ELECTION_DOWN),
	[ELECTION_CLAIMING] = TO(ELECTION_RESOLVING) | TO(ELECTION_DOWN),
	[ELECTION_RESOLVING] = TO(ELECTION_FOLLOWING) | TO(ELECTION_VACANT) | TO(ELECTION_LEADING) |
			       TO(ELECTION_DOWN),
	[ELECTION_LEADING] = TO(ELECTION_FOLLOWING) | TO(ELECTION_VACANT) | TO(ELECTION_RESOLVING) |
			     TO(ELECTION_RELEASING) | TO(ELECTION_DOWN),
	[ELECTION_RELEASING] = TO(ELECTION_VACANT) | TO(ELECTION_RESOLVING) | TO(ELECTION_DOWN),
};

const char *election_state_name(enum election_state state)
{
	assert(state < ELECTION_STATES);
	return state_names[state];
}

bool election_move_allowed(enum election_state from, enum election_state to)
{
	assert(from < ELECTION_STATES && to < ELECTION_STATES);
	return (allowed_moves[from] & TO(to)) != 0;
}

void election_init(struct election *e, const struct election_config *config)
{
	assert(config->tick_guard_ms >= 0 && config->tick_guard_ms < TICK_MINUTE_MS / 2);
	memset(e, 0, sizeof(*e));
	e->config = *config;
}

bool election_leads(const struct election *e)
{
	return e->state == ELECTION_LEADING;
}

bool election_unsettled(const struct election *e)
{
	if (e->state == ELECTION_LEADING)
		return false;
	return !e->up || e->state != ELECTION_FOLLOWING || !e->node.known;
}

static struct election_action *add_action(struct election_actions *out,
					  enum election_action_type type)
{
	assert(out->n < ELECTION_ACTIONS_MAX);
	struct election_action *a = &out->list[out->n++];
	memset(a, 0, sizeof(*a));
	a->type = type;
	return a;
}

/* The one place that writes the state. */
static void move(struct election *e, enum election_state to, const char *reason,
		 struct election_actions *out)
{
	assert(election_move_allowed(e->state, to));
	struct election_action *a = add_action(out, ELECTION_TELL);
	a->from = e->state;
	a->reason = reason;
	e->state = to;
}

static void read_node(struct election *e, struct election_actions *out)
{
	add_action(out, ELECTION_READ);
	e->reads++;
}

/* For how long the last owner may lead on without having heard that its node is gone. */
static int64_t owner_wait(const struct election *e, const struct election_event *event)
{
	if (event->owner_ms == 0 && event->owner_unsure && e->node.owner != 0)
		return e->timeout_ms;
	return event->owner_ms;
}

/* Nobody leads any more; node.owner and node.mine keep telling who did. */
static void vacate(struct election *e, const struct election_event *event, bool handed_over,
		   const char *reason, struct election_actions *out)
{
	/*
	 * An owner that was never among the members may be too new for us to know its worker, or no
	 * worker at all, whose node took the place of one that was deleted. And where a session
	 * ends, its worker is still listed when the watch tells of the leader node: the list is
	 * read later.
	 */
	bool missed = !e->owner_listed || event->type == ELECTION_WATCH;
	if (!handed_over && !e->node.mine && (e->node.exists || e->node.owner != 0) &&
	    event->owner_ms == 0 && missed)
		e->stranger = true;
	e->node.exists = false;
	e->handed_over = handed_over;
	e->owner_ms = owner_wait(e, event);
	e->vacant_ms = e->absent_ms = event->now.boot_ms;
	move(e, ELECTION_VACANT, reason, out);
}

/*
 * When our turn to claim comes, by CLOCK_BOOTTIME.
 *
 * A node that vanished although nobody gave it up, while the session that owned it still has a
 * registered worker, was deleted by some other hand: its owner may not have heard of it and be
 * within its lease. So everybody but the owner waits that lease out; the owner itself need not.
 * Where somebody had it whose node we never read, that may be anybody.
 */
static int64_t claim_time(const struct election *e)
{
	uint32_t place = e->view.place < PLACE_TURN_MAX ? e->view.place : PLACE_TURN_MAX;
	int64_t at = e->vacant_ms + (int64_t)place * ELECTION_TURN_MS;

	if (e->stranger)
		at += e->timeout_ms;
	else if (e->yielded && e->view.place > 0)
		at += ELECTION_ACCEPT_MS;
	else if (!e->handed_over && !e->node.mine)
		at += e->owner_ms;
	return at > e->retry_ms ? at : e->retry_ms;
}

/* The first time from `at` on that keeps clear of the full minute, when crontab lines fire. */
static int64_t clear_of_tick(const struct election *e, struct election_time now, int64_t at)
{
	return at + tick_clear(at - now.boot_ms + now.wall_ms, e->config.tick_guard_ms);
}

/* Whether a better candidate has a right to the task. */
static bool should_yield(const struct election *e)
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
 * When the best has been that for long enough. One that has just joined reads the leader nodes at
 * once, and claims one that is not there. One that had been there, and is the best only now, gets
 * the time to look at them first: should it remember an earlier leader, it would take one that is
 * not there for deleted. And where others are better than we as well, they get the time to hear of
 * the best: they would take it for their own.
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

/* When the task is to be given up, ELECTION_NEVER if it is not; *ret_reason says what it waits for.
 */
static int64_t release_time(const struct election *e, struct election_time now,
			    const char **ret_reason)
{
	int64_t at = now.boot_ms;
	*ret_reason = "now";
	if (!e->viewed)
		return ELECTION_NEVER;

	if (e->view.candidate) {
		if (!should_yield(e))
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
	} else if (e->view.best != 0 && e->unfit_ms + ELECTION_YIELD_MIN_MS > at) {
		/* Who is the best now has to look at the node first. */
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

static int64_t may_promise(const struct election *e, struct election_time now, int64_t lease_ms)
{
	const char *reason;

	/* Who is no candidate may still hold a run, but begins nothing. */
	if (e->state != ELECTION_LEADING || !e->view.candidate)
		return 0;
	int64_t most = e->timeout_ms / 4;
	if (e->config.yield_delay_ms > most)
		most = e->config.yield_delay_ms;
	int64_t at = release_time(e, now, &reason);
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

bool election_yield_at(const struct election *e, struct election_time now, int64_t *ret_boot_ms,
		       const char **ret_reason)
{
	if (e->state != ELECTION_LEADING)
		return false;
	const char *reason;
	int64_t at = release_time(e, now, &reason);
	if (at == ELECTION_NEVER)
		return false;
	*ret_boot_ms = at;
	*ret_reason = reason;
	return true;
}

static bool wants_watch(const struct election *e)
{
	return e->interest || e->state != ELECTION_FOLLOWING ||
	       (e->view.candidate && e->view.place < 2);
}

/* Whether the node has to be read; may only be asked while it is nothing else's turn. */
static bool wants_read(const struct election *e)
{
	switch (e->state) {
	case ELECTION_RESOLVING: return e->reads == 0;
	case ELECTION_FOLLOWING:
		/* It may be watched and yet not known: we were no candidate when it was looked at.
		 */
		return e->reads == 0 && (!e->watched || !e->node.known) && wants_watch(e);
	case ELECTION_VACANT:
		/* No candidate and not interested: what is known is good until the watch fires. */
		return e->reads == 0 && !e->watched && (e->view.candidate || e->interest);
	case ELECTION_LEADING: return e->reads == 0 && !e->watched;
	case ELECTION_DOWN:
	case ELECTION_CLAIMING:
	case ELECTION_RELEASING:
	case ELECTION_STATES: break;
	}
	return false;
}

/* When a read that is wanted may be sent. */
static int64_t read_time(const struct election *e)
{
	bool patient = e->state == ELECTION_VACANT && !e->interest;

	return patient && e->look_ms > e->retry_ms ? e->look_ms : e->retry_ms;
}

/*
 * Whether the server has said lately that nobody has it. One that has waited for its turn looks
 * again first: on a connection that stalls, an owner may have come back and been deleted by hand
 * unheard (seed 52).
 */
static bool is_news(const struct election *e, struct election_time now)
{
	return now.boot_ms - e->absent_ms <= ELECTION_NEWS_MS;
}

static void claim(struct election *e, struct election_actions *out)
{
	add_action(out, ELECTION_CLAIM);
	e->reads++;
	move(e, ELECTION_CLAIMING, e->view.place == 0 ? "best candidate" : "the better do not act",
	     out);
}

static void release(struct election *e, struct election_actions *out)
{
	struct election_action *a = add_action(out, ELECTION_RELEASE);
	a->to = e->view.best;
	a->version = e->node.version;
	e->yielded = true;
	move(e, ELECTION_RELEASING, e->view.candidate ? "a better candidate" : "no candidate", out);
}

/*
 * What follows from the state as it now is: at the end of every step.
 *
 * The version that a release checks begins anew with every node, so that one sent in ignorance
 * could delete another's. So it is sent right behind a read that found the node ours, or while a
 * watch is set that was set on this very connection, and the lease is good: whoever might have it
 * after another's hand waits for longer than that. Without a lease, as after a pause, the watch may
 * have fired unheard. Where the better one has just come, the read also gives the others the time
 * to hear of it: who has not takes what is given up for its own.
 */
static void settle(struct election *e, const struct election_event *event,
		   struct election_actions *out)
{
	struct election_time now = event->now;
	bool just_read = event->type == ELECTION_NODE && e->node.known && e->node.mine;
	bool settled = now.boot_ms - e->view.best_seen_ms >= ELECTION_YIELD_MIN_MS;
	bool sure = just_read || (e->watched && e->fresh && now.leased && settled);
	const char *reason;

	if (!e->up)
		return;
	if (e->state == ELECTION_VACANT && !e->view.candidate && !e->interest && !e->watched) {
		e->node.known = false;
		move(e, ELECTION_FOLLOWING, "no candidate", out);
	}
	bool turn =
		e->state == ELECTION_VACANT && e->view.candidate && now.boot_ms >= claim_time(e);
	if (turn && is_news(e, now)) {
		claim(e, out);
		return;
	}
	bool due = e->state == ELECTION_LEADING && now.boot_ms >= release_time(e, now, &reason);
	if (due && sure) {
		release(e, out);
		return;
	}
	if ((wants_read(e) || ((due || turn) && e->reads == 0)) && now.boot_ms >= read_time(e))
		read_node(e, out);
	/*
	 * A handover is told from others by a look at once: later somebody may have had it since.
	 */
	if (e->state == ELECTION_FOLLOWING && e->reads == 0)
		e->handed_over = false;
}

static void on_expired(struct election *e, struct election_actions *out)
{
	if (e->state != ELECTION_DOWN)
		move(e, ELECTION_DOWN, "session ended", out);
	/* Nothing is ours any more; but who else had it last may still be within his lease. */
	int64_t owner = e->node.mine ? 0 : e->node.owner;
	memset(&e->node, 0, sizeof(e->node));
	e->node.owner = owner;
	/* No candidate before the fleet has been read whole in the next session. */
	memset(&e->view, 0, sizeof(e->view));
	e->up = false;
	e->viewed = false;
	e->fresh = false;
	e->watched = false;
	e->handed_over = false;
	e->stranger = false;
	e->yielded = false;
	e->reads = 0;
	e->retry_ms = 0;
	e->look_ms = 0;
	e->release_ms = 0;
	e->promised_ms = 0;
	e->backoff_ms = 0;
	e->backoff_until_ms = 0;
}

static void on_watch(struct election *e, const struct election_event *event,
		     struct election_actions *out)
{
	/* After a disconnection a watch tells that something happened, not what all did. */
	bool handed_over = event->watch == ELECTION_CHANGED && e->up;

	e->watched = false;
	if (!e->up || event->watch == ELECTION_CREATED)
		e->stranger = true;
	if (event->watch == ELECTION_DELETED)
		e->look_ms = event->now.boot_ms + ELECTION_LOOK_MS;
	switch (e->state) {
	case ELECTION_FOLLOWING:
		if (event->watch == ELECTION_DELETED && e->node.known) {
			vacate(e, event, false, "leader gone", out);
		} else if (handed_over && e->node.known && e->view.candidate &&
			   e->view.place == 0) {
			/* Given up, most likely to us. If it is there still, the claim is refused.
			 */
			vacate(e, event, true, "handed over", out);
		} else {
			e->handed_over = handed_over;
			e->node.known = false;
		}
		break;
	case ELECTION_VACANT:
		e->node.known = false;
		if (event->watch == ELECTION_CREATED)
			move(e, ELECTION_FOLLOWING, "taken", out);
		break;
	case ELECTION_LEADING:
		if (event->watch == ELECTION_DELETED) {
			vacate(e, event, false, "leader node deleted", out);
		} else {
			e->node.known = false;
			move(e, ELECTION_RESOLVING, "leader node changed", out);
		}
		break;
	case ELECTION_CLAIMING:
	case ELECTION_RESOLVING:
	case ELECTION_RELEASING:
		/* Whatever it tells, the read that ends these states tells newer things. */
		break;
	case ELECTION_DOWN:
	case ELECTION_STATES: break;
	}
}

/* The node is ours. */
static void take_own_node(struct election *e, int64_t now_ms, const struct election_node *node,
			  struct election_actions *out)
{
	if (e->state == ELECTION_LEADING && e->node.token == node->token) {
		e->node = *node;
		return;
	}
	if (e->yielded && e->node.token != node->token) {
		/* It was given up, not taken, and claimed back: do not offer it again too soon. */
		e->backoff_ms = e->backoff_ms == 0 ? ELECTION_BACKOFF_MIN_MS : e->backoff_ms * 2;
		if (e->backoff_ms > ELECTION_BACKOFF_MAX_MS)
			e->backoff_ms = ELECTION_BACKOFF_MAX_MS;
		e->backoff_until_ms = now_ms + e->backoff_ms;
	}
	e->retry_ms = 0;
	e->handed_over = false;
	e->stranger = false;
	e->yielded = false;
	e->node = *node;
	if (e->state == ELECTION_LEADING)
		move(e, ELECTION_RESOLVING, "leader node replaced", out);
	move(e, ELECTION_LEADING, "claimed", out);
}

static void on_node(struct election *e, const struct election_event *event,
		    struct election_actions *out)
{
	assert(e->reads > 0);
	e->reads--;
	/* Nothing was confirmed on this connection when this was read: it may be stale. */
	assert(!event->unwatched || e->state == ELECTION_FOLLOWING); /* or it would read for ever */
	e->watched = e->up && !event->unwatched;
	if (!e->up)
		return;
	e->fresh = true;
	if (e->state == ELECTION_CLAIMING || e->state == ELECTION_RELEASING)
		return; /* sent before the claim or release: older than what that will tell */

	if (!event->node.exists) {
		e->node.known = true;
		if (e->state == ELECTION_FOLLOWING)
			vacate(e, event, e->handed_over, "nobody leads", out);
		else if (e->state == ELECTION_RESOLVING || e->state == ELECTION_LEADING)
			vacate(e, event, e->handed_over, "leader node gone", out);
		e->node.exists = false;
		e->absent_ms = event->now.boot_ms;
		return;
	}
	e->retry_ms = 0;
	e->handed_over = false;
	e->stranger = false;
	if (event->node.mine) {
		take_own_node(e, event->now.boot_ms, &event->node, out);
		return;
	}
	e->node = event->node;
	e->owner_listed = event->owner_ms > 0;
	e->yielded = false;
	e->backoff_ms = 0;
	e->backoff_until_ms = 0;
	if (e->state != ELECTION_FOLLOWING)
		move(e, ELECTION_FOLLOWING, "another leads", out);
}

static void on_node_failed(struct election *e, const struct election_event *event)
{
	assert(e->reads > 0);
	e->reads--;
	e->watched = false;
	e->handed_over = false;
	if (e->up)
		e->retry_ms = event->now.boot_ms + ELECTION_RETRY_MS;
}

static void on_claimed(struct election *e, const struct election_event *event,
		       struct election_actions *out)
{
	assert(e->state == ELECTION_CLAIMING);
	/* A claim refused with no node there must not be repeated at once; a node resets this. */
	if (event->outcome != ELECTION_DONE)
		e->retry_ms = event->now.boot_ms + ELECTION_RETRY_MS;
	else
		e->watched = false; /* it has fired */
	move(e, ELECTION_RESOLVING,
	     event->outcome == ELECTION_DONE ? "claim done" : "claim not done", out);
	/* The read behind it sets a watch; what it tells of the node need not be waited for. */
	if (event->outcome == ELECTION_DONE && event->token > 0 && e->up)
		take_own_node(e, event->now.boot_ms,
			      &(struct election_node){.known = true,
						      .exists = true,
						      .mine = true,
						      .owner = event->owner,
						      .token = event->token},
			      out);
}

static void on_released(struct election *e, const struct election_event *event,
			struct election_actions *out)
{
	assert(e->state == ELECTION_RELEASING);
	if (event->outcome == ELECTION_DONE) {
		e->node.known = true;
		e->watched = false;
		e->look_ms = event->now.boot_ms + ELECTION_LOOK_MS;
		vacate(e, event, true, "given up", out);
		return;
	}
	e->release_ms = event->now.boot_ms + ELECTION_RETRY_MS;
	if (event->outcome == ELECTION_REFUSED)
		e->yielded = false;
	e->node.known = false;
	move(e, ELECTION_RESOLVING, "release not done", out);
}

void election_step(struct election *e, const struct election_event *event,
		   struct election_actions *out)
{
	out->n = 0;
	switch (event->type) {
	case ELECTION_UP:
		e->up = true;
		e->timeout_ms = event->up_timeout_ms;
		e->retry_ms = 0;
		/*
		 * While we were away the last leader may have come back, and its node have vanished
		 * again.
		 */
		if (e->state == ELECTION_VACANT)
			e->vacant_ms = event->now.boot_ms;
		if (e->state == ELECTION_DOWN)
			move(e, ELECTION_FOLLOWING, "registered", out);
		break;
	case ELECTION_CUT:
		e->up = false;
		e->fresh = false;
		e->handed_over = false;
		break;
	case ELECTION_EXPIRED: on_expired(e, out); break;
	case ELECTION_VIEW: {
		bool same = should_yield(e) && event->view.best == e->view.best;
		if (e->view.candidate && !event->view.candidate)
			e->unfit_ms = event->now.boot_ms;
		/* The turns of those who may claim now begin now. */
		if (!e->view.candidate && event->view.candidate && e->state == ELECTION_VACANT)
			e->vacant_ms = event->now.boot_ms;
		e->view = event->view;
		e->viewed = true;
		if (!same)
			e->best_since_ms = event->now.boot_ms;
		e->owner_ms = owner_wait(e, event);
		e->owner_listed |= event->owner_ms > 0;
		break;
	}
	case ELECTION_WATCH: on_watch(e, event, out); break;
	case ELECTION_NODE: on_node(e, event, out); break;
	case ELECTION_NODE_FAILED: on_node_failed(e, event); break;
	case ELECTION_CLAIMED: on_claimed(e, event, out); break;
	case ELECTION_RELEASED: on_released(e, event, out); break;
	case ELECTION_INTEREST: e->interest = event->on; break;
	case ELECTION_HOLD:
		/* Of several the longest: what was promised to one job stands. */
		if (!e->held || !event->on || event->hold_until_ms > e->hold_until_ms)
			e->hold_until_ms = event->hold_until_ms;
		e->held = event->on;
		break;
	case ELECTION_CONFIG: e->config = event->config; break;
	case ELECTION_DEADLINE: break;
	case ELECTION_EVENTS: assert(false);
	}
	settle(e, event, out);
	election_check(e);
}

int64_t election_deadline(const struct election *e, struct election_time now)
{
	const char *reason;

	int64_t at = ELECTION_NEVER;

	if (!e->up)
		return ELECTION_NEVER;
	if (e->state == ELECTION_VACANT && e->view.candidate) {
		at = claim_time(e);
		if (at <= now.boot_ms && !is_news(e, now))
			at = e->reads > 0 ? ELECTION_NEVER : read_time(e);
	} else if (e->state == ELECTION_LEADING)
		at = release_time(e, now, &reason);
	/* One that is due waits for a read, or for the next try of one. */
	if (e->state == ELECTION_LEADING && at <= now.boot_ms)
		at = e->reads > 0 ? ELECTION_NEVER : e->retry_ms;
	if (wants_read(e) && read_time(e) < at)
		at = read_time(e);
	return at;
}

void election_check(const struct election *e)
{
	assert(e->state < ELECTION_STATES);
	switch (e->state) {
	case ELECTION_DOWN: assert(!e->up && !e->watched && e->reads == 0 && !e->node.known); break;
	case ELECTION_FOLLOWING: assert(!e->node.known || (e->node.exists && !e->node.mine)); break;
	case ELECTION_VACANT: assert(!e->node.exists); break;
	case ELECTION_LEADING:
		assert(e->node.known && e->node.exists && e->node.mine && e->node.token > 0);
		break;
	case ELECTION_CLAIMING: assert(e->reads > 0); break;
	case ELECTION_RESOLVING:
	case ELECTION_RELEASING:
	case ELECTION_STATES: break;
	}
	assert(!e->reads || e->state != ELECTION_DOWN);
}
