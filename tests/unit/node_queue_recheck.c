/* A job that was given to this node, by what is read of it: in each state, with each answer. */
#include "queue_site.h"

#include "node/queue/work/queue_work.h"

#define GIVE_BACK "check workers/me, delete jobs/q/at/here"

static struct {
	size_t n;
	bool yours;
	uint64_t number;
	int64_t attempt;
	int64_t timeout_ms;
} begun;
static size_t n_ended, n_cancels;
static bool recorded;
static char pointer[JOB_POINTER_MAX + 1], at_path[STORE_PATH_MAX];

static void on_begun(void *arg, const struct job_begun *b)
{
	(void)arg;
	begun.n++;
	begun.yours = b->yours;
	begun.number = b->number;
	begun.attempt = b->attempt;
	begun.timeout_ms = b->timeout_ms;
}

static void on_ended(void *arg, bool is_recorded)
{
	(void)arg;
	n_ended++;
	recorded = is_recorded;
}

static void on_cancel(void *arg, void *owner, uint64_t number)
{
	(void)arg;
	cr_expect(owner == &host && number == begun.number);
	n_cancels++;
}

static struct store_reply at_in(int64_t of_session, int64_t token, struct at_record a,
				int32_t version)
{
	static struct buffer data;

	a.session = of_session;
	snprintf(a.worker, sizeof(a.worker), "me");
	buffer_done(&data);
	buffer_init(&data, RECORD_AT_MAX);
	cr_assert_eq(record_pack_at(&data, &a), 0);
	return holds(data.data, data.len, (struct store_stat){.czxid = token, .version = version});
}

static struct store_reply ours(void)
{
	return at_of(SESSION, 77);
}

static struct store_reply cancelled(void)
{
	return at_in(SESSION, 77, (struct at_record){.cancelled = true}, 1);
}

static struct store_reply junk(void)
{
	return holds("junk", 4, (struct store_stat){.czxid = 77, .version = 1});
}

/* A record that another node has begun. */
static struct store_reply job_elsewhere(int32_t version)
{
	static struct buffer data;
	struct job_record j = {.attempt = 1, .exit_status = -1, .submitted = 1, .due = 1};

	job_id_format(&id, j.id);
	snprintf(j.queue, sizeof(j.queue), "q");
	snprintf(j.state, sizeof(j.state), "running");
	snprintf(j.by, sizeof(j.by), "user");
	snprintf(j.host, sizeof(j.host), "host");
	snprintf(j.node, sizeof(j.node), "there:/s");
	buffer_done(&data);
	buffer_init(&data, RECORD_JOB_MAX);
	cr_assert_eq(record_pack_job(&data, &j), 0);
	return holds(data.data, data.len, (struct store_stat){.version = version});
}

/* A read of both: the assignment and the record. */
static void reads(struct store_reply at, struct store_reply job)
{
	asks_of(at_path, at);
	asks_of("get jobs/q/job", job);
}

/* The node, and queues that know nothing yet. */
static void begin_queues(void)
{
	static size_t turns;
	const struct queues_handlers handlers = {.job = on_job};

	n_jobs = n_ended = 0;
	memset(&begun, 0, sizeof(begun));
	if (turns == 0) {
		begin_node();
		turns = host.n_turns;
		return;
	}
	forget_open();
	host.n_turns = turns - 1; /* that of the queues before */
	queues_init(&queues, &session, &registry, &leaders, &handlers);
	cr_assert_eq(host.n_turns, turns);
	queues_configured(&queues);
}

/* Lists a job as given to this node. */
static void list_one(bool callback)
{
	struct job_pointer p = job_pointer_to(&id, 0, callback);

	begin_queues();
	queues.handlers.cancel = on_cancel;
	queues_up(&queues);
	turn();
	for (pass(0); script_confirm(), store.n_open > 0;) {
		if (strstr(store.open[0].text, "list! jobs/q/at/here"))
			break;
		script_answer(0, failed(STORE_NO_NODE));
	}
	cr_assert_gt(store.n_open, 0);
	p = job_pointer_to(&id, 0, callback);
	job_pointer_format(&p, false, pointer);
	snprintf(at_path, sizeof(at_path), "get! jobs/q/at/here:%%2Fs/%s", pointer);
	script_answer(0, names(pointer, NULL));
	script_confirm();
}

static void give(void)
{
	list_one(false);
	reads(ours(), job_of("queued", 0, 0));
	cr_assert_eq(n_jobs, 1);
}

