/* Which records of ended jobs go, and when, with what goes beside them. */
#include "queue_site.h"

#include "node/queue_lead.h"

#define CHECKS	 "check workers/me, check jobs/q v4, "
#define MINUTE	 INT64_C(60000)
#define LEAST_MS (QUEUE_KEEP_LEAST_MS + 2 * MINUTE) /* behind its end, and clocks differ */

/* The one record that there is. */
static struct {
	const char *state, *key, *of_key; /* of_key: what its key says, NULL: nothing */
	int64_t ended_ago_ms, letters;
	bool junk, gone;
	char folder[JOB_MINUTE_SIZE], uuid[64];
} there;
static size_t n_reads;
static int64_t begun_ms; /* the wall clock; what has ended, ended before that */

static struct store_reply record(void)
{
	static struct buffer data;
	struct job_record j = {.attempt = 1, .exit_status = -1, .submitted = 1, .due = 1};

	job_id_format(&id, j.id);
	snprintf(j.queue, sizeof(j.queue), "q");
	snprintf(j.state, sizeof(j.state), "%s", there.state);
	snprintf(j.by, sizeof(j.by), "user");
	snprintf(j.host, sizeof(j.host), "host");
	snprintf(j.node, sizeof(j.node), "there");
	snprintf(j.key, sizeof(j.key), "%s", there.key ? there.key : "");
	if (there.ended_ago_ms > 0)
		j.ended = begun_ms - there.ended_ago_ms;
	buffer_done(&data);
	buffer_init(&data, RECORD_JOB_MAX);
	cr_assert_eq(record_pack_job(&data, &j), 0);
	return holds(data.data, data.len, (struct store_stat){.version = 6});
}

static struct store_reply answer(const char *text)
{
	char list[80];

	snprintf(list, sizeof(list), "list jobs/q/job/%s/0", there.folder);
	if (strcmp(text, "exists jobs/q/dead") == 0)
		return of_stat((struct store_stat){.children = (int32_t)there.letters});
	if (strcmp(text, "list jobs/q/job") == 0)
		return names(there.folder, "no minute", NULL);
	if (strcmp(text, list) == 0)
		return there.gone ? failed(STORE_NO_NODE) : names(there.uuid, NULL);
	if (strncmp(text, "get jobs/q/job/", 15) == 0) {
		n_reads++;
		return there.junk ? holds("junk", 4, (struct store_stat){0}) : record();
	}
	if (strncmp(text, "get jobs/q/key/", 15) == 0)
		return there.of_key ? holds(there.of_key, strlen(there.of_key),
					    (struct store_stat){.version = 3})
				    : failed(STORE_NO_NODE);
	return ok();
}

/* What is deleted of jobs within this time, as the oldest request; NULL: nothing. */
static const char *deletes_within(int64_t ms)
{
	int64_t end = host.now_ms + ms;

	for (pass(0); host.now_ms < end; pass(100))
		for (script_confirm(); store.n_open > 0; script_confirm()) {
			if (strstr(store.open[0].text, "delete jobs/q/job/"))
				return store.open[0].text;
			script_answer(0, answer(store.open[0].text));
		}
	return NULL;
}

/* We lead a queue with a record of a job of an hour ago. */
static void begin(void)
{
	queue_settings.keep_ms = 30 * MINUTE;
	queue_settings.keep_dead_ms = 50 * MINUTE;
	lead_queue();
	until("get jobs/q");
	script_answer(0, holds("40", 2, (struct store_stat){.version = 3}));
	until("set jobs/q v3");
	script_answer(0, ok());
	id.minute -= 60;
	job_minute_format(id.minute, there.folder);
	snprintf(there.uuid, sizeof(there.uuid), "%s", UUID);
	there.state = "ok";
	begun_ms = host_wall_ms(&host);
}

TestSuite(queue_prune, .init = begin);

