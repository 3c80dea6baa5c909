/* Locks, one after the other, with every answer that ZooKeeper may give. */
#include "recipe_world.h"

#include "node/recipes/lock/lock.h"
#include "node/recipes/lock/lock_list.h"

#define ID    "00112233445566778899aabbccddeeff"
#define OTHER "ffeeddccbbaa99887766554433221100"
#define MINE  "0000000000000007-" ID "-"
#define THEIR "0000000000000008-" OTHER "-"
#define OWNER ((void *)&locks)

static struct roster roster;
static struct locks locks;
static struct lock_answer told[8];
static size_t n_told, n_done, n_released;

static void on_answer(void *arg, const struct lock_answer *answer)
{
	(void)arg;
	told[n_told++] = *answer;
}

static void on_done(void *arg)
{
	(void)arg;
	n_done++;
}

static void on_released(void *owner)
{
	cr_assert_eq(owner, OWNER);
	n_released++;
}

static void begin(void)
{
	world_begin();
	world_session.id = 7;
	world_session.lease.timeout_ms = 10000;
	world_session.lease.deadline_ms = world_now + 8000;
	roster.session = &world_session;
	roster.registry = &world_registry;
	locks_init(&locks, &world_session, &world_registry, &roster);
	locks_on_release(&locks, on_released);
}

static void take(int64_t slots, int64_t wait_ms, bool again)
{
	const struct lock_request q = {.owner = OWNER,
				       .name = "l",
				       .id = ID,
				       .command = "true",
				       .pid = 9,
				       .slots = slots,
				       .wait_ms = wait_ms,
				       .again = again};

	locks_take(&locks, &q, on_answer, NULL);
}

/* --- the requests, and their answers ------------------------------------------------------------------- */

static void is_made(enum store_code code, int failed_op)
{
	const struct world_request *r = world_request();
	struct locker_record record;
	const char *why;

	cr_assert(r && r->kind == WORLD_MULTI && r->n_ops == 2);
	cr_assert_str_eq(r->ops[0].path, "/r/workers/w");
	cr_assert_eq(r->ops[1].type, STORE_OP_CREATE_SEQUENTIAL);
	cr_assert_str_eq(r->path, "/r/locks/l/" MINE);
	cr_assert_eq(record_parse_locker(r->data, r->len, &record, &why), 0);
	cr_assert_str_eq(record.node, "me");
	cr_assert_str_eq(record.command, "true");
	cr_assert(record.pid == 9 && !record.held);
	world_answer_code(code, failed_op);
}

#define NAMES(...) ((const char *[]){__VA_ARGS__, NULL})

static void is_listed(const char *path, bool watch, const char *const *names)
{
	const struct world_request *r = world_request();
	char *copy[8];
	size_t n = 0;

	cr_assert(r && r->kind == WORLD_CHILDREN);
	cr_assert_str_eq(r->path, path);
	cr_assert_eq(r->watch, watch);
	for (; names && names[n]; n++)
		copy[n] = strdup(names[n]);
	world_answer(&(struct store_reply){
		.code = names ? STORE_OK : STORE_NO_NODE, .text = "", .names = copy, .n_names = n});
	while (n > 0)
		free(copy[--n]);
}

static void has_slots(int64_t slots)
{
	struct lock_record record = {.slots = slots};
	struct buffer b;

	cr_assert_eq(world_request()->kind, WORLD_GET);
	cr_assert_str_eq(world_request()->path, "/r/locks/l");
	buffer_init(&b, RECORD_LOCK_MAX);
	cr_assert_eq(record_pack_lock(&b, &record), 0);
	world_answer(
		&(struct store_reply){.code = STORE_OK, .text = "", .data = b.data, .len = b.len});
	buffer_done(&b);
}

static void is_taken(int64_t token)
{
	cr_assert_eq(world_request()->kind, WORLD_EXISTS);
	cr_assert(world_request()->watch);
	world_answer(&(struct store_reply){
		.code = STORE_OK, .text = "", .stat = {.owner = 7, .czxid = token}});
}

