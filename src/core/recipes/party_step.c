#include "core/recipes/party_step.h"

#include <assert.h>
#include <string.h>

static const char key_in_use[] = "a member with that key is there";
static const char was_lost[] = "the session with ZooKeeper ended as the gang began";
static const char forgotten[] = "the barrier has forgotten whether it opened meanwhile";

#define TO(state) (1u << (state))
static const unsigned allowed_moves[PARTY_STATES] = {
	[PARTY_WAITS] = TO(PARTY_RUNS) | TO(PARTY_LEAVES) | TO(PARTY_ENDS) | TO(PARTY_GONE),
	[PARTY_RUNS] = TO(PARTY_LEAVES) | TO(PARTY_LOSES) | TO(PARTY_GONE),
	[PARTY_LEAVES] = TO(PARTY_GONE),
	[PARTY_LOSES] = TO(PARTY_GONE),
	[PARTY_ENDS] = TO(PARTY_RUNS) | TO(PARTY_LOSES) | TO(PARTY_GONE),
};

bool party_move_allowed(enum party_state from, enum party_state to)
{
	return allowed_moves[from] & TO(to);
}

/* A member's step: the member, what happens, what was read, its node, and what comes of it. */
struct step {
	struct party_place *p;
	const struct party_event *e;
	const struct party_sight *s;
	const struct party_ticket *own; /* NULL: none */
	struct party_actions *a;
};

/* The one place that writes the state. */
static void move(struct step *t, enum party_state to)
{
	assert(t->p->state == to || party_move_allowed(t->p->state, to));
	t->p->state = to;
}

static void answer_with(struct step *t, struct party_verdict verdict)
{
	t->a->tells = true;
	t->a->verdict = verdict;
}

static struct party_verdict refusal(enum party_outcome outcome, const char *why)
{
	return (struct party_verdict){.outcome = outcome, .why = why};
}

static void answer_opened(struct step *t)
{
	answer_with(t, (struct party_verdict){.outcome = PARTY_OPENED,
					      .round = t->p->round,
					      .count = t->p->as.count});
}

static void depart(struct step *t, struct party_verdict verdict)
{
	move(t, PARTY_GONE);
	answer_with(t, verdict);
}

static void delete_node(struct step *t, const struct party_ticket *node, enum party_how how)
{
	t->a->act = PARTY_DELETE_NODE;
	t->a->node = node;
	t->a->how = how;
}

/* The member's node, of our session or of another. */
static const struct party_ticket *node_of(const struct step *t, bool ours)
{
	for (size_t i = 0; i < t->s->n; i++) {
		const struct party_ticket *node = &t->s->tickets[i];
		if (!node->left && node->id == t->p->as.id &&
		    (node->session == t->s->session) == ours)
			return node;
	}
	return NULL;
}

/* Whether the member may have been counted in a round that the record no longer has. */
static bool is_forgotten(const struct step *t)
{
	return !t->s->gang && t->p->placed &&
	       (!t->s->there || t->s->czxid != t->p->czxid || t->s->first > t->p->round + 1);
}

/* Its node goes unless it was counted. Without one, or if it cannot go, the answer is sent. */
static void end_waiting(struct step *t, struct party_verdict verdict)
{
	const struct party_sight *s = t->s;

	t->p->verdict = verdict;
	if (t->own && !s->refused) {
		move(t, PARTY_ENDS);
		delete_node(t, t->own, PARTY_UNLESS_COUNTED);
		return;
	}
	if (s->gang && s->there && s->size == 0 && !s->refused && s->n_names == 0 && !s->failed &&
	    s->removes)
		t->a->act = PARTY_REMOVE; /* the gang stays if another member has come */
	depart(t, t->e->asked && is_forgotten(t) ? refusal(PARTY_FAILED, forgotten) : verdict);
}

static void make_node(struct step *t)
{
	if (t->s->full)
		return;
	t->a->act = PARTY_MAKE_NODE;
	t->p->placed = true;
	t->p->round = t->s->round;
	t->p->czxid = t->s->czxid;
}

static void refuse_count(struct step *t, unsigned count)
{
	end_waiting(t, (struct party_verdict){.outcome = PARTY_OTHER_COUNT, .count = count});
}

