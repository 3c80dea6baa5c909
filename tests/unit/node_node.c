/*
 * The whole node, from its start to its end: what its parts ask for and in which order, what they tell each other,
 * and what whoever runs the node is told. What each part does by itself is its own test's.
 */
#include "whole_site.h"

TestSuite(node, .init = begin);

/* --- the start ------------------------------------------------------------------------------------------ */

Test(node, nothing_is_asked_before_the_start_nor_registered_before_the_health_is_known)
{
	pass(5000);
	idle();
	node_start(&node);
	connection(STORE_CONNECTED);
	pass(5000);
	idle();
	node_set_health(&node, &(struct node_health){.known = true});
	asks("create* workers/new", ok());
}

Test(node, once_it_is_up_the_parts_read_and_then_it_claims)
{
	connects();
	hears("");
	wants("create* workers/new", ok());
	hears("changed report");
	cr_expect_eq(n_status, 2, "of the task and of the session");
	cr_expect_eq(n_leased, 1);
	cr_expect_eq(n_handoffs, 1);
	wants("list! policy", names(NULL));
	wants("list! partitions", names(NULL));
	wants("list! workers", names(node.registry.id, NULL));
	hears("changed report");
	wants("get! leaders/report", failed(STORE_NO_NODE));
	wants(CLAIMS, of_stat((struct store_stat){.mzxid = TOKEN}));
	wants("get! leaders/report", led_here());
	quiet();
	cr_expect(leaders_says(tasks_find_any(&node.leaders, "report")));
}

/* Nor does anybody hear of it: it is what was so when we came. */
Test(node, what_was_decided_before_is_known_before_anything_is_claimed)
{
	struct policy_record r = {.since = WALL_MS, .kind = "pause", .task = "report"};
	struct buffer data;

	snprintf(r.by, sizeof(r.by), "root");
	snprintf(r.host, sizeof(r.host), "there");
	buffer_init(&data, RECORD_POLICY_MAX);
	cr_assert_eq(record_pack_policy(&data, &r), 0);
	connects();
	wants("create* workers/new", ok());
	wants("list! policy", names("p1", NULL));
	wants("list! partitions", names(NULL));
	wants("list! workers", names(node.registry.id, NULL));
	news[0] = '\0';
	wants("get policy/p1", holds(data.data, data.len, (struct store_stat){.czxid = 1}));
	cr_expect_null(strstr(news, "decided"), "%s", news);
	while (store.n_open > 0) {
		cr_expect_null(strstr(store.open[0].text, "create"), "%s", store.open[0].text);
		script_answer(0, failed(STORE_NO_NODE));
		rest();
	}
	buffer_done(&data);
}

/* --- what is left to the node that comes next ----------------------------------------------------------- */

Test(node, the_handoff_says_who_this_node_is)
{
	uint8_t password[STORE_PASSWORD_SIZE] = {1, 2, 3};

	is_up();
	cr_expect_eq(n_handoffs, 1);
	cr_expect_eq(handed.session, SESSION);
	cr_expect_eq(handed.session_since, node.session.since);
	cr_expect_eq(memcmp(handed.password, password, sizeof(password)), 0);
	cr_expect_eq(handed.timeout_ms, TIMEOUT_MS);
	cr_expect_eq(handed.counted_ms, node.session.lease.timeout_ms);
	cr_expect_eq(handed.promise_ms, TIMEOUT_MS / 4);
	cr_expect_eq(handed.promised_ms, 0);
	cr_expect_str_eq(handed.worker, node.registry.id);
	cr_expect_eq(
		memcmp(handed.random_ints, node.registry.random_ints, sizeof(handed.random_ints)),
		0);
	cr_expect_eq(handed.started_at, node.registry.started_at);
}

Test(node, it_is_told_again_when_it_is_another_and_then_alone)
{
	char before[NAME_ID_MAX + 1];

	is_up();
	leads();
	b_joins();
	pass(60000);
	cr_expect_eq(n_handoffs, 1);
	snprintf(before, sizeof(before), "%s", handed.worker);
	store.n_open = 0;
	node_set_version(&node, "1.1");
	asks("create* workers/new, delete workers/new", ok());
	cr_expect_eq(n_handoffs, 2);
	cr_expect_str_neq(handed.worker, before);
	/* The lease counts with less from now on. */
	node.session.lease.timeout_ms = 6000;
	node.session.handlers.shortened(node.session.handlers.arg);
	cr_expect_eq(n_handoffs, 3);
	cr_expect_eq(handed.counted_ms, 6000);
}

