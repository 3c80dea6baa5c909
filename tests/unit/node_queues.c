/* Jobs of one queue, from a submit to the end, before a ZooKeeper that the test plays. */
#include "queue_site.h"

static struct {
	size_t n;
	bool yours;
	uint64_t number;
	int64_t token, attempt;
	size_t len;
} begun;
static size_t n_ended;
static bool recorded;

static void on_begun(void *arg, const struct job_begun *b)
{
	(void)arg;
	begun.n++;
	begun.yours = b->yours;
	begun.number = b->number;
	begun.token = b->token;
	begun.attempt = b->attempt;
	begun.len = b->len;
}

static void on_ended(void *arg, bool is_recorded)
{
	(void)arg;
	n_ended++;
	recorded = is_recorded;
}

static void submit_with(const char *key)
{
	const struct job_submit s = {
		.id = &id, .payload = "bytes", .len = 5, .key = key, .by = "user"};

	memset(&told, 0, sizeof(told));
	queues_submit(&queues, &s, on_told, NULL);
	turn();
}

static void submit(void)
{
	submit_with(NULL);
}

Test(queues, a_submit_is_one_transaction)
{
	begin_node();
	forget_open();
	serve(5000);
	forget_open();
	submit();
	pass(0);
	while (store.n_open > 0 && !strstr(store.open[0].text, "check jobs/q/open"))
		script_answer(0, failed(STORE_NO_NODE));
	cr_assert(strstr(store.open[0].text, "create jobs/q/job/"), "%s", store.open[0].text);
	cr_assert(strstr(store.open[0].text, "create jobs/q/due/"));
	cr_expect_eq(told.n, 0);
	script_answer(0, ok());
	cr_expect_eq(told.n, 1);
	cr_expect_eq(told.outcome, JOB_DONE);
	queues_done(&queues);
}

/* Its minute is that of the time of jobs, and not of the host's clock. */
Test(queues, an_id_is_made_as_soon_as_the_time_of_jobs_is_known)
{
	const struct job_id asked = {.queue = "q", .uuid = UUID};
	struct clocks *c = &registry.clocks;

	begin_node();
	forget_open();
	memset(&told, 0, sizeof(told));
	c->mute = false;
	queues_stamp(&queues, &asked, on_told, NULL);
	pass(1000);
	cr_expect_eq(told.n, 0, "nothing is known of the server's clock");
	c->jobs_known = true;
	c->jobs_base_ms = (id.minute + 17) * JOB_MINUTE_MS - host.now_ms;
	c->skew.known = false; /* nothing else is measured */
	pass(1000);
	cr_assert_eq(told.n, 1);
	cr_expect_eq(told.outcome, JOB_DONE);
	cr_expect_str_eq(told.id, UUID);
	cr_expect_eq(told.job.minute, id.minute + 17);
	queues_done(&queues);
}

Test(queues, an_old_id_is_refused_unless_its_record_is_there)
{
	begin_node();
	serve(5000);
	forget_open();
	id.minute -= 12;
	submit();
	pass(0);
	while (store.n_open > 0 && !strstr(store.open[0].text, "check jobs/q/job"))
		script_answer(0, failed(STORE_NO_NODE));
	cr_assert_gt(store.n_open, 0);
	script_answer(0, failed(STORE_NO_NODE));
	cr_expect_eq(told.outcome, JOB_MISUSE);
	submit();
	asks_of("check jobs/q/job", ok());
	cr_expect_eq(told.outcome, JOB_DONE);
	id.minute += 20;
	submit();
	asks_of("check jobs/q/job", failed(STORE_NO_NODE));
	cr_expect_eq(told.outcome, JOB_MISUSE);
	queues_done(&queues);
}

Test(queues, a_lost_answer_is_looked_for)
{
	begin_node();
	serve(5000);
	forget_open();
	submit();
	asks_of("check jobs/q/open", failed(STORE_UNKNOWN));
	asks_of("check jobs/q/job", failed(STORE_NO_NODE)); /* a transaction as well: not done */
	asks_of("check jobs/q/open", failed_at(STORE_NODE_EXISTS, 2));
	cr_expect_eq(told.outcome, JOB_DONE);
	queues_done(&queues);
}

Test(queues, a_full_queue_is_told)
{
	begin_node();
	serve(5000);
	forget_open();
	submit();
	asks_of("check jobs/q/open", failed_at(STORE_NO_NODE, 0));
	asks_of("get jobs/q", holds("41", 2, (struct store_stat){.version = 3}));
	cr_expect_eq(told.n, 0);
	asks_of("check jobs/q/job", failed(STORE_NO_NODE));
	cr_expect_eq(told.outcome, JOB_NOT_NOW);
	cr_expect_str_eq(told.why, "the queue is full");
	queues_done(&queues);
}

/* --- a key whose job has ended ---------------------------------------------------------------------------- */

#define OLD "89abcdef-89ab-cdef-0123-456789abcdef"

