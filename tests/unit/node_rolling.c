/* Rolling restarts, one transaction after the other, with every answer that ZooKeeper may give. */
#include "recipe_world.h"

#include "core/fleet/identity.h"
#include "node/recipes/rolling/rolling_op.h"

static struct rolling rolling;
static struct rolling_answer told;
static struct rolling_slot told_slot;
static unsigned n_told;
static size_t n_slots;
static bool idle;
static unsigned n_drained, n_undrained;
static struct policy policy; /* the drains that are known */
/* Names of slots. */
static char me[] = "me", other[] = "other", foreign[] = "%%%";

static void on_answer(void *arg, const struct rolling_answer *answer)
{
	(void)arg;
	told = *answer;
	if (answer->slot)
		told_slot = *answer->slot;
	n_slots = answer->view ? answer->view->n_slots : 0;
	n_told++;
}

static bool is_idle(void *arg, const char *drain, size_t *ret_leads, size_t *ret_jobs)
{
	(void)arg, (void)drain;
	*ret_leads = idle ? 0 : 3;
	*ret_jobs = 0;
	return idle;
}

static void on_drained(void *arg, const char *drain, const struct policy_record *record)
{
	(void)arg, (void)drain;
	cr_assert_str_eq(record->kind, "drain");
	cr_assert_str_eq(record->rolling, "g");
	n_drained++;
}

static void on_undrained(void *arg, const char *drain)
{
	(void)arg, (void)drain;
	n_undrained++;
}

static struct worker *worker_of(const char *id, const char *machine)
{
	struct worker *w = worker_new();

	strcpy(w->id, id);
	strcpy(w->version, "1");
	strcpy(w->hostname, "h");
	strcpy(w->node, "me");
	strcpy(w->machine, machine);
	w->scheme = 1;
	return w;
}

static void begin(void)
{
	static const struct rolling_handlers handlers = {.idle = is_idle,
							 .drained = on_drained,
							 .undrained = on_undrained,
							 .policy = &policy};

	world_begin();
	policy = (struct policy){.session = &world_session,
				 .folder = {.session = &world_session, .ready = true}};
	fleet_init(&world_registry.fleet);
	strcpy(world_registry.id, "a");
	strcpy(world_registry.hostname, "h");
	cr_assert(fleet_add(&world_registry.fleet, worker_of("a", "m1"), 1, 0));
	world_registry.workers.ready = true;
	world_registry.health_known = true;
	world_session.id = 9;
	rolling_init(&rolling, &world_session, &world_registry, &handlers);
}

/* Everything is over and nothing is left. */
static void finish(void)
{
	cr_assert_null(world_request());
	cr_assert(LIST_EMPTY(&rolling.ops));
	rolling_done(&rolling);
	fleet_done(&world_registry.fleet);
}

static struct rolling_op *ask(enum rolling_order order)
{
	struct rolling_request q = {.order = order,
				    .group = "g",
				    .max_unavailable = 1,
				    .wait_ms = -1,
				    .soak_ms = 1000,
				    .slot = "s",
				    .exit_status = -1,
				    .before = "p",
				    .process = "p",
				    .boot_id = "b1",
				    .by = "root",
				    .node = "other"};
	struct rolling_op *op = rolling_ask(&rolling, &q, on_answer, NULL);

	return op;
}

static void policy_has_been_read(void)
{
	policy.folder.lists += 2;
	policy.folder.listing = policy.folder.again = policy.folder.dirty = false;
}

/* Decisions have been read again by the time that the group is looked at. */
static void release(void)
{
	policy.folder.listing = true; /* or it would ask for a list */
	ask(ROLLING_RELEASE);
	policy_has_been_read();
}

static struct rolling_op *advance(enum rolling_state state, int64_t status)
{
	struct rolling_request q = {.order = ROLLING_ADVANCE,
				    .group = "g",
				    .state = state,
				    .slot = "s",
				    .exit_status = status,
				    .before = "p",
				    .process = "p",
				    .boot_id = "b1"};

	return rolling_ask(&rolling, &q, on_answer, NULL);
}

/* --- what is in ZooKeeper ------------------------------------------------- */

