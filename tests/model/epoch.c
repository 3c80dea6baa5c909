/*
 * Two leaders of a queue, the earlier of which has not heard of the later one: the epoch as it really
 * is, and a request of each on its way.
 */
#include <string.h>

#include "core/queue/epoch.h"
#include "explore.h"
#include "world.h"

#define LEADERS	     2
#define SETTLE_STEPS 20
#define FOREIGN	     9 /* a token of another ensemble's data, above all */

enum happens {
	EPOCH_TURN, /* a request is sent, done, or answered: whatever is next */
	EPOCH_LOSE, /* its session is interrupted, with the answer, whether the request was done or not */
	EPOCH_REFUSE,
	EPOCH_UNREGISTER,
	EPOCH_HEARS, /* the earlier leader learns that its leadership has ended */
	EPOCH_HAPPENS
};
#define OF_ALL 3 /* and of both: the later begins, hands write the epoch, the folders go */

struct leader {
	struct epoch e;
	bool leads; /* as far as it knows */
	bool sent, done, refused, unregistered;
	struct epoch_event answer;
};

struct epoch_world {
	struct leader leaders[LEADERS];
	bool exists, later; /* the folders; the later leader leads */
	int64_t token;
	int32_t version;
	int64_t raised; /* by the leader with this token, last */
	bool foreign;
	const char *fault;
};

uint64_t model_epoch_moves[EPOCH_STATES][EPOCH_STATES];

static enum epoch_action give(struct leader *l, struct epoch_event event)
{
	enum epoch_state from = l->e.state;
	enum epoch_action action = epoch_step(&l->e, &event);

	if (l->e.state != from)
		model_epoch_moves[from][l->e.state]++;
	return action;
}

/* Whether the leader's node in the quorum is this leader's: the later one has replaced it. */
static bool is_leader(const struct epoch_world *w, const struct leader *l)
{
	return l == &w->leaders[w->later ? 1 : 0];
}

/* The quorum does what was requested: the read, the raise, or a transaction of who leads. */
static void serve(struct epoch_world *w, struct leader *l)
{
	bool reads = l->e.state == EPOCH_READING;

	l->done = true;
	l->answer = (struct epoch_event){
		.type = reads ? EPOCH_FOUND : EPOCH_DONE, .token = w->token, .version = w->version};
	if (l->refused)
		l->answer.type = reads ? EPOCH_FAILED : EPOCH_REFUSED;
	else if (!w->exists)
		l->answer.type = reads ? EPOCH_MISSING : EPOCH_FAILED;
	else if (!reads && l->unregistered)
		l->answer.type = EPOCH_UNREGISTERED;
	else if (!reads && l->e.version != w->version)
		l->answer.type = EPOCH_ANOTHER;
	l->refused = l->unregistered = false;
	if (l->answer.type != EPOCH_DONE)
		return;
	if (l->e.token < w->raised)
		w->fault = l->e.state == EPOCH_ON ? "assigns after a later leader has begun"
						  : "raises the epoch over a later leader";
	if (l->e.state != EPOCH_RAISING)
		return;
	w->version++;
	w->token = w->raised = l->e.token;
	w->foreign = false;
}

static void answer(struct epoch_world *w, struct leader *l, struct epoch_event event)
{
	l->sent = l->done = false;
	if (give(l, event) == EPOCH_MAKE_FOLDERS && !w->exists) {
		w->exists = true;
		w->version = 0;
		w->token = 0;
	}
}

static void turn(struct epoch_world *w, struct leader *l)
{
	if (l->done) {
		answer(w, l, l->answer);
	} else if (l->sent) {
		serve(w, l);
	} else {
		enum epoch_action action = give(l, (struct epoch_event){.type = EPOCH_READY});
		l->sent = l->e.state == EPOCH_ON || action != EPOCH_NONE;
	}
}

