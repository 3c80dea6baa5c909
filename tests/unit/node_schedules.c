/* Schedules: what is asked of ZooKeeper for what is due, and what is offered when. */
#include "node_site.h"

#include "node/ledger/counts.h"
#include "node/runs/runs.h"
#include "node/schedule/schedules.h"
#include "wire/records/schedule_record.h"

#define RUNS	 "runs/report"
#define SCHEDULE "schedules/report"

static struct runs runs;
static struct schedules schedules;
static struct schedule minutely;
static struct task_schedule settings;
static char caller;
static int offers;
static struct schedule_due offered;
static char outcome[32];
static struct run_answer told;

static void on_answer(void *owner, uint32_t request, const struct run_answer *answer)
{
	(void)owner, (void)request;
	told = *answer;
	snprintf(outcome, sizeof(outcome), "%s", answer->outcome ? answer->outcome : "");
}

static void on_released(void *owner)
{
	(void)owner;
}

static void on_kept(void *arg, const struct handoff_run *list, size_t n)
{
	(void)arg, (void)list, (void)n;
}

static void on_due(void *arg, struct task *t, const struct schedule_due *due)
{
	(void)arg;
	cr_assert_str_eq(t->name, "report");
	offers++;
	offered = *due;
}

static void on_noted(void *arg, struct task *t, const char *tick, const struct run_record *record)
{
	(void)arg;
	schedules_noted(&schedules, t, tick, record);
}

static void on_older(void *arg, struct task *t, const char *tick)
{
	(void)arg;
	schedules_older(&schedules, t, tick);
}

static void on_task_changed(struct task *t)
{
	runs_changed(&runs);
	schedules_task_changed(&schedules, t);
}

static void on_watched(enum store_watch type, const char *path)
{
	runs_watch(&runs, type, path);
	schedules_watch(&schedules, path);
}

static void begin(void)
{
	static const struct runs_handlers handlers = {.answer = on_answer, .released = on_released};
	struct schedule_error error;

	site_begin();
	runs_init(&runs, &host, &session, &leaders, &handlers, on_kept, NULL);
	runs.noted = on_noted;
	runs.older = on_older;
	schedules_init(&schedules, &host, &leaders, &policy);
	schedules.due = on_due;
	site.task_changed = on_task_changed;
	site.watched = on_watched;
	cr_assert_eq(schedule_parse("* * * * *", "report", &minutely, &error), 0);
	settings = (struct task_schedule){.text = "* * * * *",
					  .timezone = "UTC",
					  .schedule = &minutely,
					  .catch_up = OWED_LAST,
					  .window_ms = 3600000,
					  .timeout_ms = 7000};
	lead("report");
	/* Ten seconds behind a full minute. */
	pass(60000 - host_wall_ms(&host) % 60000 + 10000);
	task_of("report")->listing->settings.schedule = &settings;
	schedules_changed(&schedules);
}

TestSuite(schedules, .init = begin);

/* Nothing is asked but what every node looks at now and then. */
static void quiet(void)
{
	pass(0);
	if (store.n_open > 0 && strcmp(store.open[0].text, "exists leaders") == 0)
		asks("exists leaders", failed(STORE_UNKNOWN));
	idle();
}

static int64_t minute_ms(int64_t from_now)
{
	return (host_wall_ms(&host) / 60000 + from_now) * 60000;
}

static const char *minute(int64_t from_now)
{
	static char texts[8][TICK_NAME_SIZE];
	static unsigned at;
	char *text = texts[at++ % 8];

	tick_name(minute_ms(from_now), text);
	return text;
}

static struct store_reply in_force(const char *text, int64_t since)
{
	static struct buffer data;
	struct schedule_record r = {.timezone = "UTC", .since = since};

	snprintf(r.text, sizeof(r.text), "%s", text);
	buffer_done(&data);
	buffer_init(&data, RECORD_SCHEDULE_MAX);
	cr_assert_eq(record_pack_schedule(&data, &r), 0);
	return holds(data.data, data.len, (struct store_stat){.version = 4});
}

static int64_t failures = -1; /* in records: of earlier attempts; -1: it is not said */

static struct store_reply record_of(const char *state, int64_t attempt, int64_t ended_at)
{
	static struct buffer data;
	struct run_record r = {.id = "b",
			       .hostname = "there",
			       .session = 'b',
			       .token = 40,
			       .attempt = attempt,
			       .failures = failures,
			       .started_at = WALL_MS,
			       .ended_at = ended_at,
			       .exit_status = -1};

	snprintf(r.state, sizeof(r.state), "%s", state);
	buffer_done(&data);
	buffer_init(&data, RECORD_RUN_MAX);
	cr_assert_eq(record_pack_run(&data, &r), 0);
	return holds(data.data, data.len, (struct store_stat){.version = 3});
}

/* The ledger, as a leadership begins. */
static void reads(struct store_reply list)
{
	asks("get " RUNS, ok());
	asks("list " RUNS, list);
}

/* In force for ever, and nothing has been decided. */
static void fresh(void)
{
	asks("get " SCHEDULE, in_force("* * * * *", host_wall_ms(&host) - 1000));
	asks("get " RUNS, failed(STORE_NO_NODE));
	asks("list " RUNS, failed(STORE_NO_NODE));
	idle();
}

static const char *said(const char *before, const char *tick, const char *behind)
{
	static char texts[4][400];
	static unsigned at;
	char *text = texts[at++ % 4];

	snprintf(text, sizeof(texts[0]), "%s/%s%s", before, tick, behind);
	return text;
}