static struct rolling_group group;
static struct rolling_slot own = {.id = "s",
				  .drain = "d",
				  .node = "me",
				  .boot_id = "b1",
				  .process = "p",
				  .by = "root",
				  .host = "h",
				  .exit_status = -1};

static void answer_data(const struct buffer *b, int32_t version)
{
	world_answer(&(struct store_reply){.code = STORE_OK,
					   .data = b->data,
					   .len = b->len,
					   .failed_op = -1,
					   .stat = {.version = version}});
}

static void answer_names(const char *path, char *const *names, size_t n)
{
	cr_assert_eq(world_request()->kind, WORLD_CHILDREN);
	cr_assert_str_eq(world_request()->path, path);
	world_answer(&(struct store_reply){
		.code = STORE_OK, .names = names, .n_names = n, .failed_op = -1});
}

/* The group, who has a slot, who waits. slot: the one of this node is read, too. */
static void is_read(char **slots, size_t n, char **waiting, size_t n_waiting, bool slot)
{
	struct buffer b;

	world_pass(0);
	cr_assert(world_request() && world_request()->kind == WORLD_GET);
	cr_assert_str_eq(world_request()->path, "/r/rolling/g");
	buffer_init(&b, RECORD_ROLLING_MAX);
	cr_assert_eq(record_pack_rolling_group(&b, &group), 0);
	answer_data(&b, 4);
	answer_names("/r/rolling/g/slots", slots, n);
	answer_names("/r/rolling/g/waiting", waiting, n_waiting);
	if (slot) {
		cr_assert_str_eq(world_request()->path, "/r/rolling/g/slots/me");
		buffer_truncate(&b, 0);
		cr_assert_eq(record_pack_rolling_slot(&b, &own), 0);
		answer_data(&b, 6);
	}
	buffer_done(&b);
}

static void drain_is(enum store_code code)
{
	cr_assert_eq(world_request()->kind, WORLD_EXISTS);
	cr_assert_str_eq(world_request()->path, "/r/policy/d");
	world_answer_code(code, -1);
}

/* A transaction with that operation there. */
static void has(size_t at, enum store_op_type type, const char *path, int32_t version)
{
	const struct world_request *r = world_request();

	cr_assert(r && r->kind == WORLD_MULTI && r->n_ops > at);
	cr_assert_eq(r->ops[0].type, STORE_OP_CHECK);
	cr_assert_str_eq(r->ops[0].path, "/r/workers/w");
	cr_assert_eq(r->ops[at].type, type);
	cr_assert_eq(strncmp(r->ops[at].path, path, strlen(path)), 0, "%s", r->ops[at].path);
	cr_assert(type == STORE_OP_CREATE || type == STORE_OP_CREATE_SEQUENTIAL ||
		  r->ops[at].version == version);
}

static void is_acquired(size_t n)
{
	has(1, STORE_OP_SET, "/r/rolling/g", 4);
	has(2, STORE_OP_CREATE, "/r/rolling/g/slots/me", 0);
	has(3, STORE_OP_CREATE, "/r/policy/", 0);
	cr_assert_eq(world_request()->n_ops, n);
}

static void is_told(unsigned n, enum rolling_result result)
{
	cr_assert_eq(n_told, n);
	cr_assert_eq(told.result, result);
}

/* --- taking a slot -------------------------------------------------------- */

Test(rolling, the_first_makes_the_group)
{
	begin();
	group.max_unavailable = 1;
	ask(ROLLING_TAKE);
	world_pass(0);
	for (int i = 0; i < 3; i++)
		world_answer_code(STORE_NO_NODE, -1);
	cr_assert_eq(world_request()->kind, WORLD_CREATE);
	cr_assert_str_eq(world_request()->path, "/r/rolling");
	world_answer_code(STORE_OK, -1);
	has(1, STORE_OP_CREATE, "/r/rolling/g", 0);
	has(2, STORE_OP_CREATE, "/r/rolling/g/slots", 0);
	has(3, STORE_OP_CREATE, "/r/rolling/g/waiting", 0);
	world_answer_code(STORE_OK, -1);
	is_read(NULL, 0, NULL, 0, false);
	is_acquired(4);
	world_answer_code(STORE_OK, -1);
	is_told(1, ROLLING_DONE);
	cr_assert_eq(told_slot.state, ROLLING_DRAINING);
	cr_assert_eq(n_drained, 1);
	finish();
}

