/* The tick ledger: what is asked of ZooKeeper to look at, to claim and to write a tick, and what follows. */
#include "node_site.h"

#include "node/ledger/ledger.h"

#define T1 "2026-11-20T01:00:00Z"
#define T2 "2026-11-20T02:00:00Z"
#define T3 "2026-11-20T03:00:00Z"
#define T4 "2026-11-20T04:00:00Z"

TestSuite(ledger, .init = site_begin);

static struct {
	int calls;
	enum ledger_result result;
	bool has_record;
	struct run_record record;
	int32_t version;
} said;

static void on_said(void *arg, enum ledger_result result, const struct run_record *record,
		    int32_t version)
{
	(void)arg;
	said.calls++;
	said.result = result;
	said.has_record = record != NULL;
	if (record)
		said.record = *record;
	said.version = version;
}

#define says(what) script_says(what, __LINE__)
static void script_says(enum ledger_result result, int line)
{
	idle();
	cr_expect_eq(said.calls, 1, "line %d: %d answers", line, said.calls);
	cr_expect_eq(said.result, result, "line %d: result %d", line, said.result);
	said.calls = 0;
}

static const struct run_record running = {.state = "running",
					  .id = "me",
					  .hostname = "here",
					  .session = SESSION,
					  .token = TOKEN,
					  .attempt = 1,
					  .started_at = WALL_MS,
					  .exit_status = -1};

static struct store_reply record_of(const char *state)
{
	return run_in(state, running, 3);
}

static void look_at(const char *tick, const char *limit, bool whole)
{
	const struct ledger_sight sight = {
		.limit = limit, .whole = whole, .watcher = &leaders, .class = WATCH_WAIT};
	ledger_look(&leaders, "report", tick, &sight, on_said, NULL);
}

static void claim_tick(const char *tick)
{
	ledger_claim(task_of("report"), tick, TICK_NO_LIMIT, TICK_NO_LIMIT, NULL, &running, on_said,
		     NULL);
}

/* --- looking ------------------------------------------------------------------------------------------- */

Test(ledger, whether_a_tick_is_claimed_is_asked_with_a_watch)
{
	lead("report");
	look_at(T2, TICK_NO_LIMIT, false);
	asks("exists! runs/report/" T2, of_stat((struct store_stat){.version = 3}));
	says(LEDGER_PRESENT);
	cr_expect_eq(said.version, 3);
	cr_expect_not(said.has_record);
}

Test(ledger, a_whole_look_reads_the_record_behind_the_watch)
{
	lead("report");
	look_at(T2, TICK_NO_LIMIT, true);
	asks("exists! runs/report/" T2, ok());
	asks("get runs/report/" T2, record_of("ok"));
	says(LEDGER_PRESENT);
	cr_assert(said.has_record);
	cr_expect_str_eq(said.record.state, "ok");
	cr_expect_eq(said.version, 3);
}

Test(ledger, a_record_that_is_none_is_there_all_the_same)
{
	lead("report");
	look_at(T2, TICK_NO_LIMIT, true);
	asks("exists! runs/report/" T2, ok());
	asks("get runs/report/" T2, holds("junk", 4, (struct store_stat){.version = 3}));
	says(LEDGER_PRESENT);
	cr_expect_not(said.has_record);
}

Test(ledger, a_record_that_goes_between_look_and_read_is_looked_at_again)
{
	lead("report");
	look_at(T2, TICK_NO_LIMIT, true);
	asks("exists! runs/report/" T2, ok());
	asks("get runs/report/" T2, failed(STORE_NO_NODE));
	says(LEDGER_AGAIN);
}

