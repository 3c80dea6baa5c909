/* The number of partitions that is put in force first: by one transaction, and what may come of that. */
#include "split_site.h"

#include <unistd.h>

#define MADE \
	"set partitions v7, create partitions/scan:4, create leaders/scan, try leaders/scan:0-255"

TestSuite(partitions_making, .init = split_begin);

/* --- the first number is put in force -------------------------------------------------------------------- */

/* A file says 4, nothing is in force, and it is about to be made. */
static struct listing *making(void)
{
	struct listing *listing = has_file("scan", 4);

	asks("list! partitions", names(NULL));
	asks("get partitions", version(7));
	lists(names(NULL));
	return listing;
}

Test(partitions_making, what_a_file_says_first_is_put_in_force_in_one_transaction)
{
	struct listing *listing = making();
	struct split_record record;
	const char *why;

	cr_expect_eq(partitions_state(listing), PARTITIONS_UNKNOWN);
	asks(MADE, ok());
	cr_expect_eq(record_parse_split(store.last.data, store.last.len, &record, &why), 0);
	cr_expect_eq(record.partitions, 4);
	cr_expect_eq(record.from, 0);
	cr_expect_str_eq(record.by, "", "no operator has said so");
	cr_expect_str_eq(record.host, "here");
	cr_expect_eq(record.since, host_wall_ms(&host));
	cr_expect_eq(partitions_state(listing), PARTITIONS_IN_FORCE);
	cr_expect_eq(listing->n, 4);
	/* Our own znode is not read again. */
	fires(STORE_CHILDREN_CHANGED, "partitions");
	lists(names("scan:4", NULL));
	idle();
	cr_expect_eq(leaders.partitions.n, 1);
}

Test(partitions_making, nothing_is_put_in_force_where_something_is_or_nothing_is_wanted)
{
	struct task_settings s[3] = {settings_of("eight"), settings_of("plain"),
				     settings_of("whole")};

	s[0].partitions = s[2].partitions = 4;
	tasks_apply(&leaders, &site_timing, s, 3);
	asks("list! partitions", names("eight:8", "whole:1", NULL));
	asks("get partitions/eight:8", number(8, 0, ""));
	asks("get partitions/whole:1", number(1, 8, "root"));
	idle();
	pass(5000);
	idle();
}

Test(partitions_making, nothing_is_put_in_force_before_the_folder_is_read)
{
	has_file("scan", 4);
	asks("list! partitions", failed(STORE_NO_AUTH));
	pass(5000);
	idle();
}

Test(partitions_making, a_node_that_leaves_puts_nothing_in_force)
{
	tasks_withdraw(&leaders);
	has_file("scan", 4);
	asks("list! partitions", names(NULL));
	pass(5000);
	idle();
}

Test(partitions_making, without_a_session_nothing_is_put_in_force)
{
	asks("list! partitions", names(NULL));
	split_cut();
	has_file("scan", 4);
	pass(3000);
	idle();
	split_back();
	asks("list! partitions", names(NULL));
	asks("get partitions", version(7));
	lists(names(NULL));
	asks(MADE, ok());
}

Test(partitions_making, the_next_one_is_made_on_the_version_of_the_one_before)
{
	struct task_settings s[2] = {settings_of("a"), settings_of("b")};

	s[0].partitions = s[1].partitions = 2;
	tasks_apply(&leaders, &site_timing, s, 2);
	asks("list! partitions", names(NULL));
	asks("get partitions", version(7));
	lists(names(NULL));
	asks("set partitions v7, create partitions/a:2, create leaders/a, try leaders/a:0-255",
	     ok());
	asks("set partitions v8, create partitions/b:2, create leaders/b, try leaders/b:0-255",
	     ok());
	cr_expect_eq(split_listing("b")->n, 2);
	idle();
}

