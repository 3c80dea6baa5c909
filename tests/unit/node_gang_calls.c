/* Calls to gangs (gang.c) by clients, by the session and at the sidecar's end. */
#include "gang_site.h"

#define MAKE   "check workers/me, check gangs/g v3, create+ gangs/g/" MADE("1", "7", "a")
#define OURS   NODE("1", "7", "a", "0")
#define THEIRS NODE("2", "9", "b", "1")
#define UNMAKE "check workers/me, check gangs/g v3, delete gangs/g/" OURS
#define LOSE   "check workers/me, check gangs/g, delete gangs/g/" OURS
#define STOPS  "the sidecar is being stopped"
#define LEASES 9000 /* that the sidecar before us promised */

TestSuite(gang_calls, .init = begin_gangs);

static void wait_in_line(void)
{
	join(1, "a");
	sees(NOBODY);
	asks(MAKE, ok());
	sees(OURS);
	idle();
}

static void start(void)
{
	wait_in_line();
	runs(false);
	fires(STORE_NODE_CHANGED, "gangs/g");
	sees(OURS, THEIRS);
	asks("exists! gangs/g/" THEIRS, ok());
	answered(PARTY_OPENED, NULL);
}

static void attach(void)
{
	gangs_attach(&gangs, &owner, "g", 1, on_answer, &owner);
}

/* --- who is refused at once ---------------------------------------------------------------------------- */

Test(gang_calls, a_member_that_is_there_is_not_there_twice)
{
	wait_in_line();
	join(1, "c");
	answered(PARTY_FAILED, "that member is there already");
	cr_expect_eq(n_released, 1);
	cr_expect_eq(gangs.n_members, 1);
	attach(); /* it waits, and has not lost its client */
	answered(PARTY_NOT_THERE, NULL);
	cr_expect_eq(n_released, 2);
	idle();
}

Test(gang_calls, a_path_that_would_be_too_long_is_refused)
{
	static char root[STORE_PATH_MAX];
	struct node_settings settings = site_settings;

	memset(root, 'r', sizeof(root) - 20);
	root[0] = '/';
	settings.root = root;
	registry.settings = &settings;
	join(1, "a");
	answered(PARTY_FAILED, "the root's path is too long for a gang's members");
	cr_expect_eq(n_released, 1);
	cr_expect(STAILQ_EMPTY(&gangs.list));
}

Test(gang_calls, there_are_not_too_many)
{
	gangs.n_members = PARTY_MEMBERS_MAX;
	join(1, "a");
	answered(PARTY_FAILED, "too many members of gangs at this sidecar: at most 1000");
	attach();
	answered(PARTY_NOT_THERE, NULL);
	gangs.n_members = PARTY_MEMBERS_MAX - 1;
	join(1, "a");
	cr_expect_eq(n_told, 0);
}

Test(gang_calls, one_that_is_being_stopped_begins_none)
{
	wait_in_line();
	parties_stop(&gangs);
	answered(PARTY_FAILED, STOPS);
	sees(OURS);
	asks(UNMAKE, ok());
	sees(NOBODY);
	asks("check workers/me, delete gangs/g v3", ok());
	sees_none(false);
	join(2, "b");
	answered(PARTY_FAILED, STOPS);
	idle();
}

Test(gang_calls, who_comes_back_as_it_is_being_stopped_goes_on)
{
	runs(false);
	parties_stop(&gangs);
	attach();
	sees(OURS, THEIRS);
	asks("exists! gangs/g/" THEIRS, ok());
	answered(PARTY_OPENED, NULL);
	cr_expect_eq(parties_going(&gangs), 1);
}

Test(gang_calls, what_runs_goes_on_as_it_is_being_stopped)
{
	start();
	parties_stop(&gangs);
	cr_expect_eq(n_told, 0);
	cr_expect_gt(gangs_renew(&gangs, &owner, told.number), 0);
	idle();
}

/* --- a command ------------------------------------------------------------------------------------------ */

