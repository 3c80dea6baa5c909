/* Attempts that a schedule wants, behind the first. */
#include <criterion/criterion.h>

#include "core/election/run.h"

#define WAIT		 10000
#define T0		 1000000

#define is(action, what) cr_assert_eq((int)(action), (int)(what))

static struct run_state r;
static struct run_sight sight;

static void begin(int64_t attempt)
{
	sight = (struct run_sight){
		.now_ms = T0, .up = true, .leads = true, .offered = true, .token = 50};
	run_begin(&r, T0, WAIT, 0, true, false, false);
	run_by_schedule(&r, attempt);
}

static enum run_action next(void)
{
	return run_next(&r, &sight);
}

static enum run_action looked(struct run_seen seen)
{
	seen.readable = true;
	is(run_answered(&r, &sight, LEDGER_PRESENT, &seen, 7), RUN_NOTHING);
	return next();
}

#define LOOKED(...) looked((struct run_seen){__VA_ARGS__})

Test(run_scheduled, the_first_attempt_is_a_claim_as_any)
{
	begin(1);
	is(next(), RUN_CLAIM);
	is(run_answered(&r, &sight, LEDGER_DONE, NULL, 0), RUN_START);
}

Test(run_scheduled, the_first_attempt_does_not_stand_by)
{
	begin(1);
	sight.rerun = true;
	is(next(), RUN_CLAIM);
	is(run_answered(&r, &sight, LEDGER_PRESENT, NULL, 0), RUN_TAKEN);
}

Test(run_scheduled, what_failed_is_claimed_over)
{
	begin(2);
	is(next(), RUN_LOOK);
	cr_expect(r.whole);
	is(LOOKED(.failed = true, .attempt = 1, .token = 40), RUN_TAKE_OVER);
	is(run_answered(&r, &sight, LEDGER_DONE, NULL, 0), RUN_START);
	cr_expect_eq(r.version, 8);
}

/* The record that is there, and whether the attempt of that number may follow it. */
Test(run_scheduled, which_attempts_may_follow)
{
	static const struct {
		struct run_seen seen;
		int64_t attempt;
		bool rerun, triggered, lives, may;
	} cases[] = {
		{{.failed = true, .attempt = 2}, 3, false, false, false, true},
		{{.failed = true, .attempt = 1}, 3, false, false, false, false},
		{{.failed = true, .attempt = 3}, 3, false, false, false, false},
		{{.attempt = 2}, 3, false, false, false, false},
		{{.attempt = 2}, 3, false, true, false, true},
		{{.lost = true, .attempt = 2}, 3, false, false, false, false},
		{{.lost = true, .attempt = 2}, 3, true, false, false, true},
		{{.lost = true, .attempt = 2}, 3, false, true, false, true},
		{{.running = true, .attempt = 2}, 3, true, true, true, false},
		{{.running = true, .attempt = 2}, 3, false, false, false, false},
		{{.running = true, .attempt = 2}, 3, true, false, false, true},
		{{.running = true, .attempt = 2}, 3, false, true, false, true},
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		begin(cases[i].attempt);
		sight.rerun = cases[i].rerun;
		sight.triggered = cases[i].triggered;
		sight.runner_lives = cases[i].lives;
		is(next(), RUN_LOOK);
		cr_expect_eq((int)looked(cases[i].seen),
			     (int)(cases[i].may ? RUN_TAKE_OVER : RUN_TAKEN), "case %zu", i);
	}
}

Test(run_scheduled, what_is_gone_has_no_further_attempt)
{
	begin(2);
	is(next(), RUN_LOOK);
	is(run_answered(&r, &sight, LEDGER_ABSENT, NULL, 0), RUN_NOTHING);
	is(next(), RUN_TAKEN);
}

Test(run_scheduled, waits_for_the_lead_as_long_as_it_is_told)
{
	begin(2);
	sight.leads = false;
	is(next(), RUN_LOOK);
	is(LOOKED(.failed = true, .attempt = 1, .token = 40), RUN_NOTHING);
	sight.now_ms = T0 + WAIT;
	is(next(), RUN_WAITED);
}