/* If a tick has no record, the others tell whether it may have been pruned. */
Test(ledger, a_tick_without_a_record_is_absent_or_older_than_what_is_kept)
{
	static const struct {
		const char *what, *tick, *limit, *others[3];
		bool reads_floor;
		const char *floor;
		enum ledger_result result;
	} cases[] = {
		{"no others", T2, TICK_NO_LIMIT, {NULL}, false, NULL, LEDGER_ABSENT},
		{"the newest", T3, TICK_NO_LIMIT, {T1, T2}, false, NULL, LEDGER_ABSENT},
		{"a gap", T2, TICK_NO_LIMIT, {T1, T3}, false, NULL, LEDGER_ABSENT},
		{"the oldest", T1, TICK_NO_LIMIT, {T2, T3}, false, NULL, LEDGER_OLDER},
		{"what is no tick does not count",
		 T1,
		 TICK_NO_LIMIT,
		 {"x"},
		 false,
		 NULL,
		 LEDGER_ABSENT},
		/* Claimed by a clock that is wrong: only what was pruned is older. */
		{"others ahead of their time", T1, T2, {T3, T4}, true, "", LEDGER_ABSENT},
		{"likewise, and it was pruned", T1, T2, {T3, T4}, true, T2, LEDGER_OLDER},
		{"likewise, pruned before it", T2, T2, {T3, T4}, true, T1, LEDGER_ABSENT},
		{"a floor that is no tick",
		 T1,
		 T2,
		 {T3, T4},
		 true,
		 "2026-11-20 02:00:00Z",
		 LEDGER_ABSENT},
	};

	lead("report");
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		char exists[80];
		snprintf(exists, sizeof(exists), "exists! runs/report/%s", cases[i].tick);
		look_at(cases[i].tick, cases[i].limit, false);
		asks(exists, failed(STORE_NO_NODE));
		asks("list runs/report",
		     names(cases[i].others[0], cases[i].others[1], cases[i].others[2]));
		if (cases[i].reads_floor)
			asks("get runs/report", holds(cases[i].floor, strlen(cases[i].floor),
						      (struct store_stat){.version = 1}));
		cr_expect_eq(said.result, cases[i].result, "%s: %d", cases[i].what, said.result);
		says(cases[i].result);
	}
}

Test(ledger, an_answer_that_is_lost_is_unknown_and_one_that_refuses_has_failed)
{
	static const struct {
		enum store_code code;
		enum ledger_result result;
	} cases[] = {
		{STORE_UNKNOWN, LEDGER_UNKNOWN},
		{STORE_ABANDONED, LEDGER_UNKNOWN},
		{STORE_NO_AUTH, LEDGER_FAILED},
		{STORE_FAILED, LEDGER_FAILED},
	};

	lead("report");
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		look_at(T2, TICK_NO_LIMIT, true);
		asks("exists! runs/report/" T2, failed(cases[i].code));
		says(cases[i].result);
		claim_tick(T2);
		asks("get runs/report", failed(cases[i].code));
		says(cases[i].result);
	}
}

/* --- claiming ------------------------------------------------------------------------------------------ */

static void load(const char *first, const char *second, const char *third)
{
	asks("get runs/report", of_stat((struct store_stat){.version = 8}));
	asks("list runs/report", names(first, second, third, NULL));
}

#define CLAIM(tick, version)                                                       \
	"check workers/me, check leaders/report, check runs/report v" version ", " \
	"create runs/report/" tick

Test(ledger, a_claim_checks_worker_leadership_and_that_nothing_was_pruned)
{
	lead("report");
	claim_tick(T3);
	load(T1, T2, NULL);
	asks(CLAIM(T3, "8"), ok());
	says(LEDGER_DONE);
	struct run_record r;
	const char *why;
	cr_assert_eq(record_parse_run(store.last.data, store.last.len, &r, &why), 0);
	cr_expect_str_eq(r.state, "running");
	cr_expect_eq(r.token, TOKEN);
}

Test(ledger, the_next_claim_of_a_leadership_reads_nothing)
{
	lead("report");
	claim_tick(T2);
	load(T1, NULL, NULL);
	asks(CLAIM(T2, "8"), ok());
	says(LEDGER_DONE);
	claim_tick(T3);
	asks(CLAIM(T3, "8"), ok());
	says(LEDGER_DONE);
	claim_tick(T2);
	says(LEDGER_PRESENT);
	claim_tick("2026-11-20T00:00:00Z");
	says(LEDGER_OLDER);
}

Test(ledger, another_leadership_reads_anew)
{
	struct task *t = lead("report");

	claim_tick(T2);
	load(T1, NULL, NULL);
	asks(CLAIM(T2, "8"), ok());
	says(LEDGER_DONE);
	t->election.node.token++;
	claim_tick(T3);
	load(T1, T2, NULL);
	asks(CLAIM(T3, "8"), ok());
	says(LEDGER_DONE);
}

