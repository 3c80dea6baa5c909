/* Another number of partitions is put in force: one transaction, and what its caller is told. */
#include "split_site.h"

#define BEGINS "check workers/me, check policy/p1, set partitions v9, "
/* Nobody leads the whole, where the marker is, and none of all partitions that there may be. */
#define BELOW "create leaders/scan/none, delete leaders/scan/none, "
#define UNLED "try leaders/scan:0-255"
/* From 4 to 8; the 7th is the first operation about a partition, and two are about each. */
#define TO_8   BEGINS "delete partitions/scan:4, create partitions/scan:8, " BELOW UNLED
#define TO_1   BEGINS "delete partitions/scan:4, create partitions/scan:1, "
#define LED(k) (7 + 2 * (k))

TestSuite(repartition, .init = split_begin);

/* From 4 to 8, up to the transaction. */
static void sends(void)
{
	begins_with(version(9));
	asks("get leaders/scan", marker_of(0));
	lists(names("scan:4", NULL));
}

/* --- the transaction ------------------------------------------------------------------------------------- */

Test(repartition, one_transaction_proves_the_pause_and_that_nobody_leads_and_changes_the_number)
{
	struct split_record record;
	const char *why;

	given(4);
	changes(8);
	sends();
	cr_expect_eq(told.times, 0);
	asks(TO_8, ok());
	tells(PARTITIONS_DONE, "");
	cr_expect_eq(record_parse_split(store.last.data, store.last.len, &record, &why), 0);
	cr_expect_eq(record.partitions, 8);
	cr_expect_eq(record.from, 4);
	cr_expect_str_eq(record.reason, "more");
	cr_expect_str_eq(record.by, "root");
	cr_expect_str_eq(record.host, "here");
	/* The number in force is read, as others read it. */
	lists(names("scan:8", NULL));
	asks("get partitions/scan:8", number(8, 4, "root"));
	cr_expect_eq(split_listing("scan")->in_force, 8);
	idle();
}

Test(repartition, a_task_that_was_never_split_gets_the_marker)
{
	struct split_record record;
	const char *why;

	given(0);
	changes(4);
	begins_with(version(9));
	asks("get leaders/scan", failed(STORE_NO_NODE));
	lists(names(NULL));
	asks(BEGINS "create partitions/scan:4, create leaders/scan, " UNLED, ok());
	tells(PARTITIONS_DONE, "");
	cr_expect_eq(record_parse_split(store.last.data, store.last.len, &record, &why), 0);
	cr_expect_eq(record.from, 1, "it was led as a whole");
	cr_expect(record_is_marker(store.last.last_data, store.last.last_len));
}

Test(repartition, a_task_that_is_a_whole_again_gets_the_marker)
{
	given(1);
	changes(4);
	begins_with(version(9));
	asks("get leaders/scan", failed(STORE_NO_NODE));
	lists(names("scan:1", NULL));
	asks(BEGINS
	     "delete partitions/scan:1, create partitions/scan:4, create leaders/scan, " UNLED,
	     ok());
	cr_expect(record_is_marker(store.last.last_data, store.last.last_len));
	tells(PARTITIONS_DONE, "");
}

Test(repartition, to_be_led_as_a_whole_the_marker_goes)
{
	given(4);
	changes(1);
	begins_with(version(9));
	asks("get leaders/scan", marker_of(0));
	lists(names("scan:4", NULL));
	asks(TO_1 BELOW "delete leaders/scan, " UNLED, ok());
	tells(PARTITIONS_DONE, "");
}

/* The marker is made and deleted, which fails if somebody leads the whole by now. */
Test(repartition, a_marker_that_a_hand_has_deleted_does_not_hinder)
{
	given(4);
	changes(1);
	begins_with(version(9));
	asks("get leaders/scan", failed(STORE_NO_NODE));
	lists(names("scan:4", NULL));
	asks(TO_1 "create leaders/scan, delete leaders/scan, " UNLED,
	     failed_at(STORE_NODE_EXISTS, 5));
	asks("get leaders/scan", led_by("b", 50));
	tells(PARTITIONS_LED, "scan is led by host-b still: wait for its job or its pause");
}

/* The marker that was read has gone since, and a node leads the whole: below its node nothing can be made. */
Test(repartition, who_has_come_to_lead_the_whole_since_the_marker_was_read_is_named)
{
	given(4);
	changes(8);
	sends();
	asks(TO_8, failed_at(STORE_FAILED, 5));
	asks("get leaders/scan", led_by("b", 50));
	tells(PARTITIONS_LED, "scan is led by host-b still: wait for its job or its pause");
	idle();
}