static void claim(int64_t tick_ms, int64_t attempt)
{
	outcome[0] = '\0';
	runs_claim(&runs, &caller, 1, task_of("report"),
		   &(struct run_options){.id = "run-1",
					 .now_ms = tick_ms,
					 .tick_ms = 1000,
					 .wait_ms = 10000,
					 .scheduled = attempt,
					 .index = -1,
					 .pid = 1});
	pass(0);
}

Test(schedules, the_first_leader_puts_it_in_force)
{
	asks("get " SCHEDULE, failed(STORE_NO_NODE));
	asks("check workers/me, check leaders/report, create " SCHEDULE,
	     failed_at(STORE_NO_NODE, 2));
	asks("create schedules", ok());
	asks("get " SCHEDULE, failed(STORE_NO_NODE));
	asks("check workers/me, check leaders/report, create " SCHEDULE, ok());
	asks("get " RUNS, failed(STORE_NO_NODE));
	asks("list " RUNS, failed(STORE_NO_NODE));
	quiet();
	cr_expect_eq(offers, 0);
}

Test(schedules, a_tick_is_offered_at_its_instant_and_claimed)
{
	int64_t tick_ms = minute_ms(1);
	const char *tick = minute(1);

	fresh();
	pass(49999);
	quiet();
	cr_expect_eq(offers, 0);
	pass(1);
	cr_assert_eq(offers, 1);
	cr_expect_eq(offered.tick_ms, tick_ms);
	cr_expect_eq(offered.attempt, 1);
	cr_expect_eq(offered.timeout_ms, 7000);
	quiet();
	claim(tick_ms, 1);
	reads(names(NULL));
	asks(said("check workers/me, check leaders/report, check " RUNS " v0, create " RUNS, tick,
		  ""),
	     ok());
	cr_expect_str_eq(outcome, "yours");
	pass(20000);
	quiet();
	cr_expect_eq(offers, 1, "claimed, it is offered no more");
}

Test(schedules, what_nobody_claims_is_offered_again)
{
	fresh();
	pass(50000);
	cr_expect_eq(offers, 1);
	pass(1999);
	cr_expect_eq(offers, 1);
	pass(1);
	cr_expect_eq(offers, 2);
	pass(4000);
	cr_expect_eq(offers, 3);
}

/* The runner has come in between: it need not wait for that. */
Test(schedules, who_comes_is_told_what_is_on_offer)
{
	fresh();
	task_of("report")->listing->settings.has_user = true;
	task_of("report")->listing->settings.user = 1000;
	pass(50000);
	cr_expect_eq(offers, 1);
	schedules_tell_anew(&schedules, 1001);
	pass(1);
	cr_expect_eq(offers, 1, "another's");
	schedules_tell_anew(&schedules, 1000);
	pass(1);
	cr_expect_eq(offers, 2);
	pass(3000);
	cr_expect_eq(offers, 2);
}

Test(schedules, what_is_not_on_offer_is_not_claimed)
{
	fresh();
	claim(minute_ms(0), 1);
	cr_expect_str_eq(outcome, "taken");
	pass(50000);
	quiet();
	claim(minute_ms(0), 2);
	cr_expect_str_eq(outcome, "taken");
	quiet();
}

Test(schedules, another_text_comes_into_force_and_owes_nothing)
{
	asks("get " SCHEDULE, in_force("0 * * * *", WALL_MS));
	asks("check workers/me, check leaders/report, set " SCHEDULE " v4", ok());
	reads(names(NULL));
	quiet();
	cr_expect_eq(offers, 0);
}

Test(schedules, of_what_is_owed_the_last_is_run_and_the_others_are_missed)
{
	const char *a = minute(-3), *b = minute(-2), *c = minute(-1);
	char text[600];

	asks("get " SCHEDULE, in_force("* * * * *", WALL_MS - 3600000));
	reads(names(a, NULL));
	asks(said("get! " RUNS, a, ""), record_of("ok", 1, WALL_MS));
	reads(names(a, NULL));
	cr_expect_eq(offers, 0, "what is missed is told first");
	snprintf(text, sizeof(text),
		 "check workers/me, check leaders/report, check " RUNS " v0, create " RUNS
		 "/%s, create " RUNS "/%s",
		 b, c);
	asks(text, ok());
	quiet();
	cr_expect_eq(offers, 1);
	cr_expect_eq(offered.tick_ms, minute_ms(0));
	cr_expect_eq(counts_of(task_of("report"))->missed, 2);
}

Test(schedules, what_failed_is_tried_again_after_its_delay)
{
	const char *last = minute(0);
	int64_t tick_ms = minute_ms(0);

	settings.retries = 1;
	settings.retry_delay_ms = 30000;
	asks("get " SCHEDULE, in_force("* * * * *", WALL_MS - 3600000));
	reads(names(last, NULL));
	asks(said("get! " RUNS, last, ""), record_of("failed", 1, host_wall_ms(&host) - 10000));
	quiet();
	pass(19999);
	cr_expect_eq(offers, 0);
	pass(1);
	cr_assert_eq(offers, 1);
	cr_expect_eq(offered.tick_ms, tick_ms);
	cr_expect_eq(offered.attempt, 2);
	claim(tick_ms, 2);
	asks(said("exists! " RUNS, last, ""), of_stat((struct store_stat){.version = 3}));
	asks(said("get " RUNS, last, ""), record_of("failed", 1, host_wall_ms(&host)));
	asks(said("set " RUNS, last, " v3, check workers/me, check leaders/report"), ok());
	cr_expect_str_eq(outcome, "yours");
	cr_expect_eq(told.attempt, 2);
}