Test(gang_calls, a_lease_is_the_owners_of_one_that_has_started)
{
	int other;

	wait_in_line();
	cr_expect_eq(gangs_renew(&gangs, &owner, 1), -1);
	cr_expect_not(gangs_finish(&gangs, &owner, 1, false, on_done, &owner));
	cr_expect_eq(parties_going(&gangs), 0);
	parties_done(&gangs);
	turn();
	watches_done(&session.watches);
	begin_gangs();
	n_told = 0;
	start();
	cr_expect_eq(gangs_renew(&gangs, &owner, told.number), session_answer_left(&session));
	cr_expect_eq(gangs_renew(&gangs, &owner, told.number + 1), -1);
	cr_expect_eq(gangs_renew(&gangs, &other, told.number), -1);
	cr_expect_not(gangs_finish(&gangs, &other, told.number, false, on_done, &other));
	cr_expect_eq(parties_going(&gangs), 1);
	parties_revoke(&gangs);
	cr_expect_eq(gangs_renew(&gangs, &owner, told.number), 0);
}

static int64_t renew(void)
{
	return gangs_renew(&gangs, &owner, told.number);
}

Test(gang_calls, a_command_goes_on_while_the_connection_is_lost)
{
	start();
	renews_over_a_cut(renew);
}

/* The command was ended because another was lost: the others need not hear of it. */
Test(gang_calls, an_interrupted_command_of_a_gang_that_stops_leaves_in_order)
{
	start();
	cr_assert_gt(gangs_renew(&gangs, &owner, told.number), 0);
	record.lost = true;
	fires(STORE_NODE_CHANGED, "gangs/g");
	sees(OURS);
	cr_assert(gangs_finish(&gangs, &owner, told.number, true, on_done, &owner));
	cr_expect_eq(parties_going(&gangs), 0);
	sees(OURS);
	asks("check workers/me, check gangs/g, delete gangs/g/" OURS ", create gangs/g/" LEFT("1"),
	     ok());
}

/* The command may run until the lease that it was told of is over. */
Test(gang_calls, a_client_that_goes_loses_its_member_when_its_lease_is_over)
{
	start();
	int64_t left = gangs_renew(&gangs, &owner, told.number);
	cr_assert_gt(left, 0);
	parties_owner_gone(&gangs, &owner);
	sees(OURS, THEIRS);
	cr_expect_eq(parties_going(&gangs), 1);
	pass(left - 1);
	idle();
	pass(1);
	cr_expect_eq(parties_going(&gangs), 0);
	sees(OURS, THEIRS);
	asks(LOSE, ok());
	sees(THEIRS);
	cr_expect_eq(gangs.n_members, 0);
	cr_expect_eq(n_released, 0);
}

Test(gang_calls, a_client_that_comes_back_has_its_member_again)
{
	start();
	cr_assert_gt(gangs_renew(&gangs, &owner, told.number), 0);
	parties_owner_gone(&gangs, &owner);
	sees(OURS, THEIRS);
	attach();
	sees(OURS, THEIRS);
	answered(PARTY_OPENED, NULL);
	pass(2 * TIMEOUT_MS);
	idle();
	cr_expect_eq(parties_going(&gangs), 1);
	attach(); /* it has a client */
	answered(PARTY_NOT_THERE, NULL);
}

Test(gang_calls, a_client_that_goes_while_it_waits_leaves_nothing)
{
	wait_in_line();
	parties_owner_gone(&gangs, &owner);
	answered(PARTY_WITHDRAWN, NULL);
	sees(OURS);
	asks(UNMAKE, ok());
	sees(NOBODY);
	cr_expect_eq(gangs.n_members, 0);
	cr_expect_eq(n_released, 0, "it knows");
}

/* The previous sidecar's lease counts from when its client was last heard of. */
Test(gang_calls, a_client_that_goes_as_it_comes_back_may_have_a_command)
{
	session.granted_ms = LEASES;
	runs(false);
	attach();
	parties_owner_gone(&gangs, &owner);
	answered(PARTY_WITHDRAWN, NULL);
	cr_expect_eq(parties_going(&gangs), 1);
	sees(OURS, THEIRS);
	asks("exists! gangs/g/" THEIRS, ok());
	sees(OURS, THEIRS);
	pass(LEASES - 1);
	idle();
	pass(1);
	sees(OURS, THEIRS);
	asks(LOSE, ok());
}

