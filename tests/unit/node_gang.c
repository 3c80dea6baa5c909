/* A gang as one sidecar sees it, with the answers that ZooKeeper may give. */
#include "recipe_world.h"

#include "node/recipes/party/gang.h"
#include "node/recipes/party/party_ticket.h"

static struct parties gangs;
static struct roster roster;
static struct party_answer told[8];
static size_t n_told;
static struct gang_record record;
static char *names[16];
static size_t n_names;

static void on_answer(void *arg, const struct party_answer *answer)
{
	(void)arg;
	told[n_told] = *answer;
	told[n_told++].record = NULL;
}

static void begin(void)
{
	world_begin();
	world_session.id = 7;
	roster.session = &world_session;
	roster.registry = &world_registry;
	parties_init(&gangs, &gang_kind, &world_session, &world_registry, &roster);
}

static void enter(uint64_t id, const char *key, int64_t timeout_ms)
{
	gangs_join(&gangs,
		   &(struct gang_request){.owner = &gangs,
					  .name = "g",
					  .id = id,
					  .key = key,
					  .count = 2,
					  .timeout_ms = timeout_ms},
		   on_answer, NULL);
}

/* Adds a node to the folder, in the order of the calls. */
static void add_node(uint64_t id, const char *key, int64_t session, bool left)
{
	struct party_ticket t = {
		.id = id, .count = 2, .kind = 's', .session = session, .left = left};
	static char kept[16][STORE_PATH_MAX + 16];
	char path[STORE_PATH_MAX];

	snprintf(t.key, sizeof(t.key), "%s", key);
	cr_assert(party_ticket_path(&world_settings, PATH_GANGS, "g", &t, path));
	snprintf(kept[n_names], sizeof(kept[0]), left ? "%s" : "%s%010zu",
		 path + strlen("/r/gangs/g/"), n_names);
	names[n_names] = kept[n_names];
	n_names++;
}

static void put(size_t i, uint64_t id, const char *key)
{
	record.instance = 1;
	record.count = 2;
	record.n = 2;
	record.members[i].id = id;
	snprintf(record.members[i].key, sizeof(record.members[i].key), "%s", key);
	strcpy(record.members[i].ip, "10.0.0.1");
	strcpy(record.members[i].hostname, "h");
}

/* The three reads of a look. */
static void is_read(int32_t version)
{
	struct store_reply reply = {.code = STORE_OK,
				    .failed_op = -1,
				    .stat = {.version = version, .czxid = 5, .pzxid = 6}};
	struct buffer b;

	cr_assert(world_request() && world_request()->kind == WORLD_GET);
	cr_assert_str_eq(world_request()->path, "/r/gangs/g");
	buffer_init(&b, RECORD_GANG_MAX);
	cr_assert_eq(record_pack_gang(&b, &record), 0);
	reply.data = b.data;
	reply.len = b.len;
	world_answer(&reply);
	buffer_done(&b);
	world_answer(&(struct store_reply){
		.code = STORE_OK, .failed_op = -1, .names = names, .n_names = n_names});
	cr_assert_eq(world_request()->kind, WORLD_EXISTS);
	world_answer(&reply);
}

static void op_is(size_t i, enum store_op_type type, const char *path, int32_t version)
{
	const struct world_request *r = world_request();

	cr_assert(r && r->kind == WORLD_MULTI && i < r->n_ops);
	cr_assert_eq(r->ops[i].type, type, "op %zu", i);
	cr_assert_eq(strncmp(r->ops[i].path, path, strlen(path)), 0, "%s", r->ops[i].path);
	cr_assert(type >= STORE_OP_CREATE && type <= STORE_OP_CREATE_SEQUENTIAL
			  ? true
			  : r->ops[i].version == version);
}

static void is_done(void)
{
	world_answer_code(STORE_OK, -1);
}