Test(schedules, no_more_attempts_than_retries)
{
	const char *last = minute(0);

	settings.retries = 1;
	asks("get " SCHEDULE, in_force("* * * * *", WALL_MS - 3600000));
	reads(names(last, NULL));
	asks(said("get! " RUNS, last, ""), record_of("failed", 2, host_wall_ms(&host)));
	pass(40000);
	quiet();
	cr_expect_eq(offers, 0);
}

/* Two of them were lost: one alone has failed. */
Test(schedules, what_was_lost_uses_up_no_retries)
{
	const char *last = minute(0);

	settings.retries = 1;
	failures = 0;
	asks("get " SCHEDULE, in_force("* * * * *", WALL_MS - 3600000));
	reads(names(last, NULL));
	asks(said("get! " RUNS, last, ""), record_of("failed", 3, host_wall_ms(&host)));
	quiet();
	cr_assert_eq(offers, 1);
	cr_expect_eq(offered.attempt, 4);
	claim(minute_ms(0), 4);
	asks(said("exists! " RUNS, last, ""), of_stat((struct store_stat){.version = 3}));
	asks(said("get " RUNS, last, ""), record_of("failed", 3, host_wall_ms(&host)));
	asks(said("set " RUNS, last, " v3, check workers/me, check leaders/report"), ok());
	struct run_record r;
	const char *why;
	cr_assert_eq(record_parse_run(store.last.data, store.last.len, &r, &why), 0, "%s", why);
	cr_expect_eq(r.attempt, 4);
	cr_expect_eq(r.failures, 1);
}

Test(schedules, a_lost_run_is_run_again_where_that_is_wanted)
{
	const char *last = minute(0);

	task_of("report")->listing->settings.on_crash = TASK_ON_CRASH_RERUN;
	joins("b", "0.9", 1);
	asks("get " SCHEDULE, in_force("* * * * *", WALL_MS - 3600000));
	reads(names(last, NULL));
	asks(said("get! " RUNS, last, ""), record_of("running", 1, 0));
	quiet();
	cr_expect_eq(offers, 0);
	leaves("b");
	schedules_changed(&schedules);
	pass(0);
	cr_expect_eq(offers, 1);
	cr_expect_eq(offered.attempt, 2);
}

/* Else people would be told of a good end again, once a newer tick has failed. */
Test(schedules, another_attempt_follows_what_was_lost_and_not_what_is_done)
{
	struct run_record r = {.state = "ok", .attempt = 1};

	task_of("report")->listing->settings.on_crash = TASK_ON_CRASH_RERUN;
	fresh();
	cr_expect_not(schedules_follows(task_of("report"), minute(0), &r));
	memcpy(r.state, "lost", sizeof("lost"));
	cr_expect(schedules_follows(task_of("report"), minute(0), &r));
	memcpy(r.state, "failed", sizeof("failed"));
	cr_expect_not(schedules_follows(task_of("report"), minute(0), &r));
}

/* The lost tick was claimed first, and would not be the newest any more. */
Test(schedules, what_was_lost_goes_before_what_is_due)
{
	const char *last = minute(-1);
	int64_t tick_ms = minute_ms(-1), due_ms = minute_ms(0);

	task_of("report")->listing->settings.on_crash = TASK_ON_CRASH_RERUN;
	asks("get " SCHEDULE, in_force("* * * * *", WALL_MS - 3600000));
	reads(names(last, NULL));
	asks(said("get! " RUNS, last, ""), record_of("running", 1, 0));
	quiet();
	cr_assert_eq(offers, 1);
	cr_expect_eq(offered.tick_ms, tick_ms);
	cr_expect_eq(offered.attempt, 2);
	pass(29999);
	cr_expect_eq(offered.tick_ms, tick_ms);
	pass(1);
	cr_expect_eq(offered.tick_ms, due_ms, "what nobody takes holds nothing else up for ever");
}

/* Ticks that were missed while it went on are later than it. */
Test(schedules, what_was_lost_is_found_behind_what_was_missed)
{
	const char *before = minute(-3), *lost = minute(-2), *a = minute(-1), *b = minute(0);
	int64_t tick_ms = minute_ms(-2);

	task_of("report")->listing->settings.on_crash = TASK_ON_CRASH_RERUN;
	asks("get " SCHEDULE, in_force("* * * * *", WALL_MS - 3600000));
	reads(names(before, b, lost, a, NULL));
	asks(said("get! " RUNS, b, ""), record_of("missed", 1, WALL_MS));
	asks(said("get! " RUNS, a, ""), record_of("missed", 1, WALL_MS));
	asks(said("get! " RUNS, lost, ""), record_of("lost", 1, WALL_MS));
	asks(said("get! " RUNS, before, ""), record_of("ok", 1, WALL_MS));
	quiet();
	cr_assert_eq(offers, 1);
	cr_expect_eq(offered.tick_ms, tick_ms);
	cr_expect_eq(offered.attempt, 2);
	pass(1);
	/* A run that has ended is not watched any more. */
	cr_expect_eq(session.watches.used[WATCH_RUN],
		     strlen(said(ROOT "/" RUNS, lost, "")) + WATCH_PATH_BYTES);
	tasks_apply(&leaders, &site_timing, NULL, 0);
	schedules_configured(&schedules);
	pass(1);
	cr_expect_eq(session.watches.used[WATCH_RUN], 0, "nor of a task that is gone");
}

