/* Runs on this host: what a claim asks of ZooKeeper, what its caller is told, and what holds the task meanwhile. */
#include "node_site.h"

#include "node/runs/runs.h"
#include "node/ledger/unclaimed.h"

#define TICK	"2026-11-18T11:06:00Z" /* that the wall clock is in */
#define BEFORE	"2026-11-18T11:05:00Z"
#define RECORD	"runs/report/" TICK
#define CLAIMED "check workers/me, check leaders/report, check runs/report v0, create " RECORD

static struct runs runs;
static char caller, other_caller; /* owners */
static struct run_answer told;
static int answers, releases;
static char outcome[32], why[400], notice[UNCLAIMED_TEXT_MAX], kept[200];

static void on_answer(void *owner, uint32_t request, const struct run_answer *answer)
{
	(void)request;
	cr_assert(owner, "who asked has gone: nobody is there to be told");
	answers++;
	told = *answer;
	snprintf(outcome, sizeof(outcome), "%s", answer->outcome ? answer->outcome : "");
	snprintf(why, sizeof(why), "%s", answer->why ? answer->why : "");
	snprintf(notice, sizeof(notice), "%s", answer->notice ? answer->notice : "");
}

static void on_released(void *owner)
{
	(void)owner;
	releases++;
}

static void on_kept(void *arg, const struct handoff_run *list, size_t n)
{
	(void)arg;
	kept[0] = '\0';
	for (size_t i = 0; i < n; i++)
		snprintf(kept + strlen(kept), sizeof(kept) - strlen(kept), "%s%s %s", i ? ", " : "",
			 list[i].task, list[i].tick);
}

static void on_task_changed(struct task *t)
{
	(void)t;
	runs_changed(&runs);
}

static void on_task_removed(struct task *t)
{
	runs_task_removed(&runs, t);
}

static void on_watched(enum store_watch type, const char *path)
{
	runs_watch(&runs, type, path);
}

static void begin(void)
{
	static const struct runs_handlers handlers = {.answer = on_answer, .released = on_released};

	site_begin();
	runs_init(&runs, &host, &session, &leaders, &handlers, on_kept, NULL);
	site.task_changed = on_task_changed;
	site.task_removed = on_task_removed;
	site.watched = on_watched;
}

TestSuite(runs, .init = begin);

#define tells(expected) script_tells(expected, __LINE__)
static void script_tells(const char *expected, int line)
{
	cr_assert_eq(answers, 1, "line %d: %d answers, the last \"%s\" %s", line, answers, outcome,
		     why);
	cr_expect_str_eq(outcome, expected, "line %d: %s %s", line, outcome, why);
	answers = 0;
}

static void claim_as(void *owner, struct run_options options)
{
	options.now_ms = host_wall_ms(&host);
	options.pid = 1;
	runs_claim(&runs, owner, 1, task_of("report"), &options);
	turn();
	pass(0);
}

static void claim_tick(int64_t wait_ms)
{
	claim_as(&caller, (struct run_options){
				  .id = "run-1", .tick_ms = TICK_MINUTE_MS, .wait_ms = wait_ms});
}

static struct store_reply record_with(struct run_record r)
{
	static struct buffer data;

	buffer_done(&data);
	buffer_init(&data, RECORD_RUN_MAX);
	cr_assert_eq(record_pack_run(&data, &r), 0);
	return holds(data.data, data.len, (struct store_stat){.version = 3});
}

static struct store_reply record_of(const char *state, int64_t by_session, const char *run)
{
	struct run_record r = {.id = "b",
			       .hostname = "there",
			       .session = by_session,
			       .token = 40,
			       .attempt = 1,
			       .started_at = WALL_MS,
			       .exit_status = -1};

	snprintf(r.state, sizeof(r.state), "%s", state);
	snprintf(r.run, sizeof(r.run), "%s", run);
	return record_with(r);
}

/* The tick is claimed by this node, and its job begins. */
static void start_job(void)
{
	lead("report");
	claim_tick(10000);
	asks("get runs/report", ok());
	asks("list runs/report", names(NULL));
	asks(CLAIMED, ok());
	tells("yours");
	idle();
}

static void last_written(struct run_record *ret)
{
	const char *reason;

	cr_assert_eq(record_parse_run(store.last.data, store.last.len, ret, &reason), 0, "%s",
		     store.last.text);
}

/* --- claims -------------------------------------------------------------------------------------------- */

