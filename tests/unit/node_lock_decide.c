/* Steps of a lock, as they follow from each answer of ZooKeeper. */
#include "lock_site.h"

#define MINE	    "0000000000000007-" ID "-"
#define THEIR	    "0000000000000008-" OTHER "-"
#define MAKE	    "check workers/me, create+ locks/l/" MINE
#define MAKE_FOLDER "check workers/me, create locks/l"
#define OWN	    "locks/l/" MINE "0000000005"
#define REFUSED	    "refused by the ZooKeeper server: see the sidecar's log"
#define FULL	    "a quota of ZooKeeper is used up: raise it with setquota, or make room"
#define RETRY_MS    100

static int n_done;

static void on_done(void *arg)
{
	cr_expect_eq(arg, &owner);
	n_done++;
}

TestSuite(lock_decide, .init = begin_locks);

static void take(int64_t slots, bool again)
{
	const struct lock_request q = {.owner = &owner,
				       .name = "l",
				       .id = ID,
				       .command = "true",
				       .pid = 9,
				       .slots = slots,
				       .wait_ms = -1,
				       .again = again};

	n_told = n_released = 0;
	locks_take(&locks, &q, on_answer, &owner);
}

static void attach(void)
{
	n_told = n_released = 0;
	locks_attach(&locks, &owner, "l", ID, on_answer, &owner);
}

/* The answers to a first try. */
static void enters(struct store_reply made, struct store_reply list, struct store_reply folder)
{
	asks(MAKE, made);
	asks("list locks/l", list);
	asks("get locks/l", folder);
}

/* The answers to a look for a node that may be there. */
static void looks(struct store_reply list, struct store_reply folder)
{
	asks("list locks/l", list);
	asks("get locks/l", folder);
}

static struct store_reply alone(void)
{
	return names(MINE "0000000005", NULL);
}

static struct store_reply missing(void)
{
	return failed_at(STORE_NO_NODE, 1);
}

#define answered(outcome, why) is_answered(outcome, why, __LINE__)
static void is_answered(enum lock_outcome outcome, const char *why, int line)
{
	idle();
	cr_expect_eq(n_told, 1, "line %d: %d answers", line, n_told);
	cr_expect_eq(told.outcome, outcome, "line %d: outcome %d", line, told.outcome);
	if (why)
		cr_expect_str_eq(told.why, why, "line %d: %s", line, told.why);
	cr_expect_eq(n_released, outcome != LOCK_YOURS, "line %d", line);
	n_told = 0;
}

/* We hold it. */
static void hold(int64_t n)
{
	take(n, false);
	enters(ok(), alone(), slots(n));
	asks("exists! " OWN, ours());
	answered(LOCK_YOURS, NULL);
}

/* We wait behind one that holds the only slot. */
static void wait_for_one(void)
{
	take(1, false);
	enters(ok(), names(THEIR "0000000004", MINE "0000000005", NULL), slots(1));
	asks("list! locks/l/" THEIR "0000000004", names(NULL));
	idle();
	cr_assert_eq(n_told, 0);
}

static int64_t renew(void)
{
	return locks_renew(&locks, &owner, told.number);
}

Test(lock_decide, a_command_goes_on_while_the_connection_is_lost)
{
	hold(1);
	renews_over_a_cut(renew);
}

/* --- entering ------------------------------------------------------------------------------------------ */

