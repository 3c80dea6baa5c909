/* A node that leads some partitions of "scan", and claims of any of them: what they are told. */
#ifndef ZKLEADER_TEST_RUN_ANY_SITE_H
#define ZKLEADER_TEST_RUN_ANY_SITE_H

#include "node_site.h"

#include "node/runs/run_any.h"
#include "node/ledger/unclaimed.h"

#define TICK	  "2026-11-18T11:06:00Z" /* that the wall clock is in */
#define LATER	  "2026-11-18T11:07:00Z"
#define RECORD(k) "runs/scan:" #k "/" TICK
#define CLAIM(k) \
	"check workers/me, check leaders/scan:" #k ", check runs/scan:" #k " v0, create " RECORD(k)

static struct runs runs;
static struct task_settings file;
static char callers[8]; /* owners */
static size_t calls;
static int answers, releases;
static struct run_answer told;
static char outcome[32], why[600], notice[UNCLAIMED_TEXT_MAX];

static inline void on_answer(void *owner, uint32_t request, const struct run_answer *answer)
{
	(void)request;
	cr_assert(owner, "who asked has gone: nobody is there to be told");
	answers++;
	told = *answer;
	snprintf(outcome, sizeof(outcome), "%s", answer->outcome ? answer->outcome : "");
	snprintf(why, sizeof(why), "%s", answer->why ? answer->why : "");
	snprintf(notice, sizeof(notice), "%s", answer->notice ? answer->notice : "");
}

static inline void on_released(void *owner)
{
	(void)owner;
	releases++;
}

static inline void on_kept(void *arg, const struct handoff_run *list, size_t n)
{
	(void)arg, (void)list, (void)n;
}

static inline void on_task_changed(struct task *t)
{
	(void)t;
	runs_changed(&runs);
}

static inline void on_task_removed(struct task *t)
{
	runs_task_removed(&runs, t);
}

static inline void begin(void)
{
	static const struct runs_handlers handlers = {.answer = on_answer, .released = on_released};

	site_begin();
	runs_init(&runs, &host, &session, &leaders, &handlers, on_kept, NULL);
	site.task_changed = on_task_changed;
	site.task_removed = on_task_removed;
	file = settings_of("scan");
}

static inline void apply(void)
{
	tasks_apply(&leaders, &site_timing, &file, 1);
	turn();
}

/* Puts n partitions into force; this node leads those whose digits are given, "b" all others. */
static inline void leads(unsigned n, const char *ours)
{
	char claim[SCRIPT_TEXT_MAX], text[64];
	int used;

	file.partitions = n;
	splits_in_force("scan", n, 0);
	apply();
	joins("me", "1.0", 5);
	used = snprintf(claim, sizeof(claim),
			"check workers/me, set leaders, check partitions/scan:%u", n);
	for (unsigned k = 0; k < n; k++) {
		bool mine = strchr(ours, (int)('0' + k)) != NULL;
		snprintf(text, sizeof(text), "get! leaders/scan:%u", k);
		asks(text, mine ? failed(STORE_NO_NODE) : led_by("b", 50));
		if (mine)
			used += snprintf(claim + used, sizeof(claim) - (size_t)used,
					 ", create* leaders/scan:%u", k);
	}
	if (ours[0])
		asks(claim, of_stat((struct store_stat){.mzxid = TOKEN}));
	for (const char *k = ours; *k; k++) {
		snprintf(text, sizeof(text), "get! leaders/scan:%c", *k);
		asks(text, led_by("me", TOKEN));
	}
	idle();
}

/* Whatever is asked is answered so that this node leads what nobody leads. */
static inline void leads_all(void)
{
	struct store_reply all = names(NULL);
	char *there[80];
	bool made = false;

	for (pass(0); store.n_open > 0; pass(0)) {
		const char *text = store.open[0].text;
		all.names = there;
		all.n_names = made ? leaders.n_tasks : 0;
		for (size_t i = 0; i < all.n_names; i++)
			there[i] = leaders.tasks[i]->name;
		if (strncmp(text, "list ", 5) == 0)
			script_answer(0, all);
		else if (strncmp(text, "get! ", 5) == 0 || strncmp(text, "exists! ", 8) == 0)
			script_answer(0, made ? led_by("me", TOKEN) : failed(STORE_NO_NODE));
		else
			script_answer(0, of_stat((struct store_stat){.mzxid = TOKEN}));
		made |= strstr(store.last.text, "create* ") != NULL;
	}
}

static inline struct listing *scan(void)
{
	return listings_find(&leaders, "scan", 4);
}

/* Each call has an owner of its own, in the order of the calls. */
static inline void claim_with(struct run_options options)
{
	options.now_ms = host_wall_ms(&host);
	options.pid = 1;
	cr_assert_lt(calls, sizeof(callers));
	runs_claim_any(&runs, &callers[calls++], 1, scan(), &options);
	turn();
	pass(0);
}

static inline void claim(int64_t wait_ms)
{
	claim_with((struct run_options){.wait_ms = wait_ms});
}

static inline void claim_tick(int64_t wait_ms)
{
	claim_with((struct run_options){.tick_ms = TICK_MINUTE_MS, .wait_ms = wait_ms});
}

/* The job of that call ends, whose claim was answered last. */
static inline void job_ends(size_t call)
{
	runs_finish(&runs, &callers[call], 2, told.run,
		    &(struct run_outcome){.what.exit_status = 0});
	pass(0);
}

/* The ledger of that partition is read, and has these ticks. */
static inline void ledger_has(unsigned k, struct store_reply ticks)
{
	char text[64];

	snprintf(text, sizeof(text), "get runs/scan:%u", k);
	asks(text, ok());
	snprintf(text, sizeof(text), "list runs/scan:%u", k);
	asks(text, ticks);
}

#define yours(k) script_yours(k, __LINE__)
static inline void script_yours(int k, int line)
{
	cr_assert_eq(answers, 1, "line %d: %d answers, the last \"%s\" %s", line, answers, outcome,
		     why);
	cr_expect_str_eq(outcome, "yours", "line %d: %s %s", line, outcome, why);
	cr_expect_eq(told.partition, k, "line %d: partition %d", line, told.partition);
	cr_expect_eq(told.partitions, file.partitions, "line %d", line);
	answers = 0;
}

#define tells(expected, reason) script_tells(expected, reason, __LINE__)
static inline void script_tells(const char *expected, const char *reason, int line)
{
	cr_assert_eq(answers, 1, "line %d: %d answers, the last \"%s\" %s", line, answers, outcome,
		     why);
	cr_expect_str_eq(outcome, expected, "line %d: %s %s", line, outcome, why);
	cr_expect_str_eq(why, reason, "line %d: %s", line, why);
	cr_expect_eq(told.partitions, 0, "line %d: none was claimed", line);
	answers = 0;
}

#define waits() script_waits(__LINE__)
static inline void script_waits(int line)
{
	script_idle(line);
	cr_assert_eq(answers, 0, "line %d: \"%s\" %s", line, outcome, why);
}

#endif