/* The znodes of all numbers go, and ticks up to now are claimed whatever was in force. */
Test(repartition, a_record_that_cannot_be_read_is_replaced)
{
	struct split_record record;
	const char *why;

	has_file("scan", 4);
	decides("p1", POLICY_PAUSE, "scan", "", "");
	asks("list! partitions", names("scan:16", NULL));
	asks("get partitions/scan:16", holds("junk", 4, (struct store_stat){.czxid = 1}));
	asks("get partitions", version(9));
	lists(names("scan:16", NULL));
	changes(16);
	begins_with(version(9));
	asks("get leaders/scan", marker_of(0));
	lists(names("scan:16", NULL));
	asks("get partitions/scan:16", holds("junk", 4, (struct store_stat){.czxid = 1}));
	asks(BEGINS "delete partitions/scan:16, create partitions/scan:16, " BELOW UNLED, ok());
	tells(PARTITIONS_DONE, "");
	cr_expect_eq(record_parse_split(store.last.data, store.last.len, &record, &why), 0);
	cr_expect_eq(record.from, 16);
}

Test(repartition, the_node_of_a_leader_is_no_marker_and_not_deleted)
{
	given(4);
	changes(1);
	begins_with(version(9));
	asks("get leaders/scan", led_by("b", 50));
	tells(PARTITIONS_LED, "scan is led by host-b still: wait for its job or its pause");
	idle();
}

/* --- what need not or may not be changed ----------------------------------------------------------------- */

Test(repartition, the_number_that_is_in_force_is_nothing_to_do)
{
	static const unsigned cases[][2] = {{4, 4}, {1, 1}, {0, 1}};

	for (size_t i = 0; i < 3; i++) {
		const struct store_reply record = number(cases[i][0], 0, "");
		char name[16];
		snprintf(name, sizeof(name), "scan:%u", cases[i][0]);
		const bool any = cases[i][0] > 0;
		if (i == 0)
			asks("list! partitions", names(NULL));
		leaders.partitions.n = 0;
		if (any) {
			folder_add(&leaders.partitions.folder, name);
			leaders.partitions.folder.handlers.take(&leaders, name, &record);
		}
		changes(cases[i][1]);
		begins_with(version(9));
		asks("get leaders/scan", marker_of(0));
		lists(any ? names(name, NULL) : names(NULL));
		tells(PARTITIONS_NOTHING, "");
		idle();
	}
}

Test(repartition, what_another_node_has_put_in_force_meanwhile_is_nothing_to_do)
{
	given(4);
	changes(8);
	begins_with(version(9));
	asks("get leaders/scan", marker_of(0));
	lists(names("scan:8", NULL));
	cr_expect_eq(told.times, 0);
	asks("get partitions/scan:8", number(8, 4, "root"));
	tells(PARTITIONS_NOTHING, "");
	idle();
}

Test(repartition, a_task_that_is_not_paused_is_not_changed)
{
	given(4);
	decides_no_more("p1");
	decides("p2", POLICY_PAUSE, "scan:0", "", "");
	changes(8);
	sends();
	tells(PARTITIONS_NOT_PAUSED, "it is not paused");
	idle();
}

Test(repartition, a_pause_that_ends_meanwhile_is_told)
{
	given(4);
	changes(8);
	sends();
	asks(TO_8, failed_at(STORE_NO_NODE, 1));
	tells(PARTITIONS_NOT_PAUSED, "it is paused no more");
	idle();
}

/* The answer of the server that has the ZooKeeper's time now, by which ours is so much ahead. */
static struct store_reply ahead_by(int64_t ms)
{
	return of_stat((struct store_stat){.mtime = host_wall_ms(&host) - ms});
}

static void by_a_clock_that_is(int64_t ahead_ms, enum partitions_result result, const char *text)
{
	given(4);
	registry.clocks.ask_ms = INT64_MAX; /* not on its own account */
	changes(8);
	asks("set workers", ahead_by(ahead_ms));
	if (result != PARTITIONS_CLOCK)
		asks("get partitions", failed(STORE_NO_AUTH));
	tells(result, text);
}

Test(repartition, by_a_clock_that_is_a_little_ahead_it_goes_on)
{
	by_a_clock_that_is(29999, PARTITIONS_FAILED, "as the test says");
}

Test(repartition, by_a_clock_that_is_a_little_behind_it_goes_on)
{
	by_a_clock_that_is(-29999, PARTITIONS_FAILED, "as the test says");
}

Test(repartition, by_a_clock_that_is_ahead_nothing_is_changed)
{
	by_a_clock_that_is(30000, PARTITIONS_CLOCK,
			   "this node's clock is 30s ahead of the ZooKeeper server's: make them "
			   "agree first");
	cr_expect_eq(store.n_open, 0);
}

Test(repartition, by_a_clock_that_is_behind_nothing_is_changed)
{
	by_a_clock_that_is(-30000, PARTITIONS_CLOCK,
			   "this node's clock is 30s behind the ZooKeeper server's: make them "
			   "agree first");
	cr_expect_eq(store.n_open, 0);
}