/* Somebody was quicker: it queues, watches the one before it, and then the group. */
Test(rolling, the_queue)
{
	char *slots[] = {other}, first[] = "0.x-0000000001", last[] = "0.y-0000000009";
	char mine[100], *waiting[] = {last, mine, first};

	begin();
	group.max_unavailable = 1;
	struct rolling_op *op = ask(ROLLING_TAKE);
	snprintf(mine, sizeof(mine), "%016x.%s-0000000005", 9, op->id);
	is_read(NULL, 0, NULL, 0, false);
	world_answer_code(STORE_BAD_VERSION, 1);
	is_read(slots, 1, waiting + 2, 1, false);
	has(1, STORE_OP_CREATE_SEQUENTIAL, "/r/rolling/g/waiting/", 0);
	world_answer_code(STORE_OK, -1);
	is_read(slots, 1, waiting, 3, false);
	cr_assert_eq(world_request()->kind, WORLD_EXISTS);
	cr_assert(world_request()->watch);
	cr_assert_str_eq(world_request()->path, "/r/rolling/g/waiting/0.x-0000000001");
	world_answer_code(STORE_OK, -1);
	world_pass(100000);
	cr_assert_null(world_request(), "it waits, and asks for nothing");
	rolling_watch(&rolling, "/r/rolling/g/waiting/0.y-0000000009");
	world_pass(0);
	cr_assert_null(world_request());
	rolling_watch(&rolling, "/r/rolling/g/waiting/0.x-0000000001");
	is_read(slots, 1, waiting, 2, false);
	cr_assert_str_eq(world_request()->path, "/r/rolling/g");
	world_answer(
		&(struct store_reply){.code = STORE_OK, .failed_op = -1, .stat = {.version = 5}});
	/* The group has changed since it was read. */
	is_read(NULL, 0, waiting, 2, false);
	is_acquired(5);
	has(4, STORE_OP_DELETE, "/r/rolling/g/waiting/", -1);
	world_answer_code(STORE_OK, -1);
	is_told(1, ROLLING_DONE);
	finish();
}

Test(rolling, a_lost_answer_is_found)
{
	char *slots[] = {me};

	begin();
	group.max_unavailable = 1;
	struct rolling_op *op = ask(ROLLING_TAKE);
	is_read(NULL, 0, NULL, 0, false);
	world_answer_code(STORE_UNKNOWN, -1);
	world_session.state = SESSION_CONNECTING;
	world_pass(1000);
	cr_assert_null(world_request());
	world_session.state = SESSION_UP;
	rolling_up(&rolling);
	strcpy(own.id, op->id);
	is_read(slots, 1, NULL, 0, true);
	drain_is(STORE_OK);
	is_told(1, ROLLING_DONE);
	cr_assert_str_eq(told_slot.id, own.id);
	finish();
}

Test(rolling, no_slot_is_given)
{
	char *slots[] = {other}, *two[] = {other, foreign};

	begin();
	group.max_unavailable = 2;
	ask(ROLLING_TAKE);
	is_read(slots, 1, NULL, 0, false);
	is_told(1, ROLLING_OTHER_K);
	is_read(slots, 1, NULL, 0, false); /* nothing of it is there */
	/* Nobody else is there: K is another from now on. */
	ask(ROLLING_TAKE);
	is_read(NULL, 0, NULL, 0, false);
	is_acquired(4);
	world_answer_code(STORE_OK, -1);
	is_told(2, ROLLING_DONE);
	group = (struct rolling_group){1, 5, "other", "CMD failed"};
	ask(ROLLING_TAKE);
	is_read(NULL, 0, NULL, 0, false);
	is_told(3, ROLLING_HALTED);
	is_read(NULL, 0, NULL, 0, false);
	/* A name that is none of ours counts. */
	group = (struct rolling_group){.max_unavailable = 1};
	struct rolling_op *op = ask(ROLLING_TAKE);
	is_read(two + 1, 1, NULL, 0, false);
	has(1, STORE_OP_CREATE_SEQUENTIAL, "/r/rolling/g/waiting/", 0);
	world_answer_code(STORE_FAILED, -1);
	is_told(4, ROLLING_REFUSED);
	(void)op;
	is_read(NULL, 0, NULL, 0, false);
	/* A twin. */
	cr_assert(fleet_add(&world_registry.fleet, worker_of("b", "m2"), 1, 0));
	ask(ROLLING_TAKE);
	is_read(NULL, 0, NULL, 0, false);
	is_told(5, ROLLING_REFUSED);
	is_read(NULL, 0, NULL, 0, false);
	finish();
}

