#include "world.h"

#include <string.h>

#define HOLD_MS	     60000
#define INCOMING_MAX 4 /* the world changes only while no more than this is on its way */
#define BEST_SERIAL  5

const char *happening_name(enum happening what)
{
	static const char *const names[HAPPENINGS] = {
		[HAPPEN_DELIVER] = "the next answer arrives",
		[HAPPEN_SERVE] = "the server takes a request",
		[HAPPEN_SERVE_REFUSE] = "the server refuses a claim: not registered",
		[HAPPEN_DEADLINE] = "the deadline comes",
		[HAPPEN_CUT] = "the connection is lost",
		[HAPPEN_RECONNECT] = "another connection",
		[HAPPEN_EXPIRE] = "the session expires",
		[HAPPEN_OTHER_CLAIM] = "the other claims",
		[HAPPEN_OTHER_YIELD] = "the other yields",
		[HAPPEN_OTHER_GONE] = "the other's session ends",
		[HAPPEN_OTHER_BACK] = "the other registers",
		[HAPPEN_HAND_DELETE] = "a hand deletes the node",
		[HAPPEN_HAND_SET] = "a hand writes the node",
		[HAPPEN_VIEW_NONE] = "view: no candidate",
		[HAPPEN_VIEW_BEST] = "view: best",
		[HAPPEN_VIEW_SECOND] = "view: second, same version",
		[HAPPEN_VIEW_SECOND_OLDER] = "view: second, older",
		[HAPPEN_VIEW_THIRD] = "view: third",
		[HAPPEN_INTEREST] = "interest begins or ends",
		[HAPPEN_HOLD] = "a hold begins or ends",
		[HAPPEN_CONFIG] = "another yield mode",
		[HAPPEN_GLANCE] = "the node is glanced at",
	};
	return names[what];
}

void world_init(struct world *w)
{
	static const struct election_config config = {.yield_delay_ms = 2000};

	memset(w, 0, sizeof(*w));
	election_init(&w->e, &config);
	w->now = 1000000;
	w->next_token = 1;
	w->other_registered = true;
	w->other_in_fleet = true;
}

/* --- the election's side -------------------------------------------------------------------------- */

static void ask(struct world *w, struct request request)
{
	if (w->n_requests == WORLD_QUEUE_MAX || w->n_unanswered == WORLD_QUEUE_MAX) {
		w->fault = "asks without end";
		return;
	}
	/* While the connection is down the library keeps nothing: see lose_connection(). */
	w->requests[w->n_requests++] = request;
	w->unanswered[w->n_unanswered++] = request.type;
}

/*
 * Notes until when the task must be kept: hosts may disagree about who is best if another worker
 * gave up what it should keep, or did not keep what it was given. The next leader then keeps the
 * task for a while. `before` is the previous token.
 */
static void note_leadership(struct world *w, int64_t before)
{
	const struct election *e = &w->e;
	bool newly = e->node.mine && e->node.token != before; /* it may be yielded already */

	if (!e->view.best || !e->view.candidate || !election_should_yield(e) ||
	    e->state == ELECTION_DOWN) {
		w->returned = w->given_up = false;
		w->calm_ms = 0;
	}
	if (newly && (w->returned || w->given_up))
		w->calm_ms = w->now + ELECTION_BACKOFF_MIN_MS;
	if (newly || (e->node.known && e->node.exists))
		w->given_up = false;
}

static void note_release(struct world *w, const struct election_action *a)
{
	if (w->e.view.candidate && a->to == BEST_SERIAL && w->now < w->calm_ms)
		w->fault = "yields again what it has just got back";
}

static void give(struct world *w, struct election_event event)
{
	struct election_actions actions;
	int64_t before = w->e.node.token;

	bool given_up = event.type == ELECTION_WATCH && event.watch == ELECTION_CHANGED &&
			w->e.state == ELECTION_FOLLOWING && w->e.node.known && w->e.up && !w->owner;
	if (event.type == ELECTION_CUT)
		w->given_up = false;
	bool read =
		event.type == ELECTION_GLANCE || (event.type == ELECTION_NODE && event.node.exists);
	int64_t owner = read ? event.node.owner : w->e.node.owner;
	if (owner == WORLD_OTHER && w->other_in_fleet)
		event.owner_ms = WORLD_TIMEOUT_MS;
	model_step(&w->e, &event, w->now, &actions);
	w->given_up |= given_up && w->e.reads > 0; /* who does not read it soon cannot tell later */
	note_leadership(w, before);
	for (size_t i = 0; i < actions.n; i++) {
		const struct election_action *a = &actions.list[i];
		switch (a->type) {
		case ELECTION_READ: ask(w, (struct request){.type = REQUEST_READ}); break;
		case ELECTION_CLAIM:
			ask(w, (struct request){.type = REQUEST_CLAIM});
			ask(w, (struct request){.type = REQUEST_READ});
			break;
		case ELECTION_RELEASE:
			note_release(w, a);
			ask(w, (struct request){REQUEST_RELEASE, a->to, a->version});
			break;
		case ELECTION_TELL: break;
		}
		if (a->type != ELECTION_TELL && !w->e.up)
			w->fault = "sends while it is not up";
	}
	const char *fault = model_check_deadline(&w->e, w->now);
	if (fault)
		w->fault = fault;
}

