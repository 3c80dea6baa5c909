#include <criterion/criterion.h>

#include "core/election/run.h"

#define WAIT 10000
#define T0   1000000

static struct run_state r;
static struct run_sight sight;

static void begin(bool ticks, bool once)
{
	sight = (struct run_sight){.now_ms = T0, .up = true, .token = 50};
	run_begin(&r, T0, WAIT, 0, ticks, once, false);
}

static enum run_action next(void)
{
	return run_next(&r, &sight);
}

static enum run_action answered(enum ledger_result result)
{
	return run_answered(&r, &sight, result, NULL, 0);
}

static enum run_action looked(struct run_seen seen)
{
	seen.readable = true;
	return run_answered(&r, &sight, LEDGER_PRESENT, &seen, 7);
}

#define LOOKED(...)	 looked((struct run_seen){__VA_ARGS__})
#define is(action, what) cr_assert_eq((int)(action), (int)(what))

/* Another runs it, in session 9 with token 40, and it is to be run again if it is lost. */
static void stand_by(void)
{
	begin(true, false);
	sight.rerun = sight.runner_lives = true;
	is(next(), RUN_LOOK);
	cr_assert(r.whole);
	is(LOOKED(.running = true, .session = 9, .token = 40, .attempt = 1), RUN_NOTHING);
	is(next(), RUN_NOTHING);
}

static void going(void)
{
	begin(true, false);
	sight.leads = true;
	is(next(), RUN_CLAIM);
	is(answered(LEDGER_DONE), RUN_START);
	cr_assert_eq(r.phase, RUN_GOING);
	cr_assert_eq(r.version, 0);
}

Test(run, the_leader_claims_and_starts)
{
	going();
	is(next(), RUN_NOTHING);
	cr_assert(run_is_alive(&r, sight.now_ms));
	cr_assert_eq(run_due(&r, T0), INT64_MAX);
	is(run_finish(&r, T0 + 500), RUN_NOTHING);
	cr_assert_not(run_is_alive(&r, sight.now_ms), "its record is no job");
	cr_assert(run_is_open(&r));
	is(next(), RUN_WRITE_END);
	is(next(), RUN_NOTHING);
	is(answered(LEDGER_DONE), RUN_RECORDED);
	cr_assert_eq(r.phase, RUN_OVER);
	cr_assert_not(run_is_open(&r));
}

Test(run, its_end_is_written_behind_those_of_older_runs)
{
	going();
	is(run_finish(&r, T0), RUN_NOTHING);
	sight.behind = true;
	is(next(), RUN_NOTHING);
	cr_assert(run_is_open(&r));
	sight.behind = false;
	is(next(), RUN_WRITE_END);
}

Test(run, without_a_tick_there_is_no_ledger)
{
	begin(false, false);
	is(next(), RUN_NOTHING);
	sight.leads = true;
	is(next(), RUN_START);
	is(run_finish(&r, T0), RUN_RECORDED);
}

Test(run, a_claim_alone_is_over_at_once)
{
	begin(true, true);
	sight.leads = true;
	is(next(), RUN_CLAIM);
	is(answered(LEDGER_DONE), RUN_START);
	cr_assert_eq(r.phase, RUN_OVER);
}

Test(run, who_does_not_lead_looks_and_waits)
{
	begin(true, false);
	is(next(), RUN_LOOK);
	cr_assert_not(r.whole);
	is(next(), RUN_NOTHING);
	is(answered(LEDGER_ABSENT), RUN_NOTHING);
	is(next(), RUN_NOTHING);
	cr_assert_eq(run_due(&r, T0), T0 + WAIT);

	run_fired(&r, &sight, true);
	is(next(), RUN_TAKEN);
	cr_assert_eq(r.phase, RUN_OVER);
}

Test(run, steps_in_when_leadership_comes)
{
	begin(true, false);
	is(next(), RUN_LOOK);
	is(answered(LEDGER_ABSENT), RUN_NOTHING);
	sight.now_ms += WAIT - 1;
	sight.leads = true;
	is(next(), RUN_CLAIM);
	is(answered(LEDGER_PRESENT), RUN_TAKEN);
}

Test(run, gives_up_after_the_wait)
{
	begin(true, false);
	sight.up = false;
	is(next(), RUN_NOTHING);
	sight.now_ms += WAIT;
	is(next(), RUN_WAITED);

	run_begin(&r, T0, WAIT, T0 + 3000, true, false, false);
	sight = (struct run_sight){.now_ms = T0, .up = true, .leads = true};
	is(next(), RUN_NOTHING);
	cr_assert_eq(run_due(&r, T0), T0 + 3000);
	cr_assert_eq(r.deadline_ms, T0 + 3000 + WAIT);
	sight.now_ms = T0 + 3000;
	is(next(), RUN_CLAIM);
}

