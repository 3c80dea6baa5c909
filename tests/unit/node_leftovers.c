/*
 * Commands of the previous sidecar, for which a node looks that is stopped right behind its start.
 */
#include "node_site.h"

#include "node/recipes/leftovers.h"

#define ID	"00112233445566778899aabbccddeeff"
#define OURS	"0000000000000007-" ID "-0000000005"
#define THEIRS	"0000000000000008-" ID "-0000000006"
#define MEMBER	"0000000000000001-2-s-0000000000000007-a-0000000000"
#define LEFT	"0000000000000001-left"
#define ANOTHER "0000000000000001-2-s-0000000000000008-a-0000000000"
#define AT	"list jobs/old/at/here:%2Fs"

static struct roster roster;
static struct locks locks;
static struct parties gangs;
static struct queues queues;
static struct leftovers leftovers;
static int owner;

static void begin(void)
{
	site_begin();
	roster.session = &session;
	roster.registry = &registry;
	snprintf(registry.node, sizeof(registry.node), "here:/s");
	locks_init(&locks, &session, &registry, &roster);
	parties_init(&gangs, &gang_kind, &session, &registry, &roster);
	queues_init(&queues, &session, &registry, &leaders, NULL);
	leftovers_init(&leftovers, &locks, &gangs, &queues);
}

TestSuite(leftovers, .init = begin);

/* The session of the sidecar before us is ours now. */
static void take_over(void)
{
	leftovers_take_over(&leftovers, TIMEOUT_MS, true);
	session.taken_over = SESSION;
	registry.same_node = true;
	leftovers_up(&leftovers);
}

#define may_be_left(is) expect_left(is, __LINE__)
static void expect_left(bool is, int line)
{
	cr_expect_eq(leftovers_going(&leftovers), is, "line %d", line);
}

Test(leftovers, nothing_is_looked_for_before_the_stop_nor_without_a_session_taken_over)
{
	leftovers_want(&leftovers);
	may_be_left(false);
	idle();
	leftovers.wanted = false;
	take_over();
	may_be_left(true);
	pass(TIMEOUT_MS - 1);
	idle();
	may_be_left(true);
	pass(1);
	may_be_left(false);
	leftovers_want(&leftovers);
	idle();
}

Test(leftovers, a_stop_waits_for_what_is_there_and_no_longer)
{
	take_over();
	leftovers_want(&leftovers);
	asks("list locks", names("l", NULL));
	asks("list gangs", names("g", NULL));
	asks("list jobs", names("old", NULL));
	asks("list locks/l", names(THEIRS, OURS, NULL));
	asks("list gangs/g", names(NULL));
	asks(AT, names(NULL));
	idle();
	may_be_left(true);
	pass(LEFTOVERS_AGAIN_MS);
	asks("list locks", names("l", NULL));
	asks("list gangs", names("g", NULL));
	asks("list jobs", names("old", NULL));
	asks("list locks/l", names(THEIRS, NULL));
	asks("list gangs/g", names(LEFT, ANOTHER, NULL));
	may_be_left(true);
	asks(AT, failed(STORE_NO_NODE));
	may_be_left(false);
	pass(LEFTOVERS_AGAIN_MS);
	idle();
}

static void finds(const char *lock, const char *member, const char *job)
{
	asks("list locks", names("l", NULL));
	asks("list gangs", names("g", NULL));
	asks("list jobs", names("old", NULL));
	asks("list locks/l", names(lock, NULL));
	asks("list gangs/g", names(member, NULL));
	asks(AT, names(job, NULL));
	idle();
}

Test(leftovers, one_of_any_kind_is_waited_for)
{
	take_over();
	leftovers_want(&leftovers);
	finds(OURS, NULL, NULL);
	may_be_left(true);
	pass(LEFTOVERS_AGAIN_MS);
	finds(NULL, MEMBER, NULL);
	may_be_left(true);
	pass(LEFTOVERS_AGAIN_MS);
	finds(NULL, NULL, "a job");
	may_be_left(true);
	pass(LEFTOVERS_AGAIN_MS);
	finds(NULL, NULL, NULL);
	may_be_left(false);
}

/* Those count by themselves. */
Test(leftovers, what_has_reattached_is_none)
{
	take_over();
	locks_attach(&locks, &owner, "l", ID, NULL, NULL);
	TAILQ_FIRST(&locks.list)->fn = NULL;
	store.n_open = 0;
	gangs_attach(&gangs, &owner, "g", 1, NULL, NULL);
	store.n_open = 0;
	leftovers_want(&leftovers);
	finds(OURS, MEMBER, NULL);
	may_be_left(false);
}

Test(leftovers, what_is_not_answered_may_be_there)
{
	static const enum store_code codes[] = {STORE_UNKNOWN, STORE_NO_AUTH, STORE_FAILED};

	take_over();
	leftovers_want(&leftovers);
	for (size_t i = 0; i < sizeof(codes) / sizeof(codes[0]); i++) {
		asks("list locks", failed(codes[i]));
		asks("list gangs", names(NULL));
		asks("list jobs", names(NULL));
		idle();
		may_be_left(true);
		pass(LEFTOVERS_AGAIN_MS);
	}
}

Test(leftovers, before_the_session_is_confirmed_nobody_knows)
{
	leftovers_take_over(&leftovers, TIMEOUT_MS, true);
	session.taken_over = SESSION;
	registry.same_node = true;
	connection(STORE_CONNECTING);
	store.n_open = 0;
	leftovers_want(&leftovers);
	pass(1000);
	cr_expect_eq(store.n_open, 0);
	may_be_left(true);
	connection(STORE_CONNECTED);
	script_confirm();
	cr_assert(session_is_up(&session));
	leftovers_up(&leftovers);
	asks("list locks", names(NULL));
	asks("list gangs", names(NULL));
	asks("list jobs", names(NULL));
	may_be_left(false);
}

/* Its jobs lie under the name that it had. */
Test(leftovers, a_node_with_another_name_does_not_know)
{
	take_over();
	registry.same_node = false;
	leftovers_want(&leftovers);
	finds(NULL, NULL, NULL);
	may_be_left(true);
}

Test(leftovers, where_not_all_runs_are_known_all_that_time_is_waited)
{
	leftovers_take_over(&leftovers, TIMEOUT_MS, false);
	session.taken_over = SESSION;
	leftovers_up(&leftovers);
	leftovers_want(&leftovers);
	idle();
	pass(TIMEOUT_MS - 1);
	may_be_left(true);
	pass(1);
	may_be_left(false);
}

Test(leftovers, nothing_is_left_by_a_session_that_has_ended)
{
	take_over();
	leftovers_want(&leftovers);
	leftovers_expired(&leftovers);
	may_be_left(false);
	leftovers_done(&leftovers);
	answer_all(STORE_ABANDONED);
}
