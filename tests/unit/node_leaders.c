/*
 * The elections of a node, with a ZooKeeper that the test plays: what follows from the rules of docs/ELECTION.md
 * in requests, and what may be said of leading meanwhile. The rules themselves are in core_election.c.
 */
#include "node_site.h"

TestSuite(leaders, .init = site_begin);

#define CLAIM	"check workers/me, set leaders, create* leaders/report"
#define RELEASE "check workers/b, set leaders/report v0, delete leaders/report v1"

static struct store_reply with_token(int64_t token)
{
	return of_stat((struct store_stat){.mzxid = token});
}

/* "b" is the best, and leads. */
static struct task *follow(void)
{
	configures("report", NULL);
	joins("b", "2.0", 9);
	joins("me", "1.0", 5);
	asks("get! leaders/report", led_by("b", 50));
	return task_of("report");
}

/* --- claiming ------------------------------------------------------------------------------------------- */

Test(leaders, the_best_claims_what_nobody_leads_at_once)
{
	struct task *t = lead("report");

	cr_expect_eq(state_of("report"), ELECTION_LEADING);
	cr_expect_eq(t->election.node.token, TOKEN);
	cr_expect_str_eq(t->leader.id, "me");
	cr_expect_str_eq(leaders_leader(t)->worker->id, "me");
	cr_expect(leaders_says(t));
}

Test(leaders, the_second_best_claims_in_its_turn)
{
	configures("report", NULL);
	joins("b", "2.0", 9);
	joins("me", "1.0", 5);
	asks("get! leaders/report", failed(STORE_NO_NODE));
	asks("exists! leaders/report", failed(STORE_NO_NODE));
	pass(ELECTION_STAGGER_MS - 1);
	idle();
	pass(1);
	/* The last read is too old by then. */
	asks("get! leaders/report", failed(STORE_NO_NODE));
	asks("exists! leaders/report", failed(STORE_NO_NODE));
	asks(CLAIM, with_token(TOKEN));
	asks("get! leaders/report", led_by("me", TOKEN));
	cr_expect_eq(state_of("report"), ELECTION_LEADING);
}

Test(leaders, who_comes_third_neither_reads_nor_watches)
{
	configures("report", NULL);
	joins("b", "2.0", 9);
	joins("c", "2.0", 8);
	joins("me", "1.0", 5);
	pass(30000);
	idle();
	cr_expect_eq(state_of("report"), ELECTION_FOLLOWING);
}

Test(leaders, a_claim_that_is_refused_is_decided_by_the_read_behind_it)
{
	configures("report", NULL);
	joins("me", "1.0", 5);
	asks("get! leaders/report", failed(STORE_NO_NODE));
	asks(CLAIM, failed_at(STORE_NODE_EXISTS, 2));
	cr_expect_eq(state_of("report"), ELECTION_RESOLVING);
	cr_expect_not(leaders_says(task_of("report")));
	asks("get! leaders/report", led_by("b", 50));
	cr_expect_eq(state_of("report"), ELECTION_FOLLOWING);
	cr_expect_str_eq(task_of("report")->leader.id, "b");
}

Test(leaders, a_claim_whose_answer_is_lost_is_decided_by_the_owner)
{
	configures("report", NULL);
	joins("me", "1.0", 5);
	asks("get! leaders/report", failed(STORE_NO_NODE));
	asks(CLAIM, failed(STORE_UNKNOWN));
	cr_expect_not(leaders_says(task_of("report")));
	asks("get! leaders/report", led_by("me", 66));
	cr_expect_eq(state_of("report"), ELECTION_LEADING);
	cr_expect_eq(task_of("report")->election.node.token, 66);
}

Test(leaders, nobody_claims_before_the_fleet_and_the_policy_are_known)
{
	bool *const unknown[] = {&registry.workers.ready, &policy.folder.ready};

	for (size_t i = 0; i < 2; i++) {
		*unknown[i] = false;
		configures("report", NULL);
		if (i == 0)
			joins("me", "1.0", 5);
		pass(5000);
		idle();
		*unknown[i] = true;
	}
	candidates_changed(&leaders);
	turn();
	asks("get! leaders/report", failed(STORE_NO_NODE));
	asks(CLAIM, with_token(TOKEN));
	asks("get! leaders/report", led_by("me", TOKEN));
}

/* --- yielding ------------------------------------------------------------------------------------------- */