static void begin_it(void)
{
	queues_begin(&queues, &host, &id, on_begun, NULL);
	turn();
}

static void run_it(void)
{
	give();
	begin_it();
	asks_of("set jobs/q/job/", ok());
	cr_assert(begun.yours && begun.attempt == 1);
}

static void end_as(struct attempt_end what)
{
	const struct job_end end = {.what = what, .retry_ms = -1};

	cr_assert(queues_finish(&queues, &host, begun.number, &end, on_ended, NULL));
}

/* Its assignment has changed: it is read again. */
static void change(void)
{
	fires(STORE_NODE_CHANGED, at_path + strlen("get! "));
}

static bool is_there(void)
{
	return queue_find(&queues, "q")->works.n > 0;
}

/* --- what was given -------------------------------------------------------------------------------------- */

enum follows { GONE, STRANGE, GIVEN, GOES_ON, BACK, LATER };

Test(queue_recheck, what_is_given_here_follows_from_assignment_and_record)
{
	struct {
		const char *what;
		struct store_reply (*at)(void);
		const char *state; /* of the record; NULL: it is gone */
		enum follows follows;
	} cases[] = {
		{"ours, and waits", ours, "queued", GIVEN},
		{"ours, and runs here", ours, "running", GOES_ON},
		{"ours, and has ended", ours, "ok", STRANGE},
		{"ours, and of another node", ours, "elsewhere", STRANGE},
		{"ours, without a record", ours, NULL, BACK},
		{"ours, and was purged", ours, "purged", BACK},
		{"ours, with junk", ours, "junk", STRANGE},
		{"ours, whose record's answer is lost", ours, "lost", LATER},
		{"not understood", junk, "queued", STRANGE},
		{"gone", NULL, "queued", GONE},
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		const char *state = cases[i].state;

		puts(cases[i].what);
		list_one(false);
		asks_of(at_path, cases[i].at ? cases[i].at() : failed(STORE_NO_NODE));
		asks_of("get jobs/q/job", !state		       ? failed(STORE_NO_NODE)
					  : strcmp(state, "junk") == 0 ? junk()
					  : strcmp(state, "lost") == 0 ? failed(STORE_UNKNOWN)
					  : strcmp(state, "elsewhere") == 0
						  ? job_elsewhere(2)
						  : job_of(state, strcmp(state, "queued") != 0, 2));
		enum follows f = cases[i].follows;
		cr_expect_eq(n_jobs, f == GIVEN, "%s", cases[i].what);
		cr_expect_eq(is_there(), f != GONE, "%s", cases[i].what);
		cr_expect_eq(queues_going(&queues), f == GOES_ON || f == BACK, "%s", cases[i].what);
		if (f == BACK) {
			cr_expect_not(strstr(store.open[0].text, "create"), "as nothing is due");
			asks_of(GIVE_BACK, ok());
		} else if (f == LATER) {
			pass(QUEUE_AGAIN_MS - 1);
			cr_expect_eq(store.n_open, 0);
			pass(1);
			reads(ours(), job_of("queued", 0, 0));
			cr_expect_eq(n_jobs, 1);
		} else
			cr_expect_eq(store.n_open, 0, "%s: %s", cases[i].what, store.open[0].text);
		queues_done(&queues);
	}
}

Test(queue_recheck, what_is_not_ours_may_become_ours)
{
	list_one(false);
	reads(at_of(SESSION + 1, 70), job_of("queued", 0, 0));
	cr_expect_eq(n_jobs, 0);
	change();
	reads(ours(), job_of("queued", 0, 0));
	cr_expect_eq(n_jobs, 1);
	queues_done(&queues);
}

Test(queue_recheck, what_has_ended_may_be_given_once_more)
{
	list_one(false);
	reads(ours(), job_of("ok", 1, 2));
	change();
	reads(at_of(SESSION, 78), job_of("queued", 1, 3));
	cr_expect_eq(n_jobs, 1);
	queues_done(&queues);
}

Test(queue_recheck, what_was_given_and_is_another_assignment_by_now_is_not_ours)
{
	give();
	change();
	reads(at_of(SESSION, 78), job_of("queued", 0, 0));
	begin_it();
	cr_expect(begun.n == 1 && !begun.yours);
	queues_done(&queues);
}

/* --- its begin ------------------------------------------------------------------------------------------- */

