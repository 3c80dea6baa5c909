/* The jobs of a queue, the newest first, part by part, before a ZooKeeper that the test plays. */
#include "queue_site.h"

#define JOBS 1200 /* in minutes 35 and 36; created in an order that is not that of their names */

static char *uuids[JOBS];
static int64_t takes_ms; /* from an answer to the next one */
static size_t asked;
static bool loses; /* the next answer about a job */
static struct {
	size_t calls, n;
	bool failed, more;
	struct queue_cursor cursor;
	char states[JOBS][16];
	size_t numbers[JOBS];
} listed;

static size_t number_of(const char *uuid)
{
	return (size_t)strtoul(uuid + 1, NULL, 16);
}

/* Created by that transaction: the bigger of a number is not the later one. */
static int64_t zxid_of(size_t number)
{
	return (int64_t)(1 + number * 7 % (JOBS / 2));
}

static void on_listed(void *arg, const struct job_record *const *jobs, size_t n,
		      const struct queue_cursor *more)
{
	(void)arg;
	listed.calls++;
	listed.failed = !jobs;
	for (size_t i = 0; i < n; i++) {
		struct job_id job;
		cr_assert(job_id_parse(jobs[i]->id, strlen(jobs[i]->id), &job));
		cr_assert(!jobs[i]->payload && !jobs[i]->output);
		listed.numbers[listed.n] = number_of(job.uuid);
		snprintf(listed.states[listed.n++], sizeof(listed.states[0]), "%s", jobs[i]->state);
	}
	listed.more = more != NULL;
	if (more)
		listed.cursor = *more;
}

static void make_jobs(void)
{
	for (size_t i = 0; i < JOBS; i++) {
		free(uuids[i]);
		uuids[i] = mem_alloc(40);
		snprintf(uuids[i], 40, "%zx%07zx-89ab-cdef-0123-456789abcdef", i % 16, i);
	}
	memset(&listed, 0, sizeof(listed));
	takes_ms = 0;
	asked = 0;
}

/* Those of a folder: the first half is of minute 35. */
static struct store_reply folder(const char *path)
{
	static char *in[JOBS];
	bool later = strstr(path, "/job/10/") != NULL; /* base 36 */
	struct store_reply reply = {.failed_op = -1, .names = in};

	for (size_t i = 0; i < JOBS; i++)
		if ((i >= JOBS / 2) == later && uuids[i][0] == path[strlen(path) - 1])
			in[reply.n_names++] = uuids[i];
	return reply;
}

/* Each fifth is dead, all others wait; of these number 1 was given to the node. */
static struct store_reply record(const char *uuid, int64_t minute)
{
	size_t i = number_of(uuid);

	snprintf(id.uuid, sizeof(id.uuid), "%s", uuid);
	id.minute = minute;
	struct store_reply reply = job_of(i % 5 == 0 ? "dead" : "queued", 1, 1);
	reply.stat.czxid = zxid_of(i);
	return reply;
}

static void serve_jobs(void)
{
	static char given[JOB_NAME_MAX + 1];

	for (; store.n_open > 0 && listed.calls == 0; asked++) {
		const char *path = store.open[0].path, *text = store.open[0].text;
		if (strstr(text, "list") && strstr(path, "/q/at/here")) {
			snprintf(given, sizeof(given), "z.%s", uuids[1]);
			script_answer(0, names(given, NULL));
		} else if (strstr(text, "list") && strstr(path, "/q/at")) {
			script_answer(0, names("here:%2Fs", NULL));
		} else if (strstr(path, "/jobs/q/job/z/") || strstr(path, "/jobs/q/job/10/")) {
			const char *last = strrchr(path, '/') + 1;
			int64_t minute = strstr(path, "/job/z/") ? 35 : 36;
			bool lost = loses && strlen(last) > 1;
			loses &= !lost;
			script_answer(0, lost		     ? failed(STORE_UNKNOWN)
					 : strlen(last) == 1 ? folder(path)
							     : record(last, minute));
		} else if (strstr(text, "list") && strstr(path, "/jobs/q/job")) {
			script_answer(0, names("z", "10", "what", NULL));
		} else {
			script_answer(0, ok());
		}
		pass(takes_ms);
		script_confirm();
	}
}

static void list_jobs(const char *state, size_t most, const struct queue_cursor *after)
{
	listed.calls = 0;
	queues_list(&queues, "q", state, most, after, on_listed, NULL);
	pass(0);
	script_confirm();
	serve_jobs();
	cr_assert_eq(listed.calls, 1);
	cr_assert(!listed.failed);
}

static void begin_jobs(void)
{
	begin_node();
	forget_open();
	make_jobs();
}

/* By their minute, and in it by their transaction. */
static void expect_order(void)
{
	for (size_t i = 1; i < listed.n; i++) {
		bool earlier = listed.numbers[i - 1] < JOBS / 2,
		     later = listed.numbers[i] >= JOBS / 2;
		cr_assert(!(earlier && later));
		if (earlier == !later)
			cr_assert_gt(zxid_of(listed.numbers[i - 1]), zxid_of(listed.numbers[i]));
	}
}

Test(queue_list, the_newest_come_first_page_by_page)
{
	size_t pages = 1;

	begin_jobs();
	list_jobs("", 10000, NULL);
	cr_expect(listed.n == 500 && listed.more);
	for (; listed.more && pages < 10; pages++)
		list_jobs("", 10000, &listed.cursor);
	cr_expect(listed.n == JOBS && pages == 3, "%zu jobs on %zu pages", listed.n, pages);
	expect_order();
	cr_expect_str_eq(listed.states[0], listed.numbers[0] % 5 ? "queued" : "dead");
	queues_done(&queues);
}

Test(queue_list, of_one_the_newest_is_told)
{
	begin_jobs();
	list_jobs("", 1, NULL);
	cr_expect_eq(listed.n, 1);
	cr_expect_eq(zxid_of(listed.numbers[0]), JOBS / 2);
	cr_expect_geq(listed.numbers[0], JOBS / 2);
	cr_expect(listed.more);
	queues_done(&queues);
}

Test(queue_list, those_of_a_state_and_what_is_assigned)
{
	begin_jobs();
	list_jobs("dead", 500, NULL);
	cr_expect_eq(listed.n, JOBS / 5);
	cr_expect(!listed.more);
	expect_order();
	make_jobs();
	list_jobs("assigned", 500, NULL);
	cr_assert_eq(listed.n, 1);
	cr_expect_eq(listed.numbers[0], 1);
	queues_done(&queues);
}

/* Clients wait 10 s for an answer. */
Test(queue_list, a_slow_server_makes_shorter_pages)
{
	size_t pages = 0;

	begin_jobs();
	takes_ms = 5;
	do {
		int64_t began_ms = host_now_ms(&host);
		list_jobs("dead", 500, pages > 0 ? &listed.cursor : NULL);
		cr_assert_lt(host_now_ms(&host) - began_ms, 8000);
	} while (listed.more && ++pages < 100);
	cr_expect_eq(listed.n, JOBS / 5);
	cr_expect_gt(pages, 1);
	expect_order();
	queues_done(&queues);
}

Test(queue_list, a_lost_answer_begins_the_page_anew)
{
	begin_jobs();
	loses = true;
	list_jobs("", 3, NULL);
	cr_expect(!loses);
	cr_expect_eq(listed.n, 3);
	queues_done(&queues);
}
