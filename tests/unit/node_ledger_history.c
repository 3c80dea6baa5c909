/* All records of a task's ticks, for `zkleader history`. */
#include "node_site.h"

#include "node/ledger/ledger.h"

#define T1 "2026-11-20T01:00:00Z"
#define T2 "2026-11-20T02:00:00Z"
#define T3 "2026-11-20T03:00:00Z"

static int calls;
static bool good;
static char text[200];

static void on_history(void *arg, bool ok_, const struct ledger_entry *entries, size_t n)
{
	(void)arg;
	calls++;
	good = ok_;
	for (size_t i = 0; i < n; i++) {
		size_t used = strlen(text);
		snprintf(text + used, sizeof(text) - used, "%s%.*s %s; ",
			 entries[i].cut ? "from " : "", 2, entries[i].tick + 11,
			 entries[i].record.state);
	}
}

TestSuite(ledger_history, .init = site_begin);

static struct store_reply record_of(const char *state)
{
	static struct buffer data[4];
	static size_t next;
	struct buffer *b = &data[next++ % 4];
	struct run_record r = {.id = "me",
			       .hostname = "here",
			       .session = SESSION,
			       .token = 40,
			       .attempt = 1,
			       .started_at = WALL_MS,
			       .exit_status = -1};

	snprintf(r.state, sizeof(r.state), "%s", state);
	buffer_done(b);
	buffer_init(b, RECORD_RUN_MAX);
	cr_assert_eq(record_pack_run(b, &r), 0);
	return holds(b->data, b->len, (struct store_stat){.version = 0});
}

static int64_t most;
static const char *since = "";

static void ask_for(void)
{
	struct ledger_range range = {.most = most};

	snprintf(range.since, sizeof(range.since), "%s", since);
	ledger_history(&leaders, "report", &range, on_history, NULL);
}

Test(ledger_history, all_records_are_told_oldest_first)
{
	ask_for();
	asks("list runs/report", names(T2, "no tick", T3, T1, NULL));
	asks("get runs/report", ok());
	asks("get runs/report/" T1, record_of("ok"));
	asks("get runs/report/" T2, record_of("failed"));
	cr_expect_eq(calls, 0);
	asks("get runs/report/" T3, record_of("running"));
	cr_expect_eq(calls, 1);
	cr_expect(good);
	cr_expect_str_eq(text, "01 ok; 02 failed; 03 running; ");
}

Test(ledger_history, only_the_newest_from_a_tick_on_are_read)
{
	since = T2;
	ask_for();
	asks("list runs/report", names(T3, "no tick", T1, T2, NULL));
	asks("get runs/report/" T2, record_of("failed"));
	asks("get runs/report/" T3, record_of("ok"));
	cr_expect_str_eq(text, "02 failed; 03 ok; ");
	text[0] = '\0';
	most = 1;
	ask_for();
	asks("list runs/report", names(T3, "no tick", T1, T2, NULL));
	asks("get runs/report/" T3, record_of("ok"));
	cr_expect_str_eq(text, "03 ok; ");
	cr_expect_eq(calls, 2);
}

Test(ledger_history, what_is_no_record_or_has_just_been_pruned_is_passed_over)
{
	ask_for();
	asks("list runs/report", names(T1, T2, T3, NULL));
	asks("get runs/report", holds(T1, sizeof(T1) - 1, (struct store_stat){.version = 7}));
	asks("get runs/report/" T1, failed(STORE_NO_NODE));
	asks("get runs/report/" T2, holds("junk", 4, (struct store_stat){.version = 0}));
	asks("get runs/report/" T3, record_of("ok"));
	cr_expect(good);
	cr_expect_str_eq(text, "from 03 ok; ");
}

Test(ledger_history, a_task_that_never_ran_has_none)
{
	ask_for();
	asks("list runs/report", failed(STORE_NO_NODE));
	cr_expect_eq(calls, 1);
	cr_expect(good);
	cr_expect_str_eq(text, "");
}

Test(ledger_history, where_one_cannot_be_read_there_is_no_answer)
{
	ask_for();
	asks("list runs/report", names(T1, T2, NULL));
	asks("get runs/report", ok());
	asks("get runs/report/" T1, record_of("ok"));
	asks("get runs/report/" T2, failed(STORE_UNKNOWN));
	cr_expect_eq(calls, 1);
	cr_expect_not(good);
	cr_expect_str_eq(text, "");
	ask_for();
	asks("list runs/report", failed(STORE_NO_AUTH));
	cr_expect_eq(calls, 2);
	cr_expect_not(good);
}
