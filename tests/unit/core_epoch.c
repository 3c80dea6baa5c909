/* How a queue's leader comes to lead it, step by step, and what throws it back. */
#include <criterion/criterion.h>

#include "core/queue/epoch.h"

#define TOKEN 7

static struct epoch at(enum epoch_state state)
{
	return (struct epoch){.state = state, .token = TOKEN, .version = 3};
}

/* The step is allowed, and does this. */
static void step(struct epoch *e, struct epoch_event event, enum epoch_action action,
		 enum epoch_state to)
{
	enum epoch_state from = e->state;
	enum epoch_action did = epoch_step(e, &event);

	cr_expect_eq(did, action, "event %d at %d: does %d", event.type, from, did);
	cr_expect_eq(e->state, to, "event %d at %d: goes to %d", event.type, from, e->state);
	cr_expect(e->state == from || epoch_move_allowed(from, to));
}

static struct epoch_event of(enum epoch_event_type type)
{
	return (struct epoch_event){.type = type};
}

Test(epoch, a_leader_raises_it_and_leads)
{
	struct epoch e = at(EPOCH_BEGINS);

	step(&e, of(EPOCH_READY), EPOCH_SEND_READ, EPOCH_READING);
	step(&e, of(EPOCH_READY), EPOCH_NONE, EPOCH_READING);
	step(&e, (struct epoch_event){.type = EPOCH_FOUND, .token = TOKEN, .version = 9},
	     EPOCH_GO_ON, EPOCH_READ);
	step(&e, of(EPOCH_READY), EPOCH_SEND_RAISE, EPOCH_RAISING);
	step(&e, of(EPOCH_DONE), EPOCH_LEAD, EPOCH_ON);
	cr_expect_eq(e.version, 10, "the raise has made one more");
	step(&e, of(EPOCH_DONE), EPOCH_NONE, EPOCH_ON);
	cr_expect_eq(e.version, 10);
}

Test(epoch, a_failure_begins_anew)
{
	static const struct {
		enum epoch_event_type type;
		enum epoch_action action;
	} cases[] = {
		{EPOCH_MISSING, EPOCH_MAKE_FOLDERS},	  {EPOCH_CUT, EPOCH_RESTART},
		{EPOCH_FAILED, EPOCH_RESTART_LATE},	  {EPOCH_REFUSED, EPOCH_RESTART_LATE},
		{EPOCH_UNREGISTERED, EPOCH_RESTART_LATE}, {EPOCH_ANOTHER, EPOCH_RESTART_LATE},
	};

	for (enum epoch_state state = EPOCH_READING; state < EPOCH_STATES; state++)
		for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
			struct epoch e = at(state);

			/* A transaction of the leader may fail by what it was about. */
			if (state == EPOCH_ON && cases[i].type == EPOCH_FAILED)
				step(&e, of(cases[i].type), EPOCH_NONE, EPOCH_ON);
			else
				step(&e, of(cases[i].type), cases[i].action, EPOCH_BEGINS);
		}
}

Test(epoch, a_later_token_that_stays_is_told)
{
	const struct epoch_event later = {.type = EPOCH_FOUND, .token = TOKEN + 1, .now_ms = 1000};
	struct epoch_event again = later, other = later;
	struct epoch e = at(EPOCH_READING);

	cr_expect_not(epoch_is_above(&e, INT64_MAX / 2));
	step(&e, later, EPOCH_RESTART_LATE, EPOCH_BEGINS);
	e.state = EPOCH_READING;
	again.now_ms = 5000;
	step(&e, again, EPOCH_RESTART_LATE, EPOCH_BEGINS);
	cr_expect_not(epoch_is_above(&e, 1000 + EPOCH_ABOVE_MS - 1));
	cr_expect(epoch_is_above(&e, 1000 + EPOCH_ABOVE_MS), "since it was seen first");
	e.state = EPOCH_READING;
	other.token++;
	other.now_ms = 9000;
	step(&e, other, EPOCH_RESTART_LATE, EPOCH_BEGINS);
	cr_expect_not(epoch_is_above(&e, 9000 + EPOCH_ABOVE_MS - 1), "it is of another leader");
	e.state = EPOCH_READING;
	step(&e, (struct epoch_event){.type = EPOCH_FOUND, .token = TOKEN - 1}, EPOCH_GO_ON,
	     EPOCH_READ);
	cr_expect_not(epoch_is_above(&e, INT64_MAX / 2));
}
