#include <criterion/criterion.h>
#include <inttypes.h>
#include <string.h>

#include "core/election/election_times.h"

#define T_MS   10000
#define MINUTE 60000
#define OTHER  7  /* session of another worker */
#define SELF   99 /* ours */

static const struct election_config plain = {
	.yield = ELECTION_YIELD_RANK, .yield_delay_ms = 2000, .tick_guard_ms = 5000};

static struct election e;
static struct election_actions out;
static int64_t now;  /* CLOCK_BOOTTIME */
static int64_t skew; /* of the wall clock */
static bool leased = true, reading;

static struct election_time time_now(void)
{
	return (struct election_time){now, now + skew, leased, reading};
}

/* A deadline that has come must lead to something, and soon to a deadline that has not. */
static void check_deadline(void)
{
	struct election copy = e;
	struct election_actions actions;

	for (int i = 0; election_deadline(&copy, time_now()) <= now; i++) {
		cr_assert(i < 3, "spins in %s", election_state_name(e.state));
		struct election_event event = {.type = ELECTION_DEADLINE, .now = time_now()};
		election_step(&copy, &event, &actions);
		cr_assert(actions.n > 0, "idle deadline in %s", election_state_name(e.state));
	}
}

static void step(struct election_event event)
{
	event.now = time_now();
	election_step(&e, &event, &out);
	check_deadline();
}

#define STEP(...) step((struct election_event){__VA_ARGS__})

/* Steps that carry nothing, or one thing. */
static void simple(enum election_event_type type)
{
	STEP(.type = type);
}

static void up(void)
{
	STEP(.type = ELECTION_UP, .up_timeout_ms = T_MS);
}

static void view(bool candidate, uint32_t place)
{
	STEP(.type = ELECTION_VIEW, .view = {.candidate = candidate,
					     .newer = place > 0,
					     .place = place,
					     .best = place > 0 ? 5 : 0,
					     .best_seen_ms = now});
}

static void watch(enum election_watch what, int64_t owner_ms)
{
	STEP(.type = ELECTION_WATCH, .watch = what, .owner_ms = owner_ms);
}

static void absent(int64_t owner_ms)
{
	STEP(.type = ELECTION_NODE, .node = {.known = true}, .owner_ms = owner_ms);
}

static void node(int64_t owner, int64_t token)
{
	STEP(.type = ELECTION_NODE,
	     .node = {.known = true,
		      .exists = true,
		      .mine = owner == SELF,
		      .owner = owner,
		      .token = token},
	     .owner_ms = owner == OTHER ? T_MS : 0);
}

static void claimed(enum election_outcome outcome)
{
	STEP(.type = ELECTION_CLAIMED, .outcome = outcome);
}

static void released(enum election_outcome outcome)
{
	STEP(.type = ELECTION_RELEASED, .outcome = outcome);
}

static size_t count(enum election_action_type type)
{
	size_t n = 0;

	for (size_t i = 0; i < out.n; i++)
		n += out.list[i].type == type;
	return n;
}

static const struct election_action *find(enum election_action_type type)
{
	for (size_t i = 0; i < out.n; i++)
		if (out.list[i].type == type)
			return &out.list[i];
	return NULL;
}

static int64_t deadline(void)
{
	return election_deadline(&e, time_now());
}

/* Lets the time come that was asked for. */
static void wait_deadline(void)
{
	cr_assert_neq(deadline(), ELECTION_NEVER);
	if (deadline() > now)
		now = deadline();
	simple(ELECTION_DEADLINE);
}

#define is_state(s)    cr_assert_eq(e.state, (s), "%s instead of %s", election_state_name(e.state), #s)
#define sends(type, n) cr_assert_eq(count(type), (size_t)(n), #type)

static void begin(const struct election_config *config)
{
	now = 1000000;
	skew = 30000 - now % MINUTE; /* half past the minute */
	election_init(&e, config);
}

/* A release that has come due is sent: at once, or behind a read that finds the node still ours. */
static void released_after_read(void)
{
	if (e.state == ELECTION_LEADING) {
		cr_assert_not(e.watched && e.fresh);
		cr_assert_eq(e.reads, 1u);
		cr_assert_eq(deadline(), ELECTION_NEVER);
		node(SELF, e.node.token);
	}
	is_state(ELECTION_RELEASING);
	sends(ELECTION_RELEASE, 1);
}

/* The turn has come: that nobody leads is old news by now, so it looks once more before it claims. */
static void claims_after_read(int64_t owner_ms)
{
	is_state(ELECTION_VACANT);
	sends(ELECTION_READ, 1);
	cr_assert_eq(deadline(), ELECTION_NEVER);
	absent(owner_ms);
	is_state(ELECTION_CLAIMING);
}

/* Looks a little later who has taken what was given up. Nobody has. */
static void nobody_took_it(void)
{
	sends(ELECTION_READ, 0);
	cr_assert_eq(deadline() - now, ELECTION_VACANT_READ_MS);
	wait_deadline();
	sends(ELECTION_READ, 1);
	absent(T_MS);
}

/* Registered, in this place among the candidates, and it is not known yet who leads. */
static void join(uint32_t place)
{
	begin(&plain);
	up();
	is_state(ELECTION_FOLLOWING);
	view(true, place);
}

static void follow(uint32_t place)
{
	join(place);
	node(OTHER, 100);
	is_state(ELECTION_FOLLOWING);
}

/* With a watch that was set on this connection. */
static void lead_watching(void)
{
	join(0);
	absent(0);
	is_state(ELECTION_CLAIMING);
	claimed(ELECTION_DONE);
	is_state(ELECTION_RESOLVING);
	node(SELF, 200);
	is_state(ELECTION_LEADING);
}

/* With a watch of an earlier connection: before it gives anything up, it has to look. */
static void lead(void)
{
	lead_watching();
	simple(ELECTION_CUT);
	up();
	is_state(ELECTION_LEADING);
}

/* Leads, and a better one has been there for long enough: the release is on its way. */
static void release(void)
{
	lead();
	view(true, 1);
	wait_deadline();
	released_after_read();
}

static void vacant(uint32_t place)
{
	join(place);
	absent(0);
	is_state(ELECTION_VACANT);
}

/* --- claiming ---------------------------------------------------------------------------------- */

Test(claim, the_best_claims_at_once_and_reads_behind_it)
{
	join(0);
	sends(ELECTION_READ, 1);
	absent(0);
	is_state(ELECTION_CLAIMING);
	sends(ELECTION_CLAIM, 1);
	sends(ELECTION_READ, 0); /* the caller's own, behind the claim */
	cr_assert_eq(e.reads, 1u);
	cr_assert_not(election_leads(&e));
	claimed(ELECTION_DONE);
	cr_assert_not(election_leads(&e));
	node(SELF, 200);
	cr_assert(election_leads(&e));
	cr_assert_eq(e.node.token, 200);
	cr_assert_eq(deadline(), ELECTION_NEVER);
}

