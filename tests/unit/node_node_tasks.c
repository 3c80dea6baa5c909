/*
 * The whole node and its tasks: what operators decide, whether it is idle, the events of its runs, and how
 * settings reach its parts.
 */
#include "whole_site.h"

#include "wire/records/schedule_record.h"

TestSuite(node_tasks, .init = begin);

/* --- decisions ------------------------------------------------------------------------------------------ */

Test(node_tasks, what_operators_decide_is_told_and_what_sidecars_note_is_not)
{
	is_up();
	leads();
	decided("p1", POLICY_PAUSE, "backup", "");
	hears("decided pause");
	decided("e1", POLICY_ENDED, "backup", "");
	decided("t1", POLICY_TRIGGER, "backup", TICK);
	hears("");
	policy_gone(&node.policy, "t1");
	policy_gone(&node.policy, "e1");
	policy_gone(&node.policy, "p1");
	hears("no pause");
	decided("s1", POLICY_RERUN, "backup", "other");
	hears("decided rerun");
}

Test(node_tasks, what_is_decided_holds_at_once)
{
	is_up();
	leads();
	decided("p1", POLICY_PAUSE, "report", "");
	wants("set leaders/report v0, delete leaders/report v1", ok());
	cr_expect_not(leaders_says(tasks_find_any(&node.leaders, "report")));
}

static const struct rolling_handlers *rolling(void)
{
	return &node.recipes.rolling.handlers;
}

Test(node_tasks, a_drain_of_a_rolling_restart_is_in_force_until_it_is_taken_back)
{
	struct policy_record r = {
		.since = WALL_MS, .kind = "drain", .node = "here:/s", .rolling = "g"};

	is_up();
	leads();
	rolling()->drained(rolling()->arg, "d1", &r);
	cr_expect(policy_has(&node.policy, "d1"));
	cr_expect(registry_self(&node.registry)->drained);
	rolling()->undrained(rolling()->arg, "d1");
	cr_expect_not(policy_has(&node.policy, "d1"));
	cr_expect_not(registry_self(&node.registry)->drained);
}

#define is_idle(drain, idle_, leads_, jobs_) script_is_idle(drain, idle_, leads_, jobs_, __LINE__)
static void script_is_idle(const char *drain, bool is, size_t leads_, size_t jobs_, int line)
{
	size_t n_leads = 99, n_jobs = 99;

	cr_expect_eq((rolling()->idle)(rolling()->arg, drain, &n_leads, &n_jobs), is, "line %d",
		     line);
	cr_expect_eq(n_leads, leads_, "line %d: leads %zu", line, n_leads);
	cr_expect_eq(n_jobs, jobs_, "line %d: jobs %zu", line, n_jobs);
}

Test(node_tasks, a_node_is_idle_when_it_is_drained_and_leads_nothing)
{
	is_idle("d1", false, 0, 0); /* it is not registered */
	is_up();
	wants("get! leaders/report", failed(STORE_NO_NODE));
	rest();
	is_idle("d1", false, 1, 0); /* it claims */
	wants(CLAIMS, of_stat((struct store_stat){.mzxid = TOKEN}));
	wants("get! leaders/report", led_here());
	is_idle("d1", false, 1, 0);
	decided("d1", POLICY_DRAIN, "", "here:/s");
	is_idle("d1", false, 1, 0); /* it gives up */
	wants("set leaders/report v0, delete leaders/report v1", ok());
	is_idle("d1", true, 0, 0);
	is_idle("d2", false, 0, 0); /* of which it is not known that it holds */
	policy_gone(&node.policy, "d1");
	pass(0);
	is_idle("d1", false, 0, 0);
}

Test(node_tasks, a_drain_of_another_node_makes_none_idle)
{
	node_configure(&node, &site_timing, NULL, 0);
	is_up();
	decided("d1", POLICY_DRAIN, "", "other");
	is_idle("d1", false, 0, 0);
}

