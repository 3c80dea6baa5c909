/* Gangs without a member: what the first of the fleet takes away and notes, and what is left to us. */
#include "gang_site.h"

#define LEASES 25000 /* that the sidecar before us promised */

/* Adds a worker to the fleet; the first by its id sweeps. */
static void joins_fleet(const char *id)
{
	joins(id, "1.0", 1)->worker->scheme = 1;
}

static void begin(void)
{
	begin_gangs();
	joins_fleet("me");
}

TestSuite(gang_sweep, .init = begin);

static void be_second(void)
{
	joins_fleet("ahead");
}

static void take_over(int64_t leases_ms)
{
	session.taken_over = SESSION;
	session.granted_ms = leases_ms;
	parties_up(&gangs);
}

static void next_sweep(void)
{
	pass(GANG_SWEEP_MS);
}

/* --- when ---------------------------------------------------------------------------------------------- */

Test(gang_sweep, the_first_of_the_fleet_looks_at_regular_times)
{
	parties_up(&gangs);
	pass(GANG_SWEEP_MS - 1);
	idle();
	parties_up(&gangs); /* a connection more does not put it off */
	pass(1);
	for (int i = 0; i < 3; i++) {
		asks("list gangs", names(NULL));
		idle();
		next_sweep();
	}
	next_sweep(); /* not while one is not answered */
	asks("list gangs", failed(STORE_NO_NODE));
	idle();
}

Test(gang_sweep, no_other_does)
{
	be_second();
	parties_up(&gangs);
	next_sweep();
	idle();
}

Test(gang_sweep, nothing_is_asked_without_a_session_or_where_the_next_sidecar_takes_it_over)
{
	parties_up(&gangs);
	session.state = SESSION_CONNECTING;
	next_sweep();
	session.state = SESSION_UP;
	parties_keep(&gangs);
	next_sweep();
	idle();
}

/* Answers to requests of the previous connection are not waited for. */
Test(gang_sweep, a_list_that_is_lost_does_not_stop_the_sweeps)
{
	parties_up(&gangs);
	next_sweep();
	asks("list gangs", failed(STORE_UNKNOWN));
	next_sweep();
	asks("list gangs", failed(STORE_ABANDONED));
	next_sweep();
	idle();
	parties_up(&gangs);
	next_sweep();
	asks("list gangs", names(NULL));
}

/* --- what goes ----------------------------------------------------------------------------------------- */

Test(gang_sweep, what_is_over_or_never_began_goes)
{
	static const struct {
		const char *what;
		bool runs;
		const char *names[2], *request; /* NULL: it stays */
	} cases[] = {
		{"never begun", false, {NULL}, "check workers/me, delete gangs/g v3"},
		{"one waits", false, {NODE("1", "9", "a", "0")}, NULL},
		{"a hand's", false, {"else"}, NULL},
		{"all have left",
		 true,
		 {LEFT("1"), LEFT("2")},
		 "check workers/me, delete gangs/g/" LEFT("1") ", delete gangs/g/" LEFT(
			 "2") ", delete gangs/g v3"},
		{"one runs", true, {LEFT("1"), NODE("2", "9", "b", "1")}, NULL},
		{"one was lost", true, {LEFT("1")}, NULL}, /* which may come back */
	};

	parties_up(&gangs);
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		puts(cases[i].what);
		memset(&record, 0, sizeof(record));
		record.count = 2;
		if (cases[i].runs)
			runs(false);
		record.lost = cases[i].runs;
		next_sweep();
		asks("list gangs", names("g", "not a name", NULL));
		script_sees(false, names(cases[i].names[0], cases[i].names[1], NULL), __LINE__);
		if (cases[i].request) {
			asks(cases[i].request, ok());
			sees_none(false);
		}
		idle();
	}
}

Test(gang_sweep, what_is_not_understood_stays)
{
	parties_up(&gangs);
	next_sweep();
	asks("list gangs", names("g", NULL));
	asks("get gangs/g", holds("junk", 4, gang_stat()));
	asks("list gangs/g", names(NULL));
	asks("exists gangs/g", of_stat(gang_stat()));
	idle();
}

/* Whom it is about may have a sidecar that was started just now. */
Test(gang_sweep, that_a_gang_is_without_a_member_for_long_is_noted)
{
	struct gang_record r;
	const char *why;

	runs(false);
	record.lost = true;
	parties_up(&gangs);
	next_sweep();
	asks("list gangs", names("g", NULL));
	for (int64_t ms = 0; ms < GANG_DEAD_MS; ms += GANG_SWEEP_MS) {
		sweeps(LEFT("2"));
		idle();
		next_sweep();
		asks("list gangs", names("g", NULL));
	}
	sweeps(LEFT("2"));
	/* A node that was seen proves that it is the same gang. */
	asks("check workers/me, set gangs/g v3, check gangs/g/" LEFT("2"), ok());
	cr_assert_eq(record_parse_gang(store.last.data, store.last.len, &r, &why), 0);
	cr_expect_eq(r.empty, 6); /* for as long as nobody comes or goes */
	cr_expect(r.n == 2 && r.lost && r.instance == 1);
	record.empty = 6;
	sweeps(LEFT("2"));
	next_sweep();
	asks("list gangs", names("g", NULL));
	sweeps(LEFT("2"));
	idle();
}

