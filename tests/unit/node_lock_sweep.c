/* Leftovers of locks: empty folders, and nodes of our session that belong to nobody here. */
#include "lock_site.h"

#define OURS   "0000000000000007-" ID "-0000000005"    /* of our session */
#define OURS_2 "0000000000000007-" OTHER "-0000000006" /* likewise */
#define THEIRS "0000000000000008-" OTHER "-0000000007"
#define LOOKS  20   /* at folders, at a time */
#define LEASES 9000 /* that the sidecar before us promised */

/* Adds a worker to the fleet; the first by its id sweeps. */
static void joins_fleet(const char *id)
{
	joins(id, "1.0", 1)->worker->scheme = 1;
}

static void begin(void)
{
	begin_locks();
	joins_fleet("me");
}

TestSuite(lock_sweep, .init = begin);

/* This node is not the first, and sweeps only what is its own. */
static void be_second(void)
{
	joins_fleet("ahead");
}

/* The session was the one of the sidecar before us. */
static void take_over(void)
{
	session.taken_over = SESSION;
	session.granted_ms = LEASES;
	locks_up(&locks);
}

static void next_sweep(void)
{
	pass(LOCK_SWEEP_MS);
}

/* A client comes back for what it had from the sidecar before us. */
static void is_asked_for(const char *lock)
{
	locks_attach(&locks, &owner, lock, ID, on_answer, &owner);
	asks("list locks/a", names(OURS, NULL));
	asks("get locks/a", slots(1));
	asks("exists! locks/a/" OURS, ours());
	idle();
}

/* A list of n folders. */
static struct store_reply folders(size_t n)
{
	static char texts[LOOKS + 5][24], *list[LOOKS + 5];

	for (size_t i = 0; i < n; i++) {
		snprintf(texts[i], sizeof(texts[i]), "l%zu", i);
		list[i] = texts[i];
	}
	return (struct store_reply){.code = STORE_OK, .failed_op = -1, .names = list, .n_names = n};
}

/* --- empty folders ------------------------------------------------------------------------------------- */

Test(lock_sweep, the_first_of_the_fleet_deletes_empty_folders)
{
	joins_fleet("other");
	locks_up(&locks);
	next_sweep();
	asks("list locks", names("a", "not a name", "b", "c", NULL));
	asks("list locks/a", names(NULL));
	asks("list locks/b", names(THEIRS, NULL));
	asks("list locks/c", failed(STORE_NO_NODE));
	asks("delete locks/a", failed(STORE_FAILED));
	idle();
}

Test(lock_sweep, no_other_looks_at_them)
{
	be_second();
	locks_up(&locks);
	next_sweep();
	idle();
}

Test(lock_sweep, it_looks_at_regular_times)
{
	locks_up(&locks);
	pass(LOCK_SWEEP_MS - 1);
	idle();
	locks_up(&locks); /* a connection more does not put it off */
	pass(1);
	for (int i = 0; i < 2; i++) {
		asks("list locks", names(NULL));
		pass(LOCK_SWEEP_MS - 1);
		idle();
		pass(1);
	}
	asks("list locks", names(NULL));
}

Test(lock_sweep, one_sweep_ends_before_the_next_begins)
{
	locks_up(&locks);
	next_sweep();
	asks("list locks", names("a", NULL));
	next_sweep();
	asks("list locks/a", names(THEIRS, NULL));
	idle();
	next_sweep();
	asks("list locks", names(NULL));
	idle();
}

Test(lock_sweep, without_a_session_nothing_is_asked)
{
	locks_up(&locks);
	session.state = SESSION_CONNECTING;
	next_sweep();
	idle();
	session.state = SESSION_UP;
	next_sweep();
	asks("list locks", names("a", "b", NULL));
	session.state = SESSION_CONNECTING; /* what comes in behind it may be old */
	asks("list locks/a", names(NULL));
	asks("list locks/b", names(NULL));
	idle();
}

Test(lock_sweep, the_rest_of_a_sweep_is_given_up_with_the_connection)
{
	locks_up(&locks);
	next_sweep();
	asks("list locks", folders(LOOKS + 1));
	session.state = SESSION_CONNECTING;
	for (int i = 0; i < LOOKS; i++)
		script_answer(0, names(THEIRS, NULL));
	idle();
	session.state = SESSION_UP;
	next_sweep();
	asks("list locks", names(NULL));
}

Test(lock_sweep, so_many_folders_are_looked_at_at_a_time)
{
	locks_up(&locks);
	next_sweep();
	asks("list locks", folders(LOOKS + 5));
	for (size_t i = 0; i < LOOKS + 5; i++) {
		size_t left = LOOKS + 5 - i;
		cr_assert_eq(store.n_open, left < LOOKS ? left : LOOKS);
		script_answer(0, names(THEIRS, NULL));
	}
	idle();
}

/* --- what belongs to nobody ---------------------------------------------------------------------------- */

Test(lock_sweep, what_the_sidecar_before_us_had_goes_when_its_commands_are_dead)
{
	be_second();
	take_over();
	pass(LEASES - 1);
	idle();
	next_sweep();
	asks("list locks", names("a", "b", NULL));
	asks("list locks/a", names(OURS, THEIRS, "else", NULL));
	asks("list locks/b", names(NULL)); /* which the first deletes, and not we */
	asks("delete locks/a/" OURS, ok());
	idle();
}

