/*
 * The roll of a big fleet: who follows it and by what it is doubted, and how whoever keeps it writes it. The fleet
 * is big from two workers on.
 */
#include "node_script.h"

#include "base/buffer.h"
#include "node/fleet/registry.h"
#include "wire/records/record.h"

#define OTHER 9 /* the session of the worker b; that of another one is the character of its id */
#define CROWD 25

static const struct node_settings settings = {.servers = "127.0.0.1:2181",
					      .root = ROOT,
					      .session_timeout_ms = TIMEOUT_MS,
					      .hostname = "here",
					      .name = "here:/s",
					      .roll_from = 2};
static struct session session;
static struct registry registry;
static char news[400];
static struct buffer batches, joined, left, bytes, plain; /* of the head that was made last */
static bool bare;					  /* its records are left out */
static const char *before;				  /* in the roll before its batch, NULL */

static void on_joined(void *arg, struct member *m)
{
	size_t used = strlen(news);

	(void)arg;
	snprintf(news + used, sizeof(news) - used, "+%s ", m->worker->id);
}

static void on_left(void *arg, const struct member *m)
{
	size_t used = strlen(news);

	(void)arg;
	snprintf(news + used, sizeof(news) - used, "-%s ", m->worker->id);
}

static void on_changed(void *arg)
{
	size_t used = strlen(news);

	(void)arg;
	snprintf(news + used, sizeof(news) - used, "; ");
}

static void nothing(void *arg)
{
	(void)arg;
}

static void on_connected(void *arg)
{
	(void)arg;
	snprintf(store.registration, sizeof(store.registration), ROOT "/workers/me");
	session_registered(&session, store.registration, TIMEOUT_MS, host.now_ms);
}

static void on_up(void *arg)
{
	(void)arg;
	registry_up(&registry);
}

static void on_cut(void *arg)
{
	(void)arg;
	registry_cut(&registry);
}

static void on_watch(void *arg, enum store_watch type, const char *path)
{
	(void)arg;
	registry_watch(&registry, type, path);
}

static void begin(void)
{
	static const struct session_handlers session_handlers = {.connected = on_connected,
								 .up = on_up,
								 .leased = nothing,
								 .cut = on_cut,
								 .expired = nothing,
								 .retimed = nothing,
								 .shortened = nothing,
								 .watch = on_watch};
	static const struct registry_handlers handlers = {
		.joined = on_joined, .left = on_left, .changed = on_changed};

	buffer_init(&batches, ROLL_BYTES_MAX);
	buffer_init(&joined, ROLL_BYTES_MAX);
	buffer_init(&left, ROLL_BYTES_MAX);
	buffer_init(&bytes, 2 * ROLL_BYTES_MAX);
	buffer_init(&plain, ROLL_PLAIN_MAX);
	log_setup(LOG_ERROR, LOG_TEXT, false);
	session_init(&session, &host, &settings, &session_handlers);
	registry_init(&registry, &settings, &session, &handlers);
	snprintf(registry.id, sizeof(registry.id), "me");
	session_start(&session);
	connection(STORE_CONNECTED);
}

TestSuite(roll, .init = begin);

#define tells(expected) script_tells(expected, __LINE__)
static void script_tells(const char *expected, int line)
{
	cr_expect_str_eq(news, expected, "line %d: %s", line, news);
	news[0] = '\0';
}

/* --- requests, in any order ------------------------------------------------------------------------------- */

static bool is_open(const char *text)
{
	for (size_t i = 0; i < store.n_open; i++)
		if (strcmp(store.open[i].text, text) == 0)
			return true;
	return false;
}

#define answers(text, reply) script_answers(text, reply, __LINE__)
static void script_answers(const char *text, struct store_reply reply, int line)
{
	size_t at = 0;

	pass(0);
	while (at < store.n_open && strcmp(store.open[at].text, text) != 0)
		at++;
	cr_assert_lt(at, store.n_open,
		     "line %d: %s is not asked, but %zu, of which the first is %s", line, text,
		     store.n_open, store.open[0].text);
	script_answer(at, reply);
	script_confirm();
}

static struct store_reply as_of(int64_t zxid, struct store_reply reply)
{
	reply.stat.pzxid = zxid;
	return reply;
}

static struct store_reply owned_by(int64_t owner)
{
	return of_stat((struct store_stat){.owner = owner});
}

/* The record of a worker, whose session is the first character of its id; that of a is of release 0.1.0. */
static struct store_reply record_of(const char *id)
{
	static struct buffer data;
	struct worker *w = worker_new();

	snprintf(w->id, sizeof(w->id), "%s", id);
	snprintf(w->version, sizeof(w->version), "1.0");
	snprintf(w->ip, sizeof(w->ip), "192.0.2.1");
	snprintf(w->hostname, sizeof(w->hostname), "host-%s", id);
	w->started_at = WALL_MS;
	w->lists = id[0] != 'a';
	worker_set_tasks(w, (const char *const[]){"report"}, 1);
	buffer_done(&data);
	buffer_init(&data, RECORD_WORKER_MAX);
	cr_assert_eq(record_pack_worker(&data, w), 0);
	worker_free(w);
	return holds(data.data, data.len,
		     (struct store_stat){.owner = strcmp(id, "me") == 0 ? SESSION : id[0],
					 .ctime = WALL_MS + 5});
}

/* --- a roll as it is read --------------------------------------------------------------------------------- */