Test(lock_decide, whoever_may_not_enter_is_refused_and_told_why)
{
	static const struct {
		enum store_code code;
		const char *why;
	} cases[] = {{STORE_NO_AUTH, REFUSED}, {STORE_FAILED, REFUSED}, {STORE_FULL, FULL}};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		const struct store_reply no = failed(cases[i].code);

		printf("code %d\n", cases[i].code);
		take(1, false);
		enters(no, names(NULL), slots(1));
		answered(LOCK_REFUSED, cases[i].why);

		take(1, true); /* its node may be there: it is looked for once more, and left */
		looks(no, slots(1));
		asks("list locks/l", no);
		answered(LOCK_REFUSED, cases[i].why);

		take(1, false);
		enters(ok(), alone(), no);
		asks("delete " OWN, ok());
		answered(LOCK_REFUSED, cases[i].why);

		take(1, false); /* the folder of this lock may not be made */
		enters(missing(), failed(STORE_NO_NODE), failed(STORE_NO_NODE));
		asks("create locks", failed(STORE_NODE_EXISTS));
		asks(MAKE_FOLDER, no);
		enters(missing(), failed(STORE_NO_NODE), failed(STORE_NO_NODE));
		answered(LOCK_REFUSED, cases[i].why);

		take(1, false); /* that of all locks is not there, and may not be made */
		enters(missing(), failed(STORE_NO_NODE), failed(STORE_NO_NODE));
		asks("create locks", no);
		asks(MAKE_FOLDER, missing());
		enters(missing(), failed(STORE_NO_NODE), failed(STORE_NO_NODE));
		answered(LOCK_REFUSED, cases[i].why);
	}
}

/* The folder may be there although we may not make it. */
Test(lock_decide, a_folder_of_all_locks_that_may_not_be_made_is_none_the_worse_if_it_is_there)
{
	take(1, false);
	enters(missing(), failed(STORE_NO_NODE), failed(STORE_NO_NODE));
	asks("create locks", failed(STORE_NO_AUTH));
	asks(MAKE_FOLDER, ok());
	enters(ok(), alone(), slots(1));
	asks("exists! " OWN, ours());
	answered(LOCK_YOURS, NULL);
	cr_expect_eq(told.token, 77);
}

Test(lock_decide, a_folder_that_others_sweep_as_it_is_made_is_made_again_in_a_moment)
{
	take(1, false);
	enters(missing(), failed(STORE_NO_NODE), failed(STORE_NO_NODE));
	for (int i = 0; i < 2; i++) {
		asks("create locks", failed(STORE_NODE_EXISTS));
		asks(MAKE_FOLDER, ok());
		enters(missing(), failed(STORE_NO_NODE), failed(STORE_NO_NODE));
		idle();
		pass(RETRY_MS - 1);
		idle();
		pass(1);
	}
	asks("create locks", failed(STORE_NODE_EXISTS));
	asks(MAKE_FOLDER, ok());
	enters(ok(), alone(), slots(1));
	asks("exists! " OWN, ours());
	answered(LOCK_YOURS, NULL);
}

Test(lock_decide, where_our_registration_is_missing_it_is_confirmed_and_the_lock_made_in_a_moment)
{
	take(1, false);
	script_confirm();
	store.silent = true;
	enters(failed_at(STORE_NO_NODE, 0), names(NULL), slots(1));
	asks("check workers/me", ok());
	idle();
	pass(RETRY_MS - 1);
	idle();
	pass(1);
	enters(ok(), alone(), slots(1));
	asks("exists! " OWN, ours());
	cr_expect_eq(n_told, 1);
}

/* Whether it was made is found out by its name. */
Test(lock_decide, a_node_whose_making_is_unknown_is_looked_for_before_another_is_made)
{
	take(1, false);
	script_confirm();
	store.silent = true;
	enters(failed(STORE_UNKNOWN), names(NULL), slots(1));
	asks("check workers/me", ok()); /* what is read behind it is as new */
	looks(names(NULL), slots(1));
	enters(ok(), alone(), slots(1)); /* it is not there: it never will be */
	asks("exists! " OWN, ours());
	cr_expect_eq(n_told, 1);
}

Test(lock_decide, one_that_was_made_and_is_not_in_the_list_is_made_anew_in_a_moment)
{
	take(1, false);
	enters(ok(), names(THEIR "0000000004", NULL), slots(1));
	idle();
	pass(RETRY_MS - 1);
	idle();
	pass(1);
	enters(ok(), alone(), slots(1));
}