/* Another server may lead the quorum since. */
Test(repartition, what_was_heard_before_of_the_servers_clock_does_not_count)
{
	given(4);
	skew_heard(&registry.clocks.skew, host.now_ms, host.now_ms, host_wall_ms(&host),
		   CLOCKS_TOLERANCE_MS);
	changes(8);
	asks("set workers", ahead_by(-64800000));
	tells(PARTITIONS_CLOCK,
	      "this node's clock is 18h behind the ZooKeeper server's: make them agree first");
}

/* This process was paused, say: the clocks may have been set meanwhile. */
Test(repartition, the_servers_time_is_good_for_a_moment)
{
	given(4);
	changes(8);
	for (int i = 0; i < 5; i++) {
		begins_with(version(9));
		asks("get leaders/scan", marker_of(0));
		pass(3000);
		lists(names("scan:4", NULL));
	}
	begins_with(version(9));
	asks("get leaders/scan", marker_of(0));
	lists(names("scan:4", NULL));
	asks(TO_8, ok());
	tells(PARTITIONS_DONE, "");
}

Test(repartition, where_each_answer_comes_too_late_it_ends)
{
	given(4);
	changes(8);
	for (int i = 0; i < 6; i++) {
		cr_expect_eq(told.times, 0);
		begins_with(version(9));
		asks("get leaders/scan", marker_of(0));
		pass(3000);
		lists(names("scan:4", NULL));
	}
	tells(PARTITIONS_FAILED, "ZooKeeper answers too late: try again");
	idle();
}

Test(repartition, a_server_that_does_not_tell_its_time_ends_it)
{
	static const struct {
		enum store_code code;
		const char *text;
	} cases[] = {
		{STORE_NO_NODE, "this node registers anew: try again"},
		{STORE_NO_AUTH, "as the test says"},
		{STORE_UNKNOWN, "the connection went, and it was not done"},
	};

	given(4);
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		changes(8);
		asks("set workers", failed(cases[i].code));
		tells(PARTITIONS_FAILED, cases[i].text);
		idle();
	}
}

Test(repartition, without_a_session_nothing_is_changed)
{
	given(4);
	split_cut();
	changes(8);
	tells(PARTITIONS_FAILED, SESSION_NONE);
	cr_expect_eq(store.n_open, 0);
}

/* --- somebody leads still -------------------------------------------------------------------------------- */

Test(repartition, who_leads_a_partition_still_is_named)
{
	const struct store_reply of_b = led_by("b", 50);
	struct store_reply of_nobody = of_b;
	of_nobody.stat.owner = 0;
	const struct {
		int failed_op;
		const char *asked;
		struct store_reply there;
		const char *text;
	} cases[] = {
		{LED(0), "get leaders/scan:0", of_b,
		 "scan:0 is led by host-b still: wait for its job or its pause"},
		{LED(3), "get leaders/scan:3", of_b,
		 "scan:3 is led by host-b still: wait for its job or its pause"},
		{LED(3), "get leaders/scan:3", holds("junk", 4, (struct store_stat){.owner = 'b'}),
		 "scan:3 is led by somebody still: wait for its job or its pause"},
		{LED(255), "get leaders/scan:255", of_b,
		 "scan:255 is led by host-b still: wait for its job or its pause"},
		{LED(3), "get leaders/scan:3", of_nobody,
		 "scan:3 is led by somebody still: wait for its job or its pause"},
		{LED(3), "get leaders/scan:3", failed(STORE_NO_AUTH),
		 "scan:3 is led by somebody still: wait for its job or its pause"},
	};

	given(4);
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		changes(8);
		sends();
		asks(TO_8, failed_at(STORE_NODE_EXISTS, cases[i].failed_op));
		cr_expect_eq(told.times, 0);
		asks(cases[i].asked, cases[i].there);
		tells(PARTITIONS_LED, cases[i].text);
		idle();
	}
}

Test(repartition, who_leads_the_whole_still_is_named)
{
	given(0);
	changes(4);
	begins_with(version(9));
	asks("get leaders/scan", failed(STORE_NO_NODE));
	lists(names(NULL));
	asks(BEGINS "create partitions/scan:4, create leaders/scan, " UNLED,
	     failed_at(STORE_NODE_EXISTS, 4));
	asks("get leaders/scan", led_by("b", 50));
	tells(PARTITIONS_LED, "scan is led by host-b still: wait for its job or its pause");
}

Test(repartition, what_was_led_a_moment_ago_is_tried_five_times_more)
{
	given(4);
	changes(8);
	for (int i = 0; i < 6; i++) {
		cr_assert_eq(told.times, 0, "case %d", i);
		sends();
		asks(TO_8, failed_at(STORE_NODE_EXISTS, LED(2)));
		asks("get leaders/scan:2", failed(STORE_NO_NODE));
	}
	tells(PARTITIONS_LED, "scan:2 is led by somebody still: wait for its job or its pause");
	idle();
}

