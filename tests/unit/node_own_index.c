/* The number of this node: read once, proved for each answer, with every answer that ZooKeeper may give. */
#include "recipe_world.h"

#include "core/fleet/identity.h"
#include "node/fleet/own_index.h"
#include "wire/records/recipe_record.h"

static struct own_index own;
static int64_t told;
static const char *why;
static unsigned n_told;

static void on_answer(void *arg, int64_t index, const char *text)
{
	(void)arg;
	told = index;
	why = text;
	n_told++;
}

static void ask(void)
{
	own_index_ask(&own, on_answer, NULL);
}

static struct worker *worker_of(const char *id, const char *node, const char *machine)
{
	struct worker *w = worker_new();

	strcpy(w->id, id);
	strcpy(w->version, "1");
	strcpy(w->hostname, "h");
	strcpy(w->node, node);
	strcpy(w->machine, machine);
	w->scheme = 1;
	return w;
}

static void begin(void)
{
	world_begin();
	fleet_init(&world_registry.fleet);
	strcpy(world_registry.id, "a");
	cr_assert(fleet_add(&world_registry.fleet, worker_of("a", "me", "m1"), 1, 0));
	world_registry.workers.ready = true;
	world_registry.roll.folder = &world_registry.workers;
	own_index_init(&own, &world_session, &world_registry);
}

static void is_read(int64_t index, int64_t departed, int32_t version)
{
	struct roster_record record = {.index = index, .since = 1, .departed = departed};
	struct buffer b;

	cr_assert_eq(world_request()->kind, WORLD_GET);
	cr_assert_str_eq(world_request()->path, "/r/roster/me");
	cr_assert(world_request()->watch);
	buffer_init(&b, RECORD_ROSTER_MAX);
	cr_assert_eq(record_pack_roster(&b, &record), 0);
	world_answer(&(struct store_reply){.code = STORE_OK,
					   .data = b.data,
					   .len = b.len,
					   .failed_op = -1,
					   .stat = {.version = version}});
	buffer_done(&b);
}

static void is_proved(int32_t version, enum store_code code, int failed_op)
{
	const struct world_request *r = world_request();

	cr_assert(r && r->kind == WORLD_MULTI && r->n_ops == 2);
	cr_assert_str_eq(r->ops[0].path, "/r/workers/w");
	cr_assert_eq(r->ops[1].type, STORE_OP_CHECK);
	cr_assert_eq(r->ops[1].version, version);
	world_answer_code(code, failed_op);
}

Test(own_index, read_once_and_proved_each_time)
{
	begin();
	ask();
	ask();
	is_read(7, 0, 3);
	is_proved(3, STORE_OK, -1);
	cr_assert_eq(n_told, 2);
	cr_assert_eq(told, 7);
	cr_assert_null(why);
	ask();
	ask(); /* behind the proof: that says nothing of what is so now */
	is_proved(3, STORE_OK, -1);
	cr_assert_eq(n_told, 3);
	is_proved(3, STORE_OK, -1);
	cr_assert_eq(n_told, 4);
	cr_assert_null(world_request());
	own_index_done(&own);
}

/* The number is given out while the node waits for it: the watch tells. */
Test(own_index, waits_for_one)
{
	begin();
	ask();
	world_answer_code(STORE_NO_NODE, -1);
	cr_assert_eq(world_request()->kind, WORLD_EXISTS);
	cr_assert(world_request()->watch);
	world_answer_code(STORE_NO_NODE, -1);
	cr_assert_null(world_request());
	own_index_watch(&own, "/r/roster/other");
	cr_assert_null(world_request());
	own_index_watch(&own, "/r/roster/me");
	/* That of who has departed counts once the return is noted. */
	is_read(4, 99, 1);
	cr_assert_null(world_request());
	own_index_watch(&own, "/r/roster/me");
	is_read(4, 0, 2);
	is_proved(2, STORE_OK, -1);
	cr_assert_eq(told, 4);
	own_index_done(&own);
}

/* The number was forgotten and given to another: the proof fails, and it is read again. */
Test(own_index, a_number_that_is_not_ours_any_more)
{
	begin();
	ask();
	is_read(4, 0, 1);
	is_proved(1, STORE_NO_NODE, 1);
	cr_assert_eq(n_told, 0);
	world_pass(200);
	is_read(5, 0, 0);
	is_proved(0, STORE_BAD_VERSION, 1);
	world_pass(200);
	is_read(5, 0, 1);
	is_proved(1, STORE_OK, -1);
	cr_assert_eq(told, 5);
	own_index_done(&own);
}

Test(own_index, a_lost_answer_tells_nothing)
{
	begin();
	ask();
	is_read(4, 0, 1);
	is_proved(1, STORE_UNKNOWN, -1);
	cr_assert_null(world_request());
	own_index_go_on(&own); /* the session is up again */
	is_proved(1, STORE_OK, -1);
	cr_assert_eq(told, 4);
	own_index_expired(&own);
	ask();
	is_read(6, 0, 2);
	is_proved(2, STORE_OK, -1);
	cr_assert_eq(told, 6);
	own_index_done(&own);
}

static void is_refused(const char *text)
{
	unsigned before = n_told;

	ask();
	cr_assert_null(world_request());
	world_pass(OWN_INDEX_WAIT_MS);
	cr_assert_eq(n_told, before + 1);
	cr_assert_eq(told, -1);
	cr_assert(strstr(why, text), "%s", why);
}

Test(own_index, what_stands_in_the_way)
{
	begin();
	world_session.state = SESSION_CONNECTING;
	is_refused("no confirmed session");
	world_session.state = SESSION_UP;
	world_registry.workers.ready = false;
	is_refused("not known yet");
	world_registry.workers.ready = true;
	cr_assert(fleet_add(&world_registry.fleet, worker_of("b", "me", "m2"), 2, 0));
	is_refused("another machine");
	ask();
	own_index_done(&own);
	cr_assert(strstr(why, "has ended"));
}

/*
 * The operator finds in `status` what to do; the entry is read again once it changes or is asked
 * for.
 */
Test(own_index, an_entry_that_cannot_be_read_is_told_at_once)
{
	begin();
	ask();
	world_answer(
		&(struct store_reply){.code = STORE_OK, .data = "junk", .len = 4, .failed_op = -1});
	cr_assert_eq(n_told, 1);
	cr_expect_eq(told, -1);
	cr_expect(strstr(why, "cannot be read"), "%s", why);
	cr_expect(own.unread);
	world_pass(60000);
	cr_assert_null(world_request());
	ask();
	is_read(3, 0, 1);
	cr_expect_not(own.unread);
	own_index_done(&own);
}
