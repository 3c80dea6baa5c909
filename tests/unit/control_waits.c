/*
 * Requests of each subject that wait: what becomes of them when ZooKeeper answers or does not, when their time is
 * over, and when their client goes.
 */
#include "control_site.h"

#include "control/answer/parked.h"

TestSuite(waits, .init = control_is_up);

#define ID    "0123456789abcdef"
#define LOCK  ID ID
#define KINDS 23

/* A request of each kind that waits. */
static void begins(struct peer *c, size_t kind)
{
	switch (kind) {
	case 0: request(c, "counter", 2, "si", "c", N(3)); break;
	case 1: request(c, "wait", 1, "1si", "workers", N(9)); break;
	case 2: request(c, "outcome", 2, "ss", "report", TICK); break;
	case 3: request(c, "explain", 2, "s1ss", "report", "tick", TICK); break;
	case 4: request(c, "history", 1, "s", "report"); break;
	case 5: request(c, "history", 0, ""); break;
	case 6: request(c, "rolling", 2, "s1ss", "g", "do", "status"); break;
	case 7:
		request(c, "rolling", 2, "s3ssssss", "g", "do", "take", "boot_id", ID, "process",
			"1:2");
		break;
	case 8: request(c, "barrier", 2, "s2sssi", "b", "id", ID, "count", N(2)); break;
	case 9: request(c, "locks", 0, ""); break;
	case 10: request(c, "workers", 0, ""); break;
	case 11: request(c, "tasks", 0, ""); break;
	case 12: request(c, "explain", 1, "s", "report"); break;
	case 13: request(c, "check", 2, "si", "report", N(60000)); break;
	case 14: request(c, "index", 0, ""); break;
	case 15: request(c, "roster", 0, ""); break;
	case 16: request(c, "reload", 0, ""); break;
	case 17: request(c, "next", 0, ""); break;
	case 18: request(c, "pause", 1, "s", "report"); break;
	case 19: request(c, "drain", 1, "1sb", "force", true); break;
	case 20: request(c, "unpin", 1, "s", "report"); break;
	case 21: request(c, "forget", 1, "s", "b"); break;
	case 22: request(c, "rolling", 0, ""); break;
	}
}

/* All that the requests wait for comes, and says nothing. */
static void all_fails(void)
{
	static const struct changes none;

	for (size_t i = 0; i < 20; i++) {
		threads_end();
		answer_all(STORE_FAILED);
		turn();
	}
	connection(STORE_CONNECTING); /* orders wait for a new list of what was decided */
	turn();
	connection(STORE_CONNECTED);
	if (reloaded)
		reloaded(reloaded_arg, &none);
	reloaded = NULL;
	turn();
}

/* A peer that is gone is told nothing: the test fails there. */
static void goes_away(struct peer *c)
{
	methods_client_gone(&methods, c);
	client_of(c)->dropped = true;
	forget_answers(c);
}

Test(waits, each_counts_as_one_that_waits)
{
	for (size_t i = 0; i < KINDS; i++) {
		begins(alice, i);
		turn();
		cr_expect_eq(alice->parked, 1, "%zu: %s", i, clients[0].error);
		cr_expect_leq(alice->asking, 1, "%zu", i);
		cr_expect_eq(clients[0].n_results + clients[0].n_errors, 0, "%zu", i);
		methods_client_gone(&methods, alice);
		is_free(alice);
	}
}

Test(waits, each_goes_on_or_ends_where_its_client_goes)
{
	for (size_t i = 0; i < KINDS; i++)
		begins(alice, i);
	turn();
	goes_away(alice);
	is_free(alice);
	all_fails();
	cr_expect_eq(clients[0].n_results + clients[0].n_errors, 0);
	for (size_t i = 0; i < 200 && !TAILQ_EMPTY(&methods.asks.list); i++) {
		pass(1000);
		all_fails();
	}
	cr_expect(TAILQ_EMPTY(&methods.asks.list), "one is left");
}

/* Also where a second client asks for the same, and stays. */
Test(waits, a_client_that_stays_has_its_answer)
{
	for (size_t i = 0; i < KINDS; i++) {
		begins(alice, i);
		begins(bob, i);
		turn();
	}
	goes_away(alice);
	all_fails();
	for (size_t i = 0; i < 200 && bob->parked > 0; i++) {
		pass(1000);
		all_fails();
	}
	/* A wait for workers and a barrier have no end of their own, nor has a rolling restart. */
	cr_expect_eq(clients[1].n_results + clients[1].n_errors + bob->parked, KINDS);
	cr_expect_leq(bob->parked, 3, "%u", bob->parked);
}

