/*
 * Candidates of each task, as the election is told: the table of docs/ELECTION.md, "Who is best".
 */
#include "node_site.h"

static void begin(void)
{
	site_begin();
	configures("report", NULL);
	joins("me", "1.0", 5);
	joins("b", "1.0", 9);
	store.n_open = 0; /* reads of the leader node are not looked at here */
}

TestSuite(candidates, .init = begin);

static const struct election_view *view(void)
{
	return &task_of("report")->election.view;
}

#define places(candidate_, place_, best_) script_places(candidate_, place_, best_, __LINE__)
static void script_places(bool candidate, unsigned place, const char *best, int line)
{
	cr_expect_eq(view()->candidate, candidate, "line %d", line);
	if (candidate)
		cr_expect_eq(view()->place, place, "line %d: place %u", line, view()->place);
	cr_expect_str_eq(task_of("report")->standing.best_id, best, "line %d: best is %s", line,
			 task_of("report")->standing.best_id);
}

Test(candidates, the_bigger_number_is_the_better_among_equals)
{
	places(true, 1, "b");
	cr_expect_not(view()->newer);
	cr_expect_eq(view()->best, fleet_find(&registry.fleet, "b")->serial);
	leaves("b");
	places(true, 0, "");
	cr_expect_eq(view()->best, 0);
}

Test(candidates, a_newer_version_is_better_whatever_the_number)
{
	joins("c", "2.0", 1);
	places(true, 2, "c");
	cr_expect(view()->newer);
}

Test(candidates, who_is_drained_leads_nothing)
{
	decides("d1", POLICY_DRAIN, "", "host-b:/s", "");
	places(true, 0, "");
	decides("d2", POLICY_DRAIN, "", "host-me:/s", "");
	places(false, 0, "");
	decides_no_more("d1");
	places(false, 0, "b");
	decides_no_more("d2");
	places(true, 1, "b");
}

Test(candidates, a_task_that_is_paused_has_none)
{
	decides("p1", POLICY_PAUSE, "report", "", "");
	places(false, 0, "");
	cr_expect(task_of("report")->standing.paused);
	cr_expect_eq(view()->best, 0);
	decides_no_more("p1");
	places(true, 1, "b");
	decides("p2", POLICY_PAUSE, "another", "", "");
	places(true, 1, "b");
}

Test(candidates, a_pinned_task_goes_to_that_version_alone)
{
	joins("c", "2.0", 1);
	decides("p1", POLICY_PIN, "report", "", "1.0.0");
	places(true, 1, "b");
	decides_no_more("p1");
	places(true, 2, "c");
	decides("p2", POLICY_PIN, "report", "", "2.0");
	places(false, 0, "c");
}

Test(candidates, who_has_resigned_leads_only_if_nobody_else_can)
{
	decides("r1", POLICY_RESIGN, "report", "host-b:/s", "");
	places(true, 0, "");
	decides("r2", POLICY_RESIGN, "report", "host-me:/s", "");
	places(true, 1, "b");
	decides_no_more("r1");
	places(false, 0, "b");
	decides("r3", POLICY_RESIGN, "another", "host-b:/s", "");
	places(false, 0, "b");
}

Test(candidates, who_stands_by_for_a_lost_run_is_preferred_while_it_can_lead)
{
	decides("s1", POLICY_RERUN, "report", "host-me:/s", "");
	places(true, 0, "");
	decides("d1", POLICY_DRAIN, "", "host-me:/s", "");
	places(false, 0, "b");
	decides_no_more("d1");
	places(true, 0, "");
	decides_no_more("s1");
	places(true, 1, "b");
}

Test(candidates, who_comes_later_is_judged_by_what_was_decided_before)
{
	decides("d1", POLICY_DRAIN, "", "host-c:/s", "");
	joins("c", "2.0", 1);
	places(true, 1, "b");
}

Test(candidates, minimum_and_oldest_come_from_the_task)
{
	struct task_settings s = settings_of("report");

	joins("c", "2.0", 1);
	s.min_version = "1.5";
	tasks_apply(&leaders, &site_timing, &s, 1);
	places(false, 0, "c");
	s.min_version = NULL;
	s.version_policy = VERSION_OLDEST;
	tasks_apply(&leaders, &site_timing, &s, 1);
	places(true, 1, "b");
}

Test(candidates, an_election_is_told_nothing_while_who_is_there_is_not_known)
{
	policy.folder.ready = false;
	leaves("b");
	places(true, 1, "b");
	policy.folder.ready = true;
	candidates_changed(&leaders);
	places(true, 0, "");
}

/* A yield waits for those who have read a big fleet later than we. */
Test(candidates, the_best_of_a_big_fleet_is_seen_when_all_have_read_it)
{
	int64_t seen_ms = view()->best_seen_ms;

	registry.read_ms = seen_ms + 700;
	joins("c", "0.5", 1);
	places(true, 1, "b");
	cr_expect_eq(view()->best_seen_ms, seen_ms + 700);
	cr_expect_not(leaders_time(&leaders).reading);
	registry.reads_many = true;
	cr_expect(leaders_time(&leaders).reading);
}
