/* The limit of waiting jobs: rounds, their counts, and the blocks that are taken of them. */
#include "queue_site.h"

static unsigned n_done;

static void on_submitted(void *arg, const struct job_answer *a)
{
	on_told(arg, a);
	n_done += a->outcome == JOB_DONE;
}

/* Submits one of many jobs, each with an id of its own. */
static void submit(void)
{
	static unsigned n;
	struct job_id other = id;
	const struct job_submit s = {.id = &other, .payload = "bytes", .len = 5, .by = "user"};

	snprintf(other.uuid, sizeof(other.uuid), "%08x-89ab-cdef-0123-456789abcdef", ++n);
	memset(&told, 0, sizeof(told));
	queues_submit(&queues, &s, on_submitted, NULL);
	turn();
}

static void begin(void)
{
	begin_node();
	serve(0);
	forget_open();
	n_done = 0;
}

/* Answers the reads of the room. */
static void finds(const char *open, int32_t open_version, const char *due, int32_t due_version)
{
	asks_of("get jobs/q/open",
		open ? holds(open, strlen(open), (struct store_stat){.version = open_version})
		     : failed(STORE_NO_NODE));
	asks_of("get jobs/q/due",
		holds(due, strlen(due), (struct store_stat){.version = due_version}));
}

/* Whether the last request wrote that text. */
static bool wrote(const char *text)
{
	return store.last.last_len == strlen(text) &&
	       memcmp(store.last.last_data, text, strlen(text)) == 0;
}

/* Answers the count: n jobs wait, in two folders. */
static void counts(unsigned n)
{
	asks_of("list jobs/q/due", names("aaaaa", "no minute", "bbbbb", NULL));
	asks_of("exists jobs/q/due/aaaaa",
		of_stat((struct store_stat){.children = (int32_t)n - 3}));
	asks_of("exists jobs/q/due/bbbbb", of_stat((struct store_stat){.children = 3}));
}

TestSuite(queue_room, .init = begin);

/* Submits a job with a delay, where the clock of jobs may be wrong by error_ms. */
static void submit_in(int64_t in_ms, int64_t error_ms)
{
	const struct job_submit s = {
		.id = &id, .payload = "", .len = 0, .by = "user", .in_ms = in_ms};
	struct clocks *c = &registry.clocks;

	c->jobs_known = true;
	c->jobs_base_ms = host_wall_ms(&host) - host.now_ms;
	c->jobs_error_ms = error_ms;
	c->skew.known = false;
	queues_submit(&queues, &s, on_submitted, NULL);
	turn();
}

/* When the job that was asked for is due, by its record. */
static int64_t due_of(int64_t in_ms, int64_t error_ms)
{
	struct job_record j;
	const char *why;

	submit_in(in_ms, error_ms);
	finds("100", 0, "", 0);
	until("check jobs/q/open");
	for (size_t i = 0; i < store.n_open; i++)
		if (record_parse_job(store.open[i].data, store.open[i].len, &j, &why) == 0)
			return j.due - host_wall_ms(&host);
	return -1;
}

Test(queue_room, a_delay_counts_from_the_latest_that_it_may_be)
{
	cr_expect_eq(due_of(5000, 300), 5300);
}

/* The server's clock differs from ours, and the others have not been heard. */
Test(queue_room, a_delay_waits_until_a_clock_can_be_believed)
{
	registry.clocks.jobs_doubted = true;
	submit_in(5000, 0);
	pass(10000);
	cr_expect_eq(store.n_open, 0);
	registry.clocks.jobs_doubted = false;
	pass(1000);
	finds("100", 0, "", 0);
	until("check jobs/q/open");
}

Test(queue_room, without_a_delay_it_does_not_wait_for_that)
{
	registry.clocks.jobs_doubted = true;
	cr_expect_eq(due_of(0, 0), 0);
}

Test(queue_room, what_is_due_at_once_is_not_delayed)
{
	cr_expect_eq(due_of(0, 300), 0);
}

