/* Runs whose node is gone: the next leader of the task finds them in its ledger, if people want to know. */
#include "notice_site.h"

#include "core/election/run.h"
#include "node/runs/losses.h"

#define T1   "2026-11-20T01:00:00Z"
#define T2   "2026-11-20T02:00:00Z"
#define T3   "2026-11-20T03:00:00Z"
#define GONE 'q' /* a session that is no member's */
#define MANY (LOSSES_LOOKS_MAX + 5)

static const struct notice_rule lost_ones[] = {{.events = 1U << NOTICE_LOST}};
static struct losses losses;

/* A node with a notifier that wants to know of lost runs, and with a folder for notices. */
static void begin(void)
{
	site_begin();
	losses_init(&losses, &leaders, NULL);
	notices_begin(lost_ones);
}

TestSuite(losses, .init = begin);

/* A record of a run as it is in the ledger, written for the second time. */
static struct store_reply run_of(const char *state, int64_t of_session)
{
	struct run_record r = {.session = of_session,
			       .token = 33,
			       .attempt = 2,
			       .started_at = WALL_MS - 5000,
			       .exit_status = -1};

	snprintf(r.id, sizeof(r.id), "its-id");
	snprintf(r.hostname, sizeof(r.hostname), "host-x");
	return run_in(state, r, 1);
}

/* The oldest open request begins so; behind it is the name of the notice. */
#define asks_and_notes(text, reply) script_asks_and_notes(text, reply, __LINE__)
static void script_asks_and_notes(const char *text, struct store_reply reply, int line)
{
	char whole[SCRIPT_TEXT_MAX];

	asks("get troubles/report", failed(STORE_NO_NODE));
	snprintf(whole, sizeof(whole), "%s, create troubles/report, create notices/", text);
	script_asks_begins(whole, reply, line);
}

#define WRITES(tick) "check workers/me, check leaders/report, set runs/report/" tick " v1"

/* --- what is lost --------------------------------------------------------------------------------------- */

Test(losses, a_run_whose_node_is_gone_is_recorded_as_lost_and_told)
{
	struct run_record r;
	const char *why;

	lead("report");
	losses_changed(&losses);
	asks("list runs/report", names(T1, NULL));
	asks("get runs/report/" T1, run_of("running", GONE));
	asks_and_notes(WRITES(T1), ok());
	cr_assert_eq(record_parse_run(store.last.data, store.last.len, &r, &why), 0, "%s", why);
	cr_expect_str_eq(r.state, "lost");
	cr_expect_eq(r.ended_at, host_wall_ms(&host));
	cr_expect_str_eq(r.id, "its-id", "the rest is as it was");
	cr_expect_eq(r.session, GONE);
	cr_expect_eq(r.token, 33);
	cr_expect_eq(r.attempt, 2);
	cr_expect_eq(r.started_at, WALL_MS - 5000);
	idle();
	cr_expect_eq(n_told, 1);
	cr_expect_eq(told.event, NOTICE_LOST);
	cr_expect_str_eq(told.task, "report");
	cr_expect_str_eq(told.tick, T1);
	cr_expect_str_eq(told.node, "host-x");
	cr_expect_eq(told.failed, 1);
	cr_expect(told.first);
	cr_expect_eq(losses.n_looks, 0);
}

Test(losses, what_ended_or_may_go_on_is_left_alone)
{
	static const struct {
		const char *says, *state;
		int64_t session;
	} cases[] = {{"it ended well", "done", GONE},
		     {"it failed", "failed", GONE},
		     {"it is recorded as lost", "lost", GONE},
		     {"whose it is was not written then", "running", 0},
		     {"it is of our session", "running", SESSION},
		     {"its node is in the fleet", "running", 'b'}};

	lead("report");
	joins("b", "0.5", 1);
	losses_changed(&losses);
	asks("list runs/report",
	     names("2026-11-20T01:00:00Z", "2026-11-20T02:00:00Z", "2026-11-20T03:00:00Z",
		   "2026-11-20T04:00:00Z", "2026-11-20T05:00:00Z", "2026-11-20T06:00:00Z", NULL));
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		pass(0);
		cr_assert_eq(store.n_open, 1, "before: %s", cases[i].says);
		cr_assert_eq(strncmp(store.open[0].text, "get ", 4), 0, "before %s: %s",
			     cases[i].says, store.open[0].text);
		script_answer(0, run_of(cases[i].state, cases[i].session));
	}
	idle();
	cr_expect_eq(n_told, 0);
	cr_expect_eq(losses.n_looks, 0);
}