static void is_deleted(enum store_code code)
{
	cr_assert_eq(world_request()->kind, WORLD_MULTI);
	cr_assert_eq(world_request()->ops[0].type, STORE_OP_DELETE);
	cr_assert_str_eq(world_request()->path, "/r/locks/l/" MINE "0000000005");
	world_answer_code(code, -1);
}

static void is_told(size_t n, enum lock_outcome outcome)
{
	cr_assert_eq(n_told, n);
	cr_assert_eq(told[n - 1].outcome, outcome);
}

static void holds(void)
{
	is_made(STORE_OK, -1);
	is_listed("/r/locks/l", false, NAMES(MINE "0000000005", THEIR "0000000006", "else"));
	has_slots(1);
	is_taken(77);
	is_told(1, LOCK_YOURS);
	cr_assert_eq(told[0].token, 77);
	cr_assert_null(world_request());
}

static void waits(void)
{
	is_made(STORE_OK, -1);
	is_listed("/r/locks/l", false,
		  NAMES(THEIR "0000000004", MINE "0000000005", THEIR "0000000003"));
	has_slots(1);
	is_listed("/r/locks/l/" THEIR "0000000004", true, NAMES("x"));
	cr_assert_null(world_request());
	cr_assert_eq(n_told, 0);
}

/* --- the cases ----------------------------------------------------------------------------------------- */

Test(lock, names)
{
	struct lock_name n, last = {.number = UINT32_MAX};

	cr_assert(lock_name_parse(MINE "0000000005", &n));
	cr_assert(n.session == 7 && n.number == 5 && strcmp(n.id, ID) == 0);
	cr_assert(lock_name_parse(MINE "-2147483648", &n));
	cr_assert_eq(n.number, UINT32_C(1) << 31);
	cr_assert(lock_name_parse(MINE "-000000001", &n));
	cr_assert_eq(n.number, UINT32_MAX);
	for (size_t i = 0; i < 6; i++) {
		static const char *const bad[] = {"",
						  MINE,
						  MINE "000000005",
						  MINE "00000 0005",
						  MINE "9999999999",
						  "0000000000000007_" ID "-0000000005"};
		cr_assert_not(lock_name_parse(bad[i], &n), "%s", bad[i]);
	}
	n.number = 0;
	cr_assert(lock_name_is_before(&last, &n) && !lock_name_is_before(&n, &last));
	cr_assert_not(lock_name_is_before(&n, &n));
}

/* A free one: made, listed and read at once; then its own node is looked at. */
Test(lock, a_free_one_is_taken)
{
	begin();
	take(1, -1, false);
	cr_assert_eq(world_n - world_next, 3 + 1,
		     "and a confirmation, as the lease is kept up now");
	holds();
	cr_assert_eq(locks_renew(&locks, OWNER, told[0].number), 8000);
	cr_assert_eq(locks_renew(&locks, &roster, told[0].number), -1, "of another connection");
	cr_assert_eq(locks_going(&locks), 1);
	cr_assert(locks_finish(&locks, OWNER, told[0].number, on_done, NULL));
	cr_assert_eq(n_done, 0);
	is_deleted(STORE_OK);
	cr_assert(n_done == 1 && n_released == 1 && locks.n == 0);
	locks_done(&locks);
}

Test(lock, the_first_makes_the_folder)
{
	begin();
	take(1, -1, false);
	is_made(STORE_NO_NODE, 1);
	is_listed("/r/locks/l", false, NULL);
	world_answer_code(STORE_NO_NODE, -1);
	cr_assert_eq(world_request()->kind, WORLD_CREATE);
	cr_assert_str_eq(world_request()->path, "/r/locks");
	world_answer_code(STORE_OK, -1);
	cr_assert_str_eq(world_request()->path, "/r/locks/l");
	world_answer_code(STORE_OK, -1);
	holds();
	locks_done(&locks);
}

