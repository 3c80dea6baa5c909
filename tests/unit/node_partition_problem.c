/* Why a task is not led by the partitions of its file: the words, with the remedy in them. */
#include "split_site.h"

TestSuite(partition_problem, .init = split_begin);

Test(partition_problem, each_difference_names_both_numbers_and_what_to_do)
{
	const struct {
		unsigned wanted, in_force; /* 0: none */
		const char *by, *text;
	} cases[] = {
		{0, 0, "", ""},
		{0, 1, "root", ""},
		{4, 0, "", ""},
		{4, 4, "root", ""},
		{0, 4, "root",
		 "scan has 4 partitions in force, and none in this host's file: write "
		 "partitions = 4 there, or `zkleader partitions scan 1` makes it a plain task"},
		{4, 1, "root",
		 "scan is in force as a plain task, and has 4 partitions in this host's file: "
		 "`zkleader partitions scan 4` puts them in force"},
		{4, 8, "root",
		 "scan has 8 partitions in force by root, and 4 in this host's file: write "
		 "partitions = 8 there, or `zkleader partitions scan 4` puts the other number in "
		 "force"},
		{4, 8, "",
		 "scan has 8 partitions in force, and 4 in this host's file: write partitions = 8 "
		 "there, or `zkleader partitions scan 4` puts the other number in force"},
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		char name[16], text[PARTITIONS_TEXT_MAX] = "";
		const struct store_reply record = number(cases[i].in_force, 0, cases[i].by);
		snprintf(name, sizeof(name), "scan:%u", cases[i].in_force);
		leaders.partitions.n = 0;
		if (cases[i].in_force > 0)
			leaders.partitions.folder.handlers.take(&leaders, name, &record);
		const struct listing *listing = has_file("scan", cases[i].wanted);
		cr_expect_eq(partitions_problem(listing, text), cases[i].text[0] != '\0',
			     "case %zu", i);
		cr_expect_str_eq(text, cases[i].text, "case %zu: %s", i, text);
	}
}

Test(partition_problem, what_kept_the_first_number_from_being_made_is_told)
{
	struct listing *listing = has_file("scan", 4);
	char text[PARTITIONS_TEXT_MAX] = "";

	asks("list! partitions", names(NULL));
	asks("get partitions", version(7));
	lists(names(NULL));
	cr_expect_not(partitions_problem(listing, text));
	asks("set partitions v7, create partitions/scan:4, create leaders/scan, try "
	     "leaders/scan:0-255",
	     failed_at(STORE_NODE_EXISTS, 2));
	asks("get leaders/scan", led_by("b", 50));
	cr_expect(partitions_problem(listing, text));
	cr_expect_str_eq(text, "scan is led as a whole by host-b still: give it partitions = 4 in "
			       "that host's file too, or pause it");
	pass(1000);
	asks("set partitions v7, create partitions/scan:4, create leaders/scan, try "
	     "leaders/scan:0-255",
	     ok());
	cr_expect_not(partitions_problem(listing, text));
}