static void submit_while_open(void)
{
	const struct job_submit s = {.id = &id,
				     .payload = "bytes",
				     .len = 5,
				     .key = "key",
				     .while_open = true,
				     .by = "user"};

	memset(&told, 0, sizeof(told));
	queues_submit(&queues, &s, on_told, NULL);
	turn();
}

/* Its key is another's: so much is told of that one. */
static void meets_old(struct store_reply old)
{
	asks_of("check jobs/q/open", failed_at(STORE_NODE_EXISTS, 4));
	asks_of("get jobs/q/key/",
		holds("z." OLD " key", strlen("z." OLD " key"), (struct store_stat){.version = 4}));
	asks_of("get jobs/q/job/z/8/new", old);
}

Test(queues, a_key_is_free_once_its_job_has_ended_where_that_is_wanted)
{
	begin_node();
	serve(5000);
	forget_open();
	submit_while_open();
	meets_old(job_of("dead", 1, 7));
	pass(0);
	const char *text = store.open[0].text;
	cr_assert(strstr(text, "check jobs/q/open"), "%s", text);
	cr_assert(strstr(text, "set jobs/q/key/"), "%s", text);
	cr_assert(strstr(text, "check jobs/q/job/z/8/new v7"), "%s", text);
	script_answer(0, ok());
	cr_expect_eq(told.outcome, JOB_DONE);
	cr_expect_str_eq(told.id, UUID);
	/* A job that is not kept any more is not checked. */
	submit_while_open();
	meets_old(failed(STORE_NO_NODE));
	pass(0);
	text = store.open[0].text;
	cr_assert(strstr(text, "set jobs/q/key/") && !strstr(text, "job/z/8"), "%s", text);
	script_answer(0, ok());
	cr_expect_eq(told.outcome, JOB_DONE);
	queues_done(&queues);
}

Test(queues, a_key_whose_job_is_open_or_is_requeued_just_now_is_not_free)
{
	begin_node();
	serve(5000);
	forget_open();
	submit_while_open();
	meets_old(job_of("running", 1, 7));
	cr_expect_eq(told.outcome, JOB_DONE);
	cr_expect_str_eq(told.id, OLD);
	submit_while_open();
	meets_old(job_of("dead", 1, 7));
	asks_of("check jobs/q/open", failed_at(STORE_BAD_VERSION, 5));
	cr_expect_eq(told.n, 0);
	meets_old(job_of("queued", 1, 8));
	cr_expect_eq(told.outcome, JOB_DONE);
	cr_expect_str_eq(told.id, OLD);
	queues_done(&queues);
}

Test(queues, a_key_is_not_taken_while_the_queue_is_full)
{
	begin_node();
	serve(5000);
	forget_open();
	submit_while_open();
	asks_of("check jobs/q/open", failed_at(STORE_NO_NODE, 0));
	asks_of("get jobs/q", holds("41", 2, (struct store_stat){.version = 3}));
	asks_of("check jobs/q/job", failed(STORE_NO_NODE));
	asks_of("get jobs/q/key/",
		holds("z." OLD " key", strlen("z." OLD " key"), (struct store_stat){.version = 4}));
	asks_of("get jobs/q/job/z/8/new", job_of("ok", 1, 7));
	cr_expect_eq(told.outcome, JOB_NOT_NOW);
	cr_expect_str_eq(told.why, "the queue is full");
	queues_done(&queues);
}

/* --- a repetition, of what is not taken now ---------------------------------------------------------------- */

/* Whether it is told as committed. */
static bool is_done(void)
{
	return told.n == 1 && told.outcome == JOB_DONE && strcmp(told.id, UUID) == 0;
}

Test(queues, what_is_there_is_not_refused_as_nobody_serves_it)
{
	begin_node();
	forget_open();
	pass(5000);
	submit();
	asks_of("check jobs/q/job", ok());
	cr_expect(is_done());
	queues_done(&queues);
}

Test(queues, what_is_there_is_not_refused_by_a_full_queue)
{
	begin_node();
	serve(5000);
	forget_open();
	submit();
	asks_of("check jobs/q/open", failed_at(STORE_NO_NODE, 0));
	asks_of("get jobs/q", holds("41", 2, (struct store_stat){.version = 3}));
	asks_of("check jobs/q/job", ok());
	cr_expect(is_done());
	queues_done(&queues);
}

/* The queue is paused, which is seen. */
static void begin_paused(void)
{
	begin_node();
	serve(5000);
	decides("pause-q", POLICY_PAUSE, "q", "", "");
	forget_open();
}

Test(queues, what_is_there_is_not_refused_by_a_paused_queue)
{
	begin_paused();
	submit();
	asks_of("check jobs/q/job", failed(STORE_UNKNOWN)); /* it is looked for again */
	asks_of("check jobs/q/job", ok());
	cr_expect(is_done());
	submit();
	asks_of("check jobs/q/job", failed_at(STORE_NO_NODE, 0));
	cr_expect_eq(told.outcome, JOB_NOT_NOW);
	cr_expect_str_eq(told.why, "the queue is paused");
	queues_done(&queues);
}