static struct roll_entry entry_of(const char *id)
{
	struct store_reply reply = record_of(id);
	struct roll_entry e = {.session = reply.stat.owner,
			       .ctime = reply.stat.ctime,
			       .record = reply.data,
			       .record_len = reply.len};

	snprintf(e.id, sizeof(e.id), "%s", id);
	return e;
}

/*
 * A head with at most one batch, in which one joins, NULL, and one leaves, NULL. Beside them b and we are
 * there, and who came before, NULL.
 */
static struct store_reply head_of(int64_t base, int64_t zxid, const char *comes, const char *goes)
{
	const char *const ids[] = {"b", "me", before, comes, goes};
	struct roll_head head = {.base = base, .zxid = zxid};
	struct roll_entry e = comes ? entry_of(comes) : (struct roll_entry){.record = NULL};

	for (size_t i = 0; i < sizeof(ids) / sizeof(ids[0]); i++)
		if (ids[i])
			head.set = roll_set(head.set, ids[i]);
	buffer_clear(&batches);
	buffer_clear(&joined);
	buffer_clear(&left);
	buffer_clear(&bytes);
	if (bare)
		e.record_len = 0;
	if (comes)
		roll_pack_entry(&joined, &e);
	if (goes)
		roll_pack_id(&left, goes);
	if (zxid > base)
		roll_pack_batch(&batches, zxid, &joined, comes != NULL, &left, goes != NULL);
	head.log = (const char *)batches.data;
	head.log_len = batches.len;
	cr_assert_gt(roll_pack_head(&bytes, &head), 0);
	return holds(bytes.data, bytes.len, (struct store_stat){.version = (int32_t)zxid});
}

/* The roll has changed. */
static void tells_roll(struct store_reply head)
{
	fires(STORE_NODE_CHANGED, "roll");
	answers("get! roll", head);
}

/* The two of b and us are there as of 10, somebody else keeps a roll that says so, and we follow it. */
static void follow(void)
{
	answers("list! workers", as_of(10, names("b", "me", NULL)));
	answers("get workers/b", record_of("b"));
	answers("get workers/me", record_of("me"));
	answers("exists! roll/keeper", owned_by(OTHER));
	answers("get! roll", head_of(10, 10, NULL, NULL));
	tells("+b +me ; ");
	cr_assert(registry.workers.quiet);
	idle();
}

/* --- following -------------------------------------------------------------------------------------------- */

Test(roll, a_small_fleet_has_none)
{
	answers("list! workers", names("me", NULL));
	answers("get workers/me", record_of("me"));
	pass(TIMEOUT_MS);
	idle();
}

Test(roll, who_follows_it_does_not_watch_the_workers)
{
	follow();
	fires(STORE_CHILDREN_CHANGED, "workers");
	pass(1000);
	idle();
	cr_expect(registry_settled(&registry));
}

Test(roll, a_batch_is_who_joins_and_who_leaves)
{
	follow();
	tells_roll(head_of(10, 12, "c", "b"));
	tells("+c -b ; ");
	const struct member *c = fleet_find(&registry.fleet, "c");
	cr_assert_not_null(c);
	cr_expect_eq(c->session, 'c');
	cr_expect_eq(c->registered_at, WALL_MS + 5);
	cr_expect(registry_settled(&registry));
	tells_roll(head_of(10, 12, "c", "b"));
	tells("");
	idle();
}

Test(roll, whose_record_it_leaves_out_is_read)
{
	follow();
	bare = true;
	tells_roll(head_of(10, 12, "c", NULL));
	tells("");
	answers("get workers/c", record_of("c"));
	tells("+c ; ");
}

Test(roll, who_has_missed_more_than_it_goes_back_lists_the_workers)
{
	follow();
	tells_roll(head_of(11, 12, "c", NULL));
	tells("");
	pass(1000);
	answers("list! workers", as_of(12, names("b", "c", "me", NULL)));
	answers("get workers/c", record_of("c"));
	answers("get! roll", head_of(11, 12, "c", NULL));
	cr_expect(registry.workers.quiet, "it is followed again");
	tells("+c ; ");
	idle();
}

Test(roll, who_is_new_follows_none_that_goes_back_less_than_the_list)
{
	answers("list! workers", as_of(10, names("b", "me", NULL)));
	answers("get workers/b", record_of("b"));
	answers("get workers/me", record_of("me"));
	answers("exists! roll/keeper", owned_by(OTHER));
	answers("get! roll", head_of(12, 14, "c", NULL));
	tells("+b +me ; ");
	pass(ROLL_LAG_MS);
	before = "d";
	answers("list! workers", as_of(14, names("b", "c", "d", "me", NULL)));
	answers("get workers/c", record_of("c"));
	answers("get workers/d", record_of("d"));
	answers("get! roll", head_of(12, 14, "c", NULL));
	cr_expect(registry.workers.quiet);
	tells("+c +d ; ");
}

Test(roll, damage_is_no_roll)
{
	struct store_reply head;

	follow();
	head = head_of(10, 12, "c", NULL);
	bytes.data[bytes.len / 2] ^= 1;
	tells_roll(head);
	tells("");
	pass(1000);
	answers("list! workers", as_of(12, names("b", "c", "me", NULL)));
	answers("get workers/c", record_of("c"));
	answers("get! roll", head);
	cr_expect_not(registry.workers.quiet);
	tells("+c ; ");
	pass(1000);
	fires(STORE_CHILDREN_CHANGED, "workers");
	answers("list! workers", as_of(14, names("b", "me", NULL)));
	tells("-c ; ");
}