Test(runs, the_leader_looks_claims_and_says_yours)
{
	start_job();
	cr_expect_eq(told.token, TOKEN);
	cr_expect_eq(told.attempt, 1);
	cr_expect_str_eq(told.tick, TICK);
	cr_expect_gt(told.lease_ms, 0);
	cr_expect_eq(releases, 0, "the caller supervises its job");
	cr_expect(runs_hold(&runs, task_of("report")));
	cr_expect_str_eq(kept, "report " TICK, "for the node that comes next");
}

Test(runs, a_tick_that_is_claimed_is_taken)
{
	lead("report");
	claim_tick(10000);
	asks("get runs/report", ok());
	asks("list runs/report", names(BEFORE, TICK, NULL));
	tells("taken");
	cr_expect_eq(releases, 1);
	cr_expect_not(runs_hold(&runs, task_of("report")));
	idle();
}

Test(runs, who_does_not_lead_waits_for_the_record_and_claims_nothing)
{
	configures("report", NULL);
	joins("b", "2.0", 9);
	joins("me", "1.0", 5);
	asks("get! leaders/report", led_by("b", 50));
	claim_tick(10000);
	asks("exists! " RECORD, failed(STORE_NO_NODE));
	asks("list runs/report", names(NULL));
	pass(5000);
	idle();
	cr_expect_eq(answers, 0);
	fires(STORE_NODE_CREATED, RECORD);
	pass(0);
	tells("taken");
}

Test(runs, who_has_waited_in_vain_is_told_so)
{
	configures("report", NULL);
	joins("b", "2.0", 9);
	joins("me", "1.0", 5);
	asks("get! leaders/report", led_by("b", 50));
	claim_tick(10000);
	asks("exists! " RECORD, failed(STORE_NO_NODE));
	asks("list runs/report", names(NULL));
	pass(9999);
	cr_expect_eq(answers, 0);
	pass(1);
	tells("waited");
	cr_expect_neq(strstr(notice, "host-b leads it and did not claim the tick"), NULL, "%s",
		      notice);
	pass(1);
	cr_expect_eq(session.watches.used[WATCH_WAIT], 0, "nobody waits for it any more");
}

Test(runs, who_waits_watches_until_it_is_gone)
{
	configures("report", NULL);
	joins("b", "2.0", 9);
	joins("me", "1.0", 5);
	asks("get! leaders/report", led_by("b", 50));
	claim_tick(10000);
	asks("exists! " RECORD, failed(STORE_NO_NODE));
	asks("list runs/report", names(NULL));
	cr_expect_eq(session.watches.used[WATCH_WAIT], strlen(ROOT "/" RECORD) + WATCH_PATH_BYTES);
	runs_owner_gone(&runs, &caller);
	pass(1);
	cr_expect_eq(session.watches.used[WATCH_WAIT], 0);
	cr_expect_str_eq(store.unwatched, ROOT "/" RECORD);
}

/* Without a watch the record is looked for by time. */
Test(runs, who_gets_no_watch_is_told_all_the_same)
{
	configures("report", NULL);
	joins("b", "2.0", 9);
	joins("me", "1.0", 5);
	asks("get! leaders/report", led_by("b", 50));
	session.watches.limit = 0;
	host.ahead_ms = -20000; /* the minute is the same to the end */
	claim_tick(2 * WATCH_LOOK_MS + 1000);
	for (int i = 0; i < 2; i++) {
		asks("exists " RECORD, failed(STORE_NO_NODE));
		asks("list runs/report", names(NULL));
		pass(WATCH_LOOK_MS);
	}
	asks("exists " RECORD, ok());
	tells("taken");
	claim_tick(1000); /* whose wait is over before that */
	asks("exists " RECORD, failed(STORE_NO_NODE));
	asks("list runs/report", names(NULL));
	pass(1000);
	asks("exists " RECORD, ok());
	tells("taken");
	claim_tick(1000);
	asks("exists " RECORD, failed(STORE_NO_NODE));
	asks("list runs/report", names(NULL));
	pass(1000);
	asks("exists " RECORD, failed(STORE_NO_NODE));
	asks("list runs/report", names(NULL));
	tells("waited");
}

Test(runs, nobody_runs_a_task_that_is_paused)
{
	lead("report");
	decides("p1", POLICY_PAUSE, "report", "", "");
	asks("set leaders/report v0, delete leaders/report v1", ok());
	claim_tick(10000);
	pass(60000);
	cr_expect_eq(answers, 1);
	cr_expect_str_eq(outcome, "nobody");
	cr_expect_str_eq(why, "the task is paused");
}