/* The client never asked us to renew its lease. */
Test(gang_calls, what_was_taken_over_lives_by_what_was_promised_before)
{
	session.granted_ms = LEASES;
	runs(false);
	attach();
	sees(OURS, THEIRS);
	asks("exists! gangs/g/" THEIRS, ok());
	answered(PARTY_OPENED, NULL);
	parties_owner_gone(&gangs, &owner);
	sees(OURS, THEIRS);
	pass(LEASES - 1);
	idle();
	pass(1);
	sees(OURS, THEIRS);
	asks(LOSE, ok());
}

/* --- the session ---------------------------------------------------------------------------------------- */

Test(gang_calls, a_connection_reads_all_again_behind_a_confirmation)
{
	wait_in_line();
	store.silent = true;
	parties_up(&gangs);
	asks("check workers/me", ok());
	sees(OURS);
	idle();
}

Test(gang_calls, nothing_is_asked_without_a_session_and_a_registration)
{
	session.state = SESSION_CONNECTING;
	join(1, "a");
	idle();
	session.state = SESSION_UP;
	session.registration[0] = '\0';
	parties_up(&gangs);
	idle();
	snprintf(session.registration, sizeof(session.registration), ROOT "/workers/me");
	parties_up(&gangs);
	sees(NOBODY);
	asks(MAKE, ok());
}

Test(gang_calls, with_the_session_a_command_has_to_end_and_a_waiter_begins_anew)
{
	start();
	join(3, "c");
	sees(OURS, THEIRS);
	answered(PARTY_IN_USE, NULL);
	uint64_t number = 1;
	cr_assert_gt(gangs_renew(&gangs, &owner, number), 0);
	parties_expired(&gangs);
	cr_expect_eq(gangs_renew(&gangs, &owner, number), 0);
	cr_expect_eq(n_told, 0);
	cr_assert(gangs_finish(&gangs, &owner, number, true, on_done, &owner));
	sees(THEIRS); /* its node is gone: nothing is left to be done */
	cr_expect_eq(n_done, 1);
}

Test(gang_calls, with_the_session_whoever_ends_has_ended)
{
	start();
	cr_assert(gangs_finish(&gangs, &owner, told.number, false, on_done, &owner));
	sees(OURS, THEIRS);
	asks("check workers/me, check gangs/g, delete gangs/g/" OURS ", create gangs/g/" LEFT("1"),
	     failed(STORE_UNKNOWN));
	parties_expired(&gangs);
	cr_expect_eq(n_done, 1);
	cr_expect_eq(gangs.n_members, 0);
}

Test(gang_calls, with_the_session_a_waiter_stays_in_line)
{
	wait_in_line();
	parties_expired(&gangs);
	cr_expect_eq(n_told, 0);
	parties_up(&gangs);
	sees(NOBODY);
	asks(MAKE, ok());
}

Test(gang_calls, what_others_watch_is_of_no_interest)
{
	start();
	fires(STORE_NODE_CHANGED, "gangs/other");
	fires(STORE_NODE_CHANGED, "gangs/gg");
	fires(STORE_NODE_CHANGED, "gangs");
	idle();
	fires(STORE_NODE_DELETED, "gangs/g/" THEIRS);
	sees(OURS, THEIRS);
}

/* --- the end -------------------------------------------------------------------------------------------- */

Test(gang_calls, where_the_next_sidecar_takes_it_over_nothing_is_touched)
{
	wait_in_line();
	parties_keep(&gangs);
	parties_owner_gone(&gangs, &owner);
	fires(STORE_NODE_CHANGED, "gangs/g");
	parties_up(&gangs);
	idle();
}

Test(gang_calls, at_the_end_all_are_answered_and_late_answers_are_of_no_interest)
{
	join(1, "a");
	cr_assert_eq(store.n_open, 3 + 1, "and a confirmation, as the lease is kept up now");
	parties_done(&gangs);
	answered(PARTY_ENDED, "the sidecar has ended");
	cr_expect_eq(n_released, 1);
	answer_all(STORE_ABANDONED);
	cr_expect_eq(n_told, 0);
	start();
	cr_assert(gangs_finish(&gangs, &owner, told.number, false, on_done, &owner));
	parties_done(&gangs);
	answer_all(STORE_ABANDONED);
	cr_expect_eq(n_done, 1);
}