/* --- it is compared with the workers ---------------------------------------------------------------------- */

static struct store_reply counts(int64_t zxid, int32_t n)
{
	return of_stat((struct store_stat){.pzxid = zxid, .children = n});
}

/* Once in a session timeout. */
static void looks(struct store_reply reply)
{
	for (int i = 0; i < TIMEOUT_MS / 100 && !is_open("exists workers"); i++)
		pass(100);
	answers("exists workers", reply);
}

Test(roll, a_look_that_says_the_same_is_all)
{
	follow();
	for (int i = 0; i < 3; i++)
		looks(counts(10, 2));
	idle();
	cr_expect(registry.workers.quiet);
}

Test(roll, a_look_that_says_otherwise_lists_the_workers)
{
	follow();
	looks(counts(10, 3));
	pass(1000);
	answers("list! workers", as_of(10, names("b", "c", "me", NULL)));
	answers("get workers/c", record_of("c"));
	tells("+c ; ");
}

Test(roll, one_that_is_of_no_transaction_yet_lists_the_workers)
{
	follow();
	tells_roll(head_of(10, 1000, "c", NULL));
	tells("+c ; ");
	looks(counts(11, 3));
	pass(1000);
	answers("list! workers", as_of(11, names("b", "me", NULL)));
	tells("-c ; ");
}

Test(roll, one_that_is_behind_has_some_time)
{
	follow();
	looks(counts(12, 3));
	tells_roll(head_of(10, 12, "c", NULL));
	pass(ROLL_LAG_MS);
	cr_expect(registry.workers.quiet);
	tells("+c ; ");
	looks(counts(14, 2));
	pass(ROLL_LAG_MS - 100);
	cr_expect(registry.workers.quiet);
	pass(1100);
	answers("list! workers", as_of(14, names("b", "me", NULL)));
	tells("-c ; ");
}

/* --- who is gone ------------------------------------------------------------------------------------------ */

Test(roll, nobody_is_gone_before_a_list_of_our_own_has_said_so)
{
	follow();
	cr_expect_not(registry_is_gone(&registry, 'b'), "it is there");
	idle();
	tells_roll(head_of(10, 12, "c", "b"));
	tells("+c -b ; ");
	cr_expect_not(registry_is_gone(&registry, 'b'));
	pass(1000);
	answers("list workers", as_of(12, names("c", "me", NULL)));
	tells("; ");
	cr_expect(registry_is_gone(&registry, 'b'));
	idle();
}

/* After the loss of a rack there are many, and a list in 100 ms. */
Test(roll, one_list_is_proof_of_all_that_are_asked_for_before_it)
{
	follow();
	for (int64_t one = 1000; one < 1010; one++)
		cr_expect_not(registry_is_gone(&registry, one));
	pass(1000);
	answers("list workers", as_of(10, names("b", "me", NULL)));
	for (int64_t one = 1000; one < 1010; one++)
		cr_expect(registry_is_gone(&registry, one));
	idle();
}

Test(roll, a_fleet_is_proven_by_a_list_of_our_own)
{
	follow();
	cr_expect(registry_is_proven(&registry), "by the first one");
	tells_roll(head_of(10, 12, "c", "b"));
	pass(1000);
	cr_expect_not(registry_is_proven(&registry));
	answers("list workers", as_of(12, names("c", "me", NULL)));
	tells("+c -b ; ; ");
	cr_expect(registry_is_proven(&registry));
	idle();
}

Test(roll, who_the_roll_leaves_out_is_not_gone)
{
	follow();
	tells_roll(head_of(10, 12, "c", "b"));
	tells("+c -b ; ");
	pass(1000);
	cr_expect_not(registry_is_gone(&registry, 'b'));
	answers("list workers", as_of(12, names("b", "c", "me", NULL)));
	answers("get workers/b", record_of("b"));
	tells("+b ; ");
	cr_expect_not(registry_is_gone(&registry, 'b'));
}

Test(roll, without_one_each_list_is_proof)
{
	answers("list! workers", as_of(10, names("me", NULL)));
	answers("get workers/me", record_of("me"));
	cr_expect(registry_is_gone(&registry, 'b'));
	cr_expect(registry_is_proven(&registry));
	idle();
}

/* --- many at once ----------------------------------------------------------------------------------------- */

/* The list of a crowd; its roll, in the bytes, has a chunk with all but w00. */
static struct store_reply crowd(struct buffer *chunk)
{
	static char *list[CROWD], ids[CROWD][8];
	struct roll_head head = {.base = 10, .zxid = 10, .workers = CROWD, .n_chunks = 1};

	buffer_init(chunk, 2 * ROLL_BYTES_MAX);
	for (size_t i = 0; i < CROWD; i++) {
		snprintf(ids[i], sizeof(ids[i]), "w%02zu", i);
		list[i] = ids[i];
		struct roll_entry e = entry_of(ids[i]);
		if (i > 0)
			roll_pack_entry(&joined, &e);
	}
	head.chunks[0] = roll_seal(chunk, joined.data, joined.len);
	cr_assert_gt(roll_pack_head(&bytes, &head), 0);
	return as_of(10, (struct store_reply){.code = STORE_OK, .names = list, .n_names = CROWD});
}

