/* Ticks that nobody ran: their records come at once or not at all, and old ones go with them. */
#include "node_site.h"

#include "node/ledger/ledger.h"
#include "node/notices/notices.h"

#define T1     "2026-11-20T01:00:00Z"
#define T2     "2026-11-20T02:00:00Z"
#define T3     "2026-11-20T03:00:00Z"
#define T4     "2026-11-20T04:00:00Z"
#define T5     "2026-11-20T05:00:00Z"
#define T6     "2026-11-20T06:00:00Z"

#define CHECKS "check workers/me, check leaders/report, check runs/report v8"
#define PRUNES "check workers/me, check leaders/report, set runs/report v8"
#define MADE   ", create runs/report/" T5 ", create runs/report/" T6

static int calls;
static enum ledger_result result;
static const struct run_record missed_record = {.state = "missed",
						.id = "me",
						.hostname = "here",
						.session = SESSION,
						.token = TOKEN,
						.attempt = 1,
						.started_at = WALL_MS,
						.ended_at = WALL_MS,
						.exit_status = -1};

static void on_said(void *arg, enum ledger_result r, const struct run_record *record,
		    int32_t version)
{
	cr_expect(arg == &calls && !record && version == 0);
	calls++;
	result = r;
}

#define says(what) script_says(what, __LINE__)
static void script_says(enum ledger_result wanted, int line)
{
	idle();
	cr_expect_eq(calls, 1, "line %d: %d answers", line, calls);
	cr_expect_eq(result, wanted, "line %d: result %d", line, result);
	calls = 0;
}

static void begin(void)
{
	site_begin();
	lead("report");
	task_of("report")->listing->settings.history = 2;
}

TestSuite(ledger_missed, .init = begin);

static void miss_n(const char *const *ticks, size_t n)
{
	struct notice_record event;
	int64_t times[60];

	for (size_t i = 0; i < n; i++)
		cr_assert(tick_parse(ticks[i], &times[i]));
	notice_init(&registry, &event, NOTICE_MISSED, "report");
	const struct ledger_missing missing = {.ticks = times,
					       .n = n,
					       .owed = TICK_NO_LIMIT,
					       .record = &missed_record,
					       .event = &event};
	ledger_missed(task_of("report"), &missing, on_said, &calls);
}

/* 05:00 and 06:00, of a history of two: one more than that may be there. */
static void miss(void)
{
	miss_n((const char *const[]){T5, T6}, 2);
}

static void load(const char *first, const char *second, const char *third, const char *fourth)
{
	asks("get runs/report", of_stat((struct store_stat){.version = 8}));
	asks("list runs/report", names(first, second, third, fourth, NULL));
}

static struct store_reply record_of(const char *state)
{
	return run_in(state, missed_record, 3);
}

/* --- what is made -------------------------------------------------------------------------------------- */

Test(ledger_missed, all_records_come_in_one_transaction_that_checks_worker_leader_and_ledger)
{
	struct run_record r;
	const char *why;

	miss();
	load(NULL, NULL, NULL, NULL);
	asks(CHECKS MADE, ok());
	cr_assert_eq(record_parse_run(store.last.data, store.last.len, &r, &why), 0);
	cr_expect_str_eq(r.state, "missed");
	cr_expect_eq(r.token, TOKEN);
	says(LEDGER_DONE);
}

Test(ledger_missed, an_event_that_is_wanted_is_noted_with_them)
{
	static struct notices notices;
	static const char *const patterns[] = {"report"};
	const struct notice_rule rule = {1u << NOTICE_MISSED, patterns, 1};

	notices_init(&notices, &session, &registry);
	notices_set_rules(&notices, &rule, 1);
	asks("create notices", ok());
	asks("list notices", names(NULL));
	idle();
	miss();
	load(NULL, NULL, NULL, NULL);
	static const char wanted[] = CHECKS MADE ", create notices/";
	cr_assert_eq(store.n_open, 1);
	cr_expect_eq(strncmp(store.open[0].text, wanted, strlen(wanted)), 0, "%s",
		     store.open[0].text);
	answer_all(STORE_OK);
	cr_expect_eq(result, LEDGER_DONE);
	notices_done(&notices);
}

Test(ledger_missed, folders_that_are_missing_are_made_once)
{
	for (int twice = 0; twice < 2; twice++) {
		miss();
		asks("get runs/report", failed(STORE_NO_NODE));
		asks("create runs", failed(twice ? STORE_OK : STORE_NODE_EXISTS));
		asks("create runs/report", failed(twice ? STORE_NODE_EXISTS : STORE_OK));
		if (twice) {
			asks("get runs/report", failed(STORE_NO_NODE));
			says(LEDGER_UNKNOWN);
			continue;
		}
		load(NULL, NULL, NULL, NULL);
		asks(CHECKS MADE, ok());
		says(LEDGER_DONE);
	}
}