Test(losses, the_newest_records_are_read_the_oldest_first)
{
	char path[80];

	lead("report");
	losses_changed(&losses);
	asks("list runs/report",
	     names("2026-11-20T09:00:00Z", "2026-11-20T03:00:00Z", "2026-11-20T11:00:00Z",
		   "2026-11-20T02:00:00Z", "2026-11-20T04:00:00Z", "2026-11-20T10:00:00Z",
		   "2026-11-20T05:00:00Z", "2026-11-20T07:00:00Z", "no tick",
		   "2026-11-20T06:00:00Z", "2026-11-20T12:00:00Z", "2026-11-20T08:00:00Z",
		   "2026-11-20T01:00:00Z", NULL));
	for (int i = 0; i < LOSSES_NEWEST; i++) {
		snprintf(path, sizeof(path), "get runs/report/2026-11-20T%02d:00:00Z", 3 + i);
		asks(path, failed(STORE_NO_NODE));
	}
	idle();
	cr_expect_eq(losses.n_looks, 0);
}

/* While its record is made anew, this node is no member. */
Test(losses, what_runs_here_is_not_lost_without_our_record)
{
	lead("report");
	losses_changed(&losses);
	asks("list runs/report", names(T1, NULL));
	pass(0);
	registry_forget(&registry, "me");
	asks("get runs/report/" T1, run_of("running", SESSION));
	idle();
}

Test(losses, what_cannot_be_read_or_was_taken_over_meanwhile_does_not_stop_the_rest)
{
	lead("report");
	losses_changed(&losses);
	asks("list runs/report", names(T1, T2, T3, NULL));
	asks("get runs/report/" T1, holds("junk", 4, (struct store_stat){0}));
	asks("get runs/report/" T2, run_of("running", GONE));
	asks_and_notes(WRITES(T2), failed_at(STORE_BAD_VERSION, 2));
	asks("get runs/report/" T3, run_of("running", GONE));
	asks_and_notes(WRITES(T3), ok());
	idle();
	cr_expect_eq(n_told, 1, "of the one that was written");
	cr_expect_str_eq(told.tick, T3);
}

/* --- when it is looked for ------------------------------------------------------------------------------ */

Test(losses, each_leadership_looks_once)
{
	lead("report");
	losses_changed(&losses);
	asks("list runs/report", failed(STORE_NO_NODE));
	idle();
	losses_changed(&losses);
	pass(5 * LOSSES_RETRY_MS);
	idle();
	/* The leader node is deleted by hand, and claimed again. */
	fires(STORE_NODE_DELETED, "leaders/report");
	asks("check workers/me, set leaders, create* leaders/report",
	     of_stat((struct store_stat){.mzxid = TOKEN + 1}));
	asks("get! leaders/report", led_by("me", TOKEN + 1));
	losses_changed(&losses);
	asks("list runs/report", failed(STORE_NO_NODE));
	idle();
}

Test(losses, nothing_is_read_where_nobody_wants_to_know)
{
	static const struct notice_rule others[] = {{.events = 1U << NOTICE_MISSED}};

	lead("report");
	notices_set_rules(&notices, others, 1);
	losses_changed(&losses);
	pass(5 * LOSSES_RETRY_MS);
	idle();
	notices_set_rules(&notices, NULL, 0);
	losses_changed(&losses);
	cr_expect_not(host_timer_is_set(&losses.due));
	notices_set_rules(&notices, lost_ones, 1);
	asks("list notices", names(NULL)); /* as somebody wants any again */
	losses_changed(&losses);
	asks("list runs/report", failed(STORE_NO_NODE));
}

Test(losses, only_what_is_led_here_is_looked_at)
{
	configures("report", NULL);
	joins("me", "1.0", 5);
	asks("get! leaders/report", led_by("b", 50));
	losses_changed(&losses);
	pass(5 * LOSSES_RETRY_MS);
	idle();
	cr_expect_not(host_timer_is_set(&losses.due), "until something changes");
}

