/*
 * Lists by digest: how our own is made and kept, how those of others are read and shared, what one that is missing
 * or damaged means, in which form our record is, and which lists the audit removes.
 */
#include "node_script.h"

#include "base/buffer.h"
#include "base/hash.h"
#include "node/fleet/registration.h"
#include "wire/records/record.h"

#define OTHER 9 /* another session */

static const struct node_settings settings = {.servers = "127.0.0.1:2181",
					      .root = ROOT,
					      .session_timeout_ms = TIMEOUT_MS,
					      .hostname = "here",
					      .name = "here:/s",
					      .lists_from = 1};
static const char *const tasks[] = {"backup", "report"};
static const uint32_t digests[] = {1, 2};
static const struct registry_tasks published = {.names = tasks, .digests = digests, .n = 2};
static struct session session;
static struct registry registry;
static int changes, listed;
static struct buffer own, theirs; /* bytes of lists */
static char own_path[80], own_unused[90], their_path[80], request[400];

static void on_joined(void *arg, struct member *m)
{
	(void)arg, (void)m;
}

static void on_listed(void *arg, struct member *m)
{
	(void)arg, (void)m;
	listed++;
}

static void on_left(void *arg, const struct member *m)
{
	(void)arg, (void)m;
}

static void on_changed(void *arg)
{
	(void)arg;
	changes++;
}

static void nothing(void *arg)
{
	(void)arg;
}

