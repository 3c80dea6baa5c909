#include "core/queue/epoch.h"

#include <assert.h>

#define TO(state) (1u << (state))
static const unsigned allowed_moves[EPOCH_STATES] = {
	[EPOCH_BEGINS] = TO(EPOCH_READING),
	[EPOCH_READING] = TO(EPOCH_BEGINS) | TO(EPOCH_READ),
	[EPOCH_READ] = TO(EPOCH_BEGINS) | TO(EPOCH_RAISING),
	[EPOCH_RAISING] = TO(EPOCH_BEGINS) | TO(EPOCH_ON),
	[EPOCH_ON] = TO(EPOCH_BEGINS),
};

bool epoch_move_allowed(enum epoch_state from, enum epoch_state to)
{
	return allowed_moves[from] & TO(to);
}

/* The one place that writes the state. */
static void move(struct epoch *e, enum epoch_state to)
{
	assert(e->state == to || epoch_move_allowed(e->state, to));
	e->state = to;
}

bool epoch_is_above(const struct epoch *e, int64_t now_ms)
{
	return e->above != 0 && now_ms >= e->above_ms + EPOCH_ABOVE_MS;
}

static enum epoch_action restart(struct epoch *e, enum epoch_action how)
{
	move(e, EPOCH_BEGINS);
	return how;
}

/*
 * A larger token than ours: usually another node leads by now, and the news is on its way. If no
 * such news comes, the token is from another ensemble's data.
 */
static enum epoch_action on_found(struct epoch *e, const struct epoch_event *event)
{
	if (event->token > e->token) {
		if (e->above != event->token)
			e->above_ms = event->now_ms;
		e->above = event->token;
		return restart(e, EPOCH_RESTART_LATE);
	}
	e->above = 0;
	e->version = event->version;
	move(e, EPOCH_READ);
	return EPOCH_GO_ON;
}

static enum epoch_action on_ready(struct epoch *e)
{
	if (e->state == EPOCH_BEGINS) {
		move(e, EPOCH_READING);
		return EPOCH_SEND_READ;
	}
	if (e->state != EPOCH_READ)
		return EPOCH_NONE;
	move(e, EPOCH_RAISING);
	return EPOCH_SEND_RAISE;
}

enum epoch_action epoch_step(struct epoch *e, const struct epoch_event *event)
{
	switch (event->type) {
	case EPOCH_READY: return on_ready(e);
	case EPOCH_FOUND: return on_found(e, event);
	case EPOCH_MISSING: return restart(e, EPOCH_MAKE_FOLDERS);
	case EPOCH_DONE:
		if (e->state != EPOCH_RAISING)
			return EPOCH_NONE;
		e->version++;
		move(e, EPOCH_ON);
		return EPOCH_LEAD;
	case EPOCH_CUT: return restart(e, EPOCH_RESTART);
	case EPOCH_FAILED:
		if (e->state == EPOCH_ON)
			return EPOCH_NONE;
		return restart(e, EPOCH_RESTART_LATE);
	case EPOCH_REFUSED:
	case EPOCH_UNREGISTERED:
	case EPOCH_ANOTHER: return restart(e, EPOCH_RESTART_LATE);
	case EPOCH_EVENTS: assert(false);
	}
	return EPOCH_NONE;
}