/* A tick before the newest is triggered once more, and its run is lost. */
Test(schedules, what_is_lost_behind_a_later_one_is_run_again)
{
	const char *before = minute(-1), *last = minute(0);
	int64_t tick_ms = minute_ms(-1);
	struct run_record run = {.id = "me", .attempt = 2, .state = "running", .exit_status = -1};

	task_of("report")->listing->settings.on_crash = TASK_ON_CRASH_RERUN;
	asks("get " SCHEDULE, in_force("* * * * *", WALL_MS - 3600000));
	reads(names(before, last, NULL));
	asks(said("get! " RUNS, last, ""), record_of("ok", 1, WALL_MS));
	asks(said("get! " RUNS, before, ""), record_of("ok", 1, WALL_MS));
	quiet();
	schedules_noted(&schedules, task_of("report"), before, &run);
	strcpy(run.state, "lost");
	schedules_noted(&schedules, task_of("report"), before, &run);
	pass(0);
	cr_assert_eq(offers, 1);
	cr_expect_eq(offered.tick_ms, tick_ms);
	cr_expect_eq(offered.attempt, 3);
}

/* A clock that was an hour ahead began it. */
Test(schedules, what_is_lost_ahead_of_its_time_waits_for_that)
{
	const char *ahead = minute(60);

	registry.clocks.skew =
		(struct skew){.known = true, .base_ms = host_wall_ms(&host) - host_now_ms(&host)};

	task_of("report")->listing->settings.on_crash = TASK_ON_CRASH_RERUN;
	asks("get " SCHEDULE, in_force("* * * * *", WALL_MS - 3600000));
	reads(names(ahead, NULL));
	asks(said("get! " RUNS, ahead, ""), record_of("lost", 1, WALL_MS));
	quiet();
	cr_expect_eq(offers, 0);
}

/* A run ends while the ledger is read, here or elsewhere: what was read of it does not stand. */
static void ends_while_it_is_read(bool elsewhere)
{
	const char *lost = minute(-1), *last = minute(0);
	int64_t tick_ms = minute_ms(-1);
	struct run_record ended = {.id = "me", .attempt = 2, .state = "lost", .exit_status = -1};

	task_of("report")->listing->settings.on_crash = TASK_ON_CRASH_RERUN;
	joins("b", "0.9", 1);
	for (int i = 0; i < 2; i++) {
		asks("get " SCHEDULE, in_force("* * * * *", WALL_MS - 3600000));
		reads(names(lost, last, NULL));
		asks(said("get! " RUNS, last, ""), record_of("missed", 1, WALL_MS));
		if (i == 0 && elsewhere)
			schedules_watch(&schedules, said(ROOT "/" RUNS, lost, ""));
		else if (i == 0)
			schedules_noted(&schedules, task_of("report"), lost, &ended);
		asks(said("get! " RUNS, lost, ""), record_of(i == 0 ? "running" : "lost", 2, 0));
		pass(1000);
	}
	quiet();
	cr_assert_eq(offers, 1);
	cr_expect_eq(offered.tick_ms, tick_ms);
	cr_expect_eq(offered.attempt, 3);
}

Test(schedules, what_ends_here_while_the_ledger_is_read_is_read_again)
{
	ends_while_it_is_read(false);
}

Test(schedules, what_ends_elsewhere_while_the_ledger_is_read_is_read_again)
{
	ends_while_it_is_read(true);
}

/* How many requests are open, but for what every node looks at now and then. */
static size_t open_requests(void)
{
	size_t n = 0;

	pass(0);
	for (size_t i = 0; i < store.n_open; i++)
		n += strcmp(store.open[i].text, "exists leaders") != 0;
	return n;
}

/* A missed tick would be older than the one that is written. */
Test(schedules, nothing_is_missed_beside_a_claim)
{
	settings.catch_up = OWED_NONE;
	fresh();
	pass(50000);
	cr_assert_eq(offers, 1);
	claim(offered.tick_ms, 1);
	size_t open = open_requests();
	cr_assert_gt(open, 0, "the claim is on its way");
	pass(72000);
	cr_expect_eq(open_requests(), open);
}

/* Decides, as somebody did elsewhere, that a pause ended then. */
static void pause_ended(int64_t ms)
{
	decides("d1", POLICY_ENDED, "report", "", "");
	policy.items[0]->record.since = ms;
}

/* Each minute since an hour ago, and no tick of it has a record. */
static void reads_what_is_in_force(void)
{
	asks("get " SCHEDULE, in_force("* * * * *", WALL_MS - 3600000));
	reads(names(NULL));
	quiet();
}

/* Somebody takes its record back later: what came between is owed. */
Test(schedules, a_pause_that_ended_by_itself_ended_then)
{
	struct policy_item pause = {.kind = POLICY_PAUSE,
				    .record = {.kind = "pause", .task = "report"}};

	pause.record.since = host_wall_ms(&host) - 60000;
	schedules_decided(&schedules, &pause, true);
	pause_ended(host_wall_ms(&host) - 20000);
	reads_what_is_in_force();
	cr_assert_eq(offers, 1);
	cr_expect_eq(offered.tick_ms, minute_ms(0));
}

