/*
 * The end that every state must come to when nothing more goes wrong, and how states are compared.
 */
#include <assert.h>
#include <string.h>

#include "world.h"

#define SETTLE_STEPS 200
/* A lease, the longest turn, and some pauses before what failed is tried again. */
#define SETTLE_MS \
	(WORLD_TIMEOUT_MS + ELECTION_ACCEPT_MS + 20 * ELECTION_STAGGER_MS + 5 * ELECTION_RETRY_MS)

uint64_t model_moves[ELECTION_STATES][ELECTION_STATES];

void model_step(struct election *e, struct election_event *event, int64_t now,
		struct election_actions *ret_actions)
{
	event->now = (struct election_time){now, now, true, false};
	election_step(e, event, ret_actions);
	for (size_t i = 0; i < ret_actions->n; i++) {
		if (ret_actions->list[i].type != ELECTION_TELL)
			continue;
		enum election_state to = e->state;
		for (size_t j = i + 1; j < ret_actions->n; j++) {
			if (ret_actions->list[j].type == ELECTION_TELL) {
				to = ret_actions->list[j].from;
				break;
			}
		}
		model_moves[ret_actions->list[i].from][to]++;
	}
}

const char *model_check_deadline(const struct election *e, int64_t now)
{
	struct election copy = *e;
	struct election_actions actions;
	struct election_event event = {.type = ELECTION_DEADLINE, .now = {now, now}};

	for (int i = 0; election_deadline(&copy, event.now) <= now; i++) {
		if (i == 3)
			return "deadlines without end at one moment";
		election_step(&copy, &event, &actions);
		if (actions.n == 0)
			return "a deadline that leads to nothing";
	}
	return NULL;
}

static bool settled(const struct world *w)
{
	const struct election *e = &w->e;

	if (!e->up)
		return false;
	switch (e->state) {
	case ELECTION_LEADING: return true;
	case ELECTION_FOLLOWING:
		return e->node.known || !(e->interest || (e->view.candidate && e->view.place < 2));
	case ELECTION_VACANT: return !e->view.candidate;
	case ELECTION_DOWN:
	case ELECTION_CLAIMING:
	case ELECTION_RESOLVING:
	case ELECTION_RELEASING:
	case ELECTION_STATES: break;
	}
	return false;
}

/* The better one takes what is free, unless it has just given it up. */
static bool other_takes(const struct world *w)
{
	return !w->owner && w->e.view.best && !w->e.yielded && !w->given_up;
}

static void come_to_rest(struct world *w)
{
	int64_t begin = w->now;

	for (int i = 0; i < SETTLE_STEPS && !w->fault; i++) {
		if (!w->connected)
			world_happen(w, HAPPEN_RECONNECT);
		else if (w->n_incoming > 0)
			world_happen(w, HAPPEN_DELIVER);
		else if (w->n_requests > 0)
			world_happen(w, HAPPEN_SERVE);
		else if (settled(w))
			break;
		else if (other_takes(w))
			world_happen(w, HAPPEN_OTHER_CLAIM);
		else if (world_possible(w, HAPPEN_DEADLINE))
			world_happen(w, HAPPEN_DEADLINE);
		else
			w->fault = "nothing leads on from here";
	}
	if (!w->fault && !settled(w))
		w->fault = "does not come to rest";
	if (!w->fault && w->now - begin > SETTLE_MS)
		w->fault = "takes too long to come to rest";
}

void world_settle(struct world *w)
{
	/* The fleet is told as it is: nobody waits for a better one that is not there. */
	if (w->e.state != ELECTION_DOWN && !w->other_registered && w->e.view.best)
		world_happen(w, HAPPEN_VIEW_BEST);
	come_to_rest(w);
	/*
	 * The better one gives up what it was given, unheard, so that only the yield to it is
	 * known: note_release() judges the next one.
	 */
	if (!w->fault && w->returned && w->owner == WORLD_OTHER) {
		world_happen(w, HAPPEN_CUT);
		world_happen(w, HAPPEN_OTHER_YIELD);
		w->given_up = true;
		come_to_rest(w);
	}
	if (!w->fault && w->e.state == ELECTION_LEADING && w->calm_ms > w->now &&
	    world_possible(w, HAPPEN_DEADLINE))
		world_happen(w, HAPPEN_DEADLINE);
}

/* --- bytes ------------------------------------------------------------------------------------------ */

void pack_number(struct packer *p, int64_t value)
{
	assert(p->n + 4 <= WORLD_PACKED_SIZE);
	for (int i = 0; i < 4; i++)
		p->bytes[p->n++] = (uint8_t)(value >> (8 * i));
}