/* A caller that goes leaves neither a place in the queue nor a slot that came all the same. */
Test(rolling, who_goes_leaves_nothing)
{
	char *slots[] = {other}, *own_slot[] = {me}, mine[100], *waiting[] = {mine};

	begin();
	group.max_unavailable = 1;
	struct rolling_op *op = ask(ROLLING_TAKE);
	snprintf(mine, sizeof(mine), "%016x.%s-0000000005", 9, op->id);
	is_read(slots, 1, waiting, 1, false);
	world_answer(
		&(struct store_reply){.code = STORE_OK, .failed_op = -1, .stat = {.version = 4}});
	rolling_cancel(op);
	is_read(slots, 1, waiting, 1, false);
	has(1, STORE_OP_DELETE, "/r/rolling/g/waiting/", -1);
	world_answer_code(STORE_UNKNOWN, -1);
	rolling_up(&rolling);
	is_read(slots, 1, waiting, 1, false);
	world_answer_code(STORE_OK, -1);
	is_read(slots, 1, NULL, 0, false);
	cr_assert(LIST_EMPTY(&rolling.ops));

	op = ask(ROLLING_TAKE);
	is_read(NULL, 0, NULL, 0, false);
	strcpy(own.id, op->id);
	rolling_cancel(op);
	cr_assert_not(host_timer_is_set(&rolling.due), "nothing is to be done before the answer");
	world_answer_code(STORE_OK, -1);
	cr_assert_not(LIST_EMPTY(&rolling.ops), "a slot came all the same");
	is_read(own_slot, 1, NULL, 0, true);
	drain_is(STORE_OK);
	has(2, STORE_OP_DELETE, "/r/rolling/g/slots/me", 6);
	has(3, STORE_OP_DELETE, "/r/policy/d", -1);
	world_answer_code(STORE_OK, -1);
	is_read(NULL, 0, NULL, 0, false);
	cr_assert_eq(n_told, 0);
	finish();
}

Test(rolling, in_time)
{
	begin();
	group.max_unavailable = 1;
	struct rolling_request q = {.order = ROLLING_TAKE,
				    .group = "g",
				    .max_unavailable = 1,
				    .wait_ms = 500,
				    .boot_id = "b1",
				    .process = "p",
				    .by = "root"};
	char *slots[] = {other}, mine[100], *waiting[] = {mine};
	struct rolling_op *op = rolling_ask(&rolling, &q, on_answer, NULL);

	snprintf(mine, sizeof(mine), "%016x.%s-0000000005", 9, op->id);
	is_read(slots, 1, waiting, 1, false);
	world_answer(
		&(struct store_reply){.code = STORE_OK, .failed_op = -1, .stat = {.version = 4}});
	world_pass(500);
	is_told(1, ROLLING_LATE);
	is_read(slots, 1, waiting, 1, false);
	has(1, STORE_OP_DELETE, "/r/rolling/g/waiting/", -1);
	world_answer_code(STORE_OK, -1);
	is_read(slots, 1, NULL, 0, false);
	finish();
}

/* Without time it has one look: a free slot is taken, a taken one is not waited for. */
Test(rolling, at_once)
{
	struct rolling_request q = {.order = ROLLING_TAKE,
				    .group = "g",
				    .max_unavailable = 1,
				    .boot_id = "b1",
				    .process = "p",
				    .by = "root"};
	char *slots[] = {other};

	begin();
	group.max_unavailable = 1;
	rolling_ask(&rolling, &q, on_answer, NULL);
	world_pass(0);
	world_pass(100);
	is_read(NULL, 0, NULL, 0, false);
	is_acquired(4);
	world_answer_code(STORE_OK, -1);
	is_told(1, ROLLING_DONE);
	rolling_ask(&rolling, &q, on_answer, NULL);
	world_pass(0);
	is_read(slots, 1, NULL, 0, false);
	is_told(2, ROLLING_LATE);
	is_read(slots, 1, NULL, 0, false);
	cr_assert(LIST_EMPTY(&rolling.ops));
	rolling_ask(&rolling, &q, on_answer, NULL);
	world_pass(0);
	world_pass(ROLLING_WAIT_MS - 1);
	cr_assert_eq(n_told, 2);
	world_pass(1); /* no server answers */
	is_told(3, ROLLING_UNKNOWN);
	rolling_done(&rolling);
	fleet_done(&world_registry.fleet);
}

