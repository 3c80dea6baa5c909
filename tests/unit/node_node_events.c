/*
 * The whole node: which of its parts look again after which event. All parts have something to look at here: a
 * queue, a schedule, a run that waits, and people who want to know.
 */
#include "whole_site.h"

static struct schedule minutely;
static const struct task_schedule scheduled = {.text = "* * * * *",
					       .timezone = "UTC",
					       .schedule = &minutely,
					       .catch_up = OWED_LAST,
					       .window_ms = 3600000};
static const struct queue_settings queue = {.slots = 2, .attempts = 3, .max_queued = 10};
static const struct notice_rule rules[] = {
	{.events = 1U << NOTICE_LOST | 1U << NOTICE_ROLLOUT | 1U << NOTICE_DISCONNECTED}};

static struct task *t;

static void begin_busy(void)
{
	struct schedule_error error;
	struct task_settings list[] = {settings_of("report"), settings_of("q")};

	begin();
	cr_assert_eq(schedule_parse("* * * * *", "report", &minutely, &error), 0);
	list[0].schedule = &scheduled;
	list[0].alert_after_ms = 600000;
	list[1].queue = &queue;
	node_configure(&node, &site_timing, list, 2);
	node_set_notices(&node, rules, 1);
	t = tasks_find_any(&node.leaders, "report");
}

TestSuite(node_events, .init = begin_busy);

/* --- the table ------------------------------------------------------------------------------------------ */

/* Timers by which parts of a node look again. */
static const struct {
	const char *name;
	struct host_timer *timer;
} timers[] = {{"schedules", &node.schedules.timer},
	      {"overdues", &node.overdues.due},
	      {"losses", &node.losses.due},
	      {"notices", &node.notices.timer},
	      {"rollouts", &node.outages.rolled},
	      {"outages", &node.outages.lost},
	      {"counters", &node.recipes.counters.due}};

#define TIMERS (sizeof(timers) / sizeof(timers[0]))

/* Nobody has anything to look at. */
static void all_rest(void)
{
	for (size_t i = 0; i < TIMERS; i++)
		host_timer_stop(timers[i].timer);
	node.schedules.dirty = false;
	node.runs.dirty = false;
	node.queues.again = false;
	news[0] = '\0';
	n_status = 0;
}

/* Those of the names look again, and no others: in the order of the table, queues and runs behind it. */
#define wakes(names) script_wakes(names, __LINE__)
static void script_wakes(const char *names, int line)
{
	char text[200] = "";

	for (size_t i = 0; i < TIMERS; i++)
		if (host_timer_is_set(timers[i].timer))
			strcat(strcat(text, timers[i].name), " ");
	strcat(text, node.queues.again ? "queues " : "");
	strcat(text, node.runs.dirty ? "runs " : "");
	cr_expect_str_eq(text, names, "line %d: %s", line, text);
}

/* A waiting run gives the runs something to look at, once: it is done with the first look. */
static void a_run_waits(void)
{
	runs_claim(&node.runs, &caller, 1, t,
		   &(struct run_options){.id = "run-1",
					 .now_ms = host_wall_ms(&host),
					 .tick_ms = TICK_MINUTE_MS,
					 .wait_ms = 600000,
					 .index = -1,
					 .pid = 1});
	turn();
}

Test(node_events, of_the_session)
{
	const struct session_handlers *h = &node.session.handlers;

	is_up();
	a_run_waits();
	all_rest();
	h->up(h->arg);
	wakes("schedules overdues losses notices rollouts queues runs ");
	cr_expect_gt(n_status, 0);
	all_rest();
	h->leased(h->arg);
	wakes("schedules queues runs ");
	all_rest();
	node.queues.cut_ms = 0;
	h->cut(h->arg);
	wakes("schedules overdues outages queues runs ");
	cr_expect_eq(node.queues.cut_ms, host.now_ms);
	cr_expect_gt(n_status, 0);
}

/* Before anything was led no task changes by it. */
Test(node_events, of_the_end_of_a_session)
{
	const struct session_handlers *h = &node.session.handlers;

	a_run_waits();
	all_rest();
	h->expired(h->arg);
	wakes("outages queues runs ");
	cr_expect_eq(n_status, 1);
}

Test(node_events, of_the_fleet_and_of_what_is_decided)
{
	is_up();
	a_run_waits();
	for (int i = 0; i < 2; i++) {
		all_rest();
		if (i == 0)
			node.registry.handlers.changed(node.registry.handlers.arg);
		else
			node.policy.handlers.changed(node.policy.handlers.arg);
		wakes("schedules rollouts queues runs ");
	}
}