Test(partitions_making, after_a_change_by_others_the_version_is_read_anew)
{
	making();
	asks(MADE, ok());
	fires(STORE_NODE_CHANGED, "partitions");
	fires(STORE_CHILDREN_CHANGED, "policy");
	has_file("next", 2);
	asks("set partitions v8, create partitions/next:2, create leaders/next, try "
	     "leaders/next:0-255",
	     ok());
	fires(STORE_CHILDREN_CHANGED, "partitions");
	has_file("other", 2);
	asks("get partitions", version(12));
	lists(names("next:2", "scan:4", NULL));
	asks("set partitions v12, create partitions/other:2, create leaders/other, try "
	     "leaders/other:0-255",
	     ok());
}

/* The version is of a folder that may have the number already: only the list behind it tells. */
Test(partitions_making, a_number_that_the_list_behind_the_version_has_is_not_made)
{
	struct listing *listing = has_file("scan", 4);

	asks("list! partitions", names(NULL));
	asks("get partitions", version(7));
	idle();
	lists(names("scan:8", NULL));
	asks("get partitions/scan:8", number(8, 0, ""));
	cr_expect_eq(partitions_state(listing), PARTITIONS_REFUSED);
	idle();
}

Test(partitions_making, nothing_is_made_while_a_listed_number_is_being_read)
{
	has_file("scan", 4);
	asks("list! partitions", names(NULL));
	asks("get partitions", version(7));
	lists(names("scan:8", NULL));
	partitions_advance(&leaders);
	asks("get partitions/scan:8", number(8, 0, ""));
	idle();
}

Test(partitions_making, a_list_that_is_refused_behind_the_version_says_nothing)
{
	has_file("scan", 4);
	asks("list! partitions", names(NULL));
	asks("get partitions", version(7));
	lists(failed(STORE_NO_AUTH));
	partitions_advance(&leaders);
	idle();
	partitions_refresh(&leaders);
	lists(names(NULL));
	asks("get partitions", version(9));
	lists(names(NULL));
	asks("set partitions v9, create partitions/scan:4, create leaders/scan, try "
	     "leaders/scan:0-255",
	     ok());
}

Test(partitions_making, a_version_that_cannot_be_read_is_asked_for_a_second_later)
{
	has_file("scan", 4);
	asks("list! partitions", names(NULL));
	asks("get partitions", failed(STORE_NO_AUTH));
	pass(999);
	idle();
	pass(1);
	asks("get partitions", failed(STORE_NO_NODE));
	asks("create /r", failed(STORE_NODE_EXISTS));
	asks("create workers", failed(STORE_NODE_EXISTS));
	asks("create leaders", failed(STORE_NODE_EXISTS));
	asks("create policy", failed(STORE_NODE_EXISTS));
	asks("create partitions", ok());
	idle();
	pass(1000);
	asks("get partitions", version(0));
}

/* --- what may come of it --------------------------------------------------------------------------------- */

static void is_tried_again(struct store_reply list, const char *transaction, int line)
{
	script_lists(list, line);
	pass(899);
	script_idle(line);
	pass(1);
	script_asks("get partitions", version(8), line);
	script_lists(list, line);
	script_asks(transaction, ok(), line);
}

Test(partitions_making, where_another_was_first_it_is_looked_at_again_and_tried_a_second_later)
{
	struct listing *listing = making();

	asks(MADE, failed_at(STORE_BAD_VERSION, 0));
	is_tried_again(names(NULL),
		       "set partitions v8, create partitions/scan:4, create leaders/scan, try "
		       "leaders/scan:0-255",
		       __LINE__);
	cr_expect_eq(partitions_state(listing), PARTITIONS_IN_FORCE);
}

Test(partitions_making, where_the_server_refuses_it_is_tried_a_second_later)
{
	making();
	asks(MADE, failed(STORE_FULL));
	is_tried_again(names(NULL),
		       "set partitions v8, create partitions/scan:4, create leaders/scan, try "
		       "leaders/scan:0-255",
		       __LINE__);
}