/* The first call may have been answered with the id of a job that had the key before. */
Test(queues, nor_is_what_was_answered_with_the_job_of_its_key)
{
	static const char other[] = "abc.fedcba98-89ab-cdef-0123-456789abcdef night";

	begin_paused();
	submit_with("night");
	asks_of("check jobs/q/job", ok());
	cr_expect(is_done());
	submit_with("night");
	asks_of("check jobs/q/job", failed_at(STORE_NO_NODE, 0));
	asks_of("get jobs/q/key/",
		holds(other, sizeof(other) - 1, (struct store_stat){.version = 0}));
	asks_of("exists jobs/q/job/abc/f/new", ok());
	cr_expect_eq(told.outcome, JOB_DONE);
	cr_expect_str_eq(told.id, "fedcba98-89ab-cdef-0123-456789abcdef");
	submit_with("night");
	asks_of("check jobs/q/job", failed_at(STORE_NO_NODE, 0));
	asks_of("get jobs/q/key/", failed(STORE_NO_NODE));
	cr_expect_eq(told.outcome, JOB_NOT_NOW);
	cr_expect_str_eq(told.why, "the queue is paused");
	queues_done(&queues);
}

Test(queues, what_is_there_is_not_refused_as_the_queue_is_not_configured_any_more)
{
	begin_node();
	serve(5000);
	forget_open();
	tasks_apply(&leaders, &site_timing, NULL, 0);
	queues_configured(&queues);
	submit();
	asks_of("check jobs/q/job", ok());
	cr_expect(is_done());
	submit();
	asks_of("check jobs/q/job", failed_at(STORE_NO_NODE, 0));
	cr_expect_eq(told.outcome, JOB_NOT_NOW);
	queues_done(&queues);
}

/* --- keys ------------------------------------------------------------------------------------------------- */

static const char others_key[] = "abc.fedcba98-89ab-cdef-0123-456789abcdef night";

/* The submit finds the key of that job, whose record is there or not. */
static void find_key(enum store_code record)
{
	begin_node();
	serve(5000);
	forget_open();
	submit_with("night");
	asks_of("create jobs/q/key/", failed_at(STORE_NODE_EXISTS, 4));
	asks_of("get jobs/q/key/",
		holds(others_key, sizeof(others_key) - 1, (struct store_stat){.version = 2}));
	asks_of("exists jobs/q/job/abc/f/new", record == STORE_OK ? ok() : failed(record));
}

Test(queues, who_has_a_key_is_the_answer)
{
	find_key(STORE_OK);
	cr_expect_eq(told.outcome, JOB_DONE);
	cr_expect_str_eq(told.id, "fedcba98-89ab-cdef-0123-456789abcdef");
	queues_done(&queues);
}

/* By whatever means that has gone: an earlier release purged it, or a hand deleted it. */
Test(queues, the_key_of_a_job_that_has_gone_is_free)
{
	find_key(STORE_NO_NODE);
	cr_expect_eq(told.n, 0);
	asks_of("set jobs/q/key/", failed_at(STORE_BAD_VERSION, 4)); /* another was faster */
	cr_expect(strstr(store.last.text, " v2"), "%s", store.last.text);
	cr_expect(strstr(store.last.text, "check jobs/q/due v4, "), "%s", store.last.text);
	asks_of("create jobs/q/key/", failed_at(STORE_NODE_EXISTS, 4));
	asks_of("get jobs/q/key/",
		holds(others_key, sizeof(others_key) - 1, (struct store_stat){.version = 3}));
	asks_of("exists jobs/q/job/abc/f/new", failed(STORE_NO_NODE));
	asks_of("set jobs/q/key/", ok());
	cr_expect(is_done());
	cr_expect_eq(queue_find(&queues, "q")->room.left, 4999, "one place was used");
	queues_done(&queues);
}

Test(queues, the_key_of_a_job_that_has_gone_is_no_answer_where_nothing_is_taken)
{
	begin_paused();
	submit_with("night");
	asks_of("check jobs/q/job", failed_at(STORE_NO_NODE, 0));
	asks_of("get jobs/q/key/",
		holds(others_key, sizeof(others_key) - 1, (struct store_stat){.version = 2}));
	asks_of("exists jobs/q/job/abc/f/new", failed(STORE_NO_NODE));
	cr_expect_eq(told.outcome, JOB_NOT_NOW);
	queues_done(&queues);
}

/* --- who serves it ----------------------------------------------------------------------------------------- */

/* Whether it is sent, and not refused or made to wait. */
static bool is_sent(void)
{
	bool sent = false;

	submit();
	pass(0);
	for (script_confirm(); store.n_open > 0 && !sent; script_confirm()) {
		sent = strstr(store.open[0].text, "create jobs/q/job/") != NULL;
		script_answer(0, sent ? ok() : failed(STORE_NO_NODE));
	}
	return sent;
}

