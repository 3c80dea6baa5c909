/* Which decision is about a task, a partition of it, or a node whose name another machine may have. */
#include "node_site.h"

/* Decided now; each is later than the one before. */
static void decided(const char *name, enum policy_kind kind, const char *task, const char *node,
		    const char *machine)
{
	static int64_t since = WALL_MS;
	struct policy_record r = {.since = ++since};

	snprintf(r.kind, sizeof(r.kind), "%s", policy_kind_name(kind));
	snprintf(r.task, sizeof(r.task), "%s", task);
	snprintf(r.node, sizeof(r.node), "%s", node);
	snprintf(r.machine, sizeof(r.machine), "%s", machine);
	policy_made(&policy, name, &r);
}

static struct member *is_there(const char *id, const char *node, const char *machine)
{
	struct worker *w = worker_new();

	snprintf(w->id, sizeof(w->id), "%s", id);
	snprintf(w->node, sizeof(w->node), "%s", node);
	snprintf(w->machine, sizeof(w->machine), "%s", machine);
	return fleet_add(&registry.fleet, w, id[0], host.now_ms);
}

#define name_is(item, name_) script_name_is(item, name_, __LINE__)
static void script_name_is(const struct policy_item *item, const char *name, int line)
{
	cr_expect_str_eq(item ? item->name : "none", name, "line %d: %s", line,
			 item ? item->name : "none");
}

TestSuite(policy_nodes, .init = site_begin);

Test(policy_nodes, a_name_of_a_partition_has_that_of_its_task)
{
	static const struct {
		const char *name, *whole; /* NULL: it is no partition */
	} cases[] = {{"report:0", "report"}, {"report:12", "report"},
		     {"a-b.c:1", "a-b.c"},   {"report", NULL},
		     {"report:", NULL},	     {"report:x", NULL},
		     {":1", NULL},	     {"", NULL}};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		char whole[NAME_TASK_MAX + 1] = "untouched";
		bool is = policy_whole(cases[i].name, whole);
		cr_expect_eq(is, cases[i].whole != NULL, "%s", cases[i].name);
		cr_expect_str_eq(whole, cases[i].whole ? cases[i].whole : "untouched", "%s",
				 cases[i].name);
	}
}

Test(policy_nodes, what_is_about_a_task_is_about_its_partitions_but_theirs_comes_before)
{
	name_is(policy_find(&policy, POLICY_PAUSE, "report:3", ""), "none");
	decided("whole", POLICY_PAUSE, "report", "", "");
	name_is(policy_find(&policy, POLICY_PAUSE, "report", ""), "whole");
	name_is(policy_find(&policy, POLICY_PAUSE, "report:3", ""), "whole");
	name_is(policy_find(&policy, POLICY_PAUSE, "reports:3", ""), "none");
	name_is(policy_find(&policy, POLICY_PIN, "report:3", ""), "none");
	decided("third", POLICY_PAUSE, "report:3", "", "");
	name_is(policy_find(&policy, POLICY_PAUSE, "report:3", ""), "third");
	name_is(policy_find(&policy, POLICY_PAUSE, "report:4", ""), "whole");
	name_is(policy_find(&policy, POLICY_PAUSE, "report", ""), "whole");
	policy_gone(&policy, "whole");
	name_is(policy_find(&policy, POLICY_PAUSE, "report", ""), "none");
	name_is(policy_find(&policy, POLICY_PAUSE, "report:3", ""), "third");
}

Test(policy_nodes, the_same_of_a_node)
{
	decided("whole", POLICY_RESIGN, "report", "n", "");
	name_is(policy_find_node(&policy, POLICY_RESIGN, "report:3", "n", "m1"), "whole");
	name_is(policy_find(&policy, POLICY_RESIGN, "report:3", "n"), "whole");
	name_is(policy_find_node(&policy, POLICY_RESIGN, "report:3", "other", "m1"), "none");
	decided("third", POLICY_RESIGN, "report:3", "n", "");
	name_is(policy_find_node(&policy, POLICY_RESIGN, "report:3", "n", "m1"), "third");
	name_is(policy_find_node(&policy, POLICY_RESIGN, "report", "n", "m1"), "whole");
	name_is(policy_find_node(&policy, POLICY_RERUN, "report", "n", "m1"), "none");
}

