/* Being without ZooKeeper, and rollouts that are complete: who tells people of them, when, and once. */
#include "notice_site.h"

#include "base/clock.h"
#include "node/notices/outages.h"

static const struct notice_rule all[] = {{.events = 1U << NOTICE_ROLLOUT}};
static struct outages outages;

/* In a fleet of our own with a notifier; the folder of notices is there. */
static void begin(void)
{
	site_begin();
	outages_init(&outages, &session, &registry);
	joins("me", "2.0", 5);
	snprintf(registry.version, sizeof(registry.version), "2.0");
	notices_begin(all);
}

TestSuite(outages, .init = begin);

/* --- the connection ------------------------------------------------------------------------------------- */

static void cut(void)
{
	connection(STORE_CONNECTING);
	outages_cut(&outages);
}

static void is_up(void)
{
	connection(STORE_CONNECTED);
	pass(0);
	script_confirm();
	outages_up(&outages);
}

static void wants_outages(void)
{
	static const struct notice_rule rule[] = {{.events = 1U << NOTICE_DISCONNECTED}};

	notices_set_rules(&notices, rule, 1);
}

/* The node is back after so long, and notes that. */
static void comes_back(int64_t ms)
{
	session.lease.deadline_ms = 0;
	cut();
	pass(ms);
	is_up();
}

static struct notice_record noted_one(void)
{
	struct notice_record r;
	const char *why;

	cr_assert_eq(record_parse_notice(store.last.data, store.last.len, &r, &why), 0, "%s", why);
	return r;
}

/* A note of that node as it is read. */
static struct store_reply note_of(const char *node)
{
	static struct buffer data;
	struct notice_record r;

	notice_init(&registry, &r, NOTICE_DISCONNECTED, "");
	snprintf(r.id, sizeof(r.id), "n");
	snprintf(r.node, sizeof(r.node), "%s", node);
	r.since = WALL_MS;
	buffer_done(&data);
	buffer_init(&data, RECORD_NOTICE_MAX);
	cr_assert_eq(record_pack_notice(&data, &r), 0);
	return holds(data.data, data.len, (struct store_stat){0});
}

Test(outages, a_node_that_comes_back_notes_itself_and_is_told_of_a_minute_later)
{
	int64_t since = host_wall_ms(&host);

	wants_outages();
	comes_back(ROLLOUTS_WAIT_MS);
	asks_begins("create outages/", failed(STORE_NO_NODE));
	asks("create outages", ok());
	asks_begins("create outages/", ok());
	cr_expect_str_eq(noted_one().node, "host-me");
	cr_expect_eq(noted_one().since, since);
	cr_expect_eq(noted_one().time, since + ROLLOUTS_WAIT_MS);
	pass(RETURNS_WAIT_MS - 1);
	idle();
	pass(1);
	asks("list outages", names("a", NULL));
	asks("get outages/a", note_of("host-me"));
	asks_begins("check workers/me, delete outages/a, create notices/", ok());
	pass(0);
	cr_assert_eq(n_told, 1);
	cr_expect_eq(told.event, NOTICE_DISCONNECTED);
	cr_expect_str_eq(told.node, "host-me");
	cr_expect_str_eq(told.text, "1 server was without ZooKeeper, and is back: host-me");
	pass(600000);
	idle();
}

Test(outages, all_that_came_back_are_one_message_with_number_and_names)
{
	char *list[12], expected[NOTICE_TEXT_MAX + 1], name[20];
	struct store_reply reply = {
		.code = STORE_OK, .failed_op = -1, .names = list, .n_names = 12};

	wants_outages();
	comes_back(ROLLOUTS_WAIT_MS);
	asks_begins("create outages/", ok());
	pass(RETURNS_WAIT_MS);
	for (size_t i = 0; i < 12; i++)
		cr_assert_gt(asprintf(&list[i], "n%zu", i), 0);
	asks("list outages", reply);
	for (size_t i = 0; i < 12; i++) {
		char text[40];
		snprintf(text, sizeof(text), "get outages/n%zu", i);
		snprintf(name, sizeof(name), "web%zu", i);
		asks(text, note_of(name));
		free(list[i]);
	}
	asks_begins("check workers/me, delete outages/n0, delete outages/n1", ok());
	pass(0);
	snprintf(expected, sizeof(expected),
		 "12 servers were without ZooKeeper, and are back: web0, web1, web2, web3, web4, "
		 "web5, "
		 "web6, web7, web8, web9 and 2 more");
	cr_expect_str_eq(told.text, expected);
	cr_expect_str_empty(told.node);
	cr_expect(told.output_len > 0 && strncmp(told.output, "web0 from ", 10) == 0);
}