static void answered(struct world *w)
{
	w->n_unanswered--;
	memmove(w->unanswered, w->unanswered + 1, w->n_unanswered * sizeof(w->unanswered[0]));
}

static void deliver(struct world *w)
{
	struct incoming in = w->incoming[0];
	struct election_event event = {.type = in.type};

	w->n_incoming--;
	memmove(w->incoming, w->incoming + 1, w->n_incoming * sizeof(w->incoming[0]));
	if (in.type == ELECTION_UP) {
		event.up_timeout_ms = WORLD_TIMEOUT_MS;
	} else if (in.type == ELECTION_WATCH) {
		event.watch = in.watch;
		w->lib_watch = WATCH_NONE;
	} else if (in.type == ELECTION_NODE && in.again) {
		answered(w);
		ask(w, (struct request){.type = in.next});
		return;
	} else if (in.type == ELECTION_NODE) {
		event.node = in.node;
		answered(w);
		w->lib_watch = in.node.exists ? WATCH_DATA : WATCH_EXIST;
		w->lib_token = in.node.token;
		w->lib_version = in.node.version;
	} else if (in.type == ELECTION_GLANCE) {
		event.node = in.node;
	} else {
		event.outcome = in.outcome;
		answered(w);
	}
	give(w, event);
	w->seen |= w->owner && w->e.node.known && w->e.node.token == w->token;
}

/* --- the server's side ----------------------------------------------------------------------------- */

static void send_in(struct world *w, struct incoming in)
{
	if (w->n_incoming == WORLD_QUEUE_MAX)
		w->fault = "too much on its way";
	else
		w->incoming[w->n_incoming++] = in;
}

static void fire(struct world *w, enum election_watch what)
{
	if (w->watch == WATCH_NONE)
		return;
	w->watch = WATCH_NONE;
	send_in(w, (struct incoming){.type = ELECTION_WATCH, .watch = what});
}

static void create_node(struct world *w, int64_t owner)
{
	w->owner = owner;
	w->token = w->next_token++;
	w->version = 0;
	w->seen = false;
	w->touched = false;
	fire(w, ELECTION_CREATED);
}

static void delete_node(struct world *w, enum election_watch what)
{
	w->owner = 0;
	fire(w, what);
}

static struct election_node node_now(const struct world *w)
{
	return (struct election_node){.known = true,
				      .exists = w->owner != 0,
				      .owner = w->owner,
				      .mine = w->owner == WORLD_SELF,
				      .token = w->owner ? w->token : 0,
				      .version = w->owner ? w->version : 0};
}

static void serve(struct world *w, bool registered)
{
	struct request request = w->requests[0];
	struct incoming in = {.type = ELECTION_NODE, .outcome = ELECTION_REFUSED};

	w->n_requests--;
	memmove(w->requests, w->requests + 1, w->n_requests * sizeof(w->requests[0]));
	switch (request.type) {
	case REQUEST_READ:
	case REQUEST_EXISTS:
		in.again = (w->owner != 0) == (request.type == REQUEST_EXISTS);
		in.next = w->owner ? REQUEST_READ : REQUEST_EXISTS;
		if (w->owner || request.type == REQUEST_EXISTS)
			w->watch = w->owner ? WATCH_DATA : WATCH_EXIST;
		if (in.again)
			break;
		in.node = node_now(w);
		break;
	case REQUEST_GLANCE:
		if (!w->owner)
			return;
		in.type = ELECTION_GLANCE;
		in.node = node_now(w);
		break;
	case REQUEST_CLAIM:
		in.type = ELECTION_CLAIMED;
		if (w->owner || !registered)
			break;
		if (w->now < w->danger_ms)
			w->fault = "claimed within the lease of an owner whose node a hand deleted";
		create_node(w, WORLD_SELF);
		in.outcome = ELECTION_DONE;
		break;
	case REQUEST_RELEASE:
		in.type = ELECTION_RELEASED;
		if (w->owner != WORLD_SELF || w->version != request.version ||
		    (request.to && !w->other_registered))
			break;
		delete_node(w, ELECTION_CHANGED);
		w->returned = request.to != 0;
		in.outcome = ELECTION_DONE;
		break;
	}
	send_in(w, in);
}

