/*
 * A rolling restart of three nodes, two of which may be away at a time: the group as it really is, and
 * what each node has decided from what it read, which may be another by the time it is written.
 */
#include <stdio.h>
#include <string.h>

#include "core/recipes/rolling_step.h"
#include "explore.h"
#include "world.h"

#define NODES	     3
#define K	     2
#define SETTLE_STEPS 200

/* A node's orders about its slot, one after the other, as `zkleader rolling` gives them. */
enum stage {
	STAGE_NONE,
	STAGE_TAKE,
	STAGE_LEAVE, /* nobody waits for the slot any more */
	STAGE_RUN,   /* to RUNNING */
	STAGE_CMD,   /* CMD is running */
	STAGE_SOAK,  /* to SOAKING */
	STAGE_FAIL,  /* to FAILED */
	STAGE_FREE,
	STAGE_DONE
};

struct node {
	enum stage stage;
	bool pending; /* a decision waits to be written */
	bool fresh;   /* the group is as it was read for that */
	struct rolling_step step;
	bool sent, idle, booted;
	bool mine;	     /* its slot is of this order, not of one before */
	bool there, drained; /* its slot */
	enum rolling_state state;
};

struct rolling_world {
	struct node nodes[NODES];
	bool exists, halted;
	uint8_t queue[NODES];
	uint8_t n_queue;
	const char *fault;
};

uint64_t model_rolling_moves[ROLLING_STATES][ROLLING_STATES];

static unsigned number_of(const struct rolling_world *w, const struct node *n)
{
	return (unsigned)(n - w->nodes);
}

static size_t place_of(const struct rolling_world *w, const struct node *n)
{
	size_t i = 0;

	while (i < w->n_queue && w->queue[i] != number_of(w, n))
		i++;
	return i;
}

static void leave_queue(struct rolling_world *w, const struct node *n)
{
	size_t place = place_of(w, n);

	if (place == w->n_queue)
		return;
	w->n_queue--;
	memmove(w->queue + place, w->queue + place + 1, w->n_queue - place);
}

static size_t slots_of(const struct rolling_world *w)
{
	size_t n = 0;

	for (int i = 0; i < NODES; i++)
		n += w->nodes[i].there;
	return n;
}

/* The group has another version: what was decided before it is not written any more. */
static void changed(struct rolling_world *w)
{
	for (int i = 0; i < NODES; i++)
		w->nodes[i].fresh = false;
	if (slots_of(w) > K)
		w->fault = "more nodes are away than may be";
}

static struct rolling_seen see(const struct rolling_world *w, const struct node *n)
{
	static const enum rolling_order orders[] = {
		[STAGE_TAKE] = ROLLING_TAKE,	[STAGE_LEAVE] = ROLLING_TAKE,
		[STAGE_RUN] = ROLLING_ADVANCE,	[STAGE_SOAK] = ROLLING_ADVANCE,
		[STAGE_FAIL] = ROLLING_ADVANCE, [STAGE_FREE] = ROLLING_FREE};
	struct rolling_seen seen = {.order = orders[n->stage],
				    .leaving = n->stage == STAGE_LEAVE,
				    .registered = true,
				    .made = w->exists,
				    .halted = w->halted,
				    .slots = slots_of(w),
				    .k = K,
				    .waiting = w->n_queue,
				    .place = place_of(w, n),
				    .idle = n->idle,
				    .soaked = true,
				    .sent = n->sent};

	seen.to = n->stage == STAGE_RUN	   ? ROLLING_RUNNING
		  : n->stage == STAGE_FAIL ? ROLLING_FAILED
					   : ROLLING_SOAKING;
	if (n->there)
		seen.own = (struct rolling_own){.there = true,
						.known = true,
						.taken = n->mine,
						.asked = true,
						.handled = true,
						.is_done = n->state == seen.to,
						.booted = n->booted,
						.drained = n->drained,
						.state = n->state};
	return seen;
}

/* The order has ended: what the node does next. */
static void told(struct rolling_world *w, struct node *n, enum rolling_result result)
{
	bool done = result == ROLLING_DONE;

	n->sent = false;
	switch (n->stage) {
	case STAGE_TAKE:
		if (!done)
			n->stage = STAGE_LEAVE;
		else if (n->state == ROLLING_RUNNING)
			n->stage = STAGE_CMD;
		else
			n->stage = n->state == ROLLING_SOAKING ? STAGE_FREE : STAGE_RUN;
		return;
	case STAGE_RUN:
		if (result == ROLLING_BUSY)
			return;
		n->stage = done ? STAGE_CMD : STAGE_DONE;
		return;
	case STAGE_SOAK: n->stage = done ? STAGE_FREE : STAGE_DONE; return;
	case STAGE_LEAVE:
		if (n->there && n->mine && n->state == ROLLING_DRAINING)
			w->fault = "a slot is left behind by who gave up";
		n->stage = STAGE_DONE;
		return;
	case STAGE_NONE:
	case STAGE_CMD:
	case STAGE_FAIL:
	case STAGE_FREE:
	case STAGE_DONE: n->stage = STAGE_DONE; return;
	}
}