/*
 * The pause was made by a clock that was ahead, and ended while ours was behind: what was written
 * counts.
 */
Test(schedules, which_pause_has_ended_is_no_matter_of_clocks)
{
	struct policy_item pause = {
		.kind = POLICY_PAUSE, .order = 0, .record = {.kind = "pause", .task = "report"}};

	pause.record.since = host_wall_ms(&host) + 300000;
	schedules_decided(&schedules, &pause, true);
	schedule_state(task_of("report"))->ended_ms = host_wall_ms(&host) - 300000;
	pause_ended(host_wall_ms(&host));
	reads_what_is_in_force();
	cr_expect_eq(offers, 0);
}

/*
 * The last pause was taken back without a record, and an earlier one has left its end: what we saw
 * counts.
 */
Test(schedules, the_end_of_an_earlier_pause_is_not_that_of_the_last)
{
	struct policy_item pause = {
		.kind = POLICY_PAUSE, .order = 9, .record = {.kind = "pause", .task = "report"}};

	pause_ended(host_wall_ms(&host) - 7200000);
	schedules_decided(&schedules, &pause, true);
	reads_what_is_in_force();
	cr_expect_eq(offers, 0);
}

/* The servers have lost all their data, and number what is written since from the beginning. */
Test(schedules, the_order_of_before_a_session_is_no_matter_in_the_next)
{
	struct policy_item pause = {
		.kind = POLICY_PAUSE, .order = 9, .record = {.kind = "pause", .task = "report"}};

	schedules_decided(&schedules, &pause, true);
	schedule_state(task_of("report"))->ended_ms = host_wall_ms(&host) - 300000;
	schedules_expired(&schedules);
	pause_ended(host_wall_ms(&host));
	policy.items[0]->order = 0; /* it was read before */
	reads_what_is_in_force();
	cr_expect_eq(offers, 0);
}

Test(schedules, nothing_is_owed_from_before_the_end_of_a_pause)
{
	pause_ended(host_wall_ms(&host));
	reads_what_is_in_force();
	cr_expect_eq(offers, 0);
	pass(50000);
	cr_expect_eq(offers, 1);
	cr_expect_eq(offered.tick_ms, minute_ms(0));
}

/* The task was led in partitions until then. */
static void whole_again(int64_t when_ms)
{
	splits_in_force("report", 1, 4);
	leaders.partitions.rules[0].ctime = when_ms;
}

Test(schedules, nothing_is_owed_from_before_a_change_of_the_partitions)
{
	whole_again(host_wall_ms(&host));
	reads_what_is_in_force();
	cr_expect_eq(offers, 0);
	pass(50000);
	cr_expect_eq(offers, 1);
	cr_expect_eq(offered.tick_ms, minute_ms(0));
}

/* Two runs are lost, and a pause ends between them, which was there before they were read or is told later. */
static void two_are_lost(bool later)
{
	const char *before = minute(-2), *lost = minute(-1), *last = minute(0);
	int64_t ended_ms = minute_ms(-2) + 1000;

	task_of("report")->listing->settings.on_crash = TASK_ON_CRASH_RERUN;
	if (!later)
		pause_ended(ended_ms);
	for (int i = 0; i < (later ? 2 : 1); i++) {
		asks("get " SCHEDULE, in_force("* * * * *", WALL_MS - 3600000));
		reads(names(before, lost, last, NULL));
		asks(said("get! " RUNS, last, ""), record_of("ok", 1, WALL_MS));
		asks(said("get! " RUNS, lost, ""), record_of("lost", 1, WALL_MS));
		asks(said("get! " RUNS, before, ""), record_of("lost", 1, WALL_MS));
		if (later && i == 0) {
			pause_ended(ended_ms);
			schedules_decided(&schedules, policy.items[0], false);
		}
		pass(1000);
	}
	quiet();
	cr_expect_eq(offered.tick_ms, minute_ms(-1));
	cr_expect_eq(offered.attempt, 2);
}

Test(schedules, what_was_lost_before_a_pause_does_not_hide_what_was_lost_since)
{
	two_are_lost(false);
}

Test(schedules, what_was_lost_before_a_pause_is_no_matter_once_its_end_is_known)
{
	two_are_lost(true);
}

/* Somebody triggers that tick, and the leader hears of it. */
static void trigger(const char *tick)
{
	decides("d1", POLICY_TRIGGER, "report", tick, "");
	schedules_decided(&schedules, policy.items[0], false);
}

/* Answers the look for the tick: there is no record, of this tick or another. */
static void looks_for(const char *tick)
{
	asks(said("exists " RUNS, tick, ""), failed(STORE_NO_NODE));
	asks("list " RUNS, names(NULL));
	pass(0);
}

static const char *second(void)
{
	static char tick[TICK_NAME_SIZE];

	tick_name(host_wall_ms(&host) / 1000 * 1000, tick);
	return tick;
}

Test(schedules, what_is_triggered_is_offered_and_goes_with_its_claim)
{
	int64_t tick_ms = host_wall_ms(&host) / 1000 * 1000;
	const char *tick = second(), *why;
	char text[400];
	struct run_record r;

	fresh();
	trigger(tick);
	looks_for(tick);
	cr_assert_eq(offers, 1);
	cr_expect(offered.triggered);
	cr_expect_eq(offered.tick_ms, tick_ms);
	claim(tick_ms, 1);
	reads(names(NULL));
	snprintf(text, sizeof(text),
		 "check workers/me, check leaders/report, check " RUNS " v0, create " RUNS
		 "/%s, delete policy/d1",
		 tick);
	asks(text, ok());
	cr_expect_str_eq(outcome, "yours");
	cr_assert_eq(record_parse_run(store.last.data, store.last.len, &r, &why), 0, "%s", why);
	cr_expect_str_eq(r.by, "root@there");
	decides_no_more("d1");
	pass(5000);
	cr_expect_eq(offers, 1);
}

