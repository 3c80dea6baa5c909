/* A barrier as one sidecar sees it, with every answer that ZooKeeper may give. */
#include "recipe_world.h"

#include "node/recipes/party/barrier.h"
#include "node/recipes/party/party_ticket.h"

static struct parties barriers;
static struct party_answer told[8];
static size_t n_told;
static struct barrier_record record;
static char *names[16];
static size_t n_names;

static void on_answer(void *arg, const struct party_answer *answer)
{
	(void)arg;
	told[n_told++] = *answer;
}

static void begin(void)
{
	world_begin();
	world_session.id = 7;
	parties_init(&barriers, &barrier_kind, &world_session, &world_registry, NULL);
}

static void enter(uint64_t id, unsigned count, bool command, int64_t timeout_ms)
{
	barriers_enter(&barriers,
		       &(struct barrier_entry){.name = "b",
					       .id = id,
					       .count = count,
					       .command = command,
					       .timeout_ms = timeout_ms,
					       .owner = &barriers},
		       on_answer, NULL);
}

/* Adds a node to the folder, in the order of the calls. */
static const char *node_of(uint64_t id, unsigned count, bool command, int64_t session)
{
	const struct party_ticket t = {
		.id = id, .count = count, .kind = command ? 'c' : 'w', .session = session};
	static char path[STORE_PATH_MAX];
	static char kept[16][2 * PARTY_NAME_MAX];
	char *whole = kept[n_names];

	cr_assert(party_ticket_path(&world_settings, PATH_BARRIERS, "b", &t, path));
	snprintf(whole, sizeof(kept[0]), "%s%010zu", strrchr(path, '/') + 1, n_names);
	names[n_names++] = whole;
	snprintf(path, sizeof(path), "/r/barriers/b/%s", whole);
	return path;
}

static void nobody(void)
{
	n_names = 0;
}

/* Whether anybody waits here: then what is read is watched. */
static bool waited = true;

/* The three reads of a look; the record has changed before the last where `moved`. */
static void is_read_as(int32_t version, bool moved)
{
	struct store_reply reply = {
		.code = STORE_OK, .failed_op = -1, .stat = {.version = version, .czxid = 5}};
	struct buffer b;

	cr_assert_eq(world_request()->kind, WORLD_GET);
	cr_assert_str_eq(world_request()->path, "/r/barriers/b");
	cr_assert(!waited || world_request()->watch);
	buffer_init(&b, RECORD_BARRIER_MAX);
	cr_assert_eq(record_pack_barrier(&b, &record), 0);
	reply.data = b.data;
	reply.len = b.len;
	world_answer(&reply);
	buffer_done(&b);
	cr_assert_eq(world_request()->kind, WORLD_CHILDREN);
	world_answer(&(struct store_reply){
		.code = STORE_OK, .failed_op = -1, .names = names, .n_names = n_names});
	cr_assert_eq(world_request()->kind, WORLD_EXISTS);
	reply.stat.version += moved;
	world_answer(&reply);
}

static void is_read(int32_t version)
{
	is_read_as(version, false);
}

static void is_not_there(void)
{
	world_answer_code(STORE_NO_NODE, -1);
	world_answer_code(STORE_NO_NODE, -1);
	world_answer_code(STORE_NO_NODE, -1);
}

static void is_done(void)
{
	world_answer_code(STORE_OK, -1);
}

/* A transaction is next, whose operation of this number is so. */
static void op_is(size_t i, enum store_op_type type, const char *path, int32_t version)
{
	const struct world_request *r = world_request();

	cr_assert(r && r->kind == WORLD_MULTI && i < r->n_ops);
	cr_assert_eq(r->ops[i].type, type);
	cr_assert_eq(strncmp(r->ops[i].path, path, strlen(path)), 0, "%s", r->ops[i].path);
	cr_assert(type == STORE_OP_CREATE_SEQUENTIAL || r->ops[i].version == version);
}

static void node_is_made(int32_t version)
{
	op_is(0, STORE_OP_CHECK, "/r/workers/w", -1);
	op_is(1, STORE_OP_CHECK, "/r/barriers/b", version);
	op_is(2, STORE_OP_CREATE_SEQUENTIAL, "/r/barriers/b/", 0);
	is_done();
}

static void is_opened(const uint64_t *ids, size_t n)
{
	barrier_record_open(&record, ids, n);
}

static void is_told(size_t n, enum party_outcome outcome)
{
	cr_assert_eq(n_told, n, "%zu are told", n_told);
	cr_assert_eq(told[n - 1].outcome, outcome, "%d", (int)told[n - 1].outcome);
}

