/* A rolling restart: the next step of a node about its slot, for each thing that it may read. */
#include <criterion/criterion.h>

#include "core/recipes/rolling_step.h"

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

/* A group of three, of which one may be away, and a node that has nothing of it. */
static struct rolling_seen group(enum rolling_order order)
{
	return (struct rolling_seen){.order = order, .registered = true, .made = true, .k = 1};
}

/* The same node with a slot in this state, which its order means. */
static struct rolling_seen slot(enum rolling_order order, enum rolling_state state)
{
	struct rolling_seen s = group(order);

	s.slots = 1;
	s.own = (struct rolling_own){.there = true,
				     .known = true,
				     .taken = true,
				     .asked = true,
				     .handled = true,
				     .drained = true,
				     .state = state};
	return s;
}

static void does(struct rolling_seen s, enum rolling_act act)
{
	struct rolling_step step = rolling_step(&s);

	cr_expect_eq(step.act, act, "does %d, wanted %d", step.act, act);
}

static void tells(struct rolling_seen s, enum rolling_result result, bool shows)
{
	struct rolling_step step = rolling_step(&s);

	cr_assert_eq(step.act, ROLLING_TELL, "does %d", step.act);
	cr_expect_eq(step.result, result, "tells %d, wanted %d", step.result, result);
	cr_expect_eq(step.shows, shows);
	cr_expect_eq(step.why != NULL, result == ROLLING_REFUSED, "whoever is refused is told why");
}

Test(rolling_step, the_moves_of_a_slot)
{
	for (enum rolling_state from = 0; from < ROLLING_STATES; from++)
		for (enum rolling_state to = 0; to < ROLLING_STATES; to++)
			for (int booted = 0; booted < 2; booted++) {
				bool runs = from == ROLLING_DRAINING && to == ROLLING_RUNNING;
				bool ends = from == ROLLING_RUNNING &&
					    (to == ROLLING_SOAKING || to == ROLLING_FAILED);
				bool boots =
					from == ROLLING_DRAINING && to == ROLLING_SOAKING && booted;

				cr_expect_eq(rolling_move_allowed(from, to, booted),
					     from == to || runs || ends || boots, "%d to %d", from,
					     to);
			}
}

Test(rolling_step, what_keeps_a_node_from_a_slot)
{
	struct rolling_seen s = group(ROLLING_TAKE);

	s.registered = false;
	does(s, ROLLING_AGAIN);
	s = group(ROLLING_TAKE);
	s.twin = true;
	tells(s, ROLLING_REFUSED, false);
	s = group(ROLLING_TAKE);
	s.made = false;
	does(s, ROLLING_MAKE);
	s = group(ROLLING_TAKE);
	s.halted = true;
	tells(s, ROLLING_HALTED, false);
	s = slot(ROLLING_TAKE, ROLLING_DRAINING);
	s.own.known = false;
	tells(s, ROLLING_REFUSED, false);
}

Test(rolling_step, another_number_counts_while_others_have_or_want_a_slot)
{
	static const struct {
		size_t slots, waiting, place;
		bool refused;
	} cases[] = {{0, 0, 0, false}, {0, 1, 0, false}, {1, 0, 0, true},
		     {0, 1, 1, true},  {0, 2, 0, true},	 {1, 1, 0, true}};

	for (size_t i = 0; i < COUNT(cases); i++) {
		struct rolling_seen s = group(ROLLING_TAKE);

		s.other_k = true;
		s.slots = cases[i].slots;
		s.waiting = cases[i].waiting;
		s.place = cases[i].place;
		if (cases[i].refused)
			tells(s, ROLLING_OTHER_K, false);
		else
			does(s, ROLLING_ACQUIRE);
	}
}

Test(rolling_step, a_slot_is_taken_in_the_order_of_the_queue)
{
	static const struct {
		size_t slots, waiting, place;
		enum rolling_act act;
	} cases[] = {{0, 0, 0, ROLLING_ACQUIRE},    {0, 1, 1, ROLLING_ENQUEUE},
		     {1, 0, 0, ROLLING_ENQUEUE},    {0, 2, 0, ROLLING_ACQUIRE},
		     {1, 2, 0, ROLLING_WAIT_GROUP}, {0, 2, 1, ROLLING_WAIT_BEFORE},
		     {1, 2, 1, ROLLING_WAIT_BEFORE}};

	for (size_t i = 0; i < COUNT(cases); i++) {
		struct rolling_seen s = group(ROLLING_TAKE);

		s.slots = cases[i].slots;
		s.waiting = cases[i].waiting;
		s.place = cases[i].place;
		does(s, cases[i].act);
	}
}

