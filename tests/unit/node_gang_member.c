/* The next step of one member of a gang, by what is read of the gang. */
#include "gang_site.h"

#define IN_USE	     "a gang of that name runs"
#define KEY_IN_USE   "a member with that key is there"
#define REJOINING    "members of an earlier run wait for the others to come back"
#define OTHER_LOSS   "the others have another --on-loss"

#define MAKE(node)   "check workers/me, check gangs/g v3, create+ gangs/g/" node
#define UNMAKE(node) "check workers/me, check gangs/g v3, delete gangs/g/" node

TestSuite(gang_member, .init = begin_gangs);

/* --- waiting ------------------------------------------------------------------------------------------- */

Test(gang_member, its_node_is_made_under_the_record_that_does_not_have_it_and_says_where_it_is)
{
	struct gang_member_record m;
	const char *why;

	join(1, "a");
	sees(NOBODY);
	asks(MAKE(MADE("1", "7", "a")), ok());
	cr_assert_eq(record_parse_gang_member(store.last.data, store.last.len, &m, &why), 0);
	cr_expect_str_eq(m.node, "here:/s");
	cr_expect_str_eq(m.machine, "m1");
	cr_expect_str_eq(m.ip, "192.0.2.1");
	cr_expect_str_eq(m.hostname, "here");
	sees(NODE("1", "7", "a", "0"));
	idle();
}

/* The key is the node's name where the client says none. */
Test(gang_member, its_key_is_the_node_where_it_has_none)
{
	join(1, NULL);
	sees(NOBODY);
	asks(MAKE(MADE("1", "7", "here:%2Fs")), ok());
}

Test(gang_member, of_many_so_many_are_made_at_a_time)
{
	size_t made = 0;

	for (uint64_t i = 0; i < 120; i++) {
		char key[16];
		snprintf(key, sizeof(key), "k%d", (int)i);
		join_as(&(struct gang_request){
			.id = i + 1, .key = key, .count = 200, .timeout_ms = -1});
	}
	sees(NOBODY);
	for (; store.n_open > 0 && strstr(store.open[0].text, "create+"); made++)
		script_answer(0, failed(STORE_UNKNOWN));
	cr_expect_leq(made, 100);
	cr_expect_geq(made, 99);
	script_confirm();
	asks("get! gangs/g", record_reply());
}

/* Nothing has begun yet: the first that waits says how many, and what follows from a loss. */
Test(gang_member, the_first_that_waits_decides_the_count)
{
	static const struct {
		const char *what, *first;
		enum party_outcome outcome; /* STARTED: none */
		const char *why;
	} cases[] = {
		{"the same", NODE("1", "9", "a", "1"), PARTY_OPENED, NULL},
		{"a mark does not count", LEFT("1"), PARTY_OPENED, NULL},
		{"another count", "0000000000000001-3-s-0000000000000009-a-0000000001",
		 PARTY_OTHER_COUNT, NULL},
		{"another loss", KEEPER("1", "9", "a", "1"), PARTY_IN_USE, OTHER_LOSS},
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		puts(cases[i].what);
		join(2, "b");
		sees(cases[i].first);
		if (cases[i].outcome == PARTY_OPENED) {
			asks(MAKE(MADE("2", "7", "b")), ok());
			parties_owner_gone(&gangs, &owner);
			n_told = 0;
			sees(NOBODY);
			asks("check workers/me, delete gangs/g v3", ok());
			sees_none(false);
			continue;
		}
		answered(cases[i].outcome, cases[i].why);
		cr_expect_eq(told.count, i == 2 ? 3 : 0);
		idle();
	}
}

Test(gang_member, one_that_does_not_fit_any_more_takes_its_node_away_first)
{
	join(2, "b");
	sees(NOBODY);
	asks(MAKE(MADE("2", "7", "b")), ok());
	sees(KEEPER("1", "9", "a", "0"), NODE("2", "7", "b", "1"));
	asks(UNMAKE(NODE("2", "7", "b", "1")), ok());
	cr_expect_eq(n_told, 0);
	sees(KEEPER("1", "9", "a", "0"));
	answered(PARTY_IN_USE, OTHER_LOSS);
	cr_expect_eq(n_released, 1);
}

/* --- one with our key ---------------------------------------------------------------------------------- */