Test(runs, a_lost_answer_is_looked_for_and_a_record_of_the_same_run_is_ours)
{
	lead("report");
	claim_tick(10000);
	asks("get runs/report", ok());
	asks("list runs/report", names(NULL));
	asks(CLAIMED, failed(STORE_UNKNOWN));
	pass(1000);
	asks("get runs/report", ok());
	asks("list runs/report", names(TICK, NULL));
	asks("exists! " RECORD, ok());
	struct run_record r = {.state = "running",
			       .id = "me",
			       .hostname = "here",
			       .run = "run-1",
			       .session = SESSION,
			       .token = TOKEN,
			       .attempt = 1,
			       .started_at = WALL_MS,
			       .exit_status = -1};
	asks("get " RECORD, record_with(r));
	tells("yours");
}

Test(runs, a_lost_answer_with_the_record_of_another_run_is_not_ours)
{
	lead("report");
	joins("b", "1.0", 1);
	claim_tick(10000);
	asks("get runs/report", ok());
	asks("list runs/report", names(NULL));
	asks(CLAIMED, failed(STORE_UNKNOWN));
	pass(1000);
	asks("get runs/report", ok());
	asks("list runs/report", names(TICK, NULL));
	asks("exists! " RECORD, ok());
	asks("get " RECORD, record_of("running", 'b', "run-9"));
	tells("taken");
}

Test(runs, without_a_tick_there_is_no_ledger)
{
	lead("report");
	claim_as(&caller, (struct run_options){.id = "run-1", .wait_ms = 1000});
	tells("yours");
	cr_expect_null(told.tick);
	cr_expect(runs_hold(&runs, task_of("report")));
	idle();
}

Test(runs, once_claims_and_holds_nothing)
{
	lead("report");
	claim_as(&caller, (struct run_options){.tick_ms = TICK_MINUTE_MS, .once = true});
	asks("get runs/report", ok());
	asks("list runs/report", names(NULL));
	asks(CLAIMED, ok());
	struct run_record r;
	last_written(&r);
	cr_expect_str_eq(r.state, "claimed");
	tells("yours");
	cr_expect_not(runs_hold(&runs, task_of("report")));
	cr_expect_str_eq(kept, "");
	cr_expect_eq(releases, 1);
}

Test(runs, a_clock_beyond_the_calendar_is_refused)
{
	lead("report");
	host.ahead_ms = INT64_C(300000000000000);
	claim_tick(10000);
	tells("");
	cr_expect_eq(told.kind, RUN_ANSWER_MISUSE);
	cr_expect_eq(releases, 1);
}

/* --- while the job runs --------------------------------------------------------------------------------- */

Test(runs, a_second_run_waits_until_the_first_has_ended)
{
	start_job();
	pass(45000);
	claim_as(&other_caller,
		 (struct run_options){.id = "run-2", .tick_ms = TICK_MINUTE_MS, .wait_ms = 10000});
	asks("exists! runs/report/2026-11-18T11:07:00Z", failed(STORE_NO_NODE));
	asks("list runs/report", names(TICK, NULL));
	pass(10000);
	tells("waited");
	cr_expect(told.busy);
}

Test(runs, renew_tells_how_long_the_job_may_go_on)
{
	start_job();
	runs_renew(&runs, &caller, 2, told.run);
	cr_expect_eq(told.kind, RUN_ANSWER_RENEW);
	cr_expect_eq(told.lease_ms, session_lease_left(&session));
	cr_expect_eq(told.timeout_ms, TIMEOUT_MS);
}

static uint64_t going;

static int64_t renew(void)
{
	runs_renew(&runs, &caller, 2, going);
	return told.lease_ms;
}

Test(runs, a_job_goes_on_while_the_connection_is_lost)
{
	start_job();
	going = told.run;
	renews_over_a_cut(renew);
}

Test(runs, renew_is_zero_once_the_leadership_is_another)
{
	start_job();
	uint64_t run = told.run;
	task_of("report")->election.node.token++;
	runs_renew(&runs, &caller, 2, run);
	cr_expect_eq(told.lease_ms, 0);
	task_of("report")->election.node.token--;
	runs_renew(&runs, &caller, 3, run);
	cr_expect_gt(told.lease_ms, 0);
	runs_revoke(&runs);
	runs_renew(&runs, &caller, 4, run);
	cr_expect_eq(told.lease_ms, 0, "the sidecar is going");
}

Test(runs, a_run_belongs_to_the_connection_that_claimed_it)
{
	start_job();
	runs_renew(&runs, &other_caller, 2, told.run);
	cr_expect_eq(told.kind, RUN_ANSWER_MISUSE);
	runs_finish(&runs, &caller, 3, told.run + 1,
		    &(struct run_outcome){.what = {.exit_status = 0, .interrupted = false}});
	cr_expect_eq(told.kind, RUN_ANSWER_MISUSE);
}