Test(lock_decide, what_a_client_comes_back_for_is_not_made)
{
	attach();
	looks(names(THEIR "0000000004", NULL), slots(1));
	asks("list locks/l", names(THEIR "0000000004", NULL));
	answered(LOCK_NOT_THERE, NULL);
}

Test(lock_decide, what_a_client_comes_back_for_goes_on_as_we_are_being_stopped)
{
	locks_stop(&locks);
	attach();
	looks(alone(), slots(1));
	asks("exists! " OWN, ours());
	answered(LOCK_YOURS, NULL);
	cr_expect_eq(locks_going(&locks), 1);
}

Test(lock_decide, a_lost_answer_of_an_attach_is_asked_for_again)
{
	attach();
	looks(failed(STORE_UNKNOWN), slots(1));
	looks(alone(), failed(STORE_UNKNOWN));
	looks(alone(), slots(1));
	asks("exists! " OWN, ours());
	answered(LOCK_YOURS, NULL);
}

Test(lock_decide, what_is_no_lock_is_refused)
{
	static const char foreign[] = "there is something else in the lock's place";

	take(1, false);
	enters(ok(), alone(), holds("junk", 4, (struct store_stat){0}));
	asks("delete " OWN, ok());
	answered(LOCK_REFUSED, foreign);
	take(1, false);
	enters(ok(), alone(), failed(STORE_NO_NODE));
	asks("delete " OWN, ok());
	answered(LOCK_REFUSED, foreign);
}

/* --- another number of slots ----------------------------------------------------------------------------- */

#define FIRST "locks/l/" THEIR "0000000004"
#define LAST  "locks/l/" THEIR "0000000006"
#define RESET \
	"check workers/me, delete " OWN ", delete locks/l, create locks/l, create+ locks/l/" MINE

static struct store_reply behind_one(void)
{
	return names(THEIR "0000000004", MINE "0000000005", THEIR "0000000006", NULL);
}

static struct store_reply before_one(void)
{
	return names(THEIR "0000000006", MINE "0000000005", NULL);
}

Test(lock_decide, a_lock_that_nobody_uses_is_made_anew_with_our_number)
{
	take(1, false);
	enters(ok(), alone(), slots(2));
	asks(RESET, ok());
	looks(names(MINE "0000000000", NULL), slots(1));
	asks("exists! locks/l/" MINE "0000000000", ours());
	answered(LOCK_YOURS, NULL);
}

Test(lock_decide, a_lock_that_others_use_keeps_its_number)
{
	const struct store_reply said[] = {came_with(2), locker(false),
					   holds("junk", 4, (struct store_stat){0})};

	for (size_t i = 0; i < sizeof(said) / sizeof(said[0]); i++) {
		take(1, false);
		enters(ok(), i == 0 ? behind_one() : before_one(), slots(2));
		asks(i == 0 ? "get " FIRST : "get " LAST, said[i]);
		asks("delete " OWN, ok());
		answered(LOCK_OTHER_SLOTS, NULL);
		cr_expect_eq(told.slots, 2);
	}
	take(1, false);
	enters(ok(), names("else", MINE "0000000005", NULL), slots(2));
	asks("delete " OWN, ok());
	answered(LOCK_OTHER_SLOTS, NULL);
}

/* Whoever has come as we have goes aside for the first. */
Test(lock_decide, of_those_that_come_with_another_number_the_first_makes_it_anew)
{
	take(1, false);
	enters(ok(), before_one(), slots(2));
	asks("get " LAST, came_with(1));
	idle();
	pass(RETRY_MS);
	looks(before_one(), slots(2));
	asks("get " LAST, failed(STORE_NO_NODE)); /* it has gone */
	looks(alone(), slots(2));
	asks(RESET, ok());
	looks(alone(), slots(1));
	asks("exists! " OWN, ours());
	answered(LOCK_YOURS, NULL);
}

