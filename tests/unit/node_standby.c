/* Standing by for a lost run: the fleet is told once, and what was told is taken back. */
#include "node_site.h"

#include "node/runs/standby.h"

#define TICK "2026-11-20T02:00:00Z"

static void begin(void)
{
	site_begin();
	configures("report", NULL);
	joins("x", "2.0", 9);
	joins("y", "2.0", 8);
	joins("me", "1.0", 5);
	policy.folder.ready = false;
	policy_up(&policy);
	asks("list! policy", names(NULL));
	pass(1000);
	idle();
}

TestSuite(standby, .init = begin);

static void stand_by(void)
{
	standby_set(task_of("report"), true, TICK);
	asks("list! policy", names(NULL));
	asks("create policy/new", ok());
	idle();
}

Test(standby, the_fleet_is_told_that_this_node_is_to_be_preferred)
{
	struct policy_record r;
	const char *why;

	stand_by();
	cr_assert_eq(record_parse_policy(store.last.data, store.last.len, &r, &why), 0, "%s", why);
	cr_expect_str_eq(r.kind, "rerun");
	cr_expect_str_eq(r.task, "report");
	cr_expect_str_eq(r.node, "here:/s");
	cr_expect_neq(strstr(r.reason, TICK), NULL, "%s", r.reason);
	cr_expect_gt(r.until, r.since, "it ends by itself");
}

Test(standby, several_runs_tell_it_once_and_the_last_takes_it_back)
{
	struct task *t = task_of("report");

	stand_by();
	standby_set(t, true, TICK);
	standby_set(t, false, TICK);
	idle();
	pass(1000);
	standby_set(t, false, TICK);
	asks("list! policy", names("new", NULL));
	asks("get policy/new", failed(STORE_NO_NODE)); /* the name that it is known by is drawn */
	idle();
}

Test(standby, what_could_not_be_told_is_told_again_after_a_second)
{
	struct task *t = task_of("report");

	standby_set(t, true, TICK);
	asks("list! policy", names(NULL));
	asks("create policy/new", failed(STORE_UNKNOWN));
	cr_expect_gt(t->standby->again_ms, host.now_ms);
	pass(999);
	standby_retry(t);
	idle();
	pass(1);
	standby_retry(t);
	asks("list! policy", names(NULL));
	asks("create policy/new", ok());
}

Test(standby, a_task_that_goes_meanwhile_is_not_written_to)
{
	standby_set(task_of("report"), true, TICK);
	configures("other", NULL);
	pass(2000);
	cr_assert_null(task_of("report"));
	asks("list! policy", names(NULL));
	asks("create policy/new", ok());
}

Test(standby, what_a_sidecar_before_left_over_is_taken_back)
{
	decides("old", POLICY_RERUN, "report", "here:/s", "");
	standby_check(&leaders);
	asks("list! policy", names("old", NULL));
	asks("get policy/old", failed(STORE_NO_NODE));
}