Test(gang_member, another_with_its_key_is_asked_whose_it_is)
{
	static const struct {
		const char *node, *machine;
		bool refused;
	} cases[] = {
		{"there:/s", "m1", true},
		{"here:/s", "m2", true},  /* of the same name elsewhere */
		{"here:/s", "m1", false}, /* of an earlier session of ours: it goes */
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		printf("case %zu\n", i);
		join(2, "a");
		sees(NODE("1", "9", "a", "0"));
		asks("get! gangs/g/" NODE("1", "9", "a", "0"),
		     member_of(cases[i].node, cases[i].machine));
		sees(NODE("1", "9", "a", "0"));
		idle();
		if (cases[i].refused) {
			answered(PARTY_IN_USE, KEY_IN_USE);
			continue;
		}
		cr_expect_eq(n_told, 0);
		fires(STORE_NODE_DELETED, "gangs/g/" NODE("1", "9", "a", "0"));
		sees(NOBODY);
		asks(MAKE(MADE("2", "7", "a")), ok());
	}
}

Test(gang_member, what_is_not_understood_is_another_node)
{
	join(2, "a");
	sees(NODE("1", "9", "a", "0"));
	asks("get! gangs/g/" NODE("1", "9", "a", "0"), holds("junk", 4, gang_stat()));
	sees(NODE("1", "9", "a", "0"));
	answered(PARTY_IN_USE, KEY_IN_USE);
}

Test(gang_member, one_that_has_gone_before_it_was_asked_is_looked_for_again)
{
	static const enum store_code codes[] = {STORE_NO_NODE, STORE_UNKNOWN};

	join(2, "a");
	for (size_t i = 0; i < 2; i++) {
		sees(NODE("1", "9", "a", "0"));
		asks("get! gangs/g/" NODE("1", "9", "a", "0"), failed(codes[i]));
	}
	sees(NOBODY);
	asks(MAKE(MADE("2", "7", "a")), ok());
	cr_expect_eq(n_told, 0);
}

/* Each could wait for the other. */
Test(gang_member, of_two_with_a_key_the_later_one_waits)
{
	join(2, "a");
	sees(NOBODY);
	asks(MAKE(MADE("2", "7", "a")), ok());
	sees(NODE("2", "7", "a", "0"), NODE("1", "9", "a", "1"));
	idle();
	cr_expect_eq(n_told, 0);
	fires(STORE_NODE_CHANGED, "gangs/g");
	sees(NODE("1", "9", "a", "0"), NODE("2", "7", "a", "1"));
	asks("get! gangs/g/" NODE("1", "9", "a", "0"), member_of("there:/s", "m1"));
	sees(NODE("1", "9", "a", "0"), NODE("2", "7", "a", "1"));
	asks(UNMAKE(NODE("2", "7", "a", "1")), ok());
	sees(NODE("1", "9", "a", "0"));
	answered(PARTY_IN_USE, KEY_IN_USE);
}

/* Members of the same sidecar: nobody has to be asked. */
Test(gang_member, one_of_our_own_with_that_key_is_there)
{
	join(1, "a");
	sees(NOBODY);
	asks(MAKE(MADE("1", "7", "a")), ok());
	sees(NODE("1", "7", "a", "0"));
	join(2, "a");
	sees(NODE("1", "7", "a", "0"));
	answered(PARTY_IN_USE, KEY_IN_USE);
	parties_owner_gone(&gangs, &owner); /* one that nobody asks for any more goes soon */
	n_told = 0;
	join(3, "a");
	sees(NODE("1", "7", "a", "0"));
	asks(UNMAKE(NODE("1", "7", "a", "0")), ok());
	sees(NOBODY);
	asks("check workers/me, delete gangs/g v3", failed(STORE_UNKNOWN));
	asks(MAKE(MADE("3", "7", "a")), ok());
	cr_expect_eq(n_told, 0);
}

Test(gang_member, of_one_that_is_followed_by_another_that_is_asked)
{
	join(2, "a");
	sees(NODE("1", "9", "a", "0"));
	asks("get! gangs/g/" NODE("1", "9", "a", "0"), member_of("here:/s", "m1"));
	sees(NODE("3", "8", "a", "1"));
	asks("get! gangs/g/" NODE("3", "8", "a", "1"), member_of("there:/s", "m1"));
	sees(NODE("3", "8", "a", "1"));
	answered(PARTY_IN_USE, KEY_IN_USE);
}

