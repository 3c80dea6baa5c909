/* Tasks without a good run for too long: what their leader asks ZooKeeper and when, and what everybody knows. */
#include "node_site.h"

#include "node/ledger/counts.h"
#include "node/ledger/last_run.h"
#include "node/ledger/ledger.h"
#include "node/ledger/overdue.h"
#include "wire/records/seen_record.h"

#define ALERT_MS 600000
#define TICK	 "2026-11-20T02:00:00Z"
#define WRITES	 "check workers/me, check leaders/report, create seen/report"

static struct overdues overdues;
static struct task *t;
static struct buffer data;

static int64_t now(void)
{
	return host_wall_ms(&host);
}

static struct store_reply seen(int64_t since, bool ok)
{
	const struct seen_record record = {.since = since, .ok = ok};

	buffer_done(&data);
	buffer_init(&data, RECORD_SEEN_MAX);
	cr_assert_eq(record_pack_seen(&data, &record), 0);
	return holds(data.data, data.len, (struct store_stat){.version = 3});
}

static struct run_record run_of(const char *state, int64_t ended_at)
{
	struct run_record r = {.id = "11111111-2222-3333-4444-555555555555",
			       .hostname = "elsewhere",
			       .token = 9,
			       .attempt = 1,
			       .started_at = 1000,
			       .ended_at = ended_at};

	snprintf(r.state, sizeof(r.state), "%s", state);
	return r;
}

static struct store_reply ran(const char *state, int64_t ended_at)
{
	const struct run_record r = run_of(state, ended_at);

	buffer_done(&data);
	buffer_init(&data, RECORD_RUN_MAX);
	cr_assert_eq(record_pack_run(&data, &r), 0);
	return holds(data.data, data.len, (struct store_stat){0});
}

/* The record that the last transaction wrote. */
static struct seen_record written(void)
{
	struct seen_record record;
	const char *why;

	cr_assert_eq(record_parse_seen(store.last.data, store.last.len, &record, &why), 0, "%s",
		     why);
	return record;
}

static void begin(void)
{
	struct task_settings settings = settings_of("report");

	site_begin();
	t = lead("report");
	settings.alert_after_ms = ALERT_MS;
	host_timer_stop(&leaders.audit.timer); /* it is another test's */
	overdues_init(&overdues, &leaders);
	tasks_apply(&leaders, &site_timing, &settings, 1);
	overdues_changed(&overdues);
}

TestSuite(overdue, .init = begin);

/* Nothing is known of it in ZooKeeper. */
static void first_sight(void)
{
	asks("get seen/report", failed(STORE_NO_NODE));
	asks("list runs/report", failed(STORE_NO_NODE));
	asks(WRITES, ok());
	idle();
}

Test(overdue, counts_from_the_first_sight_which_is_kept)
{
	int64_t first_ms = now();

	first_sight();
	cr_expect_eq(written().since, first_ms);
	cr_expect_not(written().ok);
	cr_expect_not(overdue_is(t));
	cr_expect_eq(overdue_last_ok(t), 0);
	pass(ALERT_MS - 1);
	idle();
	cr_expect_not(overdue_is(t), "not yet, and nothing was asked");
	pass(1);
	cr_expect(overdue_is(t));
	asks("get seen/report", seen(first_ms, false));
	asks("list runs/report", names(NULL));
	idle();
	cr_expect(overdue_is(t));
	cr_expect_gt(t->overdue->told_ms, 0);
	pass(10 * ALERT_MS);
	idle();
}

Test(overdue, the_folder_is_made_where_it_is_missing)
{
	asks("get seen/report", failed(STORE_NO_NODE));
	asks("list runs/report", failed(STORE_NO_NODE));
	asks(WRITES, failed_at(STORE_NO_NODE, 2));
	asks("create seen", ok());
	first_sight();
	cr_expect(t->overdue->known);
}

Test(overdue, is_known_to_a_leader_that_comes_later)
{
	int64_t since = now() - ALERT_MS - 5000;

	asks("get seen/report", seen(since, true));
	cr_expect_eq(t->overdue->told_ms, 0, "the ledger may know more");
	asks("list runs/report", names(TICK, "no-tick", NULL));
	asks("get runs/report", ok());
	asks("get runs/report/" TICK, ran("failed", now() - 1000));
	idle();
	cr_expect(overdue_is(t));
	cr_expect_eq(overdue_last_ok(t), since);
	cr_expect_eq(t->overdue->told_ms, since + ALERT_MS);
}

Test(overdue, what_an_older_release_wrote_into_the_ledger_counts)
{
	int64_t ok_ms = now() - 1000;

	asks("get seen/report", seen(now() - ALERT_MS, false));
	asks("list runs/report", names(TICK, NULL));
	asks("get runs/report", ok());
	asks("get runs/report/" TICK, ran("ok", ok_ms));
	asks("check workers/me, check leaders/report, set seen/report v3", ok());
	idle();
	cr_expect_eq(written().since, ok_ms);
	cr_expect(written().ok);
	cr_expect_not(overdue_is(t));
}

