/* Which records of ended jobs go, and when, with what goes beside them. */
#include "queue_site.h"

#include "node/queue/lead/queue_lead.h"

#define CHECKS	 "check workers/me, check jobs/q v4, "
#define MINUTE	 INT64_C(60000)
#define LEAST_MS (QUEUE_KEEP_LEAST_MS + 2 * MINUTE) /* behind its end, and clocks differ */

/* The one record that there is. */
static struct {
	const char *state, *key, *of_key; /* of_key: what its key says, NULL: nothing */
	int64_t ended_ago_ms, written_ago_ms, ended_later_ms;
	bool junk, gone, pointer, due;
	int32_t version;
	char folder[JOB_MINUTE_SIZE], uuid[64];
} there;
static size_t n_reads, n_lists;
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
	if (there.ended_later_ms > 0)
		j.ended = begun_ms + there.ended_later_ms;
	buffer_done(&data);
	buffer_init(&data, RECORD_JOB_MAX);
	cr_assert_eq(record_pack_job(&data, &j), 0);
	return holds(data.data, data.len, (struct store_stat){.version = there.version});
}

static struct store_reply stat_of(void)
{
	int64_t ago = there.written_ago_ms ? there.written_ago_ms
					   : there.ended_ago_ms - there.ended_later_ms;

	return there.gone ? failed(STORE_NO_NODE)
			  : of_stat((struct store_stat){.version = there.version,
							.mtime = begun_ms - ago});
}

/* Lists the job as due in a year, if it is due. */
static struct store_reply due_of(const char *text)
{
	static char minute[JOB_MINUTE_SIZE], name[JOB_POINTER_MAX + 1];
	struct job_pointer p = job_pointer_to(&id, begun_ms + 365 * 1440 * MINUTE, false);

	if (!there.due)
		return names(NULL, NULL);
	job_minute_format(p.due_ms / MINUTE, minute);
	job_pointer_format(&p, true, name);
	return names(strcmp(text, "list! jobs/q/due") == 0 ? minute : name, NULL);
}

static struct store_reply answer(const char *text)
{
	char list[80];

	snprintf(list, sizeof(list), "list jobs/q/job/%s/0", there.folder);
	if (strncmp(text, "exists jobs/q/dead/", 19) == 0)
		return there.pointer ? ok() : failed(STORE_NO_NODE);
	if (strncmp(text, "exists jobs/q/job/", 18) == 0 && strstr(text, "/new"))
		return stat_of();
	if (strcmp(text, "exists jobs/q/dead") == 0)
		return of_stat((struct store_stat){.children = there.pointer});
	if (strcmp(text, "list jobs/q/job") == 0)
		return names(there.folder, "no minute", NULL);
	n_lists += strcmp(text, list) == 0;
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
	if (strncmp(text, "list! jobs/q/due", 16) == 0)
		return due_of(text);
	if (strncmp(text, "list! jobs/q/at", 15) == 0)
		return names(NULL, NULL);
	return ok();
}

/* The first request within this time that deletes jobs, then the oldest; NULL: none. */
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

/* Leads anew: due jobs are listed again, and all records are looked at. */
static void lead_anew(void)
{
	struct queue_lead *lead = queue_find(&queues, "q")->lead;

	prune_done(lead);
	due_done(lead);
	forget_open();
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
	there.version = 6;
	begun_ms = host_wall_ms(&host);
}

TestSuite(queue_prune, .init = begin);

