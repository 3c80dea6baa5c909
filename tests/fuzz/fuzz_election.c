/*
 * Events into one election. The first byte chooses between two stories:
 *
 * - a world that keeps the contract of core/election/election.h: a server with one leader node, this worker's
 *   session, replies and watches in order, lost connections, expiry, and others who take the node, give
 *   it up or delete it, as the input says. What the election believes must then be so, its tokens only
 *   grow, and once it is left alone with the task it leads.
 * - any event with any values at any time, as far as the election's assertions allow.
 *
 * After each step the invariants hold, and a deadline that comes makes progress.
 */
#include "fuzz.h"

#include "core/election/election_times.h"

#define QUEUE_MAX 256
#define STEPS_MAX 400
#define HEAL_MAX  400
#define OTHER	  1000 /* sessions from here on are somebody else's */

enum ask { ASK_READ, ASK_CLAIM, ASK_RELEASE };

struct request {
	enum ask ask;
	int32_t version;
};

/* A message on its way to us; the inbox has them in the order in which the server sent them. */
struct delivery {
	bool is_watch;
	enum election_watch watch;
	enum ask ask;
	enum election_outcome outcome;
	struct election_node node;
};

struct world {
	struct election e;
	struct election_time now;
	struct request sent[QUEUE_MAX];
	size_t n_sent;
	struct delivery inbox[QUEUE_MAX];
	size_t n_inbox;
	/* the server */
	bool exists;
	int64_t owner, zxid, token, changed;
	int32_t version;
	bool alive;	   /* our session, there */
	bool server_watch; /* on this connection */
	/* the client library */
	bool client_watch, watch_saw_node;
	int64_t session, seen_zxid;
	bool up;
	int64_t last_token;
};

/* --- any story ---------------------------------------------------------------------------------- */

/* A deadline that is reached must lead to something, or the loop would spin. */
static void check_deadline(const struct election *before, struct election_time now)
{
	struct election e = *before;
	struct election_event event = {.type = ELECTION_DEADLINE};
	struct election_actions actions;
	int64_t at = election_deadline(&e, now);

	if (at == ELECTION_NEVER)
		return;
	if (at > now.boot_ms) {
		now.wall_ms += at - now.boot_ms;
		now.boot_ms = at;
	}
	event.now = now;
	election_step(&e, &event, &actions);
	/* Or it says that something else has to come first. */
	FUZZ_CHECK(actions.n > 0 || election_deadline(&e, now) > now.boot_ms);
}

static void check_actions(const struct election *e, const struct election_actions *a)
{
	size_t asked = 0, tells = 0;

	FUZZ_CHECK(a->n <= ELECTION_ACTIONS_MAX);
	for (size_t i = 0; i < a->n; i++) {
		if (a->list[i].type != ELECTION_TELL) {
			asked++;
			continue;
		}
		tells++;
		FUZZ_CHECK(a->list[i].from < ELECTION_STATES && a->list[i].reason);
		FUZZ_CHECK(a->list[i].from != e->state || tells > 1 || i + 1 < a->n);
	}
	FUZZ_CHECK(asked <= 1);
	FUZZ_CHECK(asked == 0 || e->up);
}

static void step(struct election *e, const struct election_event *event,
		 struct election_actions *ret_actions)
{
	election_step(e, event, ret_actions);
	election_check(e);
	check_actions(e, ret_actions);
	check_deadline(e, event->now);
	FUZZ_CHECK(election_leads(e) == (e->state == ELECTION_LEADING));
	FUZZ_CHECK(!election_leads(e) || !election_unsettled(e));
}

static struct election_config take_config(struct feed *f)
{
	uint8_t b = feed_byte(f);

	return (struct election_config){.yield = (enum election_yield)(b % 3),
					.yield_delay_ms = (b >> 2 & 7) * 700,
					.tick_guard_ms = (b >> 5) * 4285 % 30000};
}

static struct election_view take_view(struct feed *f, int64_t now_ms)
{
	uint8_t b = feed_byte(f);
	struct election_view v = {.candidate = (b & 1) != 0, .newer = (b & 2) != 0};