Test(schedules, what_is_triggered_again_is_the_next_attempt)
{
	const char *tick = second();

	fresh();
	trigger(tick);
	asks(said("exists " RUNS, tick, ""), ok());
	asks(said("get " RUNS, tick, ""), record_of("ok", 4, WALL_MS));
	pass(0);
	cr_expect_eq(offers, 1);
	cr_expect_eq(offered.attempt, 5);
	cr_expect(offered.triggered);
}

Test(schedules, what_is_triggered_from_before_a_change_of_the_partitions_is_dropped)
{
	const char *tick = second();

	joins("b", "0.9", 1);
	fresh();
	whole_again(host_wall_ms(&host));
	trigger(tick);
	asks("delete policy/d1", ok());
	cr_expect_eq(offers, 0);
}

/* A trigger that cannot be run any more goes, and stands in nobody's way. */
Test(schedules, what_cannot_be_run_is_dropped)
{
	const char *tick = second();

	fresh();
	for (int i = 0; i < 2; i++) {
		trigger(i == 1 ? "nonsense" : tick);
		if (i == 0) {
			asks(said("exists " RUNS, tick, ""), ok());
			asks(said("get " RUNS, tick, ""), holds("x", 1, (struct store_stat){0}));
		}
		asks("delete policy/d1", ok());
		cr_expect_eq(offers, 0, "case %d", i);
		decides_no_more("d1");
		schedules_changed(&schedules);
		quiet();
	}
}

/* All that is kept is later, by another clock or as others were triggered meanwhile. */
Test(schedules, what_is_triggered_runs_although_it_is_older_than_what_is_kept)
{
	const char *tick = second(), *later = minute(1);
	char text[400];

	fresh();
	trigger(tick);
	asks(said("exists " RUNS, tick, ""), failed(STORE_NO_NODE));
	asks("list " RUNS, names(later, NULL));
	pass(0);
	cr_assert_eq(offers, 1);
	cr_expect_eq(offered.attempt, 1);
	claim(offered.tick_ms, 1);
	asks("get " RUNS, holds(later, TICK_NAME_SIZE - 1, (struct store_stat){0}));
	asks("list " RUNS, names(later, NULL));
	snprintf(text, sizeof(text),
		 "check workers/me, check leaders/report, check " RUNS " v0, create " RUNS
		 "/%s, delete policy/d1",
		 tick);
	asks(text, ok());
	cr_expect_str_eq(outcome, "yours");
}

/* Another attempt of it goes on: its order waits for the end of that. */
Test(schedules, what_is_triggered_while_its_tick_runs_waits)
{
	const char *tick = second();

	joins("b", "0.9", 1);
	fresh();
	trigger(tick);
	for (int i = 0; i < 3; i++) {
		asks(said("exists " RUNS, tick, ""), ok());
		asks(said("get " RUNS, tick, ""), record_of("running", 1, 0));
		quiet();
		cr_expect_eq(offers, 0);
		pass(2000);
	}
	asks(said("exists " RUNS, tick, ""), ok());
	asks(said("get " RUNS, tick, ""), record_of("failed", 1, host_wall_ms(&host)));
	pass(0);
	cr_expect_eq(offers, 1);
	cr_expect_eq(offered.attempt, 2);
}

/* Expects that the order's tick is recorded as missed. */
static void misses(const char *tick, struct store_reply reply)
{
	char text[400];

	asks("get " RUNS, ok());
	asks("list " RUNS, names(NULL));
	snprintf(text, sizeof(text),
		 "check workers/me, check leaders/report, check " RUNS " v0, create " RUNS
		 "/%s, delete policy/d1",
		 tick);
	asks(text, reply);
}

static void expire(const char *tick)
{
	settings.window_ms = 60000;
	minutely = (struct schedule){.every_s = INT64_C(1) << 40};
	fresh();
	for (int i = 0; i < 12; i++) {
		pass(10000);
		quiet();
	}
	trigger(tick);
}

/* A hundred seconds ago it was ordered, and its tick chosen. */
static const char *long_ago(void)
{
	static char tick[TICK_NAME_SIZE];

	tick_name((host_wall_ms(&host) + 20000) / 1000 * 1000, tick);
	return tick;
}

Test(schedules, what_nobody_has_begun_in_time_expires_and_is_recorded_as_missed)
{
	const char *tick = long_ago(), *why;
	struct run_record r;

	expire(tick);
	misses(tick, ok());
	cr_assert_eq(record_parse_run(store.last.data, store.last.len, &r, &why), 0, "%s", why);
	cr_expect_str_eq(r.state, "missed");
	cr_expect_str_eq(r.by, "root@there");
	cr_expect_eq(counts_of(task_of("report"))->missed, 1);
	cr_expect_eq(policy.n, 0);
	cr_expect_eq(offers, 0);
	quiet();
}