/* A member's node is read before the gang begins. */
static void tell_address(void)
{
	struct gang_member_record m = {.node = "n", .ip = "10.0.0.1", .hostname = "h"};
	struct buffer b;

	cr_assert(world_request() && world_request()->kind == WORLD_GET);
	buffer_init(&b, RECORD_GANG_MEMBER_MAX);
	cr_assert_eq(record_pack_gang_member(&b, &m), 0);
	world_answer(&(struct store_reply){
		.code = STORE_OK, .failed_op = -1, .data = b.data, .len = b.len});
	buffer_done(&b);
}

/*
 * The member that makes the last node begins the gang: one transaction proves that both are there.
 */
Test(gang, the_last_that_comes_begins_it)
{
	begin();
	record.count = 2;
	enter(2, "b", -1);
	add_node(1, "a", 9, false);
	is_read(0);
	op_is(0, STORE_OP_CHECK, "/r/workers/w", -1);
	op_is(1, STORE_OP_CHECK, "/r/gangs/g", 0);
	op_is(2, STORE_OP_CREATE_SEQUENTIAL, "/r/gangs/g/0000000000000002-2-s-", 0);
	is_done();
	add_node(2, "b", 7, false);
	is_read(0);
	tell_address();
	tell_address();
	op_is(0, STORE_OP_SET, "/r/gangs/g", 0);
	op_is(1, STORE_OP_CHECK, "/r/gangs/g/0000000000000001-", -1);
	op_is(2, STORE_OP_CHECK, "/r/gangs/g/0000000000000002-", -1);
	cr_assert_eq(world_request()->n_ops, 3);
	is_done();
	cr_assert_eq(n_told, 0); /* the record tells, not the answer */
}

/* Its command might have to end at once: it begins when enough of the lease is there again. */
Test(gang, with_the_end_of_a_lease_nothing_begins)
{
	begin();
	world_session.lease.timeout_ms = 10000;
	world_session.lease.deadline_ms = world_now + 2000;
	record.count = 2;
	enter(1, "a", -1);
	is_read(0);
	is_done();
	add_node(1, "a", 7, false);
	add_node(2, "b", 9, false);
	put(0, 1, "a");
	put(1, 2, "b");
	is_read(1);
	cr_assert_eq(n_told, 0);
	world_session.lease.deadline_ms = world_now + 3000;
	world_answer_code(STORE_OK, -1); /* the other one is watched */
	parties_leased(&gangs);
	is_read(1);
	cr_assert_eq(n_told, 1);
	cr_assert_eq(told[0].outcome, PARTY_OPENED);
	cr_assert_eq(gangs_renew(&gangs, &gangs, told[0].number), 3000);
}

/* A member with the key of another that is there is refused, and leaves nothing. */
Test(gang, a_key_that_is_there_is_refused)
{
	begin();
	record.count = 2;
	enter(1, "a", -1);
	is_read(0);
	is_done();
	add_node(1, "a", 7, false);
	is_read(0);
	cr_assert_null(world_request());
	enter(2, "a", -1);
	is_read(0);
	cr_assert_eq(n_told, 1);
	cr_assert_eq(told[0].outcome, PARTY_IN_USE);
	cr_assert_null(world_request());
}

/* A gang that runs refuses others at once. */
Test(gang, another_is_refused_while_one_lives)
{
	begin();
	put(0, 1, "a");
	put(1, 2, "b");
	add_node(1, "a", 9, false);
	add_node(2, "b", 9, false);
	enter(3, "c", -1);
	is_read(1);
	cr_assert_eq(n_told, 1);
	cr_assert_eq(told[0].outcome, PARTY_IN_USE);
}

/* Nobody is there: a stranger waits for a minute, and then all of it goes in one transaction. */
Test(gang, a_dead_one_is_kept_for_a_minute)
{
	begin();
	put(0, 1, "a");
	put(1, 2, "b");
	add_node(1, "a", 9, true);
	enter(3, "c", -1);
	is_read(1);
	for (int64_t ms = 0; ms < GANG_DEAD_MS; ms += 1000) {
		cr_assert_null(world_request());
		world_pass(1000);
		is_read(1);
	}
	op_is(1, STORE_OP_DELETE, "/r/gangs/g/0000000000000001-left", -1);
	op_is(2, STORE_OP_DELETE, "/r/gangs/g", 1);
	cr_assert_eq(n_told, 0);
}