Test(node_tasks, a_node_with_a_job_is_not_idle)
{
	const struct handoff_run job = {.task = "gone", .tick = TICK, .id = "job", .token = TOKEN};

	node_configure(&node, &site_timing, NULL, 0);
	node_take_over(&node, &kept, &job, 1, true);
	connects();
	asks("get workers/new", failed(STORE_NO_NODE));
	asks("create* workers/new", ok());
	wants("list! policy", names(NULL));
	wants("list! partitions", names(NULL));
	wants("list! workers", names(node.registry.id, NULL));
	decided("d1", POLICY_DRAIN, "", "here:/s");
	is_idle("d1", false, 0, 1);
	pass(TIMEOUT_MS);
	is_idle("d1", true, 0, 0);
}

/* --- tasks ---------------------------------------------------------------------------------------------- */

Test(node_tasks, tasks_that_come_and_go_are_told)
{
	struct task_settings list[] = {settings_of("report"), settings_of("backup")};

	node_configure(&node, &site_timing, list, 2);
	hears("added backup");
	cr_expect_eq(n_status, 1);
	node_configure(&node, &site_timing, list, 1);
	hears("removed backup");
	cr_expect_eq(n_status, 2);
}

/* How many it has is read; until then it has no elections. */
Test(node_tasks, partitions_come_when_it_is_known_that_they_are_in_force)
{
	struct split_record record = {.partitions = 2, .since = WALL_MS, .host = "there"};
	struct buffer data;

	report.partitions = 2;
	node_configure(&node, &site_timing, &report, 1);
	hears("removed report");
	buffer_init(&data, RECORD_SPLIT_MAX);
	cr_assert_eq(record_pack_split(&data, &record), 0);
	connects();
	wants("create* workers/new", ok());
	wants("list! policy", names(NULL));
	wants("list! partitions", names("report:2", NULL));
	wants("list! workers", names(node.registry.id, NULL));
	hears("");
	n_status = 0;
	wants("get partitions/report:2",
	      holds(data.data, data.len, (struct store_stat){.czxid = 1}));
	cr_expect_not_null(strstr(news, "added report:0, added report:1"), "%s", news);
	cr_expect_not_null(strstr(news, "listing report"), "%s", news);
	cr_expect_geq(n_status, 3);
	buffer_done(&data);
}

Test(node_tasks, the_timing_and_the_settings_reach_the_parts)
{
	static const struct queue_settings queue = {.slots = 2, .max_queued = 10};
	const struct node_timing timing = {.yield_delay_ms = 777, .clock_tolerance_ms = 4000};
	struct task_settings list[] = {settings_of("report"), settings_of("q")};

	list[1].queue = &queue;
	node_configure(&node, &timing, list, 2);
	cr_expect_eq(node.leaders.timing.yield_delay_ms, 777);
	cr_expect_eq(node.registry.clocks.tolerance_ms, 4000);
	cr_expect_eq(node.queues.n, 1);
	cr_expect(host_timer_is_set(&node.overdues.due));
}

Test(node_tasks, a_task_may_be_scheduled_unless_it_is_known_not_to_be)
{
	static struct schedule minutely;
	static const struct task_schedule scheduled = {.schedule = &minutely, .text = "* * * * *"};
	struct task_settings list[] = {settings_of("report"), settings_of("nightly")};
	const struct policy_handlers *h = &node.policy.handlers;

	list[1].schedule = &scheduled;
	node_configure(&node, &site_timing, list, 2);
	cr_expect_not(h->scheduled(h->arg, "report"));
	cr_expect(h->scheduled(h->arg, "nightly"));
	cr_expect(h->scheduled(h->arg, "nightly:3"), "so have its partitions");
	cr_expect_not(h->scheduled(h->arg, "report:3"));
	cr_expect(h->scheduled(h->arg, "elsewhere"), "a task that is not known here may have one");
}

/* --- runs ----------------------------------------------------------------------------------------------- */

static void claim(int64_t scheduled)
{
	runs_claim(&node.runs, &caller, 1, tasks_find_any(&node.leaders, "report"),
		   &(struct run_options){.id = "run-1",
					 .now_ms = host_wall_ms(&host),
					 .tick_ms = TICK_MINUTE_MS,
					 .wait_ms = 10000,
					 .scheduled = scheduled,
					 .index = -1,
					 .pid = 1});
	pass(0);
}