Test(losses, what_is_no_longer_configured_is_not_looked_at)
{
	struct task *t = lead("report");

	leaders_hold(t, true, host.now_ms + 60000); /* so that it is led on */
	configures("other", NULL);
	cr_assert(t->withdrawn && election_leads(&t->election));
	store.n_open = 0; /* of the other task */
	losses_changed(&losses);
	pass(5 * LOSSES_RETRY_MS);
	idle();
}

Test(losses, nothing_is_looked_at_before_the_fleet_is_known)
{
	lead("report");
	registry.workers.ready = false;
	losses_changed(&losses);
	pass(LOSSES_RETRY_MS);
	idle();
	registry.workers.ready = true;
	pass(LOSSES_RETRY_MS - 1);
	idle();
	pass(1);
	asks("list runs/report", failed(STORE_NO_NODE));
	idle();
}

Test(losses, a_list_without_an_answer_is_asked_for_again_after_a_second)
{
	lead("report");
	losses_changed(&losses);
	asks("list runs/report", failed(STORE_UNKNOWN));
	cr_expect_eq(losses.n_looks, 0);
	losses_changed(&losses);
	pass(LOSSES_RETRY_MS - 1);
	idle();
	pass(1);
	asks("list runs/report", failed(STORE_NO_NODE));
	idle();
}

/* Each that ends makes room for another. */
Test(losses, so_many_tasks_are_looked_at_at_a_time)
{
	struct task_settings list[MANY];
	char task_names[MANY][8];
	size_t done = 0;

	for (size_t i = 0; i < MANY; i++) {
		snprintf(task_names[i], sizeof(task_names[i]), "t%zu", i);
		list[i] = settings_of(task_names[i]);
	}
	tasks_apply(&leaders, &site_timing, list, MANY);
	joins("me", "1.0", 5);
	for (bool claimed = false; store.n_open > 0; script_confirm()) {
		bool claims = strncmp(store.open[0].text, "check ", 6) == 0;
		claimed |= claims;
		script_answer(0, claims	   ? of_stat((struct store_stat){.mzxid = TOKEN})
				 : claimed ? led_by("me", TOKEN)
					   : failed(STORE_NO_NODE));
	}
	cr_assert_eq(leaders.n_leading, MANY);
	losses_changed(&losses);
	pass(0);
	cr_expect_eq(store.n_open, LOSSES_LOOKS_MAX);
	for (; store.n_open > 0; done++) {
		cr_assert_eq(strncmp(store.open[0].text, "list runs/t", 11), 0);
		cr_assert_leq(losses.n_looks, LOSSES_LOOKS_MAX);
		script_answer(0, failed(STORE_NO_NODE));
		pass(0);
		script_confirm();
	}
	cr_expect_eq(done, MANY, "all of them at last, in one go");
}

/* --- what comes between --------------------------------------------------------------------------------- */

Test(losses, a_leadership_that_ends_looks_no_further)
{
	lead("report");
	losses_changed(&losses);
	pass(0);
	configures("other", NULL);
	script_answer(0, names(T1, NULL)); /* of report */
	cr_expect_eq(losses.n_looks, 0);
	for (size_t i = 0; i < store.n_open; i++)
		cr_expect_null(strstr(store.open[i].text, "runs/"), "%s", store.open[i].text);
}

/* A record that was read under an earlier leadership is for the look of the present one. */
Test(losses, one_under_another_token_is_another)
{
	lead("report");
	losses_changed(&losses);
	asks("list runs/report", names(T1, NULL));
	pass(0);
	fires(STORE_NODE_DELETED, "leaders/report");
	pass(0);
	cr_assert_str_eq(store.open[0].text, "get runs/report/" T1);
	cr_assert_str_eq(store.open[1].text,
			 "check workers/me, set leaders, create* leaders/report");
	script_answer(1, of_stat((struct store_stat){.mzxid = TOKEN + 1}));
	script_confirm();
	script_answer(1, led_by("me", TOKEN + 1));
	asks("get runs/report/" T1, run_of("running", GONE));
	idle();
	cr_expect_eq(losses.n_looks, 0);
}