/* The first one makes it all; who makes the last node opens the round. */
Test(barrier, the_first_makes_it_and_the_last_opens_it)
{
	begin();
	enter(1, 2, false, -1);
	is_not_there();
	cr_assert_eq(world_request()->kind, WORLD_CREATE);
	is_done();
	op_is(1, STORE_OP_CREATE, "/r/barriers/b", 0);
	is_done();
	is_read(0);
	node_is_made(0);
	node_of(1, 2, false, 7);
	is_read(0);
	cr_assert_null(world_request(), "one of two waits");
	/* The second here comes, in front of it one of another sidecar that waits for 3. */
	enter(2, 2, false, -1);
	is_read(0);
	node_is_made(0);
	node_of(9, 3, false, 8);
	node_of(2, 2, false, 7);
	is_read(0);
	op_is(0, STORE_OP_SET, "/r/barriers/b", 0);
	op_is(1, STORE_OP_DELETE, "/r/barriers/b/0000000000000001-2-w", -1);
	op_is(2, STORE_OP_DELETE, "/r/barriers/b/0000000000000002-2-w", -1);
	cr_assert_eq(world_request()->n_ops, 3);
	is_done();
	is_opened((uint64_t[]){1, 2}, 2);
	nobody();
	is_read(1);
	is_told(2, PARTY_OPENED);
	cr_assert_eq(told[0].round, 1);
	cr_assert_null(world_request());
	parties_done(&barriers);
}

/* The answer was lost: what is read tells, behind a write. */
Test(barrier, a_lost_answer_is_found_out)
{
	begin();
	enter(1, 2, false, -1);
	is_read(3);
	world_session.state = SESSION_CONNECTING;
	world_answer_code(STORE_UNKNOWN, -1); /* of its node: it is there */
	cr_assert_null(world_request());
	world_session.state = SESSION_UP;
	node_of(1, 2, false, 7);
	node_of(2, 2, false, 8);
	parties_up(&barriers);
	is_read(3);
	cr_assert_null(world_request(), "the other opens it");
	world_pass(1000);
	cr_assert_null(world_request());
	world_pass(1000); /* it did not */
	is_read(3);
	op_is(0, STORE_OP_SET, "/r/barriers/b", 3);
	world_answer_code(STORE_UNKNOWN, -1);
	is_opened((uint64_t[]){1, 2}, 2);
	nobody();
	is_read(4);
	is_told(1, PARTY_OPENED);
	parties_done(&barriers);
}

/* Under the version that does not have it: so it cannot be counted any more. */
Test(barrier, who_times_out_goes_unless_it_was_counted)
{
	begin();
	enter(1, 2, false, 1000);
	is_read(3);
	node_is_made(3);
	node_of(1, 2, false, 7);
	is_read(3);
	world_pass(1000);
	is_read(3);
	op_is(1, STORE_OP_CHECK, "/r/barriers/b", 3);
	op_is(2, STORE_OP_DELETE, "/r/barriers/b/0000000000000001", -1);
	world_answer_code(STORE_BAD_VERSION, 1);
	is_opened((uint64_t[]){1, 2}, 2);
	nobody();
	is_read(4);
	is_told(1, PARTY_OPENED);
	enter(3, 2, false, 1000);
	is_read(4);
	node_is_made(4);
	node_of(3, 2, false, 7);
	is_read(4);
	world_pass(1000);
	/* The names are of later than the record: nothing follows from that. */
	nobody();
	is_read_as(4, true);
	is_read(5);
	is_told(2, PARTY_TIMEOUT);
	parties_done(&barriers);
}

/* Its one look: it opens what only waited for it, and else it goes. */
Test(barrier, without_time_it_waits_for_nobody)
{
	begin();
	enter(1, 1, false, 0);
	world_pass(0);
	is_read(0);
	node_is_made(0);
	node_of(1, 1, false, 7);
	world_pass(100);
	is_read(0);
	op_is(0, STORE_OP_SET, "/r/barriers/b", 0);
	is_done();
	is_opened((uint64_t[]){1}, 1);
	nobody();
	is_read(1);
	is_told(1, PARTY_OPENED);
	enter(2, 2, false, 0);
	is_read(1);
	node_is_made(1);
	node_of(2, 2, false, 7);
	world_pass(0);
	is_read(1);
	is_read(1);
	op_is(2, STORE_OP_DELETE, "/r/barriers/b/0000000000000002", -1);
	is_done();
	nobody();
	is_read(1);
	is_told(2, PARTY_TIMEOUT);
	enter(3, 2, false, 0);
	world_pass(0);
	world_pass(PARTY_GRACE_MS / 2);
	cr_assert_eq(n_told, 2);
	world_pass(PARTY_GRACE_MS / 2); /* no server answers */
	is_told(3, PARTY_FAILED);
	parties_done(&barriers);
}

