/* Which tasks there are: by the configuration, and what is left of those that were. */
#include "node_site.h"

static char removed[100];

static void on_removed(struct task *t)
{
	size_t used = strlen(removed);

	snprintf(removed + used, sizeof(removed) - used, "%s ", t->name);
}

static void begin(void)
{
	site_begin();
	site.task_removed = on_removed;
}

TestSuite(tasks, .init = begin);

static struct task *find(const char *name)
{
	return tasks_find(&leaders, name, strlen(name));
}

Test(tasks, they_are_sorted_and_found_by_name)
{
	configures("b", "a", "c", NULL);
	cr_assert_eq(leaders.n_tasks, 3);
	for (size_t i = 0; i < 3; i++) {
		cr_expect_str_eq(leaders.tasks[i]->name, ((const char *[]){"a", "b", "c"})[i]);
		cr_expect_eq(leaders.tasks[i]->index, i);
	}
	cr_expect_eq(find("b"), leaders.tasks[1]);
	cr_expect_null(find("bb"));
	cr_expect_null(tasks_find(&leaders, "b\0b", 3), "a name with a NUL");
	cr_expect_eq(tasks_find(&leaders, "bb", 1), leaders.tasks[1]);
	cr_expect_eq(leaders.n_published, 3);
}

Test(tasks, what_stays_configured_keeps_its_election)
{
	struct task *t = lead("report");
	struct task_settings s[2] = {settings_of("report"), settings_of("another")};

	s[0].description = "the nightly one";
	s[0].history = 7;
	tasks_apply(&leaders, &site_timing, s, 2);
	cr_expect_eq(find("report"), t);
	cr_expect_eq(t->election.state, ELECTION_LEADING);
	cr_expect_eq(t->election.node.token, TOKEN);
	cr_expect_eq(t->settings->history, 7);
	cr_expect_str_eq(t->settings->description, "the nightly one");
	cr_expect_str_eq(removed, "");
}

Test(tasks, another_setting_counts_at_once)
{
	struct task *t = lead("report");
	struct task_settings s = settings_of("report");

	s.min_version = "2.0"; /* we have 1.0 */
	tasks_apply(&leaders, &site_timing, &s, 1);
	cr_expect_not(t->election.view.candidate);
	pass(0);
	asks("set leaders/report v0, delete leaders/report v1", ok());
}

Test(tasks, one_that_nobody_led_here_goes_at_once)
{
	configures("a", "b", NULL);
	configures("b", NULL);
	cr_expect_str_eq(removed, "a ");
	cr_expect_null(task_of("a"));
	cr_expect_eq(leaders.n_tasks, 1);
}

Test(tasks, one_whose_answers_are_outstanding_is_kept_until_they_have_come)
{
	configures("a", "b", NULL);
	joins("me", "1.0", 5);
	cr_expect_eq(store.n_open, 2);
	configures("b", NULL);
	cr_expect_str_eq(removed, "");
	cr_expect_null(find("a"), "it is not configured");
	cr_assert_not_null(task_of("a"));
	cr_expect(task_of("a")->withdrawn);
	asks("get! leaders/a", led_by("x", 50));
	pass(1000);
	cr_expect_str_eq(removed, "a ");
}

Test(tasks, one_of_a_spread_group_is_drafted_while_it_is_given_up)
{
	struct task_settings s[2] = {settings_of("a"), settings_of("b")};

	s[0].spread = s[1].spread = "g";
	lead("a");
	tasks_apply(&leaders, &site_timing, s, 2);
	tasks_apply(&leaders, &site_timing, &s[1], 1);
	cr_assert_not_null(task_of("a"));
	cr_expect(task_of("a")->withdrawn);
	cr_assert_not_null(task_of("a")->contest.draft, "others have it, and are drafted for it");
	cr_expect_str_eq(task_of("a")->contest.draft, "g");
}

/* Our record lists all tasks as that group's from now on. */
static void is_in_group(const char *group)
{
	struct worker *w = worker_new();

	snprintf(w->id, sizeof(w->id), "me");
	snprintf(w->version, sizeof(w->version), "1.0");
	snprintf(w->node, sizeof(w->node), "host-me:/s");
	snprintf(w->ip, sizeof(w->ip), "192.0.2.9");
	w->timeout_ms = TIMEOUT_MS;
	worker_set_tasks(w, leaders.names, leaders.n_tasks);
	w->n_groups = leaders.n_tasks;
	w->groups = mem_calloc(w->n_groups, sizeof(*w->groups));
	for (size_t i = 0; i < w->n_groups; i++)
		w->groups[i] = mem_strdup(group);
	registry_forget(&registry, "me");
	registry_add(&registry, w, SESSION, host.now_ms);
	candidates_changed(&leaders);
	turn();
}

/* Until our record says so, none of them knows that it is the next. */
Test(tasks, one_of_a_spread_group_is_given_up_once_the_others_know)
{
	struct task_settings s = settings_of("a");

	s.spread = "g";
	tasks_apply(&leaders, &site_timing, &s, 1);
	is_in_group("g");
	asks("get! leaders/a", failed(STORE_NO_NODE));
	asks("check workers/me, set leaders, create* leaders/a",
	     of_stat((struct store_stat){.mzxid = TOKEN}));
	asks("get! leaders/a", led_by("me", TOKEN));
	tasks_apply(&leaders, &site_timing, NULL, 0);
	pass(499);
	idle();
	pass(1);
	asks("set leaders/a v0, delete leaders/a v1", ok());
}

Test(tasks, one_that_comes_back_meanwhile_stays)
{
	struct task *t;

	configures("a", NULL);
	joins("me", "1.0", 5);
	t = find("a");
	configures(NULL);
	cr_assert_not_null(task_of("a"));
	configures("a", NULL);
	cr_expect_eq(find("a"), t);
	asks("get! leaders/a", led_by("x", 50));
	pass(2000);
	cr_expect_eq(find("a"), t);
	cr_expect_str_eq(removed, "");
}

Test(tasks, a_node_that_goes_gives_up_all_but_what_a_run_holds)
{
	struct task *t;

	configures("a", "b", NULL);
	joins("me", "1.0", 5);
	asks("get! leaders/a", led_by("me", 40));
	asks("get! leaders/b", led_by("me", 41));
	t = find("a");
	leaders_hold(t, true, host.now_ms + 20000);
	tasks_withdraw(&leaders);
	pass(0);
	asks("set leaders/b v0, delete leaders/b v1", ok());
	cr_expect_eq(t->election.state, ELECTION_LEADING);
	cr_expect_eq(find("b"), task_of("b"), "questions are answered on");
	cr_expect_eq(leaders.n_published, 1, "others need not wait for us");
}