/*
 * Drops all that is on its way: what the server has not served by now it never will, as the session
 * has moved on.
 */
static void lose_connection(struct world *w)
{
	w->connected = false;
	w->watch = WATCH_NONE;
	w->n_requests = 0;
	w->n_incoming = 0;
}

static void cut(struct world *w)
{
	lose_connection(w);
	give(w, (struct election_event){.type = ELECTION_CUT});
	while (w->n_unanswered > 0) {
		enum request_type type = w->unanswered[0];
		answered(w);
		if (type == REQUEST_READ || type == REQUEST_EXISTS)
			give(w, (struct election_event){.type = ELECTION_NODE_FAILED});
		else
			give(w, (struct election_event){.type = type == REQUEST_CLAIM
									? ELECTION_CLAIMED
									: ELECTION_RELEASED,
							.outcome = ELECTION_UNKNOWN});
	}
}

static void reconnect(struct world *w)
{
	bool same = w->owner && w->token == w->lib_token && w->version == w->lib_version;

	w->connected = true;
	w->watch = w->lib_watch;
	if (w->lib_watch == WATCH_EXIST && w->owner)
		fire(w, ELECTION_CREATED);
	else if (w->lib_watch == WATCH_DATA && !w->owner)
		fire(w, ELECTION_DELETED);
	else if (w->lib_watch == WATCH_DATA && !same)
		fire(w, ELECTION_CHANGED);
	send_in(w, (struct incoming){.type = ELECTION_UP});
}

static void expire(struct world *w)
{
	lose_connection(w);
	w->lib_watch = WATCH_NONE;
	w->n_unanswered = 0;
	if (w->owner == WORLD_SELF)
		w->owner = 0;
	give(w, (struct election_event){.type = ELECTION_EXPIRED});
}

/* --- what happens ----------------------------------------------------------------------------------- */

static void give_view(struct world *w, bool candidate, uint32_t place, bool newer)
{
	w->other_in_fleet = w->other_registered;
	give(w, (struct election_event){.type = ELECTION_VIEW,
					.view = {.candidate = candidate,
						 .newer = newer,
						 .place = place,
						 .best = candidate && place > 0 ? BEST_SERIAL : 0,
						 .best_seen_ms = w->now}});
}

static void hand_delete(struct world *w)
{
	/* Nobody can wait for an owner that he never heard of; docs/SIMULATION.md says so. */
	if (w->owner == WORLD_OTHER && w->seen && !w->touched)
		w->danger_ms = w->now + WORLD_TIMEOUT_MS;
	delete_node(w, ELECTION_DELETED);
}

static void other_gone(struct world *w)
{
	w->other_registered = false;
	w->danger_ms = 0;
	if (w->owner == WORLD_OTHER)
		delete_node(w, ELECTION_DELETED);
}

bool world_possible(const struct world *w, enum happening what)
{
	switch (what) {
	case HAPPEN_DELIVER: return w->n_incoming > 0;
	case HAPPEN_SERVE: return w->connected && w->n_requests > 0;
	case HAPPEN_SERVE_REFUSE:
		return w->connected && w->n_requests > 0 && !w->owner &&
		       w->requests[0].type == REQUEST_CLAIM;
	case HAPPEN_DEADLINE:
		return election_deadline(&w->e, (struct election_time){w->now, w->now, true,
								       false}) != ELECTION_NEVER;
	case HAPPEN_CUT: return w->connected;
	case HAPPEN_RECONNECT: return !w->connected;
	case HAPPEN_EXPIRE: return w->e.state != ELECTION_DOWN;
	case HAPPEN_OTHER_CLAIM:
		return w->n_incoming < INCOMING_MAX && !w->owner && w->other_registered;
	case HAPPEN_OTHER_YIELD: return w->n_incoming < INCOMING_MAX && w->owner == WORLD_OTHER;
	case HAPPEN_OTHER_GONE: return w->n_incoming < INCOMING_MAX && w->other_registered;
	case HAPPEN_OTHER_BACK: return !w->other_registered;
	case HAPPEN_HAND_DELETE: return w->n_incoming < INCOMING_MAX && w->owner != 0;
	case HAPPEN_HAND_SET:
		return w->n_incoming < INCOMING_MAX && w->owner != 0 && w->version == 0;
	case HAPPEN_VIEW_NONE:
	case HAPPEN_VIEW_BEST:
	case HAPPEN_VIEW_SECOND:
	case HAPPEN_VIEW_SECOND_OLDER:
	case HAPPEN_VIEW_THIRD: return w->e.state != ELECTION_DOWN;
	case HAPPEN_INTEREST:
	case HAPPEN_HOLD:
	case HAPPEN_CONFIG: return true;
	case HAPPEN_GLANCE:
		return w->connected && w->n_requests == 0 && election_wants_glance(&w->e);
	case HAPPENINGS: break;
	}
	return false;
}

