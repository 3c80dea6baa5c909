/*
 * The election before a server that keeps no promise: whatever may be said is said, in any order
 * that answers what was asked. It must not abort, not spin, and keep its invariants.
 */
#include <string.h>

#include "explore.h"
#include "world.h"

struct hostile {
	struct election e;
	int64_t now;
	enum request_type unanswered[WORLD_QUEUE_MAX];
	size_t n_unanswered;
	const char *fault;
};

enum {
	HOSTILE_ABSENT,
	HOSTILE_MINE,
	HOSTILE_MINE_NEW,
	HOSTILE_OTHER,
	HOSTILE_FAILED,
	HOSTILE_DONE,
	HOSTILE_REFUSED,
	HOSTILE_UNKNOWN,
	HOSTILE_CREATED,
	HOSTILE_CHANGED,
	HOSTILE_DELETED,
	HOSTILE_UP,
	HOSTILE_CUT,
	HOSTILE_EXPIRED,
	HOSTILE_BEST,
	HOSTILE_SECOND,
	HOSTILE_NONE,
	HOSTILE_INTEREST,
	HOSTILE_HOLD,
	HOSTILE_DEADLINE,
	HOSTILE_EVENTS
};

static const char *event_name(unsigned event)
{
	static const char *const names[HOSTILE_EVENTS] = {"read: absent",
							  "read: ours",
							  "read: ours, new",
							  "read: another's",
							  "read failed",
							  "done",
							  "refused",
							  "unknown",
							  "watch: created",
							  "watch: changed",
							  "watch: deleted",
							  "up",
							  "cut",
							  "expired",
							  "view: best",
							  "view: second",
							  "view: none",
							  "interest",
							  "hold",
							  "deadline"};
	return names[event];
}

static void ask(struct hostile *h, enum request_type type)
{
	if (h->n_unanswered == WORLD_QUEUE_MAX)
		h->fault = "asks without end";
	else
		h->unanswered[h->n_unanswered++] = type;
}

static void give(struct hostile *h, struct election_event event)
{
	struct election_actions actions;

	model_step(&h->e, &event, h->now, &actions);
	for (size_t i = 0; i < actions.n; i++) {
		switch (actions.list[i].type) {
		case ELECTION_READ: ask(h, REQUEST_READ); break;
		case ELECTION_CLAIM:
			ask(h, REQUEST_CLAIM);
			ask(h, REQUEST_READ);
			break;
		case ELECTION_RELEASE: ask(h, REQUEST_RELEASE); break;
		case ELECTION_TELL: break;
		}
	}
	h->fault = h->fault ? h->fault : model_check_deadline(&h->e, h->now);
}

/*
 * Takes the first question of its kind off; false if there is none. A write may be answered before
 * a read that was asked earlier, as a read is up to three requests, but no read before a write.
 */
static bool take(struct hostile *h, bool read, enum request_type *ret_type)
{
	size_t at = 0;

	while (!read && at < h->n_unanswered && h->unanswered[at] == REQUEST_READ)
		at++;
	if (at == h->n_unanswered || (h->unanswered[at] == REQUEST_READ) != read)
		return false;
	*ret_type = h->unanswered[at];
	h->n_unanswered--;
	memmove(h->unanswered + at, h->unanswered + at + 1,
		(h->n_unanswered - at) * sizeof(h->unanswered[0]));
	return true;
}

static bool answer_read(struct hostile *h, unsigned event)
{
	struct election_event e = {.type = ELECTION_NODE, .node = {.known = true}};
	enum request_type type;

	if (!take(h, true, &type))
		return false;
	if (event == HOSTILE_FAILED) {
		e.type = ELECTION_NODE_FAILED;
	} else if (event != HOSTILE_ABSENT) {
		e.node.exists = true;
		e.node.mine = event != HOSTILE_OTHER;
		e.node.owner = e.node.mine ? WORLD_SELF : WORLD_OTHER;
		e.node.token = event == HOSTILE_MINE_NEW && h->e.node.token == 3 ? 4 : 3;
	}
	give(h, e);
	return true;
}