Test(claim, turns_grow_with_the_place)
{
	static const struct {
		uint32_t place;
		int64_t turn;
	} cases[] = {{1, 500}, {2, 1000}, {7, 3500}, {20, 10000}, {21, 10000}, {UINT32_MAX, 10000}};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		join(1);
		view(true, cases[i].place);
		absent(0);
		is_state(ELECTION_VACANT);
		cr_assert_eq(deadline() - now, cases[i].turn, "place %u", cases[i].place);
		now += cases[i].turn - 1;
		simple(ELECTION_DEADLINE);
		is_state(ELECTION_VACANT);
		now++;
		simple(ELECTION_DEADLINE);
		claims_after_read(0);
	}
}

/* Whom it waited for has come back, and was deleted by hand: seed 52 of the simulator. */
Test(claim, of_who_waited_looks_first_and_finds_another_owner)
{
	follow(0);
	watch(ELECTION_DELETED, 8000);
	wait_deadline();
	absent(8000);
	wait_deadline();
	is_state(ELECTION_VACANT);
	sends(ELECTION_READ, 1);
	simple(ELECTION_CUT);
	STEP(.type = ELECTION_NODE_FAILED);
	sends(ELECTION_CLAIM, 0);
	watch(ELECTION_CREATED, 0);
	up();
	absent(8000);
	is_state(ELECTION_VACANT);
	sends(ELECTION_CLAIM, 0);
	cr_assert_eq(deadline() - now, T_MS);
}

Test(claim, nobody_but_a_candidate)
{
	begin(&plain);
	up();
	STEP(.type = ELECTION_INTEREST, .on = true);
	sends(ELECTION_READ, 1);
	absent(0);
	is_state(ELECTION_VACANT);
	cr_assert_eq(deadline(), ELECTION_NEVER);
	now += 1000 * T_MS;
	simple(ELECTION_DEADLINE);
	is_state(ELECTION_VACANT);
	sends(ELECTION_CLAIM, 0);
}

/* How long everybody waits after the node is gone, for each way in which it may go. */
Test(claim, waits_for_an_owner_that_may_still_think_it_leads)
{
	static const struct {
		const char *what;
		enum election_watch watch;
		int64_t owner_ms;
		uint32_t place;
		int64_t wait;
	} cases[] = {
		{"deleted by hand, and its worker too", ELECTION_DELETED, 0, 0, T_MS},
		{"deleted by hand", ELECTION_DELETED, 8000, 0, 8000},
		{"deleted by hand, second", ELECTION_DELETED, 8000, 1, 8500},
		{"given up", ELECTION_CHANGED, 8000, 0, 0},
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		follow(cases[i].place);
		watch(cases[i].watch, cases[i].owner_ms);
		if (cases[i].wait == 0) {
			is_state(ELECTION_CLAIMING);
			continue;
		}
		is_state(ELECTION_VACANT);
		int64_t before = now;
		if (count(ELECTION_READ) == 0) {
			cr_assert_eq(deadline() - now, ELECTION_VACANT_READ_MS);
			wait_deadline();
		}
		sends(ELECTION_READ, 1);
		absent(cases[i].owner_ms);
		cr_assert_eq(deadline() - before, cases[i].wait, "%s", cases[i].what);
		wait_deadline();
		claims_after_read(cases[i].owner_ms);
	}
}

Test(claim, of_an_owner_not_yet_listed_waits_a_whole_timeout)
{
	join(0);
	STEP(.type = ELECTION_NODE,
	     .node = {.known = true, .exists = true, .owner = OTHER, .token = 100});
	watch(ELECTION_DELETED, 0);
	is_state(ELECTION_VACANT);
	wait_deadline();
	absent(0);
	cr_assert_eq(deadline() - now, T_MS - ELECTION_VACANT_READ_MS);
}

Test(claim, of_a_node_that_no_worker_made_waits_a_whole_timeout)
{
	join(0);
	STEP(.type = ELECTION_NODE, .node = {.known = true, .exists = true, .token = 100});
	watch(ELECTION_DELETED, 0);
	is_state(ELECTION_VACANT);
	wait_deadline();
	absent(0);
	cr_assert_eq(deadline() - now, T_MS - ELECTION_VACANT_READ_MS);
}

/* The answer to a claim tells the token: "leads" need not wait for the read behind it. */
Test(claim, whose_answer_tells_the_token_leads_at_once)
{
	join(0);
	absent(0);
	is_state(ELECTION_CLAIMING);
	STEP(.type = ELECTION_CLAIMED, .outcome = ELECTION_DONE, .token = 200, .owner = SELF);
	is_state(ELECTION_LEADING);
	cr_assert_eq(e.node.token, 200);
	cr_assert_eq(e.node.owner, SELF);
	/* Without a watch of its own nothing is given up yet. */
	view(true, 1);
	now += 60 * 60 * 1000;
	simple(ELECTION_DEADLINE);
	is_state(ELECTION_LEADING);
	node(SELF, 200);
	is_state(ELECTION_RELEASING);

	join(0);
	absent(0);
	STEP(.type = ELECTION_CLAIMED, .outcome = ELECTION_DONE, .token = 200, .owner = SELF);
	absent(0); /* somebody's hand was quicker than the read */
	is_state(ELECTION_CLAIMING);

	join(0);
	absent(0);
	simple(ELECTION_CUT);
	STEP(.type = ELECTION_CLAIMED, .outcome = ELECTION_DONE, .token = 200, .owner = SELF);
	is_state(ELECTION_RESOLVING);
}

/* Nobody leads, and no watch is set: who is not to claim at once sets one. */
Test(claim, of_what_was_found_absent_without_a_watch)
{
	join(0);
	STEP(.type = ELECTION_NODE, .node = {.known = true}, .unwatched = true);
	is_state(ELECTION_CLAIMING);
	sends(ELECTION_READ, 0);

	join(1);
	STEP(.type = ELECTION_NODE, .node = {.known = true}, .unwatched = true);
	is_state(ELECTION_VACANT);
	sends(ELECTION_READ, 1);
}

Test(claim, no_longer_waits_when_the_owner_has_left)
{
	follow(0);
	watch(ELECTION_DELETED, T_MS);
	is_state(ELECTION_VACANT);
	now += 100;
	view(true, 0); /* owner_ms is 0 */
	is_state(ELECTION_CLAIMING);
}