/* A session that is not confirmed yet may be refused; what was handed off before still holds. */
Test(node, a_session_is_not_handed_off_before_it_is_up)
{
	is_up();
	connection(STORE_CONNECTING);
	node.handoff.session = 0; /* as if this one had never been told of */
	node.session.handlers.shortened(node.session.handlers.arg);
	cr_expect_eq(n_handoffs, 1);
	node.handoff.session = SESSION;
	node.session.lease.timeout_ms = 6000;
	node.session.handlers.shortened(node.session.handlers.arg);
	cr_expect_eq(n_handoffs, 2);
}

Test(node, a_node_that_takes_over_goes_on_as_the_one_before)
{
	const struct handoff_run job = {
		.task = "report", .tick = TICK, .id = "job", .token = TOKEN};

	node_take_over(&node, &kept, &job, 1, true);
	cr_expect_eq(runs_going(&node.runs, false), 1);
	cr_expect_eq(node_going(&node), 2, "there may be others, of locks, gangs and queues");
	cr_expect_eq(node.registry.started_at, 1234);
	cr_expect_eq(node.runs.quiet_ms, 0);
	connects();
	asks("get workers/new", failed(STORE_NO_NODE));
	asks("create* workers/new", ok());
	cr_expect_eq(handed.random_ints[0], 42);
	cr_expect_eq(handed.started_at, 1234);
}

/* A stopping node leaves as soon as it has seen that its predecessor has left no command. */
Test(node, a_stop_right_behind_the_start_waits_for_no_command_that_is_not_there)
{
	node_take_over(&node, &kept, NULL, 0, true);
	connects();
	asks("get workers/new", failed(STORE_NO_NODE));
	asks("create* workers/new", ok());
	rest();
	wants("list! policy", names(NULL));
	wants("list! partitions", names(NULL));
	wants("list! workers", names(node.registry.id, NULL));
	store.n_open = 0;
	cr_expect_eq(node_going(&node), 1);
	cr_expect_not(node.registry.same_node, "its record has gone");
	node.registry.same_node = true;
	node_leave(&node);
	cr_expect_eq(node_going(&node), 1);
	wants("list jobs", failed(STORE_NO_NODE));
	cr_expect_eq(node_going(&node), 0);
}

Test(node, where_not_all_jobs_are_known_none_begins_before_they_are_dead)
{
	node_take_over(&node, &kept, NULL, 0, false);
	cr_expect_eq(node.runs.quiet_ms, host.now_ms + TIMEOUT_MS);
}

Test(node, the_handoff_says_what_was_promised_by_each_yield_delay)
{
	struct node_timing timing = site_timing;

	is_up();
	timing.yield_delay_ms = 7000;
	node_configure(&node, &timing, &report, 1);
	cr_expect_eq(n_handoffs, 2);
	cr_expect_eq(handed.promise_ms, 7000);
	pass(1000);
	timing.yield_delay_ms = 0;
	node_configure(&node, &timing, &report, 1);
	cr_expect_eq(n_handoffs, 3);
	cr_expect_eq(handed.promise_ms, TIMEOUT_MS / 4);
	cr_expect_eq(handed.promised_ms, host.now_ms + 7000);
}

/* By whatever it left: also nothing, or what cannot be. */
Test(node, promises_of_the_one_before_are_kept_as_long_as_they_may_last)
{
	static const struct {
		int64_t promise_ms, promised_in, kept_for;
	} cases[] = {{7220, 0, 7220},
		     {0, 0, TIMEOUT_MS},
		     {2500, 6000, 6000},
		     {2500, -6000, 2500},
		     {INT64_MAX, INT64_MAX / 2, TIMEOUT_MS}};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct handoff h = kept;
		h.promise_ms = cases[i].promise_ms;
		h.promised_ms = cases[i].promised_in == 0 ? 0 : host.now_ms + cases[i].promised_in;
		node.leaders.inheritance.promised_ms = 0;
		node_take_over(&node, &h, NULL, 0, true);
		cr_expect_eq(node.leaders.inheritance.promised_ms - host.now_ms, cases[i].kept_for,
			     "%zu", i);
	}
}