/* The one before it goes: it is listed once, its own node looked at, and what it is now is written. */
Test(lock, who_waits_is_woken_once)
{
	begin();
	take(1, -1, false);
	waits();
	locks_watch(&locks, STORE_NODE_DELETED, "/r/locks/l/" THEIR "0000000003");
	cr_assert_null(world_request(), "that is not who it waits for");
	locks_watch(&locks, STORE_NODE_CHANGED, "/r/locks/l/" THEIR "0000000004");
	cr_assert_null(world_request(),
		       "it has only got the lock: another of this node watches for more");
	locks_watch(&locks, STORE_NODE_DELETED, "/r/locks/l/" THEIR "0000000004");
	is_listed("/r/locks/l", false, NAMES(MINE "0000000005", THEIR "0000000006"));
	is_taken(77);
	is_told(1, LOCK_YOURS);
	cr_assert_eq(world_request()->ops[0].type, STORE_OP_SET);
	world_answer_code(STORE_OK, -1);
	is_taken(77); /* that write used up the watch of its node */
	cr_assert_null(world_request());
	locks_done(&locks);
}

/* With several slots the first that waits watches all; the others the one before them, until that holds. */
Test(lock, slots)
{
	struct locker_record record = {.node = "you", .held = true};
	struct buffer b;

	begin();
	take(2, -1, false);
	is_made(STORE_OK, -1);
	is_listed("/r/locks/l", false,
		  NAMES(THEIR "0000000001", THEIR "0000000002", THEIR "0000000003",
			MINE "0000000005"));
	has_slots(2);
	cr_assert_eq(world_request()->kind, WORLD_GET);
	cr_assert(world_request()->watch);
	cr_assert_str_eq(world_request()->path, "/r/locks/l/" THEIR "0000000003");
	buffer_init(&b, RECORD_LOCK_MAX);
	cr_assert_eq(record_pack_locker(&b, &record), 0);
	world_answer(
		&(struct store_reply){.code = STORE_OK, .text = "", .data = b.data, .len = b.len});
	buffer_done(&b);
	is_listed("/r/locks/l", true,
		  NAMES(THEIR "0000000001", THEIR "0000000003", MINE "0000000005"));
	cr_assert_null(world_request());
	locks_watch(&locks, STORE_CHILDREN_CHANGED, "/r/locks/l");
	is_listed("/r/locks/l", false, NAMES(THEIR "0000000003", MINE "0000000005"));
	is_taken(78);
	is_told(1, LOCK_YOURS);
	locks_done(&locks);
}

/* Whether it was made is found out by its name, on the next connection; so it is not made twice. */
Test(lock, a_lost_answer)
{
	begin();
	take(1, -1, false);
	world_session.state = SESSION_CONNECTING;
	is_made(STORE_UNKNOWN, -1);
	world_answer_code(STORE_UNKNOWN, -1);
	world_answer_code(STORE_UNKNOWN, -1);
	cr_assert_null(world_request());
	world_session.state = SESSION_UP;
	locks_up(&locks);
	is_listed("/r/locks/l", false, NAMES(MINE "0000000009", MINE "0000000005"));
	cr_assert_eq(world_request()->kind, WORLD_GET);
	has_slots(1);
	cr_assert_str_eq(world_request()->path, "/r/locks/l/" MINE "0000000009",
			 "one too many goes");
	world_answer_code(STORE_OK, -1);
	is_taken(77);
	is_told(1, LOCK_YOURS);
	locks_done(&locks);
}

