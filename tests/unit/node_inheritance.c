/*
 * Tasks that the previous sidecar led: found, kept as promised, and given up where nobody wants
 * them.
 */
#include "node_site.h"

#include "node/election/inheritance.h"

#define PROMISED_MS 7220 /* of a sidecar with a longer yield-delay than this one */

static void begin(void)
{
	site_begin();
	configures("report", NULL);
	joins("x", "2.0", 9);
	joins("y", "2.0", 8);
	joins("me", "1.0", 5); /* the third: it would not read by itself */
	idle();
	inheritance_promised(&leaders, host.now_ms + PROMISED_MS);
	inheritance_recover(&leaders);
	turn();
}

TestSuite(inheritance, .init = begin);

Test(inheritance, a_task_that_the_one_before_led_is_led_with_its_token)
{
	struct task *t = task_of("report");

	cr_expect(t->inheritance.open);
	asks("get! leaders/report", led_by("me", 30));
	cr_expect_eq(state_of("report"), ELECTION_LEADING);
	cr_expect_eq(t->election.node.token, 30);
	cr_expect_not(t->inheritance.open);
}

Test(inheritance, a_task_that_another_leads_is_not_watched_any_more)
{
	asks("get! leaders/report", led_by("x", 30));
	cr_expect_not(task_of("report")->inheritance.open);
	fires(STORE_NODE_CHANGED, "leaders/report");
	pass(2000);
	idle();
}

Test(inheritance, a_read_that_fails_is_tried_again)
{
	asks("get! leaders/report", failed(STORE_FAILED));
	cr_expect(task_of("report")->inheritance.open);
	pass(ELECTION_RETRY_MS);
	asks("get! leaders/report", led_by("me", 30));
	cr_expect_eq(state_of("report"), ELECTION_LEADING);
}

/* This node is the only one, so that it keeps what it leads. */
static void is_alone(void)
{
	leaves("x");
	leaves("y");
	asks("get! leaders/report", led_by("me", 30));
}

/* The previous sidecar's last promise is not known here. */
Test(inheritance, it_is_not_given_up_before_the_last_promise_is_over)
{
	asks("get! leaders/report", led_by("me", 30));
	decides("d1", POLICY_PAUSE, "report", "", "");
	pass(PROMISED_MS - 1);
	idle();
	pass(1);
	asks("set leaders/report v0, delete leaders/report v1", ok());
	asks("list leaders", names("report", NULL));
}

/* Its file was not good at the start; or the task had another name. */
Test(inheritance, what_is_configured_later_is_looked_for_and_kept_as_long)
{
	asks("get! leaders/report", led_by("x", 30));
	pass(2000);
	configures("backup", "report", NULL);
	asks("get! leaders/backup", led_by("me", 31));
	cr_expect_eq(state_of("backup"), ELECTION_LEADING);
	decides("d1", POLICY_PAUSE, "backup", "", "");
	pass(PROMISED_MS - 2000 - 1);
	idle();
	pass(1);
	asks("set leaders/backup v0, delete leaders/backup v1", ok());
}

Test(inheritance, a_stop_may_wait_for_promises_about_what_is_not_configured)
{
	asks("get! leaders/report", led_by("x", 30));
	pass(220);
	cr_expect_eq(leaders_promised_left(&leaders), PROMISED_MS - 220);
	pass(PROMISED_MS - 220);
	asks("list leaders", names(NULL));
	cr_expect_eq(leaders_promised_left(&leaders), 0);
}

/* A promise under a longer yield-delay is the next sidecar's to keep. */
Test(inheritance, a_shorter_yield_delay_forgets_no_promise)
{
	struct node_timing timing = site_timing;
	struct task_settings settings[] = {settings_of("report")};

	timing.yield_delay_ms = 60000;
	tasks_apply(&leaders, &timing, settings, 1);
	cr_expect_eq(leaders_promise_most(&leaders), TIMEOUT_MS, "no lease is longer");
	timing.yield_delay_ms = 0;
	tasks_apply(&leaders, &timing, settings, 1);
	cr_expect_eq(leaders_promise_most(&leaders), TIMEOUT_MS / 4);
	cr_expect_eq(leaders.inheritance.promised_ms, host.now_ms + TIMEOUT_MS);
}

Test(inheritance, what_is_ours_and_not_configured_is_given_up)
{
	is_alone();
	pass(PROMISED_MS);
	asks("list leaders", names("report", "old", "foreign", "not a task", NULL));
	asks("get leaders/old", of_stat((struct store_stat){.owner = SESSION, .version = 2}));
	asks("get leaders/foreign", of_stat((struct store_stat){.owner = SESSION + 1}));
	asks("set leaders/old v2, delete leaders/old v3", ok());
	idle();
	cr_expect_not(leaders.inheritance.again);
}

Test(inheritance, what_is_configured_meanwhile_is_kept)
{
	is_alone();
	pass(PROMISED_MS);
	asks("list leaders", names("report", "old", NULL));
	configures("old", "report", NULL);
	while (strcmp(store.open[0].text, "get leaders/old") != 0)
		asks(store.open[0].text, failed(STORE_NO_NODE));
	asks("get leaders/old", of_stat((struct store_stat){.owner = SESSION, .version = 2}));
	for (size_t i = 0; i < store.n_open; i++)
		cr_expect_null(strstr(store.open[i].text, "delete leaders/old"));
}

Test(inheritance, what_could_not_be_given_up_is_looked_for_after_the_next_connection)
{
	is_alone();
	pass(PROMISED_MS);
	asks("list leaders", failed(STORE_UNKNOWN));
	cr_expect(leaders.inheritance.again);
	connection(STORE_CONNECTING);
	connection(STORE_CONNECTED);
	asks("list leaders", names("report", NULL));
	cr_expect_not(leaders.inheritance.again);
}

Test(inheritance, nothing_is_inherited_of_a_session_that_has_ended)
{
	connection(STORE_EXPIRED);
	cr_expect_not(task_of("report")->inheritance.open);
	pass(PROMISED_MS);
	cr_expect_eq(store.n_open, 0);
}