Test(queue_room, the_first_submit_counts_what_waits)
{
	queue_find(&queues, "q")->settings.max_queued = 100;
	submit();
	finds("", 0, "", 0);
	asks_of("set jobs/q/due v0", ok());
	cr_expect(wrote("counting"));
	counts(20);
	asks_of("set jobs/q/due v1, set jobs/q/open", ok());
	cr_expect(wrote("70"), "80 are left, of which 10 are taken: %.*s", (int)store.last.last_len,
		  store.last.last_data);
	asks_of("check jobs/q/open, check jobs/q/due v2, create jobs/q/job/", ok());
	cr_expect_eq(n_done, 1);
	for (unsigned i = 0; i < 9; i++) {
		submit();
		asks_of("check jobs/q/open, check jobs/q/due v2, create jobs/q/job/", ok());
	}
	cr_expect_eq(n_done, 10);
	submit();
	asks_of("get jobs/q/open", holds("70", 2, (struct store_stat){.version = 5}));
	queues_done(&queues);
}

Test(queue_room, a_part_of_what_is_left_is_taken)
{
	submit();
	submit();
	finds("16", 7, "", 4);
	asks_of("check jobs/q/due v4, set jobs/q/open v7", failed_at(STORE_BAD_VERSION, 1));
	finds("9", 8, "", 4);
	asks_of("check jobs/q/due v4, set jobs/q/open v8", ok());
	cr_expect(wrote("7"));
	asks_of("check jobs/q/due v4, create", ok());
	asks_of("check jobs/q/due v4, create", ok());
	cr_expect_eq(n_done, 2);
	queues_done(&queues);
}

Test(queue_room, what_is_full_takes_nothing)
{
	queue_find(&queues, "q")->settings.max_queued = 10;
	submit();
	finds("0", 3, "", 4);
	asks_of("set jobs/q/due v4", ok());
	counts(10);
	asks_of("set jobs/q/due v5, set jobs/q/open", ok());
	asks_of("check jobs/q/job", failed_at(STORE_NO_NODE, 0));
	cr_expect_eq(told.outcome, JOB_NOT_NOW);
	cr_expect_str_eq(told.why, "the queue is full");
	submit();
	asks_of("check jobs/q/job", failed_at(STORE_NO_NODE, 0)); /* not counted again so soon */
	cr_expect_eq(told.outcome, JOB_NOT_NOW);
	pass(200);
	submit();
	finds("0", 3, "", 6);
	asks_of("set jobs/q/due v6", ok());
	counts(9);
	asks_of("set jobs/q/due v7, set jobs/q/open", ok());
	asks_of("check jobs/q/due v8, create", ok());
	cr_expect_eq(n_done, 1);
	queues_done(&queues);
}

Test(queue_room, no_block_outlives_its_round)
{
	queue_find(&queues, "q")->room.left = 3;
	submit();
	asks_of("check jobs/q/due v4, create", failed_at(STORE_BAD_VERSION, 1));
	finds("80", 3, "", 6);
	asks_of("check jobs/q/due v6, set jobs/q/open v3", ok());
	asks_of("check jobs/q/due v6, create", ok());
	cr_expect_eq(n_done, 1);
	cr_expect_eq(queue_find(&queues, "q")->room.left, 9);
	queues_done(&queues);
}

/* Its place is not lost: but where the answer was, it may have been used. */
Test(queue_room, what_is_not_made_gives_its_place_back)
{
	struct queue *queue = queue_find(&queues, "q");

	queue->room.left = 3;
	submit();
	asks_of("check jobs/q/due v4, create", failed_at(STORE_NODE_EXISTS, 2));
	cr_expect_eq(queue->room.left, 3);
	submit();
	asks_of("check jobs/q/due v4, create", failed(STORE_UNKNOWN));
	cr_expect_eq(queue->room.left, 2);
	queues_done(&queues);
}