	v.place = v.candidate ? b >> 2 & 31 : UINT32_MAX;
	v.best = v.candidate ? v.place + 1 : b >> 2 & 1;
	v.best_seen_ms = b & 128 ? now_ms : now_ms - 5000;
	if (v.place == 0)
		v.newer = false;
	return v;
}

/* --- the world ---------------------------------------------------------------------------------- */

static void give(struct world *w, struct election_event *event);

static void take_actions(struct world *w, const struct election_actions *a)
{
	for (size_t i = 0; i < a->n; i++) {
		const struct election_action *action = &a->list[i];
		struct request r = {.ask = ASK_READ};

		if (action->type == ELECTION_TELL)
			continue;
		FUZZ_CHECK(w->n_sent + 2 <= QUEUE_MAX);
		if (action->type == ELECTION_CLAIM)
			w->sent[w->n_sent++] = (struct request){.ask = ASK_CLAIM};
		if (action->type == ELECTION_RELEASE)
			r = (struct request){.ask = ASK_RELEASE, .version = action->version};
		w->sent[w->n_sent++] = r;
	}
}

/* With nothing on its way, and a watch set, the election has to believe what is there. */
static void check_beliefs(struct world *w)
{
	const struct election *e = &w->e;

	if (e->state == ELECTION_LEADING) {
		FUZZ_CHECK(e->node.token >= w->last_token);
		w->last_token = e->node.token;
	}
	if (!w->up || !w->alive || w->n_inbox > 0 || w->n_sent > 0)
		return;
	/* With nothing on its way it is asleep: a watch or a time has to wake it. */
	if (!e->watched &&
	    (e->state != ELECTION_FOLLOWING || (e->view.candidate && e->view.place == 0)))
		FUZZ_CHECK(election_deadline(e, w->now) != ELECTION_NEVER);
	if (!e->watched)
		return;
	if (e->state == ELECTION_LEADING)
		FUZZ_CHECK(w->exists && w->owner == w->session && w->token == e->node.token);
	if (e->state == ELECTION_FOLLOWING && e->node.known)
		FUZZ_CHECK(w->exists && w->owner != w->session);
	if (e->state == ELECTION_VACANT && e->node.known)
		FUZZ_CHECK(!w->exists);
}

static void give(struct world *w, struct election_event *event)
{
	struct election_actions actions;

	event->now = w->now;
	step(&w->e, event, &actions);
	take_actions(w, &actions);
	check_beliefs(w);
}

static void deliver_watch(struct world *w, enum election_watch watch)
{
	if (!w->server_watch || !w->alive)
		return;
	w->server_watch = false;
	FUZZ_CHECK(w->n_inbox < QUEUE_MAX);
	w->inbox[w->n_inbox++] = (struct delivery){.is_watch = true, .watch = watch};
}

static void node_create(struct world *w, int64_t owner)
{
	w->exists = true;
	w->owner = owner;
	w->token = w->changed = ++w->zxid;
	w->version = 0;
	deliver_watch(w, ELECTION_CREATED);
}

static void node_delete(struct world *w, bool handed_over)
{
	w->exists = false;
	w->changed = ++w->zxid;
	deliver_watch(w, handed_over ? ELECTION_CHANGED : ELECTION_DELETED);
}

/* The server takes up our next request. */
static void serve(struct world *w, bool refuse)
{
	struct delivery d = {0};

	if (w->n_sent == 0 || !w->alive || w->n_inbox + 2 > QUEUE_MAX)
		return;
	d.ask = w->sent[0].ask;
	d.outcome = ELECTION_REFUSED;
	if (d.ask == ASK_CLAIM && !w->exists && !refuse) {
		node_create(w, w->session);
		d.outcome = ELECTION_DONE;
	} else if (d.ask == ASK_RELEASE && w->exists && w->version == w->sent[0].version &&
		   !refuse) {
		node_delete(w, true);
		d.outcome = ELECTION_DONE;
	} else if (d.ask == ASK_READ && !refuse) {
		d.outcome = ELECTION_DONE;
		d.node = (struct election_node){.known = true,
						.exists = w->exists,
						.mine = w->exists && w->owner == w->session,
						.owner = w->exists ? w->owner : 0,
						.token = w->exists ? w->token : 0,
						.version = w->version};
		w->server_watch = true;
	}
	w->inbox[w->n_inbox++] = d;
	w->n_sent--;
	memmove(w->sent, w->sent + 1, w->n_sent * sizeof(w->sent[0]));
}