Test(outages, what_another_node_has_collected_is_not_told_again)
{
	wants_outages();
	comes_back(ROLLOUTS_WAIT_MS);
	asks_begins("create outages/", failed(STORE_UNKNOWN));
	pass(RETURNS_AGAIN_MS);
	asks_begins("create outages/", failed(STORE_NODE_EXISTS));
	pass(RETURNS_WAIT_MS);
	asks("list outages", names("a", NULL));
	asks("get outages/a", note_of("host-me"));
	asks_begins("check workers/me, delete outages/a", failed_at(STORE_NO_NODE, 1));
	pass(RETURNS_AGAIN_MS);
	asks("list outages", names(NULL));
	pass(600000);
	idle();
	cr_expect_eq(n_told, 0);
}

Test(outages, the_first_in_rank_looks_for_notes_of_those_that_have_gone_again)
{
	joins("z", "2.0", 5);
	wants_outages();
	outages_fleet_changed(&outages);
	pass(RETURNS_WAIT_MS);
	asks("list outages", failed(STORE_NO_NODE));
	joins("a", "2.0", 5); /* it comes before us */
	outages_fleet_changed(&outages);
	pass(2 * RETURNS_WAIT_MS);
	idle();
}

Test(outages, one_that_came_back_in_time_is_not_told)
{
	wants_outages();
	session_set_leading(&session, true);
	pass(0);
	int64_t left = session_lease_left(&session);
	cr_assert_gt(left, ROLLOUTS_WAIT_MS);
	cut();
	pass(left - 1);
	is_up();
	cr_expect_eq(outages.since, 0);
	cr_expect_not(host_timer_is_set(&outages.lost));
	cr_expect_eq(notices.n, 0);
	for (size_t i = 0; i < store.n_open; i++)
		cr_expect_null(strstr(store.open[i].text, "create outages"));
}

/* Whatever else goes meanwhile, as the session, it began with the connection. */
Test(outages, one_that_is_away_for_ten_minutes_tells_by_itself_and_once)
{
	int64_t since = host_wall_ms(&host);
	char text[NOTICE_TEXT_MAX + 1], when[CLOCK_TEXT_SIZE];

	wants_outages();
	clock_format(since, when);
	session.lease.deadline_ms = 0;
	cut();
	pass(600);
	outages_cut(&outages);
	cr_expect_eq(outages.since, since);
	pass(OUTAGES_OWN_MS - 601);
	cr_expect_eq(n_told, 0);
	pass(1);
	cr_assert_eq(n_told, 1);
	snprintf(text, sizeof(text),
		 "host-me has had no connection with ZooKeeper since %s, and leads nothing", when);
	cr_expect_str_eq(told.text, text);
	cr_expect_str_eq(told.node, "host-me");
	outages_cut(&outages);
	pass(OUTAGES_OWN_MS);
	cr_expect_eq(n_told, 1);
}

Test(outages, where_nobody_wants_to_know_nothing_is_kept)
{
	session.lease.deadline_ms = 0;
	cut();
	pass(OUTAGES_OWN_MS);
	cr_expect_eq(n_told, 0);
	cr_expect_eq(notices.n, 0);
	is_up();
	for (size_t i = 0; i < store.n_open; i++)
		cr_expect_null(strstr(store.open[i].text, "outages"));
}

/* --- a rollout ------------------------------------------------------------------------------------------ */

/* The data of ROOT/notices, which was written four times before. */
static struct store_reply says(const char *version)
{
	return holds(version, strlen(version), (struct store_stat){.version = 4});
}

#define TELLS "check workers/me, set notices v4, create notices/"
#define MARKS "check workers/me, set notices v4"

static void wrote(const char *version)
{
	cr_expect_eq(store.last.len, strlen(version));
	cr_expect_eq(memcmp(store.last.data, version, strlen(version)), 0);
}

