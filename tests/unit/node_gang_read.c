/* Reads of a gang, what they prove, and what follows from a refusal. */
#include "gang_site.h"

#define MAKE_GANG "check workers/me, create gangs/g"
#define MAKE	  "check workers/me, check gangs/g v3, create+ gangs/g/" MADE("1", "7", "a")
#define OURS	  NODE("1", "7", "a", "0")
#define THEIRS	  NODE("2", "9", "b", "1")
#define REFUSED	  "refused by the ZooKeeper server: see the sidecar's log"
#define FULL	  "a quota of ZooKeeper is used up: raise it with setquota, or make room"
#define RETRY_MS  100
#define DISSOLVES 20 /* attempts */

TestSuite(gang_read, .init = begin_gangs);

static void change(void)
{
	fires(STORE_NODE_CHANGED, "gangs/g");
}

/* --- it is made ---------------------------------------------------------------------------------------- */

Test(gang_read, the_first_that_waits_makes_it_and_says_its_count)
{
	struct gang_record r;
	const char *why;

	join(1, "a");
	sees_none(true);
	asks("create gangs", ok());
	asks(MAKE_GANG, ok());
	cr_assert_eq(record_parse_gang(store.last.data, store.last.len, &r, &why), 0);
	cr_expect(r.count == 2 && r.n == 0 && r.instance == 0);
	sees(NOBODY);
	asks(MAKE, ok());
}

Test(gang_read, where_it_may_not_be_made_the_waiter_is_refused_and_told_why)
{
	static const struct {
		struct store_reply folder, gang;
		const char *why;
	} cases[] = {
		{{.code = STORE_OK}, {.code = STORE_NO_AUTH, .failed_op = 1}, REFUSED},
		{{.code = STORE_OK}, {.code = STORE_FULL, .failed_op = 1}, FULL},
		{{.code = STORE_NO_AUTH},
		 {.code = STORE_NO_NODE, .failed_op = 1},
		 "refused by the ZooKeeper server: the sidecar may not make the folder"},
		{{.code = STORE_FULL}, {.code = STORE_NO_NODE, .failed_op = 1}, FULL},
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		join(1, "a");
		sees_none(true);
		asks("create gangs", cases[i].folder);
		asks(MAKE_GANG, cases[i].gang);
		cr_expect_eq(n_told, 0);
		sees_none(true);
		answered(PARTY_FAILED, cases[i].why);
		idle();
	}
}

/* The folder may be there although we may not make it. */
Test(gang_read, a_folder_that_may_not_be_made_is_none_the_worse_if_it_is_there)
{
	join(1, "a");
	sees_none(true);
	asks("create gangs", failed(STORE_NO_AUTH));
	asks(MAKE_GANG, failed_at(STORE_NODE_EXISTS, 1));
	sees(NOBODY);
	asks(MAKE, ok());
	cr_expect_eq(n_told, 0);
}

Test(gang_read, a_folder_that_others_sweep_as_it_is_made_is_made_again)
{
	join(1, "a");
	for (int i = 0; i < 2; i++) {
		sees_none(true);
		asks("create gangs", ok());
		asks(MAKE_GANG, failed_at(STORE_NO_NODE, 1));
	}
	cr_expect_eq(n_told, 0);
}

Test(gang_read, a_gang_without_one_that_waits_is_not_made)
{
	gangs_attach(&gangs, &owner, "g", 1, on_answer, &owner);
	sees_none(true);
	answered(PARTY_NOT_THERE, NULL);
	idle();
}

/* --- one moment ---------------------------------------------------------------------------------------- */

Test(gang_read, what_is_not_of_one_moment_is_read_again)
{
	static const struct {
		const char *what;
		enum store_code codes[3];
		struct store_stat then;
	} cases[] = {
		{"changed", {STORE_OK, STORE_OK, STORE_OK}, {.version = 4, .czxid = 5}},
		{"another of that name",
		 {STORE_OK, STORE_OK, STORE_OK},
		 {.version = 3, .czxid = 9}},
		{"gone", {STORE_OK, STORE_OK, STORE_NO_NODE}, {0}},
		{"come", {STORE_NO_NODE, STORE_NO_NODE, STORE_OK}, {.version = 3, .czxid = 5}},
		{"lost", {STORE_UNKNOWN, STORE_OK, STORE_OK}, {.version = 3, .czxid = 5}},
		{"lost", {STORE_OK, STORE_UNKNOWN, STORE_OK}, {.version = 3, .czxid = 5}},
		{"lost", {STORE_OK, STORE_OK, STORE_UNKNOWN}, {0}},
	};

	join(1, "a");
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct store_reply of_record = record_reply(), then = of_stat(cases[i].then);

		puts(cases[i].what);
		if (cases[i].codes[0] != STORE_OK)
			of_record = failed(cases[i].codes[0]);
		then.code = cases[i].codes[2];
		asks("get! gangs/g", of_record);
		asks("list gangs/g", failed(cases[i].codes[1]));
		asks("exists gangs/g", then);
	}
	sees(NOBODY);
	asks(MAKE, ok());
}