Test(partitions_making, a_lost_answer_is_looked_for_and_nothing_is_made_twice)
{
	struct listing *listing = making();

	split_cut();
	split_back();
	asks("list! partitions", names("scan:4", NULL));
	asks("get partitions/scan:4", number(4, 0, ""));
	cr_expect_eq(partitions_state(listing), PARTITIONS_IN_FORCE);
	pass(3000);
	idle();
}

Test(partitions_making, a_session_that_ends_meanwhile_leaves_it_to_the_next)
{
	struct listing *listing = making();

	connection(STORE_EXPIRED);
	cr_expect_not(leaders.partitions.folder.ready);
	pass(2000);
	split_back();
	asks("list! partitions", names(NULL));
	asks("get partitions", version(7));
	lists(names(NULL));
	asks(MADE, ok());
	cr_expect_eq(partitions_state(listing), PARTITIONS_IN_FORCE);
}

Test(partitions_making, a_file_that_says_another_number_meanwhile_is_refused_by_what_was_made)
{
	making();
	struct listing *listing = has_file("scan", 8);
	asks(MADE, ok());
	cr_expect_eq(partitions_state(listing), PARTITIONS_REFUSED);
	cr_expect_eq(listing->in_force, 4);
	idle();
}

Test(partitions_making, what_has_failed_for_the_former_number_does_not_delay_the_present_one)
{
	making();
	has_file("scan", 8);
	asks(MADE, failed_at(STORE_NODE_EXISTS, 2));
	asks("get partitions", version(8));
	lists(names(NULL));
	asks("set partitions v8, create partitions/scan:8, create leaders/scan, try "
	     "leaders/scan:0-255",
	     ok());
}

#define problem_is(listing, expected) script_problem(listing, expected, __LINE__)
static void script_problem(const struct listing *listing, const char *expected, int line)
{
	char text[PARTITIONS_TEXT_MAX] = "";

	cr_expect_eq(partitions_problem(listing, text), expected[0] != '\0', "line %d", line);
	cr_expect_str_eq(text, expected, "line %d: %s", line, text);
}

/* Others go by it still: no number is made beside it. */
Test(partitions_making, beside_a_damaged_record_of_another_number_none_is_made)
{
	const struct store_reply junk = holds("junk", 4, (struct store_stat){.czxid = 1});
	struct listing *listing = has_file("scan", 4);

	asks("list! partitions", names("scan:16", NULL));
	asks("get partitions/scan:16", junk);
	asks("get partitions", version(7));
	lists(names("scan:16", NULL));
	problem_is(listing, "how many partitions of scan are in force cannot be read: delete "
			    "/r/partitions/scan:16, and what this host's file says is put in "
			    "force");
	lists(names("scan:16", NULL));
	asks("get partitions/scan:16", junk);
	idle();
	/* A hand has deleted it. */
	pass(1000);
	asks("get partitions", version(8));
	lists(names(NULL));
	asks("set partitions v8, create partitions/scan:4, create leaders/scan, "
	     "try leaders/scan:0-255",
	     ok());
	problem_is(listing, "");
}

/* By a host that goes by the number that was in force before, which is not known here. */
Test(partitions_making, while_a_partition_of_another_number_is_led_none_is_made)
{
	struct listing *listing = making();

	asks(MADE, failed_at(STORE_NODE_EXISTS, 3 + 2 * 15));
	asks("get leaders/scan:15", led_by("b", 50));
	problem_is(listing,
		   "scan has no number of partitions in force, and one of them is led by host-b "
		   "still: wait for its job, or pause the task");
	cr_expect_eq(partitions_state(listing), PARTITIONS_UNKNOWN);
	idle();
	pass(1000);
	asks(MADE, ok());
	cr_expect_eq(partitions_state(listing), PARTITIONS_IN_FORCE);
	problem_is(listing, "");
}

/* --- the place of the leader of the whole ---------------------------------------------------------------- */

