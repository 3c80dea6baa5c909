/* The leader of a queue, and what people ask of it, before a ZooKeeper that the test plays. */
#include "queue_site.h"

#include "node/queue/lead/queue_lead.h"

static char pointer_name[JOB_POINTER_MAX + 1], minute_name[JOB_MINUTE_SIZE];

/* The oldest request that is not of this kind is answered as of no interest; then this one, so. */
static void answers(const char *part, struct store_reply reply)
{
	until(part);
	script_answer(0, reply);
	script_confirm();
}

/* This node leads the queue, in a state that is empty but for what the test answers from here on. */
static void lead_it(void)
{
	lead_queue();
	answers("get jobs/q", holds("40", 2, (struct store_stat){.version = 3}));
	answers("set jobs/q v3", ok());
}

static void name_pointer(bool due, int64_t due_ms)
{
	struct job_pointer p = job_pointer_to(&id, due_ms, false);

	job_pointer_format(&p, due, pointer_name);
}

static const char *asked(void)
{
	return store.open[0].text;
}

/* --- whose worker has gone ----------------------------------------------------------------------------- */

/* A job was given to a session that is not in the fleet. */
static void give_to_who_has_gone(const char *state, int64_t attempt)
{
	lead_it();
	name_pointer(false, 0);
	answers("list! jobs/q/at", names("away:%2Fs", NULL));
	answers("list! jobs/q/at/away", names(pointer_name, NULL));
	answers("get jobs/q/at/away", at_of(99, 77));
	/* The list of workers is read once more, and it is not in it: as the folder, which is empty here, says. */
	until("list! workers");
	memmove(store.open, store.open + 1, --store.n_open * sizeof(store.open[0]));
	registry.workers.listing = registry.workers.again = registry.workers.due = false;
	registry.workers.lists += 2;
	queues_changed(&queues);
	turn();
	answers("get jobs/q/at/away", at_of(99, 77));
	answers("get jobs/q/job/", job_of(state, attempt, 4));
}

Test(queue_lead, what_has_not_begun_goes_back_to_where_it_was_due)
{
	give_to_who_has_gone("queued", 0);
	until("check jobs/q/job/");
	cr_expect(strstr(asked(), "check workers/me, check jobs/q v4, check jobs/q/job/"), "%s",
		  asked());
	cr_expect(strstr(asked(), " v4, delete jobs/q/at/away"), "%s", asked());
	cr_expect(strstr(asked(), "create jobs/q/due/"), "%s", asked());
	queues_done(&queues);
}

Test(queue_lead, what_is_due_already_is_not_made_due_twice)
{
	give_to_who_has_gone("queued", 0);
	answers("create jobs/q/due/", failed_at(STORE_NODE_EXISTS, 4));
	answers("get jobs/q/at/away", at_of(99, 77));
	answers("get jobs/q/job/", job_of("queued", 0, 4));
	until("delete jobs/q/at/away");
	cr_expect(strstr(asked(), "check jobs/q/due/"), "%s", asked());
	cr_expect_not(strstr(asked(), "create"), "%s", asked());
	queues_done(&queues);
}

Test(queue_lead, what_has_begun_is_tried_again)
{
	give_to_who_has_gone("running", 1);
	int64_t since = host.now_ms;
	/* Had a hand deleted the registration alone, its process may be alive for as long as its lease. */
	while (host.now_ms < since + 2 * TIMEOUT_MS &&
	       !(store.n_open > 0 && strstr(asked(), "set jobs/q/job/"))) {
		pass(200);
		script_confirm();
		if (store.n_open == 0 || strstr(asked(), "set jobs/q/job/"))
			continue;
		script_answer(0, strstr(asked(), "get jobs/q/at/away") ? at_of(99, 77)
				 : strstr(asked(), "get jobs/q/job/")  ? job_of("running", 1, 4)
								       : ok());
	}
	cr_assert_gt(store.n_open, 0);
	cr_expect(strstr(asked(), "check jobs/q v4, set jobs/q/job/"), "%s", asked());
	cr_expect(strstr(asked(), "delete jobs/q/at/away"), "%s", asked());
	cr_expect(strstr(asked(), "create jobs/q/due/"), "%s", asked());
	cr_expect_geq(host.now_ms, since + TIMEOUT_MS - 1000);
	queues_done(&queues);
}