/* Another gang of that name may be at the same version: the transaction proves which one it is. */
Test(gang, that_one_is_lost_is_noted_of_the_same_gang_alone)
{
	begin();
	record.count = 2;
	enter(1, "a", -1);
	add_node(2, "b", 9, false);
	is_read(0);
	is_done();
	put(0, 1, "a");
	put(1, 2, "b");
	n_names = 0;
	add_node(1, "a", 7, false);
	is_read(1);
	op_is(0, STORE_OP_CHECK, "/r/workers/w", -1);
	op_is(1, STORE_OP_SET, "/r/gangs/g", 1);
	op_is(2, STORE_OP_CHECK, "/r/gangs/g/0000000000000001-", -1);
	cr_assert_eq(world_request()->n_ops, 3);
}

/* Its node is gone, and then it is told. */
static void ends_in_time(void)
{
	n_names = 0;
	is_read(0);
	cr_assert_eq(n_told, 1);
	cr_assert_eq(told[0].outcome, PARTY_TIMEOUT);
}

/*
 * A member that times out deletes its node under the version of the record that does not list it.
 */
Test(gang, a_timeout_is_proved)
{
	begin();
	record.count = 2;
	enter(1, "a", 100);
	is_read(0);
	is_done();
	add_node(1, "a", 7, false);
	is_read(0);
	world_pass(100);
	is_read(0);
	op_is(1, STORE_OP_CHECK, "/r/gangs/g", 0);
	op_is(2, STORE_OP_DELETE, "/r/gangs/g/0000000000000001-", -1);
	is_done();
	ends_in_time();
}

Test(gang, without_time_it_looks_once_who_is_there)
{
	begin();
	record.count = 2;
	enter(1, "a", 0);
	world_pass(0);
	is_read(0);
	is_done();
	add_node(1, "a", 7, false);
	world_pass(100);
	is_read(0);
	is_read(0);
	op_is(2, STORE_OP_DELETE, "/r/gangs/g/0000000000000001-", -1);
	is_done();
	ends_in_time();
}

/* Not for longer than its own timeout. */
Test(gang, a_session_is_waited_for)
{
	for (int patient = 0; patient < 2; patient++) {
		int64_t until_ms = patient ? SESSION_PATIENCE_MS : 2000;
		begin();
		n_told = 0;
		world_session.state = SESSION_CONNECTING;
		enter(1, "a", patient ? -1 : until_ms);
		world_pass(until_ms - 1);
		cr_assert_eq(n_told, 0);
		world_pass(1);
		cr_assert_eq(n_told, 1);
		cr_expect_eq(told[0].outcome, PARTY_FAILED);
		cr_expect_str_eq(told[0].why, SESSION_NONE);
		parties_done(&gangs);
	}
}

/* A client that asks again with its id once its sidecar is another: nobody may begin with what was there. */
Test(gang, the_node_of_the_sidecar_before_goes_first)
{
	begin();
	record.count = 2;
	add_node(1, "a", 6, false);
	enter(1, "a", 100);
	is_read(0);
	op_is(1, STORE_OP_CHECK, "/r/gangs/g", 0);
	op_is(2, STORE_OP_DELETE, "/r/gangs/g/0000000000000001-", -1);
	world_pass(100); /* the time is over, and the answer is not there yet */
	world_pass(PARTY_GRACE_MS / 2);
	world_answer_code(STORE_UNKNOWN, -1);
	is_read(0);
	cr_assert_eq(n_told, 0, "others may begin with it still");
	op_is(2, STORE_OP_DELETE, "/r/gangs/g/0000000000000001-", -1);
	is_done();
	ends_in_time();
}