static void put_state(struct rolling_world *w, struct node *n, enum rolling_state to)
{
	if (n->state != to)
		model_rolling_moves[n->state][to]++;
	n->state = to;
	w->halted |= to == ROLLING_FAILED;
}

/* Writes what was decided. Only the queue is changed without the group's version. */
static void commit(struct rolling_world *w, struct node *n)
{
	bool queues = n->step.act == ROLLING_ENQUEUE || n->step.act == ROLLING_MAKE ||
		      (n->step.act == ROLLING_GIVE_UP && !n->step.drops);

	if (!n->fresh && !queues)
		return;
	n->sent = true;
	switch (n->step.act) {
	case ROLLING_MAKE: w->exists = true; break;
	case ROLLING_ENQUEUE: w->queue[w->n_queue++] = (uint8_t)number_of(w, n); return;
	case ROLLING_ACQUIRE:
		if (w->halted)
			w->fault = "a slot is taken while the group is halted";
		n->there = n->drained = n->mine = true;
		n->state = ROLLING_DRAINING;
		n->booted = false;
		leave_queue(w, n);
		break;
	case ROLLING_GIVE_UP:
		leave_queue(w, n);
		if (!n->step.drops)
			return;
		n->there = false;
		break;
	case ROLLING_DRAIN: n->drained = true; break;
	case ROLLING_WRITE: put_state(w, n, see(w, n).to); break;
	case ROLLING_FREE_IT: n->there = false; break;
	case ROLLING_TELL:
	case ROLLING_AGAIN:
	case ROLLING_WAIT_GROUP:
	case ROLLING_WAIT_BEFORE:
	case ROLLING_WAIT_SLOT:
	case ROLLING_ACTS: w->fault = "what is no transaction is written"; return;
	}
	changed(w);
}

/* Whether the order ends with its transaction, and is not read once more. */
static bool is_last(const struct rolling_step *s)
{
	return s->act == ROLLING_ACQUIRE || s->act == ROLLING_WRITE || s->act == ROLLING_FREE_IT ||
	       (s->act == ROLLING_GIVE_UP && s->drops);
}

/* Reads and decides, or writes what was decided. False: it waits. */
static bool next(struct rolling_world *w, struct node *n, bool heard)
{
	if (n->pending) {
		bool written = n->fresh;
		commit(w, n);
		n->pending = false;
		if (written && heard && is_last(&n->step))
			told(w, n, ROLLING_DONE);
		return true;
	}
	if (n->stage == STAGE_NONE || n->stage == STAGE_DONE || n->stage == STAGE_CMD)
		return false;
	struct rolling_seen seen = see(w, n);
	n->step = rolling_step(&seen);
	switch (n->step.act) {
	case ROLLING_TELL:
		if (n->step.result == ROLLING_BUSY)
			return false;
		told(w, n, n->step.result);
		return true;
	case ROLLING_WAIT_GROUP:
	case ROLLING_WAIT_BEFORE:
	case ROLLING_WAIT_SLOT: return false;
	case ROLLING_AGAIN:
	case ROLLING_MAKE:
	case ROLLING_ENQUEUE:
	case ROLLING_ACQUIRE:
	case ROLLING_GIVE_UP:
	case ROLLING_DRAIN:
	case ROLLING_WRITE:
	case ROLLING_FREE_IT:
	case ROLLING_ACTS: break;
	}
	if (n->step.act == ROLLING_WRITE && n->stage == STAGE_RUN && (!n->drained || !n->idle))
		w->fault = "CMD begins without a drain, or while something is led";
	n->pending = n->fresh = true;
	return true;
}

enum happens {
	ROLLING_NEXT,	  /* the node reads, or writes */
	ROLLING_UNHEARD,  /* what it writes is written, and the answer lost */
	ROLLING_LOST,	  /* what it writes is not written */
	ROLLING_BEGINS,	  /* somebody asks for a slot; also anew, after it ended */
	ROLLING_GIVES_UP, /* nobody does any more */
	ROLLING_IDLES,	  /* nothing is led there and no job runs */
	ROLLING_ENDS,	  /* CMD has ended well */
	ROLLING_FAILS,	  /* CMD has failed */
	ROLLING_BOOTS,	  /* the machine has booted, by CMD or by itself */
	ROLLING_RELEASES, /* an operator frees its slot */
	ROLLING_UNDRAINS, /* an older sidecar ends its drain */
	ROLLING_HAPPENS
};

static bool set_stage(struct node *n, bool from, enum stage to)
{
	if (!from || n->pending)
		return false;
	n->stage = to;
	n->sent = false;
	return true;
}