Test(queue_lead, what_has_ended_leaves_its_assignment_alone)
{
	give_to_who_has_gone("ok", 1);
	until("delete jobs/q/at/away");
	cr_expect(strstr(asked(), "check workers/me, check jobs/q v4, delete jobs/q/at/away"), "%s",
		  asked());
	cr_expect_not(strstr(asked(), "create"), "%s", asked());
	queues_done(&queues);
}

/* --- whose worker lives, and cannot answer for it -------------------------------------------------------- */

static const char *const other_name = "new:/s";

/* A job is in the folder of "away", and names the session of a worker of that name that lists q or does not. */
static struct member *give_to_who_lives(const char *node, bool lists)
{
	lead_it();
	struct member *m = joins("w", "1.0", 3);
	snprintf(m->worker->node, sizeof(m->worker->node), "%s", node);
	if (lists) {
		char **answers = mem_calloc(1, sizeof(*answers));
		answers[0] = mem_strdup("q");
		worker_take_answers(m->worker, answers, 1);
	}
	name_pointer(false, 0);
	answers("list! jobs/q/at", names("away:%2Fs", NULL));
	answers("list! jobs/q/at/away", names(pointer_name, NULL));
	answers("get jobs/q/at/away", at_of('w', 77));
	return m;
}

/* Answers what is read of it, for so long, until it is taken away; when that was, 0: it was not. */
static int64_t taken_within(int64_t for_ms, const char *state, int64_t attempt)
{
	int64_t since = host.now_ms;

	while (host.now_ms < since + for_ms) {
		pass(200);
		script_confirm();
		if (store.n_open > 0 && strstr(asked(), "delete jobs/q/at/away"))
			return host.now_ms - since;
		if (store.n_open > 0)
			script_answer(0, strstr(asked(), "get jobs/q/at/away") ? at_of('w', 77)
					 : strstr(asked(), "get jobs/q/job/")
						 ? job_of(state, attempt, 4)
						 : ok());
	}
	return 0;
}

Test(queue_lead, what_waits_for_a_node_that_has_another_name_goes_back)
{
	give_to_who_lives(other_name, true);
	cr_expect_gt(taken_within(2000, "queued", 0), 0);
	cr_expect(strstr(asked(), "create jobs/q/due/"), "%s", asked());
	cr_expect(strstr(asked(), ", check workers/w"), "by that record alone: %s", asked());
	script_answer(0, failed_at(STORE_NO_NODE, 5));
	cr_expect_gt(taken_within(5000, "queued", 0), 0, "once more");
	queues_done(&queues);
}

Test(queue_lead, what_waits_for_a_worker_that_has_forgotten_the_queue_goes_back)
{
	give_to_who_lives("away:/s", false);
	cr_expect_gt(taken_within(2000, "queued", 0), 0);
	queues_done(&queues);
}

Test(queue_lead, what_runs_there_is_dead_before_it_is_tried_again)
{
	give_to_who_lives(other_name, true);
	int64_t took_ms = taken_within(3 * TIMEOUT_MS, "running", 1);
	cr_expect_geq(took_ms, TIMEOUT_MS - 1000, "taken after %lld ms", (long long)took_ms);
	cr_expect(strstr(asked(), "set jobs/q/job/"), "%s", asked());
	cr_expect(strstr(asked(), ", check workers/w"), "%s", asked());
	queues_done(&queues);
}

Test(queue_lead, what_is_answered_for_again_is_left_alone)
{
	struct member *m = give_to_who_lives(other_name, true);

	cr_expect_eq(taken_within(TIMEOUT_MS / 2, "running", 1), 0);
	snprintf(m->worker->node, sizeof(m->worker->node), "away:/s");
	queues_changed(&queues);
	cr_expect_eq(taken_within(3 * TIMEOUT_MS, "running", 1), 0);
	snprintf(m->worker->node, sizeof(m->worker->node), "%s", other_name);
	queues_changed(&queues);
	cr_expect_eq(taken_within(TIMEOUT_MS / 2, "running", 1), 0, "its time begins anew");
	queues_done(&queues);
}