/* The process before this one was killed, and its session goes on: its places in queues are given up. */
Test(rolling, what_a_killed_one_has_left)
{
	static char g[] = "g", h[] = "h", ours[] = "0000000000000009.x-0000000001";
	static char others[] = "0000000000000008.x-0000000002";
	char *groups[] = {h, g}, *waiting[] = {others, ours};

	begin();
	rolling_up(&rolling);
	cr_assert_null(world_request(), "the session is a new one");
	world_session.taken_over = 9;
	for (int i = 0; i < 2; i++) {
		rolling_up(&rolling);
		answer_names("/r/rolling", groups, 2);
		answer_names("/r/rolling/g/waiting", waiting, 2);
		cr_assert_eq(world_requests[world_next].ops[0].type, STORE_OP_DELETE);
		cr_assert_str_eq(world_requests[world_next].ops[0].path,
				 "/r/rolling/g/waiting/0000000000000009.x-0000000001");
		const struct world_request *r = &world_requests[world_next++];
		answer_names("/r/rolling/h/waiting", waiting, 1);
		/* A lost answer: once more. */
		r->fn(r->arg, &(struct store_reply){.code = i ? STORE_OK : STORE_UNKNOWN});
	}
	rolling_up(&rolling);
	finish();
}

/* --- the slot of this node ------------------------------------------------ */

Test(rolling, its_steps)
{
	char *slots[] = {me};

	begin();
	group.max_unavailable = 1;
	advance(ROLLING_RUNNING, -1);
	is_read(slots, 1, NULL, 0, true);
	drain_is(STORE_OK);
	is_told(1, ROLLING_BUSY);
	cr_assert_eq(told.leads, 3);
	idle = true;
	/* An older sidecar has ended the drain: first it is made again. */
	advance(ROLLING_RUNNING, -1);
	is_read(slots, 1, NULL, 0, true);
	drain_is(STORE_NO_NODE);
	has(3, STORE_OP_CREATE, "/r/policy/d", 0);
	world_answer_code(STORE_OK, -1);
	is_read(slots, 1, NULL, 0, true);
	drain_is(STORE_OK);
	has(1, STORE_OP_SET, "/r/rolling/g", 4);
	has(2, STORE_OP_SET, "/r/rolling/g/slots/me", 6);
	world_answer_code(STORE_OK, -1);
	is_told(2, ROLLING_DONE);
	cr_assert_eq(told_slot.state, ROLLING_RUNNING);
	own.state = ROLLING_RUNNING;
	/* CMD has failed: the group is halted, and the drain says why. */
	advance(ROLLING_FAILED, 7);
	is_read(slots, 1, NULL, 0, true);
	drain_is(STORE_OK);
	has(3, STORE_OP_DELETE, "/r/policy/d", -1);
	has(4, STORE_OP_CREATE, "/r/policy/", 0);
	world_answer_code(STORE_OK, -1);
	is_told(3, ROLLING_DONE);
	cr_assert_eq(told_slot.exit_status, 7);
	cr_assert_eq(n_undrained, 1);
	own.state = ROLLING_FAILED;
	own.exit_status = 7;
	ask(ROLLING_TAKE);
	is_read(slots, 1, NULL, 0, true);
	drain_is(STORE_OK);
	is_told(4, ROLLING_HAS_FAILED);
	is_read(NULL, 0, NULL, 0, false);
	/* A state that does not follow from it, and a slot that is gone. */
	advance(ROLLING_SOAKING, 0);
	is_read(slots, 1, NULL, 0, true);
	drain_is(STORE_OK);
	is_told(5, ROLLING_CHANGED);
	advance(ROLLING_FAILED, 7);
	is_read(NULL, 0, NULL, 0, false);
	is_told(6, ROLLING_NOTHING);
	finish();
}

