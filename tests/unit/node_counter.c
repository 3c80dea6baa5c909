/* Additions, one after the other, with every answer that ZooKeeper may give. */
#include "recipe_world.h"

#include "node/recipes/counter/counter.h"
#include "wire/records/recipe_record.h"

static struct counters counters;
static struct counter_answer told[8];
static size_t n_told;
static struct counter_record record;

static void on_answer(void *arg, const struct counter_answer *answer)
{
	(void)arg;
	told[n_told++] = *answer;
}

static void begin(void)
{
	world_begin();
	counters_init(&counters, &world_session, &world_registry);
}

static void add(int64_t delta)
{
	counters_add(&counters, "c", true, delta, on_answer, NULL);
}

/* The counter is read as what `record` is. */
static void is_read(int32_t version)
{
	struct buffer b;

	cr_assert_eq(world_request()->kind, WORLD_GET);
	cr_assert_str_eq(world_request()->path, "/r/counters/c");
	buffer_init(&b, RECORD_COUNTER_MAX);
	cr_assert_eq(record_pack_counter(&b, &record), 0);
	world_answer(&(struct store_reply){.code = STORE_OK,
					   .data = b.data,
					   .len = b.len,
					   .failed_op = -1,
					   .stat = {.version = version}});
	buffer_done(&b);
}

/* Expects the request, and reads `record` from it. */
static void is_sent(enum store_op_type type, int32_t version, int64_t value)
{
	const struct world_request *r = world_request();
	const char *why;

	cr_assert(r && r->kind == WORLD_MULTI);
	cr_assert_eq(r->n_ops, 2);
	cr_assert_eq(r->ops[0].type, STORE_OP_CHECK);
	cr_assert_str_eq(r->ops[0].path, "/r/workers/w");
	cr_assert_eq(r->ops[1].type, type);
	cr_assert_eq(r->ops[1].version, version);
	cr_assert_eq(record_parse_counter(r->data, r->len, &record, &why), 0);
	cr_assert_eq(record.value, value);
}

static void is_told(size_t n, enum counter_outcome outcome, int64_t value)
{
	cr_assert_eq(n_told, n);
	cr_assert_eq(told[n - 1].outcome, outcome);
	cr_assert(outcome != COUNTER_DONE || told[n - 1].value == value);
	cr_assert((told[n - 1].why == NULL) == (outcome == COUNTER_DONE));
}

/* The first one makes the counter, and the folder before it. */
Test(counter, the_first_makes_it)
{
	begin();
	add(5);
	world_answer_code(STORE_NO_NODE, -1);
	is_sent(STORE_OP_CREATE, -1, 5);
	world_answer_code(STORE_NO_NODE, 1);
	cr_assert_eq(world_request()->kind, WORLD_CREATE);
	cr_assert_str_eq(world_request()->path, "/r/counters");
	world_answer_code(STORE_OK, -1);
	world_answer_code(STORE_NO_NODE, -1);
	is_sent(STORE_OP_CREATE, -1, 5);
	world_answer_code(STORE_OK, -1);
	is_told(1, COUNTER_DONE, 5);
	cr_assert_null(world_request());
	counters_done(&counters);
}

/* Somebody was quicker: once more on what it is then; and the next one waits for its turn. */
Test(counter, one_at_a_time_under_a_version)
{
	begin();
	record.value = 10;
	add(1);
	add(2);
	is_read(3);
	cr_assert_eq(world_n - world_next, 1, "the second waits");
	is_sent(STORE_OP_SET, 3, 11);
	world_answer_code(STORE_BAD_VERSION, 1);
	record = (struct counter_record){.value = 20};
	is_read(4);
	is_sent(STORE_OP_SET, 4, 21);
	world_answer_code(STORE_OK, -1);
	is_told(1, COUNTER_DONE, 21);
	is_read(5);
	is_sent(STORE_OP_SET, 5, 23);
	cr_assert_eq(record.n, 1, "a node is there once");
	world_answer_code(STORE_OK, -1);
	is_told(2, COUNTER_DONE, 23);
	counters_done(&counters);
}

/* The answer was lost. Ours is there: it was made, and has the value that it made. */
Test(counter, a_lost_answer_is_found)
{
	begin();
	add(5);
	world_answer_code(STORE_NO_NODE, -1);
	is_sent(STORE_OP_CREATE, -1, 5);
	world_answer_code(STORE_UNKNOWN, -1);
	cr_assert_eq(n_told, 0);
	cr_assert_null(world_request());
	counters_up(&counters);
	record.value = 105; /* somebody has added since */
	is_read(1);
	is_told(1, COUNTER_DONE, 5);
	counters_done(&counters);
}

