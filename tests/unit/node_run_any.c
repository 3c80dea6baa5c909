/* A claim of any partition: which one it becomes a claim of, by what is led here and by the ledgers. */
#include "run_any_site.h"

TestSuite(run_any, .init = begin);

/* --- which one ------------------------------------------------------------------------------------------- */

Test(run_any, the_first_that_is_led_here)
{
	leads(4, "23");
	claim(1000);
	yours(2);
	waits();
}

Test(run_any, one_waits_until_one_is_led_here)
{
	file.partitions = 2;
	splits_in_force("scan", 2, 0);
	apply();
	joins("me", "1.0", 5);
	claim(1000);
	cr_assert_eq(answers, 0);
	leads_all();
	yours(0);
}

Test(run_any, one_job_at_a_time_where_the_file_says_no_other_number)
{
	leads(2, "01");
	claim(0);
	yours(0);
	claim(0);
	pass(3000); /* beyond its time: one is there to be run */
	waits();
	job_ends(0);
	cr_expect_eq(told.kind, RUN_ANSWER_CLAIM);
	cr_expect_str_eq(outcome, "yours");
	cr_expect_eq(told.run, 2);
}

Test(run_any, partition_jobs_at_a_time_each_of_another_partition)
{
	file.partition_jobs = 2;
	leads(3, "012");
	claim(0);
	yours(0);
	claim(0);
	yours(1);
	claim(0);
	pass(3000);
	waits();
}

Test(run_any, jobs_of_other_tasks_do_not_count)
{
	struct task_settings s[2] = {file, settings_of("scanner")};
	struct run_options other = {.now_ms = host_wall_ms(&host)};

	file.partitions = s[0].partitions = 2;
	splits_in_force("scan", 2, 0);
	tasks_apply(&leaders, &site_timing, s, 2);
	joins("me", "1.0", 5);
	leads_all();
	runs_claim(&runs, &callers[7], 1, task_of("scanner"), &other);
	pass(0);
	cr_assert_eq(answers, 1);
	answers = 0;
	claim(0);
	yours(0);
}

Test(run_any, where_runs_may_overlap_two_calls_still_get_two_partitions)
{
	file.overlap = TASK_OVERLAP_ALLOW;
	file.partition_jobs = 3;
	leads(2, "01");
	claim_tick(1000);
	claim_tick(1000);
	asks("get runs/scan:0", ok());
	asks("get runs/scan:1", ok());
	asks("list runs/scan:0", names(NULL));
	asks("list runs/scan:1", names(NULL));
	asks(CLAIM(0), ok());
	yours(0);
	asks(CLAIM(1), ok());
	yours(1);
}

Test(run_any, none_begins_beside_a_job_that_may_be_alive)
{
	file.partition_jobs = 3;
	file.overlap = TASK_OVERLAP_ALLOW;
	leads(2, "01");
	claim(0);
	yours(0);
	runs_owner_gone(&runs, &callers[0]);
	claim_tick(0); /* of another tick, so that nothing else keeps it from the first */
	ledger_has(1, names(NULL));
	asks(CLAIM(1), ok());
	yours(1);
}

Test(run_any, without_a_tick_a_call_gets_none_twice)
{
	leads(3, "012");
	claim_with((struct run_options){.ran = 2, .got = {1 << 0 | 1 << 1}});
	yours(2);
	job_ends(0);
	answers = 0;
	claim_with((struct run_options){.ran = 3, .got = {1 << 0 | 1 << 1 | 1 << 2}});
	tells("taken", "");
}

Test(run_any, the_65th_partition_is_not_the_first)
{
	file.partitions = 70;
	splits_in_force("scan", 70, 0);
	apply();
	joins("me", "1.0", 5);
	leads_all();
	claim_with((struct run_options){.got = {1}});
	yours(1);
	job_ends(0);
	answers = 0;
	claim_with((struct run_options){.got = {UINT64_MAX, 1 << 0 | 1 << 2}});
	yours(65);
}

/* --- by the ledger --------------------------------------------------------------------------------------- */

Test(run_any, one_whose_tick_is_claimed_is_passed_over)
{
	leads(2, "01");
	claim_tick(1000);
	ledger_has(0, names(TICK, NULL));
	ledger_has(1, names(NULL));
	asks(CLAIM(1), ok());
	yours(1);
	waits();
}

Test(run_any, one_that_this_node_has_run_is_not_asked_for_again)
{
	leads(2, "01");
	claim_tick(1000);
	ledger_has(0, names(NULL));
	asks(CLAIM(0), ok());
	yours(0);
	job_ends(0);
	asks("set " RECORD(0) " v0", ok());
	answers = 0;
	/* Partitions that a call has run before matter only if it names no tick. */
	claim_with((struct run_options){
		.tick_ms = TICK_MINUTE_MS, .wait_ms = 1000, .ran = 1, .got = {1 << 1}});
	ledger_has(1, names(NULL));
	asks(CLAIM(1), ok());
	yours(1);
}