Test(barrier, another_count_in_the_round)
{
	begin();
	node_of(8, 5, false, 8);
	enter(1, 2, false, -1);
	is_read(3);
	node_is_made(3);
	node_of(1, 2, false, 7);
	is_read(3);
	op_is(2, STORE_OP_DELETE, "/r/barriers/b/0000000000000001", -1);
	is_done();
	n_names = 1;
	is_read(3);
	is_told(1, PARTY_OTHER_COUNT);
	cr_assert_eq(told[0].count, 5);
	parties_done(&barriers);
}

/* Nobody opens while one of the round before is inside; who leaves waits for it as well. */
Test(barrier, entered_and_left_together)
{
	begin();
	enter(1, 2, true, -1);
	is_read(3);
	node_is_made(3);
	node_of(2, 2, true, 8);
	node_of(1, 2, true, 7);
	is_read(3);
	op_is(1, STORE_OP_CHECK, "/r/barriers/b/0000000000000002-2-c", -1);
	op_is(2, STORE_OP_CHECK, "/r/barriers/b/0000000000000001-2-c", -1);
	is_done();
	is_opened((uint64_t[]){2, 1}, 2);
	is_read(4);
	is_told(1, PARTY_OPENED);
	barriers_leave(&barriers, "b", 1, 1, &barriers, on_answer, NULL);
	is_read(4);
	op_is(2, STORE_OP_DELETE, "/r/barriers/b/0000000000000001", -1);
	is_done();
	n_names = 1;
	is_read(4);
	cr_assert_eq(world_request()->kind, WORLD_EXISTS);
	cr_assert_eq(strncmp(world_request()->path, "/r/barriers/b/0000000000000002", 30), 0);
	char watched[STORE_PATH_MAX];
	snprintf(watched, sizeof(watched), "%s", world_requests[world_next].path);
	is_done();
	cr_assert_eq(n_told, 1);
	/* Two more come: they wait for it, too. */
	enter(3, 1, false, -1);
	is_read(4);
	node_is_made(4);
	node_of(3, 1, false, 7);
	is_read(4);
	cr_assert_null(world_request());
	nobody();
	node_of(3, 1, false, 7);
	parties_watch(&barriers, watched);
	is_read(4);
	is_told(2, PARTY_LEFT);
	op_is(0, STORE_OP_SET, "/r/barriers/b", 4);
	is_done();
	is_opened((uint64_t[]){3}, 1);
	nobody();
	is_read(5);
	is_told(3, PARTY_OPENED);
	parties_done(&barriers);
}

/* The time that it had was for the opening. */
Test(barrier, who_leaves_waits_for_the_others_however_long)
{
	begin();
	enter(1, 2, true, 1000);
	is_read(3);
	node_is_made(3);
	node_of(2, 2, true, 8);
	node_of(1, 2, true, 7);
	is_read(3);
	is_done();
	is_opened((uint64_t[]){2, 1}, 2);
	is_read(4);
	is_told(1, PARTY_OPENED);
	barriers_leave(&barriers, "b", 1, 1, &barriers, on_answer, NULL);
	is_read(4);
	is_done();
	n_names = 1;
	is_read(4);
	is_done(); /* the other is watched */
	world_pass(1000 + PARTY_GRACE_MS);
	cr_assert_eq(n_told, 1);
	parties_done(&barriers);
}

/* A new session has a new node, unless the record says that the old one was counted. */
Test(barrier, a_lost_session)
{
	begin();
	enter(1, 3, false, -1);
	enter(2, 2, false, 10);
	is_read(3);
	node_is_made(3);
	node_is_made(3);
	node_of(1, 3, false, 7);
	is_read(3);
	world_answer_code(STORE_OK, -1);
	nobody();
	world_session.id = 70;
	parties_up(&barriers);
	/* More rounds have begun since than are remembered. */
	for (uint64_t i = 10; i < 10 + BARRIER_ROUNDS_MAX + 1; i++)
		is_opened(&i, 1);
	while (world_request() && world_request()->kind == WORLD_MULTI)
		is_done();
	is_read(200);
	while (n_told < 1)
		is_read(200);
	is_told(2, PARTY_FAILED);
	cr_assert_not_null(told[0].why);
	parties_done(&barriers);
}