static void set_deadline(struct world *w)
{
	int64_t at = election_deadline(&w->e, (struct election_time){w->now, w->now, true, false});

	if (at > w->now)
		w->now = at;
	give(w, (struct election_event){.type = ELECTION_DEADLINE});
}

static void give_config(struct world *w)
{
	struct election_config config = w->e.config;

	config.yield = (enum election_yield)((config.yield + 1) % 3);
	give(w, (struct election_event){.type = ELECTION_CONFIG, .config = config});
}

/*
 * The election's belief has to be right, or its correction on the way: else a leader would go on
 * renewing its lease, or a follower would wait for ever.
 */
static void check_belief(struct world *w)
{
	const struct election *e = &w->e;
	bool right;

	if (!w->connected || !e->up || w->n_incoming > 0 || w->n_requests > 0)
		return;
	switch (e->state) {
	case ELECTION_LEADING: right = w->owner == WORLD_SELF && w->token == e->node.token; break;
	case ELECTION_FOLLOWING:
		right = !e->node.known || (w->owner == e->node.owner && w->token == e->node.token);
		break;
	case ELECTION_VACANT: right = !e->node.known || !w->owner; break;
	case ELECTION_DOWN:
	case ELECTION_CLAIMING:
	case ELECTION_RESOLVING:
	case ELECTION_RELEASING:
	case ELECTION_STATES:
	default: right = true;
	}
	if (!right && e->watched)
		w->fault = "believes what is not so, and nothing will tell";
	if (!right && e->state == ELECTION_LEADING)
		w->fault = "leads without the node, and nothing will tell";
}

void world_happen(struct world *w, enum happening what)
{
	switch (what) {
	case HAPPEN_DELIVER: deliver(w); break;
	case HAPPEN_SERVE: serve(w, true); break;
	case HAPPEN_SERVE_REFUSE: serve(w, false); break;
	case HAPPEN_DEADLINE: set_deadline(w); break;
	case HAPPEN_CUT: cut(w); break;
	case HAPPEN_RECONNECT: reconnect(w); break;
	case HAPPEN_EXPIRE: expire(w); break;
	case HAPPEN_OTHER_CLAIM:
		w->danger_ms = 0;
		w->given_up = false;
		create_node(w, WORLD_OTHER);
		break;
	case HAPPEN_OTHER_YIELD: delete_node(w, ELECTION_CHANGED); break;
	case HAPPEN_OTHER_GONE: other_gone(w); break;
	case HAPPEN_OTHER_BACK: w->other_registered = true; break;
	case HAPPEN_HAND_DELETE: hand_delete(w); break;
	case HAPPEN_HAND_SET:
		w->version++;
		w->touched = true;
		fire(w, ELECTION_CHANGED);
		break;
	case HAPPEN_VIEW_NONE: give_view(w, false, UINT32_MAX, false); break;
	case HAPPEN_VIEW_BEST: give_view(w, true, 0, false); break;
	case HAPPEN_VIEW_SECOND: give_view(w, true, 1, false); break;
	case HAPPEN_VIEW_SECOND_OLDER: give_view(w, true, 1, true); break;
	case HAPPEN_VIEW_THIRD: give_view(w, true, 2, false); break;
	case HAPPEN_INTEREST:
		give(w, (struct election_event){.type = ELECTION_INTEREST, .on = !w->e.interest});
		break;
	case HAPPEN_HOLD:
		give(w, (struct election_event){.type = ELECTION_HOLD,
						.on = !w->e.held,
						.hold_until_ms = w->e.held ? 0 : w->now + HOLD_MS});
		break;
	case HAPPEN_CONFIG: give_config(w); break;
	case HAPPEN_GLANCE:
		w->requests[w->n_requests++] = (struct request){.type = REQUEST_GLANCE};
		break;
	case HAPPENINGS: break;
	}
	check_belief(w);
}