/* At the first of the fleet, too, whose sweep comes before their end. */
Test(lock_sweep, it_stays_as_long_as_its_commands_may_live)
{
	session.taken_over = SESSION;
	session.granted_ms = 2 * LOCK_SWEEP_MS + 1;
	locks_up(&locks);
	next_sweep();
	asks("list locks", names("a", NULL));
	asks("list locks/a", names(THEIRS, NULL)); /* which says nothing of the other yet */
	next_sweep();
	asks("list locks", names("a", NULL));
	asks("list locks/a", names(OURS, NULL));
	idle();
	next_sweep();
	asks("list locks", names("a", NULL));
	asks("list locks/a", names(OURS, NULL));
	asks("delete locks/a/" OURS, ok());
	idle();
}

Test(lock_sweep, what_a_client_asks_for_stays)
{
	be_second();
	take_over();
	is_asked_for("a");
	next_sweep();
	asks("list locks", names("a", NULL));
	asks("list locks/a", names(OURS, OURS_2, NULL));
	asks("delete locks/a/" OURS_2, ok());
	idle();
}

Test(lock_sweep, it_is_looked_for_until_a_whole_sweep_finds_nothing_of_it)
{
	static const struct {
		const char *what;
		struct store_reply folders, folder;
	} again[] = {
		{"the folders were not listed", {.code = STORE_UNKNOWN}, {.code = STORE_OK}},
		{"a folder was not listed", {.code = STORE_OK}, {.code = STORE_UNKNOWN}},
		{"not allowed", {.code = STORE_OK}, {.code = STORE_NO_AUTH}},
	};

	be_second();
	take_over();
	for (size_t i = 0; i < sizeof(again) / sizeof(again[0]); i++) {
		puts(again[i].what);
		next_sweep();
		struct store_reply all = again[i].folders;
		if (all.code == STORE_OK)
			all = names("a", NULL);
		asks("list locks", all);
		if (all.code == STORE_OK)
			asks("list locks/a", again[i].folder);
		idle();
	}
	next_sweep();
	asks("list locks", names("a", NULL));
	asks("list locks/a", names(OURS, NULL));
	asks("delete locks/a/" OURS, failed(STORE_UNKNOWN)); /* was it deleted? */
	next_sweep();
	asks("list locks", names("a", NULL));
	asks("list locks/a", failed(STORE_NO_NODE));
	next_sweep();
	idle();
}

Test(lock_sweep, where_no_lock_ever_was_nothing_is_left)
{
	be_second();
	take_over();
	next_sweep();
	asks("list locks", failed(STORE_NO_NODE));
	next_sweep();
	idle();
}

/* A connection that goes in the middle of it: not all was seen. */
Test(lock_sweep, half_a_sweep_does_not_count)
{
	be_second();
	take_over();
	next_sweep();
	asks("list locks", folders(LOOKS + 1));
	session.state = SESSION_CONNECTING;
	for (int i = 0; i < LOOKS; i++)
		script_answer(0, names(THEIRS, NULL));
	session.state = SESSION_UP;
	next_sweep();
	asks("list locks", names(NULL));
}

/* A node that was made although its answer was lost, whose client has gone since. */
Test(lock_sweep, the_first_finds_nodes_of_its_own_that_nobody_has)
{
	locks_up(&locks);
	next_sweep();
	asks("list locks", names("a", NULL));
	asks("list locks/a", names(OURS, THEIRS, NULL));
	asks("delete locks/a/" OURS, ok());
	idle();
}

Test(lock_sweep, the_first_goes_on_with_that_behind_what_it_took_over)
{
	take_over();
	next_sweep();
	asks("list locks", names(NULL));
	next_sweep();
	asks("list locks", names("a", NULL));
	asks("list locks/a", names(OURS, NULL));
	asks("delete locks/a/" OURS, ok());
	idle();
}

/* --- since when, and until when ------------------------------------------------------------------------ */

Test(lock_sweep, a_session_of_our_own_has_nothing_to_recover)
{
	be_second();
	session.taken_over = SESSION + 1;
	session.granted_ms = LEASES;
	locks_up(&locks);
	next_sweep();
	idle();
}

/* Its guards can come once the session is confirmed: their time begins then, and only then. */
Test(lock_sweep, the_time_of_what_was_taken_over_begins_once_more_with_the_session)
{
	session.taken_over = SESSION;
	session.granted_ms = LOCK_SWEEP_MS;
	be_second();
	lock_sweep_take_over(&locks.sweep, LEASES);
	pass(LEASES / 2);
	locks_up(&locks);
	int64_t recover_ms = host.now_ms + LOCK_SWEEP_MS;
	cr_expect_eq(locks.sweep.former.until_ms, recover_ms);
	pass(1000);
	locks_up(&locks); /* the next connection changes nothing */
	cr_expect_eq(locks.sweep.former.until_ms, recover_ms);
	pass(LOCK_SWEEP_MS - 1000);
	asks("list locks", failed(STORE_NO_NODE));
}

Test(lock_sweep, what_the_ended_session_had_has_gone_with_it)
{
	be_second();
	take_over();
	locks_expired(&locks);
	next_sweep();
	idle();
}

Test(lock_sweep, an_answer_behind_the_end_is_of_no_interest)
{
	locks_up(&locks);
	next_sweep();
	asks("list locks", names("a", "b", NULL));
	locks_done(&locks);
	asks("list locks/a", names(NULL));
	asks("list locks/b", names(OURS, NULL));
	next_sweep();
	idle();
}
