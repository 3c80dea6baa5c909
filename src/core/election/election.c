#include "core/election/election.h"

#include <assert.h>
#include <string.h>

#include "core/election/election_times.h"
#include "core/time/tick.h"

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

/*
 * How long the last owner may go on leading without noticing that its node is gone. One that was a
 * member, and may be one still, has the time that its record gave it.
 */
static int64_t owner_wait(const struct election *e, const struct election_event *event)
{
	if (event->owner_ms == 0 && event->owner_unsure && e->node.owner != 0)
		return e->owner_ms > e->timeout_ms ? e->owner_ms : e->timeout_ms;
	return event->owner_ms;
}

/* Nobody leads any more; node.owner and node.mine keep the last owner. */
static void vacate(struct election *e, const struct election_event *event, bool handed_over,
		   const char *reason, struct election_actions *out)
{
	/*
	 * An owner that was never among the members may have a worker too new for us to know. Or it
	 * is no worker at all, and its node replaced a deleted one. And when a session ends, its
	 * worker is still a member when the watch on the leader node fires: the list is read later.
	 */
	bool missed = !e->owner_listed || event->type == ELECTION_WATCH;
	if (!handed_over && !e->node.mine && (e->node.exists || e->node.owner != 0) &&
	    event->owner_ms == 0 && missed)
		e->unseen_leader = true;
	e->node.exists = false;
	e->handed_over = handed_over;
	e->owner_ms = owner_wait(e, event);
	e->vacant_ms = e->absent_ms = event->now.boot_ms;
	move(e, ELECTION_VACANT, reason, out);
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
	e->yielded_to = e->view.candidate ? e->view.best : 0;
	move(e, ELECTION_RELEASING, e->view.candidate ? "a better candidate" : "no candidate", out);
}

/*
 * The actions that follow from the present state: at the end of every step.
 *
 * The data version that a release checks begins anew with every node, so a release based on old
 * knowledge could delete another worker's node. So it is sent right after a read that found the
 * node ours. Or it is sent while the lease is valid and a watch from this connection is set: if
 * somebody deletes the node by hand, the next leader waits for longer than the lease. Without a
 * lease, as after a pause, the watch may have fired unnoticed. Where the better candidate has just
 * joined, the read also gives the others the time to hear of it: a worker that has not would claim
 * the task itself.
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
	bool turn = e->state == ELECTION_VACANT && e->view.candidate &&
		    now.boot_ms >= election_claim_time(e);
	if (turn && election_is_news(e, now)) {
		claim(e, out);
		return;
	}
	bool due = e->state == ELECTION_LEADING &&
		   now.boot_ms >= election_release_time(e, now, &reason);
	if (due && sure) {
		release(e, out);
		return;
	}
	if ((election_wants_read(e) || ((due || turn) && e->reads == 0)) &&
	    now.boot_ms >= election_read_time(e))
		read_node(e, out);
	/*
	 * handed_over holds for an immediate read only: later another leader may have come and
	 * gone.
	 */
	if (e->state == ELECTION_FOLLOWING && e->reads == 0)
		e->handed_over = false;
}

/* Another worker is the best candidate now. */
static void forget_pause(struct election *e)
{
	e->yielded_to = 0;
	e->backoff_ms = 0;
	e->backoff_until_ms = 0;
}

static void on_expired(struct election *e, struct election_actions *out)
{
	if (e->state != ELECTION_DOWN)
		move(e, ELECTION_DOWN, "session ended", out);
	/* We own nothing any more; but the lease of another last owner may not be over. */
	int64_t owner = e->node.mine ? 0 : e->node.owner;
	memset(&e->node, 0, sizeof(e->node));
	e->node.owner = owner;
	/* We are no candidate until the whole fleet has been read in the next session. */
	memset(&e->view, 0, sizeof(e->view));
	e->up = false;
	e->viewed = false;
	e->fresh = false;
	e->watched = false;
	e->handed_over = false;
	e->unseen_leader = false;
	e->yielded = false;
	e->reads = 0;
	e->retry_ms = 0;
	e->vacant_read_ms = 0;
	e->release_ms = 0;
	e->promised_ms = 0;
	forget_pause(e);
}

static void on_watch(struct election *e, const struct election_event *event,
		     struct election_actions *out)
{
	/* More may have changed during a disconnection than the watch reports. */
	bool handed_over = event->watch == ELECTION_CHANGED && e->up;