Test(lock_decide, who_came_behind_it_goes_aside_and_comes_again)
{
	take(1, false);
	enters(ok(), behind_one(), slots(2));
	asks("get " FIRST, came_with(3));
	asks("delete " OWN, failed(STORE_UNKNOWN));
	asks("delete " OWN, failed(STORE_NO_NODE));
	idle();
	pass(RETRY_MS);
	enters(ok(), behind_one(), slots(3));
	asks("get " FIRST, came_with(3));
	asks("delete " OWN, ok());
	answered(LOCK_OTHER_SLOTS, NULL);
	cr_expect_eq(told.slots, 3);
}

Test(lock_decide, somebody_comes_while_the_lock_is_made_anew)
{
	take(1, false);
	enters(ok(), alone(), slots(2));
	asks(RESET, failed_at(STORE_FAILED, 2));
	idle();
	pass(RETRY_MS);
	looks(before_one(), slots(2));
	asks("get " LAST, came_with(2));
	asks("delete " OWN, ok());
	answered(LOCK_OTHER_SLOTS, NULL);
}

Test(lock_decide, whether_a_lock_was_made_anew_is_looked_for)
{
	take(1, false);
	enters(ok(), alone(), slots(2));
	asks(RESET, failed(STORE_UNKNOWN));
	looks(alone(), slots(2));
	asks(RESET, failed_at(STORE_NO_NODE, 1));
	idle();
	pass(RETRY_MS);
	looks(names(NULL), slots(2)); /* it was deleted by hand */
	enters(ok(), alone(), slots(2));
	asks(RESET, failed_at(STORE_NO_AUTH, 2));
	asks("list locks/l", alone());
	asks("delete " OWN, ok());
	answered(LOCK_REFUSED, REFUSED);
}

Test(lock_decide, a_client_that_goes_while_the_lock_is_made_anew_leaves_nothing)
{
	take(1, false);
	enters(ok(), alone(), slots(2));
	pass(0);
	script_confirm();
	locks_owner_gone(&locks, &owner);
	asks(RESET, ok());
	asks("list locks/l", names(MINE "0000000000", NULL));
	asks("delete locks/l/" MINE "0000000000", ok());
	idle();
	cr_expect_eq(locks.n, 0);
}

/* Its node is read again as somebody has written it, and that is not answered. */
Test(lock_decide, the_token_is_that_of_the_node_whatever_is_not_answered)
{
	int64_t deadline_ms = session.lease.deadline_ms;

	take(2, false);
	enters(ok(), alone(), slots(2));
	session.lease.deadline_ms = 0; /* who has asked is told once there is a lease */
	asks("exists! " OWN, ours());
	cr_expect_eq(n_told, 0);
	fires(STORE_NODE_CHANGED, OWN);
	asks("exists! " OWN, failed(STORE_UNKNOWN));
	session.lease.deadline_ms = deadline_ms;
	locks_leased(&locks);
	cr_expect_eq(n_told, 1);
	cr_expect_eq(told.token, 77);
}

/* --- whose turn it is ---------------------------------------------------------------------------------- */

/* A list of nodes with numbers 1 to n, of which number `own` is ours. */
static struct store_reply listed(size_t n, size_t own)
{
	static char texts[8][LOCK_NODE_MAX + 24], *list[8];

	for (size_t i = 0; i < n; i++) {
		snprintf(texts[i], sizeof(texts[i]), "%s%010zu", i + 1 == own ? MINE : THEIR,
			 i + 1);
		list[i] = texts[i];
	}
	return (struct store_reply){.code = STORE_OK, .failed_op = -1, .names = list, .n_names = n};
}