static void answer(struct world *w, const struct delivery *d)
{
	struct election_event event = {.outcome = d->outcome};

	switch (d->ask) {
	case ASK_CLAIM: event.type = ELECTION_CLAIMED; break;
	case ASK_RELEASE: event.type = ELECTION_RELEASED; break;
	case ASK_READ:
		event.type = d->outcome == ELECTION_DONE ? ELECTION_NODE : ELECTION_NODE_FAILED;
		event.node = d->node;
		if (d->outcome == ELECTION_DONE) {
			w->client_watch = true;
			w->watch_saw_node = d->node.exists;
		}
		break;
	}
	give(w, &event);
}

/* Adds what the fleet knows of the node's owner: sometimes it has not read yet who that is. */
static void take_owner(const struct world *w, struct election_event *event)
{
	if (w->owner < OTHER)
		return;
	event->owner_unsure = w->zxid % 4 == 3;
	event->owner_ms = event->owner_unsure ? 0 : 4000;
}

static void deliver(struct world *w)
{
	struct delivery d;
	struct election_event event = {.type = ELECTION_WATCH};

	if (w->n_inbox == 0)
		return;
	d = w->inbox[0];
	w->n_inbox--;
	memmove(w->inbox, w->inbox + 1, w->n_inbox * sizeof(w->inbox[0]));
	w->seen_zxid = w->n_inbox == 0 ? w->zxid : w->seen_zxid;
	if (d.is_watch) {
		w->client_watch = false;
		event.watch = d.watch;
		take_owner(w, &event);
		give(w, &event);
	} else {
		answer(w, &d);
	}
}

/* The connection goes: what was on its way is answered as failed, done or not. */
static void cut(struct world *w, uint8_t served)
{
	struct election_event event = {.type = ELECTION_CUT};
	struct delivery lost[2 * QUEUE_MAX];
	size_t n = 0;

	for (size_t i = 0; i < w->n_inbox; i++)
		if (!w->inbox[i].is_watch)
			lost[n++] = (struct delivery){.ask = w->inbox[i].ask};
	w->n_inbox = 0;
	while (w->n_sent > 0 && w->alive) {
		enum ask ask = w->sent[0].ask;

		if (served-- == 0)
			break;
		serve(w, false);
		w->n_inbox = 0;
		lost[n++] = (struct delivery){.ask = ask};
	}
	for (size_t i = 0; i < w->n_sent; i++)
		lost[n++] = (struct delivery){.ask = w->sent[i].ask};
	w->n_sent = 0;
	w->server_watch = false;
	w->up = false;
	give(w, &event);
	for (size_t i = 0; i < n; i++) {
		lost[i].outcome = ELECTION_UNKNOWN;
		answer(w, &lost[i]);
	}
}

static void come_up(struct world *w)
{
	struct election_event event = {.type = ELECTION_WATCH};

	if (w->up || (w->session && !w->alive))
		return;
	if (!w->session) {
		w->session = 1 + w->zxid;
		w->alive = true;
	}
	/* The library sets its watches anew; what happened meanwhile fires them at once. */
	if (w->client_watch && w->changed > w->seen_zxid && w->watch_saw_node != w->exists) {
		w->client_watch = false;
		event.watch = w->exists ? ELECTION_CREATED : ELECTION_DELETED;
		give(w, &event);
	} else if (w->client_watch && w->changed > w->seen_zxid && w->exists) {
		w->client_watch = false;
		event.watch = ELECTION_CHANGED;
		give(w, &event);
	}
	w->server_watch = w->client_watch;
	w->seen_zxid = w->zxid;
	w->up = true;
	event = (struct election_event){.type = ELECTION_UP, .up_timeout_ms = 4000};
	give(w, &event);
}