Test(queue_prune, a_record_goes_when_it_was_kept_for_long_enough)
{
	static const struct {
		const char *what, *state;
		int64_t keep_ms, ended_ago_ms, letters;
		bool goes;
	} cases[] = {
		{"kept", "ok", 30 * MINUTE, 29 * MINUTE, 0, false},
		{"kept for long enough", "ok", 30 * MINUTE, 30 * MINUTE, 0, true},
		{"a dead letter", "dead", 30 * MINUTE, 49 * MINUTE, 0, false},
		{"a lost one is one", "lost", 30 * MINUTE, 49 * MINUTE, 0, false},
		{"a dead letter, kept for long enough", "dead", 30 * MINUTE, 50 * MINUTE, 0, true},
		{"one of too many", "dead", 30 * MINUTE, 49 * MINUTE, 9001, true},
		{"but not soon", "dead", 30 * MINUTE, LEAST_MS - 50000, 9001, false},
		{"nor is anything else", "ok", MINUTE, LEAST_MS - 50000, 0, false},
		{"but then", "ok", MINUTE, LEAST_MS, 0, true},
		{"not ended", "running", 30 * MINUTE, 0, 0, false},
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct queue *queue = queue_find(&queues, "q");

		puts(cases[i].what);
		queue->settings.keep_ms = cases[i].keep_ms;
		there.state = cases[i].state;
		there.ended_ago_ms = cases[i].ended_ago_ms;
		there.letters = cases[i].letters;
		prune_done(queue->lead);
		forget_open();
		begun_ms = host_wall_ms(&host);
		cr_expect_eq(deletes_within(45000) != NULL, cases[i].goes, "%s", cases[i].what);
	}
	queues_done(&queues);
}

Test(queue_prune, its_pointer_and_its_key_go_with_it)
{
	char own[100], wanted[400], name[JOB_NAME_MAX + 1];

	job_name_format(&id, name);
	snprintf(own, sizeof(own), "%s night", name);
	there.state = "dead";
	there.key = "night";
	there.ended_ago_ms = 55 * MINUTE;
	there.of_key = own;
	const char *text = deletes_within(25000);
	cr_assert(text);
	snprintf(wanted, sizeof(wanted),
		 CHECKS "delete jobs/q/job/%s/0/new v6, delete jobs/q/dead/%s, delete jobs/q/key/",
		 there.folder, name);
	cr_expect(strstr(text, wanted) == text, "%s", text);
	cr_expect(strstr(text, " v3"), "as it was read, as another job may get it: %s", text);
	queues_done(&queues);
}

Test(queue_prune, a_key_that_another_job_has_by_now_stays)
{
	there.key = "night";
	there.ended_ago_ms = 55 * MINUTE;
	there.of_key = "abcde.fedcba98-89ab-cdef-0123-456789abcdef night";
	const char *text = deletes_within(25000);
	cr_assert(text);
	cr_expect_not(strstr(text, "jobs/q/key/"), "%s", text);
	cr_expect_not(strstr(text, "jobs/q/dead/"), "%s", text);
	queues_done(&queues);
}

Test(queue_prune, what_is_no_record_stays)
{
	there.junk = true;
	cr_expect_null(deletes_within(60000));
	there.junk = false;
	snprintf(there.uuid, sizeof(there.uuid), "else");
	cr_expect_null(deletes_within(60000));
	queues_done(&queues);
}

/* Nothing comes into it any more. */
Test(queue_prune, the_empty_folders_of_a_minute_go_together)
{
	there.gone = true;
	const char *text = deletes_within(25000);
	cr_assert(text);
	char wanted[100];
	snprintf(wanted, sizeof(wanted), "delete jobs/q/job/%s/f, delete jobs/q/job/%s",
		 there.folder, there.folder);
	cr_expect(strstr(text, wanted), "%s", text);
	queues_done(&queues);
}

Test(queue_prune, a_minute_that_is_not_over_is_left_alone)
{
	id.minute += 60 - 12;
	job_minute_format(id.minute, there.folder);
	cr_expect_null(deletes_within(25000));
	cr_expect_eq(n_reads, 0);
	queues_done(&queues);
}

/* When something of it may go. */
Test(queue_prune, a_minute_is_read_again_when_it_is_time)
{
	there.ended_ago_ms = 25 * MINUTE;
	cr_assert_null(deletes_within(4 * MINUTE));
	cr_expect_eq(n_reads, 1);
	cr_expect(deletes_within(2 * MINUTE));
	queues_done(&queues);
}

/* It has changed, or the answer was lost: the next look tells. */
Test(queue_prune, a_record_that_was_not_deleted_is_looked_at_again)
{
	there.ended_ago_ms = 40 * MINUTE;
	cr_assert(deletes_within(25000));
	script_answer(0, failed_at(STORE_BAD_VERSION, 2));
	cr_expect_null(deletes_within(15000));
	cr_expect(deletes_within(30000));
	queues_done(&queues);
}
