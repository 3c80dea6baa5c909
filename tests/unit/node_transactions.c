/* Claims and releases in transactions: which go together, and what follows where one of several does not hold. */
#include "node_site.h"

#include <stdarg.h>

TestSuite(transactions, .init = site_begin);

static struct store_reply with_token(int64_t token)
{
	return of_stat((struct store_stat){.mzxid = token});
}

/* This many tasks that nobody leads, and this node is the best for all of them. */
static void configure_many(unsigned n)
{
	struct task_settings *list = calloc(n, sizeof(*list));
	char(*task_names)[16] = calloc(n, sizeof(*task_names));

	for (unsigned i = 0; i < n; i++) {
		snprintf(task_names[i], sizeof(task_names[i]), "t%03u", i);
		list[i] = settings_of(task_names[i]);
	}
	tasks_apply(&leaders, &site_timing, list, n);
	free(list);
	free(task_names);
}

static size_t count(const char *text, const char *part)
{
	size_t n = 0;

	for (const char *at = strstr(text, part); at; at = strstr(at + 1, part))
		n++;
	return n;
}

/* The reads of these tasks, which find nobody. */
static void nobody_leads(const char *first, ...)
{
	char text[80];
	va_list ap;

	va_start(ap, first);
	for (const char *name = first; name; name = va_arg(ap, const char *)) {
		snprintf(text, sizeof(text), "get! leaders/%s", name);
		asks(text, failed(STORE_NO_NODE));
	}
	va_end(ap);
}

Test(transactions, claims_that_come_within_10_ms_go_together)
{
	configures("a", "b", "c", NULL);
	joins("me", "1.0", 5);
	nobody_leads("a", "b", "c", NULL);
	asks("check workers/me, set leaders, create* leaders/a, create* leaders/b, create* "
	     "leaders/c",
	     with_token(TOKEN));
	for (const char *name = "abc"; *name; name++)
		cr_expect_eq(task_of((char[]){*name, '\0'})->election.node.token, TOKEN);
	/* The reads that set the watches go behind all claims of the turn. */
	asks("get! leaders/a", led_by("me", TOKEN));
	asks("get! leaders/b", led_by("me", TOKEN));
	asks("get! leaders/c", led_by("me", TOKEN));
	idle();
}

Test(transactions, a_claim_does_not_wait_longer_for_others)
{
	configures("a", "b", NULL);
	joins("me", "1.0", 5);
	nobody_leads("a", NULL);
	cr_assert_eq(store.n_open, 1);
	cr_expect_str_eq(store.open[0].text, "get! leaders/b", "the claim waits");
	host.now_ms += TRANSACTION_WAIT_MS;
	turn();
	cr_assert_eq(store.n_open, 3);
	cr_expect_str_eq(store.open[1].text, "check workers/me, set leaders, create* leaders/a");
	cr_expect_str_eq(store.open[2].text, "get! leaders/a");
}

Test(transactions, no_more_than_50_go_into_one)
{
	configure_many(TRANSACTION_MAX + 1);
	joins("me", "1.0", 5);
	asks("list leaders", names(NULL));
	cr_assert_eq(count(store.open[0].text, "create*"), TRANSACTION_MAX);
	cr_assert_eq(count(store.open[1].text, "create*"), 1);
	cr_expect_eq(count(store.open[1].text, "check workers/me, set leaders, "), 1);
}

Test(transactions, where_one_is_taken_the_reads_tell_which_of_the_others_are_free)
{
	configures("a", "b", "c", NULL);
	joins("me", "1.0", 5);
	nobody_leads("a", "b", "c", NULL);
	asks("check workers/me, set leaders, create* leaders/a, create* leaders/b, create* "
	     "leaders/c",
	     failed_at(STORE_NODE_EXISTS, 3)); /* "b" */
	asks("get! leaders/a", failed(STORE_NO_NODE));
	asks("get! leaders/b", led_by("x", 50));
	asks("get! leaders/c", failed(STORE_NO_NODE));
	cr_expect_eq(state_of("b"), ELECTION_FOLLOWING);
	asks("check workers/me, set leaders, create* leaders/a, create* leaders/c",
	     with_token(TOKEN));
	asks("get! leaders/a", led_by("me", TOKEN));
	asks("get! leaders/c", led_by("me", TOKEN));
	cr_expect_eq(state_of("a"), ELECTION_LEADING);
	cr_expect_eq(state_of("c"), ELECTION_LEADING);
	idle();
}