/* --- at a barrier --------------------------------------------------------- */

/* Without a command the member is done, and a node of a repeated attempt is deleted. */
static void be_counted(struct step *t)
{
	struct party_place *p = t->p;

	p->round = t->e->index == 0 ? t->s->round : 0;
	p->czxid = t->s->czxid;
	t->a->until = PARTY_FOR_EVER;
	answer_opened(t);
	if (p->as.kind == 'c' && t->e->asked) {
		move(t, PARTY_RUNS);
	} else if (t->own) {
		move(t, p->as.kind == 'c' ? PARTY_LOSES : PARTY_ENDS);
		delete_node(t, t->own, PARTY_IN_ANY_CASE);
	} else {
		move(t, PARTY_GONE);
	}
}

/* The first waiter's count is the barrier's. */
static unsigned wanted(const struct party_sight *s)
{
	for (size_t i = 0; i < s->n; i++)
		if (s->tickets[i].index < 0)
			return s->tickets[i].count;
	return 0;
}

static void wait_at_barrier(struct step *t)
{
	unsigned count = t->own ? wanted(t->s) : t->p->as.count;

	if (count != t->p->as.count)
		refuse_count(t, count);
	else if (!t->own && is_forgotten(t))
		end_waiting(t, t->p->verdict);
	else if (!t->own && t->s->there)
		make_node(t);
}

/* The member waits for the others of its round to leave. */
static void leave_barrier(struct step *t)
{
	struct party_place *p = t->p;

	if (p->czxid == 0)
		p->czxid = t->s->czxid; /* made by the previous sidecar */
	if (t->own && !t->s->refused)
		delete_node(t, t->own, PARTY_IN_ANY_CASE);
	else if (!t->e->asked || !t->s->there || t->s->czxid != p->czxid ||
		 t->s->round != p->round || t->s->n_inside == 0)
		depart(t, refusal(PARTY_LEFT, NULL));
}

/* --- in a gang ------------------------------------------------------------ */

/* Whether another member with our key is present; if so, handles that. */
static bool has_rival(struct step *t)
{
	const struct party_ticket *at = NULL;

	for (size_t i = 0; i < t->s->n && !at; i++) {
		const struct party_ticket *other = &t->s->tickets[i];
		if (!other->left && other->id != t->p->as.id &&
		    strcmp(other->key, t->p->as.key) == 0 &&
		    (!t->own || other->number < t->own->number))
			at = other;
	}
	if (!at)
		return false;
	if (at->session == t->s->session || t->p->rival != at->id) {
		t->a->act = PARTY_RIVAL;
		t->a->node = at;
	} else if (!t->p->rival_goes) {
		end_waiting(t, refusal(PARTY_IN_USE, key_in_use));
	}
	return true;
}

/* Whether it comes as the others did. If not, it is refused. */
static bool fits(struct step *t, unsigned count, bool goes_on)
{
	bool fitting = t->p->as.count == count && (t->p->as.kind == 'c') == goes_on;

	if (t->p->as.count != count)
		refuse_count(t, count);
	else if (!fitting)
		end_waiting(t, refusal(PARTY_IN_USE, "the others have another --on-loss"));
	return fitting;
}

static void line_up(struct step *t)
{
	if (!has_rival(t) && !t->own)
		make_node(t);
}

/* No gang has begun: the first waiter decides the count. */
static void wait_forming(struct step *t)
{
	const struct party_sight *s = t->s;
	size_t first = 0;

	while (first < s->n && s->tickets[first].left)
		first++;
	if (first == s->n || fits(t, s->tickets[first].count, s->tickets[first].kind == 'c'))
		line_up(t);
}

/* A gang is running. */
static void wait_live(struct step *t)
{
	const struct party_sight *s = t->s;

	if (t->e->seat < 0 || s->marked[t->e->seat])
		end_waiting(t, refusal(PARTY_IN_USE, "a gang of that name runs"));
	else if (!fits(t, s->count, s->goes_on))
		return;
	else if (!s->goes_on)
		line_up(t); /* the gang stops, as we were lost: waits for the next one */
	else if (t->own)
		delete_node(t, t->own, PARTY_UNLESS_COUNTED);
	else if (!has_rival(t))
		t->a->act = PARTY_COME_BACK;
}