/* The workers of the queue may just be starting: but no longer than that. */
Test(queues, what_nobody_has_ever_served_waits_for_five_seconds)
{
	begin_node();
	forget_open();
	cr_expect_not(is_sent());
	pass(4500);
	cr_expect_eq(told.n, 0, "%s", told.why);
	pass(1000);
	forget_open();
	cr_expect_eq(told.outcome, JOB_NOT_NOW);
	cr_expect_str_eq(told.why, "nobody serves the queue");
	serve(5000);
	forget_open();
	cr_expect(is_sent());
	queues_done(&queues);
}

/* A worker that is there, and that nothing can be given to, does not serve it. */
Test(queues, what_no_healthy_worker_has_served_for_five_seconds_takes_nothing)
{
	begin_node();
	struct member *m = serve(5000);
	forget_open();
	cr_expect(is_sent());
	m->worker->sick = m->unwell = true;
	queues_changed(&queues);
	pass(4500);
	cr_expect(is_sent(), "it may be back in a moment");
	pass(1000);
	cr_expect_not(is_sent());
	cr_expect_eq(told.outcome, JOB_NOT_NOW);
	cr_expect_str_eq(told.why, "nobody serves the queue");
	m->worker->sick = m->unwell = false;
	queues_changed(&queues);
	turn();
	cr_expect(is_sent());
	queues_done(&queues);
}

/* --- bounds -------------------------------------------------------------------------------------------------- */

#define OUTSTANDING_MAX 200   /* ZooKeeper stops reading a client's socket at some more */
#define CHILDREN_MAX	10000 /* of a folder: its list stays below 1 MiB */
#define REPLY_MAX	(1 << 20)

static unsigned n_answers;

static void on_answer(void *arg, const struct job_answer *a)
{
	(void)arg, (void)a;
	n_answers++;
}

/* The id of one of many jobs. */
static struct job_id id_of(unsigned i)
{
	struct job_id other = id;
	uint32_t mixed = i * UINT32_C(2654435761);

	snprintf(other.uuid, sizeof(other.uuid), "%08x-%04x-4000-8000-%012x", mixed, i & 0xffff, i);
	return other;
}

static void ask_many(unsigned n, bool reads)
{
	for (unsigned i = 0; i < n; i++) {
		const struct job_id other = id_of(i);
		const struct job_submit s = {.id = &other, .by = "user"};
		if (reads)
			queues_read(&queues, &other, 0, NULL, on_answer, NULL);
		else
			queues_submit(&queues, &s, on_answer, NULL);
	}
	turn();
}

/* Each is answered with this, in its turn; the most that were outstanding at a time. */
static size_t answer_them(struct store_reply reply, unsigned n)
{
	size_t most = 0;

	n_answers = 0;
	for (unsigned i = 0; i < 20 * n && n_answers < n; i++) {
		most = store.n_open > most ? store.n_open : most;
		if (store.n_open == 0)
			pass(200);
		else if (strstr(store.open[0].text, "create jobs/q/job/") && i < n)
			script_answer(0, failed(STORE_UNKNOWN)); /* and is looked for */
		else if (strstr(store.open[0].text, "check workers/me"))
			script_answer(0, ok());
		else
			script_answer(0, reply);
		turn();
	}
	cr_expect_eq(n_answers, n, "%u of %u", n_answers, n);
	return most;
}

Test(queues, many_that_ask_have_few_requests_outstanding)
{
	begin_node();
	serve(5000);
	forget_open();
	store.silent = true; /* confirmations count */
	ask_many(1000, false);
	cr_expect_leq(answer_them(ok(), 1000), OUTSTANDING_MAX);
	ask_many(1000, true);
	cr_expect_leq(answer_them(failed(STORE_NO_NODE), 1000), OUTSTANDING_MAX);
	decides("pause-q", POLICY_PAUSE, "q", "", "");
	ask_many(1000, false);
	cr_expect_leq(answer_them(failed_at(STORE_NO_NODE, 0), 1000), OUTSTANDING_MAX);
	queues_done(&queues);
}

static struct store_reply queued(const struct job_id *of)
{
	static struct buffer data;
	struct job_record j = {.state = "queued", .exit_status = -1, .submitted = 1, .due = 1};

	job_id_format(of, j.id);
	snprintf(j.queue, sizeof(j.queue), "q");
	snprintf(j.by, sizeof(j.by), "user");
	snprintf(j.host, sizeof(j.host), "host");
	buffer_done(&data);
	buffer_init(&data, RECORD_JOB_MAX);
	cr_assert_eq(record_pack_job(&data, &j), 0);
	return holds(data.data, data.len, (struct store_stat){.version = 0});
}