/* --- the end -------------------------------------------------------------------------------------------- */

Test(runs, the_end_is_recorded_in_the_version_of_the_claim)
{
	struct run_record r;

	start_job();
	pass(5000);
	runs_finish(&runs, &caller, 2, told.run,
		    &(struct run_outcome){.what = {.exit_status = 3, .interrupted = false}});
	asks("set " RECORD " v0", ok());
	last_written(&r);
	cr_expect_str_eq(r.state, "failed");
	cr_expect_eq(r.exit_status, 3);
	cr_expect_eq(r.ended_at - r.started_at, 5000);
	cr_expect_eq(told.kind, RUN_ANSWER_FINISH);
	cr_expect(told.recorded);
	cr_expect_not(runs_hold(&runs, task_of("report")));
	cr_expect_str_eq(kept, "");
	cr_expect_eq(releases, 1);
	idle();
}

Test(runs, a_job_that_was_interrupted_is_lost_whatever_its_status)
{
	struct run_record r;

	start_job();
	runs_finish(&runs, &caller, 2, told.run,
		    &(struct run_outcome){.what = {.exit_status = 0, .interrupted = true}});
	asks("set " RECORD " v0", ok());
	last_written(&r);
	cr_expect_str_eq(r.state, "lost");
}

Test(runs, the_end_has_the_output_and_tells_a_timeout)
{
	struct run_record r;
	char said[RECORD_OUTPUT_MAX + 3];

	memset(said, 'x', sizeof(said));
	said[sizeof(said) - 1] = '\0';
	start_job();
	runs_finish(&runs, &caller, 2, told.run,
		    &(struct run_outcome){.what = {.exit_status = 143, .timeout = true},
					  .output = said,
					  .output_len = sizeof(said)});
	asks("set " RECORD " v0", ok());
	last_written(&r);
	cr_expect_str_eq(r.state, "timeout");
	cr_expect_eq(r.exit_status, 143);
	cr_expect_eq(r.output_len, RECORD_OUTPUT_MAX);
	cr_expect_eq(r.output[r.output_len - 1], '\0');
}

Test(runs, an_end_that_another_has_overwritten_is_not_recorded)
{
	start_job();
	joins("b", "1.0", 1);
	runs_finish(&runs, &caller, 2, told.run,
		    &(struct run_outcome){.what = {.exit_status = 0, .interrupted = false}});
	asks("set " RECORD " v0", failed(STORE_BAD_VERSION));
	cr_expect_eq(told.kind, RUN_ANSWER_FINISH);
	cr_expect_not(told.recorded);
	idle();
}

Test(runs, where_the_supervisor_goes_the_task_is_held_until_its_lease_is_over)
{
	struct run_record r;
	struct task *t;

	start_job();
	t = task_of("report");
	runs_owner_gone(&runs, &caller);
	turn();
	int64_t left = session_told_left(&session);
	pass(left - 1);
	idle();
	cr_expect(runs_hold(&runs, t));
	cr_expect_eq(t->dying, 1);
	cr_expect_eq(runs_going(&runs, false), 1);
	pass(1);
	asks("set " RECORD " v0", ok());
	last_written(&r);
	cr_expect_str_eq(r.state, "lost");
	cr_expect_not(runs_hold(&runs, t));
	cr_expect_eq(t->dying, 0);
	cr_expect_eq(runs_open(&runs), 0);
}

Test(runs, a_supervisor_that_comes_back_attaches_to_its_run)
{
	start_job();
	runs_owner_gone(&runs, &caller);
	turn();
	runs_attach(&runs, &other_caller, 5, task_of("report"), "run-9", 1);
	cr_expect_eq(told.kind, RUN_ANSWER_MISUSE, "by another id");
	answers = 0;
	runs_attach(&runs, &other_caller, 5, task_of("report"), "run-1", 1);
	turn();
	struct run_record r = {.state = "running",
			       .id = "me",
			       .hostname = "here",
			       .run = "run-1",
			       .session = SESSION,
			       .token = TOKEN,
			       .attempt = 1,
			       .started_at = WALL_MS,
			       .exit_status = -1};
	pass(0);
	if (store.n_open > 0) {
		asks("exists! " RECORD, ok());
		asks("get " RECORD, record_with(r));
	}
	cr_expect_eq(answers, 1);
	cr_expect_eq(told.kind, RUN_ANSWER_ATTACH);
	cr_expect(told.attached);
	runs_renew(&runs, &other_caller, 6, told.run);
	cr_expect_gt(told.lease_ms, 0);
	cr_expect_eq(task_of("report")->dying, 0);
}