Test(leaders, a_better_worker_gets_the_task_after_yield_delay)
{
	struct task *t = lead("report");

	joins("b", "2.0", 9);
	pass(site_timing.yield_delay_ms - 1);
	idle();
	cr_expect(leaders_says(t));
	pass(1);
	cr_expect_eq(state_of("report"), ELECTION_RELEASING);
	cr_expect_not(leaders_says(t), "nothing is promised while it is given up");
	asks(RELEASE, ok());
	cr_expect_eq(state_of("report"), ELECTION_VACANT);
	pass(ELECTION_VACANT_READ_MS);
	asks("get! leaders/report", led_by("b", 50));
	cr_expect_eq(state_of("report"), ELECTION_FOLLOWING);
	cr_expect_str_eq(leaders_leader(t)->worker->id, "b");
}

Test(leaders, what_was_promised_is_kept)
{
	struct task *t = lead("report");
	int64_t ms = leaders_promise(t);

	cr_assert_gt(ms, site_timing.yield_delay_ms);
	cr_expect_eq(leaders_promised_left(&leaders), ms);
	joins("b", "2.0", 9);
	pass(ms - 1);
	idle();
	cr_expect_eq(leaders_promised_left(&leaders), 1);
	pass(1);
	asks(RELEASE, ok());
}

Test(leaders, a_run_holds_the_task_for_as_long_as_it_may)
{
	struct task *t = lead("report");

	leaders_hold(t, true, host.now_ms + 20000);
	joins("b", "2.0", 9);
	pass(10000);
	idle();
	cr_expect_gt(leaders_hold_renew(t), 0);
	leaders_hold(t, false, 0);
	turn();
	asks(RELEASE, ok());
}

Test(leaders, of_two_runs_the_one_that_is_left_holds_the_task)
{
	struct task *t = lead("report");

	leaders_hold(t, true, host.now_ms + 20000);
	leaders_hold(t, true, host.now_ms + 20000);
	leaders_hold(t, false, 0);
	joins("b", "2.0", 9);
	pass(10000);
	idle();
	leaders_hold(t, false, 0);
	turn();
	asks(RELEASE, ok());
}

Test(leaders, a_hold_ends_when_hold_max_is_over)
{
	struct task *t = lead("report");

	leaders_hold(t, true, host.now_ms + 5000);
	joins("b", "2.0", 9);
	pass(2000);
	cr_expect_eq(leaders_hold_renew(t), 3000, "no further than to the handover");
	pass(3000);
	asks(RELEASE, ok());
}

Test(leaders, a_hold_is_put_off_with_renew_while_nobody_is_better)
{
	struct task *t = lead("report");

	leaders_hold(t, true, host.now_ms + 100);
	int64_t left = leaders_hold_renew(t);
	cr_assert_eq(left, session_lease_left(&session));
	joins("b", "2.0", 9);
	pass(left - 1);
	idle();
	pass(1);
	asks(RELEASE, ok());
}

Test(leaders, a_release_that_is_refused_is_read_and_led_on)
{
	struct task *t = lead("report");

	joins("b", "2.0", 9);
	pass(2000);
	asks(RELEASE, failed_at(STORE_NO_NODE, 0)); /* "b" is gone */
	leaves("b");
	asks("get! leaders/report", led_by("me", TOKEN));
	cr_expect(leaders_says(t));
	pass(10000);
	idle();
}

Test(leaders, a_task_that_is_not_configured_any_more_is_given_up_and_forgotten)
{
	lead("report");
	configures("other", NULL);
	asks("set leaders/report v0, delete leaders/report v1", ok());
	cr_expect_not_null(task_of("report"));
	pass(2000);
	idle();
	cr_expect_null(task_of("report"));
	cr_expect_eq(leaders.n_tasks, 1);
}

/* --- watches -------------------------------------------------------------------------------------------- */

Test(leaders, a_node_that_was_given_up_is_read_and_one_that_is_gone_is_vacant)
{
	follow();
	fires(STORE_NODE_CHANGED, "leaders/report");
	asks("get! leaders/report", led_by("b", 51));
	cr_expect_eq(state_of("report"), ELECTION_FOLLOWING);
	fires(STORE_NODE_DELETED, "leaders/report");
	cr_expect_eq(state_of("report"), ELECTION_VACANT);
	idle();
}

Test(leaders, a_watch_of_something_else_is_none_of_it)
{
	follow();
	fires(STORE_NODE_DELETED, "leaders/reports");
	fires(STORE_NODE_DELETED, "workers/report");
	fires(STORE_CHILDREN_CHANGED, "leaders/report");
	idle();
	cr_expect_eq(state_of("report"), ELECTION_FOLLOWING);
}

