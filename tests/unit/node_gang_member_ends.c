/* A member of a gang as the gang begins, and as the member ends. */
#include "gang_site.h"

#define WAS_LOST	  "the session with ZooKeeper ended as the gang began"

#define MAKE(node)	  "check workers/me, check gangs/g v3, create+ gangs/g/" node
#define UNMAKE(node)	  "check workers/me, check gangs/g v3, delete gangs/g/" node
#define LOSE(node)	  "check workers/me, check gangs/g, delete gangs/g/" node
#define LEAVE(node, mark) LOSE(node) ", create gangs/g/" mark

TestSuite(gang_member_ends, .init = begin_gangs);

/* We are in it as 1, with the other one as 2. */
static void start(void)
{
	join(1, "a");
	sees(NOBODY);
	asks(MAKE(MADE("1", "7", "a")), ok());
	runs(false);
	sees(NODE("1", "7", "a", "0"), NODE("2", "9", "b", "1"));
	asks("exists! gangs/g/" NODE("2", "9", "b", "1"), ok());
	answered(PARTY_OPENED, NULL);
	cr_expect_eq(told.index, 0);
	idle();
}

/* The member leaves in order, so that the others need not stop; the last one takes it all away. */
Test(gang_member_ends, whose_command_has_ended_leaves_a_mark)
{
	start();
	cr_assert(gangs_finish(&gangs, &owner, told.number, false, on_done, &owner));
	sees(NODE("1", "7", "a", "0"), NODE("2", "9", "b", "1"));
	asks(LEAVE(NODE("1", "7", "a", "0"), LEFT("1")), ok());
	cr_expect_eq(n_done, 0);
	sees(LEFT("1"), NODE("2", "9", "b", "1"));
	cr_expect_eq(n_done, 1);
	cr_expect_eq(n_released, 1);
	idle();
}

Test(gang_member_ends, the_last_that_leaves_takes_it_all_away)
{
	start();
	cr_assert(gangs_finish(&gangs, &owner, told.number, false, on_done, &owner));
	sees(NODE("1", "7", "a", "0"), LEFT("2"));
	asks(LEAVE(NODE("1", "7", "a", "0"), LEFT("1")), ok());
	sees(LEFT("1"), LEFT("2"));
	asks("check workers/me, delete gangs/g/" LEFT("1") ", delete gangs/g/" LEFT(
		     "2") ", delete gangs/g v3",
	     ok());
	cr_expect_eq(n_done, 0);
	sees_none(true);
	cr_expect_eq(n_done, 1);
	idle();
}

Test(gang_member_ends, whose_client_was_killed_is_lost_and_leaves_none)
{
	start();
	cr_assert(gangs_finish(&gangs, &owner, told.number, true, on_done, &owner));
	sees(NODE("1", "7", "a", "0"), NODE("2", "9", "b", "1"));
	asks(LOSE(NODE("1", "7", "a", "0")), ok());
	sees(NODE("2", "9", "b", "1"));
	cr_expect_eq(n_done, 1);
}

Test(gang_member_ends, who_is_not_in_the_record_any_more_leaves_no_mark)
{
	start();
	cr_assert(gangs_finish(&gangs, &owner, told.number, false, on_done, &owner));
	record = (struct gang_record){.count = 2}; /* by a hand */
	sees(NODE("1", "7", "a", "0"));
	asks(LOSE(NODE("1", "7", "a", "0")), ok());
	sees_none(true);
	cr_expect_eq(n_done, 1);
}

Test(gang_member_ends, whose_node_may_not_be_deleted_is_told_all_the_same)
{
	start();
	cr_assert(gangs_finish(&gangs, &owner, told.number, true, on_done, &owner));
	sees(NODE("1", "7", "a", "0"), NODE("2", "9", "b", "1"));
	asks(LOSE(NODE("1", "7", "a", "0")), failed_at(STORE_NO_AUTH, 2));
	sees(NODE("1", "7", "a", "0"), NODE("2", "9", "b", "1"));
	cr_expect_eq(n_done, 1);
	idle();
}