Test(claim, the_second_reads_when_it_was_given_up_to_the_best)
{
	follow(1);
	watch(ELECTION_CHANGED, T_MS);
	is_state(ELECTION_FOLLOWING);
	sends(ELECTION_READ, 1);
	absent(T_MS);
	is_state(ELECTION_VACANT);
	cr_assert_eq(deadline() - now, 500); /* handed over: nobody's lease to wait for */
}

/* A task that was given up while we were no candidate may have been taken and lost since. */
Test(claim, of_what_was_handed_over_long_ago_waits)
{
	follow(0);
	view(true, 2);
	watch(ELECTION_CHANGED, T_MS);
	sends(ELECTION_READ, 0);
	now += 60000;
	view(true, 1);
	sends(ELECTION_READ, 1);
	absent(T_MS);
	is_state(ELECTION_VACANT);
	cr_assert_eq(deadline() - now, ELECTION_STAGGER_MS + T_MS);

	follow(1);
	watch(ELECTION_CHANGED, T_MS);
	sends(ELECTION_READ, 1);
	simple(ELECTION_NODE_FAILED);
	wait_deadline();
	sends(ELECTION_READ, 1);
	absent(T_MS);
	cr_assert_eq(deadline() - now, ELECTION_STAGGER_MS + T_MS);
}

/* The owner may have registered anew, and is missing until its new record is read. */
Test(claim, waits_while_workers_are_still_to_be_read)
{
	struct election_event none = {.type = ELECTION_NODE, .node = {.known = true}};
	struct election_event best = {.type = ELECTION_VIEW, .view = {.candidate = true}};

	for (int i = 0; i < 2; i++) {
		follow(0);
		view(true, 2);
		watch(ELECTION_CHANGED, T_MS);
		view(true, 0);
		sends(ELECTION_READ, 1);
		none.owner_unsure = best.owner_unsure = true;
		step(none);
		is_state(ELECTION_VACANT);
		cr_assert_eq(deadline() - now, T_MS);
		now += 100;
		step(best);
		is_state(ELECTION_VACANT);
		cr_assert_eq(deadline() - now, T_MS - 100);
		best.owner_unsure = false;
		best.owner_ms = i == 0 ? T_MS : 0;
		step(best);
		if (i == 0)
			cr_assert_eq(deadline() - now, T_MS - 100, "it is there");
		else
			is_state(ELECTION_CLAIMING);
		best.owner_ms = 0;
	}
}

/* An owner that turns up late may have been granted a longer session timeout than ours. */
Test(claim, waits_by_the_longer_lease_of_an_owner_that_turns_up)
{
	follow(0);
	watch(ELECTION_DELETED, 0);
	int64_t gone = now;
	wait_deadline();
	sends(ELECTION_READ, 1);
	absent(0);
	is_state(ELECTION_VACANT);
	cr_assert_eq(deadline() - gone, T_MS);
	STEP(.type = ELECTION_VIEW, .view = {.candidate = true}, .owner_ms = 4 * T_MS);
	is_state(ELECTION_VACANT);
	cr_assert_eq(deadline() - gone, 4 * T_MS);
}

Test(claim, the_owner_itself_does_not_wait)
{
	lead();
	watch(ELECTION_DELETED, T_MS);
	is_state(ELECTION_CLAIMING);
}

Test(claim, taken_by_another_meanwhile)
{
	vacant(1);
	watch(ELECTION_CREATED, 0);
	is_state(ELECTION_FOLLOWING);
	sends(ELECTION_READ, 1);
	node(OTHER, 300);
	is_state(ELECTION_FOLLOWING);
	cr_assert_eq(e.node.token, 300);
}

Test(claim, of_somebody_never_seen_waits_a_whole_timeout)
{
	vacant(1);
	watch(ELECTION_CREATED, 0);
	absent(0); /* created and gone again: by whom? */
	is_state(ELECTION_VACANT);
	cr_assert_eq(deadline() - now, 500 + T_MS);
}

static void glance(int64_t owner, int64_t token)
{
	STEP(.type = ELECTION_GLANCE, .node = {.exists = true, .owner = owner, .token = token},
	     .owner_ms = T_MS);
}

/* The third was told once that somebody came to lead, and does not watch who. */
static void third_behind_somebody(void)
{
	vacant(1);
	view(true, 2);
	watch(ELECTION_CREATED, 0);
	is_state(ELECTION_FOLLOWING);
	sends(ELECTION_READ, 0);
	cr_assert(election_wants_glance(&e));
}

/* All those before it die at once. */
static void becomes_the_best(void)
{
	view(true, 0);
	sends(ELECTION_READ, 1);
	absent(0);
}

Test(claim, of_the_third_waits_for_a_leader_that_it_never_heard_of)
{
	third_behind_somebody();
	becomes_the_best();
	cr_assert_eq(deadline() - now, T_MS);
}

Test(claim, of_the_third_that_glanced_at_the_leader_does_not_wait)
{
	third_behind_somebody();
	glance(OTHER, 200);
	cr_assert_not(election_wants_glance(&e));
	sends(ELECTION_READ, 0);
	becomes_the_best();
	is_state(ELECTION_CLAIMING);
}

Test(claim, of_the_third_waits_for_whom_it_glanced_at_while_he_is_there)
{
	third_behind_somebody();
	glance(OTHER, 200);
	view(true, 0);
	absent(T_MS); /* deleted by hand */
	cr_assert_eq(deadline() - now, T_MS);
}

Test(watch, who_is_near_glances_when_another_became_the_best)
{
	for (uint32_t place = 0; place < 8; place++) {
		begin(&plain);
		up();
		view(true, place);
		bool glances = place >= 2 && place < 2 + ELECTION_GLANCE_PLACES;
		cr_assert_eq(election_wants_glance(&e), glances, "place %u", place);
		glance(OTHER, 200);
		cr_assert_not(election_wants_glance(&e));
		STEP(.type = ELECTION_VIEW, .view = {.candidate = true, .place = place, .best = 6});
		cr_assert_eq(election_wants_glance(&e), glances, "place %u", place);
		simple(ELECTION_CUT);
		cr_assert_not(election_wants_glance(&e));
	}
}