/* The transaction proves that there is a leader, not which one. */
Test(ledger_missed, whoever_does_not_lead_any_more_makes_nothing)
{
	struct task *t = task_of("report");

	miss();
	asks("get runs/report", ok());
	t->election.node.token++;
	asks("list runs/report", names(NULL));
	says(LEDGER_AGAIN);
	t->election.node.token--;
	miss();
	asks("get runs/report", ok());
	decides("1", POLICY_PAUSE, "report", "", "");
	asks("list runs/report", names(NULL));
	cr_expect_eq(calls, 1);
	cr_expect_eq(result, LEDGER_AGAIN);
}

Test(ledger_missed, a_task_that_has_gone_meanwhile_has_no_leader)
{
	miss();
	asks("get runs/report", ok());
	configures("other", NULL);
	while (strcmp(store.open[0].text, "list runs/report") != 0)
		script_answer(0, ok());
	script_answer(0, names(NULL));
	cr_expect_eq(calls, 1);
	cr_expect_eq(result, LEDGER_AGAIN);
}

static void claim(const char *tick)
{
	ledger_claim(task_of("report"), tick, TICK_NO_LIMIT, TICK_NO_LIMIT, NULL, &missed_record,
		     on_said, &calls);
}

Test(ledger_missed, the_next_claim_reads_the_ledger_anew)
{
	claim(T3);
	load(NULL, NULL, NULL, NULL);
	asks(CHECKS ", create runs/report/" T3, ok());
	says(LEDGER_DONE);
	claim(T4); /* what it has read is remembered */
	asks(CHECKS ", create runs/report/" T4, ok());
	says(LEDGER_DONE);
	miss();
	load(T3, NULL, NULL, NULL);
	asks(CHECKS MADE, ok());
	says(LEDGER_DONE);
	claim(T5);
	load(T3, T5, NULL, NULL);
	says(LEDGER_PRESENT);
}

/* --- what the answers mean ----------------------------------------------------------------------------- */

static const struct {
	enum store_code code;
	enum ledger_result result;
} failures[] = {
	{STORE_UNKNOWN, LEDGER_UNKNOWN}, {STORE_ABANDONED, LEDGER_UNKNOWN},
	{STORE_NO_AUTH, LEDGER_FAILED},	 {STORE_FULL, LEDGER_FAILED},
	{STORE_FAILED, LEDGER_FAILED},
};

Test(ledger_missed, wherever_an_answer_is_lost_it_is_unknown_and_a_refusal_fails)
{
	for (size_t i = 0; i < sizeof(failures) / sizeof(failures[0]); i++) {
		const struct store_reply fails = failed(failures[i].code);

		miss();
		asks("get runs/report", fails);
		says(failures[i].result);

		miss();
		asks("get runs/report", failed(STORE_NO_NODE));
		asks("create runs", fails);
		says(failures[i].result);

		miss();
		asks("get runs/report", failed(STORE_NO_NODE));
		asks("create runs", ok());
		asks("create runs/report", fails);
		says(failures[i].result);

		miss();
		asks("get runs/report", ok());
		asks("list runs/report", fails);
		says(failures[i].result);

		miss();
		load(T1, T2, NULL, NULL);
		asks("get runs/report/" T1, fails);
		says(failures[i].result);

		miss();
		load(T1, NULL, NULL, NULL);
		asks(CHECKS MADE, fails);
		says(failures[i].result);
	}
}

Test(ledger_missed, where_others_were_quicker_it_is_looked_at_again)
{
	static const struct store_reply cases[] = {
		{.code = STORE_NO_NODE, .failed_op = 0},     /* not registered any more */
		{.code = STORE_NO_NODE, .failed_op = 1},     /* nobody leads */
		{.code = STORE_BAD_VERSION, .failed_op = 2}, /* the ledger was pruned */
		{.code = STORE_NODE_EXISTS, .failed_op = 4}, /* a tick has a record */
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		miss();
		load(NULL, NULL, NULL, NULL);
		asks(CHECKS MADE, cases[i]);
		says(LEDGER_AGAIN);
	}
	miss(); /* one of the oldest has gone between list and look */
	load(T1, T2, NULL, NULL);
	asks("get runs/report/" T1, failed(STORE_NO_NODE));
	says(LEDGER_AGAIN);
}

/* --- what goes ----------------------------------------------------------------------------------------- */