void pack_token(struct packer *p, int64_t token)
{
	size_t i = 0;

	while (i < p->n_tokens && p->tokens[i] != token)
		i++;
	if (i == p->n_tokens)
		p->tokens[p->n_tokens++] = token;
	p->bytes[p->n++] = token ? (uint8_t)(i + 1) : 0;
}

/* The time until then: 0 for all times that have passed, however long ago. */
static int64_t ahead(int64_t at, int64_t now)
{
	return at > now ? at - now : 0;
}

static int64_t ago(int64_t at, int64_t now, int64_t longest)
{
	return now - at < longest ? now - at : longest;
}

void pack_election(struct packer *p, const struct election *e, int64_t now)
{
	const bool flags[] = {e->view.candidate, e->view.newer,	     e->node.known,
			      e->node.exists,	 e->node.mine,	     e->up,
			      e->watched,	 e->interest,	     e->held,
			      e->handed_over,	 e->unseen_leader,   e->owner_listed,
			      e->yielded,	 e->yielded_to != 0, e->read_best != e->view.best};
	int64_t bits = 0;

	for (size_t i = 0; i < sizeof(flags) / sizeof(flags[0]); i++)
		bits |= (int64_t)flags[i] << i;
	pack_number(p, bits);
	p->bytes[p->n++] = (uint8_t)e->config.yield;
	p->bytes[p->n++] = (uint8_t)e->state;
	p->bytes[p->n++] = (uint8_t)(e->view.place > 9 ? 9 : e->view.place);
	p->bytes[p->n++] = (uint8_t)e->view.best;
	p->bytes[p->n++] = (uint8_t)e->reads;
	p->bytes[p->n++] = (uint8_t)e->node.owner;
	p->bytes[p->n++] = (uint8_t)e->node.version;
	pack_token(p, e->node.token);
	pack_number(p, e->view.best ? ago(e->best_since_ms, now, e->config.yield_delay_ms) : 0);
	if (e->state == ELECTION_VACANT) {
		pack_number(p, ago(e->vacant_ms, now, SETTLE_MS));
		pack_number(p, e->owner_ms);
	}
	pack_number(p, e->view.candidate ? 0 : ago(e->unfit_ms, now, ELECTION_YIELD_MIN_MS));
	pack_number(p, ahead(e->retry_ms, now));
	pack_number(p, ahead(e->release_ms, now));
	pack_number(p, e->held ? ahead(e->hold_until_ms, now) : 0);
	pack_number(p, e->backoff_ms);
	pack_number(p, ahead(e->backoff_until_ms, now));
}

size_t world_pack(const struct world *w, uint8_t bytes[WORLD_PACKED_SIZE])
{
	struct packer p = {.bytes = bytes};

	pack_election(&p, &w->e, w->now);
	p.bytes[p.n++] = (uint8_t)w->owner;
	pack_token(&p, w->owner ? w->token : 0);
	p.bytes[p.n++] = (uint8_t)(w->owner ? w->version : 0);
	p.bytes[p.n++] = (uint8_t)(w->owner ? w->seen | w->touched << 1 : 0);
	p.bytes[p.n++] =
		(uint8_t)(w->other_registered | w->other_in_fleet << 1 | w->connected << 2);
	p.bytes[p.n++] = (uint8_t)((unsigned)w->watch | (unsigned)w->lib_watch << 4);
	if (w->lib_watch == WATCH_DATA) {
		pack_token(&p, w->lib_token);
		p.bytes[p.n++] = (uint8_t)w->lib_version;
	}
	pack_number(&p, ahead(w->danger_ms, w->now));
	p.bytes[p.n++] = (uint8_t)(w->returned | w->given_up << 1);
	pack_number(&p, ahead(w->calm_ms, w->now));
	p.bytes[p.n++] = (uint8_t)w->n_requests;
	for (size_t i = 0; i < w->n_requests; i++) {
		p.bytes[p.n++] = (uint8_t)(w->requests[i].type | (w->requests[i].to ? 16U : 0U));
		p.bytes[p.n++] = (uint8_t)w->requests[i].version;
	}
	p.bytes[p.n++] = (uint8_t)w->n_incoming;
	for (size_t i = 0; i < w->n_incoming; i++) {
		const struct incoming *in = &w->incoming[i];
		p.bytes[p.n++] = (uint8_t)((unsigned)in->type | (unsigned)in->watch << 4 |
					   (unsigned)in->outcome << 6);
		p.bytes[p.n++] = (uint8_t)in->node.owner;
		p.bytes[p.n++] = (uint8_t)(in->again ? 128U + (unsigned)in->next
						     : (unsigned)in->node.version);
		pack_token(&p, in->node.token);
	}
	return p.n;
}