/* --- what the sidecar before this one left --------------------------------------------------------------- */

Test(runs, nothing_begins_while_a_job_of_the_sidecar_before_may_be_alive)
{
	struct handoff_run job = {.task = "report", .tick = BEFORE, .id = "run-0", .token = TOKEN};

	lead("report");
	runs_take_over(&runs, &job, 1, true, TIMEOUT_MS);
	asks("exists runs/report/" BEFORE, ok());
	asks("get runs/report/" BEFORE, record_of("running", SESSION, "run-0"));
	cr_expect(runs_hold(&runs, task_of("report")));
	claim_as(&caller, (struct run_options){.id = "run-1", .wait_ms = 5000});
	pass(TIMEOUT_MS - 1);
	cr_expect_eq(answers, 0);
	pass(1);
	asks("exists runs/report/" BEFORE, ok());
	asks("get runs/report/" BEFORE, record_of("running", SESSION, "run-0"));
	asks("set runs/report/" BEFORE " v3", ok());
	tells("yours");
}

Test(runs, a_job_of_the_sidecar_before_is_held_for_what_that_may_have_promised_it)
{
	struct handoff_run job = {.task = "report", .tick = BEFORE, .id = "run-0", .token = TOKEN};

	lead("report");
	task_of("report")->listing->settings.hold_max_ms = TIMEOUT_MS / 4;
	runs_take_over(&runs, &job, 1, true, TIMEOUT_MS);
	cr_expect_eq(task_of("report")->election.hold_until_ms, host_now_ms(&host) + TIMEOUT_MS);
}

Test(runs, where_not_all_of_its_jobs_are_known_nothing_begins_at_all)
{
	lead("report");
	runs_take_over(&runs, NULL, 0, false, TIMEOUT_MS);
	claim_tick(5000);
	pass(TIMEOUT_MS - 1);
	idle();
	cr_expect_eq(answers, 0);
	pass(1);
	asks("get runs/report", ok());
}

/* --- elsewhere ------------------------------------------------------------------------------------------- */

Test(runs, a_task_that_is_removed_is_no_more_to_be_claimed)
{
	configures("report", NULL);
	joins("b", "2.0", 9);
	joins("me", "1.0", 5);
	asks("get! leaders/report", led_by("b", 50));
	claim_as(&caller, (struct run_options){.id = "run-1", .wait_ms = 10000});
	cr_expect_eq(answers, 0);
	configures("other", NULL);
	pass(2000);
	cr_expect_eq(answers, 1);
	cr_expect_eq(told.kind, RUN_ANSWER_MISUSE);
	cr_expect_str_eq(why, "the task has been removed");
}

/* A call for any partition, which is killed while the records of the tick are looked at. */
Test(runs, who_asked_for_any_partition_may_go_at_every_moment)
{
	struct run_options options = {.id = "run-1", .tick_ms = TICK_MINUTE_MS, .pid = 1};

	configures("report", NULL);
	joins("b", "2.0", 9);
	joins("me", "1.0", 5);
	asks("get! leaders/report", led_by("b", 50));
	options.now_ms = host_wall_ms(&host);
	for (int gone = 0; gone < 2; gone++) {
		releases = 0;
		runs_claim_any(&runs, &caller, 1, task_of("report")->listing, &options);
		pass(0);
		if (gone)
			runs_owner_gone(&runs, &caller);
		asks("exists " RECORD, ok());
		pass(0);
		cr_expect_eq(releases, 1);
		cr_expect_eq(runs_open(&runs), 0);
		if (!gone)
			tells("taken");
	}
	cr_expect_eq(answers, 0);
	idle();
}

Test(runs, a_tick_ahead_of_both_clocks_is_not_claimed)
{
	lead("report");
	registry.clocks.mute = false;
	/* The server's clock is as ours, and the caller's a day ahead. */
	clocks_heard(&registry.clocks, &(struct store_reply){.code = STORE_OK,
							     .sent_ms = host.now_ms,
							     .stat.mtime = host_wall_ms(&host)});
	struct run_options options = {.id = "run-1",
				      .tick_ms = TICK_MINUTE_MS,
				      .wait_ms = 1000,
				      .now_ms = host_wall_ms(&host) + TICK_DAY_MS};
	runs_claim(&runs, &caller, 1, task_of("report"), &options);
	pass(0);
	cr_expect_eq(answers, 1);
	cr_expect_eq(told.kind, RUN_ANSWER_FAILED);
	cr_expect_neq(strstr(why, "is ahead of its time"), NULL, "%s", why);
}