Test(run, nothing_begins_with_a_lease_that_is_nearly_over)
{
	begin(true, false);
	sight.leads = sight.brief = true;
	is(next(), RUN_NOTHING);
	cr_assert_eq(run_due(&r, T0), T0 + RUN_AGAIN_MS);
	/* The wait is over, but it is this node's to run: the lease is renewed, or is over as well. */
	sight.now_ms = T0 + WAIT + 1;
	is(next(), RUN_NOTHING);
	sight.now_ms += RUN_AGAIN_MS;
	sight.brief = false;
	is(next(), RUN_CLAIM);
}

Test(run, a_paused_task_is_nobodys)
{
	begin(true, false);
	sight.paused = true;
	is(next(), RUN_PAUSED);

	/* But what may be claimed already is looked at first. */
	begin(true, false);
	sight.leads = true;
	is(next(), RUN_CLAIM);
	is(answered(LEDGER_UNKNOWN), RUN_NOTHING);
	sight.paused = true;
	sight.leads = false;
	sight.now_ms += RUN_AGAIN_MS;
	is(next(), RUN_LOOK);
	is(LOOKED(.ours = true, .running = true, .token = 50), RUN_NOTHING);
	is(next(), RUN_START);
}

/* By the next sidecar, which leads a moment later as the one before it did. */
Test(run, what_was_claimed_waits_for_the_lease_that_it_is_told_with)
{
	begin(true, false);
	sight.leads = true;
	is(next(), RUN_CLAIM);
	is(answered(LEDGER_UNKNOWN), RUN_NOTHING);
	sight.leads = false;
	sight.now_ms += RUN_AGAIN_MS;
	is(next(), RUN_LOOK);
	is(LOOKED(.ours = true, .running = true, .token = 50), RUN_NOTHING);
	is(next(), RUN_NOTHING);
	sight.leads = true;
	is(next(), RUN_START);
}

/* A leader that is told to resign keeps the task for a claim whose answer was lost, and begins that run at once. */
Test(run, what_was_claimed_by_one_who_leads_but_may_lead_no_longer)
{
	begin(true, false);
	sight.leads = true;
	is(next(), RUN_CLAIM);
	is(answered(LEDGER_UNKNOWN), RUN_NOTHING);
	cr_assert(run_holds(&r));
	sight.leads = false;
	sight.same = true;
	sight.now_ms += RUN_AGAIN_MS;
	is(next(), RUN_LOOK);
	is(LOOKED(.ours = true, .running = true, .token = 50), RUN_NOTHING);
	is(next(), RUN_START);
}

/* A claim is over once another leads: who waits to begin the run again need not wait for us. */
Test(run, what_was_claimed_is_not_kept_from_another)
{
	begin(true, false);
	sight.leads = true;
	is(next(), RUN_CLAIM);
	is(answered(LEDGER_UNKNOWN), RUN_NOTHING);
	sight.leads = false;
	sight.now_ms += RUN_AGAIN_MS;
	is(next(), RUN_LOOK);
	is(LOOKED(.ours = true, .running = true, .token = 50), RUN_NOTHING);
	is(next(), RUN_NOTHING);
	sight.elsewhere = true;
	is(next(), RUN_START);
}

Test(run, a_lost_answer_is_resolved_by_a_look)
{
	begin(true, false);
	sight.leads = true;
	is(next(), RUN_CLAIM);
	is(answered(LEDGER_UNKNOWN), RUN_NOTHING);
	is(next(), RUN_NOTHING);
	cr_assert_eq(run_due(&r, sight.now_ms), T0 + RUN_AGAIN_MS);
	sight.now_ms += RUN_AGAIN_MS;
	is(next(), RUN_CLAIM);
	is(answered(LEDGER_PRESENT), RUN_NOTHING);
	is(next(), RUN_LOOK);
	cr_assert(r.whole);
	is(LOOKED(.ours = true, .running = true, .token = 50, .attempt = 1), RUN_NOTHING);
	is(next(), RUN_START);
	cr_assert_eq(r.version, 7);

	/* Or it was another's. */
	begin(true, false);
	sight.leads = true;
	is(next(), RUN_CLAIM);
	is(answered(LEDGER_UNKNOWN), RUN_NOTHING);
	sight.now_ms += RUN_AGAIN_MS;
	sight.leads = false;
	is(next(), RUN_LOOK);
	is(LOOKED(.running = true, .session = 9), RUN_NOTHING);
	is(next(), RUN_TAKEN);
}

/* The watch of a claim fires before its answer comes: that look is old. */
Test(run, a_watch_that_fires_meanwhile_is_looked_at)
{
	stand_by();
	run_fired(&r, &sight, false);
	is(next(), RUN_LOOK);
	run_fired(&r, &sight, false);
	is(LOOKED(.running = true, .session = 9), RUN_NOTHING);
	is(next(), RUN_LOOK);
	is(LOOKED(.attempt = 1), RUN_NOTHING);
	is(next(), RUN_TAKEN);
}

Test(run, of_what_the_ledger_keeps_no_more)
{
	begin(true, false);
	sight.rerun = sight.leads = true;
	is(next(), RUN_CLAIM);
	is(answered(LEDGER_PRESENT), RUN_NOTHING);
	is(next(), RUN_LOOK);
	is(answered(LEDGER_ABSENT), RUN_NOTHING);
	is(next(), RUN_TAKEN);
}