Test(claim, outcomes)
{
	static const struct {
		enum election_outcome outcome;
		int64_t owner; /* of the node then read, 0: there is none */
		enum election_state state;
	} cases[] = {
		{ELECTION_DONE, SELF, ELECTION_LEADING},
		{ELECTION_REFUSED, OTHER, ELECTION_FOLLOWING},
		{ELECTION_REFUSED, SELF, ELECTION_LEADING},
		{ELECTION_REFUSED, 0, ELECTION_VACANT},
		{ELECTION_UNKNOWN, SELF, ELECTION_LEADING},
		{ELECTION_UNKNOWN, OTHER, ELECTION_FOLLOWING},
		{ELECTION_UNKNOWN, 0, ELECTION_VACANT},
		{ELECTION_DONE, OTHER, ELECTION_FOLLOWING},
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		join(0);
		absent(0);
		claimed(cases[i].outcome);
		is_state(ELECTION_RESOLVING);
		if (cases[i].owner)
			node(cases[i].owner, 200);
		else
			absent(0);
		is_state(cases[i].state);
		if (cases[i].state == ELECTION_VACANT)
			cr_assert_eq(deadline() - now, ELECTION_RETRY_MS);
	}
}

Test(claim, lost_with_the_connection_is_resolved_after_it)
{
	join(0);
	absent(0);
	simple(ELECTION_CUT);
	claimed(ELECTION_UNKNOWN);
	simple(ELECTION_NODE_FAILED);
	is_state(ELECTION_RESOLVING);
	cr_assert_eq(deadline(), ELECTION_NEVER);
	now += 3000;
	up();
	sends(ELECTION_READ, 1);
	node(SELF, 200);
	is_state(ELECTION_LEADING);
}

/* Nothing is repeated oftener than once a second, whatever the server says. */
Test(claim, refused_again_and_again_does_not_spin)
{
	join(0);
	absent(0);
	for (int i = 0; i < 20; i++) {
		is_state(ELECTION_CLAIMING);
		claimed(ELECTION_REFUSED);
		absent(0);
		is_state(ELECTION_VACANT);
		int64_t before = now;
		wait_deadline();
		cr_assert_eq(now - before, ELECTION_RETRY_MS);
		claims_after_read(0);
	}
}

Test(claim, reads_that_fail_do_not_spin)
{
	static const uint32_t places[] = {0, 1};

	for (size_t i = 0; i < 2; i++) {
		join(places[i]);
		for (int j = 0; j < 20; j++) {
			simple(ELECTION_NODE_FAILED);
			sends(ELECTION_READ, 0);
			cr_assert_eq(deadline() - now, ELECTION_RETRY_MS);
			wait_deadline();
			sends(ELECTION_READ, 1);
		}
	}
}

/* --- yielding ---------------------------------------------------------------------------------- */

Test(yield, waits_until_the_better_has_been_there_for_a_while)
{
	lead();
	now += 100;
	view(true, 1);
	is_state(ELECTION_LEADING);
	cr_assert_eq(deadline() - now, plain.yield_delay_ms);
	now += plain.yield_delay_ms - 1;
	simple(ELECTION_DEADLINE);
	is_state(ELECTION_LEADING);
	now++;
	simple(ELECTION_DEADLINE);
	cr_assert(election_leads(&e));
	released_after_read();
	cr_assert_not(election_leads(&e));
	cr_assert_eq(find(ELECTION_RELEASE)->to, UINT64_C(5));
}

/*
 * The second-best, if it has not heard of the best, would take the task: seed 1000420 of the
 * simulator.
 */
Test(yield, without_a_delay_lets_the_others_hear_of_the_best)
{
	lead();
	STEP(.type = ELECTION_CONFIG, .config = {.yield = ELECTION_YIELD_RANK, .tick_guard_ms = 0});
	view(true, 2);
	cr_assert(deadline() - now >= ELECTION_YIELD_MIN_MS, "%d", (int)(deadline() - now));
	lead();
	STEP(.type = ELECTION_CONFIG, .config = {.yield = ELECTION_YIELD_RANK, .tick_guard_ms = 0});
	view(true, 1);
	sends(ELECTION_READ, 1); /* at once */
}

static void lead_with_delay(int64_t yield_delay_ms)
{
	struct election_config config = plain;

	lead();
	config.yield_delay_ms = yield_delay_ms;
	STEP(.type = ELECTION_CONFIG, .config = config);
}

/* As after a drain has ended, or a change of version: the delay counts from when it became the best. */
Test(yield, waits_until_the_better_has_been_the_best_for_a_while)
{
	static const int64_t delays[] = {0, 100, 500, 2000};

	for (size_t i = 0; i < sizeof(delays) / sizeof(delays[0]); i++) {
		lead_with_delay(delays[i]);
		STEP(.type = ELECTION_VIEW,
		     .view = {
			     .candidate = true, .place = 1, .best = 5, .best_seen_ms = now - T_MS});
		is_state(ELECTION_LEADING);
		cr_assert_eq(deadline() - now, delays[i] > 500 ? delays[i] : 500);
		now += 300;
		STEP(.type = ELECTION_VIEW,
		     .view = {
			     .candidate = true, .place = 2, .best = 5, .best_seen_ms = now - T_MS});
		cr_assert_eq(deadline() - now, (delays[i] > 500 ? delays[i] : 500) - 300);
		wait_deadline();
		released_after_read();
	}
}

/* As where a worker gets a newer version in place, or had lost its session: seed 1000274 of the simulator. */
Test(yield, waits_until_one_that_was_there_before_has_looked)
{
	static const int64_t delays[] = {0, 100, 500, 2000};

	for (size_t i = 0; i < sizeof(delays) / sizeof(delays[0]); i++) {
		lead_with_delay(delays[i]);
		STEP(.type = ELECTION_VIEW, .view = {.candidate = true,
						     .newer = true,
						     .place = 1,
						     .best = 5,
						     .best_seen_ms = now,
						     .best_returned = true});
		is_state(ELECTION_LEADING);
		cr_assert_eq(deadline() - now, delays[i] > 500 ? delays[i] : 500);
		wait_deadline();
		released_after_read();
	}
}

/* As when we are registered with an older version than before. */
Test(yield, waits_when_the_best_becomes_newer_than_we)
{
	lead();
	struct election_config config = plain;
	config.yield = ELECTION_YIELD_VERSION;
	STEP(.type = ELECTION_CONFIG, .config = config);
	STEP(.type = ELECTION_VIEW, .view = {.candidate = true, .place = 1, .best = 5});
	now += T_MS;
	STEP(.type = ELECTION_VIEW,
	     .view = {.candidate = true, .newer = true, .place = 1, .best = 5});
	is_state(ELECTION_LEADING);
	cr_assert_eq(deadline() - now, plain.yield_delay_ms);
}

