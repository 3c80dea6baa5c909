/* Assignment of jobs that are due: to whom, how many, and what follows from each answer. */
#include "queue_site.h"

#include "node/tree/paths.h"
#include "node/queue/lead/queue_lead.h"

#define CHECKS "check workers/me, check jobs/q v4"

static char pointers[40][JOB_POINTER_MAX + 1], *pointer_list[40], minute_name[JOB_MINUTE_SIZE + 10];

/* A worker that does jobs of the queue. */
static struct member *serves(const char *name, const char *version, unsigned slots)
{
	struct member *m = joins(name, version, 1);

	m->worker->queues = mem_calloc(1, sizeof(*m->worker->queues));
	m->worker->n_queues = 1;
	snprintf(m->worker->queues[0].queue, sizeof(m->worker->queues[0].queue), "q");
	m->worker->queues[0].slots = slots;
	return m;
}

static const char *asked(void)
{
	return store.open[0].text;
}

static size_t count_of(const char *text, const char *part)
{
	size_t n = 0;

	for (; (text = strstr(text, part)); text++)
		n++;
	return n;
}

/* We lead the queue, and have no slots ourselves. */
static void lead_it(void)
{
	lead_queue();
	fleet_find(&registry.fleet, "me")->worker->queues[0].slots = 0;
	until("get jobs/q");
	script_answer(0, holds("40", 2, (struct store_stat){.version = 3}));
	until("set jobs/q v3");
	script_answer(0, ok());
}

/* Lists n jobs as due, of which none is given to anybody. */
static void are_due(size_t n, bool callbacks)
{
	for (size_t i = 0; i < n; i++) {
		struct job_id one = id;
		struct job_pointer p;

		snprintf(one.uuid, sizeof(one.uuid), "%08x-89ab-cdef-0123-456789abcdef",
			 (unsigned)i);
		p = job_pointer_to(&one, id.minute * JOB_MINUTE_MS, callbacks);
		job_pointer_format(&p, true, pointers[i]);
		pointer_list[i] = pointers[i];
	}
	until("list! jobs/q/due");
	job_minute_format(id.minute, minute_name);
	if (callbacks)
		strcat(minute_name, ".callback");
	script_answer(0, names(minute_name, NULL));
	until("list! jobs/q/due/");
	cr_assert_eq(strstr(asked(), ".callback") != NULL, callbacks, "%s", asked());
	script_answer(
		0, (struct store_reply){
			   .code = STORE_OK, .failed_op = -1, .names = pointer_list, .n_names = n});
}

static struct {
	char worker, name[JOB_POINTER_MAX + 1];
} given[60];
static size_t n_given;

/* The transaction that gives something is made. */
static void is_given(void)
{
	static const char part[] = "create jobs/q/at/host-";
	const char *at = asked();

	while ((at = strstr(at, part))) {
		at += strlen(part);
		given[n_given].worker = *at;
		at = strchr(at, '/') + 1;
		snprintf(given[n_given].name, sizeof(given[0].name), "%.*s", (int)strcspn(at, ","),
			 at);
		n_given++;
	}
	script_answer(0, ok());
}

/* The jobs that were given to that worker. */
static struct store_reply given_to_worker(char worker)
{
	static char *list[60];
	struct store_reply reply = ok();

	reply.names = list;
	for (size_t i = 0; i < n_given; i++)
		if (given[i].worker == worker)
			list[reply.n_names++] = given[i].name;
	return reply;
}

/* A list of what is due whose answer is not here yet. */
static bool is_slow(const char *text)
{
	return strncmp(text, "list! jobs/q/due", 16) == 0 ||
	       strncmp(text, "exists jobs/q/due", 17) == 0;
}

/* The oldest of the other requests; n_open: none. */
static size_t oldest(void)
{
	size_t i = 0;

	script_confirm();
	while (i < store.n_open && is_slow(store.open[i].text))
		i++;
	return i;
}

/* The next transaction that gives something, as the oldest request; false: none within this time. */
static bool gives_within(int64_t ms)
{
	int64_t end = host.now_ms + ms;
	size_t i;

	for (pass(0);; pass(10)) {
		while ((i = oldest()) < store.n_open) {
			struct script_request r = store.open[i];
			if (strncmp(r.text, CHECKS, strlen(CHECKS)) != 0 ||
			    !strstr(r.text, "create jobs/q/at/")) {
				bool lists = strncmp(r.text, "list! jobs/q/at/host-", 21) == 0;
				script_answer(i, lists ? given_to_worker(r.text[21]) : ok());
				continue;
			}
			memmove(store.open + 1, store.open, i * sizeof(r));
			store.open[0] = r;
			return true;
		}
		if (host.now_ms >= end)
			return false;
	}
}