Test(run, takes_over_only_once_the_runner_is_dead)
{
	stand_by();
	sight.leads = true;
	is(next(), RUN_NOTHING);
	sight.runner_lives = false;
	is(next(), RUN_TAKE_OVER);
	is(answered(LEDGER_DONE), RUN_START);
	cr_assert_eq(r.version, 8);

	/* Not under an older leadership than that of the lost run. */
	stand_by();
	sight.leads = true;
	sight.runner_lives = false;
	sight.token = 39;
	is(next(), RUN_NOTHING);

	/* Nor what its runner has ended, unless it says that it was lost. */
	stand_by();
	run_fired(&r, &sight, false);
	is(next(), RUN_LOOK);
	is(LOOKED(.lost = true, .token = 40), RUN_NOTHING);
	sight.leads = true;
	is(next(), RUN_TAKE_OVER);
	is(answered(LEDGER_AGAIN), RUN_NOTHING);
	sight.now_ms += RUN_AGAIN_MS;
	sight.leads = false;
	is(next(), RUN_LOOK);
	is(LOOKED(.attempt = 2), RUN_NOTHING);
	is(next(), RUN_TAKEN);
}

Test(run, asks_to_lead_for_a_lost_run)
{
	stand_by();
	sight.now_ms += 2 * WAIT;
	is(next(), RUN_NOTHING);
	cr_assert_not(r.calls);
	sight.runner_lives = false;
	is(next(), RUN_NOTHING);
	cr_assert_not(r.calls);
	cr_assert_eq(run_due(&r, sight.now_ms), sight.now_ms + RUN_CALL_MS);
	int64_t orphan = sight.now_ms;
	sight.now_ms += RUN_CALL_MS;
	is(next(), RUN_NOTHING);
	cr_assert(r.calls);
	sight.runner_lives = true; /* it had but registered anew */
	is(next(), RUN_NOTHING);
	cr_assert_not(r.calls);
	sight.runner_lives = false;
	is(next(), RUN_NOTHING);
	orphan = sight.now_ms;
	sight.now_ms = orphan + RUN_ORPHAN_MS - 1;
	is(next(), RUN_NOTHING);
	cr_assert(r.calls);
	sight.now_ms++;
	is(next(), RUN_WAITED);
	cr_assert_not(r.calls);
}

Test(run, a_caller_that_goes)
{
	begin(true, false);
	run_caller_gone(&r, T0, 5000);
	is(next(), RUN_GONE);

	/* While its claim is on its way, the tick may be spent. */
	begin(true, false);
	sight.leads = true;
	is(next(), RUN_CLAIM);
	run_caller_gone(&r, T0, 5000);
	is(next(), RUN_NOTHING);
	is(answered(LEDGER_DONE), RUN_SPENT);
	begin(true, false);
	sight.leads = true;
	is(next(), RUN_CLAIM);
	run_caller_gone(&r, T0, 5000);
	is(answered(LEDGER_UNKNOWN), RUN_NOTHING);
	sight.now_ms += RUN_AGAIN_MS;
	is(next(), RUN_LOOK);
	is(LOOKED(.ours = true, .running = true, .token = 50), RUN_NOTHING);
	is(next(), RUN_SPENT);
	begin(true, false);
	sight.leads = true;
	is(next(), RUN_CLAIM);
	run_give_up(&r);
	is(answered(LEDGER_DONE), RUN_SPENT);
	begin(true, false);
	is(next(), RUN_LOOK);
	run_give_up(&r);
	is(answered(LEDGER_ABSENT), RUN_NOTHING);

	/* Its job may live as long as the lease. */
	going();
	run_caller_gone(&r, T0, 5000);
	sight.now_ms = T0 + 4999;
	is(next(), RUN_NOTHING);
	cr_assert(run_is_alive(&r, sight.now_ms));
	cr_assert_eq(run_due(&r, sight.now_ms), T0 + 5000);
	sight.now_ms++;
	is(next(), RUN_LOST);
	is(run_finish(&r, sight.now_ms), RUN_NOTHING);
	is(next(), RUN_WRITE_END);
}

Test(run, nothing_begins_beside_a_job_that_is_dying)
{
	begin(true, false);
	sight.leads = sight.dying = true;
	is(next(), RUN_LOOK);
	is(answered(LEDGER_ABSENT), RUN_NOTHING);
	sight.now_ms += 2 * WAIT;
	is(next(), RUN_NOTHING);
	sight.dying = false;
	is(next(), RUN_CLAIM);
}