/* --- folders ------------------------------------------------------------------------------------------- */

Test(queue_lead, an_empty_folder_of_a_node_that_is_away_goes)
{
	lead_it();
	answers("list! jobs/q/at", names("away:%2Fs", "host-me:%2Fs", NULL));
	int64_t since = host.now_ms;
	while (host.now_ms < since + 300000 &&
	       !(store.n_open > 0 && strstr(asked(), "delete jobs/q/at/"))) {
		pass(1000);
		script_confirm();
		cr_assert_not(store.n_open > 0 && strstr(asked(), "delete jobs/q/at/host-me"));
		if (store.n_open > 0 && !strstr(asked(), "delete jobs/q/at/"))
			script_answer(0, ok());
	}
	cr_assert_gt(store.n_open, 0);
	cr_expect(strstr(asked(), "delete jobs/q/at/away"), "%s", asked());
	queues_done(&queues);
}

Test(queue_lead, where_a_job_is_due_follows_from_its_name)
{
	struct queue_settings few = queue_settings;
	struct job_pointer p = {.minute = 30000007, .uuid = UUID};
	struct queue queue = {.settings = few};
	int64_t step;

	p.due_ms = (p.minute + 1440) * JOB_MINUTE_MS;
	cr_expect_eq(queue_due_first(&p, &step), p.minute + 1440);
	cr_expect_eq(step, 1);
	p.due_ms += 59 * JOB_MINUTE_MS; /* later ones share folders of half an hour */
	int64_t folder = queue_due_first(&p, &step);
	cr_expect_eq(step, 30);
	cr_expect_eq(folder % 30, 0);
	cr_expect(folder <= p.due_ms / JOB_MINUTE_MS && folder + 30 > p.due_ms / JOB_MINUTE_MS);
	queue.settings.max_queued = 8000;
	cr_expect_eq(queue_due_minute(&queue, &p), folder);
	queue.settings.max_queued = 50000;
	int64_t spread = queue_due_minute(&queue, &p);
	cr_expect(spread >= folder && spread < folder + 7 * 30 && (spread - folder) % 30 == 0);
}

/* Empty ones of minutes to come. */
static struct store_reply due_folders(size_t first, size_t n)
{
	static char texts[LEAD_NEAR_MAX + 1][JOB_MINUTE_SIZE], *list[LEAD_NEAR_MAX + 1];

	for (size_t i = 0; i < n; i++) {
		job_minute_format(id.minute + 100 + (int64_t)(first + i), texts[i]);
		list[i] = texts[i];
	}
	return (struct store_reply){.code = STORE_OK, .failed_op = -1, .names = list, .n_names = n};
}

/* Answers all that is asked for a while; whether that was among it. */
static bool is_asked_within(const char *text, int64_t ms)
{
	int64_t since = host.now_ms;
	bool found = false;

	while (host.now_ms < since + ms) {
		pass(100);
		script_confirm();
		for (; store.n_open > 0; script_confirm()) {
			found |= strcmp(asked(), text) == 0;
			script_answer(0, ok());
		}
	}
	return found;
}

/*
 * Folders far ahead get only watches that others leave: once among the next, a folder is listed
 * again.
 */
Test(queue_lead, a_folder_that_comes_among_the_next_is_listed_again)
{
	char text[64];

	lead_it();
	session.watches.limit = 0;
	answers("list! jobs/q/due", due_folders(0, LEAD_NEAR_MAX + 1));
	job_minute_format(id.minute + 100 + LEAD_NEAR_MAX, minute_name);
	snprintf(text, sizeof(text), "list jobs/q/due/%s", minute_name);
	cr_assert(is_asked_within(text, 3000));
	cr_expect_not(is_asked_within(text, 1000));
	fires(STORE_CHILDREN_CHANGED, "jobs/q/due");
	answers("list jobs/q/due", due_folders(1, LEAD_NEAR_MAX));
	cr_expect(is_asked_within(text, 1000));
	queues_done(&queues);
}