/* Whoever waits for a job watches its record; once the client has gone, nobody does. */
Test(queues, who_has_gone_waits_for_no_job)
{
	int client, other;
	const struct job_id first = id_of(1), second = id_of(2);

	begin_node();
	serve(5000);
	forget_open();
	n_answers = 0;
	queues_read(&queues, &first, 60000, &client, on_answer, NULL);
	queues_read(&queues, &first, 60000, &other, on_answer, NULL);
	queues_read(&queues, &second, 60000, &client, on_answer, NULL);
	turn();
	asks_of("get! jobs/q/job/", queued(&first));
	asks_of("get! jobs/q/job/", queued(&first));
	asks_of("get! jobs/q/job/", queued(&second));
	cr_expect_eq(queues.n_ops, 3);
	cr_assert_gt(session.watches.used[WATCH_WAIT], 0);
	size_t bytes = session.watches.used[WATCH_WAIT];
	queues_owner_gone(&queues, &client);
	pass(1);
	cr_expect_eq(queues.n_ops, 1);
	cr_expect_eq(session.watches.used[WATCH_WAIT], bytes / 2);
	queues_owner_gone(&queues, &other);
	pass(1);
	cr_expect_eq(queues.n_ops, 0);
	cr_expect_eq(session.watches.used[WATCH_WAIT], 0);
	cr_expect_eq(n_answers, 0, "they are not there any more");
	queues_done(&queues);
}

/* The fullest of the folders that as many jobs are due in. */
static unsigned fullest(struct queue *queue, unsigned n, int64_t due_ms)
{
	static unsigned counts[1000];
	unsigned most = 0;

	memset(counts, 0, sizeof(counts));
	for (unsigned i = 0; i < n; i++) {
		const struct job_id other = id_of(i);
		const struct job_pointer p = job_pointer_to(&other, due_ms, false);
		int64_t step, first = queue_due_first(&p, &step);
		int64_t folder = queue_due_minute(queue, &p) - first;
		cr_assert(folder >= 0 && folder < 1000);
		most = ++counts[folder] > most ? counts[folder] : most;
	}
	return most;
}

Test(queues, no_folder_has_ten_thousand_of_those_that_wait)
{
	begin_node();
	struct queue *queue = queue_find(&queues, "q");
	int64_t now = host_wall_ms(&host);

	for (unsigned n = 10000; n <= QUEUE_QUEUED_MAX; n += 10000) {
		queue->settings.max_queued = n;
		cr_expect_lt(fullest(queue, n, now), CHILDREN_MAX, "%u", n);
		cr_expect_lt(fullest(queue, n, now + QUEUE_DELAY_MAX_MS), CHILDREN_MAX, "%u", n);
	}
	cr_expect_lt(CHILDREN_MAX * (4 + JOB_POINTER_MAX), REPLY_MAX);
	queues_done(&queues);
}

/* Gives a job to this node, which reads that record of it. */
static void give_of(struct store_reply record)
{
	begin_node();
	queues_up(&queues);
	turn();
	char text[STORE_PATH_MAX];
	pass(0);
	while (store.n_open > 0 && !strstr(store.open[0].text, "list! jobs/q/at/here"))
		script_answer(0, failed(STORE_NO_NODE));
	cr_assert_gt(store.n_open, 0);
	struct job_pointer p = job_pointer_to(&id, 0, false);
	job_pointer_format(&p, false, text);
	static char name[JOB_POINTER_MAX + 1];
	memcpy(name, text, strlen(text) + 1);
	script_answer(0, names(name, NULL));
	asks_of("get! jobs/q/at/here", at_of(SESSION, 77));
	asks_of("get jobs/q/job", record);
	turn();
}

static void give(void)
{
	give_of(job_of("queued", 0, 0));
}

Test(queues, a_job_begins_and_ends)
{
	give();
	cr_expect_eq(n_jobs, 1);
	pass(1000);
	cr_expect_eq(n_jobs, 2); /* until it has begun */
	queues_begin(&queues, &host, &id, on_begun, NULL);
	asks_of("check workers/me, check jobs/q/at/here", ok());
	pass(2000);
	cr_assert_eq(begun.n, 1);
	cr_assert(begun.yours);
	cr_expect_eq(begun.token, 77);
	cr_expect_eq(begun.attempt, 1);
	cr_expect_eq(begun.len, 5);
	cr_expect_gt(queues_renew(&queues, &host, begun.number), 0);
	cr_expect_eq(queues_renew(&queues, &store, begun.number), -1); /* another's */
	cr_expect_eq(queues_going(&queues), 1);
	const struct job_end end = {.retry_ms = -1};
	cr_assert(queues_finish(&queues, &host, begun.number, &end, on_ended, NULL));
	asks_of("set jobs/q/job", failed(STORE_UNKNOWN)); /* was it done? */
	asks_of("get! jobs/q/at/here", failed(STORE_NO_NODE));
	asks_of("get jobs/q/job", job_of("ok", 1, 2));
	cr_expect_eq(n_ended, 1);
	cr_expect_eq(queues_going(&queues), 0);
	queues_done(&queues);
}

/* Begins the job and ends it like that; returns the record that is written. */
static struct job_record ends_as(const struct job_end *end)
{
	struct job_record r;
	const char *why;

	give();
	queues_begin(&queues, &host, &id, on_begun, NULL);
	asks_of("check workers/me, check jobs/q/at/here", ok());
	pass(2000);
	cr_assert(queues_finish(&queues, &host, begun.number, end, on_ended, NULL));
	asks_of("set jobs/q/job", ok());
	cr_assert_eq(record_parse_job(store.last.data, store.last.len, &r, &why), 0, "%s", why);
	queues_done(&queues);
	return r;
}