Test(run, runs_of_a_task_do_not_overlap)
{
	begin(true, false);
	sight.leads = sight.busy = true;
	is(next(), RUN_LOOK);
	is(answered(LEDGER_ABSENT), RUN_NOTHING);
	is(next(), RUN_NOTHING);
	sight.busy = false;
	is(next(), RUN_CLAIM);
	cr_assert(run_holds(&r));
	is(answered(LEDGER_DONE), RUN_START);
	cr_assert(run_holds(&r));
	run_finish(&r, T0);
	cr_assert_not(run_holds(&r));

	begin(true, false);
	sight.leads = sight.busy = true;
	is(next(), RUN_LOOK);
	cr_assert_not(run_holds(&r));
	is(answered(LEDGER_ABSENT), RUN_NOTHING);
	sight.now_ms += WAIT;
	is(next(), RUN_BUSY);

	/* A claim that may have been done, until it is known. */
	begin(true, false);
	sight.leads = true;
	is(next(), RUN_CLAIM);
	is(answered(LEDGER_UNKNOWN), RUN_NOTHING);
	cr_assert(run_holds(&r));
	sight.now_ms += RUN_AGAIN_MS;
	sight.leads = false;
	is(next(), RUN_LOOK);
	cr_assert(run_holds(&r));
	is(answered(LEDGER_ABSENT), RUN_NOTHING);
	cr_assert_not(run_holds(&r));

	/*
	 * A taken tick is told at once, and a caller whose node does not lead waits for the leader.
	 */
	begin(true, false);
	sight.leads = sight.busy = true;
	is(next(), RUN_LOOK);
	is(answered(LEDGER_PRESENT), RUN_NOTHING);
	is(next(), RUN_TAKEN);
	begin(false, false);
	sight.busy = true;
	sight.now_ms += WAIT;
	is(next(), RUN_WAITED);

	/* A claim alone runs nothing. */
	begin(true, true);
	sight.leads = sight.busy = true;
	is(next(), RUN_CLAIM);
	cr_assert_not(run_holds(&r));
}

/* The leader's own job of another tick is no reason to give a lost run up. */
Test(run, a_lost_run_waits_for_the_job_before_it)
{
	stand_by();
	sight.runner_lives = false;
	sight.leads = sight.busy = true;
	sight.now_ms += 100 * RUN_ORPHAN_MS;
	is(next(), RUN_NOTHING);
	cr_assert_not(r.calls);
	sight.busy = false;
	is(next(), RUN_TAKE_OVER);

	/* Nor is that of who leads elsewhere, for as long as it may keep the task. */
	stand_by();
	sight.runner_lives = false;
	sight.elsewhere = true;
	sight.hold_max_ms = 10 * RUN_ORPHAN_MS;
	is(next(), RUN_NOTHING);
	cr_assert(run_due(&r, sight.now_ms) <= sight.now_ms + 10 * RUN_ORPHAN_MS);
	sight.now_ms += 10 * RUN_ORPHAN_MS - 1;
	is(next(), RUN_NOTHING);
	cr_assert(r.calls);
	sight.now_ms++;
	is(next(), RUN_WAITED);

	/* A drained node will not lead. */
	stand_by();
	sight.runner_lives = false;
	sight.elsewhere = sight.drained = true;
	sight.hold_max_ms = 10 * RUN_ORPHAN_MS;
	is(next(), RUN_NOTHING);
	sight.now_ms += RUN_ORPHAN_MS;
	is(next(), RUN_WAITED);
}

static void inherited(bool ticks)
{
	sight = (struct run_sight){.now_ms = T0, .up = true, .token = 50};
	run_inherit(&r, T0 + 5000, ticks);
	is(run_attach(&r), RUN_NOTHING);
	if (ticks) {
		is(next(), RUN_LOOK_INHERITED);
		is(LOOKED(.ours = true, .running = true), RUN_NOTHING);
	}
	is(next(), RUN_NOTHING);
}

Test(run, a_supervisor_that_comes_back)
{
	inherited(true);
	sight.same = true;
	is(next(), RUN_LOOK_ATTACHED);
	is(answered(LEDGER_UNKNOWN), RUN_NOTHING);
	sight.now_ms += RUN_AGAIN_MS;
	is(next(), RUN_LOOK_ATTACHED);
	is(LOOKED(.ours = true, .running = true), RUN_ATTACHED);
	cr_assert_eq(r.phase, RUN_GOING);
	cr_assert_eq(r.version, 7);
	is(run_finish(&r, T0), RUN_NOTHING);
	is(next(), RUN_WRITE_END);

	/* Without a tick there is nothing to look at; and a record may have been pruned. */
	inherited(false);
	sight.same = true;
	is(next(), RUN_ATTACHED);
	inherited(true);
	sight.same = true;
	is(next(), RUN_LOOK_ATTACHED);
	is(answered(LEDGER_ABSENT), RUN_ATTACHED);

	/* The supervisor comes back to the same sidecar. */
	going();
	run_caller_gone(&r, T0, 3000);
	cr_assert_eq(r.phase, RUN_DYING);
	is(run_attach(&r), RUN_ATTACHED);
	cr_assert(run_holds(&r));
	sight.now_ms += 4000;
	is(next(), RUN_NOTHING);
}