/* A read behind a write sees all that was done before it. */
Test(gang_read, behind_a_lost_answer_a_confirmation_precedes_the_read)
{
	join(1, "a");
	sees(NOBODY);
	store.silent = true;
	asks(MAKE, failed(STORE_UNKNOWN));
	asks("check workers/me", ok());
	sees(OURS);
	idle();
	change();
	sees(OURS);
	idle();
}

Test(gang_read, the_oldest_are_the_first_in_any_order_of_the_names)
{
	join(3, "c");
	sees("0000000000000002-3-s-0000000000000009-b-0000000002", NODE("1", "9", "a", "1"));
	asks("check workers/me, check gangs/g v3, create+ gangs/g/" MADE("3", "7", "c"), ok());
	cr_expect_eq(n_told, 0);
}

Test(gang_read, where_our_registration_is_missing_it_is_confirmed_and_tried_again_in_a_moment)
{
	join(1, "a");
	sees(NOBODY);
	store.silent = true;
	asks(MAKE, failed_at(STORE_NO_NODE, 0));
	asks("check workers/me", ok());
	idle();
	pass(RETRY_MS - 1);
	idle();
	pass(1);
	sees(NOBODY);
	asks(MAKE, ok());
}

Test(gang_read, what_is_no_gang_is_refused)
{
	join(1, "a");
	asks("get! gangs/g", holds("junk", 4, gang_stat()));
	asks("list gangs/g", names(NULL));
	asks("exists gangs/g", of_stat(gang_stat()));
	answered(PARTY_FAILED, "there is something else in the gang's place");
	idle();
	join(1, "a");
	asks("get! gangs/g", failed(STORE_NO_AUTH));
	asks("list gangs/g", failed(STORE_NO_AUTH));
	asks("exists gangs/g", failed(STORE_NO_AUTH));
	answered(PARTY_FAILED, "refused by the ZooKeeper server");
	idle();
}

Test(gang_read, a_request_that_is_refused_is_told_once_the_gang_is_read)
{
	join(1, "a");
	sees(NOBODY);
	asks(MAKE, failed_at(STORE_FULL, 2));
	cr_expect_eq(n_told, 0);
	sees(NOBODY);
	answered(PARTY_FAILED, FULL);
	idle();
}

/* --- who watches whom ----------------------------------------------------------------------------------- */

static struct store_reply member_stat(void)
{
	return of_stat((struct store_stat){.owner = 9});
}

/* Runs a gang of three, of which we are the first. */
static void run_three(bool goes_on)
{
	runs(goes_on);
	record.n = 3;
	record.count = 3;
	record.members[2] = record.members[1];
	record.members[2].id = 3;
	strcpy(record.members[2].key, "c");
	gangs_attach(&gangs, &owner, "g", 1, on_answer, &owner);
}

Test(gang_read, each_watches_the_next_that_another_sidecar_has)
{
	static const char *const next = NODE("2", "9", "b", "1"), *const last =
									  NODE("3", "9", "c", "2");

	run_three(false);
	sees(OURS, next, last);
	asks("exists! gangs/g/" NODE("2", "9", "b", "1"), member_stat());
	answered(PARTY_OPENED, NULL);
	change(); /* it has that watch already */
	sees(OURS, next, last);
	idle();
	change(); /* in order */
	sees(OURS, LEFT("2"), last);
	asks("exists! gangs/g/" NODE("3", "9", "c", "2"), member_stat());
	idle();
	change();
	sees(OURS, LEFT("2"), LEFT("3"));
	idle();
}

Test(gang_read, one_that_went_before_it_was_watched_is_looked_for)
{
	run_three(false);
	sees(OURS, NODE("2", "9", "b", "1"), NODE("3", "9", "c", "2"));
	asks("exists! gangs/g/" NODE("2", "9", "b", "1"), failed(STORE_NO_NODE));
	sees(OURS, NODE("3", "9", "c", "2"));
	asks("check workers/me, set gangs/g v3, check gangs/g/" OURS, ok());
	asks("exists! gangs/g/" NODE("3", "9", "c", "2"), member_stat());
	sees(OURS, NODE("3", "9", "c", "2"));
}

Test(gang_read, the_next_one_of_our_own_is_not_watched)
{
	run_three(false);
	sees(OURS, NODE("2", "7", "b", "1"), NODE("3", "9", "c", "2"));
	gangs_attach(&gangs, &owner, "g", 2, on_answer, &owner);
	n_told = 0;
	sees(OURS, NODE("2", "7", "b", "1"), NODE("3", "9", "c", "2"));
	asks("exists! gangs/g/" NODE("3", "9", "c", "2"), member_stat()); /* by its neighbour */
	idle();
}

Test(gang_read, where_the_others_go_on_nobody_is_watched_or_noted_as_lost)
{
	run_three(true);
	sees(KEEPER("1", "7", "a", "0"), KEEPER("3", "9", "c", "2"));
	answered(PARTY_OPENED, NULL);
	idle();
}