Test(gang_member_ends, a_timeout_is_told_where_its_node_may_not_be_deleted)
{
	join_as(&(struct gang_request){.id = 1, .key = "a", .count = 2, .timeout_ms = 100});
	sees(NOBODY);
	asks(MAKE(MADE("1", "7", "a")), ok());
	sees(NODE("1", "7", "a", "0"));
	pass(100);
	sees(NODE("1", "7", "a", "0"));
	asks(UNMAKE(NODE("1", "7", "a", "0")), failed_at(STORE_NO_AUTH, 2));
	sees(NODE("1", "7", "a", "0"));
	answered(PARTY_TIMEOUT, NULL);
	idle();
}

Test(gang_member_ends, who_may_not_take_its_node_away_is_told_all_the_same)
{
	start();
	cr_assert(gangs_finish(&gangs, &owner, told.number, false, on_done, &owner));
	sees(NODE("1", "7", "a", "0"), NODE("2", "9", "b", "1"));
	asks(LEAVE(NODE("1", "7", "a", "0"), LEFT("1")), failed_at(STORE_NO_AUTH, 2));
	sees(NODE("1", "7", "a", "0"), NODE("2", "9", "b", "1"));
	cr_expect_eq(n_done, 1);
}

/* The node of it is gone, so nothing says that it runs. */
Test(gang_member_ends, who_is_not_there_any_more_may_not_go_on)
{
	start();
	cr_expect_gt(gangs_renew(&gangs, &owner, told.number), 0);
	fires(STORE_NODE_CHANGED, "gangs/g");
	sees(NODE("2", "9", "b", "1"));
	cr_expect_eq(gangs_renew(&gangs, &owner, told.number), 0);
	cr_expect_eq(n_told, 0);
}

Test(gang_member_ends, where_one_is_lost_the_others_of_a_gang_that_stops_may_not_go_on)
{
	start();
	record.lost = true;
	fires(STORE_NODE_CHANGED, "gangs/g");
	sees(NODE("1", "7", "a", "0"));
	cr_expect_eq(gangs_renew(&gangs, &owner, told.number), 0);
}

Test(gang_member_ends, a_gang_that_goes_on_goes_on)
{
	join_keeper(1, "a");
	sees(NOBODY);
	asks(MAKE(GOES_ON("1", "7", "a")), ok());
	runs(true);
	record.lost = true;
	sees(KEEPER("1", "7", "a", "0"));
	answered(PARTY_OPENED, NULL);
	idle();
	cr_expect_gt(gangs_renew(&gangs, &owner, told.number), 0);
}

/* The member is in the record, and its node went with a session before the client was told. */
Test(gang_member_ends, whose_node_has_gone_as_it_began_is_refused)
{
	join(1, "a");
	sees(NOBODY);
	asks(MAKE(MADE("1", "7", "a")), ok());
	runs(false);
	record.lost = true;
	sees(NODE("2", "9", "b", "1"));
	answered(PARTY_FAILED, WAS_LOST);
}

/* Another was lost before we were told: waiting any longer would be for nothing. */
Test(gang_member_ends, where_one_is_lost_as_it_begins_the_others_are_told)
{
	join(1, "a");
	sees(NOBODY);
	asks(MAKE(MADE("1", "7", "a")), ok());
	runs(false);
	record.lost = true;
	sees(NODE("1", "7", "a", "0"));
	answered(PARTY_FAILED, "a member was lost as the gang began");
	sees(NODE("1", "7", "a", "0"));
	asks(LOSE(NODE("1", "7", "a", "0")), ok());
	sees(NOBODY);
	idle();
}

/* The member is in the record, and nobody wants it any more. */
Test(gang_member_ends, whose_client_went_as_it_began_is_lost)
{
	join(1, "a");
	sees(NOBODY);
	asks(MAKE(MADE("1", "7", "a")), ok());
	parties_owner_gone(&gangs, &owner);
	runs(false);
	sees(NODE("1", "7", "a", "0"), NODE("2", "9", "b", "1"));
	asks(LOSE(NODE("1", "7", "a", "0")), ok());
	sees(NODE("2", "9", "b", "1"));
	cr_expect_eq(gangs.n_members, 0);
}