Test(queue_recheck, whether_it_has_begun_is_read_where_the_answer_was_lost)
{
	struct {
		const char *what;
		struct store_reply (*at)(void);
		const char *state;
		int32_t version;
		enum follows follows;
	} cases[] = {
		{"it has", ours, "running", 1, GOES_ON},
		{"it has not", ours, "queued", 0, GIVEN},
		{"another wrote the record", ours, "queued", 1, GONE},
		{"another has it", ours, "elsewhere", 1, GONE},
		{"and more was written", ours, "running", 2, GONE},
		{"the record is junk", ours, "junk", 1, GONE},
		{"the record is gone", ours, NULL, 0, BACK},
		{"it was purged", ours, "purged", 1, BACK},
		{"the assignment is gone", NULL, "running", 1, GONE},
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		const char *state = cases[i].state;

		puts(cases[i].what);
		give();
		begin_it();
		asks_of("set jobs/q/job/", failed(STORE_UNKNOWN));
		asks_of(at_path, cases[i].at ? cases[i].at() : failed(STORE_NO_NODE));
		asks_of("get jobs/q/job",
			!state			     ? failed(STORE_NO_NODE)
			: strcmp(state, "junk") == 0 ? junk()
			: strcmp(state, "elsewhere") == 0
				? job_elsewhere(cases[i].version)
				: job_of(state, strcmp(state, "running") == 0, cases[i].version));
		enum follows f = cases[i].follows;
		if (f == GIVEN)
			asks_of("set jobs/q/job/", ok());
		else if (f == BACK)
			asks_of(GIVE_BACK, ok());
		cr_expect_eq(store.n_open, 0);
		cr_expect_eq(begun.n, 1, "%s", cases[i].what);
		cr_expect_eq(begun.yours, f == GIVEN || f == GOES_ON, "%s", cases[i].what);
		cr_expect_eq(queues_going(&queues), begun.yours);
		queues_done(&queues);
	}
}

/* --- while it runs --------------------------------------------------------------------------------------- */

Test(queue_recheck, one_that_runs_and_is_not_ours_any_more_is_lost)
{
	run_it();
	cr_expect_gt(queues_renew(&queues, &host, begun.number), 0);
	change();
	reads(ours(), job_of("running", 1, 1));
	cr_expect_gt(queues_renew(&queues, &host, begun.number), 0);
	change();
	reads(at_of(SESSION, 78), job_of("running", 1, 1));
	cr_expect_eq(queues_renew(&queues, &host, begun.number), 0);
	queues_done(&queues);
}

Test(queue_recheck, one_that_runs_and_is_cancelled_is_told_once)
{
	run_it();
	for (int i = 0; i < 2; i++) {
		change();
		reads(cancelled(), job_of("running", 1, 1));
	}
	cr_expect_eq(n_cancels, 1);
	queues_done(&queues);
}

/* --- its end --------------------------------------------------------------------------------------------- */

Test(queue_recheck, an_end_that_was_not_written_is_written_again)
{
	run_it();
	end_as((struct attempt_end){.exit_status = 0});
	asks_of("set jobs/q/job/", failed(STORE_UNKNOWN));
	reads(ours(), job_of("running", 1, 1));
	cr_expect_eq(n_ended, 0);
	asks_of("set jobs/q/job/", ok());
	cr_expect(n_ended == 1 && recorded);
	queues_done(&queues);
}

/* The record as our end made it, but for what the case changes. */
static struct store_reply record_of_end(int which)
{
	static struct buffer data;
	struct job_record j = TAILQ_FIRST(&queue_find(&queues, "q")->works.list)->end;

	if (which == 1)
		snprintf(j.state, sizeof(j.state), "cancelled");
	j.attempt += which == 2;
	j.due += which == 3;
	j.ended += which == 4;
	buffer_done(&data);
	buffer_init(&data, RECORD_JOB_MAX);
	cr_assert_eq(record_pack_job(&data, &j), 0);
	return holds(data.data, data.len, (struct store_stat){.version = which == 5 ? 3 : 2});
}

Test(queue_recheck, an_end_is_recorded_where_the_record_says_so)
{
	static const char *const whats[] = {"as written",   "another state", "another attempt",
					    "another time", "another end",   "written since",
					    "gone",	    "junk"};

	for (int i = 0; i < 8; i++) {
		puts(whats[i]);
		run_it();
		end_as((struct attempt_end){.exit_status = 0});
		asks_of("set jobs/q/job/", failed(STORE_UNKNOWN));
		reads(failed(STORE_NO_NODE), i == 6   ? failed(STORE_NO_NODE)
					     : i == 7 ? junk()
						      : record_of_end(i));
		cr_expect_eq(n_ended, 1);
		cr_expect_eq(recorded, i == 0, "%s", whats[i]);
		queues_done(&queues);
	}
}