static const char *at_tick(const char *before, const char *behind)
{
	static char texts[4][200];
	static unsigned at;
	char tick[TICK_NAME_SIZE], *text = texts[at++ % 4];

	tick_name(host_wall_ms(&host) / 60000 * 60000, tick);
	snprintf(text, sizeof(texts[0]), "%s%s%s", before, tick, behind);
	return text;
}

#define RECORDS "check workers/new, check leaders/report, check runs/report v0, create runs/report/"

/* A run is told before the caller is answered, and kept for the next sidecar. */
Test(node_tasks, a_run_is_told_kept_and_noted_when_it_begins_and_ends)
{
	is_up();
	leads();
	claim(0);
	wants("get runs/report", ok());
	wants("list runs/report", names(NULL));
	wants(at_tick(RECORDS, ""), ok());
	cr_expect_not_null(strstr(news, "answered yours"), "%s", news);
	cr_expect_not_null(strstr(news, at_tick("report ", ", is running")), "%s", news);
	cr_expect_eq(handed_runs, 1);
	is_idle("d1", false, 1, 1);
	news[0] = '\0';
	runs_finish(&node.runs, &caller, 2, node.runs.holders.last_number,
		    &(struct run_outcome){0});
	wants(at_tick("set runs/report/", " v0"), ok());
	cr_expect_not_null(strstr(news, at_tick("report ", ", is ok")), "%s", news);
	cr_expect_eq(handed_runs, 0);
}

Test(node_tasks, who_waits_for_a_run_goes_on_when_a_lease_begins)
{
	int64_t deadline_ms;

	is_up();
	leads();
	deadline_ms = node.session.lease.deadline_ms;
	node.session.lease.deadline_ms = 0;
	claim(0);
	wants(at_tick("exists! runs/report/", ""), failed(STORE_NO_NODE));
	wants("list runs/report", names(NULL));
	quiet();
	node.session.lease.deadline_ms = deadline_ms;
	node.session.handlers.leased(node.session.handlers.arg);
	wants("get runs/report", ok());
}

Test(node_tasks, who_waits_for_the_record_of_another_sees_it)
{
	is_up();
	wants("get! leaders/report", led_by("b", 50));
	claim(0);
	wants(at_tick("exists! runs/report/", ""), failed(STORE_NO_NODE));
	wants("list runs/report", names(NULL));
	quiet();
	news[0] = '\0';
	fires(STORE_NODE_CREATED, at_tick("runs/report/", ""));
	pass(0);
	hears("answered taken");
}

Test(node_tasks, who_waits_for_a_task_that_is_removed_is_answered)
{
	is_up();
	wants("get! leaders/report", led_by("b", 50));
	claim(0);
	news[0] = '\0';
	node_configure(&node, &site_timing, NULL, 0);
	pass(0);
	cr_expect_not_null(strstr(news, "removed report, answered"), "%s", news);
}

/* --- schedules ------------------------------------------------------------------------------------------ */

static struct schedule minutely;
static const struct task_schedule scheduled = {.text = "* * * * *",
					       .timezone = "UTC",
					       .schedule = &minutely,
					       .catch_up = OWED_LAST,
					       .window_ms = 3600000};

/* Led, ten seconds behind a full minute, and in force for a second. */
static void leads_by_schedule(void)
{
	struct schedule_record r = {.timezone = "UTC", .text = "* * * * *"};
	struct schedule_error error;
	struct buffer data;

	cr_assert_eq(schedule_parse("* * * * *", "report", &minutely, &error), 0);
	pass(60000 - host_wall_ms(&host) % 60000 + 10000);
	report.schedule = &scheduled;
	node_configure(&node, &site_timing, &report, 1);
	is_up();
	r.since = host_wall_ms(&host) - 1000;
	wants("get! leaders/report", failed(STORE_NO_NODE));
	wants(CLAIMS, of_stat((struct store_stat){.mzxid = TOKEN}));
	wants("get! leaders/report", led_here());
	buffer_init(&data, RECORD_SCHEDULE_MAX);
	cr_assert_eq(record_pack_schedule(&data, &r), 0);
	wants("get schedules/report",
	      holds(data.data, data.len, (struct store_stat){.version = 4}));
	wants("get runs/report", failed(STORE_NO_NODE));
	wants("list runs/report", failed(STORE_NO_NODE));
	quiet();
	buffer_done(&data);
	news[0] = '\0';
}

