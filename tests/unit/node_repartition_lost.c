/* Another number of partitions was asked for, and the connection went: what is in force says what came of it. */
#include "split_site.h"

TestSuite(repartition_lost, .init = split_begin);

/* The answer was lost: what was read on the next connection tells. */
static void loses_the_answer(struct split_record then, const char *name)
{
	struct buffer data;
	char path[64];

	given(4);
	changes(8);
	begins_with(version(9));
	asks("get leaders/scan", marker_of(0));
	lists(names("scan:4", NULL));
	then.since += WALL_MS + host.now_ms - START_MS -
		      FOLDER_LIST_EVERY_MS; /* of the order, which came before the list */
	split_cut();
	pass(500);
	cr_assert_eq(told.times, 0);
	split_back();
	buffer_init(&data, RECORD_SPLIT_MAX);
	cr_assert_eq(record_pack_split(&data, &then), 0);
	asks("list! partitions", names(name, NULL));
	snprintf(path, sizeof(path), "get partitions/%s", name);
	if (strcmp(name, "scan:4") != 0)
		asks(path, holds(data.data, data.len, (struct store_stat){.czxid = 2}));
	cr_assert_eq(told.times, 0);
	lists(names(name, NULL));
	buffer_done(&data);
}

Test(repartition_lost, a_lost_answer_was_a_good_one_if_our_record_is_there)
{
	loses_the_answer((struct split_record){.partitions = 8, .from = 4, .host = "here"},
			 "scan:8");
	tells(PARTITIONS_DONE, "");
	lists(names("scan:8", NULL));
	idle();
}

Test(repartition_lost, a_lost_answer_with_the_former_number_was_a_bad_one)
{
	loses_the_answer((struct split_record){.partitions = 4, .host = "here"}, "scan:4");
	tells(PARTITIONS_FAILED, "the connection went, and it was not done");
	idle();
}

Test(repartition_lost, the_same_number_of_another_host_is_not_ours)
{
	loses_the_answer((struct split_record){.partitions = 8, .from = 4, .host = "there"},
			 "scan:8");
	tells(PARTITIONS_FAILED, "the connection went, and it was not done");
}

Test(repartition_lost, the_same_number_of_another_time_is_not_ours)
{
	loses_the_answer(
		(struct split_record){.partitions = 8, .from = 4, .host = "here", .since = 1},
		"scan:8");
	tells(PARTITIONS_FAILED, "the connection went, and it was not done");
}

Test(repartition_lost, another_number_of_ours_is_not_it)
{
	loses_the_answer((struct split_record){.partitions = 2, .from = 4, .host = "here"},
			 "scan:2");
	tells(PARTITIONS_FAILED, "the connection went, and it was not done");
}

/* A list that was asked for before the answer was lost may be older than the change. */
Test(repartition_lost, only_a_list_of_the_next_connection_tells)
{
	given(4);
	changes(8);
	begins_with(version(9));
	asks("get leaders/scan", marker_of(0));
	lists(names("scan:4", NULL));
	pass(FOLDER_LIST_EVERY_MS);
	fires(STORE_CHILDREN_CHANGED, "partitions");
	script_answer(0, failed(STORE_UNKNOWN)); /* the transaction, before that list */
	asks("list! partitions", names("scan:4", NULL));
	cr_expect_eq(told.times, 0);
	split_cut();
	split_back();
	asks("list! partitions", names("scan:4", NULL));
	cr_expect_eq(told.times, 0);
	lists(names("scan:4", NULL));
	tells(PARTITIONS_FAILED, "the connection went, and it was not done");
}
