/* Tasks of a spread group that others list and that this node has no file for: which, and what is known of them. */
#include "node_site.h"

#include "core/fleet/draft.h"
#include "core/fleet/fleet_ranking.h"

TestSuite(groups, .init = site_begin);

/* This node's files: pairs of a task and its group, "" for none; the list ends with NULL. */
static void files(const char *first, ...)
{
	struct task_settings list[8];
	size_t n = 0;
	va_list ap;

	va_start(ap, first);
	for (const char *name = first; name; name = va_arg(ap, const char *)) {
		const char *group = va_arg(ap, const char *);
		list[n] = settings_of(name);
		list[n].rank_position = -1;
		list[n++].spread = group[0] ? group : NULL;
	}
	va_end(ap);
	tasks_apply(&leaders, &site_timing, list, n);
	turn();
}

static struct worker *worker_of(const char *id, const char *const *tasks, const char *const *groups,
				size_t n)
{
	struct worker *w = worker_new();

	snprintf(w->id, sizeof(w->id), "%s", id);
	snprintf(w->version, sizeof(w->version), "1.0");
	snprintf(w->hostname, sizeof(w->hostname), "host-%s", id);
	snprintf(w->node, sizeof(w->node), "host-%s:/s", id);
	snprintf(w->ip, sizeof(w->ip), "192.0.2.9");
	w->timeout_ms = TIMEOUT_MS;
	worker_set_tasks(w, tasks, n);
	w->groups = mem_calloc(n + 1, sizeof(*w->groups));
	w->n_groups = n;
	for (size_t i = 0; i < n; i++)
		w->groups[i] = mem_strdup(groups[i]);
	return w;
}

/* A worker joins that lists these: pairs, sorted by task; the list ends with NULL. */
static void joins_with(const char *id, const char *first, ...)
{
	const char *tasks[8], *groups[8];
	size_t n = 0;
	va_list ap;

	va_start(ap, first);
	for (const char *name = first; name; name = va_arg(ap, const char *)) {
		tasks[n] = name;
		groups[n++] = va_arg(ap, const char *);
	}
	va_end(ap);
	registry_add(&registry, worker_of(id, tasks, groups, n), id[0], host.now_ms);
	candidates_changed(&leaders);
	turn();
}

#define guests(expected) script_guests(expected, __LINE__)
static void script_guests(const char *expected, int line)
{
	char text[400] = "";

	for (size_t i = 0; i < leaders.n_guests; i++)
		snprintf(text + strlen(text), sizeof(text) - strlen(text), "%s%s", i ? " " : "",
			 leaders.guests[i]->name);
	cr_expect_str_eq(text, expected, "line %d: %s", line, text);
}

/* --- which ----------------------------------------------------------------------------------------------- */

Test(groups, those_of_our_groups_that_we_have_no_file_for)
{
	files("m", "even", "o", "odd", "plain", "", NULL);
	joins_with("b", "a", "even", "m", "even", "z", "odd", NULL);
	guests("a z");
	joins_with("c", "a", "even", "b", "other", "plain", "even", "q", "", "r", "even", NULL);
	guests("a r z");
}

Test(groups, without_a_task_in_a_group_there_are_none)
{
	files("m", "", NULL);
	joins_with("b", "a", "even", NULL);
	guests("");
	files("m", "even", NULL);
	guests("a");
	files("m", "another", NULL);
	guests("");
}

Test(groups, one_that_gets_a_file_is_ours)
{
	files("m", "even", NULL);
	joins_with("b", "a", "even", "n", "even", NULL);
	guests("a n");
	files("a", "even", "m", "even", NULL);
	guests("n");
	cr_expect(task_of("a"));
}

Test(groups, one_that_nobody_lists_any_more_goes_when_they_are_found_again)
{
	files("m", "even", NULL);
	joins_with("b", "a", "even", NULL);
	joins_with("c", "n", "even", NULL);
	leaves("b");
	files("m", "even", NULL);
	guests("n");
}

Test(groups, a_worker_is_news_while_it_lists_one_that_is_not_known)
{
	static const char *const tasks[] = {"a"}, *const even[] = {"even"}, *const none[] = {""};
	struct member m = {.worker = NULL};

	files("m", "even", NULL);
	m.worker = worker_of("b", tasks, even, 1);
	cr_expect(groups_has_news(&leaders, &m));
	joins_with("c", "a", "even", NULL);
	cr_expect_not(groups_has_news(&leaders, &m), "it is known");
	files("a", "even", NULL);
	cr_expect_not(groups_has_news(&leaders, &m), "it is ours");
	worker_free(m.worker);
	files("m", "even", NULL);
	m.worker = worker_of("b", tasks, none, 1);
	cr_expect_not(groups_has_news(&leaders, &m), "it is in no group");
	worker_free(m.worker);
}

/*
 * Other workers' lists are not trusted: for each of our tasks in a group we take as many as a draft
 * has.
 */