Test(lock_decide, so_many_hold_it_as_it_has_slots_and_who_may_be_watched_is_told)
{
	static const struct {
		const char *what;
		int64_t slots;
		size_t n, own;
		const char *then;
		bool tells;
	} cases[] = {
		{"alone", 1, 1, 1, "exists! ", false},
		{"the first", 1, 3, 1, "exists! ", false}, /* others watch its end */
		{"the last of two", 2, 2, 2, "exists! ", false},
		{"with one behind it", 2, 3, 2, "exists! ", true}, /* which watches it */
		{"the second of one", 1, 2, 2, "list! locks/l/" THEIR "0000000001", false},
		{"the third of one", 1, 3, 3, "list! locks/l/" THEIR "0000000002", false},
		{"the first that waits", 2, 3, 3, "list! locks/l", false},
		{"the next that waits", 2, 4, 4, "get! locks/l/" THEIR "0000000003", false},
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		char text[200];
		bool waits = strcmp(cases[i].then, "exists! ") != 0;

		puts(cases[i].what);
		take(cases[i].slots, false);
		enters(ok(), listed(cases[i].n, cases[i].own), slots(cases[i].slots));
		snprintf(text, sizeof(text), waits ? "%s" : "%slocks/l/%s%010zu", cases[i].then,
			 MINE, cases[i].own);
		asks(text, waits ? listed(cases[i].n, cases[i].own) : ours());
		snprintf(text, sizeof(text), "set locks/l/%s%010zu", MINE, cases[i].own);
		if (cases[i].tells) {
			asks(text, ok());
			/* That has used up the watch of its node. */
			snprintf(text, sizeof(text), "exists! locks/l/%s%010zu", MINE,
				 cases[i].own);
			asks(text, ours());
		}
		idle();
		cr_expect_eq(n_told, !waits, "%s", cases[i].what);
		locks_owner_gone(&locks, &owner);
		pass(TIMEOUT_MS); /* its command is dead */
		snprintf(text, sizeof(text), "delete locks/l/%s%010zu", MINE, cases[i].own);
		asks(text, ok());
		idle();
	}
}

Test(lock_decide, the_first_that_waits_watches_the_folder_with_a_list_that_is_looked_at)
{
	take(2, false);
	enters(ok(), listed(3, 3), slots(2));
	asks("list! locks/l", listed(4, 4)); /* one more is before it, if it was made anew */
	asks("get! locks/l/" THEIR "0000000003", locker(true)); /* and that holds by now */
	asks("list! locks/l", names(THEIR "0000000002", MINE "0000000004", NULL));
	asks("exists! locks/l/" MINE "0000000004", ours());
	asks("set locks/l/" MINE "0000000004", ok());
	asks("exists! locks/l/" MINE "0000000004", ours());
	answered(LOCK_YOURS, NULL);
}

Test(lock_decide, the_first_that_waits_watches_anew_after_each_change)
{
	take(2, false);
	enters(ok(), listed(3, 3), slots(2));
	asks("list! locks/l", listed(3, 3));
	for (int i = 0; i < 2; i++) {
		idle();
		fires(STORE_CHILDREN_CHANGED, "locks/l");
		asks("list locks/l", listed(4, 3)); /* one came behind it */
		asks("list! locks/l", listed(4, 3));
	}
	idle();
}

/* A place in the line is not given up. */
Test(lock_decide, who_waits_is_not_refused_where_the_session_is_lost_for_long)
{
	wait_for_one();
	session.state = SESSION_CONNECTING;
	pass(10 * SESSION_PATIENCE_MS);
	cr_expect_eq(n_told, 0);
}

Test(lock_decide, of_several_slots_one_before_that_waits_is_left_alone)
{
	take(2, false);
	enters(ok(), listed(4, 4), slots(2));
	asks("get! locks/l/" THEIR "0000000003", locker(false));
	idle();
	fires(STORE_NODE_CHANGED, "locks/l/" THEIR "0000000003");
	asks("list locks/l", listed(4, 4));
	asks("get! locks/l/" THEIR "0000000003", locker(true));
	asks("list! locks/l", listed(3, 3));
	idle();
}