Test(partitions_making, a_marker_that_is_there_already_is_checked_instead_of_made)
{
	making();
	asks(MADE, failed_at(STORE_NODE_EXISTS, 2));
	asks("get leaders/scan", marker_of(0));
	asks("set partitions v7, create partitions/scan:4, create leaders/scan/none, "
	     "delete leaders/scan/none, try leaders/scan:0-255",
	     failed_at(STORE_NO_NODE, 2));
	/*
	 * The marker has gone meanwhile, or a node leads the whole, below whose node nothing can be
	 * made.
	 */
	asks("get leaders/scan", failed(STORE_NO_NODE));
	asks(MADE, ok());
	idle();
}

Test(partitions_making, a_task_that_is_led_as_a_whole_is_not_split)
{
	const struct {
		struct store_reply there;
		const char *problem;
	} cases[] = {
		{led_by("b", 50), "scan is led as a whole by host-b still: give it partitions = 4 "
				  "in that host's file too, or pause it"},
		{holds("junk", 4, (struct store_stat){.owner = 'b'}),
		 "scan is led as a whole by another node still: give it partitions = 4 in that "
		 "host's file too, or pause it"},
		{marker_of('b'), "scan is led as a whole by another node still: give it "
				 "partitions = 4 in that host's file too, or pause it"},
		{holds("junk", 4, (struct store_stat){.owner = 0}),
		 "scan cannot be split: a znode that is not ephemeral stands in the place of its "
		 "leader's: delete /r/leaders/scan"}};
	struct listing *listing = making();

	problem_is(listing, "");
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		asks(MADE, failed_at(STORE_NODE_EXISTS, 2));
		asks("get leaders/scan", cases[i].there);
		problem_is(listing, cases[i].problem);
		pass(999);
		idle();
		pass(1);
	}
	asks(MADE, ok());
	problem_is(listing, "");
	idle();
}

Test(partitions_making, who_leads_the_whole_may_have_gone_or_not_be_told)
{
	making();
	asks(MADE, failed_at(STORE_NODE_EXISTS, 2));
	asks("get leaders/scan", failed(STORE_NO_NODE));
	asks(MADE, failed_at(STORE_NODE_EXISTS, 2)); /* at once */
	asks("get leaders/scan", failed(STORE_NO_AUTH));
	pass(999);
	idle();
	pass(1);
	asks(MADE, ok());
}

/* --- a record that cannot be read ------------------------------------------------------------------------ */

static FILE *log_file;

static size_t refused_lines(void)
{
	char line[1000];
	size_t n = 0;

	rewind(log_file);
	while (fgets(line, sizeof(line), log_file))
		n += strstr(line, "record of partitions refused") != NULL;
	return n;
}

Test(partitions_making, a_record_that_cannot_be_read_is_read_until_it_is_mended_and_logged_once)
{
	const struct store_reply junk = holds("junk", 4, (struct store_stat){.czxid = 1});
	struct listing *listing = has_file("scan", 4);

	log_setup(LOG_WARNING, LOG_TEXT, false);
	log_file = tmpfile();
	dup2(fileno(log_file), STDERR_FILENO);
	asks("list! partitions", names("scan:4", NULL));
	asks("get partitions/scan:4", junk);
	asks("get partitions", version(7));
	lists(names("scan:4", NULL));
	cr_expect_eq(refused_lines(), 1);
	problem_is(listing, "how many partitions of scan are in force cannot be read: delete "
			    "/r/partitions/scan:4, and what this host's file says is put in force");
	lists(names("scan:4", NULL));
	asks("get partitions/scan:4", junk);
	cr_expect_eq(refused_lines(), 1);
	cr_expect_eq(partitions_state(listing), PARTITIONS_UNKNOWN);
	pass(1000);
	asks("get partitions", version(7));
	lists(names("scan:4", NULL));
	lists(names("scan:4", NULL));
	asks("get partitions/scan:4", number(4, 0, ""));
	cr_expect_eq(partitions_state(listing), PARTITIONS_IN_FORCE);
	problem_is(listing, "");
	cr_expect_not(listing->making.unreadable, "the next one is logged");
}
