/* Rows of failures: what is written with the end of a run, and what people are told of it. */
#include "notice_site.h"

#include "node/notices/streak.h"
#include "wire/records/seen_record.h"

#define OP "set x v3"

static const struct notice_rule all[] = {{.events = (1U << NOTICE_EVENTS) - 1}};
static struct store_reply answered;
static size_t n_answers;

static void on_answer(void *arg, const struct store_reply *reply)
{
	(void)arg;
	answered = *reply;
	n_answers++;
}

static void begin(void)
{
	site_begin();
	joins("me", "1.0", 5);
	notices_begin(all);
}

TestSuite(streak, .init = begin);

static bool forbidden;

static bool may(const void *arg)
{
	(void)arg;
	return !forbidden;
}

/* A transaction that records such an end of so many ticks. */
static void ends(enum notice_event kind, int64_t n)
{
	const struct store_op op = {.type = STORE_OP_SET, .path = ROOT "/x", .version = 3};
	struct notice_record e;

	notice_init(&registry, &e, kind, "report");
	e.failed = n;
	snprintf(e.text, sizeof(e.text), "a run of report ended well");
	n_answers = 0;
	notices_multi_if(&registry, &op, 1, &e, may, on_answer, NULL);
}

/* ROOT/troubles/report at that version. */
static struct store_reply trouble(int64_t failed_ones, int32_t version)
{
	static struct buffer data;
	const struct trouble_record record = {.since = WALL_MS - 1000, .failed = failed_ones};

	buffer_done(&data);
	buffer_init(&data, RECORD_SEEN_MAX);
	cr_assert_eq(record_pack_trouble(&data, &record), 0);
	return holds(data.data, data.len, (struct store_stat){.version = version});
}

static void writes(const char *ops)
{
	char text[200];

	snprintf(text, sizeof(text), OP "%s%s", ops[0] ? ", " : "", ops);
	asks_begins(text, ok());
	cr_expect_eq(n_answers, 1);
	cr_expect_eq(answered.code, STORE_OK);
	pass(0);
}

Test(streak, the_first_failure_begins_one)
{
	ends(NOTICE_FAILED, 1);
	asks("get troubles/report", failed(STORE_NO_NODE));
	writes("create troubles/report, create notices/");
	cr_assert_eq(n_told, 1);
	cr_expect(told.first);
	cr_expect_eq(told.failed, 1);
	cr_expect_eq(told.since, told.time);
}

Test(streak, dead_letters_are_counted_without_hindering_one_another)
{
	ends(NOTICE_DEAD, 1);
	asks("get troubles/report", trouble(1, 4));
	writes("set troubles/report, create notices/");
	cr_expect_not(told.first);
	cr_expect_eq(told.since, WALL_MS - 1000);
}

/* Data that is old would take back what several at once have added to it meanwhile. */
Test(streak, one_behind_several_at_once_is_written_over_what_was_read_alone)
{
	ends(NOTICE_LOST, 1);
	asks("get troubles/report", trouble(1, 4));
	asks_begins(OP ", set troubles/report v4, ", failed_at(STORE_BAD_VERSION, 1));
	asks("get troubles/report", trouble(3, 5));
	writes("set troubles/report v5, create notices/");
	cr_expect_not(told.first);
}

Test(streak, several_ticks_at_once_are_counted_by_the_data)
{

	ends(NOTICE_MISSED, 7);
	asks("get troubles/report", failed(STORE_NO_NODE));
	writes("create troubles/report, create notices/");
	cr_expect_eq(told.failed, 7);
	ends(NOTICE_MISSED, 7);
	asks("get troubles/report", trouble(7, 2));
	writes("set troubles/report v2, create notices/");
}

Test(streak, the_first_good_end_is_told_once_with_their_number)
{
	ends(NOTICE_RECOVERED, 0);
	asks("get troubles/report", trouble(2, 3));
	writes("delete troubles/report v3, create notices/");
	cr_assert_eq(n_told, 1);
	cr_expect_eq(told.event, NOTICE_RECOVERED);
	cr_expect_eq(told.failed, 5);
	cr_expect_eq(told.since, WALL_MS - 1000);
	cr_expect(strstr(told.text, "ended well, after 5 that did not since "), "%s", told.text);
	ends(NOTICE_RECOVERED, 0);
	asks("get troubles/report", failed(STORE_NO_NODE));
	asks(OP, ok());
	pass(0);
	cr_expect_eq(n_told, 1);
	cr_expect_eq(n_answers, 1);
}

Test(streak, a_task_that_was_overdue_has_recovered_too)
{
	ends(NOTICE_OVERDUE, 0);
	asks("get troubles/report", failed(STORE_NO_NODE));
	writes("create troubles/report, create notices/");
	ends(NOTICE_OVERDUE, 0);
	asks("get troubles/report", trouble(0, 0));
	writes("create notices/");
	ends(NOTICE_FAILED, 1);
	asks("get troubles/report", trouble(0, 0));
	writes("set troubles/report v0, create notices/");
	cr_expect(told.first, "none failed before");
	ends(NOTICE_RECOVERED, 0);
	asks("get troubles/report", trouble(0, 0));
	writes("delete troubles/report v0, create notices/");
	cr_expect_eq(told.failed, 0);
	cr_expect(strstr(told.text, "it was overdue since"), "%s", told.text);
}