/* An answer that is about none of the tasks is for all. */
static void all_are_told(enum store_code code, int op)
{
	configures("a", "b", NULL);
	joins("me", "1.0", 5);
	nobody_leads("a", "b", NULL);
	asks("check workers/me, set leaders, create* leaders/a, create* leaders/b",
	     failed_at(code, op));
	cr_expect_eq(state_of("a"), ELECTION_RESOLVING);
	cr_expect_eq(state_of("b"), ELECTION_RESOLVING);
	asks("get! leaders/a", led_by("me", 60));
	asks("get! leaders/b", led_by("x", 61));
	cr_expect_eq(state_of("a"), ELECTION_LEADING);
	cr_expect_eq(state_of("b"), ELECTION_FOLLOWING);
}

Test(transactions, an_answer_that_is_lost_is_lost_for_all)
{
	all_are_told(STORE_UNKNOWN, -1);
}

Test(transactions, who_is_not_registered_claims_none_and_asks_at_once_whether_that_is_so)
{
	store.silent = true;
	all_are_told(STORE_NO_NODE, 0);
	asks("check workers/me", ok());
}

Test(transactions, a_server_that_refuses_one_for_its_rights_refuses_all)
{
	all_are_told(STORE_NO_AUTH, 2);
}

/* --- releases ------------------------------------------------------------------------------------------- */

static void lead_both(void)
{
	configures("a", "b", NULL);
	joins("me", "1.0", 5);
	nobody_leads("a", "b", NULL);
	asks("check workers/me, set leaders, create* leaders/a, create* leaders/b",
	     with_token(TOKEN));
	asks("get! leaders/a", led_by("me", TOKEN));
	asks("get! leaders/b", led_by("me", TOKEN));
	idle();
}

Test(transactions, tasks_that_go_to_the_same_worker_are_given_up_together)
{
	lead_both();
	joins("x", "2.0", 9);
	pass(site_timing.yield_delay_ms);
	asks("check workers/x, set leaders/a v0, delete leaders/a v1, set leaders/b v0, "
	     "delete leaders/b v1",
	     ok());
	cr_expect_eq(state_of("a"), ELECTION_VACANT);
	cr_expect_eq(state_of("b"), ELECTION_VACANT);
}

Test(transactions, tasks_that_go_to_different_workers_are_given_up_apart)
{
	lead_both();
	joins("x", "2.0", 9);
	decides("r1", POLICY_RESIGN, "b", "host-x:/s", "");
	joins("y", "2.0", 8);
	pass(site_timing.yield_delay_ms);
	asks("check workers/x, set leaders/a v0, delete leaders/a v1", ok());
	pass(ELECTION_YIELD_MIN_MS);
	while (store.n_open > 0 && strncmp(store.open[0].text, "get!", 4) == 0)
		asks(store.open[0].text, led_by("x", 60));
	asks("check workers/y, set leaders/b v0, delete leaders/b v1", ok());
}

Test(transactions, where_one_release_does_not_hold_the_others_are_sent_again_alone)
{
	lead_both();
	joins("x", "2.0", 9);
	pass(site_timing.yield_delay_ms);
	asks("check workers/x, set leaders/a v0, delete leaders/a v1, set leaders/b v0, "
	     "delete leaders/b v1",
	     failed_at(STORE_BAD_VERSION, 2)); /* "a" */
	cr_expect_eq(state_of("a"), ELECTION_RESOLVING);
	cr_expect_eq(state_of("b"), ELECTION_RELEASING);
	asks("get! leaders/a", led_by("me", TOKEN));
	asks("check workers/x, set leaders/b v0, delete leaders/b v1", ok());
	cr_expect_eq(state_of("b"), ELECTION_VACANT);
}

/* --- what an answer tells beside --------------------------------------------------------------------------- */

Test(transactions, a_claim_without_the_folders_has_them_made)
{
	configures("a", NULL);
	joins("me", "1.0", 5);
	nobody_leads("a", NULL);
	asks("check workers/me, set leaders, create* leaders/a", failed_at(STORE_NO_NODE, 1));
	asks("get! leaders/a", failed(STORE_NO_NODE));
	asks("create " ROOT, failed(STORE_NODE_EXISTS));
	asks("create workers", failed(STORE_NODE_EXISTS));
	asks("create leaders", ok());
	asks("create policy", failed(STORE_NODE_EXISTS));
}

Test(transactions, nothing_is_sent_once_the_session_has_ended)
{
	configures("a", NULL);
	joins("me", "1.0", 5);
	asks("get! leaders/a", led_by("x", 50));
	transactions_claim(&leaders.transactions, task_of("a"));
	transactions_forget(&leaders.transactions);
	turn();
	idle();
}