Test(overdue, a_run_that_ended_in_the_future_says_nothing)
{
	int64_t since = now() - ALERT_MS;

	asks("get seen/report", seen(since, false));
	asks("list runs/report", names(TICK, NULL));
	asks("get runs/report", ok());
	asks("get runs/report/" TICK, ran("ok", now() + 1));
	idle();
	cr_expect(overdue_is(t));
}

Test(overdue, a_damaged_record_is_written_anew)
{
	log_setup(LOG_ERROR, LOG_TEXT, false);
	asks("get seen/report", holds("\xff", 1, (struct store_stat){.version = 7}));
	asks("list runs/report", names(NULL));
	asks("check workers/me, check leaders/report, set seen/report v7", ok());
	idle();
	cr_expect_not(overdue_is(t));
}

Test(overdue, a_look_without_an_answer_is_made_again)
{
	asks("get seen/report", failed(STORE_UNKNOWN));
	idle();
	pass(OVERDUE_RETRY_MS - 1);
	idle();
	pass(1);
	asks("get seen/report", failed(STORE_NO_NODE));
	asks("list runs/report", failed(STORE_NO_NODE));
	asks(WRITES, failed(STORE_UNKNOWN));
	pass(OVERDUE_RETRY_MS);
	asks("get seen/report", seen(now(), false));
	idle();
	cr_expect(t->overdue->known);
	cr_expect_not(overdue_is(t));
}

Test(overdue, a_task_that_went_meanwhile_is_not_written_to)
{
	connection(STORE_CONNECTING);
	leaders.n_tasks = 0;
	answer_all(STORE_ABANDONED);
	leaders.n_tasks = 1;
	cr_expect(!t->overdue || !t->overdue->known);
}

static int results[LEDGER_FAILED + 1];

static void on_written(void *arg, enum ledger_result result, const struct run_record *record,
		       int32_t version)
{
	(void)arg, (void)record, (void)version;
	results[result]++;
}

static void ends(const char *state)
{
	const struct run_record r = run_of(state, now());

	ledger_write(&leaders, "report", TICK, NULL, &r, 4, false, NULL, on_written, NULL);
}

Test(overdue, the_end_of_a_good_run_is_written_with_its_record)
{
	first_sight();
	ends("failed");
	asks("set runs/report/" TICK " v4", ok());
	ends("ok");
	asks("set runs/report/" TICK " v4, set seen/report", ok());
	ends("ok");
	asks("set runs/report/" TICK " v4, set seen/report", failed_at(STORE_NO_NODE, 1));
	asks("set runs/report/" TICK " v4", ok());
	cr_expect_eq(results[LEDGER_DONE], 3);
	ends("ok");
	asks("set runs/report/" TICK " v4, set seen/report", failed_at(STORE_NO_NODE, 0));
	cr_expect_eq(results[LEDGER_AGAIN], 1);
	idle();
}

Test(overdue, a_task_that_was_taken_from_this_node_is_looked_up_by_its_end)
{
	leaders.n_tasks = 0;
	ends("failed");
	asks("set runs/report/" TICK " v4", ok());
	ends("ok");
	asks("set runs/report/" TICK " v4, set seen/report", ok());
	ends("ok");
	asks("set runs/report/" TICK " v4, set seen/report", failed_at(STORE_NO_NODE, 1));
	asks("set runs/report/" TICK " v4", ok());
	cr_expect_eq(results[LEDGER_DONE], 3);
	leaders.n_tasks = 1;
}

Test(overdue, a_good_run_here_is_known_at_once)
{
	first_sight();
	pass(ALERT_MS);
	cr_expect(overdue_is(t));
	counts_run(t, "ok", now() - 5, now());
	cr_expect_not(overdue_is(t));
	cr_expect_eq(overdue_last_ok(t), now());
}

Test(overdue, others_learn_it_from_the_node)
{
	struct store_reply reply = seen(now() - ALERT_MS, true);

	first_sight();
	overdue_read(t, &reply);
	cr_expect(overdue_is(t));
	reply = failed(STORE_UNKNOWN);
	overdue_read(t, &reply);
	cr_expect(overdue_is(t), "as it was known");
	reply = failed(STORE_NO_NODE);
	overdue_read(t, &reply);
	cr_expect_not(overdue_is(t));
}

Test(overdue, a_clock_that_was_set_is_noticed)
{
	first_sight();
	host.ahead_ms = ALERT_MS;
	pass(OVERDUE_LATEST_MS);
	asks("get seen/report", seen(now() - ALERT_MS - 1, false));
	asks("list runs/report", names(NULL));
	idle();
	cr_expect_gt(t->overdue->told_ms, 0);
}
