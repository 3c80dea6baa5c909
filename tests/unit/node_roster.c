/* The roster as the first in rank keeps it: who gets which number, under which version, and who is forgotten. */
#include "recipe_world.h"

#include "node/recipes/roster/roster.h"
#include "node/recipes/roster/roster_write.h"

static struct roster roster;
static enum roster_result told;
static unsigned n_told;

static void on_answer(void *arg, enum roster_result result)
{
	(void)arg;
	told = result;
	n_told++;
}

static void join(const char *id, const char *node)
{
	struct worker *w = worker_new();

	strcpy(w->id, id);
	strcpy(w->version, "1");
	strcpy(w->hostname, "h");
	strcpy(w->node, node);
	w->scheme = 1;
	cr_assert(fleet_add(&world_registry.fleet, w, w->id[0], 0));
}

/* A fleet of "a", who is the first in rank, and "b"; we are one of them. */
static void begin(const char *self)
{
	world_begin();
	fleet_init(&world_registry.fleet);
	join("a", "na");
	join("b", "nb");
	strcpy(world_registry.id, self);
	world_registry.workers.ready = true;
	roster_init(&roster, &world_session, &world_registry);
	roster_go_on(&roster);
}

struct entry {
	const char *node;
	int64_t index,
		departed; /* index UNREAD: its record makes no sense, REFUSED: it may not be read */
};

#define UNREAD	-1
#define REFUSED -2

static int64_t given =
	-1; /* the smallest number that was never given out, as ROOT/roster says; -1: it does not */

static void is_version(int32_t version)
{
	cr_assert_eq(world_request()->kind, WORLD_GET);
	cr_assert_str_eq(world_request()->path, "/r/roster");
	struct roster_head head = {.next = given};
	struct buffer b;

	buffer_init(&b, RECORD_ROSTER_MAX);
	if (given >= 0)
		cr_assert_eq(record_pack_roster_head(&b, &head), 0);
	world_answer(&(struct store_reply){.code = STORE_OK,
					   .failed_op = -1,
					   .data = b.data,
					   .len = b.len,
					   .stat = {.version = version}});
	buffer_done(&b);
}

/* Answers the read of the roster with this list. */
static void is_read(int32_t version, const struct entry *list, size_t n)
{
	char *names[8];

	is_version(version);
	cr_assert_eq(world_request()->kind, WORLD_CHILDREN);
	for (size_t i = 0; i < n; i++)
		names[i] = strdup(list[i].node);
	world_answer(&(struct store_reply){
		.code = STORE_OK, .failed_op = -1, .names = names, .n_names = n});
	for (size_t i = 0; i < n; i++) {
		struct roster_record r = {.index = list[i].index, .departed = list[i].departed};
		struct buffer b;
		if (list[i].index == REFUSED)
			world_answer_code(STORE_NO_AUTH, -1);
		buffer_init(&b, RECORD_ROSTER_MAX);
		if (list[i].index >= 0)
			cr_assert_eq(record_pack_roster(&b, &r), 0);
		if (list[i].index != REFUSED)
			world_answer(&(struct store_reply){
				.code = STORE_OK, .failed_op = -1, .data = b.data, .len = b.len});
		buffer_done(&b);
		free(names[i]);
	}
	is_version(version);
}

/* Expects n changes under this version, the last of this node with this number. */
static void is_sent(int32_t version, size_t n, enum store_op_type type, const char *path,
		    int64_t index, bool departed)
{
	const struct world_request *r = world_request();
	struct roster_record record;
	const char *why;

	cr_assert(r && r->kind == WORLD_MULTI);
	cr_assert_eq(r->n_ops, n + 2);
	cr_assert_str_eq(r->ops[0].path, "/r/workers/w");
	cr_assert_eq(r->ops[1].type, STORE_OP_SET);
	cr_assert_str_eq(r->ops[1].path, "/r/roster");
	cr_assert_eq(r->ops[1].version, version);
	cr_assert_eq(r->ops[n + 1].type, type);
	cr_assert_str_eq(r->ops[n + 1].path, path);
	cr_assert_eq(record_parse_roster(r->data, r->len, &record, &why), 0);
	cr_assert_eq(record.index, index);
	cr_assert_eq(record.departed != 0, departed);
}

/* Confirms the write; the roster is watched again. */
static void is_done(int32_t version)
{
	world_answer_code(STORE_OK, -1);
	is_version(version);
}

Test(roster, the_first_in_rank_gives_numbers_out)
{
	static const struct entry known[] = {{"gone", 1, 5}, {"nb", 0, 0}};

	begin("a");
	is_read(3, NULL, 0);
	is_sent(3, 2, STORE_OP_CREATE, "/r/roster/nb", 1, false);
	/* Somebody else has changed it. */
	world_answer_code(STORE_BAD_VERSION, 1);
	cr_assert_null(world_request());
	world_pass(200);
	is_read(7, known, 2);
	/* A departed node's number is not given out. */
	is_sent(7, 1, STORE_OP_CREATE, "/r/roster/na", 2, false);
	is_done(8);
	cr_assert_null(world_request());
	join("c", "nc");
	roster_go_on(&roster);
	is_sent(8, 1, STORE_OP_CREATE, "/r/roster/nc", 3, false);
	is_done(9);
	roster_done(&roster);
}