Test(gang_member_ends, a_timeout_that_comes_as_the_gang_has_begun_and_gone_is_a_loss)
{
	join_as(&(struct gang_request){.id = 1, .key = "a", .count = 2, .timeout_ms = 100});
	sees(NOBODY);
	asks(MAKE(MADE("1", "7", "a")), ok());
	sees(NODE("1", "7", "a", "0"));
	pass(100);
	runs(false);
	record.lost = true;
	sees(NODE("2", "9", "b", "1"));
	answered(PARTY_FAILED, WAS_LOST);
}

/* Perhaps another one comes: then it stays. */
Test(gang_member_ends, the_last_that_gives_up_takes_the_empty_gang_away)
{
	join_as(&(struct gang_request){.id = 1, .key = "a", .count = 2, .timeout_ms = 100});
	sees(NOBODY);
	asks(MAKE(MADE("1", "7", "a")), ok());
	sees(NODE("1", "7", "a", "0"));
	pass(100);
	sees(NODE("1", "7", "a", "0"));
	asks(UNMAKE(NODE("1", "7", "a", "0")), ok());
	sees(NOBODY);
	answered(PARTY_TIMEOUT, NULL);
	asks("check workers/me, delete gangs/g v3", ok());
	sees_none(false);
	idle();
}

/* --- what the sidecar before us had ---------------------------------------------------------------------- */

static void attach(uint64_t id)
{
	gangs_attach(&gangs, &owner, "g", id, on_answer, &owner);
}

Test(gang_member_ends, what_runs_is_found_by_its_id)
{
	runs(false);
	attach(1);
	sees(NODE("1", "7", "a", "0"), NODE("2", "9", "b", "1"));
	asks("exists! gangs/g/" NODE("2", "9", "b", "1"), ok());
	answered(PARTY_OPENED, NULL);
	cr_expect_eq(told.index, 0);
	idle();
}

Test(gang_member_ends, what_does_not_run_is_not_there)
{
	static const struct {
		const char *what;
		uint64_t id;
		const char *names[2];
		bool lost;
	} cases[] = {
		{"not in the record", 3, {NODE("3", "7", "a", "0")}, false},
		{"without a node", 1, {NODE("2", "9", "b", "1")}, true},
		{"of another session",
		 1,
		 {NODE("1", "8", "a", "0"), NODE("2", "9", "b", "1")},
		 false},
	};

	runs(false);
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		puts(cases[i].what);
		record.lost = cases[i].lost;
		attach(cases[i].id);
		script_sees(true, names(cases[i].names[0], cases[i].names[1], NULL), __LINE__);
		answered(PARTY_NOT_THERE, NULL);
		idle();
	}
}

/* Its command is ended, and may live for as long as the sidecar before us promised it. */
Test(gang_member_ends, what_has_to_stop_is_not_there_and_keeps_its_node_for_a_lease)
{
	runs(false);
	record.lost = true;
	attach(1);
	sees(NODE("1", "7", "a", "0"), NODE("2", "9", "b", "1"));
	answered(PARTY_NOT_THERE, "a member was lost");
	cr_expect_eq(n_released, 1);
	pass(TIMEOUT_MS - 1);
	idle();
	pass(1);
	sees(NODE("1", "7", "a", "0"), NODE("2", "9", "b", "1"));
	asks(LOSE(NODE("1", "7", "a", "0")), ok());
	sees(NODE("2", "9", "b", "1"));
	cr_expect_eq(gangs.n_members, 0);
}

/* A client that comes back to the sidecar that told it is not kept waiting. */
Test(gang_member_ends, who_is_back_as_another_was_lost_is_told_so)
{
	runs(false);
	attach(1);
	sees(NODE("1", "7", "a", "0"), NODE("2", "9", "b", "1"));
	asks("exists! gangs/g/" NODE("2", "9", "b", "1"), ok());
	answered(PARTY_OPENED, NULL);
	parties_owner_gone(&gangs, &owner);
	record.lost = true;
	attach(1);
	sees(NODE("1", "7", "a", "0"));
	answered(PARTY_NOT_THERE, "a member was lost");
	pass(TIMEOUT_MS);
	sees(NODE("1", "7", "a", "0"));
	asks(LOSE(NODE("1", "7", "a", "0")), ok());
	sees(NOBODY);
	cr_expect_eq(gangs.n_members, 0);
}