Test(queue_prune, a_record_goes_when_it_was_kept_for_long_enough)
{
	static const struct {
		const char *what, *state;
		int64_t keep_ms, ended_ago_ms;
		bool goes;
	} cases[] = {
		{"kept", "ok", 30 * MINUTE, 29 * MINUTE, false},
		{"kept for long enough", "ok", 30 * MINUTE, 30 * MINUTE, true},
		{"a dead letter", "dead", 30 * MINUTE, 49 * MINUTE, false},
		{"a lost one is one", "lost", 30 * MINUTE, 49 * MINUTE, false},
		{"a dead letter, kept for long enough", "dead", 30 * MINUTE, 50 * MINUTE, true},
		{"nothing goes soon", "ok", MINUTE, LEAST_MS - 50000, false},
		{"but then", "ok", MINUTE, LEAST_MS, true},
		{"not ended", "running", 30 * MINUTE, 0, false},
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct queue *queue = queue_find(&queues, "q");

		puts(cases[i].what);
		queue->settings.keep_ms = cases[i].keep_ms;
		there.state = cases[i].state;
		there.ended_ago_ms = cases[i].ended_ago_ms;
		there.pointer =
			strcmp(there.state, "dead") == 0 || strcmp(there.state, "lost") == 0;
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
	there.pointer = true;
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
	cr_expect_eq(n_reads, 0, "its last write tells that it stays");
	cr_expect(deletes_within(2 * MINUTE));
	cr_expect_eq(n_reads, 1);
	queues_done(&queues);
}

/* The record has changed, or the answer was lost: the next look tells. */
Test(queue_prune, a_record_that_was_not_deleted_is_looked_at_again)
{
	there.ended_ago_ms = 40 * MINUTE;
	cr_assert(deletes_within(25000));
	script_answer(0, failed_at(STORE_BAD_VERSION, 2));
	cr_expect_null(deletes_within(15000));
	cr_expect(deletes_within(30000));
	queues_done(&queues);
}

/* --- what is read ------------------------------------------------------------------------------------------- */

/* The payload of a waiting job is never read, and its name is listed once in `keep`. */
Test(queue_prune, what_waits_is_known_by_its_name)
{
	for (there.version = 0; there.version < 2; there.version++) {
		n_lists = 0;
		there.state = "queued";
		there.written_ago_ms = 40 * MINUTE;
		there.due = true;
		lead_anew();
		cr_expect_null(deletes_within(29 * MINUTE));
		cr_expect_eq(n_reads, 0);
		cr_expect_eq(n_lists, 1, "%zu", n_lists);
	}
	queues_done(&queues);
}

/* The record was copied from another ensemble and never written to: its own times count. */
Test(queue_prune, what_was_never_written_to_is_read)
{
	there.ended_ago_ms = 40 * MINUTE;
	there.written_ago_ms = MINUTE;
	there.version = 0;
	cr_expect(deletes_within(25000));
	queues_done(&queues);
}

/* The clock was ahead when it was written: what the record says counts. */
Test(queue_prune, a_time_ahead_says_nothing)
{
	there.ended_ago_ms = 40 * MINUTE;
	there.written_ago_ms = -400 * MINUTE;
	cr_expect(deletes_within(25000));
	queues_done(&queues);
}

/* A letter that was purged, or requeued and done, goes sooner than one that is dead. */
Test(queue_prune, what_is_no_dead_letter_any_more_goes_sooner)
{
	there.pointer = true;
	there.state = "dead";
	there.ended_ago_ms = 15 * MINUTE;
	cr_assert_null(deletes_within(MINUTE));
	there.pointer = false;
	there.state = "cancelled";
	there.ended_ago_ms = 0;
	there.ended_later_ms = MINUTE;
	cr_expect_null(deletes_within(29 * MINUTE));
	cr_expect(deletes_within(3 * MINUTE), "not only after the 50 minutes of a dead letter");
	queues_done(&queues);
}

/* With `keep` shorter than when it was looked at. */
Test(queue_prune, a_reload_takes_effect)
{
	there.ended_ago_ms = 20 * MINUTE;
	cr_assert_null(deletes_within(MINUTE));
	queue_find(&queues, "q")->settings.keep_ms = 15 * MINUTE;
	cr_expect(deletes_within(MINUTE));
	queues_done(&queues);
}

/* --- many --------------------------------------------------------------------------------------------------- */

#define FULL  40 /* records in a folder */
#define PILES 16

/* Minutes full of records of ended jobs, each of which says how many its folders hold. */
static struct {
	unsigned minutes;
	int32_t counted; /* in each folder, as it is told */
	unsigned deleted[PILES];
	size_t batches, biggest;
	char names[FULL][NAME_ID_MAX + 1];
	int refuses; /* the operation of the next batch that does not hold; 0: none */
} many;

static int64_t minute_of(unsigned i)
{
	return id.minute - many.minutes + i;
}

static struct store_reply minutes_of_many(void)
{
	static char texts[PILES][JOB_MINUTE_SIZE];
	static char *list[PILES];

	for (unsigned i = 0; i < many.minutes; i++) {
		job_minute_format(minute_of(i), texts[i]);
		list[i] = texts[i];
	}
	return (struct store_reply){.failed_op = -1, .names = list, .n_names = many.minutes};
}

/* In the folder of the digit 0 alone. */
static struct store_reply names_of_many(const char *text)
{
	static char *list[FULL];

	if (text[strlen(text) - 1] != '0')
		return names(NULL, NULL);
	for (unsigned i = 0; i < FULL; i++) {
		snprintf(many.names[i], sizeof(many.names[i]), "0%07x-89ab-cdef-0123-456789abcdef",
			 i);
		list[i] = many.names[i];
	}
	return (struct store_reply){.failed_op = -1, .names = list, .n_names = FULL};
}

static void note_deleted(const char *text)
{
	char folder[40], minute[JOB_MINUTE_SIZE];
	size_t n = 0;

	for (unsigned i = 0; i < many.minutes; i++) {
		job_minute_format(minute_of(i), minute);
		snprintf(folder, sizeof(folder), "delete jobs/q/job/%s/0/new", minute);
		for (const char *at = strstr(text, folder); at; at = strstr(at + 1, folder)) {
			many.deleted[i]++;
			n++;
		}
	}
	many.batches += n > 0;
	many.biggest = n > many.biggest ? n : many.biggest;
}

static struct store_reply answer_of_many(const char *text)
{
	if (strcmp(text, "list jobs/q/job") == 0)
		return minutes_of_many();
	if (strncmp(text, "list jobs/q/job/", 16) == 0)
		return names_of_many(text);
	if (strncmp(text, "exists jobs/q/job/", 18) == 0 && !strstr(text, "/new"))
		return of_stat((struct store_stat){.children = many.counted});
	if (strstr(text, "delete jobs/q/job/") && strstr(text, "/new") && many.refuses) {
		int op = many.refuses;
		many.refuses = 0;
		return failed_at(STORE_BAD_VERSION, op);
	}
	if (strstr(text, "delete jobs/q/job/") && strstr(text, "/new"))
		note_deleted(text);
	return answer(text);
}

/* The most that were outstanding at a time. */
static size_t prune_many(int64_t ms)
{
	int64_t end = host.now_ms + ms;
	size_t most = 0;

	for (pass(0); host.now_ms < end; pass(100))
		for (script_confirm(); store.n_open > 0; script_confirm()) {
			most = store.n_open > most ? store.n_open : most;
			script_answer(0, answer_of_many(store.open[0].text));
			turn();
		}
	return most;
}

/* Two hundred jobs a second are no more than this many requests. */
Test(queue_prune, many_go_in_few_transactions)
{
	many.minutes = 4;
	many.counted = 3;
	there.ended_ago_ms = 40 * MINUTE;
	size_t most = prune_many(25000);
	for (unsigned i = 0; i < 4; i++)
		cr_expect_eq(many.deleted[i], FULL, "%u", many.deleted[i]);
	cr_expect_eq(many.batches, 4 * 2);
	cr_expect_eq(many.biggest, LEAD_BATCH);
	cr_expect_gt(most, 8, "one at a time: %zu", most);
	cr_expect_leq(most, 50, "%zu", most);
	queues_done(&queues);
}

/* A job has been requeued meanwhile. */
Test(queue_prune, one_that_has_changed_keeps_no_other)
{
	many.minutes = 1;
	many.counted = 3;
	there.ended_ago_ms = 40 * MINUTE;
	many.refuses = 2 + 7;
	prune_many(25000);
	cr_expect_eq(many.deleted[0], FULL - 1);
	queues_done(&queues);
}

/* Those above the limit, and no more; none within the least time, and dead letters as any others. */
Test(queue_prune, the_oldest_go_where_there_are_too_many)
{
	many.minutes = 3;
	many.counted = (QUEUE_ENDED_MAX + 3 * 16) / 3 / 16;
	there.ended_ago_ms = 20 * MINUTE;
	there.state = "dead";
	there.pointer = true;
	prune_many(25000);
	size_t above = (size_t)many.counted * 3 * 16 - QUEUE_ENDED_MAX;
	cr_assert(above > FULL && above < 2 * FULL, "%zu", above);
	cr_expect_eq(many.deleted[0], FULL);
	cr_expect_eq(many.deleted[1], above - FULL, "%u", many.deleted[1]);
	cr_expect_eq(many.deleted[2], 0);
	queues_done(&queues);
}

Test(queue_prune, none_goes_at_once_however_many_there_are)
{
	many.minutes = 5;
	many.counted = QUEUE_ENDED_MAX;
	there.ended_ago_ms = LEAST_MS - 50000;
	there.state = "dead";
	there.pointer = true;
	prune_many(25000);
	cr_expect_eq(many.batches, 0);
	queues_done(&queues);
}

/* Nine thousand and one were too many: they are kept as long as any. */
Test(queue_prune, dead_letters_are_kept_however_many_there_are)
{
	many.minutes = 5;
	many.counted = 1000;
	there.ended_ago_ms = 49 * MINUTE;
	there.state = "dead";
	there.pointer = true;
	prune_many(45000);
	cr_expect_eq(many.batches, 0);
	prune_many(45000);
	cr_expect_eq(many.deleted[4], FULL);
	queues_done(&queues);
}