/* --- deadlines ------------------------------------------------------------------------------------------ */

Test(waits, a_wait_for_workers_ends_when_they_are_there_or_its_time_is_over)
{
	request(alice, "wait", 1, "2sisi", "workers", N(2), "timeout_ms", N(500));
	request(bob, "wait", 1, "2sisi", "workers", N(2), "timeout_ms", N(60000));
	request(&clients[2].peer, "wait", 1, "1si", "workers", N(1));
	cr_expect(flag_of(result_of(&clients[2].peer), "done"), "this node is one");
	pass(499);
	waits(alice);
	pass(1);
	cr_expect_not(flag_of(result_of(alice), "done"));
	cr_expect_eq(number_of(result_of(alice), "workers"), 1);
	is_free(alice);
	waits(bob);
	b_joins();
	turn();
	cr_expect(flag_of(result_of(bob), "done"));
	is_free(bob);
}

Test(waits, a_check_is_answered_when_its_time_is_over)
{
	request(alice, "check", 2, "si", "report", N(700));
	pass(699);
	turn();
	waits(alice);
	pass(1);
	turn();
	cr_expect_not(flag_of(result_of(alice), "leader"));
	is_free(alice);
}

/* A table waits for ZooKeeper for so long, and then for room at its client. */
Test(waits, a_table_waits_for_room)
{
	clients[0].full = true;
	request(alice, "explain", 1, "s", "report");
	pass(METHODS_SURVEY_MAX_MS + 1);
	turn();
	waits(alice);
	clients[0].full = false;
	methods_room(&methods);
	turn();
	cr_expect_eq(clients[0].n_results, 1);
	is_free(alice);
}

Test(waits, one_about_a_task_that_is_removed_is_refused)
{
	request(alice, "check", 2, "si", "report", N(60000));
	methods_task_removed(&methods, tasks_find_any(&node.leaders, "report"));
	is_refused(alice, RPC_MISUSE, "has been removed");
	is_free(alice);
}

/* If the queues led here cannot be read in time, the metrics are told without them. */
Test(waits, metrics_are_told_without_queues)
{
	request(alice, "metrics", 0, "");
	cr_expect_eq(length_of(result_of(alice), "queues"), 0);
	is_free(alice);
}

/* --- orders --------------------------------------------------------------------------------------------- */

/* The name of the user is found first: then the decision is written, also without the client. */
Test(waits, an_order_is_carried_out_without_its_client)
{
	request(alice, "pause", 2, "s1ss", "report", "reason", "the disk is full");
	goes_away(alice);
	cr_expect_eq(store.n_open, 0);
	threads_end();
	cr_expect_geq(store.n_open, 1, "it was dropped");
}

Test(waits, an_order_whose_fate_is_unknown_says_so)
{
	request(alice, "pause", 1, "s", "report");
	threads_end();
	connection(STORE_CONNECTING);
	is_refused(alice, RPC_CANNOT_TELL, "may or may not have been done");
	is_free(alice);
}

/* --- what is held --------------------------------------------------------------------------------------- */

/* The request, and what it is to hold, which the node gives back. */
Test(waits, a_lock_that_cannot_be_had_gives_its_place_back)
{
	request(alice, "lock", 2, "s2sssi", "l", "id", LOCK, "wait_ms", N(1000));
	cr_expect_eq(alice->parked, 2);
	for (size_t i = 0; i < 60 && alice->parked > 0; i++) {
		pass(1000);
		all_fails();
	}
	cr_expect_eq(clients[0].n_results + clients[0].n_errors, 1);
	is_free(alice);
}

Test(waits, a_client_that_goes_asks_for_no_lock_any_more)
{
	request(alice, "lock", 2, "s1ss", "l", "id", LOCK);
	goes_away(alice);
	all_fails();
	cr_expect(TAILQ_EMPTY(&methods.asks.list));
}

/* --- programs ------------------------------------------------------------------------------------------- */

Test(waits, a_runner_takes_the_place_of_the_one_before)
{
	clients[1].peer.uid = alice->uid;
	request(alice, "runner", 1, "1sb", "pings", true);
	cr_expect_eq(clients[0].n_results, 1);
	is_free(alice);
	request(bob, "runner", 0, "");
	cr_expect(clients[0].dropped && !clients[1].dropped);
	methods_client_gone(&methods, alice);
	request(bob, "pong", 1, "i", N(0));
	cr_expect_eq(clients[1].n_results, 2, "it is the runner");
	methods_client_gone(&methods, bob);
	request(bob, "pong", 1, "i", N(0));
	is_refused(bob, RPC_MISUSE, "pong is for a runner");
}