Test(roster, nobody_else_does)
{
	begin("b");
	cr_assert_null(world_request());
	roster_done(&roster);
}

/*
 * The roster changes with each node that comes or goes: only a node that may have to write reads
 * it.
 */
Test(roster, who_is_the_first_no_more_and_who_has_asked_watch_it_no_more)
{
	static const struct entry known[] = {{"na", 0, 0}, {"nb", 1, 0}};

	begin("a");
	watches_set_up(&world_session.watches, true);
	is_read(3, known, 2);
	cr_expect_str_empty(world_unwatched);
	join("0", "n0");
	roster_go_on(&roster);
	cr_expect_str_eq(world_unwatched, "/r/roster");
	cr_assert_null(world_request());
	fleet_remove(&world_registry.fleet, "0");
	roster_go_on(&roster);
	is_read(4, known, 2);
	roster_done(&roster);
	fleet_done(&world_registry.fleet);

	world_unwatched[0] = '\0';
	begin("b");
	watches_set_up(&world_session.watches, true);
	roster_list(&roster, on_answer, NULL);
	is_read(3, known, 2);
	cr_expect_eq(told, ROSTER_DONE);
	cr_expect_str_eq(world_unwatched, "/r/roster");
	roster_done(&roster);
}

/* The folder is made where it is missing. */
Test(roster, the_first_of_all)
{
	begin("a");
	world_answer_code(STORE_NO_NODE, -1);
	world_answer_code(STORE_NO_NODE, -1);
	cr_assert_eq(world_request()->kind, WORLD_CREATE);
	cr_assert_str_eq(world_request()->path, "/r/roster");
	world_answer_code(STORE_OK, -1);
	is_read(0, NULL, 0);
	is_sent(0, 2, STORE_OP_CREATE, "/r/roster/nb", 1, false);
	world_answer_code(STORE_UNKNOWN, -1);
	cr_assert_null(world_request());
	roster_go_on(&roster); /* the session is up again */
	cr_assert_eq(world_request()->kind, WORLD_GET);
	world_answer_code(STORE_ABANDONED, -1);
	world_answer_code(STORE_ABANDONED, -1);
	roster_done(&roster);
}

Test(roster, who_goes_and_who_returns)
{
	static const struct entry known[] = {{"na", 0, 0}, {"nb", 1, 9}, {"nx", 2, 0}};

	begin("a");
	is_read(1, known, 3);
	is_sent(1, 1, STORE_OP_SET, "/r/roster/nb", 1, false);
	is_done(2);
	cr_assert_null(world_request(), "nx may be starting again");
	world_pass(ROSTER_ABSENT_MS - 1);
	cr_assert_null(world_request());
	world_pass(1);
	is_sent(2, 1, STORE_OP_SET, "/r/roster/nx", 2, true);
	is_done(3);
	cr_assert_null(world_request());
	roster_done(&roster);
}

/* A change between the first and the last read of it: read again. */
Test(roster, read_under_one_version)
{
	static const struct entry known[] = {{"na", 0, 0}, {"nb", 1, 0}};
	char *names[] = {(char[]){"na"}};

	begin("b");
	watches_set_up(&world_session.watches, true);
	roster_list(&roster, on_answer, NULL);
	is_version(4);
	world_answer(&(struct store_reply){
		.code = STORE_OK, .failed_op = -1, .names = names, .n_names = 1});
	world_answer_code(STORE_NO_NODE, -1);
	is_version(5);
	cr_assert_eq(n_told, 0);
	world_pass(200);
	is_read(5, known, 2);
	cr_assert_eq(n_told, 1);
	cr_assert_eq(told, ROSTER_DONE);
	cr_assert_eq(roster.n, 2);
	roster_done(&roster);
}

static void forget(const char *name)
{
	roster_forget(&roster, name, strlen(name), on_answer, NULL);
}

Test(roster, who_is_forgotten)
{
	static const struct entry known[] = {
		{"na", 0, 0}, {"nb", 1, 0}, {"ng:1", 2, 7}, {"nx:1", 3, 7}, {"nx:2", 4, 0}};

	begin("b");
	forget("nb");
	forget("nobody");
	forget("nx");
	forget("ng");
	is_read(6, known, 5);
	cr_assert_eq(n_told, 1, "the others came while it was being read");
	cr_assert_eq(told, ROSTER_THERE);
	is_read(6, known, 5);
	cr_assert_eq(n_told, 3);
	cr_assert_eq(told, ROSTER_SEVERAL);
	is_sent(6, 1, STORE_OP_DELETE, "/r/roster/ng:1", 2, true);
	is_done(7);
	cr_assert_eq(n_told, 4);
	cr_assert_eq(told, ROSTER_DONE);
	/* The node's end is not noted yet. */
	forget("nx:2");
	is_read(7, known, 5);
	cr_assert_eq(n_told, 4);
	world_pass(ROSTER_WAIT_MS);
	cr_assert_eq(n_told, 5);
	cr_assert_eq(told, ROSTER_JUST_GONE);
	roster_done(&roster);
}

