/* The fleet as the others' records make it: who is a member, who is refused, and what a change is told by. */
#include "node_script.h"

#include "base/buffer.h"
#include "node/fleet/registration.h"
#include "wire/records/record.h"

static const struct node_settings settings = {.servers = "127.0.0.1:2181",
					      .root = ROOT,
					      .session_timeout_ms = TIMEOUT_MS,
					      .hostname = "here",
					      .name = "here:/s"};
static struct session session;
static struct registry registry;
static char news[400];

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

	log_setup(LOG_ERROR, LOG_TEXT, false);
	session_init(&session, &host, &settings, &session_handlers);
	registry_init(&registry, &settings, &session, &handlers);
	session_start(&session);
	connection(STORE_CONNECTED);
}

TestSuite(registry, .init = begin);

#define tells(expected) script_tells(expected, __LINE__)
static void script_tells(const char *expected, int line)
{
	cr_expect_str_eq(news, expected, "line %d: %s", line, news);
	news[0] = '\0';
}

/* The record of a worker, made by that session. */
static struct store_reply record_of(const char *id, int64_t owner)
{
	static struct buffer data;
	struct worker *w = worker_new();

	snprintf(w->id, sizeof(w->id), "%s", id);
	snprintf(w->version, sizeof(w->version), "1.0");
	snprintf(w->ip, sizeof(w->ip), "192.0.2.1");
	snprintf(w->hostname, sizeof(w->hostname), "host-%s", id);
	w->started_at = WALL_MS;
	worker_set_tasks(w, (const char *const[]){"report"}, 1);
	buffer_done(&data);
	buffer_init(&data, RECORD_WORKER_MAX);
	cr_assert_eq(record_pack_worker(&data, w), 0);
	worker_free(w);
	return holds(data.data, data.len,
		     (struct store_stat){.owner = owner, .ctime = WALL_MS + 5});
}

static void list_again(void)
{
	pass(FOLDER_LIST_EVERY_MS);
	fires(STORE_CHILDREN_CHANGED, "workers");
}

Test(registry, the_fleet_is_listed_with_a_watch_and_each_record_read_once)
{
	asks("list! workers", names("a", "b", NULL));
	cr_expect_not(registry_settled(&registry));
	asks("get workers/a", record_of("a", 1));
	cr_expect_not(registry.workers.ready);
	asks("get workers/b", record_of("b", 2));
	tells("+a +b ; ");
	cr_expect(registry_settled(&registry));
	const struct member *b = fleet_find(&registry.fleet, "b");
	cr_assert_not_null(b);
	cr_expect_eq(b->session, 2);
	cr_expect_eq(b->seen_ms, host.now_ms);
	cr_expect_eq(b->registered_at, WALL_MS + 5, "by the server's clock");
	idle();
}

Test(registry, who_comes_and_goes_is_told_after_the_list)
{
	asks("list! workers", names("a", NULL));
	asks("get workers/a", record_of("a", 1));
	tells("+a ; ");
	list_again();
	asks("list! workers", names("b", NULL));
	tells("-a ");
	asks("get workers/b", record_of("b", 2));
	tells("+b ; ");
}

Test(registry, records_that_make_no_member)
{
	static const struct {
		const char *name;
		int64_t owner;
		const char *id; /* that the record says */
		bool junk;
		const char *why;
	} cases[] = {
		{"no id", 1, "a", false, "the znode's name is no worker id"},
		{"a", 0, "a", false, "not ephemeral"},
		{"a", 1, "b", false, "id: is not the znode's name"},
		{"a", 1, "a", true, NULL},
	};

	asks("list! workers", names(NULL));
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		char request[80];
		list_again();
		asks("list! workers", names(cases[i].name, NULL));
		snprintf(request, sizeof(request), "get workers/%s", cases[i].name);
		asks(request, cases[i].junk ? holds("junk", 4, (struct store_stat){.owner = 1})
					    : record_of(cases[i].id, cases[i].owner));
		cr_expect_eq(registry.fleet.n_members, 0, "case %zu", i);
		cr_assert_eq(registry.n_refused, 1, "case %zu", i);
		cr_expect_str_eq(registry.refused[0].id, cases[i].name, "case %zu", i);
		if (cases[i].why)
			cr_expect_str_eq(registry.refused[0].why, cases[i].why, "case %zu", i);
		list_again();
		asks("list! workers", names(NULL));
		cr_expect_eq(registry.n_refused, 0, "it is gone");
	}
}

Test(registry, what_cannot_be_read_is_refused_and_not_read_again)
{
	asks("list! workers", names("a", NULL));
	asks("get workers/a", failed(STORE_NO_AUTH));
	cr_expect_eq(registry.n_refused, 1);
	cr_expect(registry.workers.ready);
	list_again();
	asks("list! workers", names("a", NULL));
	idle();
}

