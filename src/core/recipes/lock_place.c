#include "core/recipes/lock_place.h"

#include <assert.h>

static const char foreign[] = "there is something else in the lock's place";

#define TO(state) (1u << (state))
static const unsigned allowed_moves[LOCK_STATES] = {
	[LOCK_ENTERING] = TO(LOCK_WAITING) | TO(LOCK_HELD) | TO(LOCK_LEAVING),
	[LOCK_WAITING] = TO(LOCK_ENTERING) | TO(LOCK_HELD) | TO(LOCK_LEAVING),
	[LOCK_HELD] = TO(LOCK_ENTERING) | TO(LOCK_LEAVING),
	[LOCK_LEAVING] = TO(LOCK_GONE),
};

bool lock_move_allowed(enum lock_state from, enum lock_state to)
{
	return allowed_moves[from] & TO(to);
}

void lock_place_init(struct lock_place *p, int64_t slots, bool maybe)
{
	*p = (struct lock_place){.need = LOCK_ENTER, .slots = slots, .maybe = maybe};
}

/* The one place that writes the state. */
static void move(struct lock_place *p, enum lock_state to)
{
	assert(p->state == to || lock_move_allowed(p->state, to));
	p->state = to;
}

static void leave(struct lock_place *p, const struct lock_event *e, struct lock_actions *a)
{
	if (p->state >= LOCK_LEAVING)
		return;
	move(p, LOCK_LEAVING);
	a->unwatch = true;
	if (!e->busy)
		p->need = LOCK_DELETE;
}

static void fail(struct lock_place *p, const struct lock_event *e, struct lock_actions *a,
		 enum lock_outcome outcome, const char *why)
{
	a->fails = true;
	a->outcome = outcome;
	a->why = why;
	leave(p, e, a);
}

static void refuse(struct lock_place *p, const struct lock_event *e, struct lock_actions *a,
		   const char *why)
{
	fail(p, e, a, LOCK_REFUSED, why);
}

/* Enters the line again, at its end: the place has no node any more. */
static void reenter(struct lock_place *p, struct lock_actions *a)
{
	move(p, LOCK_ENTERING);
	a->unwatch = true;
	p->known = p->maybe = p->waited = p->tells = p->first = p->parents = false;
	p->need = LOCK_ENTER;
}

/* Its node was deleted while it held or waited. */
static void lose(struct lock_place *p, const struct lock_event *e, struct lock_actions *a)
{
	if (p->state >= LOCK_LEAVING)
		return;
	if (e->told) {
		a->loses = true;
		p->need = LOCK_NOTHING;
	} else if (e->attaching) {
		fail(p, e, a, LOCK_NOT_THERE, NULL);
	} else {
		reenter(p, a);
	}
}

/* --- entering ------------------------------------------------------------- */

/* The node is in the list, and no answer was lost. */
static void take_place(struct lock_place *p, const struct lock_seen *seen)
{
	if (seen->before < (size_t)p->slots) {
		/* A waiter behind us may have seen more nodes before us than are left. */
		p->tells |= p->waited || (p->slots > 1 && seen->behind);
		p->need = LOCK_TAKE;
		return;
	}
	move(p, LOCK_WAITING);
	p->waited = true;
	/* The folder's watch was set with this list, so no change is missed. */
	bool watches = p->need == LOCK_WATCH && p->slots > 1 && p->first;
	p->first = seen->before == (size_t)p->slots;
	p->need = watches && p->first ? LOCK_NOTHING : LOCK_WATCH;
}

/* The node was not made: the registration or the folder is missing, or the server refuses. */
static void not_made(struct lock_place *p, const struct lock_event *e, struct lock_actions *a)
{
	const struct lock_seen *seen = e->seen;

	if (seen->made.refused) {
		refuse(p, e, a, seen->made.refused);
	} else if (seen->unmakeable) {
		refuse(p, e, a, seen->unmakeable);
	} else if (seen->no_folder) {
		a->pause = p->parents;
		p->parents = true;
	} else {
		a->confirm = a->pause = true;
	}
}

/* The node does not exist, and an outstanding creation cannot make it any more. */
static void not_found(struct lock_place *p, const struct lock_event *e, struct lock_actions *a)
{
	if (e->seen->listed.refused) {
		refuse(p, e, a, e->seen->listed.refused);
	} else if (e->attaching) {
		fail(p, e, a, LOCK_NOT_THERE, NULL);
	} else {
		a->pause = !p->maybe; /* the node was made, and has been deleted */
		p->maybe = false;
	}
}