static const struct {
	const char *what;
	const char *there[5];  /* ends with NULL */
	const char *states[5]; /* of those that are looked at */
	bool rerun;
	const char *request;
	const char *floor; /* the oldest that is left; NULL: nothing goes */
} prunings[] = {
	{"what is no tick does not count", {T1, "x", "y"}, {NULL}, false, CHECKS MADE, NULL},
	{"the oldest go, and the oldest that is left is said",
	 {T3, T1, T4, T2},
	 {"ok", "failed", "missed", NULL},
	 false,
	 PRUNES MADE ", delete runs/report/" T1 ", delete runs/report/" T2
		     ", delete runs/report/" T3,
	 T4},
	{"not more than are too many",
	 {T1, T2},
	 {"ok", NULL},
	 false,
	 PRUNES MADE ", delete runs/report/" T1,
	 T2},
	{"nothing behind one that runs",
	 {T1, T2, T3, T4},
	 {"ok", "running", NULL},
	 false,
	 PRUNES MADE ", delete runs/report/" T1,
	 T2},
	{"or that is not understood", {T1, T2, T3}, {"junk", NULL}, false, CHECKS MADE, NULL},
	{"or that is to be run again", {T1, T2, T3}, {"lost", NULL}, true, CHECKS MADE, NULL},
	{"but else a lost one goes",
	 {T1, T2},
	 {"lost", NULL},
	 false,
	 PRUNES MADE ", delete runs/report/" T1,
	 T2},
};

Test(ledger_missed, of_a_ledger_with_far_too_many_the_oldest_that_have_ended_go)
{
	for (size_t i = 0; i < sizeof(prunings) / sizeof(prunings[0]); i++) {
		const char *const *there = prunings[i].there, *const *states = prunings[i].states;
		static const char *const ticks[] = {T1, T2, T3, T4};
		char text[80];

		puts(prunings[i].what);
		task_of("report")->listing->settings.on_crash =
			prunings[i].rerun ? TASK_ON_CRASH_RERUN : TASK_ON_CRASH_SKIP;
		miss();
		asks("get runs/report", of_stat((struct store_stat){.version = 8}));
		asks("list runs/report", names(there[0], there[1], there[2], there[3], NULL));
		for (size_t k = 0; states[k]; k++) {
			snprintf(text, sizeof(text), "get runs/report/%s", ticks[k]);
			asks(text, strcmp(states[k], "junk") == 0
					   ? holds("junk", 4, (struct store_stat){.version = 3})
					   : record_of(states[k]));
		}
		asks(prunings[i].request, ok());
		if (prunings[i].floor) {
			cr_expect_eq(store.last.len, TICK_NAME_SIZE - 1);
			cr_expect_eq(memcmp(store.last.data, prunings[i].floor, store.last.len), 0);
		}
		says(LEDGER_DONE);
	}
}

/* Claims prune the rest. */
Test(ledger_missed, half_more_than_the_history_may_be_there)
{
	miss_n((const char *const[]){T5}, 1);
	load(T1, T2, NULL, NULL);
	asks(CHECKS ", create runs/report/" T5, ok());
	says(LEDGER_DONE);
}

/* The oldest that is left has to be one that is there. */
Test(ledger_missed, the_last_record_stays)
{
	task_of("report")->listing->settings.history = 0;
	miss();
	load(T1, T2, NULL, NULL);
	asks("get runs/report/" T1, record_of("ok"));
	asks(PRUNES MADE ", delete runs/report/" T1, ok());
	says(LEDGER_DONE);
}

static size_t count_of(const char *text, const char *part)
{
	size_t n = 0;

	for (; (text = strstr(text, part)); text++)
		n++;
	return n;
}

Test(ledger_missed, of_very_many_fifty_go_at_once)
{
	static char texts[60][TICK_NAME_SIZE + 24], *list[60];
	struct store_reply listed = ok();

	for (int i = 0; i < 60; i++) {
		snprintf(texts[i], sizeof(texts[i]), "2026-10-01T%02d:%02d:00Z", i / 10, i % 10);
		list[i] = texts[i];
	}
	listed.names = list;
	listed.n_names = 60;
	miss();
	asks("get runs/report", ok());
	asks("list runs/report", listed);
	for (int i = 0; i < 50; i++) {
		char text[80] = "get runs/report/";
		strcat(text, texts[i]);
		asks(text, record_of("ok"));
	}
	cr_assert_eq(store.n_open, 1);
	cr_expect_eq(count_of(store.open[0].text, "delete runs/report/"), 50);
	cr_expect_eq(memcmp(store.open[0].data, texts[50], TICK_NAME_SIZE - 1), 0);
	script_answer(0, ok());
	says(LEDGER_DONE);
}