Test(node_events, of_a_task)
{
	const struct leaders_handlers *h = &node.leaders.handlers;

	is_up();
	a_run_waits();
	all_rest();
	h->changed(h->arg, t);
	wakes("schedules overdues queues runs ");
	hears("changed report");
	cr_expect_eq(n_status, 1);
	all_rest();
	h->listing(h->arg, t->listing);
	wakes("runs ");
	hears("listing report");
	cr_expect_eq(n_status, 1);
	/* Without a limit nobody looks after it. */
	all_rest();
	t->listing->settings.alert_after_ms = 0;
	h->changed(h->arg, t);
	wakes("schedules queues runs ");
}

Test(node_events, of_other_settings)
{
	all_rest();
	node_configure(&node, &site_timing, &report, 1);
	all_rest();
	report.schedule = &scheduled;
	node_configure(&node, &site_timing, &report, 1);
	wakes("schedules overdues queues ");
	all_rest();
	node_set_notices(&node, rules, 1);
	wakes("losses rollouts ");
}

Test(node_events, of_a_watch_on_a_queue)
{
	is_up();
	all_rest();
	store.handlers.watch(store.handlers.arg, STORE_CHILDREN_CHANGED, ROOT "/jobs/q/due");
	wakes("queues ");
}

/* --- what else an event is for -------------------------------------------------------------------------- */

static size_t asked(const char *text)
{
	size_t n = 0;

	for (size_t i = 0; i < store.n_open; i++)
		n += strstr(store.open[i].text, text) != NULL;
	return n;
}

static void on_index(void *arg, int64_t index, const char *why)
{
	(void)arg, (void)index, (void)why;
}

Test(node_events, the_own_number_is_asked_for_once_the_fleet_is_known)
{
	own_index_ask(&node.recipes.index, on_index, NULL);
	connects();
	asks("create* workers/new", ok());
	for (int i = 0; i < 20 && strcmp(store.open[0].text, "list! workers") != 0; i++)
		script_answer(0, names(NULL));
	cr_expect_eq(asked("get! roster/here:%2Fs"), 0);
	asks("list! workers", names(node.registry.id, NULL));
	cr_expect_eq(asked("get! roster/here:%2Fs"), 1);
}

Test(node_events, what_may_have_been_inherited_ends_with_the_session)
{
	node_take_over(&node, &kept, NULL, 0, true);
	cr_assert_eq(node_going(&node), 1);
	node.session.handlers.expired(node.session.handlers.arg);
	cr_expect_eq(node_going(&node), 0);
}

Test(node_events, a_clock_or_a_timeout_that_is_another_is_registered)
{
	is_up();
	store.n_open = 0;
	node.session.handlers.retimed(node.session.handlers.arg);
	asks("create* workers/new, delete workers/new", ok());
}

Test(node_events, the_order_of_pauses_ends_with_the_session)
{
	is_up();
	decided("p1", POLICY_PAUSE, "report", "");
	policy_gone(&node.policy, "p1");
	cr_assert_gt(t->due->paused_order, 0);
	connection(STORE_EXPIRED);
	cr_expect_eq(t->due->paused_order, 0);
}

/* The partitions are read last. */
Test(node_events, what_the_one_before_led_is_looked_for_when_the_partitions_are_known)
{
	node_take_over(&node, &kept, NULL, 0, true);
	connects();
	asks("get workers/new", failed(STORE_NO_NODE));
	asks("create* workers/new", ok());
	rest();
	wants("list! policy", names(NULL));
	cr_assert_str_eq(store.open[1].text, "list! workers");
	script_answer(1, names(node.registry.id, NULL));
	cr_expect(registry_recovers(&node.registry));
	wants("list! partitions", names(NULL));
	cr_expect_not(registry_recovers(&node.registry));
}

Test(node_events, a_job_that_was_taken_over_holds_its_task_once_that_is_there)
{
	const struct handoff_run job = {.task = "late", .tick = TICK, .id = "job", .token = TOKEN};
	struct task_settings late = settings_of("late");

	node_take_over(&node, &kept, &job, 1, true);
	node_configure(&node, &site_timing, &late, 1);
	cr_expect_gt(tasks_find_any(&node.leaders, "late")->going +
			     tasks_find_any(&node.leaders, "late")->dying,
		     0);
}

Test(node_events, a_worker_that_joins_with_other_settings_of_a_task_is_found_out)
{
	node_set_notices(&node, NULL, 0);
	is_up();
	store.n_open = 0;
	worker_digest = 99;
	fleet_is("b", NULL);
	wants("get workers/b", worker_of("b", "1.0"));
	cr_expect_eq(fleet_find(&node.registry.fleet, "b")->n_disagreements, 1);
}

Test(node_events, all_timers_are_given_up_at_the_end)
{
	is_up();
	fires(STORE_CHILDREN_CHANGED, "workers");
	for (size_t i = 0; i < TIMERS; i++)
		host_timer_start(timers[i].timer, 1000);
	host_timer_start(&node.registry.retry, 1000);
	host_timer_start(&node.session.retry, 1000);
	node_done(&node);
	for (size_t i = 0; i < host.n_timers; i++)
		cr_expect_eq(host.rings[i], 0, "timer %zu", i);
}