Test(gang_sweep, where_there_was_no_node_none_is_proved)
{
	runs(false);
	record.lost = true;
	parties_up(&gangs);
	for (int64_t ms = 0; ms <= GANG_DEAD_MS; ms += GANG_SWEEP_MS) {
		next_sweep();
		asks("list gangs", names("g", NULL));
		sweeps(NOBODY);
	}
	asks("check workers/me, set gangs/g v3", ok());
}

/* Members of our own tell what is to be done. */
Test(gang_sweep, a_gang_with_a_member_here_is_not_swept)
{
	parties_up(&gangs);
	join(1, "a");
	sees(NOBODY);
	asks("check workers/me, check gangs/g v3, create+ gangs/g/" MADE("1", "7", "a"), ok());
	sees(NODE("1", "7", "a", "0"));
	next_sweep();
	asks("list gangs", names("g", NULL));
	idle();
}

/* --- what the sidecar before us left --------------------------------------------------------------------- */

Test(gang_sweep, nodes_of_our_session_without_a_client_go_when_the_leases_are_over)
{
	runs(true);
	be_second();
	take_over(LEASES);
	pass(LEASES - 1);
	idle();
	next_sweep();
	asks("list gangs", names("g", NULL));
	sweeps(KEEPER("1", "7", "a", "0"), KEEPER("2", "9", "b", "1"), NODE("3", "7", "c", "2"),
	       LEFT("4"));
	asks("check workers/me, check gangs/g, delete gangs/g/" KEEPER("1", "7", "a", "0"), ok());
	asks("check workers/me, check gangs/g v3, delete gangs/g/" NODE("3", "7", "c", "2"), ok());
	sees(KEEPER("2", "9", "b", "1"));
	cr_expect_eq(gangs.n_members, 0);
	next_sweep();
	idle(); /* once */
}

Test(gang_sweep, what_is_over_is_left_to_the_first_of_the_fleet)
{
	runs(false);
	be_second();
	take_over(LEASES);
	pass(LEASES + GANG_SWEEP_MS);
	asks("list gangs", names("g", NULL));
	sweeps(LEFT("1"), LEFT("2"));
	idle();
}

Test(gang_sweep, a_node_whose_client_has_come_back_stays)
{
	runs(true);
	be_second();
	take_over(LEASES);
	gangs_attach(&gangs, &owner, "g", 1, on_answer, &owner);
	sees(KEEPER("1", "7", "a", "0"), KEEPER("2", "9", "b", "1"));
	answered(PARTY_OPENED, NULL);
	pass(LEASES + GANG_SWEEP_MS);
	asks("list gangs", names("g", NULL));
	sees(KEEPER("1", "7", "a", "0"), KEEPER("2", "9", "b", "1"));
	idle();
}

Test(gang_sweep, they_are_looked_for_until_there_is_an_answer)
{
	be_second();
	take_over(GANG_SWEEP_MS);
	next_sweep();
	asks("list gangs", failed(STORE_UNKNOWN));
	next_sweep();
	asks("list gangs", failed(STORE_NO_AUTH));
	next_sweep();
	asks("list gangs", failed(STORE_NO_NODE));
	next_sweep();
	idle();
}

Test(gang_sweep, a_session_of_our_own_has_nothing_of_that)
{
	be_second();
	session.taken_over = SESSION + 1;
	session.granted_ms = LEASES;
	parties_up(&gangs);
	cr_expect_eq(parties_going(&gangs), 0);
	pass(LEASES + GANG_SWEEP_MS);
	idle();
}

/* Its clients can come once the session is confirmed: their time begins then, and only then. */
Test(gang_sweep, the_time_of_what_was_taken_over_begins_once_more_with_the_session)
{
	be_second();
	parties_take_over(&gangs, LEASES);
	pass(LEASES / 2);
	take_over(LEASES);
	int64_t recover_ms = host.now_ms + LEASES;
	cr_expect_eq(gangs.former.until_ms, recover_ms);
	pass(1000);
	parties_up(&gangs);
	cr_expect_eq(gangs.former.until_ms, recover_ms);
	parties_expired(&gangs);
	pass(2 * LEASES);
	idle();
}