Test(lock_decide, the_one_before_us_that_went_before_it_was_watched_is_followed_by_a_look)
{
	static const enum store_code codes[] = {STORE_NO_NODE, STORE_UNKNOWN};

	for (size_t i = 0; i < 2; i++) {
		take(1, false);
		enters(ok(), names(THEIR "0000000004", MINE "0000000005", NULL), slots(1));
		asks("list! locks/l/" THEIR "0000000004", failed(codes[i]));
		asks("list locks/l", alone());
		asks("exists! " OWN, ours());
		asks("set " OWN, ok()); /* for people: it had to wait */
		asks("exists! " OWN, ours());
		answered(LOCK_YOURS, NULL);
		cr_assert(locks_finish(&locks, &owner, told.number, on_done, &owner));
		asks("delete " OWN, ok());
	}
	cr_expect_eq(n_done, 2);
}

Test(lock_decide, who_waits_and_may_not_read_any_more_is_refused)
{
	wait_for_one();
	fires(STORE_NODE_DELETED, "locks/l/" THEIR "0000000004");
	asks("list locks/l", failed(STORE_NO_AUTH));
	asks("delete " OWN, ok());
	answered(LOCK_REFUSED, REFUSED);

	take(1, false);
	enters(ok(), names(THEIR "0000000004", MINE "0000000005", NULL), slots(1));
	asks("list! locks/l/" THEIR "0000000004", failed(STORE_NO_AUTH));
	asks("delete " OWN, ok());
	answered(LOCK_REFUSED, REFUSED);

	take(1, false);
	enters(ok(), alone(), slots(1));
	asks("exists! " OWN, failed(STORE_FULL));
	asks("delete " OWN, ok());
	answered(LOCK_REFUSED, FULL);
}

Test(lock_decide, a_list_whose_answer_is_lost_is_asked_for_again)
{
	wait_for_one();
	fires(STORE_NODE_DELETED, "locks/l/" THEIR "0000000004");
	asks("list locks/l", failed(STORE_UNKNOWN));
	asks("list locks/l", alone());
	asks("exists! " OWN, failed(STORE_UNKNOWN));
	asks("exists! " OWN, ours());
	asks("set " OWN, failed(STORE_UNKNOWN));
	asks("set " OWN, ok());
	asks("exists! " OWN, ours());
	answered(LOCK_YOURS, NULL);
}

Test(lock_decide, who_waited_and_is_not_there_any_more_is_at_the_end_of_the_line)
{
	wait_for_one();
	fires(STORE_NODE_DELETED, "locks/l/" THEIR "0000000004");
	asks("list locks/l", names(THEIR "0000000006", NULL));
	enters(ok(), names(THEIR "0000000006", MINE "0000000007", NULL), slots(1));
	asks("list! locks/l/" THEIR "0000000006", names(NULL));
	idle();
	cr_expect_eq(n_told, 0);
}

/* A locker that gets no watch looks again by time, as after an event. */
Test(lock_decide, without_a_watch_the_line_and_what_is_held_are_looked_at_by_time)
{
	session.watches.limit = 0;
	take(1, false);
	enters(ok(), names(THEIR "0000000004", MINE "0000000005", NULL), slots(1));
	asks("list locks/l/" THEIR "0000000004", names(NULL));
	pass(WATCH_LOOK_MS - 1);
	idle();
	pass(1);
	asks("list locks/l", names(THEIR "0000000004", MINE "0000000005", NULL));
	asks("list locks/l/" THEIR "0000000004", names(NULL));
	pass(WATCH_LOOK_MS);
	asks("list locks/l", alone());
	asks("exists " OWN, ours());
	asks("set " OWN, ok());
	asks("exists " OWN, ours());
	answered(LOCK_YOURS, NULL);
	pass(WATCH_LOOK_MS);
	asks("exists " OWN, ours());
	idle();
	cr_expect_gt(locks_renew(&locks, &owner, told.number), 0);
	pass(WATCH_LOOK_MS);
	asks("exists " OWN, failed(STORE_NO_NODE)); /* somebody has deleted it */
	cr_expect_eq(locks_renew(&locks, &owner, told.number), 0, "it is lost");
}