Test(queues, the_record_says_why_an_attempt_has_not_ended_well)
{
	struct job_record r = ends_as(&(struct job_end){.what.exit_status = 7, .retry_ms = -1});

	cr_expect_str_eq(r.state, "queued");
	cr_expect_str_eq(r.why, "status");
	cr_expect_str_eq(r.detail, "exit status 7");
}

Test(queues, the_record_says_why_a_command_could_not_be_started)
{
	struct job_record r = ends_as(&(struct job_end){
		.what.exit_status = 127, .retry_ms = -1, .start = "No such file"});

	cr_expect_str_eq(r.why, "start");
	cr_expect_str_eq(r.detail, "the command could not be started: No such file");
}

Test(queues, the_record_says_that_an_attempt_ended_with_its_lease)
{
	struct job_record r = ends_as(&(struct job_end){
		.what = {.interrupted = true, .exit_status = 143}, .retry_ms = -1});

	cr_expect_str_eq(r.why, "lease");
}

Test(queues, the_record_of_what_ended_well_has_no_reason)
{
	struct job_record r = ends_as(&(struct job_end){.retry_ms = -1});

	cr_expect_str_eq(r.state, "ok");
	cr_expect_str_eq(r.why, "");
	cr_expect_str_eq(r.detail, "");
}

static int64_t renew(void)
{
	return queues_renew(&queues, &host, begun.number);
}

Test(queues, a_job_goes_on_while_the_connection_is_lost)
{
	give();
	session_set_working(&session, true);
	queues_begin(&queues, &host, &id, on_begun, NULL);
	asks_of("check workers/me, check jobs/q/at/here", ok());
	turn();
	cr_assert(begun.yours);
	renews_over_a_cut(renew);
	queues_done(&queues);
}

Test(queues, what_nobody_can_begin_is_given_back)
{
	refuses = true;
	give();
	asks_of("check workers/me, delete jobs/q/at/here", ok());
	cr_expect_eq(queues_going(&queues), 0);
	queues_done(&queues);
}

/* As where a job that was requeued ends once more, before the end before was told. */
Test(queues, what_is_due_already_is_not_made_due_twice)
{
	refuses = true;
	give();
	pass(0);
	cr_assert(strstr(store.open[0].text, "create jobs/q/due/"), "%s", store.open[0].text);
	asks_of("delete jobs/q/at/here", failed_at(STORE_NODE_EXISTS, 2));
	pass(1000);
	asks_of("get! jobs/q/at/here", at_of(SESSION, 77));
	asks_of("get jobs/q/job", job_of("queued", 0, 0));
	pass(0);
	cr_assert(strstr(store.open[0].text, "check jobs/q/due/"), "%s", store.open[0].text);
	asks_of("delete jobs/q/at/here", failed_at(STORE_NO_NODE, 2)); /* it was given meanwhile */
	pass(1000);
	asks_of("get! jobs/q/at/here", at_of(SESSION, 77));
	asks_of("get jobs/q/job", job_of("queued", 0, 0));
	pass(0);
	cr_assert(strstr(store.open[0].text, "create jobs/q/due/"), "%s", store.open[0].text);
	asks_of("delete jobs/q/at/here", ok());
	cr_expect_eq(queues_going(&queues), 0);
	queues_done(&queues);
}

/* As of a purged job whose end is to be told: it would take a slot for ever. */
Test(queues, what_has_no_record_any_more_goes)
{
	give_of(failed(STORE_NO_NODE));
	pass(0);
	cr_assert_gt(store.n_open, 0);
	cr_expect_not(strstr(store.open[0].text, "create"), "%s", store.open[0].text);
	asks_of("check workers/me, delete jobs/q/at/here", ok());
	cr_expect_eq(queues_going(&queues), 0);
	cr_expect_eq(n_jobs, 0);
	queues_done(&queues);
}

Test(queues, of_another_session_it_is_not_ours)
{
	begin_node();
	queues_up(&queues);
	pass(0);
	while (store.n_open > 0 && !strstr(store.open[0].text, "list! jobs/q/at/here"))
		script_answer(0, failed(STORE_NO_NODE));
	static char name[JOB_POINTER_MAX + 1];
	struct job_pointer p = job_pointer_to(&id, 0, false);
	job_pointer_format(&p, false, name);
	script_answer(0, names(name, NULL));
	asks_of("get! jobs/q/at/here", at_of(SESSION + 1, 77));
	asks_of("get jobs/q/job", job_of("queued", 0, 0));
	cr_expect_eq(n_jobs, 0);
	queues_begin(&queues, &host, &id, on_begun, NULL);
	cr_expect_eq(begun.n, 1);
	cr_expect_not(begun.yours);
	queues_done(&queues);
}