/* Reads under the old leadership may be outdated: others claimed meanwhile. */
Test(ledger, what_a_claim_has_read_is_forgotten_where_the_leadership_changed_meanwhile)
{
	struct task *t = lead("report");

	claim_tick(T2);
	load(T1, NULL, NULL);
	t->election.node.token++;
	asks(CLAIM(T2, "8"), ok());
	says(LEDGER_DONE);
	t->election.node.token--;
	claim_tick(T3);
	load(T1, T2, NULL);
	asks(CLAIM(T3, "8"), ok());
	says(LEDGER_DONE);
}

Test(ledger, what_is_claimed_or_older_is_not_claimed_again)
{
	lead("report");
	claim_tick(T2);
	load(T1, T2, T3);
	says(LEDGER_PRESENT);
}

Test(ledger, folders_that_are_missing_are_made_once)
{
	lead("report");
	claim_tick(T2);
	asks("get runs/report", failed(STORE_NO_NODE));
	asks("create runs", ok());
	asks("create runs/report", failed(STORE_NODE_EXISTS));
	asks("get runs/report", ok());
	asks("list runs/report", names(NULL));
	asks(CLAIM(T2, "0"), ok());
	says(LEDGER_DONE);
}

Test(ledger, a_claim_that_others_were_quicker_with_is_looked_at_again)
{
	static const struct {
		enum store_code code;
		int op;
		enum ledger_result result;
	} cases[] = {
		{STORE_NO_NODE, 0, LEDGER_AGAIN},     /* this worker is not registered any more */
		{STORE_NO_NODE, 1, LEDGER_AGAIN},     /* nobody leads */
		{STORE_BAD_VERSION, 2, LEDGER_AGAIN}, /* the ledger was pruned */
		{STORE_NODE_EXISTS, 3, LEDGER_AGAIN}, /* the tick is claimed */
		{STORE_UNKNOWN, -1, LEDGER_UNKNOWN},  {STORE_NO_AUTH, 3, LEDGER_FAILED},
	};

	lead("report");
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		claim_tick(T2);
		load(T1, NULL, NULL); /* nothing is left of the claim before */
		asks(CLAIM(T2, "8"), failed_at(cases[i].code, cases[i].op));
		says(cases[i].result);
	}
}

/* --- pruning ------------------------------------------------------------------------------------------- */

Test(ledger, a_claim_prunes_to_what_the_history_keeps_and_says_what_is_oldest)
{
	lead("report")->listing->settings.history = 2;
	claim_tick(T4);
	load(T1, T2, T3);
	asks("check workers/me, check leaders/report, set runs/report v8, create runs/report/" T4
	     ", delete runs/report/" T1 ", delete runs/report/" T2,
	     ok());
	cr_expect_eq(store.last.len, TICK_NAME_SIZE - 1);
	cr_expect_eq(memcmp(store.last.data, T3, store.last.len), 0);
	says(LEDGER_DONE);
	/* The version has grown with it, and what was pruned counts as claimed. */
	claim_tick(T1);
	says(LEDGER_OLDER);
	claim_tick("2026-11-20T05:00:00Z");
	asks("check workers/me, check leaders/report, set runs/report v9, create "
	     "runs/report/2026-11-20T05:00:00Z, delete runs/report/" T3,
	     ok());
	says(LEDGER_DONE);
}

Test(ledger, a_tick_among_the_oldest_does_not_prune_itself_or_what_is_younger)
{
	lead("report")->listing->settings.history = 2;
	claim_tick(T2);
	load(T1, T3, T4);
	asks("check workers/me, check leaders/report, set runs/report v8, create runs/report/" T2
	     ", delete runs/report/" T1,
	     ok());
	cr_expect_eq(memcmp(store.last.data, T2, store.last.len), 0);
	says(LEDGER_DONE);
}

/* T2 is owed: were T1 pruned, T3 would be the oldest, and T2 count as claimed. */
Test(ledger, a_claim_prunes_nothing_that_would_hide_what_is_owed)
{
	lead("report")->listing->settings.history = 1;
	ledger_claim(task_of("report"), T4, TICK_NO_LIMIT, T2, NULL, &running, on_said, NULL);
	load(T1, T3, NULL);
	asks("check workers/me, check leaders/report, check runs/report v8, create runs/report/" T4,
	     ok());
	says(LEDGER_DONE);
	ledger_claim(task_of("report"), T2, TICK_NO_LIMIT, T2, NULL, &running, on_said, NULL);
	asks("check workers/me, check leaders/report, set runs/report v8, create runs/report/" T2
	     ", delete runs/report/" T1,
	     ok());
	cr_expect_eq(memcmp(store.last.data, T2, store.last.len), 0);
	says(LEDGER_DONE);
}