Test(roll, many_new_workers_are_read_from_chunks)
{
	struct buffer chunk;

	answers("list! workers", crowd(&chunk));
	cr_expect_not(is_open("get workers/w00"));
	answers("get! roll", holds(bytes.data, bytes.len, (struct store_stat){.version = 1}));
	answers("get roll/0", holds(chunk.data, chunk.len, (struct store_stat){.version = 1}));
	answers("get workers/w00", record_of("w00"));
	cr_expect_eq(registry.fleet.n_members, CROWD);
	cr_expect(registry_settled(&registry));
	answers("exists! roll/keeper", owned_by(OTHER));
	idle();
	buffer_done(&chunk);
}

Test(roll, chunks_whose_answers_are_lost_are_read_again)
{
	struct buffer chunk;

	answers("list! workers", crowd(&chunk));
	answers("get! roll", holds(bytes.data, bytes.len, (struct store_stat){.version = 1}));
	cr_expect(is_open("get roll/0"));
	answer_all(STORE_UNKNOWN);
	answer_all(STORE_UNKNOWN);
	connection(STORE_CONNECTING);
	connection(STORE_CONNECTED);
	script_confirm();
	buffer_clear(&joined);
	buffer_clear(&bytes);
	buffer_done(&chunk);
	answers("list! workers", crowd(&chunk));
	answers("get! roll", holds(bytes.data, bytes.len, (struct store_stat){.version = 1}));
	answers("get roll/0", holds(chunk.data, chunk.len, (struct store_stat){.version = 1}));
	answers("get workers/w00", record_of("w00"));
	cr_expect_eq(registry.fleet.n_members, CROWD);
	cr_expect(registry.workers.quiet && registry_settled(&registry));
	buffer_done(&chunk);
}

Test(roll, a_chunk_that_is_damaged_is_as_if_it_were_not_there)
{
	struct buffer chunk;

	answers("list! workers", crowd(&chunk));
	answers("get! roll", holds(bytes.data, bytes.len, (struct store_stat){.version = 1}));
	chunk.data[chunk.len / 2] ^= 1;
	answers("get roll/0", holds(chunk.data, chunk.len, (struct store_stat){.version = 1}));
	cr_expect_eq(registry.fleet.n_members, 0);
	answers("get workers/w00", record_of("w00"));
	answers("get workers/w24", record_of("w24"));
	cr_expect_eq(registry.fleet.n_members, 2);
	buffer_done(&chunk);
}

/* All may have come at the same time: the head that has them is waited for. */
Test(roll, many_new_workers_wait_for_one_who_keeps_it)
{
	struct buffer chunk;

	answers("list! workers", crowd(&chunk));
	answers("get! roll", failed(STORE_NO_NODE));
	cr_expect_not(is_open("get workers/w01"));
	answers("exists! roll", owned_by(0));
	answers("get! roll", holds(bytes.data, bytes.len, (struct store_stat){.version = 1}));
	answers("get roll/0", holds(chunk.data, chunk.len, (struct store_stat){.version = 1}));
	answers("get workers/w00", record_of("w00"));
	cr_expect_eq(registry.fleet.n_members, CROWD);
	cr_expect(registry.workers.quiet && registry_settled(&registry));
	buffer_done(&chunk);
}

static struct store_reply hosts(size_t n)
{
	static char *list[2500], ids[2500][24];

	for (size_t i = 0; i < n; i++) {
		snprintf(ids[i], sizeof(ids[i]), "w%04zu", i);
		list[i] = ids[i];
	}
	return as_of(10, (struct store_reply){.code = STORE_OK, .names = list, .n_names = n});
}

static bool reads_alone(void)
{
	return is_open("get workers/w0001");
}

static void reads_alone_after(int64_t ms)
{
	pass(ms - 1);
	cr_expect_not(reads_alone(), "before %d ms", (int)ms);
	pass(100);
	cr_expect(reads_alone(), "after %d ms", (int)ms);
}

static void reads_alone_after_a_session(void)
{
	for (int64_t ms = 0; ms < TIMEOUT_MS - 1000; ms += 500) {
		pass(500);
		cr_assert_not(reads_alone(), "after %d ms", (int)ms);
	}
	pass(3000);
	cr_expect(reads_alone(), "not for ever");
}

static struct store_reply packed(const struct roll_head *head, int32_t version)
{
	buffer_clear(&bytes);
	cr_assert_gt(roll_pack_head(&bytes, head), 0);
	return holds(bytes.data, bytes.len, (struct store_stat){.version = version});
}

/* A roll that is behind the list of so many, and counts so many. */
static void head_counts(size_t listed, int64_t workers)
{
	const struct roll_head head = {.base = 9, .zxid = 9, .workers = workers};

	answers("list! workers", hosts(listed));
	answers("get! roll", packed(&head, 1));
	answers("exists! roll/keeper", owned_by(OTHER));
}

Test(roll, many_new_workers_do_not_wait_for_long)
{
	head_counts(CROWD, CROWD);
	reads_alone_after(ROLL_LAG_MS);
	answers("get workers/w0001", record_of("w0001"));
	cr_expect(is_open("list! workers"));
}

/* Whoever keeps it has to read as many. */
Test(roll, the_more_are_new_the_longer_they_wait)
{
	head_counts(2500, 2500);
	reads_alone_after(ROLL_LAG_MS + 2 * 2500 / FOLDER_LIST_NAMES_PER_MS);
}

