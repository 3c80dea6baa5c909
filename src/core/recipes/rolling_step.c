#include "core/recipes/rolling_step.h"

static const char twins[] = "another machine has this node's name: see zkleader status";
static const char bad_slot[] = "the record of the slot is not understood: see the sidecar's log";

static struct rolling_step act(enum rolling_act what)
{
	return (struct rolling_step){.act = what};
}

static struct rolling_step tell(enum rolling_result result, bool shows)
{
	return (struct rolling_step){.act = ROLLING_TELL, .result = result, .shows = shows};
}

static struct rolling_step refuse(const char *why)
{
	return (struct rolling_step){.act = ROLLING_TELL, .result = ROLLING_REFUSED, .why = why};
}

bool rolling_move_allowed(enum rolling_state from, enum rolling_state to, bool booted)
{
	static const bool allowed[ROLLING_STATES][ROLLING_STATES] = {
		[ROLLING_DRAINING] = {[ROLLING_RUNNING] = true},
		[ROLLING_RUNNING] = {[ROLLING_SOAKING] = true, [ROLLING_FAILED] = true},
	};

	return from == to || allowed[from][to] ||
	       (booted && from == ROLLING_DRAINING && to == ROLLING_SOAKING);
}

/* --- taking a slot -------------------------------------------------------- */

/* Whether another node has a slot or waits for one; this one has none. */
static bool has_others(const struct rolling_seen *s)
{
	return s->slots > 0 || s->waiting > (s->place < s->waiting ? 1 : 0);
}

/*
 * The first in the queue waits for the group, and each other one for the entry before it. So a free
 * slot wakes only one node.
 */
static struct rolling_step queue_up(const struct rolling_seen *s)
{
	bool room = s->slots < s->k;

	if (room && (s->waiting == 0 || s->place == 0))
		return act(ROLLING_ACQUIRE);
	if (s->place == s->waiting)
		return act(ROLLING_ENQUEUE);
	return act(s->place == 0 ? ROLLING_WAIT_GROUP : ROLLING_WAIT_BEFORE);
}

static struct rolling_step take(const struct rolling_seen *s)
{
	if (s->own.there && !s->own.known)
		return refuse(bad_slot);
	if (s->own.there)
		return tell(s->own.state == ROLLING_FAILED ? ROLLING_HAS_FAILED : ROLLING_DONE,
			    true);
	if (!s->registered)
		return act(ROLLING_AGAIN);
	if (s->twin)
		return refuse(twins);
	if (!s->made)
		return act(ROLLING_MAKE);
	if (s->halted)
		return tell(ROLLING_HALTED, false);
	if (s->other_k && has_others(s))
		return tell(ROLLING_OTHER_K, false);
	return queue_up(s);
}

/* Removes all that the order has made, unless CMD may have begun. */
static struct rolling_step give_up(const struct rolling_seen *s)
{
	struct rolling_step step = act(ROLLING_GIVE_UP);

	step.drops =
		s->own.there && s->own.known && s->own.taken && s->own.state == ROLLING_DRAINING;
	return step.drops || s->place < s->waiting ? step : tell(ROLLING_DONE, false);
}

/* --- the slot of this node ------------------------------------------------ */

static struct rolling_step advance(const struct rolling_seen *s)
{
	if (s->own.there && !s->own.known)
		return refuse(bad_slot);
	if (!s->own.there || !s->own.asked)
		return tell(ROLLING_NOTHING, false);
	if (s->own.is_done)
		return tell(ROLLING_DONE, true);
	if (!s->own.handled || !rolling_move_allowed(s->own.state, s->to, s->own.booted))
		return tell(ROLLING_CHANGED, true);
	/* An older sidecar's undrain has ended it. */
	if (s->to == ROLLING_RUNNING && !s->own.drained)
		return act(ROLLING_DRAIN);
	if (s->to == ROLLING_RUNNING && !s->idle)
		return tell(ROLLING_BUSY, true);
	return act(ROLLING_WRITE);
}

static struct rolling_step free_own(const struct rolling_seen *s)
{
	if (s->own.there && !s->own.known)
		return refuse(bad_slot);
	if (!s->own.there || !s->own.asked)
		return tell(s->sent ? ROLLING_DONE : ROLLING_NOTHING, false);
	if (s->own.state != ROLLING_SOAKING)
		return tell(ROLLING_CHANGED, true);
	return act(s->soaked ? ROLLING_FREE_IT : ROLLING_WAIT_SLOT);
}

struct rolling_step rolling_step(const struct rolling_seen *s)
{
	if (s->order != ROLLING_STATUS && !s->leaving && s->own.known && s->own.others)
		return refuse(twins);
	switch (s->order) {
	case ROLLING_TAKE: return s->leaving ? give_up(s) : take(s);
	case ROLLING_ADVANCE: return advance(s);
	case ROLLING_FREE: return free_own(s);
	case ROLLING_OWN:
		if (s->own.there && !s->own.known)
			return refuse(bad_slot);
		return tell(s->own.there ? ROLLING_DONE : ROLLING_NOTHING, s->own.there);
	case ROLLING_STATUS:
	case ROLLING_RELEASE:
	case ROLLING_RESUME: break;
	}
	return tell(ROLLING_DONE, false);
}