Test(rolling, another_process_and_another_boot)
{
	char *slots[] = {me};

	begin();
	group.max_unavailable = 1;
	idle = true;
	strcpy(own.process, "q");
	advance(ROLLING_RUNNING, -1);
	is_read(slots, 1, NULL, 0, true);
	drain_is(STORE_OK);
	is_told(1, ROLLING_CHANGED);
	strcpy(own.process, "p");
	/* From the drain to the soak time by another boot alone. */
	advance(ROLLING_SOAKING, -1);
	is_read(slots, 1, NULL, 0, true);
	drain_is(STORE_OK);
	is_told(2, ROLLING_CHANGED);
	strcpy(own.boot_id, "b0");
	advance(ROLLING_SOAKING, -1);
	is_read(slots, 1, NULL, 0, true);
	drain_is(STORE_OK);
	has(2, STORE_OP_SET, "/r/rolling/g/slots/me", 6);
	world_answer_code(STORE_OK, -1);
	is_told(3, ROLLING_DONE);
	cr_assert_str_eq(told_slot.boot_id, "b0", "it is that of when it was taken");
	finish();
}

Test(rolling, freed_once_healthy)
{
	char *slots[] = {me};

	begin();
	group.max_unavailable = 1;
	own.state = ROLLING_SOAKING;
	world_registry.sick = true;
	ask(ROLLING_FREE);
	is_read(slots, 1, NULL, 0, true);
	drain_is(STORE_OK);
	cr_assert_str_eq(world_request()->path, "/r/rolling/g/slots/me");
	cr_assert(world_request()->watch);
	world_answer_code(STORE_OK, -1);
	for (int i = 0; i < 20; i++)
		world_pass(ROLLING_LOOK_MS);
	cr_assert_null(world_request(), "it is sick");
	world_registry.sick = false;
	world_pass(ROLLING_LOOK_MS);
	world_pass(800);
	cr_assert_null(world_request(), "not for long enough");
	world_session.state = SESSION_CONNECTING;
	world_pass(ROLLING_LOOK_MS);
	world_session.state = SESSION_UP;
	for (int i = 0; i < 5; i++)
		world_pass(ROLLING_LOOK_MS);
	cr_assert_null(world_request(), "not without a break");
	world_pass(ROLLING_LOOK_MS);
	is_read(slots, 1, NULL, 0, true);
	drain_is(STORE_OK);
	has(1, STORE_OP_SET, "/r/rolling/g", 4);
	has(2, STORE_OP_DELETE, "/r/rolling/g/slots/me", 6);
	has(3, STORE_OP_DELETE, "/r/policy/d", -1);
	world_answer_code(STORE_UNKNOWN, -1);
	rolling_up(&rolling);
	is_read(NULL, 0, NULL, 0, false);
	is_told(1, ROLLING_DONE);
	finish();
}

Test(rolling, released_while_it_gets_healthy)
{
	char *slots[] = {me};

	begin();
	group.max_unavailable = 1;
	own.state = ROLLING_SOAKING;
	world_registry.n_unhealthy = 1;
	ask(ROLLING_FREE);
	is_read(slots, 1, NULL, 0, true);
	drain_is(STORE_OK);
	world_answer_code(STORE_OK, -1);
	rolling_watch(&rolling, "/r/rolling/g/slots/me");
	is_read(NULL, 0, NULL, 0, false);
	is_told(1, ROLLING_NOTHING);
	world_registry.n_unhealthy = 0;
	finish();
}

/* --- operators ------------------------------------------------------------ */