/* --- to whom --------------------------------------------------------------------------------------------- */

Test(queue_assign, what_is_due_is_given_in_one_transaction_that_checks_the_worker)
{
	lead_it();
	serves("b", "1.0", 2);
	are_due(2, false);
	cr_assert(gives_within(1000));
	cr_expect(strstr(asked(), CHECKS ", check workers/b, delete jobs/q/due/") == asked(), "%s",
		  asked());
	cr_expect_eq(count_of(asked(), "check workers/b"), 1);
	cr_expect_eq(count_of(asked(), "delete jobs/q/due/"), 2);
	cr_expect_eq(count_of(asked(), "create jobs/q/at/host-b:%2Fs/"), 2);
	struct at_record a;
	const char *why;
	cr_assert_eq(record_parse_at(store.open[0].data, store.open[0].len, &a, &why), 0);
	cr_expect_eq(a.session, 'b');
	cr_expect_str_eq(a.worker, "b");
	queues_done(&queues);
}

/* The clock of jobs shows a time that is known to half a second. */
static void answers_are_slow(int64_t shown_ms)
{
	struct clocks *c = &registry.clocks;

	c->jobs_known = true;
	c->jobs_base_ms = shown_ms - host.now_ms;
	c->jobs_error_ms = 500;
	c->skew.known = false; /* nothing else is measured */
}

Test(queue_assign, nothing_is_given_before_its_time_has_passed_for_certain)
{
	lead_it();
	serves("b", "1.0", 1);
	answers_are_slow(id.minute * JOB_MINUTE_MS + 100);
	are_due(1, false);
	cr_expect_not(gives_within(350));
	cr_expect(gives_within(100));
	queues_done(&queues);
}

Test(queue_assign, a_worker_gets_as_many_as_it_has_slots)
{
	lead_it();
	serves("b", "1.0", 1);
	serves("c", "1.0", 2);
	are_due(5, false);
	cr_assert(gives_within(1000));
	cr_expect_eq(count_of(asked(), "create jobs/q/at/host-b"), 1);
	cr_expect_eq(count_of(asked(), "create jobs/q/at/host-c"), 2);
	is_given();
	cr_expect_not(gives_within(500), "they are given, and have not ended");
	queues_done(&queues);
}

/* Workers take turns even if jobs come one at a time. */
Test(queue_assign, a_turn_is_over_only_by_a_job)
{
	queue_settings.assign = QUEUE_ASSIGN_ROUND_ROBIN;
	lead_it();
	serves("b", "1.0", 1);
	serves("c", "1.0", 1);
	serves("d", "1.0", 1);
	are_due(1, false);
	cr_assert(gives_within(1000));
	cr_expect(strstr(asked(), "create jobs/q/at/host-c"), "%s", asked());
	is_given();
	for (int i = 0; i < 5; i++) {
		queues_changed(&queues);
		cr_expect_not(gives_within(100));
	}
	cr_expect_eq(queue_find(&queues, "q")->lead->assigns.cursor, 1, "d is next");
	queues_done(&queues);
}

Test(queue_assign, workers_of_the_newest_version_alone_get_some)
{
	lead_it();
	serves("b", "1.0", 9);
	serves("c", "2.0", 1);
	serves("d", "1.5", 9);
	are_due(3, false);
	cr_assert(gives_within(1000));
	cr_expect_eq(count_of(asked(), "create jobs/q/at/"), 1);
	cr_expect_eq(count_of(asked(), "create jobs/q/at/host-c"), 1);
	queues_done(&queues);
}

Test(queue_assign, whom_nothing_may_be_given_gets_none)
{
	lead_it();
	serves("b", "2.0", 9)->drained = true;
	serves("c", "1.0", 1);
	are_due(3, false);
	cr_assert(gives_within(1000));
	cr_expect_eq(count_of(asked(), "create jobs/q/at/"), 1);
	cr_expect_eq(count_of(asked(), "create jobs/q/at/host-c"), 1);
	queues_done(&queues);
}

/* A sidecar that was started again: the record of the one before it may be there still. */
static void two_of_one_node(int64_t b_started, int64_t c_started, const char *wanted)
{
	lead_it();
	struct member *b = serves("b", "1.0", 1), *c = serves("c", "1.0", 1);
	snprintf(b->worker->node, sizeof(b->worker->node), "%s", c->worker->node);
	b->worker->started_at = b_started;
	c->worker->started_at = c_started;
	are_due(3, false);
	cr_assert(gives_within(1000));
	cr_expect_eq(count_of(asked(), "create jobs/q/at/"), 1);
	cr_expect_eq(count_of(asked(), wanted), 1, "%s", asked());
	queues_done(&queues);
}