/* An order by hand is for that tick alone: it is good although all that is kept is later. */
Test(ledger, what_was_triggered_may_be_older_than_the_oldest_and_does_not_move_that_back)
{
	lead("report")->listing->settings.history = 2;
	ledger_claim(task_of("report"), T4, TICK_NO_LIMIT, TICK_NO_LIMIT, NULL, &running, on_said,
		     NULL);
	load(T1, T2, T3);
	asks("check workers/me, check leaders/report, set runs/report v8, create runs/report/" T4
	     ", delete runs/report/" T1 ", delete runs/report/" T2,
	     ok());
	says(LEDGER_DONE);
	static const char *const olds[] = {T1, T2};
	for (int i = 0; i < 2; i++) {
		char text[300];
		ledger_claim(task_of("report"), olds[i], TICK_NO_LIMIT, TICK_NO_LIMIT,
			     ROOT "/policy/d1", &running, on_said, NULL);
		snprintf(text, sizeof(text),
			 "check workers/me, check leaders/report, %s runs/report v9, create "
			 "runs/report/%s, delete policy/d1%s",
			 i == 0 ? "check" : "set", olds[i],
			 i == 0 ? "" : ", delete runs/report/" T1);
		asks(text, ok());
		if (i == 1)
			cr_expect_eq(memcmp(store.last.data, T3, store.last.len), 0,
				     "not back to what was pruned before");
		says(LEDGER_DONE);
	}
}

Test(ledger, a_claim_that_cannot_prune_claims_without)
{
	lead("report")->listing->settings.history = 1;
	claim_tick(T2);
	load(T1, NULL, NULL);
	asks("check workers/me, check leaders/report, set runs/report v8, create runs/report/" T2
	     ", delete runs/report/" T1,
	     failed_at(STORE_NO_AUTH, 4));
	load(T1, NULL, NULL);
	asks(CLAIM(T2, "8"), ok());
	says(LEDGER_DONE);
}

/* --- writing ------------------------------------------------------------------------------------------- */

Test(ledger, a_record_is_replaced_only_in_its_version)
{
	static const struct {
		bool must_lead;
		const char *request;
		struct store_reply reply;
		enum ledger_result result;
	} cases[] = {
		{false, "set runs/report/" T2 " v3", {.code = STORE_OK}, LEDGER_DONE},
		{true,
		 "set runs/report/" T2 " v3, check workers/me, check leaders/report",
		 {.code = STORE_OK},
		 LEDGER_DONE},
		{false, "set runs/report/" T2 " v3", {.code = STORE_BAD_VERSION}, LEDGER_AGAIN},
		{false, "set runs/report/" T2 " v3", {.code = STORE_NO_NODE}, LEDGER_AGAIN},
		{false, "set runs/report/" T2 " v3", {.code = STORE_UNKNOWN}, LEDGER_UNKNOWN},
		{false, "set runs/report/" T2 " v3", {.code = STORE_FAILED}, LEDGER_FAILED},
	};

	lead("report");
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		ledger_write(&leaders, "report", T2, NULL, &running, 3, cases[i].must_lead, NULL,
			     on_said, NULL);
		asks(cases[i].request, cases[i].reply);
		says(cases[i].result);
	}
}

/* --- what is told of a record --------------------------------------------------------------------------- */

Test(ledger, a_run_whose_session_is_gone_is_lost)
{
	lead("report");
	joins("b", "1.0", 1);
	cr_expect_str_eq(ledger_state(&registry, "running", 'b'), "running");
	cr_expect_str_eq(ledger_state(&registry, "running", 'c'), "lost");
	cr_expect_str_eq(ledger_state(&registry, "ok", 'c'), "ok");
	registry.workers.listing = true; /* who is there is not known for the moment */
	cr_expect_str_eq(ledger_state(&registry, "running", 'c'), "running");
}