/* A folder that gets no watch is listed again by time. */
Test(queue_lead, a_folder_that_is_not_watched_is_listed_by_time)
{
	char text[64];

	lead_it();
	session.watches.limit = 0;
	answers("list! jobs/q/due", due_folders(0, 1));
	job_minute_format(id.minute + 100, minute_name);
	snprintf(text, sizeof(text), "list jobs/q/due/%s", minute_name);
	cr_assert(is_asked_within(text, 1000));
	cr_expect_eq(session.watches.n_looks, 1);
	cr_expect_not(is_asked_within(text, WATCH_LOOK_MS - 1500));
	cr_expect(is_asked_within(text, 3000));
	queues_done(&queues);
}

/* --- what goes ----------------------------------------------------------------------------------------- */

Test(queue_lead, what_has_ended_long_ago_is_deleted_with_its_key)
{
	char uuid[37];

	queue_settings.keep_ms = 60000;
	lead_it();
	job_minute_format(id.minute - 60, minute_name);
	id.minute -= 60;
	snprintf(uuid, sizeof(uuid), "%s", UUID);
	for (int i = 0; i < 30 && !(store.n_open > 0 && strcmp(asked(), "list jobs/q/job") == 0);
	     i++) {
		pass(1000);
		script_confirm();
		while (store.n_open > 0 && strcmp(asked(), "list jobs/q/job") != 0)
			script_answer(0, ok());
	}
	answers("list jobs/q/job", names(minute_name, NULL));
	answers("list jobs/q/job/", names(uuid, NULL));
	answers("get jobs/q/job/", job_of("ok", 1, 6));
	until("delete jobs/q/job/");
	cr_expect(strstr(asked(), "check workers/me, check jobs/q v4, delete jobs/q/job/"), "%s",
		  asked());
	cr_expect(strstr(asked(), " v6"), "%s", asked());
	queues_done(&queues);
}

/* --- what people ask ----------------------------------------------------------------------------------- */

static struct {
	size_t n;
	bool there;
	char state[16];
	int64_t queued, running, dead;
	size_t workers;
} viewed;

static void on_view(void *arg, const struct queue_view *view)
{
	(void)arg;
	viewed.n++;
	viewed.there = view != NULL;
	if (!view)
		return;
	snprintf(viewed.state, sizeof(viewed.state), "%s", view->state);
	viewed.queued = (int64_t)view->queued;
	viewed.running = (int64_t)view->running;
	viewed.dead = (int64_t)view->dead;
	viewed.workers = view->n_workers;
}

/* Looks at a queue with three jobs that wait, two that were given, and a dead letter. */
static void view(void)
{
	queues_view(&queues, "q", on_view, NULL);
	turn();
	answers("exists jobs/q/dead", of_stat((struct store_stat){.children = 1}));
	answers("exists jobs/q/open", ok());
	job_minute_format(id.minute, minute_name);
	answers("list jobs/q/due", names(minute_name, "zz.callback", NULL));
	answers("exists jobs/q/due/", of_stat((struct store_stat){.children = 3}));
	name_pointer(true, id.minute * JOB_MINUTE_MS);
	answers("list jobs/q/due/", names(pointer_name, NULL));
	answers("list jobs/q/at", names("host-me:%2Fs", NULL));
	/* Callbacks take no slot. */
	struct job_pointer p = job_pointer_to(&id, 0, true);
	char callback[JOB_POINTER_MAX + 1], other[JOB_POINTER_MAX + 1];
	job_pointer_format(&p, false, callback);
	name_pointer(false, 0);
	snprintf(other, sizeof(other), "%s", pointer_name);
	other[strlen(other) - 1] = '7';
	answers("list jobs/q/at/", names(pointer_name, callback, other, NULL));
}