/* A member of the previous sidecar comes back soon, or its node goes. */
Test(gang_member, one_of_the_sidecar_before_us_is_waited_for)
{
	join(2, "a");
	sees(NODE("1", "7", "a", "0"));
	idle();
	pass(SESSION_PATIENCE_MS - 1);
	idle();
	cr_expect_eq(n_told, 0);
	pass(1);
	sees(NOBODY);
	asks(MAKE(MADE("2", "7", "a")), ok());
}

/* --- a gang runs --------------------------------------------------------------------------------------- */

/* The other one runs; we are not in the record. */
static const struct {
	const char *what, *key;
	bool goes_on, asks_goes_on;
	unsigned count;
	const char *names[2], *request; /* NULL: it is refused */
	enum party_outcome outcome;
	const char *why;
} comers[] = {
	{"a stranger",
	 "c",
	 false,
	 false,
	 2,
	 {NODE("1", "9", "a", "0")},
	 NULL,
	 PARTY_IN_USE,
	 IN_USE},
	{"of a key that has left",
	 "b",
	 true,
	 true,
	 2,
	 {KEEPER("1", "9", "a", "0"), LEFT("2")},
	 NULL,
	 PARTY_IN_USE,
	 IN_USE},
	{"of a key, with another count",
	 "b",
	 true,
	 true,
	 3,
	 {KEEPER("1", "9", "a", "0")},
	 NULL,
	 PARTY_OTHER_COUNT,
	 NULL},
	{"of a key, with another loss",
	 "b",
	 true,
	 false,
	 2,
	 {KEEPER("1", "9", "a", "0")},
	 NULL,
	 PARTY_IN_USE,
	 OTHER_LOSS},
	{"of a key that was lost, as it stops",
	 "b",
	 false,
	 false,
	 2,
	 {NODE("1", "9", "a", "0")},
	 MAKE(MADE("3", "7", "b")),
	 PARTY_OPENED,
	 NULL},
	{"of a key that was lost, as it goes on",
	 "b",
	 true,
	 true,
	 2,
	 {KEEPER("1", "9", "a", "0")},
	 "check workers/me, check gangs/g/" KEEPER(
		 "1", "9", "a", "0") ", set gangs/g v3, create+ gangs/g/" GOES_ON("3", "7", "b"),
	 PARTY_OPENED,
	 NULL},
};

Test(gang_member, who_comes_to_a_gang_that_runs)
{
	for (size_t i = 0; i < sizeof(comers) / sizeof(comers[0]); i++) {
		puts(comers[i].what);
		runs(comers[i].goes_on);
		record.lost = !comers[i].goes_on;
		join_as(&(struct gang_request){.id = 3,
					       .key = comers[i].key,
					       .count = comers[i].count,
					       .timeout_ms = -1,
					       .goes_on = comers[i].asks_goes_on});
		script_sees(true, names(comers[i].names[0], comers[i].names[1], NULL), __LINE__);
		if (!comers[i].request) {
			answered(comers[i].outcome, comers[i].why);
			cr_expect_eq(told.count, comers[i].outcome == PARTY_OTHER_COUNT ? 2 : 0);
			continue;
		}
		asks(comers[i].request, ok());
		cr_expect_eq(n_told, 0);
		parties_done(&gangs);
		answer_all(STORE_ABANDONED);
		n_told = 0;
		parties_init(&gangs, &gang_kind, &session, &registry, &roster);
	}
}

Test(gang_member, who_comes_back_takes_the_place_of_its_key)
{
	struct gang_record r;
	const char *why;

	runs(true);
	join_keeper(3, "b");
	sees(KEEPER("1", "9", "a", "0"));
	asks("check workers/me, check gangs/g/" KEEPER(
		     "1", "9", "a", "0") ", set gangs/g v3, create+ gangs/g/" GOES_ON("3", "7",
										      "b"),
	     ok());
	cr_assert_eq(record_parse_gang(store.last.data, store.last.len, &r, &why), 0);
	cr_expect_eq(r.instance, 1);
	cr_expect_eq(r.members[0].id, 1);
	cr_expect_str_eq(r.members[0].ip, "192.0.2.9");
	cr_expect_eq(r.members[1].id, 3);
	cr_expect_str_eq(r.members[1].key, "b");
	cr_expect_str_eq(r.members[1].ip, "192.0.2.1");
	cr_expect_str_eq(r.members[1].hostname, "here");
	record.members[1].id = 3;
	sees(KEEPER("1", "9", "a", "0"), KEEPER("3", "7", "b", "1"));
	answered(PARTY_OPENED, NULL);
	cr_expect_eq(told.index, 1);
}