/* Tasks must not be given up just because not all is known yet. */
Test(node, what_the_one_before_led_is_looked_for_once_all_is_known)
{
	node_take_over(&node, &kept, NULL, 0, true);
	connects();
	asks("get workers/new", failed(STORE_NO_NODE));
	asks("create* workers/new", ok());
	rest();
	cr_assert(registry_recovers(&node.registry));
	wants("list! policy", names(NULL));
	cr_expect(registry_recovers(&node.registry));
	wants("list! partitions", names(NULL));
	cr_expect(registry_recovers(&node.registry));
	cr_expect_not(tasks_find_any(&node.leaders, "report")->inheritance.open);
	wants("list! workers", names(node.registry.id, NULL));
	cr_expect_not(registry_recovers(&node.registry));
	cr_expect(tasks_find_any(&node.leaders, "report")->inheritance.open);
}

/* --- the fleet ------------------------------------------------------------------------------------------ */

Test(node, who_joins_and_leaves_is_told_but_not_who_was_there)
{
	connects();
	wants("create* workers/new", ok());
	wants("list! policy", names(NULL));
	wants("list! partitions", names(NULL));
	wants("list! workers", names(node.registry.id, "a", NULL));
	wants("get workers/a", worker_of("a", "0.5"));
	leads();
	fleet_is("a", "b");
	hears("");
	wants("get workers/b", worker_of("b", "0.6"));
	hears("joined host-b");
	fleet_is("b", NULL);
	hears("left host-a");
}

Test(node, a_fleet_that_changes_is_ranked_again)
{
	is_up();
	struct task *t = leads();
	cr_assert_eq(t->election.view.place, 0);
	fleet_is("b", NULL);
	wants("get workers/b", worker_of("b", "2.0"));
	cr_expect_eq(t->election.view.place, 1);
	cr_expect(t->election.view.newer);
}

/* The node looks for notices that the worker that left had written. */
Test(node, notices_of_who_left_are_taken_over)
{
	static const struct notice_rule rules[] = {{.events = 1U << NOTICE_DEAD}};

	is_up();
	leads();
	b_joins();
	node_set_notices(&node, rules, 1);
	notices_listen(&node.notices, true);
	wants("create notices", ok());
	wants("list notices", names(NULL));
	pass(5000);
	quiet();
	fleet_is(NULL, NULL);
	pass(NOTICES_RETRY_MS);
	wants("list notices", names(NULL));
}

/* --- watches -------------------------------------------------------------------------------------------- */

Test(node, each_folder_is_listed_again_when_it_has_changed)
{
	static const char *const folders[] = {"workers", "policy", "partitions"};
	char text[80];

	is_up();
	leads();
	for (size_t i = 0; i < 3; i++) {
		pass(FOLDER_LIST_EVERY_MS);
		fires(STORE_CHILDREN_CHANGED, folders[i]);
		snprintf(text, sizeof(text), "list! %s", folders[i]);
		wants(text, i == 0 ? names(node.registry.id, NULL) : names(NULL));
		quiet();
	}
}

Test(node, a_leader_node_that_changed_is_read)
{
	is_up();
	leads();
	fires(STORE_NODE_CHANGED, "leaders/report");
	wants("get! leaders/report", led_here());
	quiet();
}

Test(node, a_roster_that_changed_is_read)
{
	is_up();
	leads();
	fires(STORE_NODE_CHANGED, "roster");
	pass(0);
	script_confirm();
	cr_assert_gt(store.n_open, 0);
	cr_expect_str_eq(store.open[0].text, "get! roster");
}

/* --- the session goes, and comes again ------------------------------------------------------------------ */