/* --- others come before, and answers are lost ------------------------------------------------------------ */

Test(repartition, where_others_come_before_it_is_tried_five_times_more)
{
	static const struct {
		enum store_code code;
		int op;
	} first[] = {{STORE_BAD_VERSION, 2},
		     {STORE_NO_NODE, 3},
		     {STORE_NODE_EXISTS, 4},
		     {STORE_BAD_VERSION, 2},
		     {STORE_BAD_VERSION, 2}};

	given(4);
	changes(8);
	for (size_t i = 0; i < 5; i++) {
		sends();
		asks(TO_8, failed_at(first[i].code, first[i].op));
		cr_assert_eq(told.times, 0, "case %zu: %s", i, told.text);
	}
	sends();
	asks(TO_8, failed_at(STORE_BAD_VERSION, 2));
	tells(PARTITIONS_FAILED, "as the test says");
	idle();
}

Test(repartition, what_the_server_refuses_is_not_tried_again)
{
	static const enum store_code codes[] = {STORE_NO_AUTH, STORE_FULL, STORE_FAILED};

	given(4);
	for (size_t i = 0; i < 3; i++) {
		changes(8);
		sends();
		asks(TO_8, failed_at(codes[i], 4));
		tells(PARTITIONS_FAILED, "as the test says");
		idle();
	}
}

Test(repartition, a_read_without_an_answer_has_changed_nothing)
{
	static const struct {
		enum store_code code;
		const char *text;
	} cases[] = {{STORE_UNKNOWN, "the connection went, and it was not done"},
		     {STORE_ABANDONED, "the connection went, and it was not done"},
		     {STORE_NO_AUTH, "as the test says"}};

	given(4);
	for (size_t i = 0; i < 3; i++) {
		changes(8);
		begins_with(failed(cases[i].code));
		tells(PARTITIONS_FAILED, cases[i].text);
		changes(1);
		begins_with(version(9));
		asks("get leaders/scan", failed(cases[i].code));
		tells(PARTITIONS_FAILED, cases[i].text);
		idle();
	}
}

Test(repartition, it_is_sent_only_when_the_folder_has_been_read_behind_the_version)
{
	given(4);
	changes(8);
	begins_with(version(9));
	asks("get leaders/scan", marker_of(0));
	lists(failed(STORE_NO_AUTH));
	partitions_changes_run(&leaders);
	idle();
	partitions_refresh(&leaders);
	pass(FOLDER_LIST_EVERY_MS);
	fires(STORE_CHILDREN_CHANGED, "partitions"); /* while the list is under way */
	asks("list! partitions", names("scan:4", NULL));
	idle();
	lists(names("scan:4", NULL));
	asks(TO_8, ok());
	tells(PARTITIONS_DONE, "");
}

Test(repartition, a_cut_before_it_was_sent_only_delays_it)
{
	given(4);
	changes(8);
	begins_with(version(9));
	asks("get leaders/scan", marker_of(0));
	split_cut();
	cr_expect_eq(told.times, 0);
	split_back();
	asks("list! partitions", names("scan:4", NULL));
	idle();
	lists(names("scan:4", NULL));
	asks(TO_8, ok());
	tells(PARTITIONS_DONE, "");
}

/* --- the end --------------------------------------------------------------------------------------------- */

Test(repartition, of_a_session_that_has_ended_the_outcome_is_not_known)
{
	given(4);
	changes(8);
	sends();
	connection(STORE_EXPIRED);
	tells(PARTITIONS_NOT_KNOWN, "the session has ended");
}

Test(repartition, a_sidecar_that_ends_tells_all_that_wait)
{
	given(4);
	changes(8);
	changes(2);
	for (int i = 0; i < 2; i++)
		asks("set workers", ok());
	for (int i = 0; i < 2; i++)
		asks("get partitions", version(9));
	partitions_changes_done(&leaders);
	cr_expect_eq(told.times, 2);
	told.times = 1;
	tells(PARTITIONS_NOT_KNOWN, "the sidecar has ended");
}

Test(repartition, two_that_wait_for_one_list_both_go_on)
{
	given(4);
	changes(4);
	changes(8);
	changes(4);
	for (int i = 0; i < 3; i++)
		asks("set workers", ok());
	for (int i = 0; i < 3; i++)
		asks("get partitions", version(9));
	for (int i = 0; i < 3; i++)
		asks("get leaders/scan", marker_of(0));
	lists(names("scan:4", NULL));
	cr_expect_eq(told.times, 2);
	cr_expect_eq(told.result, PARTITIONS_NOTHING);
	told.times = 0;
	asks(TO_8, ok());
	tells(PARTITIONS_DONE, "");
}