Test(lock, another_number_of_slots)
{
	begin();
	take(3, -1, false);
	is_made(STORE_OK, -1);
	is_listed("/r/locks/l", false, NAMES(MINE "0000000005", THEIR "0000000006"));
	has_slots(2);
	cr_assert_str_eq(world_request()->path, "/r/locks/l/" THEIR "0000000006");
	world_answer_code(STORE_NO_AUTH, -1);
	is_told(1, LOCK_REFUSED);
	is_deleted(STORE_OK);
	take(3, -1, false);
	is_made(STORE_OK, -1);
	is_listed("/r/locks/l", false, NAMES(MINE "0000000005", "else"));
	has_slots(2);
	is_told(2, LOCK_OTHER_SLOTS);
	cr_assert_eq(told[1].slots, 2);
	is_deleted(STORE_UNKNOWN);
	is_deleted(STORE_NO_NODE);
	cr_assert(locks.n == 0 && n_released == 2);
	locks_done(&locks);
}

Test(lock, the_time_is_over)
{
	begin();
	take(1, 0, false);
	is_made(STORE_OK, -1);
	is_listed("/r/locks/l", false, NAMES(THEIR "0000000004", MINE "0000000005"));
	has_slots(1);
	is_listed("/r/locks/l/" THEIR "0000000004", true, NAMES("x"));
	is_told(1, LOCK_NOT_IN_TIME);
	is_deleted(STORE_OK);
	cr_assert_eq(locks.n, 0);
	locks_done(&locks);
}

Test(lock, no_session)
{
	begin();
	world_session.state = SESSION_CONNECTING;
	take(1, -1, false);
	world_pass(SESSION_PATIENCE_MS - 1);
	cr_assert_eq(n_told, 0);
	world_pass(1);
	is_told(1, LOCK_REFUSED);
	locks_done(&locks);
}

Test(lock, no_session_is_waited_for_longer_than_the_lock)
{
	const struct {
		int64_t wait_ms, refused_ms;
	} cases[] = {{2000, 2000}, {60000, SESSION_PATIENCE_MS}, {0, SESSION_RECONNECT_MS}};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		begin();
		n_told = n_released = 0;
		world_session.state = SESSION_CONNECTING;
		take(1, cases[i].wait_ms, false);
		world_pass(cases[i].refused_ms - 1);
		cr_assert_eq(n_told, 0);
		world_pass(1);
		is_told(1, LOCK_REFUSED);
		locks_done(&locks);
	}
}

/* Nothing is held without a lease, and nothing when the session is over. */
Test(lock, without_a_lease)
{
	begin();
	world_session.lease.deadline_ms = 0;
	take(1, -1, false);
	is_made(STORE_OK, -1);
	is_listed("/r/locks/l", false, NAMES(MINE "0000000005"));
	has_slots(1);
	is_taken(77);
	cr_assert_eq(n_told, 0);
	world_session.lease.deadline_ms =
		world_now + 2000; /* its command might have to end at once */
	locks_leased(&locks);
	cr_assert_eq(n_told, 0);
	world_session.lease.deadline_ms = world_now + 3000;
	locks_leased(&locks);
	is_told(1, LOCK_YOURS);
	cr_assert_eq(locks_renew(&locks, OWNER, told[0].number), 3000);
	world_session.lease.deadline_ms = 0;
	cr_assert_eq(locks_renew(&locks, OWNER, told[0].number), 0);
	world_session.lease.deadline_ms = world_now + 3000;
	world_session.id = 8;
	locks_expired(&locks);
	cr_assert_eq(locks_renew(&locks, OWNER, told[0].number), 0);
	cr_assert(locks_finish(&locks, OWNER, told[0].number, on_done, NULL));
	cr_assert_eq(n_done, 1);
	locks_done(&locks);
}

/* A client that has gone may have a command until the lease is over; one that waited has none. */
Test(lock, the_client_goes)
{
	begin();
	take(1, -1, false);
	waits();
	locks_owner_gone(&locks, OWNER);
	is_told(1, LOCK_REFUSED);
	n_told = 0;
	is_deleted(STORE_OK);
	cr_assert_eq(locks.n, 0);
	take(1, -1, false);
	holds();
	cr_assert_eq(locks_renew(&locks, OWNER, told[0].number), 8000);
	locks_owner_gone(&locks, OWNER);
	world_pass(7999);
	cr_assert_null(world_request());
	locks_attach(&locks, OWNER, "l", ID, on_answer, NULL);
	cr_assert_eq(n_told, 2);
	locks_owner_gone(&locks, OWNER);
	world_pass(1);
	is_deleted(STORE_OK);
	cr_assert_eq(locks.n, 0);
	locks_done(&locks);
}