/* A partition's decision that is about the twin does not hide the one about the task. */
Test(policy_nodes, what_is_about_the_twin_is_passed_over)
{
	is_there("a", "n", "m1");
	is_there("b", "n", "m2");
	decided("third", POLICY_RESIGN, "report:3", "n", "m1");
	decided("whole", POLICY_RESIGN, "report", "n", "m2");
	name_is(policy_find_node(&policy, POLICY_RESIGN, "report:3", "n", "m1"), "third");
	name_is(policy_find_node(&policy, POLICY_RESIGN, "report:3", "n", "m2"), "whole");
}

Test(policy_nodes, each_of_two_twins_has_its_own)
{
	is_there("a", "n", "m1");
	is_there("b", "n", "m2");
	decided("d1", POLICY_DRAIN, "", "n", "m1");
	name_is(policy_find_node(&policy, POLICY_DRAIN, "", "n", "m1"), "d1");
	name_is(policy_find_node(&policy, POLICY_DRAIN, "", "n", "m2"), "none");
	decided("d2", POLICY_DRAIN, "", "n", "m2");
	name_is(policy_find_node(&policy, POLICY_DRAIN, "", "n", "m1"), "d1");
	name_is(policy_find_node(&policy, POLICY_DRAIN, "", "n", "m2"), "d2");
	/* Others of the same kind or of the same node are not looked at. */
	decided("d3", POLICY_DRAIN, "", "other", "");
	decided("r1", POLICY_RESIGN, "report", "n", "");
	policy_gone(&policy, "d1");
	name_is(policy_find_node(&policy, POLICY_DRAIN, "", "n", "m1"), "none");
	name_is(policy_find_node(&policy, POLICY_RESIGN, "backup", "n", "m1"), "none");
}

Test(policy_nodes, the_other_of_two_twins_is_found_of_that_task_and_kind_alone)
{
	is_there("a", "n", "m1");
	is_there("b", "n", "m2");
	decided("s2", POLICY_RERUN, "report", "n", "m2");
	decided("r2", POLICY_RESIGN, "backup", "n", "m2");
	decided("r1", POLICY_RESIGN, "report", "n", "m1");
	name_is(policy_find_node(&policy, POLICY_RESIGN, "report", "n", "m1"), "r1");
	name_is(policy_find_node(&policy, POLICY_RESIGN, "report", "n", "m2"), "none");
}

/* A decision about m1's n; n is there on these machines. */
Test(policy_nodes, a_name_passes_on_once_its_machine_is_not_there_with_it)
{
	const struct member *second = is_there("b", "n", "m2");
	const struct policy_item *item;

	decided("d1", POLICY_DRAIN, "", "n", "m1");
	item = policy_find(&policy, POLICY_DRAIN, "", "n");
	cr_assert_not_null(item);
	cr_expect(policy_is_about(&policy, item, "n", "m2"), "m1 has another name now, or is gone");
	cr_expect(policy_concerns(&policy, item, second->worker));
	const struct member *first = is_there("a", "n", "m1");
	cr_expect(policy_concerns(&policy, item, first->worker));
	cr_expect_not(policy_concerns(&policy, item, second->worker));
	cr_expect(policy_is_about(&policy, item, "n", ""), "a machine that is not known");
	cr_expect_not(policy_is_about(&policy, item, "other", "m1"), "the name counts as well");
	cr_expect_not(policy_is_about(&policy, item, "other", ""));
}

Test(policy_nodes, a_record_is_in_force_from_being_made_until_it_is_gone)
{
	cr_expect_not(policy_has(&policy, "d1"));
	decided("d0", POLICY_DRAIN, "", "m", "");
	decided("d1", POLICY_DRAIN, "", "n", "");
	cr_expect(policy_has(&policy, "d1"));
	cr_expect_not(policy_has(&policy, "d"));
	policy_gone(&policy, "d1");
	cr_expect_not(policy_has(&policy, "d1"));
	cr_expect(policy_has(&policy, "d0"));
}