Test(losses, a_record_is_judged_by_a_fleet_that_is_known)
{
	lead("report");
	losses_changed(&losses);
	asks("list runs/report", names(T1, NULL));
	registry.workers.ready = false;
	asks("get runs/report/" T1, run_of("running", GONE));
	idle();
}

Test(losses, without_a_session_nothing_more_is_asked)
{
	lead("report");
	losses_changed(&losses);
	asks("list runs/report", names(T1, T2, NULL));
	pass(0);
	session.state = SESSION_CONNECTING; /* the answer was on its way */
	script_answer(0, failed(STORE_NO_NODE));
	cr_expect_eq(store.n_open, 0);
	cr_expect_eq(losses.n_looks, 0);
}

Test(losses, without_a_session_no_look_begins)
{
	lead("report");
	session.state = SESSION_CONNECTING;
	losses_changed(&losses);
	pass(0);
	cr_expect_eq(store.n_open, 0);
	session.state = SESSION_UP;
	losses_changed(&losses);
	asks("list runs/report", failed(STORE_NO_NODE));
}

/* The connection, or the handle, goes while the oldest record is read. */
static void loses_a_record(enum store_code code)
{
	lead("report");
	losses_changed(&losses);
	asks("list runs/report", names(T1, T2, NULL));
	asks("get runs/report/" T1, failed(code));
	idle();
	cr_expect_eq(losses.n_looks, 0);
}

Test(losses, a_record_that_the_connection_took_along_ends_the_look)
{
	loses_a_record(STORE_UNKNOWN);
}

Test(losses, a_record_that_was_given_up_ends_the_look)
{
	loses_a_record(STORE_ABANDONED);
}

/* Or while it is written: whether it was is not known, and nobody is told of it by us. */
static void loses_a_write(enum store_code code)
{
	lead("report");
	losses_changed(&losses);
	asks("list runs/report", names(T1, T2, NULL));
	asks("get runs/report/" T1, run_of("running", GONE));
	asks_and_notes(WRITES(T1), failed(code));
	pass(0);
	for (size_t i = 0; i < store.n_open; i++)
		cr_expect_null(strstr(store.open[i].text, "runs/"), "%s", store.open[i].text);
	cr_expect_eq(losses.n_looks, 0);
	cr_expect_eq(n_told, 0);
}

Test(losses, a_write_that_the_connection_took_along_ends_the_look)
{
	loses_a_write(STORE_UNKNOWN);
}

Test(losses, a_write_that_was_given_up_ends_the_look)
{
	loses_a_write(STORE_ABANDONED);
}

Test(losses, nothing_rings_behind_the_end)
{
	lead("report");
	losses_changed(&losses);
	losses_done(&losses);
	cr_expect_not(host_timer_is_set(&losses.due));
}

/* --- a look that is cut short ----------------------------------------------------------------------------- */

Test(losses, a_look_that_the_connection_cut_short_is_repeated)
{
	lead("report");
	losses_changed(&losses);
	asks("list runs/report", names(T1, NULL));
	asks("get runs/report/" T1, failed(STORE_UNKNOWN));
	connection(STORE_CONNECTING);
	connection(STORE_CONNECTED);
	script_confirm();
	losses_changed(&losses);
	pass(LOSSES_RETRY_MS);
	asks("list runs/report", names(T1, NULL));
}

Test(losses, a_look_in_a_fleet_that_was_not_known_is_repeated)
{
	lead("report");
	losses_changed(&losses);
	asks("list runs/report", names(T1, NULL));
	registry.workers.ready = false;
	asks("get runs/report/" T1, run_of("running", GONE));
	registry.workers.ready = true;
	losses_changed(&losses);
	pass(LOSSES_RETRY_MS);
	asks("list runs/report", names(T1, NULL));
}

Test(losses, no_second_look_begins_beside_the_first)
{
	lead("report");
	losses_changed(&losses);
	asks("list runs/report", names(T1, NULL));
	pass(2 * LOSSES_RETRY_MS);
	asks("get runs/report/" T1, run_of("ok", GONE));
	pass(2 * LOSSES_RETRY_MS);
	idle();
}