/* The old leader may be cut off, and within its lease. */
Test(leaders, a_node_that_was_deleted_by_hand_is_claimed_after_its_owners_timeout)
{
	follow();
	decides("d1", POLICY_DRAIN, "", "host-b:/s", ""); /* so that we are the best */
	fires(STORE_NODE_DELETED, "leaders/report");
	pass(ELECTION_VACANT_READ_MS);
	asks("get! leaders/report", failed(STORE_NO_NODE));
	asks("exists! leaders/report", failed(STORE_NO_NODE));
	pass(TIMEOUT_MS - ELECTION_VACANT_READ_MS - 1);
	idle();
	pass(1);
	asks("get! leaders/report", failed(STORE_NO_NODE));
	asks("exists! leaders/report", failed(STORE_NO_NODE));
	asks(CLAIM, with_token(TOKEN));
}

/* --- the session ---------------------------------------------------------------------------------------- */

Test(leaders, a_lost_connection_leaves_the_role_for_as_long_as_the_lease)
{
	struct task *t = lead("report");

	answer_all(STORE_UNKNOWN);
	connection(STORE_CONNECTING);
	cr_expect(leaders_says(t));
	int64_t left = leaders_lease_left(t);
	cr_assert_gt(left, 1000);
	pass(left - 1);
	cr_expect_eq(leaders_lease_left(t), 1);
	pass(1);
	cr_expect_not(leaders_says(t));
	cr_expect_not(leaders_may_begin(t));
	cr_expect_eq(state_of("report"), ELECTION_LEADING, "and may again, if the session lives");
}

Test(leaders, nothing_is_left_of_a_session_that_has_expired)
{
	struct task *t = lead("report");

	connection(STORE_EXPIRED);
	cr_expect_eq(state_of("report"), ELECTION_DOWN);
	cr_expect_not(leaders_says(t));
	cr_expect_null(leaders_leader(t));
	cr_expect_str_eq(t->leader.id, "");
	cr_expect_eq(leaders.n_leading, 0);
}

/* --- who leads ------------------------------------------------------------------------------------------- */

Test(leaders, who_asks_for_a_leader_has_it_read_once)
{
	configures("report", NULL);
	joins("c", "2.0", 9);
	joins("d", "2.0", 8);
	joins("me", "1.0", 5);
	struct task *t = task_of("report");
	idle();
	cr_expect_not(leaders_fresh(t));
	leaders_refresh(t);
	turn();
	asks("get! leaders/report", led_by("c", 50));
	cr_expect(leaders_fresh(t));
	cr_expect_str_eq(leaders_leader(t)->worker->id, "c");
	fires(STORE_NODE_DELETED, "leaders/report");
	cr_expect_not(leaders_is_led(t));
	pass(ELECTION_VACANT_READ_MS - 1);
	idle();
	pass(1);
	asks("get! leaders/report", led_by("d", 51));
	fires(STORE_NODE_CHANGED, "leaders/report");
	pass(30000);
	idle(); /* nobody asks any more */
}

Test(leaders, a_subscriber_keeps_the_leader_fresh)
{
	configures("report", NULL);
	joins("c", "2.0", 9);
	joins("d", "2.0", 8);
	joins("me", "1.0", 5);
	struct task *t = task_of("report");
	leaders_subscribe(t, true);
	turn();
	asks("get! leaders/report", led_by("c", 50));
	fires(STORE_NODE_CHANGED, "leaders/report");
	asks("get! leaders/report", led_by("d", 51));
	cr_expect_str_eq(leaders_leader(t)->worker->id, "d");
	leaders_subscribe(t, false);
	fires(STORE_NODE_CHANGED, "leaders/report");
	pass(0);
	idle();
}

Test(leaders, a_node_that_is_not_ephemeral_is_led_by_nobody)
{
	char text[LEADERS_BLOCKED_MAX];

	configures("report", NULL);
	joins("me", "1.0", 5);
	asks("get! leaders/report", of_stat((struct store_stat){.czxid = 9}));
	struct task *t = task_of("report");
	cr_expect_eq(state_of("report"), ELECTION_FOLLOWING);
	cr_expect_not(leaders_is_led(t));
	cr_assert(leaders_is_blocked(t, text));
	cr_expect_neq(strstr(text, "delete " ROOT "/leaders/report"), NULL, "%s", text);
	pass(30000);
	idle();
}

Test(leaders, a_record_of_a_leader_that_cannot_be_read_leaves_its_owner)
{
	struct task *t;

	configures("report", NULL);
	joins("b", "2.0", 9);
	joins("me", "1.0", 5);
	asks("get! leaders/report",
	     holds("junk", 4, (struct store_stat){.czxid = 50, .owner = 'b'}));
	t = task_of("report");
	cr_expect_str_eq(t->leader.id, "");
	cr_expect_str_eq(leaders_leader(t)->worker->id, "b", "by its session");
}