	e->watched = false;
	if (!e->up || event->watch == ELECTION_CREATED)
		e->unseen_leader = true;
	if (event->watch == ELECTION_DELETED)
		e->vacant_read_ms = event->now.boot_ms + ELECTION_VACANT_READ_MS;
	switch (e->state) {
	case ELECTION_FOLLOWING:
		if (event->watch == ELECTION_DELETED && e->node.known) {
			vacate(e, event, false, "leader gone", out);
		} else if (handed_over && e->node.known && e->view.candidate &&
			   e->view.place == 0) {
			/* Yielded, most likely to us. If the node is still there, the claim fails.
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
		/* The read that ends these states is newer than this watch. */
		break;
	case ELECTION_DOWN:
	case ELECTION_STATES: break;
	}
}

/*
 * The pause of yields that begins with a new leadership of ours.
 *
 * If the best candidate did not take what we yielded to it, or took it and gave it up, the next
 * yield to it may come to nothing as well. And who gave the task up meant another than the best
 * that we know, or the best does not act. In both cases hosts may disagree about who is best. None
 * of them can tell by itself, so each keeps what it has got for a while: else the task would change
 * hands without end.
 */
static void pause_yields(struct election *e, int64_t now_ms)
{
	bool back = e->yielded || (e->yielded_to != 0 && e->yielded_to == e->view.best);
	int64_t least = ELECTION_BACKOFF_MIN_MS, most = ELECTION_BACKOFF_MAX_MS;

	if (!back && !(e->handed_over && e->view.place > 0))
		return;
	if (e->config.yield_delay_ms > least)
		least = e->config.yield_delay_ms;
	if (!back || e->backoff_ms == 0)
		e->backoff_ms = least;
	else
		e->backoff_ms *= 2;
	if (e->backoff_ms > most || (back && e->view.best_disagrees))
		e->backoff_ms = most;
	if (e->backoff_ms < least)
		e->backoff_ms = least;
	e->backoff_until_ms = now_ms + e->backoff_ms;
}

/* The node is ours. */
static void take_own_node(struct election *e, int64_t now_ms, const struct election_node *node,
			  struct election_actions *out)
{
	if (e->state == ELECTION_LEADING && e->node.token == node->token) {
		e->node = *node;
		return;
	}
	if (e->node.token != node->token)
		pause_yields(e, now_ms);
	e->retry_ms = 0;
	e->handed_over = false;
	e->unseen_leader = false;
	e->yielded = false;
	e->node = *node;
	if (e->state == ELECTION_LEADING)
		move(e, ELECTION_RESOLVING, "leader node replaced", out);
	move(e, ELECTION_LEADING, "claimed", out);
}

static void take_owner(struct election *e, const struct election_event *event)
{
	e->unseen_leader = false;
	e->node = event->node;
	e->owner_listed = event->owner_ms > 0;
	e->read_best = e->view.best;
}

static void on_node(struct election *e, const struct election_event *event,
		    struct election_actions *out)
{
	assert(e->reads > 0);
	e->reads--;
	/* A read from before ELECTION_UP may be stale. */
	assert(!event->unwatched || e->state == ELECTION_FOLLOWING); /* or it would read for ever */
	e->watched = e->up && !event->unwatched;
	if (!e->up)
		return;
	e->fresh = true;
	if (e->state == ELECTION_CLAIMING || e->state == ELECTION_RELEASING)
		return; /* sent before the claim or release, whose own read is newer */

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
	if (event->node.mine) {
		take_own_node(e, event->now.boot_ms, &event->node, out);
		return;
	}
	take_owner(e, event);
	e->handed_over = e->yielded = false;
	if (e->state != ELECTION_FOLLOWING)
		move(e, ELECTION_FOLLOWING, "another leads", out);
}

static void on_glance(struct election *e, const struct election_event *event)
{
	if (!election_wants_glance(e) || !event->node.exists || event->node.mine)
		return;
	take_owner(e, event);
	e->node.known = false; /* nothing would tell of its end */
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
	/* A claim refused although there is no node is not repeated at once; a node resets this. */
	if (event->outcome != ELECTION_DONE)
		e->retry_ms = event->now.boot_ms + ELECTION_RETRY_MS;
	else
		e->watched = false; /* the watch has fired */
	move(e, ELECTION_RESOLVING,
	     event->outcome == ELECTION_DONE ? "claim done" : "claim not done", out);
	/* The read behind the claim sets the watch; its result is not needed. */
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
		e->vacant_read_ms = event->now.boot_ms + ELECTION_VACANT_READ_MS;
		vacate(e, event, true, "given up", out);
		return;
	}
	e->release_ms = event->now.boot_ms + ELECTION_RETRY_MS;
	if (event->outcome == ELECTION_REFUSED) {
		e->yielded = false;
		e->yielded_to = 0;
	}
	e->node.known = false;
	move(e, ELECTION_RESOLVING, "release not done", out);
}

static void on_view(struct election *e, const struct election_event *event)
{
	bool same = election_should_yield(e) && event->view.best == e->view.best;

	if (e->view.candidate && !event->view.candidate)
		e->unfit_ms = event->now.boot_ms;
	/* The stagger of the new candidates begins now. */
	if (!e->view.candidate && event->view.candidate && e->state == ELECTION_VACANT)
		e->vacant_ms = event->now.boot_ms;
	e->view = event->view;
	e->viewed = true;
	if (!same) {
		e->best_since_ms = event->now.boot_ms;
		forget_pause(e);
	}
	e->owner_ms = owner_wait(e, event);
	e->owner_listed |= event->owner_ms > 0;
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
		 * While we were disconnected the last leader may have come back, and its node have
		 * vanished again.
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
	case ELECTION_VIEW: on_view(e, event); break;
	case ELECTION_WATCH: on_watch(e, event, out); break;
	case ELECTION_NODE: on_node(e, event, out); break;
	case ELECTION_NODE_FAILED: on_node_failed(e, event); break;
	case ELECTION_GLANCE: on_glance(e, event); break;
	case ELECTION_CLAIMED: on_claimed(e, event, out); break;
	case ELECTION_RELEASED: on_released(e, event, out); break;
	case ELECTION_INTEREST: e->interest = event->on; break;
	case ELECTION_HOLD:
		/* The longest of several: a promise to one job stays valid. */
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