Test(run, a_supervisor_that_comes_back_in_vain)
{
	/* The sidecar before us had recorded it. */
	inherited(true);
	sight.same = true;
	is(next(), RUN_LOOK_ATTACHED);
	is(LOOKED(.ours = true), RUN_UNATTACHED);
	cr_assert_eq(r.phase, RUN_OVER);

	/* We do not lead as it did, until its job must be dead. */
	inherited(true);
	sight.now_ms = T0 + 5000;
	is(next(), RUN_UNATTACHED);
	cr_assert(run_holds(&r));
	is(next(), RUN_LOOK_INHERITED);
	is(LOOKED(.ours = true, .running = true), RUN_LOST);

	/* The supervisor has gone again. */
	inherited(true);
	sight.same = true;
	is(next(), RUN_LOOK_ATTACHED);
	run_caller_gone(&r, T0, 3000);
	is(LOOKED(.ours = true, .running = true), RUN_NOTHING);
	cr_assert_eq(r.phase, RUN_INHERITED);
	is(next(), RUN_NOTHING);
	sight.now_ms = T0 + 5000;
	is(next(), RUN_LOOK_INHERITED);
}

Test(run, an_end_whose_answer_is_lost)
{
	going();
	is(run_finish(&r, T0), RUN_NOTHING);
	sight.up = false;
	is(next(), RUN_NOTHING);
	sight.up = true;
	is(next(), RUN_WRITE_END);
	is(answered(LEDGER_UNKNOWN), RUN_NOTHING);
	sight.now_ms += RUN_AGAIN_MS;
	is(next(), RUN_WRITE_END);
	is(answered(LEDGER_AGAIN), RUN_LOOK_END);
	is(LOOKED(.ours = true, .ended = true), RUN_RECORDED);

	going();
	is(run_finish(&r, T0), RUN_NOTHING);
	is(next(), RUN_WRITE_END);
	is(answered(LEDGER_AGAIN), RUN_UNRECORDED);

	going();
	is(run_finish(&r, T0), RUN_NOTHING);
	sight.up = false;
	sight.now_ms = T0 + RUN_FINISH_MS;
	is(next(), RUN_UNRECORDED);
}

Test(run, a_ledger_that_is_refused)
{
	begin(true, false);
	is(next(), RUN_LOOK);
	is(answered(LEDGER_FAILED), RUN_REFUSED);
	begin(true, false);
	sight.leads = true;
	is(next(), RUN_CLAIM);
	run_caller_gone(&r, T0, 0);
	is(answered(LEDGER_FAILED), RUN_GONE);
}

/* Claimed under another leadership of ours than the present: so that its token is one that is good now. */
Test(run, what_was_claimed_under_an_older_leadership_is_claimed_anew)
{
	run_begin(&r, T0, WAIT, 0, true, false, true);
	sight = (struct run_sight){.now_ms = T0, .up = true, .token = 50};
	is(next(), RUN_LOOK);
	cr_assert(r.whole);
	is(LOOKED(.ours = true, .running = true, .token = 45, .attempt = 1), RUN_NOTHING);
	sight.leads = true;
	is(next(), RUN_CLAIM_ANEW);
	is(answered(LEDGER_DONE), RUN_START);
	cr_assert_eq(r.version, 8);
}

/* Once its job must be dead, all that is left is its record, which may be out of reach. */
Test(run, a_job_that_must_be_dead_is_not_alive)
{
	sight = (struct run_sight){.now_ms = T0};
	run_inherit(&r, T0 + 5000, true);
	cr_assert(run_is_alive(&r, T0 + 4999));
	sight.now_ms = T0 + 5000;
	is(next(), RUN_NOTHING);
	cr_assert_not(run_is_alive(&r, sight.now_ms));
	cr_assert(run_is_open(&r));
	going();
	run_caller_gone(&r, T0, 3000);
	cr_assert(run_is_alive(&r, T0 + 2999));
	cr_assert_not(run_is_alive(&r, T0 + 3000));
}

Test(run, of_the_sidecar_before_us)
{
	sight = (struct run_sight){.now_ms = T0, .up = true};
	run_inherit(&r, T0 + 5000, true);
	cr_assert(run_holds(&r) && run_is_alive(&r, sight.now_ms));
	is(next(), RUN_LOOK_INHERITED);
	is(LOOKED(.ours = true, .running = true), RUN_NOTHING);
	is(next(), RUN_NOTHING);
	cr_assert_eq(run_due(&r, T0), T0 + 5000);
	sight.now_ms += 5000;
	is(next(), RUN_LOOK_INHERITED);
	is(answered(LEDGER_UNKNOWN), RUN_NOTHING);
	sight.now_ms += RUN_AGAIN_MS;
	is(next(), RUN_LOOK_INHERITED);
	is(LOOKED(.ours = true, .running = true), RUN_LOST);
	cr_assert_eq(r.version, 7);
	is(run_finish(&r, sight.now_ms), RUN_NOTHING);
	cr_assert_not(run_holds(&r));

	/* The end has been recorded, which need not be waited for. */
	run_inherit(&r, sight.now_ms + 5000, true);
	is(next(), RUN_LOOK_INHERITED);
	is(LOOKED(.ours = true), RUN_GONE);
	run_inherit(&r, sight.now_ms + 5000, true);
	is(run_attach(&r), RUN_NOTHING);
	is(next(), RUN_LOOK_INHERITED);
	is(LOOKED(.ours = true), RUN_UNATTACHED);
	/* The record has been pruned, so nobody can tell. */
	run_inherit(&r, sight.now_ms + 5000, true);
	is(next(), RUN_LOOK_INHERITED);
	is(answered(LEDGER_ABSENT), RUN_NOTHING);
	cr_assert(run_holds(&r));
	run_inherit(&r, T0, false);
	is(next(), RUN_GONE);
}

