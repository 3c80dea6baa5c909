/* The numbers of partitions in force: what is read of them, and what follows for a task and for who leads it. */
#include "split_site.h"

TestSuite(partitions, .init = split_begin);

static unsigned rule_of(const char *task)
{
	const struct partitions_rule *rule = partitions_rule(&leaders, task);

	return rule ? rule->n : 0;
}

/* --- what is read ---------------------------------------------------------------------------------------- */

Test(partitions, a_number_is_named_task_and_1_to_256)
{
	static char too_long[NAME_TASK_MAX + 4];
	const struct {
		const char *name;
		unsigned n; /* 0: it is none */
	} cases[] = {{"scan:1", 1},	    {"scan:2", 2},     {"scan:256", 256}, {"scan:257", 0},
		     {"scan:0", 0},	    {"scan:04", 0},    {"scan:", 0},	  {"scan", 0},
		     {"scan:4x", 0},	    {"scan:+4", 0},    {":4", 0},	  {"sc an:4", 0},
		     {"scan:4:4", 0},	    {"scan:99999", 0}, {"-scan:4", 0},	  {too_long, 0},
		     {"scan:4294967300", 0}};
	char text[NAME_ELECTION_MAX + 40];

	memset(too_long, 's', NAME_TASK_MAX + 1);
	strcpy(too_long + NAME_TASK_MAX + 1, ":4");
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		lists(names(cases[i].name, NULL));
		snprintf(text, sizeof(text), "get partitions/%s", cases[i].name);
		asks(text, number(4, 0, ""));
		cr_expect_eq(leaders.partitions.n, cases[i].n > 0, "%s", cases[i].name);
		cr_expect_eq(rule_of("scan"), cases[i].n, "%s", cases[i].name);
		fires(STORE_CHILDREN_CHANGED, "partitions");
	}
}

Test(partitions, a_number_whose_record_cannot_be_read_is_not_in_force)
{
	asks("list! partitions", names("a:4", "b:4", NULL));
	asks("get partitions/a:4", holds("junk", 4, (struct store_stat){.czxid = 1}));
	asks("get partitions/b:4", failed(STORE_NO_AUTH));
	cr_expect_eq(leaders.partitions.n, 0);
	idle();
}

Test(partitions, each_task_has_its_own_whatever_others_are_called)
{
	static const char *const tasks[] = {"scan",  "scana", "scan-a", "scan.a",
					    "scan1", "sca",   "scan_a", "t"};
	enum { N = sizeof(tasks) / sizeof(tasks[0]) };

	for (unsigned i = 0; i < N; i++)
		splits_in_force(tasks[i], i + 2, 0);
	for (unsigned i = 0; i < N; i++)
		cr_expect_eq(rule_of(tasks[i]), i + 2, "%s", tasks[i]);
	cr_expect_null(partitions_rule(&leaders, "sc"));
	cr_expect_null(partitions_rule(&leaders, "scan-"));
	cr_expect_null(partitions_rule(&leaders, "u"));
	cr_expect_null(partitions_rule(&leaders, ""));
}

Test(partitions, the_file_is_compared_with_what_is_in_force)
{
	const struct {
		unsigned wanted, in_force; /* 0: none */
		enum partitions_state state;
		unsigned told;
	} cases[] = {{0, 0, PARTITIONS_PLAIN, 0},    {0, 1, PARTITIONS_PLAIN, 0},
		     {0, 4, PARTITIONS_REFUSED, 4},  {4, 0, PARTITIONS_UNKNOWN, 0},
		     {4, 4, PARTITIONS_IN_FORCE, 4}, {4, 8, PARTITIONS_REFUSED, 8},
		     {4, 1, PARTITIONS_REFUSED, 0}};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		char name[8];
		snprintf(name, sizeof(name), "t%zu", i);
		if (cases[i].in_force > 0)
			splits_in_force(name, cases[i].in_force, 0);
		const struct listing *listing = has_file(name, cases[i].wanted);
		cr_expect_eq(partitions_state(listing), cases[i].state, "case %zu", i);
		cr_expect_eq(listing->in_force, cases[i].told, "case %zu", i);
	}
}

Test(partitions, ticks_up_to_a_change_of_the_number_count_as_claimed)
{
	asks("list! partitions", names("first:4", "other:1", "scan:4", NULL));
	asks("get partitions/first:4", number(4, 0, ""));
	asks("get partitions/other:1", number(1, 8, "root"));
	asks("get partitions/scan:4", number(4, 8, "root"));
	cr_expect_eq(partitions_floor_ms(&leaders, "scan"), CHANGED_MS);
	cr_expect_eq(partitions_floor_ms(&leaders, "scan:3"), CHANGED_MS);
	cr_expect_eq(partitions_floor_ms(&leaders, "other"), CHANGED_MS);
	cr_expect_eq(partitions_floor_ms(&leaders, "first:3"), 0, "it was never changed");
	cr_expect_eq(partitions_floor_ms(&leaders, "else"), 0);
}