/* A gang has run, and none of its members is there. */
static void wait_dead(struct step *t)
{
	const struct party_sight *s = t->s;

	if (party_is_over(s) || (t->e->seat < 0 && s->dead)) {
		t->a->act = s->removes ? PARTY_REMOVE : PARTY_NOTHING;
	} else if (t->e->seat >= 0) {
		if (fits(t, s->count, s->goes_on))
			line_up(t);
	} else if (t->own) {
		delete_node(t, t->own, PARTY_UNLESS_COUNTED);
	} else if (s->n_waiting > 0) {
		end_waiting(t,
			    refusal(PARTY_IN_USE,
				    "members of an earlier run wait for the others to come back"));
	} else {
		t->a->act = PARTY_WAIT;
	}
}

static void wait_for_gang(struct step *t)
{
	if (t->s->there && t->s->size == 0)
		wait_forming(t);
	else if (t->s->there && t->s->n_running > 0)
		wait_live(t);
	else if (t->s->there)
		wait_dead(t);
}

/* If it may not go on, nobody waits to be told that it begins. */
static void go_on_running(struct step *t)
{
	bool counted = t->own && t->e->index >= 0;

	t->a->loses = !counted || (t->s->lost && !t->s->goes_on);
	if (counted) {
		t->p->index = (size_t)t->e->index;
		if (t->p->as.key[0] == '\0')
			memcpy(t->p->as.key, t->own->key, sizeof(t->own->key));
	}
	if (!t->a->loses && !t->e->lost) {
		t->a->starts = t->e->asked;
		return;
	}
	if (t->e->told || (t->e->attaching && counted)) {
		/* Its command may be alive until its lease is over: the node stays as long. */
		t->a->lets_go = t->e->asked;
		if (t->e->asked)
			answer_with(t, refusal(PARTY_NOT_THERE, "a member was lost"));
		return;
	}
	answer_with(t, refusal(t->e->attaching ? PARTY_NOT_THERE : PARTY_FAILED,
			       counted ? "a member was lost as the gang began" : was_lost));
	t->a->reads = counted;
	move(t, counted ? PARTY_LOSES : PARTY_GONE);
}

/* A member leaves in order; the last one to leave takes the gang away. */
static void leave_gang(struct step *t)
{
	const struct party_sight *s = t->s;

	t->p->left |= t->e->index >= 0 && s->marked[t->e->index];
	if (t->own && !s->refused)
		delete_node(t, t->own, t->e->index >= 0 ? PARTY_WITH_A_MARK : PARTY_IN_ANY_CASE);
	else if (t->p->left && s->there && t->e->index >= 0 && s->n_running == 0 && !s->refused &&
		 (s->removes || s->sent))
		t->a->act = s->removes ? PARTY_REMOVE : PARTY_NOTHING;
	else
		depart(t, t->p->verdict);
}

/* --- events --------------------------------------------------------------- */

/* The record is to tell whether the member is counted. True: that was its step. */
static bool is_settled(struct step *t, const struct party_ticket *stale)
{
	bool counted = t->e->index >= 0;

	if (!t->s->gang && counted) {
		be_counted(t);
		return true;
	}
	if (t->s->gang && !counted && stale && !t->s->refused) {
		delete_node(t, stale, PARTY_UNLESS_COUNTED);
		return true;
	}
	if (counted && t->own) { /* it begins, unless nobody asks for it any more */
		move(t, t->e->owned && t->e->asked ? PARTY_RUNS : PARTY_LOSES);
		t->p->index = (size_t)t->e->index;
		t->a->until = PARTY_FOR_EVER;
	} else if (counted) {
		end_waiting(t, refusal(PARTY_FAILED, was_lost));
		return true;
	}
	return false;
}