static bool of_one(struct epoch_world *w, struct leader *l, enum happens what)
{
	if (!l->leads)
		return false;
	switch ((int)what) {
	case EPOCH_TURN: turn(w, l); return true;
	case EPOCH_LOSE: answer(w, l, (struct epoch_event){.type = EPOCH_CUT}); return true;
	case EPOCH_REFUSE: l->refused = l->sent && !l->done; return l->refused;
	case EPOCH_UNREGISTER: l->unregistered = l->sent && !l->done; return l->unregistered;
	default:
		if (is_leader(w, l))
			return false;
		memset(l, 0, sizeof(*l));
		return true;
	}
}

static bool apply(void *state, unsigned event)
{
	struct epoch_world *w = state;

	if (event < LEADERS * EPOCH_HAPPENS)
		return of_one(w, &w->leaders[event / EPOCH_HAPPENS],
			      (enum happens)(event % EPOCH_HAPPENS));
	switch (event - LEADERS * EPOCH_HAPPENS) {
	case 0:
		if (w->later)
			return false;
		w->later = w->leaders[1].leads = true;
		w->leaders[1].e.token = 2;
		return true;
	case 1:
		if (!w->exists || w->foreign)
			return false;
		w->foreign = true;
		w->token = FOREIGN;
		w->version++;
		return true;
	default:
		if (w->version > 3 || !w->exists)
			return false;
		w->token = w->raised = 0;
		w->version++;
		w->foreign = false;
		return true;
	}
}

static const char *check(void *state)
{
	struct epoch_world *w = state;
	struct leader *l = &w->leaders[w->later ? 1 : 0];

	if (w->foreign) { /* people set it to 0 */
		w->token = 0;
		w->version++;
		w->foreign = false;
	}
	for (int i = 0; i < SETTLE_STEPS && !w->fault; i++) {
		if (l->e.state == EPOCH_ON && w->raised == l->e.token && l->e.version == w->version)
			return NULL;
		turn(w, l);
	}
	return w->fault ? w->fault : "the queue is not led at last";
}

static size_t pack(const void *state, uint8_t *bytes)
{
	const struct epoch_world *w = state;
	struct packer p = {.bytes = bytes};

	for (int i = 0; i < LEADERS; i++) {
		const struct leader *l = &w->leaders[i];
		pack_number(&p, (int64_t)l->e.state | (int64_t)l->leads << 4 |
					(int64_t)l->sent << 5 | (int64_t)l->done << 6 |
					(int64_t)l->refused << 7 | (int64_t)l->unregistered << 8 |
					(int64_t)(l->e.above != 0) << 9);
		pack_number(&p, l->e.state >= EPOCH_READ ? w->version - l->e.version : 0);
		pack_number(&p, l->done ? (int64_t)l->answer.type | l->answer.token << 8 |
						  (int64_t)(w->version - l->answer.version) << 16
					: 0);
	}
	pack_number(&p, (int64_t)w->exists | (int64_t)w->later << 1 | (int64_t)w->foreign << 2 |
				w->token << 8 | w->raised << 16 |
				(int64_t)(w->version > 3 ? 4 : w->version) << 24);
	return p.n;
}

static void init(void *state)
{
	struct epoch_world *w = state;

	w->leaders[0].e.token = 1;
	w->leaders[0].leads = true;
}

static const char *event_name(unsigned event)
{
	static const char *const names[] = {"the earlier: next",
					    "the earlier: interrupted",
					    "the earlier: refused",
					    "the earlier: not registered",
					    "the earlier hears of the later",
					    "the later: next",
					    "the later: interrupted",
					    "the later: refused",
					    "the later: not registered",
					    "the later hears",
					    "the later begins to lead",
					    "the epoch is that of other data",
					    "a hand sets the epoch to 0"};

	return names[event];
}

const struct explore explore_of_epoch = {
	.name = "epoch of a queue",
	.state_size = sizeof(struct epoch_world),
	.n_events = LEADERS * EPOCH_HAPPENS + OF_ALL,
	.init = init,
	.apply = apply,
	.check = check,
	.pack = pack,
	.event_name = event_name,
};