/* The previous sidecar's node is found by its name, and no other is made. */
Test(lock, after_a_restart)
{
	begin();
	locks_attach(&locks, OWNER, "l", ID, on_answer, NULL);
	is_listed("/r/locks/l", false, NAMES(MINE "0000000005"));
	has_slots(4);
	is_taken(77);
	is_told(1, LOCK_YOURS);
	locks_attach(&locks, OWNER, "l", OTHER, on_answer, NULL);
	is_listed("/r/locks/l", false, NAMES(MINE "0000000005", THEIR "0000000006"));
	has_slots(4);
	is_told(2, LOCK_NOT_THERE);
	locks_done(&locks);
}

/* Its command may live by what the sidecar before us told, though it never asked us to renew that. */
Test(lock, after_a_restart_the_client_goes)
{
	begin();
	world_session.granted_ms = 10000;
	locks_attach(&locks, OWNER, "l", ID, on_answer, NULL);
	is_listed("/r/locks/l", false, NAMES(MINE "0000000005"));
	has_slots(1);
	is_taken(77);
	is_told(1, LOCK_YOURS);
	locks_owner_gone(&locks, OWNER);
	world_pass(9999);
	cr_assert_null(world_request());
	world_pass(1);
	is_deleted(STORE_OK);
	cr_assert_eq(locks.n, 0);
	locks_done(&locks);
}

static void on_answer_comes_again(void *arg, const struct lock_answer *answer)
{
	on_answer(arg, answer);
	locks_attach(&locks, OWNER, "l", OTHER, on_answer, NULL);
	cr_expect_eq(locks.n, 2, "nothing is freed while it is called back");
}

Test(lock, who_is_told_may_come_again_at_once)
{
	begin();
	world_session.state = SESSION_CONNECTING;
	locks_attach(&locks, OWNER, "l", ID, on_answer_comes_again, NULL);
	locks_expired(&locks);
	cr_assert_eq(n_told, 2);
	cr_expect(told[0].outcome == LOCK_NOT_THERE && told[1].outcome == LOCK_NOT_THERE);
	cr_expect_eq(locks.n, 0);
}

Test(lock, an_answer_behind_the_end)
{
	begin();
	take(1, -1, false);
	locks_done(&locks);
	is_told(1, LOCK_REFUSED);
	world_answer_code(STORE_ABANDONED, -1);
	world_answer_code(STORE_ABANDONED, -1);
	world_answer_code(STORE_ABANDONED, -1);
}

/* --- who holds and who waits --------------------------------------------------------------------------- */

static size_t n_lists;

static void on_list(void *arg, const struct lock_list *list)
{
	(void)arg;
	n_lists++;
	cr_assert(list && list->n == 1 && list->locks[0].n == 2);
	const struct lock_list_entry *e = list->locks[0].entries;
	cr_assert(e[0].read && e[0].held_ms == 1000 && e[0].name.number == 4);
	cr_assert(!e[1].read && e[1].name.number == 5);
}

Test(lock, a_list)
{
	begin();
	lock_list_read(&world_session, &world_registry, NULL, on_list, NULL);
	is_listed("/r/locks", false, NAMES("l", "not a name"));
	has_slots(1);
	is_listed("/r/locks/l", false, NAMES(MINE "0000000005", THEIR "0000000004"));
	cr_assert_str_eq(world_request()->path, "/r/locks/l/" THEIR "0000000004");
	world_answer(&(struct store_reply){.code = STORE_OK, .text = "", .stat = {.ctime = 1000}});
	world_answer_code(STORE_NO_NODE, -1);
	cr_assert_eq(n_lists, 1);
	locks_done(&locks);
}