/* The tick that was to be run again has its record already. */
Test(schedules, what_has_a_record_expires_without_another)
{
	char tick[TICK_NAME_SIZE];

	tick_name(WALL_MS / 1000 * 1000 - 10000, tick);
	expire(tick);
	asks("delete policy/d1", ok());
	cr_expect_eq(policy.n, 0);
	cr_expect_eq(offers, 0);
	quiet();
}

Test(schedules, what_got_a_record_meanwhile_expires_without_another)
{
	const char *tick = long_ago();

	expire(tick);
	misses(tick, failed(STORE_NODE_EXISTS));
	pass(1000);
	asks("get " SCHEDULE, in_force("* * * * *", WALL_MS - 3600000));
	reads(names(tick, NULL));
	asks(said("get! " RUNS, tick, ""), record_of("ok", 1, WALL_MS));
	asks("delete policy/d1", ok());
	cr_expect_eq(policy.n, 0);
	quiet();
}

/* Ticks are not run again that such a clock has run, and what is shown says until when. */
Test(schedules, what_a_clock_that_was_ahead_has_decided_stands_still_until_then)
{
	const struct task *t = task_of("report");

	cr_expect_eq(schedules_decided_until(&schedules, t), 0);
	registry.clocks.skew.known = true; /* by the server's clock, too */
	asks("get " SCHEDULE, in_force("* * * * *", WALL_MS - 3600000));
	reads(names(minute(100), NULL));
	asks(said("get! " RUNS, minute(100), ""), record_of("ok", 1, WALL_MS));
	pass(120000);
	cr_expect_eq(offers, 0);
	cr_expect_eq(schedules_decided_until(&schedules, t), minute_ms(98));
}

Test(schedules, a_trigger_that_is_ahead_of_our_clock_waits_for_it)
{
	char tick[TICK_NAME_SIZE];

	fresh();
	tick_name(host_wall_ms(&host) / 1000 * 1000 + 3000, tick);
	trigger(tick);
	looks_for(tick);
	cr_expect_eq(offers, 0);
	pass(2999);
	cr_expect_eq(offers, 0);
	pass(1);
	cr_expect_eq(offers, 1);
}

/* Meanwhile its record may have gone, or come: what nobody claims is looked at again. */
Test(schedules, a_trigger_that_nobody_claims_is_looked_at_again)
{
	const char *tick = second();

	fresh();
	trigger(tick);
	looks_for(tick);
	cr_expect_eq(offers, 1);
	pass(2000);
	cr_expect_eq(offers, 1);
	asks(said("exists " RUNS, tick, ""), ok());
	asks(said("get " RUNS, tick, ""), record_of("failed", 1, WALL_MS));
	pass(0);
	cr_expect_eq(offers, 2);
	cr_expect_eq(offered.attempt, 2);
}

Test(schedules, a_tick_of_the_schedule_comes_before_what_is_triggered)
{
	const char *tick = second();

	fresh();
	pass(50000);
	cr_expect_eq(offers, 1);
	cr_expect_not(offered.triggered);
	trigger(tick);
	pass(2000);
	cr_expect_eq(offers, 2);
	cr_expect_not(offered.triggered, "it has not been claimed");
	quiet();
}

/* Another clock has claimed what is later: that it is there is found out by the claim. */
Test(schedules, what_the_ledger_refuses_as_older_is_decided)
{
	int64_t tick_ms = minute_ms(1);
	const char *later = minute(3);

	fresh();
	pass(50000);
	cr_assert_eq(offers, 1);
	quiet();
	claim(tick_ms, 1);
	asks("get " RUNS, holds(later, TICK_NAME_SIZE - 1, (struct store_stat){0}));
	asks("list " RUNS, names(later, NULL));
	cr_expect_eq(told.kind, RUN_ANSWER_FAILED);
	pass(1000);
	asks("get " SCHEDULE, in_force("* * * * *", host_wall_ms(&host) - 60000));
	asks("get " RUNS, holds(later, TICK_NAME_SIZE - 1, (struct store_stat){0}));
	asks("list " RUNS, names(later, NULL));
	asks(said("get! " RUNS, later, ""), record_of("ok", 1, WALL_MS));
	pass(60000);
	quiet();
	cr_expect_eq(offers, 1);
	pass(120000);
	cr_expect_eq(offers, 2, "the first behind it");
}

/* Nothing was pruned yet, and the oldest record is of a run by hand: that decides nothing. */
Test(schedules, what_was_triggered_hides_nothing_that_is_owed)
{
	char triggered[TICK_NAME_SIZE], text[400];
	const char *owed = minute(0);

	tick_name(host_wall_ms(&host) / 1000 * 1000 - 5000, triggered);
	asks("get " SCHEDULE, in_force("* * * * *", host_wall_ms(&host) - 30000));
	asks("get " RUNS, failed(STORE_NO_NODE));
	asks("list " RUNS, names(triggered, NULL));
	asks(said("get! " RUNS, triggered, ""), record_of("ok", 1, WALL_MS));
	quiet();
	cr_assert_eq(offers, 1);
	cr_expect_eq(offered.tick_ms, minute_ms(0));
	claim(minute_ms(0), 1);
	reads(names(triggered, NULL));
	snprintf(text, sizeof(text),
		 "check workers/me, check leaders/report, check " RUNS " v0, create " RUNS "/%s",
		 owed);
	asks(text, ok());
	cr_expect_str_eq(outcome, "yours");
}