/* A sidecar that was early has listed few of them. */
Test(roll, a_head_of_many_is_waited_for_as_long_as_many_wait)
{
	head_counts(350, 2500);
	reads_alone_after(ROLL_LAG_MS + 2 * 2500 / FOLDER_LIST_NAMES_PER_MS);
}

Test(roll, a_head_that_counts_too_many_is_waited_for_as_long_as_a_session)
{
	head_counts(350, INT32_MAX);
	pass(TIMEOUT_MS + 100);
	cr_expect(reads_alone());
}

Test(roll, while_its_keeper_reads_the_fleet_nobody_else_does)
{
	answers("list! workers", hosts(2500));
	answers("get! roll", failed(STORE_NO_NODE));
	answers("exists! roll", failed(STORE_NO_NODE));
	answers("exists! roll/keeper", owned_by(OTHER));
	reads_alone_after_a_session();
}

Test(roll, a_head_with_few_of_those_listed_is_of_a_keeper_that_reads_on)
{
	head_counts(350, 250);
	reads_alone_after_a_session();
}

Test(roll, chunks_that_are_to_be_written_are_waited_for)
{
	const struct roll_head head = {.base = 10, .zxid = 10, .workers = 350, .n_chunks = 4};

	answers("list! workers", hosts(350));
	answers("get! roll", packed(&head, 1));
	answers("exists! roll/keeper", owned_by(OTHER));
	reads_alone_after_a_session();
}

/* The last quarter of a fleet is in fewer chunks than it has workers. */
Test(roll, the_rest_is_read_from_the_rest_of_the_chunks)
{
	struct roll_head head = {.base = 10, .zxid = 10, .workers = 500, .n_chunks = 2};
	struct store_reply list = hosts(500);
	struct buffer chunk;

	answers("list! workers", list);
	buffer_init(&chunk, 2 * ROLL_BYTES_MAX);
	for (size_t i = 120; i < 500; i++) {
		struct roll_entry e = entry_of(list.names[i]);
		roll_pack_entry(&joined, &e);
	}
	head.chunks[0] = roll_seal(&chunk, joined.data, joined.len);
	answers("get! roll", packed(&head, 1));
	answers("get roll/0", holds(chunk.data, chunk.len, (struct store_stat){.version = 1}));
	answers("exists! roll/keeper", owned_by(OTHER));
	cr_expect_not(reads_alone());
	head.chunks[1] = 1;
	tells_roll(packed(&head, 2));
	cr_expect(is_open("get roll/1") && !is_open("get roll/0") && !reads_alone());
	buffer_done(&chunk);
}

Test(roll, a_roll_that_is_written_on_is_waited_for)
{
	struct roll_head head = {.base = 9, .zxid = 9, .workers = 350};

	head_counts(350, 350);
	pass(ROLL_LAG_MS - 200);
	head.set = 1; /* something is another */
	tells_roll(packed(&head, 2));
	pass(ROLL_LAG_MS - 200);
	cr_expect_not(reads_alone(), "it has gone on");
	pass(ROLL_LAG_MS);
	cr_expect(reads_alone(), "and then not any more");
}

/* Late answers of a server are no fault of the keeper. */
Test(roll, an_answer_that_is_late_is_waited_for)
{
	struct roll_head head = {.base = 10, .zxid = 10, .workers = 350, .n_chunks = 1};

	head_counts(350, 350);
	fires(STORE_NODE_CHANGED, "roll");
	pass(2 * ROLL_LAG_MS);
	cr_expect_not(reads_alone(), "the next head may have them");
	head.chunks[0] = 1;
	answers("get! roll", packed(&head, 2));
	cr_expect(is_open("get roll/0"));
	pass(3 * ROLL_LAG_MS);
	cr_expect_not(reads_alone(), "the chunk may have them");
	pass(TIMEOUT_MS - 3 * ROLL_LAG_MS);
	cr_expect(reads_alone(), "not for ever");
}

static void grows(int64_t ms)
{
	head_counts(350, 350);
	pass(ms);
	cr_expect(reads_alone());
	answers("list! workers", hosts(2500));
}

Test(roll, who_reads_alone_waits_again_where_most_have_come_since)
{
	grows(TIMEOUT_MS / 2);
	cr_expect(registry.workers.held);
}

Test(roll, who_was_patient_for_a_session_reads_alone_all_who_have_come)
{
	grows(TIMEOUT_MS + 1000);
	cr_expect_not(registry.workers.held);
}

/* A sidecar that has read the fleet alone finds, so much later, that it is bigger, and that the roll has all of it. */
static void finds_more(int64_t ms)
{
	const struct roll_head head = {.base = 20, .zxid = 20, .workers = 2500};

	head_counts(350, 350);
	pass(ms);
	cr_expect(reads_alone());
	answers("list! workers", hosts(350));
	answers("get! roll", packed(&head, 2));
	pass(350 / ROLL_LISTS_PER_MS);
	answers("list! workers", as_of(20, hosts(2500)));
}

Test(roll, who_was_not_patient_enough_waits_again_for_a_roll_of_more)
{
	finds_more(TIMEOUT_MS / 2);
	cr_expect(registry.workers.held);
}

Test(roll, who_was_patient_for_a_session_does_not_wait_again)
{
	finds_more(TIMEOUT_MS + 1000);
	cr_expect_not(registry.workers.held);
}