Test(registry, who_is_gone_before_it_was_read_was_never_there)
{
	asks("list! workers", names("a", NULL));
	asks("get workers/a", failed(STORE_NO_NODE));
	tells("; ");
	cr_expect(registry.workers.ready);
}

/* A write will tell for certain, and lead to another registration. */
Test(registry, our_own_record_is_not_missing_before_a_write_has_said_so)
{
	snprintf(registry.id, sizeof(registry.id), "me");
	asks("list! workers", names("me", NULL));
	asks("get workers/me", record_of("me", SESSION));
	tells("+me ; ");
	store.silent = true;
	list_again();
	asks("list! workers", names(NULL));
	cr_expect_not_null(registry_self(&registry));
	asks("check workers/me", ok());
	cr_expect_not_null(registry_self(&registry));
}

Test(registry, a_folder_that_is_missing_is_made_and_listed_again)
{
	asks("list! workers", failed(STORE_NO_NODE));
	asks("create " ROOT, ok());
	asks("create workers", ok());
	asks("create leaders", ok());
	asks("create policy", ok());
	store.n_open = 0; /* a registration, that is not told of here */
	pass(1000);
	while (store.n_open > 0 && strcmp(store.open[0].text, "list! workers") != 0)
		script_answer(0, failed(STORE_ABANDONED));
	asks("list! workers", names(NULL));
	cr_expect(registry.workers.ready);
}

/* --- another connection ------------------------------------------------------------------------------------ */

Test(registry, what_is_known_stays_over_a_lost_connection)
{
	asks("list! workers", names("a", "b", NULL));
	asks("get workers/a", record_of("a", 1));
	asks("get workers/b", failed(STORE_UNKNOWN));
	answer_all(STORE_UNKNOWN);
	connection(STORE_CONNECTING);
	cr_expect_eq(registry.fleet.n_members, 1);
	connection(STORE_CONNECTED);
	asks("list! workers", names("a", "b", NULL));
	asks("get workers/b", record_of("b", 2));
	tells("+a +b ; ");
	idle();
}

/* --- limits and pace --------------------------------------------------------------------------------------- */

static char ids[1000][24];

static void lists(size_t n)
{
	static char *list[1000];
	struct store_reply reply = {.code = STORE_OK, .names = list, .n_names = n};

	for (size_t i = 0; i < n; i++) {
		snprintf(ids[i], sizeof(ids[i]), "w%03zu", i);
		list[i] = ids[i];
	}
	asks("list! workers", reply);
}

static void reads(size_t first, size_t end)
{
	for (size_t i = first; i < end; i++) {
		char request[40];
		snprintf(request, sizeof(request), "get workers/%s", ids[i]);
		asks(request, record_of(ids[i], (int64_t)i + 1));
	}
}

Test(registry, reads_are_100_at_a_time)
{
	lists(150);
	cr_expect_eq(store.n_open, FOLDER_READS_MAX);
	reads(0, 1);
	cr_expect_eq(store.n_open, FOLDER_READS_MAX);
	cr_expect_not(registry.reads_many, "that takes no time");
	reads(1, 150);
	cr_expect_eq(registry.fleet.n_members, 150);
	idle();
}

/* The others know up to a second later who is there, where thousands start at once. */
Test(registry, a_big_fleet_is_read_for_a_while_and_known_to_others_later)
{
	lists(1000);
	reads(0, 999);
	cr_expect(registry.reads_many);
	pass(5000);
	reads(999, 1000);
	cr_expect_not(registry.reads_many);
	cr_expect_eq(fleet_find(&registry.fleet, "w999")->seen_ms,
		     host.now_ms + 1000 / FOLDER_LIST_NAMES_PER_MS - FOLDER_LIST_EVERY_MS);
	cr_expect_eq(registry.read_ms, fleet_find(&registry.fleet, "w999")->seen_ms);
	idle();
}

Test(registry, a_folder_that_keeps_changing_is_listed_every_100_ms)
{
	asks("list! workers", names(NULL));
	for (int i = 0; i < 5; i++)
		fires(STORE_CHILDREN_CHANGED, "workers");
	idle();
	pass(FOLDER_LIST_EVERY_MS - 1);
	idle();
	pass(1);
	fires(STORE_CHILDREN_CHANGED, "workers"); /* while it is being listed: once more */
	asks("list! workers", names(NULL));
	idle();
	pass(FOLDER_LIST_EVERY_MS);
	asks("list! workers", names(NULL));
	pass(1000);
	idle();
}