/* history = 1, and somebody triggers the task while a tick waits for its splay. */
Test(schedules, a_run_by_hand_prunes_nothing_that_would_hide_what_is_owed)
{
	const char *before = minute(0), *due = minute(1), *tick;
	char text[400];
	int64_t by_hand_ms, due_ms = minute_ms(1);

	task_of("report")->listing->settings.history = 1;
	settings.splay_ms = 1;
	while (owed_splay("report", settings.splay_ms) < 20000)
		settings.splay_ms += 7001;
	asks("get " SCHEDULE, in_force("* * * * *", host_wall_ms(&host) - 3600000));
	reads(names(before, NULL));
	asks(said("get! " RUNS, before, ""), record_of("ok", 1, WALL_MS));
	pass(51000);
	quiet();
	cr_expect_eq(offers, 0, "it waits for its splay");
	tick = second();
	by_hand_ms = host_wall_ms(&host) / 1000 * 1000;
	trigger(tick);
	looks_for(tick);
	cr_assert(offers == 1 && offered.triggered);
	claim(by_hand_ms, 1);
	reads(names(before, NULL));
	snprintf(text, sizeof(text),
		 "check workers/me, check leaders/report, check " RUNS " v0, create " RUNS
		 "/%s, delete policy/d1",
		 tick);
	asks(text, ok());
	decides_no_more("d1");
	runs_finish(&runs, &caller, 2, told.run, &(struct run_outcome){.what.exit_status = 0});
	asks(said("set " RUNS, tick, " v0"), ok());
	pass(owed_splay("report", settings.splay_ms));
	cr_assert(offers == 2 && !offered.triggered);
	cr_expect_eq(offered.tick_ms, due_ms);
	claim(due_ms, 1);
	snprintf(text, sizeof(text),
		 "check workers/me, check leaders/report, set " RUNS " v0, create " RUNS
		 "/%s, delete " RUNS "/%s",
		 due, before);
	asks(text, ok());
	cr_expect_str_eq(outcome, "yours");
}

/* Ahead of every clock, it says nothing of those before it. */
Test(schedules, a_record_ahead_of_the_time_decides_nothing_before_it)
{
	char ahead[TICK_NAME_SIZE];

	registry.clocks.skew =
		(struct skew){.known = true, .base_ms = host_wall_ms(&host) - host_now_ms(&host)};
	tick_name(host_wall_ms(&host) / 1000 * 1000 + 86400000 + 5000, ahead);
	asks("get " SCHEDULE, in_force("* * * * *", host_wall_ms(&host) - 1000));
	asks("get " RUNS, failed(STORE_NO_NODE));
	asks("list " RUNS, names(ahead, NULL));
	asks(said("get! " RUNS, ahead, ""), record_of("ok", 1, WALL_MS));
	pass(50000);
	cr_expect_eq(offers, 1);
}

Test(schedules, an_answer_that_is_lost_begins_anew)
{
	asks("get " SCHEDULE, failed(STORE_UNKNOWN));
	quiet();
	pass(1000);
	fresh();
	pass(49000);
	cr_expect_eq(offers, 1);
}

/* --- what was decided, for any node ------------------------------------------------------------------------ */

static struct {
	int n;
	bool ok;
	int64_t since_ms, decided_ms;
} seen;

static void on_seen(void *arg, bool ok, int64_t since_ms, int64_t decided_ms)
{
	(void)arg;
	seen.n++;
	seen.ok = ok;
	seen.since_ms = since_ms;
	seen.decided_ms = decided_ms;
}

static void looks(struct store_reply schedule, struct store_reply floor, struct store_reply list)
{
	schedule_read_decided(&leaders, "report", on_seen, NULL);
	asks("get " SCHEDULE, schedule);
	asks("get " RUNS, floor);
	asks("list " RUNS, list);
	cr_assert(seen.ok);
}

Test(schedules, which_ticks_were_decided_is_read_by_any_node)
{
	int64_t since_ms = minute_ms(-60);
	char triggered[TICK_NAME_SIZE];

	fresh();
	looks(in_force("* * * * *", since_ms), failed(STORE_NO_NODE), failed(STORE_NO_NODE));
	cr_expect_eq(seen.since_ms, since_ms);
	cr_expect_eq(seen.decided_ms, 0);
	tick_name(minute_ms(-1) + 7000, triggered);
	looks(in_force("* * * * *", since_ms), ok(),
	      names(minute(-9), triggered, minute(-5), NULL));
	cr_expect_eq(seen.decided_ms, minute_ms(-5), "what was triggered decides nothing");
	const char *floor = minute(-3);
	looks(in_force("* * * * *", since_ms), holds(floor, strlen(floor), (struct store_stat){0}),
	      names(triggered, NULL));
	int64_t triggered_ms;
	cr_assert(tick_parse(triggered, &triggered_ms));
	cr_expect_eq(seen.decided_ms, triggered_ms - 1, "once something was pruned");
	looks(in_force("5 * * * *", since_ms), ok(), names(NULL));
	cr_expect_eq(seen.since_ms, INT64_MAX, "ours is not in force");
	looks(failed(STORE_NO_NODE), ok(), names(NULL));
	cr_expect_eq(seen.since_ms, INT64_MAX);
	schedule_read_decided(&leaders, "report", on_seen, NULL);
	asks("get " SCHEDULE, failed(STORE_UNKNOWN));
	cr_expect_not(seen.ok);
	cr_expect_eq(seen.n, 6);
	schedules_forget(task_of("report"));
	cr_expect_eq(schedule_floor(task_of("report")), 0, "who never led it");
}