Test(groups, there_are_no_more_than_the_drafts_may_have)
{
	enum { N = DRAFT_ITEMS_MAX + 40 };
	static char names[N][16];
	static const char *tasks[N], *groups[N];

	for (size_t i = 0; i < N; i++) {
		snprintf(names[i], sizeof(names[i]), "t%04zu", i);
		tasks[i] = names[i];
		groups[i] = "even";
	}
	files("m", "even", "plain", "", NULL);
	registry_add(&registry, worker_of("b", tasks, groups, N), 'b', host.now_ms);
	candidates_changed(&leaders);
	cr_expect_eq(leaders.n_guests, DRAFT_ITEMS_MAX);
	files("m", "even", "o", "even", NULL);
	cr_expect_eq(leaders.n_guests, N);
}

/* --- what is known of them ------------------------------------------------------------------------------- */

Test(groups, each_is_found_by_its_name_and_nothing_else_is)
{
	files("m", "even", NULL);
	joins_with("b", "b", "even", "d", "even", "f", "even", "h", "even", "j", "even", NULL);
	for (char c = 'a'; c <= 'k'; c++) {
		const struct guest *g = groups_find(&leaders, (char[]){c, '\0'});
		cr_expect_eq(g != NULL, strchr("bdfhj", c) != NULL, "%c", c);
		if (g)
			cr_expect_eq(g->name[0], c);
	}
	cr_expect_null(groups_find(&leaders, "m"), "it is ours");
	cr_expect_null(groups_find(&leaders, ""));
	cr_expect_null(groups_find(&leaders, "bb"));
}

Test(groups, they_stand_for_election_by_the_rules_of_our_task_of_the_group)
{
	struct task_settings s[2] = {settings_of("m"), settings_of("o")};

	s[0].spread = "even";
	s[0].version_policy = VERSION_OLDEST;
	s[0].min_version = "0.5";
	s[1].spread = "odd";
	tasks_apply(&leaders, &site_timing, s, 2);
	joins_with("b", "a", "even", "z", "odd", NULL);
	const struct guest *a = groups_find(&leaders, "a"), *z = groups_find(&leaders, "z");
	cr_assert(a && z);
	cr_expect_str_eq(a->contest.task, "a");
	cr_expect_str_eq(a->contest.draft, "even");
	cr_expect_eq(a->contest.rank_position, -1);
	cr_expect_eq(a->contest.version_policy, VERSION_OLDEST);
	cr_expect_null(a->contest.min_version, "that is said in its file");
	cr_expect_eq(z->contest.version_policy, s[1].version_policy);
	cr_expect_str_eq(z->contest.draft, "odd");
	cr_expect_eq(registry.fleet.contests[a->index], &a->contest);
	cr_expect_str_eq(registry.fleet.tasks[z->index], "z");
}

Test(groups, a_pin_of_one_is_known_here_as_well)
{
	files("m", "even", NULL);
	joins_with("b", "a", "even", "c", "even", NULL);
	decides("p1", POLICY_PIN, "a", "", "2.0");
	const struct guest *a = groups_find(&leaders, "a");
	cr_assert_not_null(a->contest.pinned);
	cr_expect_str_eq(a->contest.pinned, "2.0");
	cr_expect_null(groups_find(&leaders, "c")->contest.pinned);
	cr_expect_eq(fleet_why(&registry.fleet, &a->contest, a->index, "b"), WHY_NOT_PINNED);
	cr_expect_null(fleet_standing(&registry.fleet, a->index, NULL).best);
	decides_no_more("p1");
	cr_expect_null(a->contest.pinned);
	cr_expect_not_null(fleet_standing(&registry.fleet, a->index, NULL).best);
}

/* Whoever has which files, all come to the same result. */
Test(groups, the_best_of_our_task_is_the_same_with_the_files_of_the_others_and_without)
{
	static const char *const tasks[] = {"a", "b", "c", "d"}, *const even[] = {"even", "even",
										  "even", "even"};
	size_t alone = 0; /* how often it would be another without them */

	for (int32_t seed = 1; seed <= 20; seed++) {
		char with[NAME_ID_MAX + 1], without[NAME_ID_MAX + 1];
		for (int32_t i = 0; i < 4; i++) {
			struct worker *w =
				worker_of((char[]){(char)('p' + i), '\0'}, tasks, even, 4);
			for (int32_t j = 0; j < WORKER_RANDOM_INTS; j++)
				w->random_ints[j] = seed * 7919 + i * 104729 + j;
			registry_add(&registry, w, 'p' + i, host.now_ms);
		}
		files("a", "even", "b", "even", "c", "even", "d", "even", NULL);
		guests("");
		strcpy(with, task_of("d")->standing.best_id);
		files("d", "even", NULL);
		guests("a b c");
		strcpy(without, task_of("d")->standing.best_id);
		cr_expect_str_eq(with, without, "seed %d", (int)seed);
		struct contest c = task_of("d")->contest;
		const struct standing s =
			fleet_stand_ranked(&registry.fleet, &c, task_of("d")->index, "");
		alone += strcmp(s.best->worker->id, with) != 0;
		for (int32_t i = 0; i < 4; i++)
			leaves((char[]){(char)('p' + i), '\0'});
		files(NULL);
	}
	cr_expect_gt(alone, 0, "or the draft has decided nothing");
}