Test(yield, modes)
{
	static const struct {
		enum election_yield yield;
		bool newer;
		bool yields;
	} cases[] = {
		{ELECTION_YIELD_RANK, false, true},	{ELECTION_YIELD_RANK, true, true},
		{ELECTION_YIELD_VERSION, false, false}, {ELECTION_YIELD_VERSION, true, true},
		{ELECTION_YIELD_NEVER, false, false},	{ELECTION_YIELD_NEVER, true, false},
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		lead();
		struct election_config config = plain;
		config.yield = cases[i].yield;
		STEP(.type = ELECTION_CONFIG, .config = config);
		STEP(.type = ELECTION_VIEW,
		     .view = {.candidate = true, .newer = cases[i].newer, .place = 2, .best = 5});
		now += plain.yield_delay_ms;
		simple(ELECTION_DEADLINE);
		cr_assert_eq(deadline(), ELECTION_NEVER);
		if (cases[i].yields)
			released_after_read();
		else
			is_state(ELECTION_LEADING);
	}
}

Test(yield, keeps_clear_of_the_full_minute_by_the_wall_clock)
{
	static const struct {
		int64_t into; /* where in the minute the yield becomes due */
		int64_t wait;
	} cases[] = {{0, 5000},	 {1, 4999},  {4999, 1},	    {5000, 0},
		     {30000, 0}, {55000, 0}, {55001, 9999}, {59999, 5001}};

	for (size_t i = 0; i < 2 * sizeof(cases) / sizeof(cases[0]); i++) {
		size_t c = i / 2;
		lead();
		view(true, 1);
		now += plain.yield_delay_ms;
		skew = cases[c].into - now % MINUTE - (i % 2 ? 100 * MINUTE : 0); /* before 1970 */
		simple(ELECTION_DEADLINE);
		if (cases[c].wait == 0) {
			released_after_read();
			continue;
		}
		is_state(ELECTION_LEADING);
		cr_assert_eq(deadline() - now, cases[c].wait, "at %d", (int)cases[c].into);
		int64_t at;
		const char *why;
		cr_assert(election_yield_at(&e, time_now(), &at, &why));
		cr_assert_str_eq(why, "tick-guard");
		wait_deadline();
		released_after_read();
	}
}

Test(yield, follows_a_wall_clock_that_jumps)
{
	lead();
	view(true, 1);
	now += plain.yield_delay_ms;
	skew = 1000 - now % MINUTE;
	simple(ELECTION_DEADLINE);
	cr_assert_eq(deadline() - now, 4000);
	skew += 20000;
	cr_assert_leq(deadline(), now);
	simple(ELECTION_DEADLINE);
	released_after_read();
}

Test(yield, waits_for_a_held_run_but_not_for_ever)
{
	lead();
	STEP(.type = ELECTION_HOLD, .on = true, .hold_until_ms = now + 3600 * 1000);
	view(true, 1);
	now += 10 * T_MS;
	simple(ELECTION_DEADLINE);
	is_state(ELECTION_LEADING);
	int64_t at;
	const char *why;
	cr_assert(election_yield_at(&e, time_now(), &at, &why));
	struct election ended = e;
	STEP(.type = ELECTION_HOLD, .on = false);
	released_after_read();
	e = ended;
	wait_deadline();
	released_after_read();
}

/* The promise to a job does not become shorter when another job begins. */
Test(yield, waits_for_the_longest_hold)
{
	lead();
	STEP(.type = ELECTION_HOLD, .on = true, .hold_until_ms = now + 30000);
	STEP(.type = ELECTION_HOLD, .on = true, .hold_until_ms = now + 10000);
	cr_assert_eq(e.hold_until_ms, now + 30000);
	STEP(.type = ELECTION_HOLD, .on = true, .hold_until_ms = now + 40000);
	cr_assert_eq(e.hold_until_ms, now + 40000);
	STEP(.type = ELECTION_HOLD, .on = false, .hold_until_ms = now + 40000);
	STEP(.type = ELECTION_HOLD, .on = true, .hold_until_ms = now + 10000);
	cr_assert_eq(e.hold_until_ms, now + 10000);
}

Test(yield, of_no_candidate_is_soon)
{
	lead();
	skew = -now; /* on the full minute: no guard for what is not voluntary */
	STEP(.type = ELECTION_VIEW,
	     .view = {.candidate = false, .place = UINT32_MAX, .best = 5, .best_seen_ms = now});
	is_state(ELECTION_LEADING);
	cr_assert_eq(deadline() - now, ELECTION_YIELD_MIN_MS); /* for the best to have looked */
	wait_deadline();
	released_after_read();
	released(ELECTION_DONE);
	is_state(ELECTION_FOLLOWING);
	cr_assert_eq(deadline(), ELECTION_NEVER);
}

Test(yield, of_no_candidate_that_is_refused_does_not_spin)
{
	lead();
	view(false, UINT32_MAX);
	wait_deadline();
	for (int i = 0; i < 20; i++) {
		released_after_read();
		released(ELECTION_REFUSED);
		is_state(ELECTION_RESOLVING);
		node(SELF, 200);
		is_state(ELECTION_LEADING);
		int64_t before = now;
		wait_deadline();
		cr_assert_eq(now - before, ELECTION_RETRY_MS);
	}
}

Test(yield, outcomes)
{
	release();
	released(ELECTION_DONE);
	is_state(ELECTION_VACANT);
	nobody_took_it();
	cr_assert_eq(deadline() - now,
		     ELECTION_ACCEPT_MS + ELECTION_STAGGER_MS - ELECTION_VACANT_READ_MS);
	watch(ELECTION_CREATED, 0);
	node(OTHER, 300);
	is_state(ELECTION_FOLLOWING);

	release();
	released(ELECTION_REFUSED);
	is_state(ELECTION_RESOLVING);
	node(SELF, 200);
	is_state(ELECTION_LEADING);
	cr_assert_eq(deadline() - now, ELECTION_RETRY_MS);

	release();
	simple(ELECTION_CUT);
	released(ELECTION_UNKNOWN);
	is_state(ELECTION_RESOLVING);
	cr_assert_not(election_leads(&e));
	up();
	node(SELF, 200); /* it did not happen */
	is_state(ELECTION_LEADING);

	release();
	simple(ELECTION_CUT);
	released(ELECTION_UNKNOWN);
	up();
	node(OTHER, 300);
	is_state(ELECTION_FOLLOWING);
}

/* Gives it up and takes it back; returns how long the next yield will be waited for. */
static int64_t yield_in_vain(int64_t token)
{
	wait_deadline();
	released_after_read();
	released(ELECTION_DONE);
	nobody_took_it();
	wait_deadline();
	claims_after_read(T_MS);
	claimed(ELECTION_DONE);
	node(SELF, token);
	is_state(ELECTION_LEADING);
	return e.backoff_until_ms - now;
}