Test(queue_assign, of_two_of_one_node_that_started_later_gets_some)
{
	two_of_one_node(9, 5, "check workers/b");
}

Test(queue_assign, whatever_their_order)
{
	two_of_one_node(5, 9, "check workers/c");
}

Test(queue_assign, or_that_came_later)
{
	two_of_one_node(5, 5, "check workers/c");
}

/* --- how many -------------------------------------------------------------------------------------------- */

Test(queue_assign, not_more_than_go_into_a_transaction_and_the_next_counts_them)
{
	lead_it();
	serves("b", "1.0", 30);
	are_due(40, false);
	cr_assert(gives_within(1000));
	cr_expect_eq(count_of(asked(), "create jobs/q/at/"), LEAD_BATCH);
	struct script_request first = store.open[0];
	memmove(store.open, store.open + 1, --store.n_open * sizeof(store.open[0]));
	cr_assert(gives_within(1000));
	cr_expect_eq(count_of(asked(), "create jobs/q/at/"), 30 - LEAD_BATCH);
	cr_expect_not(strstr(first.text, strstr(asked(), "delete")));
	queues_done(&queues);
}

Test(queue_assign, not_more_than_may_run_at_a_time)
{
	queue_settings.concurrency = 3;
	lead_it();
	serves("b", "1.0", 9);
	are_due(5, false);
	cr_assert(gives_within(1000));
	cr_expect_eq(count_of(asked(), "create jobs/q/at/"), 3);
	is_given();
	cr_expect_not(gives_within(500));
	queues_done(&queues);
}

/* --- the answer ------------------------------------------------------------------------------------------ */

/* Two are given: operations 2 checks the worker, 3 and 4 are of the first, 5 and 6 of the second. */
static void give_two(void)
{
	lead_it();
	serves("b", "1.0", 9);
	are_due(2, false);
	cr_assert(gives_within(1000));
}

/* Fails an operation of the transaction; then so many are given soon, and no more for a second. */
static void two_but(enum store_code code, int op, int64_t soon_ms, size_t soon)
{
	give_two();
	script_answer(0, failed_at(code, op));
	if (soon > 0) {
		cr_assert(gives_within(soon_ms));
		cr_expect_eq(count_of(asked(), "create jobs/q/at/"), soon);
		is_given();
	}
	cr_expect_not(gives_within(QUEUE_AGAIN_MS - soon_ms - 50));
	queues_done(&queues);
}

Test(queue_assign, what_was_given_is_not_given_again)
{
	give_two();
	is_given();
	cr_expect_not(gives_within(3000));
	queues_done(&queues);
}

/* As is about to be heard: not at once. */
Test(queue_assign, a_worker_that_has_gone_gets_nothing_for_a_moment)
{
	give_two();
	script_answer(0, failed_at(STORE_NO_NODE, 2));
	cr_expect_not(gives_within(QUEUE_AGAIN_MS / 5 - 10));
	cr_assert(gives_within(100));
	cr_expect_eq(count_of(asked(), "create jobs/q/at/"), 2);
	queues_done(&queues);
}

Test(queue_assign, the_first_that_was_cancelled_is_forgotten)
{
	two_but(STORE_NO_NODE, 3, 100, 1);
}

Test(queue_assign, the_second_that_was_cancelled_is_forgotten)
{
	two_but(STORE_NO_NODE, 5, 100, 1);
}

Test(queue_assign, one_that_is_there_by_a_hand_is_not_given_soon)
{
	two_but(STORE_NODE_EXISTS, 4, 100, 1);
}

Test(queue_assign, a_folder_that_is_missing_is_made_and_both_are_given)
{
	bool made = false;

	give_two();
	script_answer(0, failed_at(STORE_NO_NODE, 6));
	pass(0);
	for (script_confirm(); store.n_open > 0; script_confirm()) {
		if (strstr(asked(), "delete jobs/q/due/"))
			break;
		made |= strcmp(asked(), "create jobs/q/at/host-b:%2Fs") == 0;
		script_answer(0, ok());
	}
	cr_expect(made);
	cr_assert(gives_within(100));
	cr_expect_eq(count_of(asked(), "create jobs/q/at/"), 2);
	queues_done(&queues);
}