/* A node that counts is waited for, but not for ever: it may have died. */
Test(queue_room, another_node_counts)
{
	submit();
	finds("0", 3, "counting", 5);
	for (unsigned i = 0; i < 58; i++) {
		pass(50);
		finds("0", 3, "counting", 5);
	}
	pass(150);
	finds("0", 3, "counting", 5);
	asks_of("set jobs/q/due v5", failed_at(STORE_BAD_VERSION, 0)); /* nor did it, by now */
	finds("8", 4, "", 6);
	asks_of("check jobs/q/due v6, set jobs/q/open v4", ok());
	asks_of("check jobs/q/due v6, create", ok());
	cr_expect_eq(n_done, 1);
	queues_done(&queues);
}

/* Another node has taken the count over: what was counted here is worth nothing. */
Test(queue_room, a_count_that_is_late)
{
	submit();
	finds("", 0, "", 0);
	asks_of("set jobs/q/due v0", ok());
	counts(20);
	asks_of("set jobs/q/due v1, set jobs/q/open", failed_at(STORE_BAD_VERSION, 0));
	finds("", 0, "counting", 2);
	cr_expect_eq(store.n_open, 0);
	cr_expect_eq(told.n, 0);
	queues_done(&queues);
}

Test(queue_room, the_leader_closes_the_queue_meanwhile)
{
	submit();
	finds("", 0, "", 0);
	asks_of("set jobs/q/due v0", ok());
	counts(20);
	asks_of("set jobs/q/due v1, set jobs/q/open", failed_at(STORE_NO_NODE, 1));
	asks_of("set jobs/q/due v1", ok()); /* nobody waits for the end of this count */
	asks_of("get jobs/q", holds("41", 2, (struct store_stat){.version = 3}));
	asks_of("check jobs/q/job", failed_at(STORE_NO_NODE, 0));
	cr_expect_str_eq(told.why, "the queue is full");
	queues_done(&queues);
}

Test(queue_room, a_queue_that_is_not_open)
{
	submit();
	finds(NULL, 0, "", 0);
	asks_of("get jobs/q", holds("41", 2, (struct store_stat){.version = 3}));
	asks_of("check jobs/q/job", failed_at(STORE_NO_NODE, 0));
	cr_expect_str_eq(told.why, "the queue is full");
	queues_done(&queues);
}

Test(queue_room, what_the_servers_refuse_is_told)
{
	submit();
	finds("", 0, "", 0);
	asks_of("set jobs/q/due v0", failed_at(STORE_FULL, 0));
	asks_of("check jobs/q/job", failed_at(STORE_NO_NODE, 0));
	cr_expect_eq(told.outcome, JOB_NOT_NOW);
	cr_expect(strstr(told.why, "quota"), "%s", told.why);
	pass(1000);
	submit();
	finds("", 0, "", 0);
	asks_of("set jobs/q/due v0", failed_at(STORE_NO_AUTH, 0));
	cr_expect_eq(told.outcome, JOB_NO_SESSION);
	queues_done(&queues);
}

Test(queue_room, a_lost_answer_is_read_again)
{
	submit();
	finds("", 0, "", 0);
	asks_of("set jobs/q/due v0", ok());
	asks_of("list jobs/q/due", names("aaaaa", NULL));
	asks_of("exists jobs/q/due/aaaaa", failed(STORE_UNKNOWN));
	pass(50);
	finds("", 0, "counting", 1);
	pass(3000);
	while (store.n_open > 0 && strstr(store.open[0].text, "get jobs/q/"))
		finds("", 0, "counting", 1);
	asks_of("set jobs/q/due v1", ok());
	queues_done(&queues);
}

/* A text that a hand has written there counts as nothing. */
Test(queue_room, what_is_no_number_is_counted_anew)
{
	static const char *const odd[] = {"-1", "seven", "50001", "99999999999999999999"};

	for (size_t i = 0; i < sizeof(odd) / sizeof(odd[0]); i++) {
		submit();
		finds(odd[i], 0, "", 0);
		asks_of("set jobs/q/due v0", failed_at(STORE_NO_AUTH, 0));
		pass(1000);
	}
	queues_done(&queues);
}