/* After a pause, say: the watch that tells of it has not been handled yet. */
Test(yield, is_undone_at_once_when_the_better_one_is_gone)
{
	release();
	released(ELECTION_DONE);
	is_state(ELECTION_VACANT);
	cr_assert_eq(deadline() - now, ELECTION_VACANT_READ_MS);
	view(true, 0);
	is_state(ELECTION_CLAIMING);
}

Test(yield, is_sent_at_once_while_a_watch_of_this_connection_is_set)
{
	lead_watching();
	view(true, 1);
	wait_deadline();
	is_state(ELECTION_RELEASING);
	sends(ELECTION_READ, 0);
	sends(ELECTION_RELEASE, 1);
	cr_assert_eq(find(ELECTION_RELEASE)->version, e.node.version);
	released(ELECTION_DONE);
	is_state(ELECTION_VACANT);
	/* Whoever takes it gets the time to do so before it is looked at. */
	sends(ELECTION_READ, 0);
	cr_assert_eq(deadline() - now, ELECTION_VACANT_READ_MS);
	wait_deadline();
	sends(ELECTION_READ, 1);

	lead_watching();
	e.watched = false;
	view(true, 1);
	wait_deadline();
	is_state(ELECTION_LEADING);
	sends(ELECTION_RELEASE, 0);
}

/* After a pause the watch may have fired, and another's node be there: seed 1000152 of the simulator. */
Test(yield, without_a_lease_trusts_no_watch)
{
	lead_watching();
	leased = false;
	view(true, 1);
	wait_deadline();
	is_state(ELECTION_LEADING);
	sends(ELECTION_RELEASE, 0);
	sends(ELECTION_READ, 1);
	node(OTHER, 300);
	is_state(ELECTION_FOLLOWING);
	sends(ELECTION_RELEASE, 0);
	leased = true;
}

/* The best of the workers that are read first is seldom the best of thousands. */
Test(yield, waits_until_a_big_fleet_is_read)
{
	const char *reason;
	int64_t at;

	lead_watching();
	reading = true;
	view(true, 1);
	for (int i = 0; i < 5; i++) {
		wait_deadline();
		sends(ELECTION_RELEASE, 0);
		cr_assert(election_yield_at(&e, time_now(), &at, &reason));
		cr_assert(at > now, "%" PRId64 " ms ago", now - at);
	}
	cr_assert_str_eq(reason, "workers to be read");
	reading = false;
	view(true, 1);
	wait_deadline();
	sends(ELECTION_RELEASE, 1);
}

Test(yield, does_not_delete_the_node_of_another)
{
	lead();
	view(true, 1);
	wait_deadline();
	sends(ELECTION_READ, 1);
	sends(ELECTION_RELEASE, 0);
	node(OTHER, 300);
	is_state(ELECTION_FOLLOWING);
	sends(ELECTION_RELEASE, 0);

	lead();
	view(true, 1);
	wait_deadline();
	absent(0);
	is_state(ELECTION_VACANT);
}

Test(yield, reads_that_fail_before_it_do_not_spin)
{
	lead();
	view(true, 1);
	wait_deadline();
	for (int i = 0; i < 20; i++) {
		simple(ELECTION_NODE_FAILED);
		is_state(ELECTION_LEADING);
		cr_assert_eq(deadline() - now, ELECTION_RETRY_MS);
		wait_deadline();
		sends(ELECTION_READ, 1);
	}
	released_after_read();
}

Test(yield, backs_off_doubling_while_nobody_takes_it)
{
	static const int64_t waits[] = {10000, 20000, 40000, 80000, 160000, 300000, 300000};

	lead();
	struct election_config config = plain;
	config.tick_guard_ms = 0;
	STEP(.type = ELECTION_CONFIG, .config = config);
	view(true, 1);
	for (size_t i = 0; i < sizeof(waits) / sizeof(waits[0]); i++)
		cr_assert_eq(yield_in_vain(201 + (int64_t)i), waits[i]);
	/* Another best candidate ends the series. */
	STEP(.type = ELECTION_VIEW,
	     .view = {.candidate = true, .place = 1, .best = 6, .best_seen_ms = now});
	cr_assert_eq(deadline() - now, plain.yield_delay_ms);
	wait_deadline();
	released_after_read();
}

/* Two hosts, each of which names the other as the best. */
static void take_what_was_given_up(int64_t token)
{
	node(OTHER, token - 1);
	is_state(ELECTION_FOLLOWING);
	watch(ELECTION_CHANGED, T_MS);
	absent(T_MS);
	is_state(ELECTION_VACANT);
	wait_deadline();
	claims_after_read(T_MS);
	STEP(.type = ELECTION_CLAIMED, .outcome = ELECTION_DONE, .token = token, .owner = SELF);
	is_state(ELECTION_LEADING);
	node(SELF, token);
}

static const struct election_config no_guard = {.yield = ELECTION_YIELD_RANK,
						.yield_delay_ms = 2000};

static void give_up_to_the_best(void)
{
	wait_deadline();
	released_after_read();
	released(ELECTION_DONE);
	nobody_took_it();
	watch(ELECTION_CREATED, 0);
}

Test(yield, of_what_another_gave_up_though_it_is_better_waits)
{
	static const int64_t waits[] = {10000, 20000, 40000, 80000, 160000, 300000, 300000};

	begin(&no_guard);
	up();
	view(true, 1);
	now += MINUTE; /* the best has been there for long */
	for (size_t i = 0; i < sizeof(waits) / sizeof(waits[0]); i++) {
		take_what_was_given_up(200 + 2 * (int64_t)i);
		cr_assert_eq(deadline() - now, waits[i]);
		give_up_to_the_best();
	}
}

Test(yield, of_what_another_gave_up_waits_for_a_longer_yield_delay)
{
	struct election_config config = no_guard;

	config.yield_delay_ms = 7 * MINUTE;
	begin(&config);
	up();
	view(true, 1);
	now += 8 * MINUTE;
	for (int64_t i = 0; i < 3; i++) {
		take_what_was_given_up(200 + 2 * i);
		cr_assert_eq(deadline() - now, config.yield_delay_ms);
		give_up_to_the_best();
	}
}