Test(run_any, one_whose_run_is_known_to_have_ended_is_not_asked_for)
{
	const struct run_record record = {.state = "failed", .session = 'b', .attempt = 1};

	leads(2, "01");
	last_run_note(task_of("scan:0"), TICK, &record);
	claim_tick(0);
	ledger_has(1, names(NULL));
	asks(CLAIM(1), ok());
	yours(1);
}

Test(run_any, one_that_seems_to_run_or_was_lost_is_asked_for_in_the_ledger)
{
	static const char *const states[] = {"running", "lost"};
	struct run_record record = {.session = 'b', .attempt = 1};

	for (size_t i = 0; i < 2; i++) {
		if (i == 0)
			leads(1 + 1, "0");
		snprintf(record.state, sizeof(record.state), "%s", states[i]);
		last_run_note(task_of("scan:0"), TICK, &record);
		claim_tick(0);
		if (i == 0)
			ledger_has(0, names(TICK, NULL));
		/* The tick is claimed: the records of all partitions are looked at. */
		asks(i == 0 ? "exists " RECORD(1) : "exists " RECORD(0), ok());
		asks(i == 0 ? "exists " RECORD(0) : "exists " RECORD(1), ok());
		tells("taken", "");
	}
}

Test(run_any, where_all_are_claimed_it_is_taken)
{
	leads(2, "0");
	claim_tick(1000);
	ledger_has(0, names(TICK, NULL));
	pass(999);
	waits(); /* another may come to be led here */
	pass(1);
	asks("exists " RECORD(1), failed(STORE_NO_NODE));
	cr_expect_eq(answers, 0);
	asks("exists " RECORD(0), ok());
	tells("taken", "");
	cr_expect_eq(releases, 1);
}

Test(run_any, one_that_has_run_some_is_told_taken_without_another_look)
{
	leads(2, "");
	claim_with((struct run_options){.tick_ms = TICK_MINUTE_MS, .ran = 1});
	tells("taken", "");
	waits();
}

/* As a rule one is there; only if none of three is, all are asked for. */
Test(run_any, three_records_are_looked_for_first_and_then_all)
{
	leads(6, "");
	claim_tick(0);
	asks("exists " RECORD(1), failed(STORE_NO_NODE));
	asks("exists " RECORD(2), failed(STORE_NO_NODE));
	cr_expect_eq(store.n_open, 1);
	asks("exists " RECORD(3), failed(STORE_NO_NODE));
	asks("exists " RECORD(4), failed(STORE_NO_NODE));
	asks("exists " RECORD(5), failed(STORE_NO_NODE));
	cr_expect_eq(answers, 0);
	asks("exists " RECORD(0), failed(STORE_NO_NODE));
	tells("waited", "");
	cr_expect_eq(runs_open(&runs), 0);
}

Test(run_any, one_of_three_records_is_enough)
{
	leads(6, "");
	claim_tick(0);
	asks("exists " RECORD(1), failed(STORE_NO_NODE));
	asks("exists " RECORD(2), ok());
	asks("exists " RECORD(3), failed(STORE_NO_NODE));
	tells("taken", "");
	waits();
}

Test(run_any, a_look_without_an_answer_is_the_last)
{
	leads(6, "");
	claim_tick(0);
	asks("exists " RECORD(1), failed(STORE_NO_NODE));
	asks("exists " RECORD(2), failed(STORE_NO_NODE));
	asks("exists " RECORD(3), failed(STORE_UNKNOWN));
	tells("waited", "");
	waits();
}

Test(run_any, a_task_that_is_removed_while_the_records_are_looked_for)
{
	leads(2, "");
	claim_tick(0);
	asks("exists " RECORD(1), failed(STORE_NO_NODE));
	configures("other", NULL);
	asks("exists " RECORD(0), failed(STORE_NO_NODE));
	tells("waited", "the task has been removed");
}

Test(run_any, a_tick_that_is_older_than_a_ledger_keeps_is_told_where_no_other_is_to_be_run)
{
	leads(2, "01");
	claim_tick(1000);
	asks("get runs/scan:0",
	     holds(LATER, TICK_NAME_SIZE - 1, (struct store_stat){.version = 0}));
	asks("list runs/scan:0", names(LATER, NULL));
	ledger_has(1, names(TICK, NULL));
	waits();
	pass(1000);
	cr_assert_eq(answers, 1);
	cr_expect_eq(told.kind, RUN_ANSWER_FAILED);
	cr_expect_str_eq(why, "the tick " TICK " is older than the oldest that is kept of scan:0, "
			      "so it may have been run: is the clock right, and was it when those "
			      "were claimed?");
	cr_expect_eq(releases, 1);
	idle();
}