Test(rolling, released_and_resumed)
{
	char *slots[] = {me};

	begin();
	group = (struct rolling_group){1, 5, "me", "CMD failed"};
	own.state = ROLLING_FAILED;
	release(); /* of another */
	is_read(slots, 1, NULL, 0, true);
	drain_is(STORE_OK);
	is_told(1, ROLLING_NOTHING);
	ask(ROLLING_RESUME);
	is_read(slots, 1, NULL, 0, true);
	drain_is(STORE_OK);
	has(1, STORE_OP_SET, "/r/rolling/g", 4);
	has(2, STORE_OP_DELETE, "/r/rolling/g/slots/me", 6);
	has(3, STORE_OP_DELETE, "/r/policy/d", -1);
	world_answer_code(STORE_OK, -1);
	is_told(2, ROLLING_DONE);
	group.halted_since = 0;
	ask(ROLLING_RESUME);
	is_read(NULL, 0, NULL, 0, false);
	is_told(3, ROLLING_NOTHING);
	ask(ROLLING_STATUS);
	is_read(slots, 1, NULL, 0, true);
	is_told(4, ROLLING_DONE);
	cr_assert_eq(n_slots, 1);
	/* Nothing is heard for too long. */
	ask(ROLLING_STATUS);
	world_pass(0);
	world_pass(ROLLING_WAIT_MS);
	is_told(5, ROLLING_UNKNOWN);
	for (int i = 0; i < 3; i++)
		world_answer_code(STORE_ABANDONED, -1);
	finish();
}

/* --- drains that nothing else ends ---------------------------------------- */

static struct policy_item drains[2] = {
	{.name = "d1", .kind = POLICY_DRAIN, .record = {.node = "other", .rolling = "g"}},
	{.name = "d2", .kind = POLICY_DRAIN, .record = {.node = "other", .rolling = "g"}}};
static struct policy_item *drain_list[] = {&drains[0], &drains[1]};

static void drains_are(size_t n)
{
	policy.items = drain_list;
	policy.n = n;
}

static void slot_is_garbage(void)
{
	static const uint8_t garbage[] = "garbage";

	cr_assert_str_eq(world_request()->path, "/r/rolling/g/slots/other");
	world_answer(&(struct store_reply){.code = STORE_OK,
					   .data = garbage,
					   .len = sizeof(garbage),
					   .failed_op = -1,
					   .stat = {.version = 7}});
}

Test(rolling, a_slot_whose_record_is_garbage_is_released_with_its_drain)
{
	char *slots[] = {other};

	begin();
	drains_are(1);
	release();
	group.max_unavailable = 1;
	is_read(slots, 1, NULL, 0, false);
	slot_is_garbage();
	has(1, STORE_OP_SET, "/r/rolling/g", 4);
	has(2, STORE_OP_DELETE, "/r/rolling/g/slots/other", 7);
	has(3, STORE_OP_DELETE, "/r/policy/d1", -1);
	cr_assert_eq(world_request()->n_ops, 4);
	world_answer_code(STORE_OK, -1);
	is_told(1, ROLLING_DONE);
	cr_assert_eq(n_undrained, 1);
	finish();
}

Test(rolling, drains_without_a_slot_are_ended)
{
	begin();
	drains_are(2);
	group.max_unavailable = 1;
	release();
	is_read(NULL, 0, NULL, 0, false);
	has(1, STORE_OP_SET, "/r/rolling/g", 4);
	has(2, STORE_OP_DELETE, "/r/policy/d1", -1);
	has(3, STORE_OP_DELETE, "/r/policy/d2", -1);
	world_answer_code(STORE_UNKNOWN, -1);
	/* The release has been done. */
	drains_are(0);
	rolling_up(&rolling);
	is_read(NULL, 0, NULL, 0, false);
	is_told(1, ROLLING_DONE);
	/* A drain of another group is left alone. */
	drains_are(1);
	strcpy(drains[0].record.rolling, "h");
	release();
	is_read(NULL, 0, NULL, 0, false);
	is_told(2, ROLLING_NOTHING);
	finish();
}

Test(rolling, a_drain_without_its_group_is_ended)
{
	begin();
	drains_are(1);
	policy.folder.listing = true;
	ask(ROLLING_RELEASE);
	world_pass(0);
	for (int i = 0; i < 3; i++)
		world_answer_code(STORE_NO_NODE, -1);
	cr_assert_null(world_request(), "the drains are being read");
	policy_has_been_read();
	world_pass(1000);
	for (int i = 0; i < 3; i++)
		world_answer_code(STORE_NO_NODE, -1);
	has(1, STORE_OP_DELETE, "/r/policy/d1", -1);
	cr_assert_eq(world_request()->n_ops, 2);
	world_answer_code(STORE_OK, -1);
	is_told(1, ROLLING_DONE);
	finish();
}