/* The record may have changed meanwhile, and no watch will tell. */
Test(run, a_session_that_ends_takes_the_watch_along)
{
	stand_by();
	run_expired(&r);
	sight.up = false;
	is(next(), RUN_NOTHING);
	sight.up = true;
	is(next(), RUN_LOOK);
	run_expired(&r);
	is(LOOKED(.running = true, .session = 9), RUN_NOTHING);
	is(next(), RUN_LOOK);
	is(LOOKED(.attempt = 1), RUN_NOTHING);
	is(next(), RUN_TAKEN);
}

/* However long ago its wait was over: what became of the other run is not known. */
Test(run, who_stands_by_waits_for_its_session_too)
{
	for (int outage = 0; outage < 2; outage++) {
		if (outage == 0)
			stand_by();
		sight.now_ms += 10 * RUN_ORPHAN_MS;
		is(next(), RUN_NOTHING);
		sight.up = false;
		is(next(), RUN_NOTHING);
		cr_assert_eq(run_due(&r, sight.now_ms), sight.now_ms + RUN_ORPHAN_MS);
		run_expired(&r);
		sight.now_ms += RUN_ORPHAN_MS - 1;
		is(next(), RUN_NOTHING);
		cr_assert_not(r.calls);
		sight.up = true;
		is(next(), RUN_LOOK);
		is(LOOKED(.running = true, .session = 9, .token = 40, .attempt = 1), RUN_NOTHING);
		is(next(), RUN_NOTHING);
	}
	sight.up = false;
	is(next(), RUN_NOTHING);
	sight.now_ms += RUN_ORPHAN_MS;
	is(next(), RUN_WAITED);

	/* A caller that waits for a tick has nothing to stand by for. */
	begin(true, false);
	sight.rerun = true;
	is(next(), RUN_LOOK);
	is(answered(LEDGER_ABSENT), RUN_NOTHING);
	sight.up = false;
	sight.now_ms += WAIT;
	is(next(), RUN_WAITED);
}

Test(run, a_look_whose_answer_is_lost_is_repeated)
{
	begin(true, false);
	is(next(), RUN_LOOK);
	is(answered(LEDGER_UNKNOWN), RUN_NOTHING);
	is(next(), RUN_NOTHING);
	cr_assert_eq(run_due(&r, T0), T0 + RUN_AGAIN_MS);
	sight.now_ms += RUN_AGAIN_MS;
	is(next(), RUN_LOOK);
}

/* A claim alone is none that could be run again: who has the tick is all that it asks. */
Test(run, a_claim_alone_never_stands_by)
{
	begin(true, true);
	sight.rerun = sight.runner_lives = true;
	is(next(), RUN_LOOK);
	cr_assert_not(r.whole);
	is(LOOKED(.running = true, .session = 9, .token = 40, .attempt = 1), RUN_NOTHING);
	is(next(), RUN_TAKEN);
}

Test(run, what_the_watch_tells)
{
	begin(true, false);
	is(next(), RUN_LOOK);
	is(answered(LEDGER_ABSENT), RUN_NOTHING);
	run_fired(&r, &sight, false); /* gone again: made and pruned */
	is(next(), RUN_LOOK);
	is(answered(LEDGER_ABSENT), RUN_NOTHING);
	sight.rerun = true;
	run_fired(&r, &sight, true); /* to stand by, what it says has to be known */
	is(next(), RUN_LOOK);
	cr_assert(r.whole);

	going();
	run_fired(&r, &sight, true);
	cr_assert_not(r.fired, "it is ours");
	begin(false, false);
	run_fired(&r, &sight, true);
	cr_assert_not(r.fired, "there is no tick");
}

Test(run, given_up_while_a_claim_is_on_its_way)
{
	begin(true, false);
	sight.leads = true;
	is(next(), RUN_CLAIM);
	run_give_up(&r);
	cr_assert_eq(run_due(&r, T0), INT64_MAX);
	is(answered(LEDGER_AGAIN), RUN_NOTHING);
	is(next(), RUN_NOTHING);

	begin(true, false);
	sight.leads = true;
	is(next(), RUN_CLAIM);
	run_give_up(&r);
	is(answered(LEDGER_DONE), RUN_SPENT);
}

/* The caller has gone, and whether the tick was claimed for it is not known. */
static void forsaken(void)
{
	begin(true, false);
	sight.leads = true;
	is(next(), RUN_CLAIM);
	run_caller_gone(&r, T0, 0);
	is(answered(LEDGER_UNKNOWN), RUN_NOTHING);
	sight.now_ms += RUN_AGAIN_MS;
	sight.up = false;
	is(next(), RUN_NOTHING);
	sight.up = true;
	is(next(), RUN_LOOK);
	cr_assert(r.whole);
}