/* --- what may be run again ------------------------------------------------------------------------------ */

#define RETRIES(tick) \
	"check workers/me, check leaders/report, set runs/report/" tick " v1, create notices/"

static struct run_record written(void)
{
	struct run_record r;
	const char *why;

	cr_assert_eq(record_parse_run(store.last.data, store.last.len, &r, &why), 0, "%s", why);
	return r;
}

static struct store_reply retrying(const char *state, int64_t ended_at)
{
	struct run_record r = {.session = GONE,
			       .token = 33,
			       .attempt = 2,
			       .started_at = WALL_MS - 5000,
			       .ended_at = ended_at,
			       .retrying = true,
			       .exit_status = -1};

	snprintf(r.id, sizeof(r.id), "its-id");
	snprintf(r.hostname, sizeof(r.hostname), "host-x");
	return run_in(state, r, 1);
}

static void wants_retries(void)
{
	static const struct notice_rule rule[] = {
		{.events = 1U << NOTICE_LOST | 1U << NOTICE_RETRYING | 1U << NOTICE_FAILED}};
	struct task_settings settings = settings_of("report");

	lead("report");
	settings.on_crash = TASK_ON_CRASH_RERUN;
	tasks_apply(&leaders, &site_timing, &settings, 1);
	notices_set_rules(&notices, rule, 1);
	host_timer_stop(&leaders.audit.timer); /* it is another test's */
}

Test(losses, a_lost_run_that_nobody_begins_again_is_told_as_lost_at_last)
{
	wants_retries();
	losses_changed(&losses);
	asks("list runs/report", names(T1, NULL));
	asks("get runs/report/" T1, run_of("running", GONE));
	asks_begins(RETRIES(T1), ok());
	struct run_record first = written();
	cr_expect_str_eq(first.state, "lost");
	cr_expect(first.retrying);
	pass(0);
	cr_assert_eq(n_told, 1);
	cr_expect_eq(told.event, NOTICE_RETRYING);
	cr_expect_eq(told.failed, 0, "it counts for nothing");
	cr_expect(strstr(told.text, "another one follows"), "%s", told.text);
	int64_t until = first.ended_at + RUN_ORPHAN_MS + LOSSES_MARGIN_MS;
	while (host_wall_ms(&host) < until - LOSSES_AGAIN_MS) {
		pass(LOSSES_AGAIN_MS);
		asks("get runs/report/" T1, retrying("lost", first.ended_at));
		cr_assert_eq(n_told, 1);
	}
	pass(2 * LOSSES_AGAIN_MS);
	asks("get runs/report/" T1, retrying("lost", first.ended_at));
	asks_and_notes(WRITES(T1), ok());
	cr_expect_not(written().retrying);
	cr_expect_eq(written().ended_at, first.ended_at);
	pass(0);
	cr_assert_eq(n_told, 2);
	cr_expect_eq(told.event, NOTICE_LOST);
	cr_expect(told.first);
	pass(10 * LOSSES_AGAIN_MS);
	idle();
}

Test(losses, a_lost_run_that_was_begun_again_is_not_told_any_more)
{
	wants_retries();
	losses_changed(&losses);
	asks("list runs/report", names(T1, NULL));
	asks("get runs/report/" T1, retrying("lost", host_wall_ms(&host)));
	pass(LOSSES_AGAIN_MS);
	asks("get runs/report/" T1, run_of("running", SESSION));
	pass(10 * LOSSES_AGAIN_MS);
	idle();
	cr_expect_eq(n_told, 0);
}

Test(losses, what_runs_elsewhere_is_looked_at_until_it_has_ended)
{
	wants_retries();
	joins("b", "0.5", 1);
	losses_changed(&losses);
	asks("list runs/report", names(T1, NULL));
	asks("get runs/report/" T1, run_of("running", 'b'));
	pass(LOSSES_AGAIN_MS);
	asks("get runs/report/" T1, run_of("running", 'b'));
	pass(LOSSES_AGAIN_MS);
	asks("get runs/report/" T1, run_of("ok", 'b'));
	pass(10 * LOSSES_AGAIN_MS);
	idle();
}