Test(outages, a_rollout_is_complete_once_all_workers_have_had_one_version_for_a_while)
{
	joins("x", "1.0", 9);
	joins("y", "2.0", 8);
	outages_fleet_changed(&outages);
	pass(60000);
	idle();
	leaves("x");
	joins("z", "2.0", 9);
	outages_fleet_changed(&outages);
	pass(ROLLOUTS_WAIT_MS - 1);
	idle();
	pass(1);
	asks("get notices", says("1.0"));
	asks_begins(TELLS, ok());
	wrote("2.0");
	idle();
	cr_assert_eq(n_told, 1);
	cr_expect_eq(told.event, NOTICE_ROLLOUT);
	cr_expect_str_eq(told.version, "2.0");
	cr_expect_str_eq(told.text, "rollout of 2.0 complete: 3 of 3 workers; before: 1.0");
	cr_expect_str_empty(told.task);
}

Test(outages, it_is_told_once)
{
	outages_fleet_changed(&outages);
	pass(ROLLOUTS_WAIT_MS);
	asks("get notices", says("1.0"));
	asks_begins(TELLS, ok());
	outages_fleet_changed(&outages);
	pass(60000);
	idle();
	cr_expect_eq(n_told, 1);
}

Test(outages, a_version_that_was_told_of_is_not_told_again)
{
	outages_fleet_changed(&outages);
	pass(ROLLOUTS_WAIT_MS);
	asks("get notices", says("2.0"));
	outages_fleet_changed(&outages);
	pass(60000);
	idle();
	cr_expect_eq(n_told, 0);
}

/* Back again is a rollout as well. */
Test(outages, each_version_that_is_another_than_the_last_is_told)
{
	outages_fleet_changed(&outages);
	pass(ROLLOUTS_WAIT_MS);
	asks("get notices", says("2.0"));
	leaves("me");
	joins("me", "1.0", 5);
	outages_fleet_changed(&outages);
	pass(ROLLOUTS_WAIT_MS);
	asks("get notices", says("2.0"));
	asks_begins(TELLS, ok());
	wrote("1.0");
	idle();
	cr_expect_str_eq(told.text, "rollout of 1.0 complete: 1 of 1 workers; before: 2.0");
}

/* The previous version is not known: the first one is written, and nobody is told. */
Test(outages, the_first_version_is_no_rollout)
{
	static const char *const unknown[] = {"", " 1.0", "\xff"};
	char long_one[NAME_VERSION_MAX + 2];

	memset(long_one, '1', sizeof(long_one));
	long_one[sizeof(long_one) - 1] = '\0';
	for (size_t i = 0; i < 4; i++) {
		outages_fleet_changed(&outages);
		pass(ROLLOUTS_WAIT_MS);
		asks("get notices", says(i < 3 ? unknown[i] : long_one));
		asks(MARKS, failed_at(STORE_BAD_VERSION, 1));
		wrote("2.0");
	}
	cr_expect_eq(n_told, 0);
}

/* The znode was deleted and made anew, or cannot be read any more. */
Test(outages, what_was_read_before_counts_no_longer_where_nothing_is_said_now)
{
	outages_fleet_changed(&outages);
	pass(ROLLOUTS_WAIT_MS);
	asks("get notices", says("2.0"));
	leaves("me");
	joins("me", "1.0", 5);
	outages_fleet_changed(&outages);
	pass(ROLLOUTS_WAIT_MS);
	asks("get notices", says(""));
	asks(MARKS, ok());
	cr_expect_eq(n_told, 0);
}

Test(outages, the_first_by_id_is_the_first_to_look)
{
	joins("a", "2.0", 1);
	joins("b", "2.0", 2);
	joins("x", "2.0", 3);
	outages_fleet_changed(&outages);
	pass(ROLLOUTS_WAIT_MS + 2 * ROLLOUTS_STAGGER_MS - 1);
	idle();
	pass(1);
	asks("get notices", says("2.0"));
}