/*
 * The lock has another number of slots. If nobody uses it any more, it is made anew. Other nodes in
 * its folder use the lock, or have come with another number as well.
 */
static void other_slots(struct lock_place *p, const struct lock_event *e, struct lock_actions *a)
{
	p->in_use = e->seen->slots;
	if (!e->seen->others)
		p->need = LOCK_RESET;
	else if (e->seen->in_line)
		p->need = LOCK_JUDGE;
	else /* something of another program is in it */
		fail(p, e, a, LOCK_OTHER_SLOTS, NULL);
}

static void on_entered(struct lock_place *p, const struct lock_event *e, struct lock_actions *a)
{
	const struct lock_seen *seen = e->seen;

	if (seen->cut) {
		p->maybe |= seen->making; /* looked for once there is a connection */
		return;
	}
	if (seen->making && !seen->made.ok) {
		not_made(p, e, a);
		return;
	}
	if (!seen->own) {
		not_found(p, e, a);
		return;
	}
	p->maybe = p->entered = true;
	p->parents = false;
	if (!seen->read.ok || seen->slots == 0) {
		refuse(p, e, a, seen->read.refused ? seen->read.refused : foreign);
	} else if (p->slots != 0 && seen->slots != p->slots) {
		other_slots(p, e, a);
	} else {
		p->slots = seen->slots;
		take_place(p, seen);
	}
}

/* --- another number of slots ---------------------------------------------- */

/* Nobody uses the lock: the first in line makes it anew, once the others have stepped aside. */
static void on_judged(struct lock_place *p, const struct lock_event *e, struct lock_actions *a)
{
	const struct lock_seen *seen = e->seen;

	p->need = LOCK_ENTER;
	if (seen->read.refused)
		refuse(p, e, a, seen->read.refused);
	else if (seen->held)
		fail(p, e, a, LOCK_OTHER_SLOTS, NULL);
	else if (seen->read.ok && !seen->ahead)
		p->need = LOCK_ASIDE;
	else
		a->pause = seen->read.ok;
}

/*
 * The lock was made anew, or a node has come meanwhile: enters again, and reads the number of
 * slots.
 */
static void on_reset(struct lock_place *p, const struct lock_event *e, struct lock_actions *a)
{
	const struct lock_seen *seen = e->seen;

	p->need = LOCK_ENTER;
	if (seen->cut || seen->made.ok)
		return;
	if (seen->made.refused && !seen->crowded) {
		refuse(p, e, a, seen->made.refused);
		return;
	}
	a->confirm = !seen->crowded;
	a->pause = true;
}

static void on_aside(struct lock_place *p, const struct lock_event *e, struct lock_actions *a)
{
	if (e->seen->made.refused) {
		refuse(p, e, a, e->seen->made.refused);
	} else if (!e->seen->cut) {
		reenter(p, a);
		a->pause = true;
	}
}

/* --- in line -------------------------------------------------------------- */

static void on_listed(struct lock_place *p, const struct lock_event *e, struct lock_actions *a)
{
	if (e->seen->cut)
		p->need = LOCK_LIST;
	else if (e->seen->listed.refused)
		refuse(p, e, a, e->seen->listed.refused);
	else if (!e->seen->own)
		lose(p, e, a);
	else
		take_place(p, e->seen);
}

/* The node before us is watched, or has gone. If it holds the lock, we are the first waiter. */
static void on_watched(struct lock_place *p, const struct lock_event *e, struct lock_actions *a)
{
	const struct lock_seen *seen = e->seen;

	if (p->first && p->slots > 1) { /* the folder is watched */
		on_listed(p, e, a);
	} else if (seen->read.refused) {
		refuse(p, e, a, seen->read.refused);
	} else if (seen->cut || !seen->read.ok) {
		p->need = LOCK_LIST;
	} else {
		p->first |= p->slots > 1 && seen->held;
		p->need = p->slots > 1 && seen->held ? LOCK_WATCH : LOCK_NOTHING;
	}
}