/* Its answer was lost: what is there is its own. */
Test(run_scheduled, its_own_attempt_is_begun)
{
	begin(2);
	is(next(), RUN_LOOK);
	is(LOOKED(.failed = true, .attempt = 1, .token = 40), RUN_TAKE_OVER);
	is(run_answered(&r, &sight, LEDGER_UNKNOWN, NULL, 0), RUN_NOTHING);
	sight.now_ms += RUN_AGAIN_MS;
	is(next(), RUN_LOOK);
	is(LOOKED(.ours = true, .running = true, .attempt = 2, .token = 50), RUN_START);
}

/* Its guard was late: the schedule wants another tick by now, or this node leads no more. */
Test(run_scheduled, what_is_not_on_offer_is_not_begun)
{
	begin(1);
	sight.offered = false;
	is(next(), RUN_TAKEN);
	begin(2);
	is(next(), RUN_LOOK);
	sight.offered = false;
	is(LOOKED(.failed = true, .attempt = 1, .token = 40), RUN_TAKEN);
}

/* But what may have been claimed is looked for, and begun as this node leads again. */
Test(run_scheduled, a_claim_that_is_sent_again_is_looked_for)
{
	run_begin(&r, T0, WAIT, 0, true, false, true);
	run_by_schedule(&r, 1);
	sight = (struct run_sight){.now_ms = T0, .up = true, .token = 50};
	is(next(), RUN_LOOK);
	is(LOOKED(.ours = true, .running = true, .attempt = 1, .token = 50), RUN_NOTHING);
	sight.leads = true;
	is(next(), RUN_START);
}

/* A claim that was not done is not made again for what is not on offer any more, nor in a pause. */
Test(run_scheduled, a_claim_is_not_repeated_for_what_is_not_wanted_any_more)
{
	for (int paused = 0; paused < 2; paused++) {
		begin(1);
		is(next(), RUN_CLAIM);
		is(run_answered(&r, &sight, LEDGER_AGAIN, NULL, 0), RUN_NOTHING);
		sight.now_ms += RUN_AGAIN_MS;
		sight.offered = paused;
		sight.paused = paused;
		is(next(), RUN_LOOK);
		is(run_answered(&r, &sight, LEDGER_ABSENT, NULL, 0), RUN_NOTHING);
		is(next(), paused ? RUN_PAUSED : RUN_TAKEN);
	}
}

/* Its answer was lost, and so was the sidecar: another has begun when it is found to be ours. */
Test(run_scheduled, what_is_ours_waits_for_a_job_that_has_begun)
{
	for (int dying = 0; dying < 2; dying++) {
		begin(1);
		r.claimed = r.unsure = true;
		sight.leads = sight.offered = false;
		is(next(), RUN_LOOK);
		sight.leads = sight.busy = true;
		sight.beside = !dying;
		sight.dying = dying;
		is(LOOKED(.ours = true, .running = true, .attempt = 1, .token = 50), RUN_NOTHING);
		cr_expect(run_holds(&r));
		sight.now_ms += 10 * WAIT;
		is(next(), RUN_NOTHING);
		sight.busy = sight.beside = sight.dying = false;
		is(next(), RUN_START);
	}
}

/* The same where it began while the claim was on its way. */
Test(run_scheduled, what_was_claimed_waits_for_a_job_that_has_begun)
{
	begin(1);
	is(next(), RUN_CLAIM);
	sight.busy = sight.beside = true;
	is(run_answered(&r, &sight, LEDGER_DONE, NULL, 0), RUN_NOTHING);
	is(next(), RUN_LOOK);
	is(LOOKED(.ours = true, .running = true, .attempt = 1, .token = 50), RUN_NOTHING);
	sight.busy = sight.beside = false;
	is(next(), RUN_START);
	cr_expect_eq(r.version, 7);
}

Test(run_scheduled, what_was_claimed_for_who_has_gone_is_spent)
{
	begin(1);
	is(next(), RUN_CLAIM);
	sight.busy = sight.beside = true;
	is(run_answered(&r, &sight, LEDGER_DONE, NULL, 0), RUN_NOTHING);
	run_caller_gone(&r, sight.now_ms, 0);
	is(next(), RUN_LOOK);
	is(LOOKED(.ours = true, .running = true, .attempt = 1, .token = 50), RUN_SPENT);
}