static void make_folder_of_ours(void)
{
	bool ours = false;

	pass(0);
	while (store.n_open > 0 && strstr(store.open[0].text, "create jobs")) {
		ours |= strstr(store.open[0].text, "create jobs/q/at/here") != NULL;
		script_answer(0, ok());
	}
	cr_expect(ours);
}

/* Jobs that are given before the folder is seen would have waited. */
Test(queues, a_folder_that_was_not_there_is_listed_as_soon_as_it_is_made)
{
	begin_node();
	queues_up(&queues);
	pass(0);
	while (store.n_open > 0 && !strstr(store.open[0].text, "list! jobs/q/at/here"))
		script_answer(0, failed(STORE_NO_NODE));
	asks_of("list! jobs/q/at/here", failed(STORE_NO_NODE));
	make_folder_of_ours();
	pass(QUEUE_LIST_LEAST_MS);
	asks_of("list! jobs/q/at/here", failed(STORE_NO_NODE)); /* by a hand */
	make_folder_of_ours();
	pass(QUEUE_AGAIN_MS - 1);
	cr_expect_eq(store.n_open, 0, "%s", store.open[0].text);
	pass(QUEUE_LIST_LEAST_MS + 1);
	asks_of("list! jobs/q/at/here", names(NULL, NULL));
	queues_done(&queues);
}

/* --- another configuration ------------------------------------------------------------------------------ */

static void configure(const char *const *queue_names, size_t n)
{
	struct task_settings list[2];

	for (size_t i = 0; i < n; i++) {
		list[i] = settings_of(queue_names[i]);
		list[i].queue = &queue_settings;
	}
	tasks_apply(&leaders, &site_timing, list, n);
	queues_configured(&queues);
	pass(QUEUE_LIST_LEAST_MS + 1);
}

/* Whether it is asked; what else is asked is of no interest. */
static bool asks_for(const char *part)
{
	bool found = false;

	for (int i = 0; i < 20 && !found; i++) {
		script_confirm();
		found = store.n_open > 0 && strstr(store.open[0].text, part);
		if (store.n_open > 0)
			script_answer(0, failed(STORE_NO_NODE));
		pass(1);
	}
	return found;
}

Test(queues, of_a_queue_that_comes_while_the_session_is_up_it_is_listed_what_was_given)
{
	static const char *const both[] = {"q", "r"};

	begin_node();
	forget_open();
	configure(both, 2);
	cr_expect(asks_for("list! jobs/r/at/here"));
	configure(both, 1);
	forget_open(); /* its folders are being made */
	pass(1);
	cr_expect_null(queue_find(&queues, "r"));
	configure(both, 2);
	cr_expect(asks_for("list! jobs/r/at/here"), "once more, as it was gone");
	queues_done(&queues);
}

/* Before, a leader may take away what is there, as from a worker that has forgotten it. */
Test(queues, nothing_is_taken_up_before_our_record_says_that_we_answer_for_it)
{
	static const char *const both[] = {"q", "r"};

	begin_node();
	forget_open();
	struct member *m = joins("me", "1.0", 5);
	configure(both, 2);
	cr_expect_not(asks_for("at/here"));
	char **answers = mem_calloc(1, sizeof(*answers));
	answers[0] = mem_strdup("r");
	worker_take_answers(m->worker, answers, 1);
	queues_changed(&queues);
	cr_expect(asks_for("list! jobs/r/at/here"));
	queues_done(&queues);
}

/* The queue takes submits alone; or its jobs go on here while it is gone from the files. */
Test(queues, our_record_names_what_we_answer_for_and_do_not_serve)
{
	struct worker *w = worker_new();

	begin_node();
	registry.add_answers(registry.answers_arg, w);
	cr_expect_eq(w->n_answers, 0, "its slots say that");
	queue_settings.slots = 0;
	configure((const char *const[]){"q"}, 1);
	registry.add_answers(registry.answers_arg, w);
	cr_assert_eq(w->n_answers, 1);
	cr_expect_str_eq(w->answers[0], "q");
	cr_expect(worker_answers_for(w, w->node, "q"));
	cr_expect_not(worker_answers_for(w, w->node, "r"));
	worker_free(w);
	queues_done(&queues);
}

/* --- the leader ---------------------------------------------------------------------------------------- */

Test(queues, a_later_leader_has_raised_the_epoch)
{
	lead_queue();
	until("get jobs/q");
	script_answer(0, holds("42", 2, (struct store_stat){.version = 3}));
	until("get jobs/q"); /* it is read again, and nothing set */
	script_answer(0, holds("40", 2, (struct store_stat){.version = 4}));
	until("check workers/me, set jobs/q v4, check leaders/q");
	queues_done(&queues);
}

static char trouble[4 * QUEUE_TROUBLE_MAX]; /* all that were told */

static void on_trouble(void *arg, const char *queue, const char *text)
{
	(void)arg;
	cr_expect_str_eq(queue, "q");
	size_t used = strlen(trouble);

	snprintf(trouble + used, sizeof(trouble) - used, "%s\n", text);
}

static const char *troubles(void)
{
	trouble[0] = '\0';
	queues_troubles(&queues, on_trouble, NULL);
	return trouble;
}