Test(run, what_was_claimed_for_a_caller_that_has_gone_is_spent)
{
	forsaken();
	is(LOOKED(.ours = true, .running = true, .token = 50, .attempt = 1), RUN_NOTHING);
	is(next(), RUN_SPENT);
	forsaken();
	is(LOOKED(.running = true, .token = 50, .attempt = 1), RUN_NOTHING);
	is(next(), RUN_GONE);
	forsaken();
	is(answered(LEDGER_ABSENT), RUN_NOTHING);
	is(next(), RUN_GONE);
	forsaken();
	is(answered(LEDGER_PRESENT), RUN_NOTHING); /* and nobody can read it */
	is(next(), RUN_GONE);
}

static void end_unsure(void)
{
	going();
	is(run_finish(&r, T0), RUN_NOTHING);
	is(next(), RUN_WRITE_END);
	is(answered(LEDGER_UNKNOWN), RUN_NOTHING);
	sight.now_ms += RUN_AGAIN_MS;
	is(next(), RUN_WRITE_END);
	is(answered(LEDGER_AGAIN), RUN_LOOK_END);
}

Test(run, an_end_that_may_have_been_written)
{
	end_unsure();
	is(answered(LEDGER_UNKNOWN), RUN_NOTHING);
	sight.now_ms += RUN_AGAIN_MS;
	is(next(), RUN_WRITE_END);
	is(answered(LEDGER_AGAIN), RUN_LOOK_END);
	is(LOOKED(.ours = true), RUN_UNRECORDED);
	end_unsure();
	is(LOOKED(.ended = true), RUN_UNRECORDED); /* by another, that took it over */
	end_unsure();
	is(answered(LEDGER_ABSENT), RUN_UNRECORDED);

	/* Not for ever. */
	going();
	is(run_finish(&r, T0), RUN_NOTHING);
	sight.now_ms = T0 + RUN_FINISH_MS;
	is(next(), RUN_WRITE_END);
	is(answered(LEDGER_UNKNOWN), RUN_UNRECORDED);
}

Test(run, what_the_sidecar_before_us_left)
{
	sight = (struct run_sight){.now_ms = T0};
	run_inherit(&r, T0, true);
	is(next(), RUN_NOTHING); /* not before the session is confirmed */
	sight.up = true;
	is(next(), RUN_LOOK_INHERITED);
	is(answered(LEDGER_ABSENT), RUN_GONE);
	run_inherit(&r, T0, true);
	is(next(), RUN_LOOK_INHERITED);
	is(LOOKED(.running = true), RUN_GONE); /* another took it over */
}

Test(run, a_job_whose_supervisor_has_gone_holds_the_task)
{
	going();
	cr_assert(run_holds(&r));
	run_caller_gone(&r, T0, 3000);
	cr_assert(run_holds(&r) && run_is_alive(&r, sight.now_ms));
	cr_assert_eq(run_due(&r, T0), T0 + 3000);
	sight.now_ms += 3000;
	is(next(), RUN_LOST);
	is(run_finish(&r, sight.now_ms), RUN_NOTHING);
	cr_assert_not(run_holds(&r));
}

/* --- clocks ---------------------------------------------------------------------------------------- */

Test(run, a_wrong_clock_claims_nothing_whoever_leads)
{
	static const struct {
		enum run_clock clock;
		enum run_action action;
	} cases[] = {{RUN_CLOCK_OFF, RUN_OFF}, {RUN_CLOCK_EARLY, RUN_EARLY}};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		for (int leads = 0; leads < 2; leads++) {
			begin(true, leads);
			sight.leads = leads;
			sight.clock = cases[i].clock;
			is(next(), cases[i].action);
			cr_assert_eq(r.phase, RUN_OVER);
			/* Also one that turns out to be wrong while it waits, or stands by. */
			stand_by();
			sight.leads = leads;
			sight.clock = cases[i].clock;
			is(next(), cases[i].action);
			/* Without a tick the clock does not matter. */
			begin(false, false);
			sight.leads = leads;
			sight.clock = cases[i].clock;
			is(next(), leads ? RUN_START : RUN_NOTHING);
		}
	}
}

Test(run, a_clock_that_is_not_known_yet_is_waited_for)
{
	begin(true, false);
	sight.leads = true;
	sight.clock = RUN_CLOCK_UNSURE;
	is(next(), RUN_LOOK);
	is(answered(LEDGER_ABSENT), RUN_NOTHING);
	is(next(), RUN_NOTHING);
	sight.clock = RUN_CLOCK_GOOD;
	is(next(), RUN_CLAIM);
}

