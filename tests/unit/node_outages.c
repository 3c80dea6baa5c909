/* Being without ZooKeeper, and rollouts that are complete: who tells people of them, when, and once. */
#include "notice_site.h"

#include "base/clock.h"
#include "node/notices/outages.h"

static const struct notice_rule all[] = {
	{.events = 1U << NOTICE_DISCONNECTED | 1U << NOTICE_ROLLOUT}};
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
	outages_up(&outages);
}

static void tells_after(int64_t ms)
{
	size_t before = n_told;

	pass(ms - 1);
	cr_expect_eq(n_told, before);
	pass(1);
	cr_assert_eq(n_told, before + 1);
	cr_expect_eq(told.event, NOTICE_DISCONNECTED);
}

Test(outages, a_connection_that_went_is_told_once_the_lease_is_over)
{
	char since[CLOCK_TEXT_SIZE], text[NOTICE_TEXT_MAX + 1];

	session_set_leading(&session, true);
	pass(0);
	int64_t left = session_lease_left(&session);
	cr_assert_gt(left, ROLLOUTS_WAIT_MS);
	clock_format(host_wall_ms(&host), since);
	cut();
	tells_after(left);
	snprintf(text, sizeof(text),
		 "host-me has had no connection with ZooKeeper since %s, and leads nothing", since);
	cr_expect_str_eq(told.text, text);
	cr_expect_str_eq(told.node, "host-me");
	cr_expect_str_eq(told.version, "2.0");
	cr_expect_str_empty(told.task);
	pass(60000);
	cr_expect_eq(n_told, 1, "and once");
}

Test(outages, without_a_lease_it_is_told_after_a_second)
{
	session.lease.deadline_ms = host.now_ms + ROLLOUTS_WAIT_MS / 2;
	cut();
	tells_after(ROLLOUTS_WAIT_MS);
}

Test(outages, one_that_came_back_in_time_is_not_told)
{
	session.lease.deadline_ms = 0;
	cut();
	pass(ROLLOUTS_WAIT_MS - 1);
	is_up();
	cr_expect_eq(outages.since, 0);
	cr_expect_not(host_timer_is_set(&outages.lost));
	pass(60000);
	cr_expect_eq(n_told, 0);
}

/* Whatever else goes meanwhile, as the session, it began with the connection. */
Test(outages, it_is_one_until_the_session_is_up)
{
	int64_t since = host_wall_ms(&host);

	session.lease.deadline_ms = 0;
	cut();
	pass(600);
	outages_cut(&outages);
	cr_expect_eq(outages.since, since);
	tells_after(400);
	outages_cut(&outages);
	pass(60000);
	cr_expect_eq(n_told, 1);
}

Test(outages, the_next_is_told_again_with_its_own_begin)
{
	char since[CLOCK_TEXT_SIZE];

	session.lease.deadline_ms = 0;
	cut();
	tells_after(ROLLOUTS_WAIT_MS);
	is_up();
	notices_taken(&notices, told.id, strlen(told.id));
	pass(5000);
	clock_format(host_wall_ms(&host), since);
	session.lease.deadline_ms = 0;
	cut();
	tells_after(ROLLOUTS_WAIT_MS);
	cr_expect_not_null(strstr(told.text, since), "%s", told.text);
}

Test(outages, where_nobody_wants_to_know_nothing_is_kept)
{
	static const struct notice_rule other[] = {{.events = 1U << NOTICE_ROLLOUT}};

	notices_set_rules(&notices, other, 1);
	session.lease.deadline_ms = 0;
	cut();
	pass(60000);
	cr_expect_eq(n_told, 0);
	cr_expect_eq(notices.n, 0);
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

/* As it was deleted and made anew, or is not to be read any more. */
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