static void on_taken(struct lock_place *p, const struct lock_event *e, struct lock_actions *a)
{
	if (e->seen->cut)
		return;
	if (e->seen->read.refused) {
		refuse(p, e, a, e->seen->read.refused);
	} else if (!e->seen->own) {
		lose(p, e, a);
	} else {
		p->need = p->tells ? LOCK_TELL : LOCK_NOTHING;
		move(p, LOCK_HELD);
	}
}

static void on_deleted(struct lock_place *p, const struct lock_event *e, struct lock_actions *a)
{
	if (e->seen->cut || e->seen->own)
		return; /* a node that was found is deleted now */
	a->leaves_node = e->seen->made.refused || e->seen->listed.refused;
	move(p, LOCK_GONE);
}

static void on_answered(struct lock_place *p, const struct lock_event *e, struct lock_actions *a)
{
	const struct lock_seen *seen = e->seen;

	if (p->state == LOCK_GONE)
		return;
	/* Whether a node was made anew, or which one was, is not known before it is looked for. */
	p->known = seen->own || (p->known && p->need != LOCK_RESET);
	if (p->state == LOCK_LEAVING && p->need != LOCK_DELETE) {
		p->maybe |= seen->making && (seen->cut || seen->made.ok);
		p->need = LOCK_DELETE;
		return;
	}
	switch (p->need) {
	case LOCK_NOTHING: break;
	case LOCK_ENTER: on_entered(p, e, a); break;
	case LOCK_LIST: on_listed(p, e, a); break;
	case LOCK_WATCH: on_watched(p, e, a); break;
	case LOCK_TAKE: on_taken(p, e, a); break;
	case LOCK_TELL: /* writing into our node has used up its watch */
		p->tells &= seen->cut;
		p->need = seen->cut ? LOCK_TELL : LOCK_TAKE;
		break;
	case LOCK_JUDGE: on_judged(p, e, a); break;
	case LOCK_RESET: on_reset(p, e, a); break;
	case LOCK_ASIDE: on_aside(p, e, a); break;
	case LOCK_DELETE: on_deleted(p, e, a); break;
	}
}

static void on_changed(struct lock_place *p, struct lock_actions *a)
{
	if (p->state == LOCK_HELD && p->need == LOCK_NOTHING)
		p->need = LOCK_TAKE; /* the node still exists, and is watched again */
	else if (p->state == LOCK_WAITING && p->need == LOCK_NOTHING)
		p->need = LOCK_LIST;
	else
		a->hurry = p->state == LOCK_WAITING; /* the outstanding requests read the change */
}

/* Asserts the invariants; called at the end of every step. */
static void check(const struct lock_place *p)
{
	static const unsigned needs[LOCK_STATES] = {
		[LOCK_ENTERING] = TO(LOCK_ENTER) | TO(LOCK_TAKE) | TO(LOCK_JUDGE) | TO(LOCK_RESET) |
				  TO(LOCK_ASIDE),
		[LOCK_WAITING] = TO(LOCK_NOTHING) | TO(LOCK_LIST) | TO(LOCK_WATCH) | TO(LOCK_TAKE),
		[LOCK_HELD] = TO(LOCK_NOTHING) | TO(LOCK_TAKE) | TO(LOCK_TELL),
		[LOCK_LEAVING] = ~0u,
		[LOCK_GONE] = TO(LOCK_NOTHING),
	};

	assert(p->state < LOCK_STATES && (needs[p->state] & TO(p->need)));
}

void lock_place_step(struct lock_place *p, const struct lock_event *event, struct lock_actions *out)
{
	*out = (struct lock_actions){0};
	switch (event->type) {
	case LOCK_ANSWERED: on_answered(p, event, out); break;
	case LOCK_CHANGED: on_changed(p, out); break;
	case LOCK_DELETED:
		if (p->state == LOCK_HELD)
			lose(p, event, out);
		else
			on_changed(p, out);
		break;
	case LOCK_EXPIRED:
		p->known = p->maybe = false;
		lose(p, event, out);
		if (p->state == LOCK_LEAVING && !event->busy)
			move(p, LOCK_GONE);
		break;
	case LOCK_GIVEN_UP: leave(p, event, out); break;
	case LOCK_ABSENT: move(p, LOCK_GONE); break;
	case LOCK_EVENTS: assert(false);
	}
	if (p->state == LOCK_GONE)
		p->need = LOCK_NOTHING;
	check(p);
}