Test(queue_lead, a_queue_is_viewed)
{
	lead_it();
	forget_open();
	view();
	cr_assert_eq(viewed.n, 1);
	cr_assert(viewed.there);
	cr_expect_str_eq(viewed.state, "active");
	cr_expect_eq(viewed.queued, 3);
	cr_expect_eq(viewed.running, 2);
	cr_expect_eq(viewed.dead, 1);
	cr_expect_eq(viewed.workers, 1);
	queues_done(&queues);
}

Test(queue_lead, unhealthy_workers_serve_nothing)
{
	lead_it();
	forget_open();
	struct member *m = fleet_find(&registry.fleet, "me");
	cr_assert(m);
	m->drained = true;
	view();
	cr_assert_eq(viewed.n, 1);
	cr_expect_str_eq(viewed.state, "unserved");
	queues_done(&queues);
}

Test(queue_lead, a_job_that_waits_is_cancelled)
{
	begin_node();
	forget_open();
	queues_cancel(&queues, &id, "user", on_told, NULL);
	turn();
	answers("get jobs/q/job/", job_of("queued", 0, 2));
	answers("exists jobs/q/due/", ok());
	until("set jobs/q/job/");
	cr_expect(strstr(asked(), " v2, delete jobs/q/due/"), "%s", asked());
	script_answer(0, failed(STORE_UNKNOWN)); /* was it done? */
	answers("get jobs/q/job/", job_of("cancelled", 0, 3));
	cr_expect_eq(told.n, 1);
	cr_expect_eq(told.outcome, JOB_DONE);
	queues_done(&queues);
}

Test(queue_lead, a_job_that_runs_is_marked)
{
	begin_node();
	forget_open();
	queues_cancel(&queues, &id, "user", on_told, NULL);
	turn();
	answers("get jobs/q/job/", job_of("running", 1, 2));
	for (int i = 0; i <= 7; i++)
		answers("exists jobs/q/due/", failed(STORE_NO_NODE));
	answers("list jobs/q/at", names("host-me:%2Fs", NULL));
	answers("get jobs/q/at/host-me", at_of(SESSION, 77));
	answers("set jobs/q/at/host-me", ok());
	cr_expect_eq(told.n, 1);
	cr_expect_eq(told.outcome, JOB_DONE);
	queues_done(&queues);
}

Test(queue_lead, what_has_ended_is_not_cancelled)
{
	begin_node();
	forget_open();
	queues_cancel(&queues, &id, "user", on_told, NULL);
	turn();
	answers("get jobs/q/job/", job_of("ok", 1, 2));
	cr_expect_eq(told.outcome, JOB_NOT_SO);
	queues_done(&queues);
}

Test(queue_lead, a_dead_letter_is_requeued)
{
	begin_node();
	forget_open();
	queues_requeue(&queues, &id, on_told, NULL);
	turn();
	answers("get jobs/q/job/", job_of("dead", 3, 9));
	until("set jobs/q/job/");
	cr_expect(strstr(asked(), " v9, delete jobs/q/dead/"), "%s", asked());
	cr_expect(strstr(asked(), "create jobs/q/due/"), "%s", asked());
	script_answer(0, failed(STORE_UNKNOWN)); /* was it done? */
	answers("get jobs/q/job/", job_of("queued", 3, 10));
	cr_expect_eq(told.n, 1);
	cr_expect_eq(told.outcome, JOB_DONE);
	queues_requeue(&queues, &id, on_told, NULL);
	turn();
	answers("get jobs/q/job/", job_of("ok", 4, 12));
	cr_expect_eq(told.outcome, JOB_NOT_SO);
	queues_done(&queues);
}

Test(queue_lead, dead_letters_are_purged)
{
	char name[JOB_NAME_MAX + 1];

	begin_node();
	forget_open();
	job_name_format(&id, name);
	queues_purge(&queues, "q", NULL, on_told, NULL);
	turn();
	answers("list jobs/q/dead", names(name, NULL));
	answers("get jobs/q/job/", job_of("lost", 1, 5));
	until("set jobs/q/job/");
	cr_expect(strstr(asked(), " v5, delete jobs/q/dead/"), "%s", asked());
	script_answer(0, ok());
	cr_expect_eq(told.n, 1);
	cr_expect_eq(told.outcome, JOB_DONE);
	cr_expect(told.jobs == 1 && !told.more);
	queues_done(&queues);
}