Test(partitions, the_elections_follow_what_is_in_force)
{
	has_file("scan", 4);
	asks("list! partitions", names("scan:4", NULL));
	asks("get partitions/scan:4", number(4, 0, ""));
	cr_expect_eq(split_listing("scan")->n, 4);
	cr_expect(task_of("scan:0") && task_of("scan:3"));
	cr_expect_str_eq(listings_told, "scan ");
	cr_expect_eq(n_splits, 1);
	/* The number is changed elsewhere. */
	fires(STORE_CHILDREN_CHANGED, "partitions");
	lists(names("scan:8", NULL));
	asks("get partitions/scan:8", number(8, 4, "root"));
	cr_expect_eq(split_listing("scan")->n, 0);
	cr_expect_eq(partitions_state(split_listing("scan")), PARTITIONS_REFUSED);
	cr_expect_eq(leaders.partitions.n, 1);
	cr_expect_eq(n_splits, 2);
}

Test(partitions, of_several_that_one_goes_that_is_gone)
{
	asks("list! partitions", names("a:4", "b:4", "c:4", NULL));
	asks("get partitions/a:4", number(4, 0, ""));
	asks("get partitions/b:4", number(4, 0, ""));
	asks("get partitions/c:4", number(4, 0, ""));
	has_file("b", 0);
	cr_expect_eq(partitions_state(split_listing("b")), PARTITIONS_REFUSED);
	fires(STORE_CHILDREN_CHANGED, "partitions");
	lists(names("a:4", "c:4", NULL));
	cr_expect_eq(rule_of("a"), 4);
	cr_expect_eq(rule_of("b"), 0);
	cr_expect_eq(rule_of("c"), 4);
	cr_expect_eq(partitions_state(split_listing("b")), PARTITIONS_PLAIN);
}

Test(partitions, where_the_folder_is_missing_it_is_made)
{
	asks("list! partitions", failed(STORE_NO_NODE));
	asks("create /r", failed(STORE_NODE_EXISTS));
	asks("create workers", failed(STORE_NODE_EXISTS));
	asks("create leaders", failed(STORE_NODE_EXISTS));
	asks("create policy", failed(STORE_NODE_EXISTS));
	asks("create partitions", ok());
	idle();
	pass(1000);
	asks("list! partitions", names(NULL));
}

/* --- who is no candidate --------------------------------------------------------------------------------- */

Test(partitions, who_has_another_number_in_its_file_is_no_candidate)
{
	static const char *const lists_it[] = {"scan"};
	const struct {
		unsigned in_force, theirs; /* 0: none */
		bool knows, lists;
		const char *text; /* "": it is one, as far as that goes */
	} cases[] = {
		{0, 8, true, true, ""},
		{4, 4, true, true, ""},
		{1, 0, true, true, ""},
		{1, 0, false, true, ""},
		{4, 0, true, false, ""},
		{4, 8, true, false,
		 "host-b has 8 partitions of scan in its file, and 4 are in force: it is no "
		 "candidate"},
		{1, 8, true, false,
		 "host-b has 8 partitions of scan in its file, and 1 are in force: it is no "
		 "candidate"},
		{4, 0, true, true,
		 "host-b has no partitions of scan in its file, and 4 are in force: it is no "
		 "candidate"},
		{4, 0, false, true,
		 "host-b runs a release that does not know partitions: it is no candidate for "
		 "scan"},
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		char text[PARTITIONS_TEXT_MAX] = "";
		leaders.partitions.n = 0;
		if (cases[i].in_force > 0)
			splits_in_force("scan", cases[i].in_force, 0);
		has_file("scan", 4);
		struct member *m = joins("b", "1.0", 1);
		free(m->worker->splits);
		m->worker->splits = mem_calloc(1, sizeof(*m->worker->splits));
		m->worker->n_splits = cases[i].theirs > 0;
		m->worker->splits->partitions = cases[i].theirs;
		strcpy(m->worker->splits->task, "scan");
		m->worker->knows_splits = cases[i].knows;
		worker_set_tasks(m->worker, lists_it, cases[i].lists);
		bool differs = partitions_differ(split_listing("scan"), m, text);
		cr_expect_eq(differs, cases[i].text[0] != '\0', "case %zu", i);
		cr_expect_str_eq(text, cases[i].text, "case %zu: %s", i, text);
		leaves("b");
	}
}
