/* An order to run a task by hand: what the transaction looks at, and what follows from its answer. */
#include "node_site.h"

#include "node/schedule/trigger.h"

#define TICK "2026-11-20T02:00:01Z"

TestSuite(trigger, .init = site_begin);

static int answers;
static enum trigger_result result;

static void on_put(void *arg, enum trigger_result r)
{
	(void)arg;
	answers++;
	result = r;
}

static struct policy_record order(const char *task, const char *tick)
{
	struct policy_record r = {.since = WALL_MS, .by = "root", .host = "here"};

	snprintf(r.kind, sizeof(r.kind), "%s", policy_kind_name(POLICY_TRIGGER));
	snprintf(r.task, sizeof(r.task), "%s", task);
	snprintf(r.node, sizeof(r.node), "%s", tick);
	return r;
}

static void put(const char *task, const char *tick, int32_t version)
{
	struct policy_record r = order(task, tick);
	char text[400];

	answers = 0;
	trigger_put(&leaders, &r, version, on_put, NULL);
	pass(0);
	cr_assert_eq(store.n_open, 1);
	if (version == TRIGGER_NO_RECORD)
		snprintf(text, sizeof(text),
			 "create policy/new, create runs/%s/%s, delete runs/%s/%s", task, tick,
			 task, tick);
	else
		snprintf(text, sizeof(text), "create policy/new, check runs/%s/%s v%d", task, tick,
			 (int)version);
	cr_assert_str_eq(store.open[0].text, text);
}

static void answer(struct store_reply reply)
{
	script_answer(0, reply);
	pass(0);
}

static struct store_reply fails_at(enum store_code code, int op)
{
	struct store_reply reply = failed(code);

	reply.failed_op = op;
	return reply;
}

Test(trigger, is_named_by_its_tick_whoever_gives_it)
{
	static const char *const ticks[] = {TICK, TICK, "2026-11-20T02:00:02Z"};
	char names[3][NAME_ID_MAX + 1];

	lead("report");
	for (int i = 0; i < 3; i++) {
		put("report", ticks[i], i == 1 ? 3 : TRIGGER_NO_RECORD);
		answer(ok());
		cr_expect_eq(answers, 1);
		cr_expect_eq(result, TRIGGER_DONE);
		const struct policy_item *item =
			policy_find_own(&policy, POLICY_TRIGGER, "report", ticks[i]);
		cr_assert_not_null(item, "it is known at once");
		cr_expect_eq(strlen(item->name), 36);
		snprintf(names[i], sizeof(names[i]), "%s", item->name);
		policy_gone(&policy, names[i]);
	}
	cr_expect_str_eq(names[0], names[1]);
	cr_expect_str_neq(names[0], names[2]);
}

Test(trigger, what_the_answers_mean)
{
	static const struct {
		int32_t version;
		enum store_code code;
		int op;
		enum trigger_result result;
	} cases[] = {
		{TRIGGER_NO_RECORD, STORE_NODE_EXISTS, 0, TRIGGER_TAKEN},
		{TRIGGER_NO_RECORD, STORE_NODE_EXISTS, 1, TRIGGER_TAKEN},
		{3, STORE_BAD_VERSION, 1, TRIGGER_CHANGED},
		{3, STORE_NO_NODE, 1, TRIGGER_CHANGED},
		{TRIGGER_NO_RECORD, STORE_UNKNOWN, 0, TRIGGER_UNKNOWN},
		{3, STORE_ABANDONED, 0, TRIGGER_UNKNOWN},
		{3, STORE_FULL, 0, TRIGGER_FULL},
		{3, STORE_NO_AUTH, 0, TRIGGER_FAILED},
	};

	lead("report");
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		put("report", TICK, cases[i].version);
		answer(fails_at(cases[i].code, cases[i].op));
		cr_expect_eq(answers, 1, "case %zu", i);
		cr_expect_eq(result, cases[i].result, "case %zu", i);
	}
	cr_expect_eq(policy.n, 0);
}

Test(trigger, the_first_run_of_a_task_has_its_folder_made)
{
	lead("report");
	put("report", TICK, TRIGGER_NO_RECORD);
	answer(fails_at(STORE_NO_NODE, 1));
	asks("create runs", failed(STORE_NODE_EXISTS));
	asks("create runs/report", ok());
	cr_expect_eq(answers, 0);
	answer(ok());
	cr_expect_eq(result, TRIGGER_DONE);
	put("report", "2026-11-20T02:00:02Z", TRIGGER_NO_RECORD);
	answer(fails_at(STORE_NO_NODE, 1));
	asks("create runs", failed(STORE_UNKNOWN));
	cr_expect_eq(result, TRIGGER_UNKNOWN);
}