Test(rolling, a_drain_of_a_group_that_is_not_understood_is_ended)
{
	char *slots[] = {other};

	begin();
	drains_are(1);
	release();
	world_pass(0);
	world_answer(&(struct store_reply){.code = STORE_OK,
					   .data = (const uint8_t *)"x",
					   .len = 1,
					   .failed_op = -1,
					   .stat = {.version = 4}});
	answer_names("/r/rolling/g/slots", slots, 1);
	answer_names("/r/rolling/g/waiting", NULL, 0);
	slot_is_garbage();
	has(1, STORE_OP_CHECK, "/r/rolling/g", 4);
	has(2, STORE_OP_DELETE, "/r/rolling/g/slots/other", 7);
	has(3, STORE_OP_DELETE, "/r/policy/d1", -1);
	world_answer_code(STORE_OK, -1);
	is_told(1, ROLLING_DONE);
	finish();
}

Test(rolling, a_host_that_several_drains_may_mean)
{
	begin();
	drains_are(2);
	group.max_unavailable = 1;
	strcpy(drains[0].record.node, "other:/a");
	strcpy(drains[1].record.node, "other:/b");
	release();
	is_read(NULL, 0, NULL, 0, false);
	is_told(1, ROLLING_REFUSED);
	/* The whole name comes first. */
	strcpy(drains[1].record.node, "other");
	release();
	is_read(NULL, 0, NULL, 0, false);
	has(2, STORE_OP_DELETE, "/r/policy/d2", -1);
	cr_assert_eq(world_request()->n_ops, 3);
	world_answer_code(STORE_OK, -1);
	is_told(2, ROLLING_DONE);
	finish();
}

static void audit_reads(enum store_code code)
{
	cr_assert_eq(world_request()->kind, WORLD_GET);
	cr_assert_str_eq(world_request()->path, "/r/rolling/g/slots/other");
	world_answer_code(code, -1);
}

Test(rolling, a_drain_without_a_slot_is_noticed_at_the_second_look)
{
	struct buffer b;

	begin();
	drains_are(1);
	world_pass(10000);
	audit_reads(STORE_NO_NODE);
	cr_assert_null(world_request(), "one look a round");
	cr_assert_not(rolling_is_stray(&rolling, "d1"));
	world_pass(2000);
	audit_reads(STORE_UNKNOWN);
	cr_assert_not(rolling_is_stray(&rolling, "d1"));
	world_pass(2000);
	audit_reads(STORE_NO_NODE);
	cr_assert(rolling_is_stray(&rolling, "d1"));
	/* A slot that is there, with that drain. */
	buffer_init(&b, RECORD_ROLLING_MAX);
	strcpy(own.drain, "d1");
	cr_assert_eq(record_pack_rolling_slot(&b, &own), 0);
	world_pass(10000);
	cr_assert_str_eq(world_request()->path, "/r/rolling/g/slots/other");
	answer_data(&b, 1);
	cr_assert_not(rolling_is_stray(&rolling, "d1"));
	/* Another drain's slot, and garbage. */
	strcpy(own.drain, "d2");
	buffer_truncate(&b, 0);
	cr_assert_eq(record_pack_rolling_slot(&b, &own), 0);
	world_pass(10000);
	answer_data(&b, 1);
	world_pass(2000);
	slot_is_garbage();
	cr_assert(rolling_is_stray(&rolling, "d1"));
	/* The drain has ended. */
	drains_are(0);
	world_pass(10000);
	cr_assert_not(rolling_is_stray(&rolling, "d1"));
	buffer_done(&b);
	finish();
}

Test(rolling, a_few_drains_are_looked_at_in_a_round)
{
	static struct policy_item many[20];
	struct policy_item *list[20];

	begin();
	for (size_t i = 0; i < 20; i++) {
		many[i] = drains[0];
		snprintf(many[i].name, sizeof(many[i].name), "d%zu", i);
		list[i] = &many[i];
	}
	policy.items = list;
	policy.n = 20;
	for (int round = 0; round < 6; round++) {
		size_t looks = 0;
		world_pass(10000);
		for (; world_request(); looks++)
			audit_reads(STORE_NO_NODE);
		cr_assert_eq(looks, 8);
	}
	for (size_t i = 0; i < 20; i++)
		cr_assert(rolling_is_stray(&rolling, many[i].name), "%zu", i);
	drains_are(0);
	world_pass(10000);
	finish();
}