/* The data of another ensemble: nobody leads there with that token. */
Test(queues, an_epoch_above_our_token_is_told)
{
	lead_queue();
	int64_t since = host.now_ms;
	while (host.now_ms < since + 20000) {
		pass(100);
		script_confirm();
		if (store.n_open == 0)
			continue;
		cr_expect_not(strstr(store.open[0].text, "set jobs/q"), "%s", store.open[0].text);
		script_answer(0, strstr(store.open[0].text, "get jobs/q")
					 ? holds("42000", 5, (struct store_stat){.version = 3})
					 : failed(STORE_NO_NODE));
		if (host.now_ms < since + 9000)
			cr_expect_str_empty(troubles(), "a later leader may be there");
	}
	cr_expect(strstr(troubles(), "42000") && strstr(trouble, "zkCli.sh set " ROOT "/jobs/q 0"),
		  "%s", trouble);
	until("get jobs/q"); /* as the remedy has it */
	script_answer(0, holds("0", 1, (struct store_stat){.version = 4}));
	until("check workers/me, set jobs/q v4, check leaders/q");
	cr_expect_str_empty(troubles());
	queues_done(&queues);
}

Test(queues, a_job_that_does_not_begin_is_told)
{
	give();
	pass(0);
	cr_expect_str_empty(troubles());
	for (int i = 0; i < 31; i++)
		pass(1000);
	cr_expect(strstr(troubles(), UUID), "%s", trouble);
	queues_done(&queues);
}

Test(queues, the_leader_assigns_what_is_due_under_its_epoch)
{
	char due[2 * JOB_POINTER_MAX], minute[JOB_MINUTE_SIZE];
	struct job_pointer p;

	lead_queue();
	until("get jobs/q");
	script_answer(0, holds("40", 2, (struct store_stat){.version = 3}));
	until("set jobs/q v3");
	script_answer(0, ok());
	p = job_pointer_to(&id, host_wall_ms(&host) - 1000, false);
	job_minute_format(p.due_ms / JOB_MINUTE_MS, minute);
	job_pointer_format(&p, true, due);
	until("list! jobs/q/due");
	script_answer(0, names(minute, NULL));
	until("list! jobs/q/due/");
	script_answer(0, names(due, NULL));
	until("delete jobs/q/due/");
	cr_assert(
		strstr(store.open[0].text, "check workers/me, check jobs/q v4, check workers/me, "),
		"%s", store.open[0].text);
	cr_assert(strstr(store.open[0].text, "create jobs/q/at/host-me"), "%s", store.open[0].text);
	script_answer(0, failed_at(STORE_BAD_VERSION, 1)); /* deposed: all is read anew */
	until("get jobs/q");
	queues_done(&queues);
}

/* The leader of a queue whose rate is one a minute, with three jobs that are due; epoch: what is read of it. */
static void lead_with_a_rate(const char *epoch)
{
	static char due[3][JOB_POINTER_MAX + 1];
	char minute[JOB_MINUTE_SIZE];
	struct job_pointer p;

	queue_settings.rate = 1;
	queue_settings.rate_ms = 60000;
	lead_queue();
	until("get jobs/q");
	script_answer(0, holds(epoch, 2, (struct store_stat){.version = 3}));
	until("set jobs/q v3");
	script_answer(0, ok());
	for (size_t i = 0; i < 3; i++) {
		struct job_id other = id;
		other.uuid[0] = (char)('1' + i);
		p = job_pointer_to(&other, host_wall_ms(&host) - 1000, false);
		job_pointer_format(&p, true, due[i]);
	}
	job_minute_format(p.due_ms / JOB_MINUTE_MS, minute);
	until("list! jobs/q/due");
	script_answer(0, names(minute, NULL));
	until("list! jobs/q/due/");
	script_answer(0, names(due[0], due[1], due[2], NULL));
}

Test(queues, a_new_leader_begins_with_a_burst)
{
	lead_with_a_rate("40");
	int64_t since = host.now_ms;
	until("delete jobs/q/due/");
	cr_expect_lt(host.now_ms, since + 20000);
	queues_done(&queues);
}

Test(queues, a_leader_that_was_restarted_has_no_burst_more)
{
	lead_with_a_rate("41"); /* raised by itself, in the process before */
	int64_t since = host.now_ms;
	while (host.now_ms < since + 50000) {
		pass(100);
		script_confirm();
		cr_assert(store.n_open == 0 || !strstr(store.open[0].text, "delete jobs/q/due/"));
		if (store.n_open > 0)
			script_answer(0, ok());
	}
	for (int i = 0; i < 12 && !(store.n_open > 0 && strstr(store.open[0].text, "delete jobs"));
	     i++) {
		pass(1000);
		script_confirm();
		if (store.n_open > 0 && !strstr(store.open[0].text, "delete jobs"))
			script_answer(0, ok());
	}
	cr_expect(store.n_open > 0 && strstr(store.open[0].text, "delete jobs/q/due/"));
	queues_done(&queues);
}