/* The server forgets our session, with its node. */
static void expire_there(struct world *w)
{
	if (!w->alive)
		return;
	w->alive = false;
	w->server_watch = false;
	if (w->exists && w->owner == w->session)
		node_delete(w, false);
}

/* We hear of it, or give the session up of ourselves: its node may then live on. */
static void expire_here(struct world *w)
{
	struct election_event event = {.type = ELECTION_EXPIRED};

	if (!w->session)
		return;
	w->n_sent = w->n_inbox = 0;
	w->session = 0;
	w->alive = w->up = w->client_watch = w->server_watch = false;
	give(w, &event);
}

static void others(struct world *w, uint8_t what)
{
	switch (what % 5) {
	case 0:
		if (!w->exists)
			node_create(w, OTHER + w->zxid);
		break;
	case 1:
		if (w->exists && w->owner >= OTHER)
			node_delete(w, false);
		break;
	case 2:
		if (w->exists && w->owner >= OTHER)
			node_delete(w, true);
		break;
	case 3: /* by hand, whoever's it is */
		if (w->exists)
			node_delete(w, false);
		break;
	default:
		if (w->exists) {
			w->version++;
			w->changed = ++w->zxid;
			deliver_watch(w, ELECTION_CHANGED);
		}
	}
}

static void pass_time(struct world *w, int64_t ms)
{
	w->now.boot_ms += ms;
	w->now.wall_ms += ms;
}

static void reach_deadline(struct world *w)
{
	struct election_event event = {.type = ELECTION_DEADLINE};
	int64_t at = election_deadline(&w->e, w->now);

	if (at != ELECTION_NEVER && at > w->now.boot_ms)
		pass_time(w, at - w->now.boot_ms);
	give(w, &event);
}

static void tell(struct world *w, struct feed *f, uint8_t op)
{
	struct election_event event = {.type = ELECTION_VIEW};
	uint8_t b;

	switch (op) {
	case 0:
		event.view = take_view(f, w->now.boot_ms);
		if (w->exists)
			take_owner(w, &event);
		break;
	case 1:
		event.type = ELECTION_INTEREST;
		event.on = feed_byte(f) & 1;
		break;
	case 2:
		b = feed_byte(f);
		event.type = ELECTION_HOLD;
		event.on = b & 1;
		event.hold_until_ms = w->now.boot_ms + b * 100;
		break;
	default: event.type = ELECTION_CONFIG; event.config = take_config(f);
	}
	give(w, &event);
}

static void act(struct world *w, struct feed *f)
{
	uint8_t b = feed_byte(f);

	switch (b & 15) {
	case 0:
	case 1: serve(w, b >= 240); break;
	case 2:
	case 3: deliver(w); break;
	case 4: come_up(w); break;
	case 5:
		if (w->up)
			cut(w, b >> 4);
		break;
	case 6: expire_there(w); break;
	case 7:
		/* While connected, only a session that the server has ended expires here. */
		if (!w->alive || !w->up)
			expire_here(w);
		break;
	case 8: others(w, b >> 4); break;
	case 9: pass_time(w, (int64_t)1 << (b >> 4)); break;
	case 10: reach_deadline(w); break;
	case 11:
		w->now.wall_ms += ((b >> 4) - 8) * 7001;
		w->now.reading = b & 16;
		break;
	default: tell(w, f, b & 3);
	}
}

/* From here on nothing fails, and nobody else is there: it must come to lead. */
static void heal(struct world *w)
{
	struct election_event view = {.type = ELECTION_VIEW,
				      .view = {.candidate = true, .best = 1}};

	if (w->session && !w->alive)
		expire_here(w);
	if (w->exists && w->owner != w->session)
		node_delete(w, false);
	come_up(w);
	give(w, &view);
	for (int i = 0; i < HEAL_MAX; i++) {
		while (w->n_sent > 0 || w->n_inbox > 0) {
			deliver(w);
			serve(w, false);
		}
		if (election_leads(&w->e))
			break;
		FUZZ_CHECK(election_deadline(&w->e, w->now) != ELECTION_NEVER);
		reach_deadline(w);
	}
	FUZZ_CHECK(election_leads(&w->e) && w->exists && w->owner == w->session);
}