Test(losses, of_a_failure_whose_retries_have_ended_people_are_told)
{
	wants_retries();
	losses_changed(&losses);
	asks("list runs/report", names(T1, NULL));
	asks("get runs/report/" T1,
	     retrying("failed", host_wall_ms(&host))); /* no schedule any more */
	asks_and_notes(WRITES(T1), ok());
	cr_expect_str_eq(written().state, "failed");
	pass(0);
	cr_expect_eq(told.event, NOTICE_FAILED);
	cr_expect_eq(told.attempt, 2);
}

Test(losses, a_run_that_this_node_ended_is_followed_up)
{
	struct run_record r = {.retrying = false};
	struct task *t;

	wants_retries();
	t = task_of("report");
	losses_changed(&losses);
	asks("list runs/report", failed(STORE_NO_NODE));
	losses_noted(&losses, t, T1, &r);
	pass(5 * LOSSES_AGAIN_MS);
	idle();
	r.retrying = true;
	losses_noted(&losses, t, T1, &r);
	losses_noted(&losses, t, T1, &r);
	asks("get runs/report/" T1, run_of("running", SESSION));
	pass(5 * LOSSES_AGAIN_MS);
	idle();
}

Test(losses, what_cannot_be_looked_at_again_is_looked_for_with_all_others)
{
	wants_retries();
	losses_changed(&losses);
	asks("list runs/report", names(T1, NULL));
	asks("get runs/report/" T1, retrying("lost", host_wall_ms(&host)));
	pass(LOSSES_AGAIN_MS);
	asks("get runs/report/" T1, failed(STORE_UNKNOWN));
	losses_changed(&losses);
	pass(LOSSES_AGAIN_MS);
	asks("list runs/report", names(T1, NULL));
}

/* --- what comes behind ---------------------------------------------------------------------------------- */

Test(losses, a_new_leader_has_to_look_before_other_ends_are_noted)
{
	struct task *t;

	wants_retries();
	t = task_of("report");
	cr_expect(losses_pending(t));
	losses_changed(&losses);
	asks("list runs/report", names(T1, NULL));
	cr_expect(losses_pending(t));
	asks("get runs/report/" T1, retrying("failed", host_wall_ms(&host)));
	cr_expect(losses_pending(t), "it is not written");
	asks_and_notes(WRITES(T1), ok());
	cr_expect_not(losses_pending(t));
	notices_set_rules(&notices, NULL, 0);
	losses_forget(t);
	cr_expect_not(losses_pending(t), "nobody wants to know");
}

Test(losses, what_a_newer_tick_has_ended_is_told_before_its_end)
{
	struct run_record r = {.retrying = false};
	struct task *t;

	wants_retries();
	t = task_of("report");
	losses_changed(&losses);
	asks("list runs/report", names(T1, NULL));
	asks("get runs/report/" T1, retrying("lost", host_wall_ms(&host)));
	idle();
	cr_expect_not(losses_pending(t), "it may be begun again");
	losses_noted(&losses, t, T2, &r); /* its claim */
	cr_expect(losses_pending(t));
	asks("get runs/report/" T1, retrying("failed", host_wall_ms(&host)));
	cr_expect(losses_pending(t));
	asks_and_notes(WRITES(T1), ok());
	pass(0);
	cr_expect_eq(told.event, NOTICE_FAILED);
	cr_expect_not(losses_pending(t));
	losses_noted(&losses, t, T2, &r);
	cr_expect_not(losses_pending(t), "nothing is left to be told");
	pass(10 * LOSSES_AGAIN_MS);
	idle();
}

/* The claim comes while it is being looked at, and its retries are not over yet. */
Test(losses, a_claim_beside_a_look_has_it_repeated_at_once)
{
	struct run_record r = {.retrying = false};
	struct task *t;

	wants_retries();
	t = task_of("report");
	losses_changed(&losses);
	asks("list runs/report", names(T1, NULL));
	pass(0);
	losses_noted(&losses, t, T2, &r);
	asks("get runs/report/" T1, retrying("lost", host_wall_ms(&host)));
	cr_expect(losses_pending(t));
	asks("get runs/report/" T1, retrying("lost", host_wall_ms(&host)));
	cr_expect_not(losses_pending(t));
}