/* The answer was lost: what is read behind it tells. */
Test(roster, a_lost_answer_is_found)
{
	static const struct entry known[] = {{"na", 0, 0}, {"nb", 1, 0}, {"ng", 2, 7}};

	begin("b");
	forget("ng");
	is_read(6, known, 3);
	world_answer_code(STORE_UNKNOWN, -1);
	roster_go_on(&roster);
	is_read(7, known, 2);
	cr_assert_eq(told, ROSTER_DONE);
	world_session.state = SESSION_CONNECTING;
	forget("na");
	cr_assert_eq(told, ROSTER_UNKNOWN);
	roster_done(&roster);
}

/* --- entries that cannot be read ------------------------------------------------------------------------- */

static int64_t head_sent(void)
{
	const struct world_request *r = world_request();
	struct roster_head head;
	const char *why;

	cr_assert(r && r->kind == WORLD_MULTI);
	cr_assert_eq(record_parse_roster_head(r->first, r->first_len, &head, &why), 0);
	return head.next;
}

/* A number that was given out is given to nobody, as long as it may be the one that cannot be read. */
Test(roster, an_entry_that_cannot_be_read_keeps_its_number)
{
	static const struct entry known[] = {{"na", 0, 0}, {"ng", UNREAD, 0}, {"nx", 2, 0}};
	static const struct entry numbered[] = {
		{"na", 0, 0}, {"nb", 5, 0}, {"ng", UNREAD, 0}, {"nx", 2, 0}};

	given = 5;
	begin("a");
	join("x", "nx");
	is_read(9, known, 3);
	is_sent(9, 1, STORE_OP_CREATE, "/r/roster/nb", 5, false);
	cr_assert_eq(head_sent(), 6);
	is_done(10);
	/* The entry is neither noted as gone nor asked for again. */
	world_pass(60000);
	cr_assert_null(world_request());
	forget("ng");
	is_read(10, numbered, 4);
	cr_assert_eq(world_request()->n_ops, 3);
	cr_assert_eq(world_request()->ops[2].type, STORE_OP_DELETE);
	cr_assert_str_eq(world_request()->ops[2].path, "/r/roster/ng");
	is_done(11);
	cr_assert_eq(told, ROSTER_DONE);
	/* Now all are known again, and the smallest that is free comes first. */
	join("z", "nz");
	roster_go_on(&roster);
	is_sent(11, 1, STORE_OP_CREATE, "/r/roster/nz", 1, false);
	is_done(12);
	roster_done(&roster);
}

/* The version of ROOT/roster bounds the numbers given out where its data does not: 40 a write. */
Test(roster, what_was_given_out_is_bounded_where_it_is_not_known)
{
	static const struct entry known[] = {{"na", 0, 0}, {"ng", REFUSED, 0}};

	begin("a");
	is_read(2, known, 2);
	is_sent(2, 1, STORE_OP_CREATE, "/r/roster/nb", 80, false);
	cr_assert_eq(head_sent(), 81);
	is_done(3);
	roster_done(&roster);
}

/* The name of a node that is there: it gets a number anew. */
Test(roster, a_node_whose_entry_cannot_be_read_is_forgotten_while_it_is_there)
{
	static const struct entry known[] = {{"na", 0, 0}, {"nb", UNREAD, 0}};

	given = 2;
	begin("a");
	is_read(3, known, 2);
	cr_assert_null(world_request(), "it has a number");
	forget("nb");
	is_read(3, known, 2);
	cr_assert_str_eq(world_request()->path, "/r/roster/nb");
	cr_assert_eq(world_request()->ops[2].type, STORE_OP_DELETE);
	is_done(4);
	cr_assert_eq(told, ROSTER_DONE);
	is_sent(4, 1, STORE_OP_CREATE, "/r/roster/nb", 1, false);
	is_done(5);
	roster_done(&roster);
}

/* Each time later, up to half a minute. */
Test(roster, what_the_server_refuses_is_asked_for_less_and_less_often)
{
	int asked = 0;

	begin("a");
	for (int64_t i = 0; i < 6000; i++) {
		if (world_request()) {
			asked++;
			world_answer_code(STORE_NO_AUTH, -1);
			world_answer_code(STORE_NO_AUTH, -1);
		}
		world_pass(100);
	}
	cr_expect_lt(asked, 35, "%d times in ten minutes", asked);
	cr_expect_gt(asked, 15, "%d times in ten minutes", asked);
	roster_done(&roster);
}