Test(yield, of_what_comes_back_from_one_that_disagrees_waits_for_the_longest)
{
	struct election_view other = {.candidate = true,
				      .place = 1,
				      .best = 5,
				      .best_disagrees = true,
				      .best_seen_ms = 900000};

	begin(&no_guard);
	up();
	STEP(.type = ELECTION_VIEW, .view = other);
	now += MINUTE;
	take_what_was_given_up(200);
	cr_assert_eq(deadline() - now, ELECTION_BACKOFF_MIN_MS);
	give_up_to_the_best();
	take_what_was_given_up(202);
	cr_assert_eq(deadline() - now, ELECTION_BACKOFF_MAX_MS);

	/* Its files are mended: it registers anew. */
	other.best = 6;
	other.best_disagrees = false;
	other.best_seen_ms = now;
	STEP(.type = ELECTION_VIEW, .view = other);
	cr_assert_eq(deadline() - now, no_guard.yield_delay_ms);
	/* Ours are: we are the best. */
	view(true, 0);
	cr_assert_eq(deadline(), ELECTION_NEVER);
}

Test(yield, to_one_that_joins_is_not_delayed_by_an_earlier_handover)
{
	begin(&no_guard);
	up();
	view(true, 1);
	now += MINUTE;
	take_what_was_given_up(200);
	STEP(.type = ELECTION_VIEW,
	     .view = {.candidate = true, .place = 2, .best = 6, .best_seen_ms = now});
	cr_assert_eq(deadline() - now, no_guard.yield_delay_ms);
}

/* The best worker was late when the leader was lost; no file disagrees. */
Test(yield, to_one_that_was_late_when_the_leader_was_lost_is_as_soon_as_ever)
{
	begin(&no_guard);
	up();
	view(true, 1);
	now += MINUTE;
	node(OTHER, 100);
	watch(ELECTION_DELETED, 0);
	is_state(ELECTION_VACANT);
	wait_deadline();
	absent(0);
	while (e.state == ELECTION_VACANT) {
		wait_deadline();
		if (e.state == ELECTION_VACANT)
			absent(0);
	}
	is_state(ELECTION_CLAIMING);
	STEP(.type = ELECTION_CLAIMED, .outcome = ELECTION_DONE, .token = 200, .owner = SELF);
	is_state(ELECTION_LEADING);
	node(SELF, 200);
	is_state(ELECTION_RELEASING);
}

Test(yield, of_no_candidate_does_not_wait_for_the_backoff)
{
	lead();
	view(true, 1);
	yield_in_vain(201);
	view(false, UINT32_MAX);
	cr_assert_eq(deadline() - now, ELECTION_YIELD_MIN_MS);
	wait_deadline();
	released_after_read();
}

/* --- watches and reads ------------------------------------------------------------------------- */

Test(watch, only_the_best_two_and_who_asks_watch)
{
	static const struct {
		bool candidate;
		uint32_t place;
		bool interest;
		size_t reads;
	} cases[] = {{true, 0, false, 1},  {true, 1, false, 1},		{true, 2, false, 0},
		     {true, 2, true, 1},   {false, 0, false, 0},	{false, 1, true, 1},
		     {true, 20, false, 0}, {false, UINT32_MAX, true, 1}};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		begin(&plain);
		STEP(.type = ELECTION_INTEREST, .on = cases[i].interest);
		up();
		size_t reads = count(ELECTION_READ);
		view(cases[i].candidate, cases[i].place);
		cr_assert_eq(reads + count(ELECTION_READ), cases[i].reads, "case %zu", i);
	}
}

Test(watch, all_watch_where_the_best_goes_by_other_files)
{
	for (uint32_t place = 1; place < 30; place++) {
		begin(&plain);
		up();
		STEP(.type = ELECTION_VIEW,
		     .view = {
			     .candidate = true, .place = place, .best = 5, .best_disagrees = true});
		sends(ELECTION_READ, place < 20);
	}
}

Test(watch, one_read_at_a_time)
{
	join(0);
	view(true, 0);
	sends(ELECTION_READ, 0);
	STEP(.type = ELECTION_INTEREST, .on = true);
	sends(ELECTION_READ, 0);
	cr_assert_eq(e.reads, 1u);
}

Test(watch, interest_looks_once_and_again_when_it_fires)
{
	begin(&plain);
	up();
	STEP(.type = ELECTION_INTEREST, .on = true);
	node(OTHER, 100);
	cr_assert_not(election_unsettled(&e));
	watch(ELECTION_CHANGED, 0);
	sends(ELECTION_READ, 1);
	cr_assert(election_unsettled(&e));
	node(OTHER, 101);
	STEP(.type = ELECTION_INTEREST, .on = false);
	watch(ELECTION_CHANGED, 0);
	sends(ELECTION_READ, 0);
}

/* Looked at while no candidate and found vacant: that is known for as long as the watch is set. */
Test(watch, a_vacant_task_is_known_to_who_becomes_a_candidate)
{
	begin(&plain);
	up();
	STEP(.type = ELECTION_INTEREST, .on = true);
	absent(0);
	STEP(.type = ELECTION_INTEREST, .on = false);
	is_state(ELECTION_VACANT);
	cr_assert_eq(deadline(), ELECTION_NEVER);
	now += 60 * 1000;
	/* Its turn begins now, and not when the task came to be vacant. */
	view(true, 1);
	is_state(ELECTION_VACANT);
	cr_assert_eq(deadline() - now, ELECTION_STAGGER_MS);
	view(true, 0);
	claims_after_read(0);
}

Test(watch, a_vacant_task_that_was_taken_is_not_looked_at_by_who_is_no_candidate)
{
	begin(&plain);
	up();
	STEP(.type = ELECTION_INTEREST, .on = true);
	absent(0);
	STEP(.type = ELECTION_INTEREST, .on = false);
	watch(ELECTION_CREATED, 0);
	is_state(ELECTION_FOLLOWING);
	sends(ELECTION_READ, 0);
	view(true, 0);
	sends(ELECTION_READ, 1);
	absent(0);
	is_state(ELECTION_VACANT); /* whoever took it may be within its lease */
}

Test(watch, the_leader_looks_when_its_node_changed)
{
	lead();
	watch(ELECTION_CHANGED, 0);
	is_state(ELECTION_RESOLVING);
	cr_assert_not(election_leads(&e));
	sends(ELECTION_READ, 1);
	node(SELF, 200);
	is_state(ELECTION_LEADING);

	watch(ELECTION_CHANGED, 0);
	node(OTHER, 300);
	is_state(ELECTION_FOLLOWING);
}

Test(watch, a_leader_without_a_watch_reads_again_even_when_a_yield_is_far_off)
{
	lead();
	STEP(.type = ELECTION_HOLD, .on = true, .hold_until_ms = now + 3600 * 1000);
	view(true, 1);
	e.watched = false;
	simple(ELECTION_DEADLINE);
	sends(ELECTION_READ, 1);
	simple(ELECTION_NODE_FAILED);
	cr_assert_eq(deadline() - now, ELECTION_RETRY_MS);
	wait_deadline();
	sends(ELECTION_READ, 1);
	is_state(ELECTION_LEADING);
}