/* A claim that may have been committed is resolved first. */
Test(run, a_claim_whose_answer_was_lost_is_resolved_whatever_the_clock)
{
	begin(true, false);
	sight.leads = true;
	is(next(), RUN_CLAIM);
	is(answered(LEDGER_UNKNOWN), RUN_NOTHING);
	sight.now_ms += RUN_AGAIN_MS;
	sight.clock = RUN_CLOCK_OFF;
	is(next(), RUN_LOOK);
	is(LOOKED(.ours = true, .running = true, .token = 50, .attempt = 1), RUN_NOTHING);
	is(next(), RUN_START);

	begin(true, false);
	sight.leads = true;
	is(next(), RUN_CLAIM);
	is(answered(LEDGER_UNKNOWN), RUN_NOTHING);
	sight.now_ms += RUN_AGAIN_MS;
	sight.clock = RUN_CLOCK_OFF;
	is(next(), RUN_LOOK);
	is(answered(LEDGER_ABSENT), RUN_NOTHING);
	is(next(), RUN_OFF);
}

Test(run, older_than_what_is_kept_is_said)
{
	begin(true, false);
	is(next(), RUN_LOOK);
	is(answered(LEDGER_OLDER), RUN_OLDER);
	begin(true, false);
	sight.leads = true;
	is(next(), RUN_CLAIM);
	is(answered(LEDGER_OLDER), RUN_OLDER);
	begin(true, false);
	sight.rerun = true;
	is(next(), RUN_LOOK);
	is(answered(LEDGER_OLDER), RUN_OLDER);
}

/* While it holds the task, no other run of it may begin on this node. */
Test(run, what_holds_the_task)
{
	static const struct {
		enum run_phase phase;
		enum run_action asked;
		bool once, unsure, looked, there, readable, ours, holds;
	} cases[] = {
		{.phase = RUN_WAITING, .asked = RUN_LOOK},
		{.phase = RUN_WAITING, .asked = RUN_CLAIM, .holds = true},
		{.phase = RUN_WAITING, .asked = RUN_CLAIM_ANEW, .holds = true},
		{.phase = RUN_WAITING, .asked = RUN_TAKE_OVER, .holds = true},
		{.phase = RUN_WAITING, .asked = RUN_CLAIM, .once = true},
		{.phase = RUN_WAITING, .unsure = true, .holds = true},
		{.phase = RUN_WAITING, .unsure = true, .once = true},
		{.phase = RUN_WAITING, .unsure = true, .looked = true},
		{.phase = RUN_WAITING, .unsure = true, .looked = true, .there = true},
		{.phase = RUN_WAITING,
		 .unsure = true,
		 .looked = true,
		 .there = true,
		 .readable = true},
		{.phase = RUN_WAITING,
		 .unsure = true,
		 .looked = true,
		 .there = true,
		 .readable = true,
		 .ours = true,
		 .holds = true},
		{.phase = RUN_GOING, .holds = true},
		{.phase = RUN_DYING, .holds = true},
		{.phase = RUN_INHERITED, .holds = true},
		{.phase = RUN_FINISHING, .asked = RUN_CLAIM},
		{.phase = RUN_OVER, .asked = RUN_CLAIM},
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct run_state held = {
			.phase = cases[i].phase,
			.asked = cases[i].asked,
			.once = cases[i].once,
			.unsure = cases[i].unsure,
			.looked = cases[i].looked,
			.there = cases[i].there,
			.seen = {.readable = cases[i].readable, .ours = cases[i].ours}};

		cr_expect_eq(run_holds(&held), cases[i].holds, "%zu", i);
	}
}

/* A job of another sidecar, or without its supervisor, lives as long as its lease at most. */
Test(run, whose_job_may_be_alive)
{
	static const struct {
		enum run_phase phase;
		bool open, before, then;
	} cases[] = {{RUN_WAITING, false, false, false},  {RUN_GOING, true, true, true},
		     {RUN_DYING, true, true, false},	  {RUN_INHERITED, true, true, false},
		     {RUN_FINISHING, true, false, false}, {RUN_OVER, false, false, false}};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct run_state may = {.phase = cases[i].phase, .deadline_ms = T0};

		cr_expect_eq(run_is_open(&may), cases[i].open, "%zu", i);
		cr_expect_eq(run_is_alive(&may, T0 - 1), cases[i].before, "%zu", i);
		cr_expect_eq(run_is_alive(&may, T0), cases[i].then, "%zu", i);
	}
}

Test(run, the_first_of_what_is_to_come)
{
	struct run_state due = {.phase = RUN_WAITING,
				.deadline_ms = T0 + 5000,
				.not_before_ms = T0 + 3000,
				.orphan_ms = T0 + 1000 - RUN_CALL_MS};

	cr_expect_eq(run_due(&due, T0), T0 + 1000);
	cr_expect_eq(run_due(&due, T0 + 1000), T0 + 3000);
	cr_expect_eq(run_due(&due, T0 + 3000), T0 + 5000);
	cr_expect_eq(run_due(&due, T0 + 5000), INT64_MAX);
	due.not_before_ms = T0 + 7000;
	due.orphan_ms = T0 + 9000 - RUN_CALL_MS;
	cr_expect_eq(run_due(&due, T0), T0 + 5000, "neither of the others comes before");
	due.phase = RUN_GOING;
	cr_expect_eq(run_due(&due, T0), T0 + 7000, "what goes on has no such end");
	due.phase = RUN_OVER;
	cr_expect_eq(run_due(&due, T0), INT64_MAX);
}