Test(gang_read, that_one_was_lost_is_noted_once)
{
	struct gang_record r;
	const char *why;

	run_three(false);
	sees(OURS, LEFT("2"), NODE("3", "9", "c", "2"));
	asks("exists! gangs/g/" NODE("3", "9", "c", "2"), member_stat());
	idle(); /* it has left in order */
	fires(STORE_NODE_DELETED, "gangs/g/" NODE("3", "9", "c", "2"));
	sees(OURS, LEFT("2"));
	asks("check workers/me, set gangs/g v3, check gangs/g/" OURS, ok());
	cr_assert_eq(record_parse_gang(store.last.data, store.last.len, &r, &why), 0);
	cr_expect(r.lost && r.n == 3 && r.instance == 1);
	record.lost = true;
	sees(OURS, LEFT("2"), NODE("3", "9", "c", "5"));
	idle();
}

Test(gang_read, a_watch_whose_answer_is_lost_is_set_again)
{
	run_three(false);
	for (int i = 0; i < 2; i++) {
		sees(OURS, NODE("2", "9", "b", "1"), NODE("3", "9", "c", "2"));
		asks("exists! gangs/g/" NODE("2", "9", "b", "1"), failed(STORE_UNKNOWN));
	}
}

Test(gang_read, a_gang_that_ran_is_not_made_again)
{
	run_three(false);
	sees(OURS);
	asks("check workers/me, set gangs/g v3, check gangs/g/" OURS, ok());
	sees_none(true);
	idle();
}

/* --- its end -------------------------------------------------------------------------------------------- */

Test(gang_read, where_others_wait_a_gang_without_members_stays)
{
	struct gang_record r;
	const char *why;

	runs(false);
	join(3, "c");
	sees(LEFT("1"), LEFT("2"), NODE("4", "9", "d", "3"));
	asks("check workers/me, delete gangs/g/" LEFT("1") ", delete gangs/g/" LEFT(
		     "2") ", set gangs/g v3",
	     ok());
	cr_assert_eq(record_parse_gang(store.last.data, store.last.len, &r, &why), 0);
	cr_expect(r.n == 0 && r.count == 2);
}

Test(gang_read, of_several_one_takes_it_away)
{
	runs(false);
	join(3, "c");
	sees(LEFT("1"), LEFT("2"));
	join(4, "d");
	asks("check workers/me, delete gangs/g/" LEFT("1") ", delete gangs/g/" LEFT(
		     "2") ", delete gangs/g v3",
	     failed(STORE_UNKNOWN));
	sees(LEFT("1"), LEFT("2"));
	asks("check workers/me, delete gangs/g/" LEFT("1") ", delete gangs/g/" LEFT(
		     "2") ", delete gangs/g v3",
	     ok());
	sees_none(true);
}

Test(gang_read, what_belongs_to_others_stays_with_its_folder)
{
	runs(false);
	join(3, "c");
	sees(LEFT("1"), LEFT("2"), "else");
	asks("check workers/me, delete gangs/g/" LEFT("1") ", delete gangs/g/" LEFT(
		     "2") ", set gangs/g v3",
	     ok());
}

Test(gang_read, it_is_tried_so_often_to_take_it_away)
{
	runs(false);
	join(3, "c");
	for (int i = 0; i < DISSOLVES; i++) {
		sees(LEFT("1"), LEFT("2"));
		asks("check workers/me, delete gangs/g/" LEFT("1") ", delete gangs/g/" LEFT(
			     "2") ", delete gangs/g v3",
		     failed_at(STORE_NO_AUTH, 1));
	}
	sees(LEFT("1"), LEFT("2"));
	idle();
}

Test(gang_read, without_a_registration_that_is_confirmed_first)
{
	runs(false);
	join(3, "c");
	sees(LEFT("1"), LEFT("2"));
	store.silent = true;
	asks("check workers/me, delete gangs/g/" LEFT("1") ", delete gangs/g/" LEFT(
		     "2") ", delete gangs/g v3",
	     failed_at(STORE_NO_NODE, 0));
	asks("check workers/me", ok());
	idle();
	pass(RETRY_MS);
	sees(LEFT("1"), LEFT("2"));
}

/* Others came and went while it was read: since when nobody is there is not known. */
Test(gang_read, a_gang_is_dead_by_what_was_noted_unless_somebody_came_since)
{
	struct store_stat later = gang_stat();

	runs(false);
	record.lost = true;
	later.pzxid = 7;
	join(3, "c");
	for (int noted = 0; noted < 2; noted++) {
		record.empty = noted ? 6 : 0;
		asks("get! gangs/g", record_reply());
		asks("list gangs/g", names(LEFT("1"), NULL));
		asks("exists gangs/g", of_stat(later));
		idle();
		pass(1000);
	}
	sees(LEFT("1"));
	asks("check workers/me, delete gangs/g/" LEFT("1") ", delete gangs/g v3", ok());
}