Test(roll, one_whose_log_begins_after_a_newer_list_is_not_waited_for)
{
	const struct roll_head lie = {.base = 20, .zxid = 20, .workers = 350};

	answers("list! workers", hosts(350));
	answers("get! roll", packed(&lie, 1));
	answers("exists! roll/keeper", owned_by(OTHER));
	pass(350 / ROLL_LISTS_PER_MS);
	answers("list! workers", hosts(350));
	cr_expect_not(reads_alone());
	answers("get! roll", packed(&lie, 1));
	cr_expect(reads_alone());
}

Test(roll, where_nobody_keeps_it_its_first_head_is_waited_for_twice)
{
	snprintf(registry.id, sizeof(registry.id), "x"); /* our turn to keep it is the last one */
	answers("list! workers", hosts(2500));
	answers("get! roll", failed(STORE_NO_NODE));
	answers("exists! roll", failed(STORE_NO_NODE));
	answers("exists! roll/keeper", failed(STORE_NO_NODE));
	for (int round = 0; round < 2; round++) {
		pass(ROLL_LAG_MS + 2 * 2500 / FOLDER_LIST_NAMES_PER_MS - 100);
		cr_expect_not(is_open("get workers/w0001"));
		pass(200);
		if (round == 0) {
			answers("list workers", hosts(2500));
			answers("get! roll", failed(STORE_NO_NODE));
		}
	}
	cr_expect(is_open("get workers/w0001"));
}

/* --- keeping it ------------------------------------------------------------------------------------------- */

static struct roll_head sent; /* the head that was written last */
static int64_t sent_sum;
static char said[400]; /* its changes */

static bool on_batch(void *arg, int64_t zxid)
{
	size_t used = strlen(said);

	(void)arg;
	snprintf(said + used, sizeof(said) - used, "%d: ", (int)zxid);
	return true;
}

static void on_entry(void *arg, const struct roll_entry *e)
{
	size_t used = strlen(said);

	(void)arg;
	snprintf(said + used, sizeof(said) - used, "+%s%s ", e->id, e->record_len ? "" : "?");
}

static void on_id(void *arg, const char *id)
{
	size_t used = strlen(said);

	(void)arg;
	snprintf(said + used, sizeof(said) - used, "-%s ", id);
}

static const struct roll_changes changes = {on_batch, on_entry, on_id, NULL};

/* The head in the transaction that was answered last, as others read it. */
#define says(base, zxid, expected) script_says(base, zxid, expected, __LINE__)
static void script_says(int64_t base, int64_t zxid, const char *expected, int line)
{
	const char *why = "";

	cr_assert_eq(roll_parse_head(store.last.last_data, store.last.last_len, &plain, &sent,
				     &sent_sum, &why),
		     0, "line %d: %s", line, why);
	cr_expect_eq(sent.base, base, "line %d: %d", line, (int)sent.base);
	cr_expect_eq(sent.zxid, zxid, "line %d: %d", line, (int)sent.zxid);
	said[0] = '\0';
	roll_each_change(&sent, &changes);
	cr_expect_str_eq(said, expected, "line %d: %s", line, said);
}

/* The two of b and us are there, and nobody keeps a roll. */
static void vacant(void)
{
	answers("list! workers", as_of(10, names("b", "me", NULL)));
	answers("get workers/b", record_of("b"));
	answers("get workers/me", record_of("me"));
	answers("get! roll", failed(STORE_NO_NODE));
	answers("exists! roll", failed(STORE_NO_NODE));
	answers("exists! roll/keeper", failed(STORE_NO_NODE));
	tells("+b +me ; ");
	idle();
}

/* Our turn, which is the second one. */
static void claim(void)
{
	pass(ROLL_TURN_MS - 1);
	idle();
	pass(1);
	answers("list! workers", as_of(10, names("b", "me", NULL)));
	answers("get! roll", failed(STORE_NO_NODE));
	answers("exists! roll", failed(STORE_NO_NODE));
	tells("; ");
}

/* The roll is ours, and we have written it for the first time. */
static void keep(void)
{
	vacant();
	claim();
	answers("create roll, create* roll/keeper", ok());
	answers("get! roll", holds("", 0, (struct store_stat){.version = 0}));
	answers("list roll", names("keeper", NULL));
	answers("create roll/0, set roll v0", ok());
}

static void list_again(struct store_reply list)
{
	pass(FOLDER_LIST_EVERY_MS);
	fires(STORE_CHILDREN_CHANGED, "workers");
	answers("list! workers", list);
}

Test(roll, where_nobody_keeps_it_we_do_in_our_turn)
{
	keep();
	says(10, 10, "");
	cr_assert_eq(sent.n_chunks, 1);
	said[0] = '\0';
	cr_assert_eq(roll_parse_chunk(store.last.data, store.last.len, sent.chunks[0], &changes),
		     0);
	cr_expect_str_eq(said, "+b +me ");
	cr_expect_not(registry.workers.quiet);
}

/* Chunks of a fleet of thousands do not fit into the first write, and those who start wait for the others. */
Test(roll, chunks_that_are_missing_are_written_without_a_change)
{
	struct roll_head head = {
		.base = 10, .zxid = 10, .workers = 2, .n_chunks = 2, .chunks = {7}};

	head.set = roll_set(roll_set(0, "b"), "me");
	cr_assert_gt(roll_pack_head(&bytes, &head), 0);
	vacant();
	claim();
	answers("create roll, create* roll/keeper", ok());
	answers("get! roll", holds(bytes.data, bytes.len, (struct store_stat){.version = 4}));
	answers("list roll", names("0", "keeper", NULL));
	answers("create roll/1, set roll v4", ok());
	says(10, 10, "");
	cr_expect(sent.chunks[0] == 7 && sent.chunks[1] != 0);
	pass(ROLL_BATCH_MS);
	idle();
}