/* Purges the only dead letter, of that key, which is that job's. */
static void purge_with_key(const char *key_is_of)
{
	static char name[JOB_NAME_MAX + 1], data[2 * JOB_NAME_MAX];

	begin_node();
	forget_open();
	job_name_format(&id, name);
	key_of_job = "night";
	queues_purge(&queues, "q", NULL, on_told, NULL);
	turn();
	answers("list jobs/q/dead", names(name, NULL));
	answers("get jobs/q/job/", job_of("dead", 1, 5));
	snprintf(data, sizeof(data), "%s night", key_is_of ? key_is_of : name);
	answers("get jobs/q/key/", holds(data, strlen(data), (struct store_stat){.version = 3}));
	until("set jobs/q/job/");
}

/* A trace without payload is left, so that the id is known. */
Test(queue_lead, the_key_goes_with_a_job_that_is_purged)
{
	struct job_record trace;
	const char *why;

	purge_with_key(NULL);
	cr_expect(strstr(asked(), " v5, delete jobs/q/dead/"), "%s", asked());
	cr_expect(strstr(asked(), ", delete jobs/q/key/") && strstr(asked(), " v3"), "%s", asked());
	cr_assert_eq(record_parse_job(store.open[0].data, store.open[0].len, &trace, &why), 0);
	cr_expect(trace.purged && !trace.payload && !trace.key[0]);
	cr_expect_str_eq(trace.state, "cancelled", "to earlier releases it is one");
	cr_expect_gt(trace.ended, 5, "it is kept from now on");
	script_answer(0, failed(STORE_UNKNOWN)); /* was it done? */
	answers("get jobs/q/job/", job_of("purged", 1, 6));
	cr_expect(told.n == 1 && told.outcome == JOB_DONE);
	queues_done(&queues);
}

Test(queue_lead, a_key_that_another_job_has_stays)
{
	purge_with_key("abcde.fedcba98-89ab-cdef-0123-456789abcdef");
	cr_expect(strstr(asked(), " v5, delete jobs/q/dead/"), "%s", asked());
	cr_expect_not(strstr(asked(), "jobs/q/key/"), "%s", asked());
	queues_done(&queues);
}

Test(queue_lead, a_job_that_was_purged_is_not_there)
{
	begin_node();
	forget_open();
	queues_read(&queues, &id, 0, NULL, on_told, NULL);
	turn();
	answers("get jobs/q/job/", job_of("purged", 1, 5));
	cr_expect_eq(told.outcome, JOB_NOT_THERE);
	queues_cancel(&queues, &id, "user", on_told, NULL);
	turn();
	answers("get jobs/q/job/", job_of("purged", 1, 5));
	cr_expect_eq(told.outcome, JOB_NOT_THERE);
	queues_requeue(&queues, &id, on_told, NULL);
	turn();
	answers("get jobs/q/job/", job_of("purged", 1, 5));
	cr_expect_eq(told.outcome, JOB_NOT_THERE);
	cr_expect_eq(told.n, 3);
	queues_done(&queues);
}

/* As of one whose record has gone: the telling of its end goes as well. */
Test(queue_lead, what_was_given_of_a_job_that_was_purged_is_taken_away)
{
	give_to_who_lives(other_name, true);
	cr_expect_gt(taken_within(2000, "purged", 1), 0);
	cr_expect_not(strstr(asked(), "jobs/q/due/"), "%s", asked());
	cr_expect_not(strstr(asked(), "jobs/q/job/"), "%s", asked());
	queues_done(&queues);
}

/* --- the list of dead letters -------------------------------------------------------------------------- */

#define LETTERS 1200
#define PAGE	500

static char letters[LETTERS][JOB_NAME_MAX + 1]; /* in their order */
static char *letters_list[LETTERS];		/* as the server has them: in none */
static int64_t takes_ms;			/* from an answer to the next one */
static struct {
	size_t n, calls;
	struct job_id last;
} listed;