Test(watch, a_leader_node_that_is_replaced_is_a_new_token)
{
	lead();
	e.watched = false;
	simple(ELECTION_DEADLINE);
	node(SELF, 201);
	is_state(ELECTION_LEADING);
	cr_assert_eq(e.node.token, 201);
	sends(ELECTION_TELL, 2);
}

/* --- connections and sessions ------------------------------------------------------------------ */

Test(session, a_cut_keeps_the_role_and_sends_nothing)
{
	lead();
	simple(ELECTION_CUT);
	is_state(ELECTION_LEADING);
	view(true, 1);
	now += T_MS;
	simple(ELECTION_DEADLINE);
	is_state(ELECTION_LEADING);
	cr_assert_eq(out.n, (size_t)0);
	cr_assert_eq(deadline(), ELECTION_NEVER);
	cr_assert_not(election_unsettled(&e));
	up();
	released_after_read(); /* it was due */
}

/* A read may be stale if it was answered before anything was confirmed on the connection. */
Test(session, a_read_answered_while_cut_is_read_again)
{
	release();
	simple(ELECTION_CUT);
	e.reads = 1; /* handed to the client before we heard of the cut */
	released(ELECTION_UNKNOWN);
	node(SELF, 200);
	is_state(ELECTION_RESOLVING);
	up();
	sends(ELECTION_READ, 1);
	node(OTHER, 300);
	is_state(ELECTION_FOLLOWING);
}

/* A watch that fires on reconnecting may hide that others had it meanwhile. */
Test(session, nothing_told_by_a_reconnection_is_a_handover)
{
	follow(0);
	simple(ELECTION_CUT);
	watch(ELECTION_CHANGED, T_MS);
	is_state(ELECTION_FOLLOWING);
	up();
	sends(ELECTION_READ, 1);
	absent(0);
	is_state(ELECTION_VACANT);
	cr_assert_eq(deadline() - now, T_MS);

	follow(0);
	simple(ELECTION_CUT);
	watch(ELECTION_DELETED, 0);
	is_state(ELECTION_VACANT);
	up();
	is_state(ELECTION_VACANT);
	wait_deadline();
	absent(0);
	cr_assert_eq(deadline() - now, T_MS - ELECTION_VACANT_READ_MS);
}

/* The owner may have claimed it again, and that node have been deleted as well, while we were away. */
Test(session, a_wait_begins_anew_with_the_connection)
{
	follow(0);
	watch(ELECTION_DELETED, T_MS);
	is_state(ELECTION_VACANT);
	cr_assert_eq(deadline() - now, ELECTION_VACANT_READ_MS);
	simple(ELECTION_CUT);
	now += T_MS - 1;
	up();
	is_state(ELECTION_VACANT);
	cr_assert_eq(deadline() - now, T_MS);
}

Test(session, a_handover_does_not_outlive_the_connection)
{
	follow(1);
	watch(ELECTION_CHANGED, T_MS);
	absent(T_MS);
	cr_assert_eq(deadline() - now, ELECTION_STAGGER_MS);
	simple(ELECTION_CUT);
	up();
	cr_assert_eq(deadline() - now, ELECTION_STAGGER_MS + T_MS);
}

static void make_down(void)
{
	begin(&plain);
}

static void make_following(void)
{
	follow(0);
}

static void make_vacant(void)
{
	vacant(1);
}

static void make_claiming(void)
{
	join(0);
	absent(0);
}

static void make_resolving(void)
{
	make_claiming();
	claimed(ELECTION_DONE);
}

static const struct {
	enum election_state state;
	void (*make)(void);
} makers[] = {
	{ELECTION_DOWN, make_down},	      {ELECTION_FOLLOWING, make_following},
	{ELECTION_VACANT, make_vacant},	      {ELECTION_CLAIMING, make_claiming},
	{ELECTION_RESOLVING, make_resolving}, {ELECTION_LEADING, lead},
	{ELECTION_RELEASING, release},
};

Test(session, expiry_from_every_state_forgets_everything)
{
	for (size_t i = 0; i < sizeof(makers) / sizeof(makers[0]); i++) {
		makers[i].make();
		is_state(makers[i].state);
		simple(ELECTION_EXPIRED);
		is_state(ELECTION_DOWN);
		cr_assert_not(e.up || e.node.known || e.yielded || e.view.candidate || e.reads);
		cr_assert_eq(deadline(), ELECTION_NEVER);
		up();
		is_state(ELECTION_FOLLOWING);
		sends(ELECTION_READ, 0); /* no candidate before the fleet has been read */
		view(true, 0);
		sends(ELECTION_READ, 1);
		node(OTHER, 100);
		is_state(ELECTION_FOLLOWING);
	}
}

Test(session, a_cut_in_every_state_leaves_a_way_on)
{
	for (size_t i = 1; i < sizeof(makers) / sizeof(makers[0]); i++) {
		makers[i].make();
		uint32_t reads = e.reads;
		simple(ELECTION_CUT);
		if (makers[i].state == ELECTION_CLAIMING)
			claimed(ELECTION_UNKNOWN);
		if (makers[i].state == ELECTION_RELEASING)
			released(ELECTION_UNKNOWN);
		while (reads-- > 0)
			simple(ELECTION_NODE_FAILED);
		cr_assert_eq(deadline(), ELECTION_NEVER);
		up();
		if (e.reads > 0)
			node(OTHER, 300);
		if (e.state == ELECTION_VACANT)
			wait_deadline();
		cr_assert_neq(e.state, ELECTION_RESOLVING, "from %s",
			      election_state_name(makers[i].state));
	}
}

Test(session, moves_are_told_with_where_they_came_from)
{
	join(0);
	absent(0);
	const struct election_action *told = find(ELECTION_TELL);
	cr_assert_eq(told->from, ELECTION_FOLLOWING);
	sends(ELECTION_TELL, 2);
	for (size_t i = 0; i < out.n; i++)
		if (out.list[i].type == ELECTION_TELL)
			cr_assert(out.list[i].reason && out.list[i].reason[0]);
}

Test(session, every_state_has_a_name_and_a_way_out)
{
	for (int i = 0; i < ELECTION_STATES; i++) {
		cr_assert(strlen(election_state_name((enum election_state)i)) > 0);
		cr_assert_not(
			election_move_allowed((enum election_state)i, (enum election_state)i));
		if (i != ELECTION_DOWN)
			cr_assert(election_move_allowed((enum election_state)i, ELECTION_DOWN));
	}
}