Test(node_tasks, a_tick_that_is_due_is_told_until_its_run_is_noted)
{
	leads_by_schedule();
	pass(50000);
	hears("due report");
	pass(2000);
	hears("due report");
	claim(1);
	wants("get runs/report", ok());
	wants("list runs/report", names(NULL));
	wants(at_tick(RECORDS, ""), ok());
	cr_expect_not_null(strstr(news, "answered yours"), "%s", news);
	news[0] = '\0';
	pass(30000);
	hears("");
}

Test(node_tasks, the_end_of_a_pause_is_noted_for_the_schedule)
{
	leads_by_schedule();
	const struct task *t = tasks_find_any(&node.leaders, "report");
	decided("p1", POLICY_PAUSE, "report", "");
	pass(1000);
	policy_gone(&node.policy, "p1");
	cr_expect_eq(t->due->ended_ms, host_wall_ms(&host));
}

/* --- notices -------------------------------------------------------------------------------------------- */

static void wants_notices_of(enum notice_event event)
{
	const struct notice_rule rule = {.events = 1U << event};

	node_set_notices(&node, &rule, 1);
}

/* Whether that is asked for at last; other requests are answered until then. */
static bool asks_at_last(const char *text)
{
	for (int i = 0; i < 20; i++) {
		rest();
		for (size_t j = 0; j < store.n_open; j++)
			if (strcmp(store.open[j].text, text) == 0)
				return true;
		if (store.n_open > 0)
			script_answer(0, failed(STORE_NO_NODE));
	}
	return false;
}

Test(node_tasks, lost_runs_are_looked_for_when_a_leadership_begins)
{
	is_up();
	wants_notices_of(NOTICE_LOST);
	wants("get! leaders/report", failed(STORE_NO_NODE));
	wants("create notices", ok());
	wants(CLAIMS, of_stat((struct store_stat){.mzxid = TOKEN}));
	cr_expect(asks_at_last("list runs/report"));
}

Test(node_tasks, or_when_somebody_wants_to_know_of_them)
{
	is_up();
	leads();
	wants_notices_of(NOTICE_LEADER);
	cr_expect_not(asks_at_last("list runs/report"));
	wants_notices_of(NOTICE_LOST);
	cr_expect(asks_at_last("list runs/report"));
}

Test(node_tasks, a_rollout_is_looked_for_when_somebody_wants_to_know_of_it)
{
	is_up();
	leads();
	wants_notices_of(NOTICE_ROLLOUT);
	cr_expect_not(asks_at_last("get notices"));
	pass(ROLLOUTS_WAIT_MS);
	cr_expect(asks_at_last("get notices"));
}

Test(node_tasks, a_task_with_a_limit_is_looked_after_once_it_is_led)
{
	report.alert_after_ms = 600000;
	node_configure(&node, &site_timing, &report, 1);
	is_up();
	wants("get! leaders/report", failed(STORE_NO_NODE));
	wants(CLAIMS, of_stat((struct store_stat){.mzxid = TOKEN}));
	cr_expect(host_timer_is_set(&node.overdues.due) || asks_at_last("get seen/report"));
}

/* --- who does not listen -------------------------------------------------------------------------------- */

Test(node_unheard, runs_and_ticks_need_not_be_listened_to)
{
	struct node_handlers some = handlers;

	some.run = NULL;
	some.due = NULL;
	node_init(&node, &host, &settings, &some);
	cr_expect_null(node.runs.told);
	cr_expect_null(node.schedules.due);
}