Test(barrier, what_is_refused)
{
	begin();
	world_session.state = SESSION_CONNECTING;
	enter(1, 2, false, -1);
	is_told(1, PARTY_FAILED);
	world_session.state = SESSION_UP;
	enter(1, 2, false, -1);
	enter(1, 2, false, -1);
	is_told(2, PARTY_MISUSE);
	/* Something else is in its place. */
	world_answer(
		&(struct store_reply){.code = STORE_OK, .data = "\x01", .len = 1, .failed_op = -1});
	is_done();
	is_done();
	is_told(3, PARTY_FAILED);
	enter(1, 2, false, -1);
	is_read(3);
	world_answer_code(STORE_NO_AUTH, 2);
	is_read(3);
	is_told(4, PARTY_FAILED);
	/* Our registration is being made anew. */
	enter(1, 2, false, -1);
	is_read(3);
	world_answer_code(STORE_NO_NODE, 0);
	cr_assert_null(world_request());
	world_pass(100);
	is_read(3);
	node_is_made(3);
	parties_done(&barriers);
	is_told(5, PARTY_ENDED);
	while (world_request())
		world_answer_code(STORE_ABANDONED, -1);
}

/* Its client goes: its node as well, and that of a sidecar before us whose client does not come. */
Test(barrier, what_is_left_behind_goes)
{
	begin();
	enter(1, 2, false, -1);
	is_read(3);
	node_is_made(3);
	node_of(1, 2, false, 7);
	is_read(3);
	parties_owner_gone(&barriers, &barriers);
	is_told(1, PARTY_WITHDRAWN);
	waited = false;
	is_read(3);
	op_is(2, STORE_OP_DELETE, "/r/barriers/b/0000000000000001", -1);
	is_done();
	nobody();
	is_read(3);
	cr_assert_null(world_request());
	parties_take_over(&barriers, 1000);
	parties_up(&barriers);
	world_pass(BARRIER_ORPHAN_MS);
	cr_assert_eq(world_request()->kind, WORLD_CHILDREN);
	cr_assert_str_eq(world_request()->path, "/r/barriers");
	char one[] = "b", bad[] = "no name!";
	char *list[] = {one, bad};
	world_answer(&(struct store_reply){
		.code = STORE_OK, .failed_op = -1, .names = list, .n_names = 2});
	node_of(5, 2, false, 7);
	node_of(6, 2, false, 8);
	is_read(3);
	op_is(2, STORE_OP_DELETE, "/r/barriers/b/0000000000000005", -1);
	is_done();
	nobody();
	node_of(6, 2, false, 8);
	is_read(3);
	cr_assert_null(world_request());
	parties_done(&barriers);
}

/* Nobody uses it any more. */
Test(barrier, an_idle_one_is_removed)
{
	begin();
	enter(1, 1, false, -1);
	is_opened((uint64_t[]){1}, 1);
	is_read(3);
	is_told(1, PARTY_OPENED);
	world_pass(BARRIER_KEEP_MS);
	waited = false;
	is_read(3);
	op_is(1, STORE_OP_DELETE, "/r/barriers/b", 3);
	is_done();
	world_pass(PARTY_GRACE_MS);
	cr_assert_null(world_request());
	cr_assert(STAILQ_EMPTY(&barriers.list));
	parties_done(&barriers);
}

/* A member that the sidecar before us had waits for a session; one that was inside is so. */
Test(barrier, again_at_the_next_sidecar)
{
	const struct barrier_entry waits = {
		.name = "b", .id = 1, .count = 2, .again = true, .timeout_ms = -1};
	const struct barrier_entry inside = {.name = "b",
					     .id = 2,
					     .count = 2,
					     .command = true,
					     .again = true,
					     .round = 4,
					     .timeout_ms = 0};

	begin();
	world_session.state = SESSION_CONNECTING;
	barriers_enter(&barriers, &waits, on_answer, NULL);
	barriers_enter(&barriers, &inside, on_answer, NULL);
	is_told(1, PARTY_OPENED);
	cr_assert_eq(told[0].round, 4);
	cr_assert_null(world_request());
	world_session.state = SESSION_UP;
	for (uint64_t i = 10; i < 14; i++)
		barrier_record_open(&record, &i, 1);
	parties_up(&barriers);
	is_read(9);
	node_is_made(9);
	node_of(1, 2, false, 7);
	is_read(9);
	/* Nothing of the one that is inside is made, and it has left when it says so. */
	cr_assert_null(world_request());
	barriers_leave(&barriers, "b", 2, 4, &barriers, on_answer, NULL);
	is_read(9);
	is_told(2, PARTY_LEFT);
	parties_done(&barriers);
}
