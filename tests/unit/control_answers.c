/*
 * The socket's answers while time goes on: each look at the clock moves it here, so that a lease or
 * a wait runs out between any two looks that one answer takes. The answer is whole and agrees with
 * itself all the same.
 */
#include "control_peer.h"
#include "node_site.h"

#include "control/answer/answers.h"
#include "control/answer/explain.h"
#include "control/ask/methods.h"
#include "control/answer/partition_answers.h"
#include "config/config.h"
#include "node/node.h"

TestSuite(answers, .init = site_begin);

#define PARTITIONS 4

static struct peer *const peer = &clients[0].peer;

static struct reader result(void)
{
	return result_of(peer);
}

/* How many of the owners have a lease that is promised. */
static size_t promised(struct reader map)
{
	struct reader r = value_of(map, "owners");
	size_t n, with = 0;

	cr_assert_eq(reader_array(&r, &n), 0);
	for (; n > 0; n--) {
		with += number_of(r, "lease_ms") > 0;
		cr_assert_eq(reader_skip(&r), 0);
	}
	return with;
}

/* --- the node ------------------------------------------------------------------------------------------- */

static struct runs runs;

/* The node that an answer looks at, as it is now. */
static struct node *node(void)
{
	static struct node n;

	n.runs = runs;
	n.host = &host;
	n.session = session;
	n.registry = registry;
	n.policy = policy;
	n.leaders = leaders;
	return &n;
}

#define LOOKS 40 /* at the clock, more than one answer takes */

/*
 * An answer is asked for that many looks before the lease is over. It is the same lease each time: the clock is
 * set back.
 */
static void ask_before_the_end(int64_t looks)
{
	static int64_t end_ms;

	host.creep_ms = 0;
	if (!end_ms)
		end_ms = host.now_ms + session_lease_left(&session);
	host.now_ms = end_ms - looks;
	cr_assert_eq(session_lease_left(&session), looks);
	host.creep_ms = 1;
}

/* This node leads all partitions of scan. */
static struct listing *lead_partitions(void)
{
	struct task_settings scan = settings_of("scan");
	char text[80];

	scan.partitions = PARTITIONS;
	tasks_apply(&leaders, &site_timing, &scan, 1);
	splits_in_force("scan", PARTITIONS, 0);
	leaders.partitions.folder.handlers.changed(leaders.partitions.folder.handlers.arg);
	joins("me", "1.0", 5);
	for (unsigned k = 0; k < PARTITIONS; k++) {
		snprintf(text, sizeof(text), "get! leaders/scan:%u", k);
		asks(text, failed(STORE_NO_NODE));
	}
	asks("check workers/me, set leaders, check partitions/scan:4, create* leaders/scan:0, "
	     "create* leaders/scan:1, create* leaders/scan:2, create* leaders/scan:3",
	     of_stat((struct store_stat){.mzxid = TOKEN}));
	for (unsigned k = 0; k < PARTITIONS; k++) {
		snprintf(text, sizeof(text), "get! leaders/scan:%u", k);
		asks(text, led_by("me", TOKEN));
	}
	idle();
	return listings_find(&leaders, "scan", 4);
}

static struct pack *begun(void)
{
	struct pack *p = peer_begin(peer);

	rpc_pack_result(p, 1);
	return p;
}

/* --- answers -------------------------------------------------------------------------------------------- */

Test(answers, a_check_agrees_with_itself_while_the_lease_runs_out)
{
	struct task *t = lead("report");
	size_t led = 0, not_led = 0;

	for (int64_t looks = 0; looks < LOOKS; looks++) {
		ask_before_the_end(looks);
		answer_check(begun(), node(), t, t->name);
		peer_end(peer, 1);
		bool leader = flag_of(result(), "leader");
		cr_expect_eq(number_of(result(), "lease_ms") > 0, leader);
		cr_expect_eq(text_is(result(), "state", "leading"), leader);
		cr_expect_eq(text_begins(result(), "why", "this node leads"), leader);
		led += leader;
		not_led += !leader;
	}
	cr_expect_gt(led, 0);
	cr_expect_gt(not_led, 0);
}

Test(answers, an_explanation_agrees_with_itself_while_the_lease_runs_out)
{
	struct task *t = lead("report");

	for (int64_t looks = 0; looks < LOOKS; looks++) {
		ask_before_the_end(looks);
		answer_explain(begun(), node(), t);
		peer_end(peer, 1);
		bool leads = flag_of(result(), "leads");
		cr_expect_eq(text_is(result(), "state", "leading"), leads);
		cr_expect_eq(text_begins(result(), "reason", "this node leads"), leads);
	}
}

Test(answers, partitions_are_whole_while_the_lease_runs_out)
{
	struct listing *scan = lead_partitions();
	size_t all = 0, none = 0;

	for (int64_t looks = 0; looks < LOOKS; looks++) {
		ask_before_the_end(looks);
		answer_partitions(begun(), scan);
		peer_end(peer, 1);
		all += length_of(result(), "here") == PARTITIONS;
		none += length_of(result(), "here") == 0;
		cr_expect_eq(length_of(result(), "owners"), PARTITIONS);
		cr_expect_eq(promised(result()), length_of(result(), "here"));
	}
	cr_expect_gt(all, 0);
	cr_expect_gt(none, 0);
}

static void no_answer(void *owner, uint32_t request, const struct run_answer *answer)
{
	(void)owner, (void)request, (void)answer;
}

static void not_told(void *owner)
{
	(void)owner;
}

static void not_kept(void *arg, const struct handoff_run *list, size_t n)
{
	(void)arg, (void)list, (void)n;
}

static void longest_turn(void *arg, int64_t *ret_us, int64_t *ret_cpu_us)
{
	(void)arg;
	*ret_us = *ret_cpu_us = 0;
}

/* Jobs that were taken over, whose supervisors have so long to come back. */
Test(answers, a_status_is_whole_while_jobs_are_given_up)
{
	static const struct runs_handlers handlers = {.answer = no_answer, .released = not_told};
	static const struct handoff_run jobs[] = {{.task = "report", .id = "a"},
						  {.task = "report", .id = "b"}};
	static const struct problems problems;
	static const struct config config;
	static const struct task_files tasks;
	struct process process = {.problems = &problems,
				  .start = &config,
				  .config = &config,
				  .tasks = &tasks,
				  .longest_turn = longest_turn};
	struct methods methods = {.process = &process};
	size_t both = 0, none = 0;

	lead("report");
	runs_init(&runs, &host, &session, &leaders, &handlers, not_kept, NULL);
	runs_take_over(&runs, jobs, 2, true, 500);
	int64_t end_ms = host.now_ms + 500;
	for (int64_t looks = 0; looks < LOOKS; looks++) {
		host.now_ms = end_ms - looks;
		host.creep_ms = 1;
		process.node = methods.node = node();
		answer_status(begun(), &methods);
		peer_end(peer, 1);
		host.creep_ms = 0;
		both += length_of(result(), "jobs") == 2;
		none += length_of(result(), "jobs") == 0;
	}
	cr_expect_gt(both, 0);
	cr_expect_gt(none, 0);
}