/* --- what others write meanwhile -------------------------------------------------------------------------- */

Test(streak, one_that_another_node_has_changed_is_read_again)
{
	ends(NOTICE_RECOVERED, 0);
	asks("get troubles/report", trouble(1, 0));
	asks_begins(OP ", delete troubles/report v0", failed_at(STORE_BAD_VERSION, 1));
	asks("get troubles/report", trouble(1, 1));
	writes("delete troubles/report v1, create notices/");
	cr_expect_eq(told.failed, 2);
	cr_expect_null(strstr(told.text, "after 1"), "%s", told.text);
}

Test(streak, one_that_another_node_has_ended_or_begun_is_read_again)
{
	ends(NOTICE_FAILED, 1);
	asks("get troubles/report", trouble(1, 0));
	asks_begins(OP ", set troubles/report v0, ", failed_at(STORE_NO_NODE, 1));
	asks("create troubles", failed(STORE_NODE_EXISTS));
	asks("get troubles/report", failed(STORE_NO_NODE));
	asks_begins(OP ", create troubles/report, ", failed_at(STORE_NODE_EXISTS, 1));
	asks("get troubles/report", trouble(1, 0));
	writes("set troubles/report v0, create notices/");
}

Test(streak, where_it_changes_all_the_time_the_end_is_recorded_without)
{
	ends(NOTICE_FAILED, 1);
	for (int i = 0; i < 10; i++) {
		asks("get troubles/report", failed(STORE_NO_NODE));
		asks_begins(OP ", create troubles/report, ", failed_at(STORE_NODE_EXISTS, 1));
	}
	writes("create notices/");
	cr_expect_eq(n_told, 1);
}

Test(streak, what_cannot_be_read_or_written_holds_nothing_up)
{
	ends(NOTICE_FAILED, 1);
	asks("get troubles/report", failed(STORE_NO_AUTH));
	writes("create notices/");
	ends(NOTICE_RECOVERED, 0);
	asks("get troubles/report", holds("junk", 4, (struct store_stat){.version = 1}));
	asks(OP, ok());
	cr_expect_eq(n_answers, 1);
	ends(NOTICE_FAILED, 1);
	asks("get troubles/report", failed(STORE_NO_NODE));
	asks_begins(OP ", create troubles/report, ", failed_at(STORE_NO_AUTH, 1));
	writes("create notices/");
}

/* --- what the caller is told ------------------------------------------------------------------------------- */

Test(streak, a_failure_of_the_callers_own_is_its_own)
{
	ends(NOTICE_FAILED, 1);
	asks("get troubles/report", failed(STORE_NO_NODE));
	asks_begins(OP ", create troubles/report, ", failed_at(STORE_BAD_VERSION, 0));
	cr_expect_eq(answered.code, STORE_BAD_VERSION);
	cr_expect_eq(answered.failed_op, 0);
	cr_expect_eq(n_told, 0);
	ends(NOTICE_FAILED, 1);
	asks("get troubles/report", failed(STORE_UNKNOWN));
	cr_expect_eq(answered.code, STORE_UNKNOWN);
	idle();
}

Test(streak, what_is_no_longer_allowed_is_not_sent)
{
	ends(NOTICE_MISSED, 1);
	forbidden = true;
	asks("get troubles/report", failed(STORE_NO_NODE));
	idle();
	cr_expect_eq(n_answers, 1);
	cr_expect_eq(answered.code, STORE_NO_NODE);
	forbidden = false;
}

Test(streak, without_a_transaction_the_event_is_noted_once_all_the_same)
{
	struct notice_record e;

	notice_init(&registry, &e, NOTICE_MISSED, "report");
	e.failed = 1;
	notices_note(&registry, &e);
	asks("get troubles/report", failed(STORE_NO_NODE));
	asks_begins("check workers/me, create troubles/report, create notices/",
		    failed(STORE_UNKNOWN));
	asks_begins("create notices/", failed(STORE_NODE_EXISTS));
	asks("list notices", names(NULL));
	idle();
	cr_expect_eq(n_told, 1);
	n_told = 0;
	notice_init(&registry, &e, NOTICE_RECOVERED, "report");
	notices_note(&registry, &e);
	asks("get troubles/report", failed(STORE_NO_NODE));
	idle();
	cr_expect_eq(n_told, 0);
}

Test(streak, what_counts_for_none_reads_nothing)
{
	static const struct notice_rule leaders_only[] = {{.events = 1U << NOTICE_LEADER}};

	ends(NOTICE_RETRYING, 0);
	writes("create notices/");
	ends(NOTICE_DEAD, 0); /* a callback */
	writes("create notices/");
	notices_set_rules(&notices, leaders_only, 1);
	ends(NOTICE_FAILED, 1);
	asks(OP, ok());
	ends(NOTICE_RECOVERED, 0);
	asks(OP, ok());
	idle();
}