/* Its node would be taken for that of one that waits. */
Test(gang_member, who_waited_as_the_others_began_takes_its_node_away_before_it_comes_back)
{
	join_keeper(3, "b");
	sees(NOBODY);
	asks(MAKE(GOES_ON("3", "7", "b")), ok());
	runs(true);
	sees(KEEPER("1", "9", "a", "0"), KEEPER("3", "7", "b", "2"));
	asks(UNMAKE(KEEPER("3", "7", "b", "2")), ok());
	sees(KEEPER("1", "9", "a", "0"), KEEPER("4", "9", "b", "1"));
	asks("get! gangs/g/" KEEPER("4", "9", "b", "1"), member_of("there:/s", "m1"));
	sees(KEEPER("1", "9", "a", "0"), KEEPER("4", "9", "b", "1"));
	answered(PARTY_IN_USE, KEY_IN_USE);
}

/* --- one has run, and nobody is there ------------------------------------------------------------------- */

Test(gang_member, all_of_a_gang_have_left_and_it_is_taken_away_for_the_next)
{
	runs(false);
	join(3, "c");
	sees(LEFT("1"), LEFT("2"));
	asks("check workers/me, delete gangs/g/" LEFT("1") ", delete gangs/g/" LEFT(
		     "2") ", delete gangs/g v3",
	     ok());
	cr_expect_eq(n_told, 0);
}

Test(gang_member, who_comes_to_a_gang_that_was_lost)
{
	static const struct {
		const char *what, *key;
		unsigned count;
		bool asks_goes_on;
		const char *names[2], *request;
		enum party_outcome outcome; /* STARTED: none */
		const char *why;
	} cases[] = {
		{"of a key of it",
		 "b",
		 2,
		 false,
		 {NULL},
		 MAKE(MADE("3", "7", "b")),
		 PARTY_OPENED,
		 NULL},
		{"with another count", "b", 3, false, {NULL}, NULL, PARTY_OTHER_COUNT, NULL},
		{"with another loss", "b", 2, true, {NULL}, NULL, PARTY_IN_USE, OTHER_LOSS},
		{"a stranger", "c", 2, false, {NULL}, NULL, PARTY_OPENED, NULL},
		{"a stranger, as one of it waits",
		 "c",
		 2,
		 false,
		 {NODE("4", "9", "a", "0")},
		 NULL,
		 PARTY_IN_USE,
		 REJOINING},
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		puts(cases[i].what);
		runs(false);
		join_as(&(struct gang_request){.id = 3,
					       .key = cases[i].key,
					       .count = cases[i].count,
					       .timeout_ms = -1,
					       .goes_on = cases[i].asks_goes_on});
		script_sees(true, names(cases[i].names[0], NULL), __LINE__);
		if (cases[i].request)
			asks(cases[i].request, ok());
		else
			idle();
		if (cases[i].outcome != PARTY_OPENED)
			answered(cases[i].outcome, cases[i].why);
		cr_expect_eq(n_told, 0);
		parties_done(&gangs);
		answer_all(STORE_ABANDONED);
		n_told = 0;
		parties_init(&gangs, &gang_kind, &session, &registry, &roster);
	}
}

Test(gang_member, a_stranger_that_waited_takes_its_node_away_and_looks_each_second)
{
	join(3, "c");
	sees(NOBODY);
	asks(MAKE(MADE("3", "7", "c")), ok());
	runs(false);
	sees(NODE("3", "7", "c", "2"));
	asks(UNMAKE(NODE("3", "7", "c", "2")), ok());
	sees(NOBODY);
	idle();
	pass(999);
	idle();
	pass(1);
	sees(NOBODY);
	cr_expect_eq(n_told, 0);
}