static bool answer_write(struct hostile *h, unsigned event)
{
	enum request_type type;

	if (!take(h, false, &type))
		return false;
	give(h, (struct election_event){.type = type == REQUEST_CLAIM ? ELECTION_CLAIMED
								      : ELECTION_RELEASED,
					.outcome = (enum election_outcome)(
						event - HOSTILE_DONE + (unsigned)ELECTION_DONE)});
	return true;
}

static bool give_deadline(struct hostile *h)
{
	int64_t at = election_deadline(&h->e, (struct election_time){h->now, h->now, true, false});

	if (at == ELECTION_NEVER)
		return false;
	if (at > h->now)
		h->now = at;
	give(h, (struct election_event){.type = ELECTION_DEADLINE});
	return true;
}

static void give_view(struct hostile *h, unsigned event)
{
	struct election_view view = {.candidate = event != HOSTILE_NONE,
				     .place = event == HOSTILE_BEST ? 0 : 1,
				     .best = event == HOSTILE_BEST ? 0 : 5,
				     .best_seen_ms = h->now};

	give(h, (struct election_event){.type = ELECTION_VIEW, .view = view});
}

static bool give_session(struct hostile *h, unsigned event)
{
	struct election_event e = {.type = ELECTION_UP, .up_timeout_ms = WORLD_TIMEOUT_MS};

	if (event == HOSTILE_CUT)
		e.type = ELECTION_CUT;
	if (event == HOSTILE_EXPIRED) {
		e.type = ELECTION_EXPIRED;
		h->n_unanswered = 0;
	}
	if ((event == HOSTILE_UP) == h->e.up && event != HOSTILE_EXPIRED)
		return false;
	give(h, e);
	return true;
}

static bool apply(void *state, unsigned event)
{
	struct hostile *h = state;

	if (event <= HOSTILE_FAILED)
		return answer_read(h, event);
	if (event <= HOSTILE_UNKNOWN)
		return answer_write(h, event);
	if (event <= HOSTILE_DELETED) {
		if (h->e.state == ELECTION_DOWN)
			return false;
		give(h, (struct election_event){
				.type = ELECTION_WATCH,
				.owner_ms = WORLD_TIMEOUT_MS,
				.watch = (enum election_watch)(event - HOSTILE_CREATED)});
		return true;
	}
	if (event <= HOSTILE_EXPIRED)
		return give_session(h, event);
	if (event == HOSTILE_DEADLINE)
		return give_deadline(h);
	if (event == HOSTILE_INTEREST)
		give(h, (struct election_event){.type = ELECTION_INTEREST, .on = !h->e.interest});
	else if (event == HOSTILE_HOLD)
		give(h, (struct election_event){.type = ELECTION_HOLD,
						.on = !h->e.held,
						.hold_until_ms = h->now + 60000});
	else
		give_view(h, event);
	return true;
}

static void init(void *state)
{
	static const struct election_config config = {.yield_delay_ms = 2000};
	struct hostile *h = state;

	election_init(&h->e, &config);
	h->now = 1000000;
}

static const char *check(void *state)
{
	const struct hostile *h = state;

	return h->fault;
}

static size_t pack(const void *state, uint8_t *bytes)
{
	const struct hostile *h = state;
	struct packer p = {.bytes = bytes};

	pack_election(&p, &h->e, h->now);
	for (size_t i = 0; i < h->n_unanswered; i++)
		p.bytes[p.n++] = (uint8_t)(1 + h->unanswered[i]);
	return p.n;
}

const struct explore explore_of_hostile = {
	.name = "hostile server",
	.state_size = sizeof(struct hostile),
	.n_events = HOSTILE_EVENTS,
	.init = init,
	.apply = apply,
	.check = check,
	.pack = pack,
	.event_name = event_name,
};