/* A head that comes while chunks of the one before are read has others. */
Test(roll, chunks_that_were_written_anew_meanwhile_are_read_again)
{
	struct buffer chunk;
	struct roll_head head = {.base = 10, .zxid = 10, .workers = CROWD, .n_chunks = 1};

	answers("list! workers", crowd(&chunk));
	head.chunks[0] = roll_seal(&plain, joined.data, joined.len) + 1;
	buffer_clear(&joined);
	cr_assert_gt(roll_pack_head(&joined, &head), 0);
	answers("get! roll", holds(joined.data, joined.len, (struct store_stat){.version = 1}));
	cr_expect(is_open("get roll/0"));
	fires(STORE_NODE_CHANGED, "roll");
	answers("get! roll", holds(bytes.data, bytes.len, (struct store_stat){.version = 2}));
	answers("get roll/0", holds(chunk.data, chunk.len, (struct store_stat){.version = 1}));
	answers("get roll/0", holds(chunk.data, chunk.len, (struct store_stat){.version = 2}));
	answers("get workers/w00", record_of("w00"));
	cr_expect_eq(registry.fleet.n_members, CROWD);
	buffer_done(&chunk);
}

Test(roll, none_of_a_release_without_it_is_waited_for)
{
	static const char *const old[] = {"a1", "a2", "a3", "a4", "a5", "a6", "a7",
					  "a8", "a9", "aa", "ab", "ac", "ad"};
	const struct store_reply list =
		as_of(10, names("a1", "a2", "a3", "a4", "a5", "a6", "a7", "a8", "a9", "aa", "ab",
				"ac", "ad", "b", "me", NULL));
	char read[32];

	answers("list! workers", list);
	answers("get! roll", failed(STORE_NO_NODE));
	answers("exists! roll", failed(STORE_NO_NODE));
	answers("exists! roll/keeper", failed(STORE_NO_NODE));
	pass(ROLL_LAG_MS + 100);
	answers("list workers", list);
	answers("get! roll", failed(STORE_NO_NODE));
	answers("exists! roll", failed(STORE_NO_NODE));
	pass(ROLL_LAG_MS + 100);
	answers("list! workers", list);
	answers("get! roll", failed(STORE_NO_NODE));
	answers("exists! roll", failed(STORE_NO_NODE));
	for (size_t i = 0; i < sizeof(old) / sizeof(old[0]); i++) {
		snprintf(read, sizeof(read), "get workers/%s", old[i]);
		answers(read, record_of(old[i]));
	}
	answers("get workers/b", record_of("b"));
	answers("get workers/me", record_of("me"));
	pass(ROLL_TURN_MS - 1);
	idle();
	pass(1);
	answers("list! workers", list);
	answers("get! roll", failed(STORE_NO_NODE));
	answers("exists! roll", failed(STORE_NO_NODE));
	answers("create roll, create* roll/keeper", ok());
}

Test(roll, a_change_is_one_transaction_with_its_chunk)
{
	keep();
	list_again(as_of(12, names("b", "c", "me", NULL)));
	answers("get workers/c", record_of("c"));
	answers("set roll/0, set roll v1", ok());
	says(10, 12, "12: +c ");
	list_again(as_of(14, names("c", "me", NULL)));
	answers("set roll/0, set roll v2", ok());
	says(10, 14, "12: +c 14: -b ");
	said[0] = '\0';
	cr_assert_eq(roll_parse_chunk(store.last.data, store.last.len, sent.chunks[0], &changes),
		     0);
	cr_expect_str_eq(said, "+c +me ");
}

Test(roll, what_is_not_read_yet_is_not_written)
{
	keep();
	list_again(as_of(12, names("b", "c", "me", NULL)));
	answers("get workers/c", record_of("c"));
	list_again(as_of(14, names("b", "c", "d", "me", NULL)));
	answers("set roll/0, set roll v1", ok());
	says(10, 12, "12: +c ");
	cr_expect_not(is_open("set roll/0, set roll v2"));
	answers("get workers/d", record_of("d"));
	answers("set roll/0, set roll v2", ok());
	says(10, 14, "12: +c 14: +d ");
}

Test(roll, who_was_first_is_left_to_keep_it)
{
	vacant();
	claim();
	answers("create roll, create* roll/keeper", failed_at(STORE_NODE_EXISTS, 0));
	answers("get! roll", head_of(9, 10, NULL, NULL));
	fires(STORE_NODE_CREATED, "roll/keeper");
	answers("exists! roll/keeper", owned_by(OTHER));
	pass(1000);
	cr_expect(registry.workers.quiet);
	idle();
}