/* The change begins the time anew. */
Test(outages, a_fleet_that_changes_is_waited_for)
{
	outages_fleet_changed(&outages);
	pass(ROLLOUTS_WAIT_MS - 1);
	outages_fleet_changed(&outages);
	pass(ROLLOUTS_WAIT_MS - 1);
	idle();
	pass(1);
	asks("get notices", says("2.0"));
}

Test(outages, where_nobody_wants_to_know_of_rollouts_nothing_is_read)
{
	static const struct notice_rule other[] = {{.events = 1U << NOTICE_DISCONNECTED}};

	outages_fleet_changed(&outages);
	notices_set_rules(&notices, other, 1);
	pass(60000);
	idle();
	outages_fleet_changed(&outages);
	cr_expect_not(host_timer_is_set(&outages.rolled));
}

Test(outages, a_session_that_is_up_looks_as_well)
{
	outages_up(&outages);
	pass(ROLLOUTS_WAIT_MS);
	asks("get notices", says("2.0"));
}

Test(outages, nothing_is_looked_at_in_a_fleet_that_is_not_known)
{
	outages_fleet_changed(&outages);
	registry.workers.ready = false;
	pass(60000);
	idle();
	registry.workers.ready = true;
	outages_fleet_changed(&outages);
	session.state = SESSION_CONNECTING;
	pass(ROLLOUTS_WAIT_MS);
	cr_expect_eq(store.n_open, 0);
	session.state = SESSION_UP;
	leaves("me");
	joins("other", "2.0", 1);
	outages_fleet_changed(&outages);
	pass(60000);
	idle();
}

Test(outages, a_fleet_that_is_mixed_again_before_the_answer_is_not_told_of)
{
	outages_fleet_changed(&outages);
	pass(ROLLOUTS_WAIT_MS);
	joins("x", "3.0", 9);
	asks("get notices", says("1.0"));
	pass(60000);
	idle();
}

/* Two that look at the same time: one succeeds, and the other sees it. */
Test(outages, where_another_was_quicker_it_is_read_again)
{
	outages_fleet_changed(&outages);
	pass(ROLLOUTS_WAIT_MS);
	asks("get notices", says("1.0"));
	asks_begins(TELLS, failed_at(STORE_BAD_VERSION, 1));
	pass(ROLLOUTS_WAIT_MS - 1);
	idle();
	pass(1);
	asks("get notices", says("2.0"));
	pass(60000);
	idle();
	cr_expect_eq(n_told, 0);
}

Test(outages, a_read_that_fails_is_repeated_after_a_second)
{
	outages_fleet_changed(&outages);
	pass(ROLLOUTS_WAIT_MS);
	asks("get notices", failed(STORE_NO_NODE));
	pass(ROLLOUTS_WAIT_MS - 1);
	idle();
	pass(1);
	asks("get notices", says("1.0"));
	asks_begins(TELLS, ok());
}

Test(outages, one_question_at_a_time)
{
	outages_fleet_changed(&outages);
	pass(ROLLOUTS_WAIT_MS);
	outages_fleet_changed(&outages);
	pass(ROLLOUTS_WAIT_MS);
	cr_expect_eq(store.n_open, 1);
	asks("get notices", says("1.0"));
	outages_fleet_changed(&outages);
	outages.version[0] = '\0'; /* as if another had told of it meanwhile */
	pass(ROLLOUTS_WAIT_MS);
	cr_expect_eq(store.n_open, 1);
	asks_begins(TELLS, ok());
	idle();
}

Test(outages, what_was_given_up_with_the_handle_is_not_repeated)
{
	outages_fleet_changed(&outages);
	pass(ROLLOUTS_WAIT_MS);
	asks("get notices", failed(STORE_ABANDONED));
	pass(60000);
	idle();
	outages_fleet_changed(&outages);
	pass(ROLLOUTS_WAIT_MS);
	asks("get notices", says("1.0"));
	asks_begins(TELLS, failed(STORE_ABANDONED));
	pass(60000);
	idle();
}

Test(outages, nothing_rings_behind_the_end)
{
	cut();
	outages_fleet_changed(&outages);
	cr_assert(host_timer_is_set(&outages.lost) && host_timer_is_set(&outages.rolled));
	outages_done(&outages);
	cr_expect_not(host_timer_is_set(&outages.lost));
	cr_expect_not(host_timer_is_set(&outages.rolled));
}