static void on_connected(void *arg)
{
	(void)arg;
	registry_connected(&registry);
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

static void on_expired(void *arg)
{
	(void)arg;
	registry_expired(&registry);
}

static void on_watch(void *arg, enum store_watch type, const char *path)
{
	(void)arg;
	registry_watch(&registry, type, path);
}

/* The bytes of a list of these tasks, and its path below the root. */
static void make_list(struct buffer *bytes, char path[80], const char *const *list, size_t n)
{
	struct worker *w = worker_new();
	char digest[WORKER_LIST_LEN + 1];

	worker_set_tasks(w, list, n);
	if (list == tasks) {
		w->digests = calloc(2, sizeof(*w->digests));
		memcpy(w->digests, digests, sizeof(digests));
		w->n_digests = 2;
		w->knows_splits = true;
	}
	buffer_init(bytes, RECORD_LIST_MAX);
	cr_assert_eq(record_pack_list(bytes, w), 0);
	hash_digest(bytes->data, bytes->len, digest);
	snprintf(path, 80, "lists/%s", digest);
	worker_free(w);
}

static void begin(void)
{
	static const struct session_handlers session_handlers = {.connected = on_connected,
								 .up = on_up,
								 .leased = nothing,
								 .cut = on_cut,
								 .expired = on_expired,
								 .retimed = nothing,
								 .shortened = nothing,
								 .watch = on_watch};
	static const struct registry_handlers handlers = {
		.joined = on_joined, .left = on_left, .listed = on_listed, .changed = on_changed};

	log_setup(LOG_ERROR, LOG_TEXT, false);
	make_list(&own, own_path, tasks, 2);
	make_list(&theirs, their_path, (const char *const[]){"report", "scan"}, 2);
	snprintf(own_unused, sizeof(own_unused), "%s/" LISTS_UNUSED, own_path);
	session_init(&session, &host, &settings, &session_handlers);
	registry_init(&registry, &settings, &session, &handlers);
	registry_set_version(&registry, "1.0");
	registry_set_tasks(&registry, &published);
	registry_set_health(&registry, &(struct node_health){.known = true});
	session_start(&session);
	connection(STORE_CONNECTED);
	asks("set workers",
	     of_stat((struct store_stat){.mtime = host_wall_ms(&host)})); /* the clock */
}

TestSuite(lists, .init = begin);

static const char *of(const char *what, const char *path)
{
	snprintf(request, sizeof(request), "%s %s", what, path);
	return request;
}

static struct store_reply bytes_of(const struct buffer *b)
{
	return holds(b->data, b->len, (struct store_stat){.version = 0});
}

/* Our own list is there already. */
static void finds_own(void)
{
	asks(of("get!", own_path), bytes_of(&own));
}

static const char *creates(bool again)
{
	snprintf(request, sizeof(request), "create* workers/new, %scheck %s",
		 again ? "delete workers/new, " : "", own_path);
	return request;
}

/* The rest of a start: the fleet is listed, and our clock is measured on. */
static void fleet_is(struct store_reply list)
{
	snprintf(store.registration, sizeof(store.registration), "%s", session.registration);
	for (bool done = false; store.n_open > 0 && !done;) {
		done = strcmp(store.open[0].text, "list! workers") == 0;
		asks(store.open[0].text,
		     done ? list : of_stat((struct store_stat){.mtime = host_wall_ms(&host)}));
	}
}

static void registers(struct store_reply list)
{
	finds_own();
	asks(creates(false), ok());
	fleet_is(list);
}

/* The record that was sent, as others read it. */
static struct worker *sent(void)
{
	struct worker *w;
	const char *why;

	cr_assert_eq(record_parse_worker(store.last.data, store.last.len, &w, &why), 0, "%s: %s",
		     store.last.text, why);
	return w;
}

/* A worker's record; path: of its list, NULL; inlined: it says its tasks as well. */
static struct store_reply record_of(const char *id, const char *path, bool inlined)
{
	static struct buffer data;
	struct worker *w = worker_new();

	snprintf(w->id, sizeof(w->id), "%s", id);
	snprintf(w->version, sizeof(w->version), "1.0");
	snprintf(w->ip, sizeof(w->ip), "192.0.2.1");
	snprintf(w->hostname, sizeof(w->hostname), "host-%s", id);
	snprintf(w->node, sizeof(w->node), "node-%s", id);
	w->started_at = WALL_MS;
	w->lists = path != NULL;
	if (path)
		snprintf(w->list, sizeof(w->list), "%s", path + strlen("lists/"));
	w->apart = path && !inlined;
	if (!w->apart)
		worker_set_tasks(w, (const char *const[]){"inlined"}, 1);
	buffer_done(&data);
	buffer_init(&data, RECORD_WORKER_MAX);
	cr_assert_eq(record_pack_worker(&data, w), 0);
	worker_free(w);
	return holds(data.data, data.len,
		     (struct store_stat){.owner = OTHER, .ctime = WALL_MS + 5});
}

static void list_again(struct store_reply list)
{
	pass(FOLDER_LIST_EVERY_MS);
	fires(STORE_CHILDREN_CHANGED, "workers");
	asks("list! workers", list);
}

static const struct worker *worker_of(const char *id)
{
	const struct member *m = fleet_find(&registry.fleet, id);

	cr_assert_not_null(m, "%s", id);
	return m->worker;
}

/* --- our own ---------------------------------------------------------------------------------------------- */

Test(lists, the_first_makes_it_before_its_record_names_it)
{
	asks(of("get!", own_path), failed(STORE_NO_NODE));
	asks(of("create", own_path), failed_at(STORE_NO_NODE, 0));
	asks("create lists", ok());
	asks(of("get!", own_path), failed(STORE_NO_NODE));
	asks(of("create", own_path), ok());
	cr_expect_eq(store.last.len, own.len);
	finds_own();
	cr_expect_not(session_is_up(&session));
	asks(creates(false), ok());
	struct worker *w = sent();
	cr_expect(w->lists && w->apart && w->unlisted);
	cr_expect_str_eq(w->list, own_path + strlen("lists/"));
	cr_expect_eq(w->n_tasks + w->n_digests, 0);
	cr_expect_lt(store.last.len, 350, "%zu", store.last.len);
	worker_free(w);
	cr_expect(session_is_up(&session));
	cr_expect_eq(registry_self(&registry)->worker->n_tasks, 2, "we know what we list");
}

Test(lists, who_is_told_that_it_is_not_there_makes_it_again)
{
	finds_own();
	asks(creates(false), failed_at(STORE_NO_NODE, 1));
	asks(of("get!", own_path), failed(STORE_NO_NODE));
	asks(of("create", own_path), failed_at(STORE_NODE_EXISTS, 0));
	finds_own();
	asks(creates(false), ok());
	cr_expect(session_is_up(&session));
}

Test(lists, one_that_hands_delete_or_damage_is_made_again)
{
	registers(names(NULL));
	fires(STORE_NODE_DELETED, own_path);
	asks(of("get!", own_path), failed(STORE_NO_NODE));
	asks(of("create", own_path), ok());
	finds_own();
	fires(STORE_NODE_CHANGED, own_path);
	asks(of("get!", own_path), holds("junk", 4, (struct store_stat){.version = 3}));
	snprintf(request, sizeof(request), "set %s v3", own_path);
	asks(request, ok());
	cr_expect_eq(store.last.len, own.len);
	finds_own();
	idle();
}

Test(lists, a_note_that_nobody_has_it_goes_before_it_is_named)
{
	asks(of("get!", own_path), holds(own.data, own.len, (struct store_stat){.children = 1}));
	asks(of("delete", own_unused), ok());
	finds_own();
	asks(creates(false), ok());
}

Test(lists, an_answer_that_is_lost_is_asked_for_again)
{
	asks(of("get!", own_path), failed(STORE_UNKNOWN));
	connection(STORE_CONNECTING);
	connection(STORE_CONNECTED);
	finds_own();
	asks(creates(false), ok());
	cr_expect(session_is_up(&session));
}

Test(lists, where_the_server_refuses_them_the_record_says_all)
{
	asks(of("get!", own_path), failed(STORE_NO_NODE));
	asks(of("create", own_path), failed_at(STORE_FULL, 0));
	cr_expect(registry.lists.refused);
	asks("create* workers/new", ok());
	struct worker *w = sent();
	cr_expect(w->lists && !w->apart && !w->list[0]);
	cr_expect_eq(w->n_tasks, 2);
	worker_free(w);
}

Test(lists, another_list_is_made_for_other_tasks)
{
	registers(names(NULL));
	registry_set_tasks(&registry, &(struct registry_tasks){.names = tasks,
							       .digests = (const uint32_t[]){1, 3},
							       .n = 2});
	cr_assert_eq(store.n_open, 1);
	cr_expect_eq(strncmp(store.open[0].text, "get! lists/", 11), 0);
	cr_expect_str_neq(store.open[0].text, of("get!", own_path));
}

/* --- those of others -------------------------------------------------------------------------------------- */

Test(lists, one_is_read_once_and_shared_by_all_that_have_it)
{
	registers(names("a", "b", NULL));
	asks("get workers/a", record_of("a", their_path, false));
	cr_expect_not(registry_settled(&registry));
	cr_expect(worker_of("a")->unlisted);
	asks("get workers/b", record_of("b", their_path, false));
	cr_expect(registry.workers.ready && !registry_ready(&registry));
	int before = changes;
	asks(of("get", their_path), bytes_of(&theirs));
	cr_expect(registry_settled(&registry) && registry_ready(&registry));
	cr_expect_gt(changes, before);
	cr_expect_eq(listed, 2);
	cr_expect_eq(worker_of("a")->n_tasks, 2);
	cr_expect_str_eq(worker_of("a")->tasks[1], "scan");
	cr_expect_eq(worker_of("a")->tasks, worker_of("b")->tasks);
	list_again(names("c", NULL));
	asks("get workers/c", record_of("c", their_path, false));
	cr_expect_eq(worker_of("c")->n_tasks, 2, "it is known, although a and b have gone");
	list_again(names(NULL));
	cr_expect_eq(registry.lists.n, 0);
	idle();
}

Test(lists, who_lists_the_same_as_we_costs_no_read)
{
	registers(names("a", NULL));
	asks("get workers/a", record_of("a", own_path, false));
	cr_expect_eq(worker_of("a")->n_tasks, 2);
	cr_expect(registry_settled(&registry));
	idle();
}

Test(lists, one_that_is_missing_or_damaged_may_say_anything_until_it_is_there)
{
	registers(names("a", NULL));
	asks("get workers/a", record_of("a", their_path, false));
	asks(of("get", their_path), failed(STORE_NO_NODE));
	cr_expect(registry_settled(&registry), "nothing is waited for any more");
	cr_expect(worker_of("a")->unlisted);
	cr_expect(worker_answers_for(worker_of("a"), "node-a", "any"));
	cr_expect_str_eq(registry.lists.entries[0].why, "it is missing");
	pass(LISTS_AGAIN_MS);
	asks(of("get", their_path), bytes_of(&own));
	cr_expect(worker_of("a")->unlisted, "these are the bytes of another list");
	pass(LISTS_AGAIN_MS);
	cr_expect(registry_settled(&registry));
	asks(of("get", their_path), bytes_of(&theirs));
	cr_expect_not(worker_of("a")->unlisted);
	cr_expect_eq(listed, 1);
	cr_expect_null(registry.lists.entries[0].why);
	pass(10 * LISTS_AGAIN_MS);
	cr_expect_not(worker_answers_for(worker_of("a"), "node-a", "any"));
}

/* Its bytes are those of its name, so they will never be others. */
Test(lists, one_that_says_nothing_we_know_is_not_read_again)
{
	struct buffer junk;
	char digest[WORKER_LIST_LEN + 1], path[80];

	buffer_init(&junk, 100);
	buffer_append(&junk, "\x81\xa5tasks\x92\xa1z\xa1y", 12);
	hash_digest(junk.data, junk.len, digest);
	snprintf(path, sizeof(path), "lists/%s", digest);
	registers(names("a", NULL));
	asks("get workers/a", record_of("a", path, false));
	asks(of("get", path), bytes_of(&junk));
	cr_expect(worker_of("a")->unlisted);
	cr_expect_str_eq(registry.lists.entries[0].why,
			 "tasks: not an array of at most 10000 task names, sorted, each once");
	cr_expect(registry.lists.entries[0].final);
	cr_expect_not(host_timer_is_set(&registry.lists.again));
	buffer_done(&junk);
}

Test(lists, a_record_with_both_is_taken_by_its_own_tasks)
{
	registers(names("a", NULL));
	asks("get workers/a", record_of("a", their_path, true));
	cr_expect_eq(worker_of("a")->n_tasks, 1);
	cr_expect_str_eq(worker_of("a")->tasks[0], "inlined");
	idle();
}

/* --- the form of our record ------------------------------------------------------------------------------- */

Test(lists, beside_a_worker_that_knows_none_our_record_says_all)
{
	registers(names("old", NULL));
	asks("get workers/old", record_of("old", NULL, true));
	asks(creates(true), ok()); /* who has just come, at once */
	struct worker *w = sent();
	cr_expect(w->lists && w->list[0] && !w->apart);
	cr_expect_eq(w->n_tasks, 2);
	cr_expect_eq(w->n_digests, 2);
	worker_free(w);
	list_again(names(NULL));
	pass(TIMEOUT_MS - 1000);
	registry_set_version(&registry, "1.1");
	asks(creates(true), ok());
	w = sent();
	cr_expect_not(w->apart, "it may have been away for a moment");
	worker_free(w);
	pass(2 * TIMEOUT_MS);
	while (strncmp(store.open[0].text, "create*", 7) != 0)
		asks(store.open[0].text,
		     of_stat((struct store_stat){.mtime = host_wall_ms(&host)}));
	asks(creates(true), ok());
	w = sent();
	cr_expect(w->apart);
	worker_free(w);
}

Test(lists, workers_change_the_form_one_after_the_other)
{
	registers(names("0", "1", "2", NULL));
	asks("get workers/0", record_of("0", own_path, false));
	asks("get workers/1", record_of("1", own_path, false));
	asks("get workers/2", record_of("2", own_path, false));
	list_again(names("0", "1", "2", "old", NULL));
	asks("get workers/old", record_of("old", NULL, true));
	cr_expect(host_timer_is_set(&registry.form));
	size_t place = 0;
	while (registry.fleet.by_id[place] != registry_self(&registry))
		place++;
	cr_expect_eq(*script_ring(&registry.form) - host.now_ms,
		     (int64_t)place * TIMEOUT_MS / (int64_t)registry.fleet.n_members);
}

/* --- the audit -------------------------------------------------------------------------------------------- */

static const char unused_digest[] = "00000000000000000000000000000000";

static void audits(void)
{
	pass(LISTS_KEEP_MS / 144);
	while (store.n_open > 0 && strcmp(store.open[0].text, "list lists") != 0)
		asks(store.open[0].text,
		     of_stat((struct store_stat){.mtime = host_wall_ms(&host)}));
	asks("list lists", names(unused_digest, own_path + strlen("lists/"), "other", NULL));
}

Test(lists, one_that_nobody_has_is_noted_and_goes_a_day_later)
{
	char removal[300];

	registers(names(NULL));
	audits();
	asks("exists lists/00000000000000000000000000000000/unused", failed(STORE_NO_NODE));
	asks("create lists/00000000000000000000000000000000/unused", ok());
	int64_t noted = host_wall_ms(&host);
	audits();
	asks("exists lists/00000000000000000000000000000000/unused",
	     of_stat((struct store_stat){.ctime = noted}));
	idle();
	noted -= LISTS_KEEP_MS;
	audits();
	asks("exists lists/00000000000000000000000000000000/unused",
	     of_stat((struct store_stat){.ctime = noted, .version = 0}));
	snprintf(removal, sizeof(removal),
		 "check workers/new, delete lists/%s/unused v0, delete lists/%s", unused_digest,
		 unused_digest);
	asks(removal, ok());
	idle();
}

static void no_audit(void)
{
	pass(LISTS_KEEP_MS / 144);
	while (store.n_open > 0) {
		cr_expect_str_neq(store.open[0].text, "list lists");
		asks(store.open[0].text,
		     of_stat((struct store_stat){.mtime = host_wall_ms(&host)}));
	}
}

Test(lists, no_audit_where_another_is_first_or_a_record_is_not_understood)
{
	registers(names("0", NULL));
	asks("get workers/0", record_of("0", own_path, false));
	no_audit();
	list_again(names("bad", NULL));
	asks("get workers/bad", holds("junk", 4, (struct store_stat){.owner = OTHER}));
	no_audit();
}