/* Whoever is about to keep it reads the fleet: more at a time than those who would wait for it. */
Test(roll, who_is_not_the_first_leaves_the_reading_to_that_one)
{
	answers("list! workers", hosts(300));
	answers("get! roll", failed(STORE_NO_NODE));
	answers("exists! roll", failed(STORE_NO_NODE));
	answers("exists! roll/keeper", failed(STORE_NO_NODE));
	registry.roll.ours = registry.workers.first = true; /* as in its turn */
	folder_release(&registry.workers);
	pass(0);
	cr_expect_eq(registry.workers.reads, 300);
	fires(STORE_NODE_CREATED, "roll/keeper");
	answers("exists! roll/keeper", owned_by(OTHER));
	pass(FOLDER_LIST_EVERY_MS);
	answers("list! workers", hosts(350));
	cr_expect_not(registry.workers.first);
	pass(1000);
	cr_expect_not(is_open("get workers/w0340"));
}

Test(roll, a_write_that_is_refused_is_done_again_once_all_is_known)
{
	keep();
	list_again(as_of(12, names("b", "c", "me", NULL)));
	answers("get workers/c", record_of("c"));
	answers("set roll/0, set roll v1", failed_at(STORE_BAD_VERSION, 1));
	answers("exists! roll/keeper", owned_by(SESSION));
	pass(1000);
	answers("get! roll", head_of(9, 10, "x", NULL)); /* by somebody else */
	answers("list roll", names("0", "keeper", NULL));
	answers("set roll/0, set roll v10", ok());
	says(12, 12, "");
}

Test(roll, whose_term_was_ended_keeps_it_no_more)
{
	keep();
	fires(STORE_NODE_DELETED, "roll/keeper");
	answers("exists! roll/keeper", owned_by(OTHER));
	list_again(as_of(12, names("b", "c", "me", NULL)));
	answers("get workers/c", record_of("c"));
	pass(1000);
	cr_expect_not(is_open("set roll/0, set roll v1"));
}

Test(roll, once_the_fleet_is_small_it_is_ended)
{
	keep();
	list_again(as_of(12, names("me", NULL)));
	answers("set roll, delete roll/keeper", ok());
	cr_expect_eq(store.last.last_len, 0);
	pass(1000);
	answers("list! workers", as_of(12, names("me", NULL)));
	pass(2000);
	idle();
}

/* The connection goes while a write is outstanding, and the next one finds that head. */
static void reconnect(struct store_reply head)
{
	answer_all(STORE_UNKNOWN);
	connection(STORE_CONNECTING);
	connection(STORE_CONNECTED);
	script_confirm();
	answers("list! workers", as_of(12, names("b", "c", "me", NULL)));
	answers("get! roll", head);
	answers("exists! roll/keeper", owned_by(SESSION));
	answers("get! roll", head);
	answers("list roll", names("0", "keeper", NULL));
	pass(FOLDER_LIST_EVERY_MS); /* it was followed for a moment */
	answers("list! workers", as_of(12, names("b", "c", "me", NULL)));
}

Test(roll, a_write_that_has_landed_unseen_is_gone_on_from)
{
	struct buffer head;

	keep();
	list_again(as_of(12, names("b", "c", "me", NULL)));
	answers("get workers/c", record_of("c"));
	cr_assert(is_open("set roll/0, set roll v1"));
	buffer_init(&head, ROLL_BYTES_MAX);
	buffer_append(&head, store.open[0].last_data, store.open[0].last_len);
	reconnect(holds(head.data, head.len, (struct store_stat){.version = 2}));
	list_again(as_of(14, names("c", "me", NULL)));
	answers("set roll/0, set roll v2", ok());
	says(10, 14, "12: +c 14: -b ");
	buffer_done(&head);
}

Test(roll, a_write_that_was_lost_is_done_again)
{
	struct buffer head;

	keep();
	buffer_init(&head, ROLL_BYTES_MAX);
	buffer_append(&head, store.last.last_data, store.last.last_len);
	list_again(as_of(12, names("b", "c", "me", NULL)));
	answers("get workers/c", record_of("c"));
	reconnect(holds(head.data, head.len, (struct store_stat){.version = 1}));
	answers("set roll/0, set roll v1", ok());
	says(10, 12, "12: +c ");
	buffer_done(&head);
}

/* The roll is behind the workers for longer than it may be, and they are listed. */
static void falls_behind(void)
{
	follow();
	looks(counts(12, 3));
	pass(ROLL_LAG_MS + 100);
	answers("list! workers", as_of(12, names("b", "c", "me", NULL)));
	answers("get workers/c", record_of("c"));
}

Test(roll, whoever_keeps_it_and_does_nothing_makes_room)
{
	falls_behind();
	answers("get! roll", head_of(10, 10, NULL, NULL));
	cr_expect_not(registry.workers.quiet);
	pass(TIMEOUT_MS - 1000);
	idle();
	pass(2000);
	answers("delete roll/keeper", ok());
	answers("exists! roll/keeper", failed(STORE_NO_NODE));
}

/* An attempt to keep it that came too late is repeated soon: that says nothing against who was first. */
Test(roll, whoever_keeps_it_has_its_time_whatever_turn_comes_before)
{
	falls_behind();
	registry.roll.turning = true;
	registry.roll.turn_ms = host.now_ms + ROLL_TURN_MS;
	host_timer_start(&registry.roll.turn, ROLL_TURN_MS);
	answers("get! roll", head_of(10, 10, NULL, NULL));
	pass(TIMEOUT_MS - 1000);
	idle();
	pass(2000);
	fires(STORE_NODE_CHANGED, "roll");
	answers("get! roll", head_of(10, 10, NULL, NULL));
	pass(1000);
	answers("delete roll/keeper", ok());
	cr_expect_not(is_open("delete roll/keeper"), "once, as another one may keep it by now");
}
