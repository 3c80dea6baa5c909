/* The lines about what this node leads: tasks that change alike in one turn share one. */
#include "node_script.h"

#include <unistd.h>

#include "base/mem.h"
#include "core/fleet/identity.h"
#include "node/notices/leader_log.h"

#define TASKS 90

static struct fleet fleet;
static struct leader_log l;

/* The log lines that fn writes, without the time and the level of each. */
static const char *written(void (*fn)(void))
{
	static char text[16000];
	FILE *file = tmpfile();
	int saved = dup(STDERR_FILENO);
	char line[LOG_LINE_MAX + 1];

	cr_assert(file && saved >= 0);
	cr_assert_geq(dup2(fileno(file), STDERR_FILENO), 0);
	fn();
	cr_assert_geq(dup2(saved, STDERR_FILENO), 0);
	close(saved);
	rewind(file);
	text[0] = '\0';
	while (fgets(line, sizeof(line), file)) {
		const char *info = strstr(line, " info ");
		cr_assert(info, "%s", line);
		strcat(text, info + strlen(" info "));
	}
	fclose(file);
	return text;
}

static void flush(void)
{
	leader_log_flush(&l);
}

static void begin(void)
{
	log_setup(LOG_INFO, LOG_TEXT, false);
	fleet_init(&fleet);
	leader_log_init(&l, &host, &fleet);
}

static void end(void)
{
	leader_log_done(&l);
	fleet_done(&fleet);
}

TestSuite(leader_log, .init = begin, .fini = end);

static struct leader_change gains(const char *task)
{
	return (struct leader_change){.task = task,
				      .leads = true,
				      .from = ELECTION_RESOLVING,
				      .to = ELECTION_LEADING,
				      .reason = "claimed",
				      .token = 7};
}

static struct leader_change loses(const char *task, const char *better)
{
	struct leader_change c = {.task = task,
				  .from = ELECTION_LEADING,
				  .to = ELECTION_RELEASING,
				  .reason = "better",
				  .token = 7};

	snprintf(c.better, sizeof(c.better), "%s", better);
	return c;
}

static void add(struct leader_change c)
{
	leader_log_add(&l, &c);
}

#define GAINS " from=resolving to=leading reason=claimed token=7"
#define LOSES " from=leading to=releasing reason=better token=7"

Test(leader_log, nothing_is_written_before_the_end_of_the_turn)
{
	add(gains("a"));
	cr_expect_eq(l.n, 1);
	cr_expect_str_eq(written(turn), "leading task=a" GAINS "\n");
	cr_expect_str_eq(written(turn), "", "and it is written once");
	cr_expect_eq(l.n, 0, "nothing of it is kept");
}

Test(leader_log, those_alike_share_a_line_in_the_order_that_people_count)
{
	add(gains("job-10"));
	add(gains("job-9"));
	add(gains("b"));
	cr_expect_str_eq(written(turn), "leading tasks=3" GAINS " task=b,job-9,job-10\n");
}

/* Lines come in the order of the first change in each. */
Test(leader_log, what_differs_in_anything_has_a_line_of_its_own)
{
	struct leader_change c = gains("other-token");

	add(gains("b"));
	c.token = 8;
	add(c);
	c = gains("other-reason");
	c.reason = "found";
	add(c);
	c = gains("from-another");
	c.from = ELECTION_CLAIMING;
	add(c);
	c = gains("to-another");
	c.to = ELECTION_RELEASING;
	add(c);
	add(gains("a"));
	c = gains("lost");
	c.leads = false;
	add(c);
	cr_expect_str_eq(
		written(flush),
		"leading tasks=2" GAINS " task=a,b\n"
		"leading task=other-token from=resolving to=leading reason=claimed token=8\n"
		"leading task=other-reason from=resolving to=leading reason=found token=7\n"
		"leading task=from-another from=claiming to=leading reason=claimed token=7\n"
		"leading task=to-another from=resolving to=releasing reason=claimed token=7\n"
		"no longer leading task=lost" GAINS "\n");
}

/* A reason is a constant, but the same text need not be the same constant. */
Test(leader_log, reasons_are_compared_as_texts)
{
	char reason[] = "claimed";
	struct leader_change c = gains("b");

	c.reason = reason;
	add(gains("a"));
	add(c);
	cr_expect_str_eq(written(flush), "leading tasks=2" GAINS " task=a,b\n");
}

Test(leader_log, who_is_better_is_named_with_its_node_while_it_is_there)
{
	struct worker *w = worker_new();

	snprintf(w->id, sizeof(w->id), "w1");
	snprintf(w->hostname, sizeof(w->hostname), "web");
	snprintf(w->node, sizeof(w->node), "web-1");
	fleet_add(&fleet, w, 3, 0);
	add(loses("a", "w1"));
	add(loses("b", "w2"));
	add(loses("c", ""));
	add(loses("d", "w1"));
	cr_expect_str_eq(written(flush),
			 "no longer leading tasks=2" LOSES " better=w1 better_node=web-1 task=a,d\n"
			 "no longer leading task=b" LOSES " better=w2\n"
			 "no longer leading task=c" LOSES "\n");
}

/* Each line holds as many as fit, and none is cut. */
Test(leader_log, many_tasks_take_several_lines_that_are_whole)
{
	static char names[TASKS][60];
	const char *text;
	size_t lines = 0, tasks = 0, said = 0;

	for (size_t i = TASKS; i-- > 0;) {
		snprintf(names[i], sizeof(names[i]), "a-task-with-quite-a-long-name-%03zu", i);
		add(gains(names[i]));
	}
	text = written(flush);
	cr_expect_null(strstr(text, "..."));
	for (const char *p = text; (p = strstr(p, "leading tasks=")) != NULL; p++, lines++)
		said += strtoul(p + strlen("leading tasks="), NULL, 10);
	/* They come in order, over all lines. */
	for (const char *p = text; tasks < TASKS && (p = strstr(p, names[tasks])) != NULL; p++)
		tasks++;
	cr_expect_gt(lines, 1);
	cr_expect_eq(tasks, TASKS);
	cr_expect_eq(said, TASKS);
}

/* Names are borrowed until then: tasks.c flushes before it frees one. */
Test(leader_log, a_flush_writes_what_is_pending_at_once)
{
	char *task = mem_strdup("short-lived");

	add(gains(task));
	cr_expect_str_eq(written(flush), "leading task=short-lived" GAINS "\n");
	free(task);
	add(gains("b"));
	cr_expect_str_eq(written(turn), "leading task=b" GAINS "\n");
}

Test(leader_log, where_the_level_is_higher_nothing_is_kept)
{
	log_setup(LOG_WARNING, LOG_TEXT, false);
	add(gains("a"));
	cr_expect_eq(l.n, 0);
	log_setup(LOG_INFO, LOG_TEXT, false);
	cr_expect_str_eq(written(turn), "");
}

static void finish(void)
{
	leader_log_done(&l);
}

Test(leader_log, the_end_writes_what_is_pending)
{
	add(gains("a"));
	cr_expect_str_eq(written(finish), "leading task=a" GAINS "\n");
	cr_expect_null(l.turn.fn, "no turn comes back to it");
	leader_log_init(&l, &host, &fleet);
}