/* Its command exits 0 on TERM: that it was ended counts. */
Test(queue_recheck, one_that_was_ended_is_not_ok_whatever_its_status)
{
	static const struct {
		struct attempt_end what;
		bool cancelled;
		const char *does;
	} cases[] = {
		{{.timeout = true}, false, "create jobs/q/due/"},
		{{.interrupted = true}, false, "create jobs/q/due/"},
		{{.interrupted = true}, true, ""},
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		run_it();
		if (cases[i].cancelled) {
			change();
			reads(cancelled(), job_of("running", 1, 1));
		}
		end_as(cases[i].what);
		pass(0);
		cr_expect(strstr(store.open[0].text, cases[i].does), "%s", store.open[0].text);
		cr_expect_str_eq(TAILQ_FIRST(&queue_find(&queues, "q")->works.list)->end.state,
				 cases[i].cancelled ? "cancelled" : "queued");
		asks_of("set jobs/q/job/", ok());
		cr_expect(n_ended == 1 && recorded);
		queues_done(&queues);
	}
}

/* The job would be tried again, and nobody wants that any more. */
Test(queue_recheck, one_that_is_cancelled_as_it_ends_is_not_tried_again)
{
	run_it();
	end_as((struct attempt_end){.exit_status = 1});
	pass(0);
	cr_assert(strstr(store.open[0].text, "create jobs/q/due/"), "%s", store.open[0].text);
	asks_of("set jobs/q/job/", failed(STORE_UNKNOWN));
	reads(cancelled(), job_of("running", 1, 1));
	pass(0);
	cr_expect_not(strstr(store.open[0].text, "create jobs/q/due/"), "%s", store.open[0].text);
	asks_of("set jobs/q/job/", ok());
	cr_expect(n_ended == 1 && recorded);
	queues_done(&queues);
}

Test(queue_recheck, whether_it_was_given_back_is_read_where_the_answer_was_lost)
{
	refuses = true;
	give();
	asks_of("delete jobs/q/at/here", failed(STORE_UNKNOWN));
	reads(ours(), job_of("queued", 0, 0));
	asks_of("delete jobs/q/at/here", failed(STORE_UNKNOWN));
	reads(failed(STORE_NO_NODE), job_of("queued", 0, 0));
	cr_expect_not(is_there());
	queues_done(&queues);
}

/* --- the telling of an end ------------------------------------------------------------------------------- */

/* Its record tells nothing of it: the assignment counts the attempts. */
static struct store_reply told_often(int32_t version)
{
	return at_in(SESSION, 77, (struct at_record){.attempt = version}, version);
}

Test(queue_recheck, a_callback_has_begun_by_its_assignment_alone)
{
	list_one(true);
	reads(told_often(0), job_of("ok", 1, 4));
	cr_expect_eq(n_jobs, 1);
	begin_it();
	asks_of("set jobs/q/at/here", failed(STORE_UNKNOWN));
	reads(told_often(0), job_of("ok", 1, 4));
	asks_of("set jobs/q/at/here", failed(STORE_UNKNOWN));
	cr_expect_eq(begun.n, 0);
	reads(told_often(1), job_of("ok", 1, 4));
	cr_expect(begun.n == 1 && begun.yours);
	cr_expect_eq(begun.attempt, 1);
	cr_expect_eq(begun.timeout_ms, 30000, "its own, and not that of jobs");
	queues_done(&queues);
}

Test(queue_recheck, a_callback_that_was_begun_before_us_goes_on)
{
	list_one(true);
	reads(told_often(1), job_of("ok", 1, 4));
	cr_expect_eq(n_jobs, 0);
	cr_expect_eq(queues_going(&queues), 1);
	queues_done(&queues);
}

Test(queue_recheck, a_callback_has_ended_where_its_assignment_is_gone)
{
	list_one(true);
	reads(told_often(0), job_of("ok", 1, 4));
	begin_it();
	asks_of("set jobs/q/at/here", ok());
	end_as((struct attempt_end){.exit_status = 0});
	asks_of("delete jobs/q/at/here", failed(STORE_UNKNOWN));
	reads(failed(STORE_NO_NODE), job_of("ok", 1, 4));
	cr_expect(n_ended == 1 && recorded);
	queues_done(&queues);
}