/* Each folder was to be listed again. */
Test(node, a_connection_that_goes_asks_for_nothing_more)
{
	static const char *const folders[] = {"workers", "policy", "partitions"};
	const struct host_timer *timers[] = {&node.registry.workers.timer,
					     &node.policy.folder.timer,
					     &node.leaders.partitions.folder.timer};

	is_up();
	for (size_t i = 0; i < 3; i++) {
		fires(STORE_CHILDREN_CHANGED, folders[i]);
		cr_assert(host_timer_is_set(timers[i]), "%s", folders[i]);
	}
	connection(STORE_CONNECTING);
	for (size_t i = 0; i < 3; i++)
		cr_expect_not(host_timer_is_set(timers[i]), "%s", folders[i]);
}

Test(node, behind_a_cut_all_is_read_again_and_it_leads_on)
{
	is_up();
	struct task *t = leads();
	n_status = 0;
	connection(STORE_CONNECTING);
	cr_expect_gt(n_status, 0);
	cr_expect(leaders_says(t), "as long as the lease lasts");
	pass(500);
	n_status = 0;
	connection(STORE_CONNECTED);
	cr_expect_eq(n_status, 0, "not before it is confirmed");
	script_confirm();
	cr_expect_gt(n_status, 0);
	wants("list! policy", names(NULL));
	wants("list! partitions", names(NULL));
	wants("list! workers", names(node.registry.id, NULL));
	cr_expect(leaders_says(t));
}

Test(node, an_end_of_the_session_ends_all_that_was_in_it)
{
	is_up();
	struct task *t = leads();
	n_status = 0;
	connection(STORE_EXPIRED);
	hears("changed report, left here");
	cr_expect_gt(n_status, 1, "of the task and of the session");
	cr_expect_eq(t->election.state, ELECTION_DOWN);
	cr_expect_str_empty(node.registry.id);
	cr_expect_not(node.policy.folder.ready);
	cr_expect_not(node.leaders.partitions.folder.ready);
	pass(1000);
	connection(STORE_CONNECTED);
	asks("set workers", of_stat((struct store_stat){.mtime = host_wall_ms(&host)}));
	asks("create* workers/new", ok());
	cr_expect_eq(n_handoffs, 2, "it is registered anew");
	cr_expect_eq(n_leased, 2);
	wants("list! policy", names(NULL));
	wants("list! partitions", names(NULL));
	wants("list! workers", names(node.registry.id, NULL));
	leads();
}

Test(node, how_long_it_is_without_zookeeper_counts_from_the_cut)
{
	is_up();
	cr_expect_eq(node.outages.since, 0);
	pass(100);
	connection(STORE_CONNECTING);
	cr_expect_eq(node.outages.since, host_wall_ms(&host));
	connection(STORE_CONNECTED);
	script_confirm();
	cr_expect_eq(node.outages.since, 0);
}

Test(node, or_from_the_end_of_a_session_that_had_no_cut)
{
	is_up();
	connection(STORE_EXPIRED);
	cr_expect_eq(node.outages.since, host_wall_ms(&host));
}

/* --- the end -------------------------------------------------------------------------------------------- */

static void on_stopped(void *arg)
{
	say("stopped", arg);
}

static char name[] = "me";

Test(node, a_node_that_withdraws_leaves_what_it_leads_and_stops)
{
	is_up();
	leads();
	node_withdraw(&node);
	wants("create* workers/new, delete workers/new", ok());
	wants("set leaders/report v0, delete leaders/report v1", ok());
	quiet();
	cr_expect_eq(node.leaders.n_leading, 0);
	news[0] = '\0';
	node_stop(&node, on_stopped, name);
	cr_expect_not_null(strstr(news, "stopped me"), "%s", news);
	cr_expect_eq(session_lease_left(&node.session), 0);
}

Test(node, nothing_rings_behind_the_end)
{
	is_up();
	leads();
	node_stop(&node, on_stopped, name);
	news[0] = '\0';
	node_done(&node);
	for (size_t i = 0; i < host.n_timers; i++)
		cr_expect_eq(host.rings[i], 0, "timer %zu", i);
	for (size_t i = 0; i < host.n_turns; i++)
		cr_expect_null(host.turns[i]->fn, "turn %zu", i);
	pass(60000);
	hears("");
}

Test(node, one_that_was_never_started_ends_as_well)
{
	node_done(&node);
	hears("");
	for (size_t i = 0; i < host.n_timers; i++)
		cr_expect_eq(host.rings[i], 0, "timer %zu", i);
}