static void on_look(struct step *t)
{
	const struct party_ticket *stale = node_of(t, false);

	t->own = node_of(t, true);
	if (!t->s->gang && !t->own && t->p->state != PARTY_WAITS)
		t->own = stale;
	if ((t->p->state == PARTY_WAITS || t->p->state == PARTY_ENDS) && is_settled(t, stale))
		return;
	switch (t->p->state) {
	case PARTY_WAITS:
		if (t->s->refused)
			end_waiting(t, refusal(PARTY_FAILED, t->s->refused));
		else
			(t->s->gang ? wait_for_gang : wait_at_barrier)(t);
		break;
	case PARTY_ENDS: end_waiting(t, t->p->verdict); break;
	case PARTY_RUNS:
		if (t->s->gang)
			go_on_running(t);
		break;
	case PARTY_LEAVES: (t->s->gang ? leave_gang : leave_barrier)(t); break;
	case PARTY_LOSES:
		if (t->own && !t->s->refused)
			delete_node(t, t->own, PARTY_IN_ANY_CASE);
		else
			depart(t, t->p->verdict);
		break;
	case PARTY_GONE:
	case PARTY_STATES: assert(false);
	}
}

static void time_out(struct step *t)
{
	move(t, PARTY_ENDS);
	t->p->verdict = refusal(PARTY_TIMEOUT, NULL);
	t->a->until = t->p->late ? PARTY_HALF_GRACE : PARTY_GRACE;
	t->a->reads = true;
}

/*
 * A member whose timeout is over has to end, but not before it has had one look at who is there. It
 * is answered after the grace at the latest; a late one has had its half.
 */
static void on_timed_out(struct step *t)
{
	t->a->until = PARTY_FOR_EVER;
	if (t->p->state != PARTY_WAITS) {
		answer_with(t,
			    refusal(PARTY_FAILED, "the ZooKeeper servers did not answer in time"));
	} else if (t->p->looked || t->p->late) {
		time_out(t);
	} else {
		t->p->late = true;
		t->a->until = PARTY_HALF_GRACE;
	}
}

/* Its answer is due no more. A command that may be alive has as long as it was promised. */
static void on_abandoned(struct step *t)
{
	answer_with(t, refusal(PARTY_WITHDRAWN, NULL));
	t->a->reads = true;
	if (t->p->state == PARTY_WAITS)
		move(t, PARTY_ENDS);
	else if (t->p->state == PARTY_RUNS && !t->e->told && !t->e->attaching)
		move(t, PARTY_LOSES);
}

/* A waiter gets another node in the next session; any other may have been in a gang. */
static void on_expired(struct step *t)
{
	if (t->p->state == PARTY_RUNS)
		t->a->loses = true;
	else if (t->p->state != PARTY_WAITS)
		depart(t, refusal(PARTY_FAILED, "the session with ZooKeeper has ended"));
}

void party_step(struct party_place *p, const struct party_event *event, struct party_actions *out)
{
	struct step t = {.p = p, .e = event, .s = event->sight, .a = out};
	bool waits = p->state == PARTY_WAITS;

	*out = (struct party_actions){.act = PARTY_NOTHING};
	switch (event->type) {
	case PARTY_LOOK: on_look(&t); break;
	case PARTY_RIVALLED:
		t.own = node_of(&t, true);
		end_waiting(&t, refusal(PARTY_IN_USE, key_in_use));
		break;
	case PARTY_LOOKED:
		p->looked |= waits;
		if (waits && p->late)
			time_out(&t);
		break;
	case PARTY_TIMED_OUT: on_timed_out(&t); break;
	case PARTY_GIVEN_UP:
		if (!waits)
			break;
		move(&t, PARTY_ENDS);
		answer_with(&t, refusal(PARTY_FAILED, event->why));
		out->reads = true;
		break;
	case PARTY_ABANDONED: on_abandoned(&t); break;
	case PARTY_INSIDE:
		move(&t, PARTY_RUNS);
		out->until = PARTY_FOR_EVER;
		if (p->round > 0) /* of a barrier */
			answer_opened(&t);
		break;
	case PARTY_LEASE_OVER:
		move(&t, PARTY_LOSES);
		out->reads = true;
		break;
	case PARTY_FINISHED: /* ended as another was lost, its command leaves in order */
		move(&t, event->interrupted && !event->lost ? PARTY_LOSES : PARTY_LEAVES);
		break;
	case PARTY_EXPIRED: on_expired(&t); break;
	case PARTY_EVENTS: assert(false);
	}
}