Test(rolling_step, who_has_a_slot_is_told_of_it)
{
	for (enum rolling_state state = 0; state < ROLLING_STATES; state++)
		tells(slot(ROLLING_TAKE, state),
		      state == ROLLING_FAILED ? ROLLING_HAS_FAILED : ROLLING_DONE, true);
	tells(slot(ROLLING_OWN, ROLLING_SOAKING), ROLLING_DONE, true);
	tells(group(ROLLING_OWN), ROLLING_NOTHING, false);
	tells(group(ROLLING_STATUS), ROLLING_DONE, false);
	tells(group(ROLLING_RELEASE), ROLLING_DONE, false);
	tells(group(ROLLING_RESUME), ROLLING_DONE, false);
}

/* A slot in which CMD may have begun stays: another process goes on with it. */
Test(rolling_step, who_gives_up_leaves_nothing_behind)
{
	static const struct {
		bool there, known, taken;
		enum rolling_state state;
		bool waits, drops;
	} cases[] = {
		{false, false, false, ROLLING_DRAINING, false, false},
		{false, false, false, ROLLING_DRAINING, true, false},
		{true, true, true, ROLLING_DRAINING, false, true},
		{true, true, true, ROLLING_DRAINING, true, true},
		{true, true, true, ROLLING_RUNNING, false, false},
		{true, true, false, ROLLING_DRAINING, false, false},
		{true, false, true, ROLLING_DRAINING, false, false},
	};

	for (size_t i = 0; i < COUNT(cases); i++) {
		struct rolling_seen s = slot(ROLLING_TAKE, cases[i].state);

		s.leaving = true;
		s.own.there = cases[i].there;
		s.own.known = cases[i].known;
		s.own.taken = cases[i].taken;
		s.waiting = cases[i].waits ? 1 : 0;
		struct rolling_step step = rolling_step(&s);
		if (cases[i].waits || cases[i].drops) {
			cr_expect_eq(step.act, ROLLING_GIVE_UP, "%zu", i);
			cr_expect_eq(step.drops, cases[i].drops, "%zu", i);
		} else {
			tells(s, ROLLING_DONE, false);
		}
	}
}

Test(rolling_step, a_slot_goes_on)
{
	struct rolling_seen s = slot(ROLLING_ADVANCE, ROLLING_DRAINING);

	s.to = ROLLING_RUNNING;
	s.idle = true;
	does(s, ROLLING_WRITE);
	s.idle = false;
	tells(s, ROLLING_BUSY, true);
	s.own.drained = false;
	does(s, ROLLING_DRAIN);
	s.own.handled = false;
	tells(s, ROLLING_CHANGED, true);
	s.own.is_done = true;
	tells(s, ROLLING_DONE, true);
	s.own.asked = false;
	tells(s, ROLLING_NOTHING, false);
	s = slot(ROLLING_ADVANCE, ROLLING_DRAINING);
	s.to = ROLLING_FAILED;
	tells(s, ROLLING_CHANGED, true);
	s = slot(ROLLING_ADVANCE, ROLLING_RUNNING);
	s.to = ROLLING_SOAKING;
	s.own.drained = false;
	does(s, ROLLING_WRITE);
	tells(group(ROLLING_ADVANCE), ROLLING_NOTHING, false);
}

Test(rolling_step, a_slot_is_freed_once_it_has_soaked)
{
	struct rolling_seen s = slot(ROLLING_FREE, ROLLING_SOAKING);

	does(s, ROLLING_WAIT_SLOT);
	s.soaked = true;
	does(s, ROLLING_FREE_IT);
	tells(slot(ROLLING_FREE, ROLLING_RUNNING), ROLLING_CHANGED, true);
	s = group(ROLLING_FREE);
	tells(s, ROLLING_NOTHING, false);
	s.sent = true;
	tells(s, ROLLING_DONE, false);
	s = slot(ROLLING_FREE, ROLLING_SOAKING);
	s.own.asked = false;
	tells(s, ROLLING_NOTHING, false);
}

Test(rolling_step, a_slot_that_is_not_understood_is_not_touched)
{
	static const enum rolling_order orders[] = {ROLLING_TAKE, ROLLING_OWN, ROLLING_ADVANCE,
						    ROLLING_FREE};

	for (size_t i = 0; i < COUNT(orders); i++) {
		struct rolling_seen s = slot(orders[i], ROLLING_SOAKING);

		s.own.known = false;
		tells(s, ROLLING_REFUSED, false);
	}
}

/* Two machines with one name would restart at the same time. */
Test(rolling_step, the_slot_of_a_twin_is_not_ours)
{
	static const enum rolling_order orders[] = {ROLLING_TAKE, ROLLING_OWN, ROLLING_ADVANCE,
						    ROLLING_FREE};
	struct rolling_seen s;

	for (size_t i = 0; i < COUNT(orders); i++) {
		s = slot(orders[i], ROLLING_SOAKING);
		s.own.others = true;
		tells(s, ROLLING_REFUSED, false);
	}
	s = slot(ROLLING_STATUS, ROLLING_SOAKING);
	s.own.others = true;
	tells(s, ROLLING_DONE, false);
	s = slot(ROLLING_TAKE, ROLLING_RUNNING);
	s.own.others = s.leaving = true;
	s.own.taken = false;
	tells(s, ROLLING_DONE, false);
}
