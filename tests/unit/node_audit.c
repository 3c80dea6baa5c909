/* The audit: once a minute, whether a leader node is missing although nobody acts. */
#include "node_site.h"

#define MINUTE_MS AUDIT_MS

/* This node is the third in rank: it does not watch, and glances once at who leads. */
static void begin(void)
{
	site_begin();
	configures("a", "b", NULL);
	joins("x", "2.0", 9);
	joins("y", "2.0", 8);
	joins("me", "1.0", 5);
	idle();
	pass(MINUTE_MS - (host.now_ms - START_MS)); /* the first one */
}

TestSuite(audit, .init = begin);

#define glances(task) asks("get leaders/" task, led_by("x", 30))

static struct store_reply changed_at(int64_t zxid)
{
	return of_stat((struct store_stat){.pzxid = zxid});
}

Test(audit, leader_nodes_are_listed_where_one_was_made_or_deleted_since)
{
	asks("exists leaders", changed_at(100));
	asks("list leaders", names("a", "b", NULL));
	glances("a");
	glances("b");
	pass(MINUTE_MS);
	asks("exists leaders", changed_at(100));
	idle(); /* nothing was missing, and nothing has happened */
	pass(MINUTE_MS);
	asks("exists leaders", changed_at(101));
	asks("list leaders", names("a", "b", NULL));
	idle();
}

Test(audit, a_node_that_is_missing_twice_is_read_whatever_the_place)
{
	asks("exists leaders", changed_at(100));
	asks("list leaders", names("b", NULL));
	glances("b");
	idle(); /* it may be between two leaders */
	pass(MINUTE_MS);
	asks("exists leaders", changed_at(100));
	asks("list leaders", names("b", NULL));
	asks("get! leaders/a", failed(STORE_NO_NODE));
	asks("exists! leaders/a", failed(STORE_NO_NODE));
	cr_expect_eq(state_of("a"), ELECTION_VACANT, "it takes its turn");
	cr_expect_eq(state_of("b"), ELECTION_FOLLOWING);
}

Test(audit, a_node_that_was_missing_once_is_not_read)
{
	asks("exists leaders", changed_at(100));
	asks("list leaders", names("b", NULL));
	glances("b");
	pass(MINUTE_MS);
	asks("exists leaders", changed_at(101));
	asks("list leaders", names("a", "b", NULL));
	glances("a");
	pass(MINUTE_MS);
	asks("exists leaders", changed_at(102));
	asks("list leaders", names("b", NULL));
	idle();
}

Test(audit, what_was_missing_in_another_session_does_not_count)
{
	asks("exists leaders", changed_at(100));
	asks("list leaders", names("b", NULL));
	glances("b");
	audit_forget(&leaders);
	pass(MINUTE_MS);
	asks("exists leaders", changed_at(100));
	asks("list leaders", names("b", NULL));
	idle();
}

Test(audit, an_answer_that_fails_says_nothing)
{
	asks("exists leaders", failed(STORE_UNKNOWN));
	idle();
	pass(MINUTE_MS);
	asks("exists leaders", changed_at(100));
	asks("list leaders", failed(STORE_UNKNOWN));
	pass(MINUTE_MS);
	asks("exists leaders", changed_at(100));
	asks("list leaders", names("a", "b", NULL));
	glances("a");
	glances("b");
	idle();
}

Test(audit, who_has_become_the_best_is_glanced_at)
{
	asks("exists leaders", changed_at(100));
	asks("list leaders", names("a", "b", NULL));
	glances("a");
	glances("b");
	joins("z", "3.0", 7);
	pass(MINUTE_MS);
	asks("exists leaders", changed_at(100));
	idle(); /* no leader node was made since */
	pass(MINUTE_MS);
	asks("exists leaders", changed_at(101));
	asks("list leaders", names("a", "b", NULL));
	glances("a");
	glances("b");
	idle();
}