/* The write to our own node has used up the watch: it is set again. */
Test(lock_decide, one_that_had_to_wait_hears_that_its_node_is_deleted)
{
	wait_for_one();
	fires(STORE_NODE_DELETED, "locks/l/" THEIR "0000000004");
	asks("list locks/l", alone());
	asks("exists! " OWN, ours());
	fires(STORE_NODE_CHANGED, OWN);
	asks("set " OWN, ok());
	asks("exists! " OWN, ours());
	answered(LOCK_YOURS, NULL);
	fires(STORE_NODE_DELETED, OWN);
	cr_expect_eq(locks_renew(&locks, &owner, told.number), 0);
}

Test(lock_decide, who_has_gone_watches_nothing)
{
	wait_for_one();
	cr_assert_gt(session.watches.used[WATCH_RECIPE], 0);
	locks_owner_gone(&locks, &owner);
	asks("delete " OWN, ok());
	pass(1);
	cr_expect_eq(session.watches.used[WATCH_RECIPE], 0);
}

/*
 * A node with our name may be another session's, and one that was listed may have been deleted
 * since.
 */
Test(lock_decide, only_a_node_of_our_session_is_held)
{
	take(1, false);
	enters(ok(), alone(), slots(1));
	asks("exists! " OWN, of_stat((struct store_stat){.owner = SESSION + 1, .czxid = 78}));
	cr_expect_eq(n_told, 0);
	enters(ok(), alone(), slots(1));
	asks("exists! " OWN, failed(STORE_NO_NODE));
	cr_expect_eq(n_told, 0);
	enters(ok(), alone(), slots(1));
	asks("exists! " OWN, ours());
	answered(LOCK_YOURS, NULL);
}

/* --- leaving ------------------------------------------------------------------------------------------- */

Test(lock_decide, it_is_given_up_when_its_node_is_known_to_be_gone)
{
	hold(1);
	cr_assert(locks_finish(&locks, &owner, told.number, on_done, &owner));
	asks("delete " OWN, failed(STORE_UNKNOWN));
	cr_expect_eq(n_done, 0);
	asks("delete " OWN, failed(STORE_NO_NODE));
	cr_expect_eq(n_done, 1);
	cr_expect_eq(locks.n, 0);
	idle();
}

/* Nothing more can be done here: it ends with the session. */
Test(lock_decide, where_it_may_not_be_deleted_its_end_is_told_all_the_same)
{
	hold(1);
	cr_assert(locks_finish(&locks, &owner, told.number, on_done, &owner));
	asks("delete " OWN, failed(STORE_NO_AUTH));
	cr_expect_eq(n_done, 1);
	cr_expect_eq(locks.n, 0);
}

Test(lock_decide, a_client_that_goes_as_its_node_is_made_leaves_nothing)
{
	static const struct {
		enum store_code made;
		bool found; /* it is there */
		bool looks; /* it is looked for */
	} cases[] = {
		{STORE_OK, true, true},
		{STORE_UNKNOWN, true, true},
		{STORE_UNKNOWN, false, true},
		{STORE_FAILED, false, false},
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct store_reply there = cases[i].found ? alone() : ok();

		printf("case %zu\n", i);
		take(1, false);
		locks_owner_gone(&locks, &owner);
		enters(failed(cases[i].made), ok(), slots(1));
		if (cases[i].looks)
			asks("list locks/l", there);
		if (cases[i].found)
			asks("delete " OWN, ok());
		idle();
		cr_expect_eq(locks.n, 0);
	}
}

Test(lock_decide, a_look_for_it_whose_answer_is_lost_is_asked_for_again)
{
	take(1, true);
	locks_owner_gone(&locks, &owner);
	looks(names(NULL), slots(1));
	asks("list locks/l", failed(STORE_UNKNOWN));
	cr_expect_eq(locks.n, 1);
	asks("list locks/l", names(NULL));
	idle();
	cr_expect_eq(locks.n, 0);
}
