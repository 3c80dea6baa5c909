/* A claim of any partition that waits: for what, and what it is told where there is none. */
#include "run_any_site.h"

TestSuite(run_any_waits, .init = begin);

/* --- when ------------------------------------------------------------------------------------------------ */

Test(run_any_waits, nothing_begins_while_a_job_of_the_sidecar_before_may_be_alive)
{
	leads(2, "01");
	runs_take_over(&runs, NULL, 0, false, 3000);
	claim(0);
	pass(2999);
	cr_expect_eq(answers, 0);
	pass(1);
	yours(0);
}

/* Its partition is paused while the claim is under way: another one is tried, but not at once. */
Test(run_any_waits, after_a_claim_that_was_kept_from_it_waits_for_a_moment)
{
	leads(2, "01");
	claim_tick(1000);
	asks("get runs/scan:0", ok());
	decides("p1", POLICY_PAUSE, "scan:0", "", "");
	asks("list runs/scan:0", failed(STORE_NO_NODE));
	asks("set leaders/scan:0 v0, delete leaders/scan:0 v1", ok());
	pass(RUN_AGAIN_MS);
	asks("exists! " RECORD(0), failed(STORE_NO_NODE));
	asks("list runs/scan:0", names(NULL));
	cr_expect_eq(answers, 0);
	pass(RUN_AGAIN_MS - 1);
	idle();
	pass(1);
	ledger_has(1, names(NULL));
	asks(CLAIM(1), ok());
	yours(1);
}

Test(run_any_waits, one_that_had_chosen_a_partition_that_goes_waits_for_another)
{
	leads(2, "01");
	store.silent = true; /* the lease is not confirmed, and too short for a job to begin */
	pass(session_lease_left(&session) - session_lease_least(&session) + 1);
	cr_assert(leaders_may_begin(task_of("scan:0")));
	claim(60000);
	cr_assert_eq(answers, 0);
	struct task *t = task_of("scan:0");
	cr_assert_eq(TAILQ_FIRST(&runs.list)->task, t);
	runs_task_removed(&runs, t);
	cr_expect_null(TAILQ_FIRST(&runs.list)->task);
	cr_expect_eq(t->holds, 0);
	cr_expect_eq(answers, 0);
}

/* --- where there is none --------------------------------------------------------------------------------- */

Test(run_any_waits, a_task_that_is_paused_is_run_by_nobody)
{
	leads(2, "01");
	decides("p1", POLICY_PAUSE, "scan", "", "");
	claim(60000);
	tells("nobody", "the task is paused");
}

Test(run_any_waits, of_a_task_that_is_paused_in_part_the_rest_is_run)
{
	leads(2, "01");
	decides("p1", POLICY_PAUSE, "scan:0", "", "");
	claim(1000);
	yours(1);
}

Test(run_any_waits, a_node_that_is_drained_runs_none)
{
	leads(2, "");
	decides("d1", POLICY_DRAIN, "", "host-me:/s", "");
	claim(1000);
	pass(999);
	waits();
	pass(1);
	tells("nobody", "this node is drained");
}

Test(run_any_waits, a_task_that_is_removed_is_told)
{
	leads(2, "");
	claim(60000);
	configures("other", NULL);
	runs_changed(&runs);
	pass(0);
	tells("waited", "the task has been removed");
}

Test(run_any_waits, why_no_partition_can_be_led_here_is_told)
{
	file.partitions = 4;
	apply();
	claim(0);
	tells("waited", "how many partitions are in force is not known yet");
	splits_in_force("scan", 1, 0);
	apply();
	claim(0);
	tells("waited", "scan is in force as a plain task, and has 4 partitions in this host's "
			"file: `zkleader partitions scan 4` puts them in force");
}

Test(run_any_waits, without_a_session_that_is_told)
{
	leads(2, "");
	connection(STORE_CONNECTING);
	claim_tick(1000);
	pass(1000);
	tells("waited", SESSION_NONE);
}

Test(run_any_waits, a_leader_that_let_the_tick_pass_is_named)
{
	static const struct {
		int64_t wait_ms;
		bool once, named;
	} cases[] = {{1000, false, true}, {0, false, false}, {1000, true, false}};

	for (size_t i = 0; i < 3; i++) {
		if (i == 0) {
			leads(2, "");
			joins("b", "1.0", 9);
		}
		notice[0] = '\0';
		claim_with((struct run_options){.tick_ms = TICK_MINUTE_MS,
						.wait_ms = cases[i].wait_ms,
						.once = cases[i].once});
		pass(cases[i].wait_ms);
		for (int k = 0; k < 2; k++)
			script_answer(0, failed(STORE_NO_NODE));
		tells("waited", "");
		cr_expect_eq(notice[0] != '\0', cases[i].named, "case %zu: %s", i, notice);
		if (cases[i].named)
			cr_expect_neq(strstr(notice, "of scan:0 was not run: host-b leads it"),
				      NULL, "%s", notice);
	}
}

Test(run_any_waits, of_a_caller_that_is_gone_nothing_is_claimed)
{
	leads(2, "");
	claim(60000);
	runs_owner_gone(&runs, &callers[0]);
	pass(0);
	cr_expect_eq(releases, 1);
	cr_expect(TAILQ_EMPTY(&runs.list));
	waits();
}