/* Another leads, or an answer was lost: all is read again before anything is given. */
Test(queue_assign, behind_a_lost_answer_all_is_read_again)
{
	static const struct store_reply cases[] = {{.code = STORE_UNKNOWN, .failed_op = -1},
						   {.code = STORE_BAD_VERSION, .failed_op = 1}};

	give_two();
	for (size_t i = 0; i < 2; i++) {
		script_answer(0, cases[i]);
		until("get jobs/q");
		script_answer(0, holds("40", 2, (struct store_stat){.version = 3}));
		until("set jobs/q v3");
		script_answer(0, ok());
		are_due(2, false);
		cr_assert(gives_within(2000));
		cr_expect_eq(count_of(asked(), "create jobs/q/at/"), 2);
	}
	queues_done(&queues);
}

/* --- callbacks ------------------------------------------------------------------------------------------- */

static struct store_reply tried(int64_t attempt)
{
	static struct buffer data;
	struct at_record a = {.worker = "none", .attempt = attempt};

	buffer_done(&data);
	buffer_init(&data, RECORD_AT_MAX);
	cr_assert_eq(record_pack_at(&data, &a), 0);
	return holds(data.data, data.len, (struct store_stat){0});
}

/* Its node in `due` counts them. */
static void give_callback(struct store_reply reply, int64_t attempt)
{
	struct at_record a;
	const char *why;

	lead_it();
	serves("b", "1.0", 9);
	are_due(1, true);
	until("get jobs/q/due/");
	script_answer(0, reply);
	cr_assert(gives_within(1000));
	cr_assert_eq(record_parse_at(store.open[0].data, store.open[0].len, &a, &why), 0);
	cr_expect_eq(a.attempt, attempt);
	queues_done(&queues);
}

Test(queue_assign, a_callback_is_given_with_how_often_it_was_tried)
{
	give_callback(tried(4), 4);
}

Test(queue_assign, a_callback_that_does_not_say_was_not_tried)
{
	give_callback(ok(), 0);
}

Test(queue_assign, a_callback_that_has_gone_is_not_given)
{
	lead_it();
	serves("b", "1.0", 9);
	are_due(1, true);
	until("get jobs/q/due/");
	script_answer(0, failed(STORE_NO_NODE));
	cr_expect_not(gives_within(3000));
	queues_done(&queues);
}

Test(queue_assign, callbacks_do_not_count_as_jobs_that_run)
{
	queue_settings.concurrency = 1;
	lead_it();
	serves("b", "1.0", 9);
	are_due(3, true);
	for (int i = 0; i < 3; i++) {
		until("get jobs/q/due/");
		script_answer(0, tried(1));
	}
	size_t n = 0;
	for (; gives_within(500); is_given())
		n += count_of(asked(), "create jobs/q/at/");
	cr_expect_eq(n, 3);
	queues_done(&queues);
}

static void a_job_comes(void)
{
	char job[JOB_POINTER_MAX + 1], minute[JOB_MINUTE_SIZE];
	struct job_pointer p = job_pointer_to(&id, id.minute * JOB_MINUTE_MS, false);
	bool listed = false;

	job_pointer_format(&p, true, job);
	job_minute_format(id.minute, minute);
	for (int i = 0; i < 100 && !listed; i++, pass(10)) {
		if (store.n_open == 0)
			continue;
		const char *text = store.open[0].text;
		bool due = strncmp(text, "list! jobs/q/due", 16) == 0;
		listed = due && text[16] == '/' && !strstr(text, ".callback");
		script_answer(0, listed		    ? names(job, NULL)
				 : due && !text[16] ? names(minute, NULL)
						    : ok());
	}
	cr_assert(listed);
}

/* A receiver that hangs holds up as many, and neither a job nor a submit. */
Test(queue_assign, callbacks_have_slots_of_their_own_and_fill_no_queue)
{
	char path[STORE_PATH_MAX];

	queue_settings.max_queued = 10;
	lead_it();
	serves("b", "1.0", 1);
	are_due(20, true);
	for (int i = 0; i < 20; i++) {
		until("get jobs/q/due/");
		script_answer(0, tried(1));
	}
	size_t n = 0;
	for (; gives_within(500); is_given()) {
		n += count_of(asked(), "create jobs/q/at/");
		cr_assert(strstr(asked(), ".callback/"), "from their own folder: %s", asked());
	}
	cr_expect_eq(n, QUEUE_CALLBACKS);
	cr_expect_eq(due_count(queues.list[0]->lead), 0);
	cr_expect_eq(queues.list[0]->lead->tidy.open, 1);
	/* A job comes, and its slot is free. */
	path_of_queue(queue_paths(queues.list[0]), "q", "due", NULL, path);
	queues_watch(&queues, STORE_CHILDREN_CHANGED, path);
	a_job_comes();
	cr_assert(gives_within(1000));
	cr_expect_eq(count_of(asked(), "create jobs/q/at/"), 1);
	cr_expect(!strstr(asked(), ".callback"), "%s", asked());
	queues_done(&queues);
}