/* Expects n more jobs, in their order. */
static void on_listed(void *arg, const struct job_record *const *jobs, size_t n)
{
	const size_t *first = arg;
	char wanted[JOB_ID_MAX + 1];

	cr_assert(jobs);
	for (size_t i = 0; i < n; i++) {
		snprintf(wanted, sizeof(wanted), "q.%s", letters[*first + i]);
		cr_assert_str_eq(jobs[i]->id, wanted);
		cr_assert(job_id_parse(wanted, strlen(wanted), &listed.last));
	}
	listed.n = n;
	listed.calls++;
}

/* The newest question first. The oldest letters have gone since they were listed: so many. */
static void serve_letters(size_t gone)
{
	struct store_reply list = {.failed_op = -1, .names = letters_list, .n_names = LETTERS};

	while (store.n_open > 0) {
		size_t newest = store.n_open - 1, known = 0;
		const char *path = store.open[newest].path;

		if (strstr(path, "/jobs/q/dead")) {
			script_answer(newest, list);
		} else if (strstr(path, "/jobs/q/job/")) {
			const char *uuid = path + strlen(path) - strlen(UUID);

			while (!strstr(letters[known], uuid))
				known++;
			job_name_parse(letters[known], strlen(letters[known]), &id);
			script_answer(newest,
				      known < gone ? failed(STORE_NO_NODE) : job_of("dead", 1, 1));
		} else {
			script_answer(newest, ok());
		}
		pass(takes_ms);
		script_confirm();
	}
}

static void list_letters(const struct job_id *after, size_t first, size_t gone)
{
	listed.n = listed.calls = 0;
	queues_dead(&queues, "q", after, on_listed, &first);
	pass(0);
	script_confirm();
	serve_letters(gone);
	cr_assert_eq(listed.calls, 1);
}

/* Half of them of a minute whose number has a digit more. */
static void make_letters(void)
{
	for (size_t i = 0; i < LETTERS; i++) {
		struct job_id letter = {.minute = i < LETTERS / 2 ? 35 : 36};

		snprintf(letter.uuid, sizeof(letter.uuid), "%08zx-89ab-cdef-0123-456789abcdef", i);
		job_name_format(&letter, letters[i]);
	}
	for (size_t i = 0; i < LETTERS; i++)
		letters_list[i] = letters[i * 7 % LETTERS];
}

Test(queue_lead, dead_letters_are_listed_part_by_part)
{
	begin_node();
	forget_open();
	make_letters();
	list_letters(NULL, 0, 0);
	cr_expect_eq(listed.n, PAGE);
	list_letters(&listed.last, PAGE, 0);
	cr_expect_eq(listed.n, PAGE);
	list_letters(&listed.last, 2 * PAGE, 0);
	cr_expect_eq(listed.n, LETTERS - 2 * PAGE);
	list_letters(&listed.last, LETTERS, 0);
	cr_expect_eq(listed.n, 0);
	/* Those that have gone leave no gap in a part, so that an empty one is the end. */
	list_letters(NULL, PAGE + 10, PAGE + 10);
	cr_expect_eq(listed.n, PAGE);
	queues_done(&queues);
}

/* Clients wait 10 s for an answer. */
Test(queue_lead, of_many_dead_letters_some_are_purged_and_the_others_asked_for_again)
{
	struct job_id after;
	size_t done = 0, asks = 0;

	begin_node();
	forget_open();
	make_letters();
	takes_ms = 5;
	do {
		int64_t began_ms = host_now_ms(&host);

		told.n = 0;
		queues_purge(&queues, "q", asks++ > 0 ? &after : NULL, on_told, NULL);
		pass(0);
		script_confirm();
		serve_letters(0);
		cr_assert_eq(told.n, 1);
		cr_expect_eq(told.outcome, JOB_DONE);
		cr_expect(host_now_ms(&host) - began_ms < 4000);
		after = told.job;
		done += told.jobs;
	} while (told.more);
	cr_expect_eq(done, LETTERS);
	cr_expect(asks >= 3, "%zu", asks);
	queues_done(&queues);
}
