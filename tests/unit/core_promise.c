/* Promises of an answer: no handover of our own comes before their end. */
#include <criterion/criterion.h>

#include "core/election/election_promise.h"
#include "core/election/election_times.h"

#define T   8000
#define NOW 1000000

static const struct election_config config = {.yield = ELECTION_YIELD_RANK, .yield_delay_ms = 1000};

static bool released(const struct election_actions *actions)
{
	for (size_t i = 0; i < actions->n; i++)
		if (actions->list[i].type == ELECTION_RELEASE)
			return true;
	return false;
}

static struct election_time at(int64_t ms)
{
	return (struct election_time){.boot_ms = NOW + ms, .wall_ms = 30000 + ms};
}

static bool step(struct election *e, struct election_event event, int64_t ms)
{
	struct election_actions actions;

	event.now = at(ms);
	election_step(e, &event, &actions);
	return released(&actions);
}

static const struct election_node own = {
	.known = true, .exists = true, .mine = true, .owner = 1, .token = 5};

/* A deadline has come: whether it is given up then, at once or after a last look at the node. */
static bool gives_up(struct election *e, int64_t ms)
{
	if (step(e, (struct election_event){.type = ELECTION_DEADLINE}, ms))
		return true;
	return e->reads > 0 &&
	       step(e, (struct election_event){.type = ELECTION_NODE, .node = own}, ms);
}

/* Leads as the best candidate, and is to be yielded to serial 7 if better_ms is not negative. */
static void lead(struct election *e, int64_t better_ms)
{
	struct election_event view = {.type = ELECTION_VIEW, .view = {.candidate = true}};
	struct election_event node = {.type = ELECTION_NODE, .node = own};

	election_init(e, &config);
	step(e, (struct election_event){.type = ELECTION_UP, .up_timeout_ms = T}, 0);
	step(e, view, 0);
	step(e, node, 0);
	cr_assert(election_leads(e));
	if (better_ms < 0)
		return;
	view.view = (struct election_view){
		.candidate = true, .place = 1, .best = 7, .best_seen_ms = NOW + better_ms};
	step(e, view, better_ms);
}

Test(promise, is_bounded_by_the_lease_and_a_quarter_of_the_timeout)
{
	struct election e;

	lead(&e, -1);
	cr_expect_eq(election_promise(&e, at(0), 500), 500);
	cr_expect_eq(election_promise(&e, at(0), 6000), T / 4);
	cr_expect_eq(election_promise(&e, at(0), 0), 0);
	step(&e, (struct election_event){.type = ELECTION_EXPIRED}, 1);
	cr_expect_eq(election_promise(&e, at(1), 6000), 0);
}

Test(promise, ends_where_a_handover_is_due)
{
	struct election e;

	lead(&e, 0);
	cr_expect_eq(election_promise(&e, at(0), 6000), 1000);
	cr_expect_eq(election_promise(&e, at(400), 6000), 600);
	cr_expect(gives_up(&e, 1000));
	cr_expect_eq(election_promise(&e, at(1000), 6000), 0);
}

Test(promise, holds_a_handover_up_and_is_not_extended)
{
	struct election e;

	lead(&e, -1);
	cr_expect_eq(election_promise(&e, at(0), 1900),
		     1900); /* just before the better one joins */
	struct election_event view = {
		.type = ELECTION_VIEW,
		.view = {.candidate = true, .place = 1, .best = 7, .best_seen_ms = NOW}};
	cr_expect_not(step(&e, view, 0));
	cr_expect_not(gives_up(&e, 1000));
	cr_expect_eq(election_deadline(&e, at(1000)), NOW + 1900);
	cr_expect_eq(election_promise(&e, at(1500), 6000), 400);
	cr_expect_eq(election_promise(&e, at(1899), 6000), 1);
	cr_expect(gives_up(&e, 1900));
}

/* To ask is not to promise. */
Test(promise, what_may_be_said_promises_nothing)
{
	struct election e;

	lead(&e, 0);
	cr_expect(election_says(&e, at(0), 6000));
	cr_expect_not(election_says(&e, at(0), 0));
	cr_expect(gives_up(&e, 1000));
	cr_expect_not(election_says(&e, at(1000), 6000));
}

Test(promise, may_last_as_long_as_the_yield_delay)
{
	struct election e;

	lead(&e, -1);
	step(&e,
	     (struct election_event){
		     .type = ELECTION_CONFIG,
		     .config = {.yield = ELECTION_YIELD_RANK, .yield_delay_ms = 3000}},
	     0);
	cr_expect_eq(election_promise(&e, at(0), 6000), 3000);
}

Test(promise, a_shorter_one_takes_nothing_from_a_longer)
{
	struct election e;

	lead(&e, 0);
	election_promised(&e, NOW + 1900);
	election_promised(&e, NOW + 1200);
	cr_expect_not(gives_up(&e, 1200));
	cr_expect(gives_up(&e, 1900));
}

Test(promise, says_when_and_why_it_is_given_up)
{
	struct election e;
	int64_t when = 0;
	const char *why = NULL;

	lead(&e, -1);
	cr_expect_not(election_yield_at(&e, at(0), &when, &why), "nobody is better");
	lead(&e, 0);
	cr_assert(election_yield_at(&e, at(0), &when, &why));
	cr_expect_eq(when, NOW + 1000);
	cr_expect_str_eq(why, "yield-delay");
	election_promised(&e, NOW + 1900);
	cr_assert(election_yield_at(&e, at(0), &when, &why));
	cr_expect_eq(when, NOW + 1900);
	cr_expect_str_eq(why, "an answer that is still good");
	step(&e, (struct election_event){.type = ELECTION_EXPIRED}, 1);
	when = 0;
	cr_expect_not(election_yield_at(&e, at(1), &when, &why), "it is not led");
	cr_expect_eq(when, 0);
}