/* The addition is not there. It is made again under its number, and so cannot be made twice. */
Test(counter, a_lost_request_is_made_again)
{
	begin();
	record.value = 1;
	add(5);
	is_read(7);
	is_sent(STORE_OP_SET, 7, 6);
	int64_t number = record.last[0].op;
	world_answer_code(STORE_UNKNOWN, -1);
	counters_up(&counters);
	record = (struct counter_record){.value = 1};
	is_read(7);
	is_sent(STORE_OP_SET, 7, 6);
	cr_assert_eq(record.last[0].op, number);
	world_answer_code(STORE_OK, -1);
	is_told(1, COUNTER_DONE, 6);
	counters_done(&counters);
}

/* A lost answer, and so many others behind it that the counter may have forgotten; or another counter. */
Test(counter, what_cannot_be_found_out_is_unknown)
{
	static const int32_t versions[] = {7 + COUNTER_NODES_MAX, 6};

	begin();
	for (size_t i = 0; i < 2; i++) {
		record = (struct counter_record){.value = 1};
		add(5);
		is_read(7);
		is_sent(STORE_OP_SET, 7, 6);
		world_answer_code(STORE_UNKNOWN, -1);
		counters_up(&counters);
		record = (struct counter_record){.value = 1};
		is_read(versions[i]);
		is_told(i + 1, COUNTER_UNKNOWN, 0);
	}
	counters_done(&counters);
}

/* An unknown outcome is told up to the last version at which it can be. */
Test(counter, what_is_refuted_is_made)
{
	begin();
	record.value = 1;
	add(5);
	is_read(7);
	is_sent(STORE_OP_SET, 7, 6);
	world_answer_code(STORE_UNKNOWN, -1);
	counters_up(&counters);
	record = (struct counter_record){.value = INT64_MAX - 1};
	is_read(7 + COUNTER_NODES_MAX - 1);
	is_told(1, COUNTER_NOT_DONE, 0); /* as it does not fit any more */
	counters_done(&counters);
}

Test(counter, in_time_or_not_at_all)
{
	begin();
	record.value = 1;
	add(5); /* sent, not answered */
	counters_add(&counters, "other", true, 1, on_answer, NULL);
	counters_add(&counters, "other", false, 0, on_answer, NULL);
	is_read(7);
	world_pass(COUNTER_WAIT_MS);
	cr_assert_eq(n_told, 3);
	cr_assert_eq(told[0].outcome, COUNTER_UNKNOWN);
	cr_assert_eq(told[1].outcome, COUNTER_NOT_DONE);
	cr_assert_eq(told[2].outcome, COUNTER_NOT_DONE);
	/* Answers that come now belong to nobody. */
	world_answer_code(STORE_NO_NODE, -1);
	world_answer_code(STORE_OK, -1);
	cr_assert_eq(n_told, 3);
	cr_assert_null(world_request());
	counters_done(&counters);
}

Test(counter, the_end_tells_all)
{
	begin();
	record.value = 1;
	add(5);
	is_read(7);
	add(6);
	counters_done(&counters);
	cr_assert_eq(n_told, 2);
	cr_assert_eq(told[0].outcome, COUNTER_UNKNOWN);
	cr_assert_eq(told[1].outcome, COUNTER_NOT_DONE);
	world_answer_code(STORE_ABANDONED, -1);
}

Test(counter, what_is_refused)
{
	begin();
	world_session.state = SESSION_CONNECTING;
	add(1);
	is_told(1, COUNTER_NOT_DONE, 0);
	world_session.state = SESSION_UP;
	add(1);
	world_answer(
		&(struct store_reply){.code = STORE_OK, .data = "\x01", .len = 1, .failed_op = -1});
	is_told(2, COUNTER_NOT_DONE, 0);
	add(1);
	world_answer_code(STORE_NO_AUTH, -1);
	is_told(3, COUNTER_NOT_DONE, 0);
	/* Our registration is being made anew. */
	add(1);
	world_answer_code(STORE_NO_NODE, -1);
	world_answer_code(STORE_NO_NODE, 0);
	cr_assert_null(world_request());
	world_pass(200);
	world_answer_code(STORE_NO_NODE, -1);
	world_answer_code(STORE_OK, -1);
	is_told(4, COUNTER_DONE, 1);
	counters_done(&counters);
}

/* A counter that remembers as many as it can forgets the one that was quiet for longest. */
Test(counter, a_full_one_forgets_the_oldest)
{
	begin();
	record.n = 20;
	for (size_t i = 0; i < record.n; i++) {
		snprintf(record.last[i].node, sizeof(record.last[i].node), "n%zu", i);
		record.last[i].op = 1;
	}
	strcpy(record.last[4].node, "me"); /* another machine of that name */
	strcpy(record.last[4].machine, "m2");
	add(1);
	is_read(3);
	is_sent(STORE_OP_SET, 3, 1);
	cr_assert_eq(record.n, 21);
	cr_assert_str_eq(record.last[0].machine, "m1");
	cr_assert_str_eq(record.last[1].node, "n0");
	cr_assert_str_eq(record.last[20].node, "n19");
	counters_done(&counters);
}