static bool of_one(struct rolling_world *w, struct node *n, enum happens what)
{
	switch (what) {
	case ROLLING_NEXT: return next(w, n, true);
	case ROLLING_UNHEARD: return n->pending && next(w, n, false);
	case ROLLING_LOST:
		if (!n->pending)
			return false;
		n->pending = false;
		return true;
	case ROLLING_BEGINS:
		n->mine &= n->stage != STAGE_NONE && n->stage != STAGE_DONE;
		return set_stage(n, n->stage == STAGE_NONE || n->stage == STAGE_DONE, STAGE_TAKE);
	case ROLLING_GIVES_UP: return set_stage(n, n->stage == STAGE_TAKE, STAGE_LEAVE);
	case ROLLING_IDLES:
		if (n->idle)
			return false;
		n->idle = true;
		return true;
	case ROLLING_ENDS: return set_stage(n, n->stage == STAGE_CMD, STAGE_SOAK);
	case ROLLING_FAILS: return set_stage(n, n->stage == STAGE_CMD, STAGE_FAIL);
	case ROLLING_BOOTS:
		if (!n->there || n->booted)
			return false;
		n->booted = true;
		n->pending = false;
		n->stage = n->state == ROLLING_FAILED ? STAGE_DONE : STAGE_SOAK;
		return true;
	case ROLLING_RELEASES:
		if (!n->there)
			return false;
		n->there = false;
		changed(w);
		return true;
	case ROLLING_UNDRAINS:
		if (!n->there || !n->drained)
			return false;
		n->drained = false;
		return true;
	case ROLLING_HAPPENS: break;
	}
	return false;
}

/* An operator ends the halt: the slots of those that have failed go with it. */
static bool resume(struct rolling_world *w)
{
	if (!w->halted)
		return false;
	w->halted = false;
	for (int i = 0; i < NODES; i++)
		if (w->nodes[i].there && w->nodes[i].state == ROLLING_FAILED)
			w->nodes[i].there = false;
	changed(w);
	return true;
}

static bool apply(void *state, unsigned event)
{
	struct rolling_world *w = state;

	if (event == NODES * ROLLING_HAPPENS)
		return resume(w);
	return of_one(w, &w->nodes[event / ROLLING_HAPPENS],
		      (enum happens)(event % ROLLING_HAPPENS));
}

/* Whatever happened, all nodes get through at last, and nothing is left. */
static const char *check(void *state)
{
	struct rolling_world *w = state;
	bool goes_on = true;

	for (int i = 0; i < SETTLE_STEPS && goes_on && !w->fault; i++) {
		goes_on = resume(w);
		for (int k = 0; k < NODES; k++) {
			struct node *n = &w->nodes[k];
			n->idle = true;
			if (n->stage == STAGE_CMD)
				n->stage = STAGE_SOAK;
			if (n->stage == STAGE_DONE && n->there)
				n->stage = n->state == ROLLING_SOAKING ? STAGE_FREE : STAGE_TAKE;
			goes_on |= next(w, n, true);
		}
	}
	if (w->fault)
		return w->fault;
	if (slots_of(w) > 0)
		return "a slot is left at last";
	return w->n_queue > 0 ? "a node waits at last" : NULL;
}

static size_t pack(const void *state, uint8_t *bytes)
{
	const struct rolling_world *w = state;
	struct packer p = {.bytes = bytes};
	int64_t queue = w->n_queue;

	for (int i = 0; i < NODES; i++) {
		const struct node *n = &w->nodes[i];
		pack_number(&p, (int64_t)n->stage | (int64_t)n->pending << 4 |
					(int64_t)(n->pending && n->fresh) << 5 |
					(int64_t)n->sent << 6 | (int64_t)n->idle << 7 |
					(int64_t)(n->there && n->booted) << 8 |
					(int64_t)n->there << 9 |
					(int64_t)(n->there && n->drained) << 10 |
					(int64_t)(n->there ? n->state : 0) << 11 |
					(int64_t)(n->pending ? n->step.act : 0) << 14 |
					(int64_t)(n->pending && n->step.drops) << 18 |
					(int64_t)(n->there && n->mine) << 19);
		queue = queue << 2 | (i < w->n_queue ? w->queue[i] : 0);
	}
	pack_number(&p, queue << 2 | (int64_t)w->exists << 1 | (int64_t)w->halted);
	return p.n;
}

static void init(void *state)
{
	struct rolling_world *w = state;

	w->exists = true;
}

static const char *event_name(unsigned event)
{
	static const char *const names[] = {
		"goes on",    "writes unheard", "loses what it writes", "asks for a slot",
		"gives up",   "is idle",	"has done CMD",		"has failed",
		"has booted", "is released",	"is undrained"};
	static char text[40];

	if (event == NODES * ROLLING_HAPPENS)
		return "the halt is ended";
	snprintf(text, sizeof(text), "node %u %s", event / ROLLING_HAPPENS,
		 names[event % ROLLING_HAPPENS]);
	return text;
}

const struct explore explore_of_rolling = {
	.name = "rolling restart",
	.state_size = sizeof(struct rolling_world),
	.n_events = NODES * ROLLING_HAPPENS + 1,
	.init = init,
	.apply = apply,
	.check = check,
	.pack = pack,
	.event_name = event_name,
};