static void run_world(struct feed *f)
{
	struct election_config config = take_config(f);
	struct world *w = calloc(1, sizeof(*w));

	FUZZ_CHECK(w);
	w->now = (struct election_time){.boot_ms = 1000000, .wall_ms = 1790000000000};
	w->zxid = 1;
	election_init(&w->e, &config);
	for (int i = 0; i < STEPS_MAX && f->left > 0; i++)
		act(w, f);
	heal(w);
	free(w);
}

/* --- anything ----------------------------------------------------------------------------------- */

static struct election_node take_node(struct feed *f)
{
	uint8_t b = feed_byte(f);

	return (struct election_node){.known = true,
				      .exists = (b & 1) != 0,
				      .mine = (b & 3) == 3,
				      .owner = b >> 2,
				      .token = 1 + (b >> 4),
				      .version = b >> 6};
}

/* Whether the assertions allow it: answers are only given to what was asked, and in order. */
static bool is_allowed(const struct election *e, enum election_event_type type)
{
	switch (type) {
	case ELECTION_NODE:
	case ELECTION_NODE_FAILED: return e->reads > (e->state == ELECTION_CLAIMING ? 1U : 0U);
	case ELECTION_CLAIMED: return e->state == ELECTION_CLAIMING;
	case ELECTION_RELEASED: return e->state == ELECTION_RELEASING;
	case ELECTION_UP:
	case ELECTION_CUT:
	case ELECTION_EXPIRED:
	case ELECTION_VIEW:
	case ELECTION_WATCH:
	case ELECTION_GLANCE:
	case ELECTION_INTEREST:
	case ELECTION_HOLD:
	case ELECTION_CONFIG:
	case ELECTION_DEADLINE: return true;
	case ELECTION_EVENTS: break;
	}
	return false;
}

static void take_rest(struct feed *f, struct election_event *event)
{
	switch (event->type) {
	case ELECTION_UP: event->up_timeout_ms = (int64_t)feed_number(f, 2); break;
	case ELECTION_VIEW: event->view = take_view(f, event->now.boot_ms); break;
	case ELECTION_WATCH: event->watch = (enum election_watch)feed_below(f, 3); break;
	case ELECTION_NODE:
	case ELECTION_GLANCE: event->node = take_node(f); break;
	case ELECTION_CLAIMED:
	case ELECTION_RELEASED: event->outcome = (enum election_outcome)feed_below(f, 3); break;
	case ELECTION_INTEREST: event->on = feed_byte(f) & 1; break;
	case ELECTION_HOLD:
		event->on = feed_byte(f) & 1;
		event->hold_until_ms = (int64_t)feed_number(f, 3);
		break;
	case ELECTION_CONFIG: event->config = take_config(f); break;
	case ELECTION_CUT:
	case ELECTION_EXPIRED:
	case ELECTION_NODE_FAILED:
	case ELECTION_DEADLINE:
	case ELECTION_EVENTS: break;
	}
	uint8_t owner = feed_byte(f);

	event->owner_ms = (owner & 3) * 2000;
	event->owner_unsure = (owner & 4) != 0;
}

static void run_anything(struct feed *f)
{
	struct election_config config = take_config(f);
	struct election_actions actions;
	struct election e;
	struct election_time now = {.boot_ms = 1000000, .wall_ms = -500000};

	election_init(&e, &config);
	for (int i = 0; i < STEPS_MAX && f->left > 0; i++) {
		uint8_t b = feed_byte(f);
		struct election_event event = {
			.type = (enum election_event_type)(b % ELECTION_EVENTS)};

		/* Clocks go on, by hours if need be, or back a little. */
		now.boot_ms += ((int64_t)1 << (b >> 4)) * (b & 8 ? 1000 : 1) - 1;
		now.wall_ms += (b & 4) ? -777 : (int64_t)1 << (b >> 4);
		event.now = now;
		if (!is_allowed(&e, event.type))
			continue;
		take_rest(f, &event);
		step(&e, &event, &actions);
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct feed f = {data, size};

	if (feed_byte(&f) & 1)
		run_anything(&f);
	else
		run_world(&f);
	return 0;
}
