/*
 * Operators' decisions: a write before the list, one transaction, and an end for all at the same
 * time.
 */
#include "node_site.h"

static struct {
	int calls;
	enum policy_result result;
} said;
static int n_changed;

static void on_said(void *arg, enum policy_result result)
{
	(void)arg;
	said.calls++;
	said.result = result;
}

static void on_changed(void *arg)
{
	(void)arg;
	n_changed++;
}

static char news[400]; /* what was told, in order */

static void on_told(void *arg, const struct policy_item *item, bool ended)
{
	size_t used = strlen(news);

	(void)arg;
	snprintf(news + used, sizeof(news) - used, "%s%s%s", used ? ", " : "", ended ? "no " : "",
		 item->record.kind);
}

static void begin(void)
{
	static const struct policy_handlers handlers = {.changed = on_changed, .told = on_told};

	site_begin();
	policy_done(&policy);
	policy_init(&policy, &session, &registry, &handlers);
	configures("report", "backup", NULL);
	joins("me", "1.0", 5);
	while (store.n_open > 0)
		asks(store.open[0].text, led_by("x", 50));
	store.silent = true; /* confirmations are a part of it */
}

TestSuite(policy, .init = begin);

static struct policy_record record_of(enum policy_kind kind, const char *task, const char *node)
{
	struct policy_record r = {.since = host_wall_ms(&host)};

	snprintf(r.kind, sizeof(r.kind), "%s", policy_kind_name(kind));
	snprintf(r.task, sizeof(r.task), "%s", task);
	snprintf(r.node, sizeof(r.node), "%s", node);
	snprintf(r.by, sizeof(r.by), "root");
	snprintf(r.host, sizeof(r.host), "there");
	return r;
}

static struct store_reply packed(struct policy_record r)
{
	static struct buffer data[4];
	static size_t next;
	struct buffer *b = &data[next++ % 4];

	buffer_done(b);
	buffer_init(b, RECORD_POLICY_MAX);
	cr_assert_eq(record_pack_policy(b, &r), 0);
	return holds(b->data, b->len, (struct store_stat){.czxid = 1});
}

/* The folder is read for the first time in this session, and is empty. */
static void read_empty(void)
{
	policy_up(&policy);
	asks("list! policy", names(NULL));
	idle();
	n_changed = 0;
	pass(1000);
}

static void put(struct policy_record r)
{
	policy_put(&policy, &r, on_said, NULL);
}

#define says(what) script_says(what, __LINE__)
static void script_says(enum policy_result result, int line)
{
	cr_assert_eq(said.calls, 1, "line %d: %d answers", line, said.calls);
	cr_expect_eq(said.result, result, "line %d: result %d", line, said.result);
	said.calls = 0;
}

/* --- reading -------------------------------------------------------------------------------------------- */

Test(policy, what_is_there_at_the_start_is_no_news)
{
	policy_up(&policy);
	asks("list! policy", names("p1", NULL));
	cr_expect_not(policy.folder.ready);
	asks("get policy/p1", packed(record_of(POLICY_PAUSE, "report", "")));
	cr_expect(policy.folder.ready);
	cr_expect_eq(n_changed, 1);
	cr_expect_str_eq(news, "");
	const struct policy_item *item = policy_find(&policy, POLICY_PAUSE, "report", "");
	cr_assert_not_null(item);
	cr_expect_eq(item->seen_ms, POLICY_UNSEEN);
}

/* The servers may have lost all their data, and number what comes then from the beginning. */
Test(policy, the_order_begins_anew_with_the_session)
{
	policy_up(&policy);
	asks("list! policy", names("p1", NULL));
	asks("get policy/p1", packed(record_of(POLICY_PAUSE, "report", "")));
	const struct policy_item *item = policy_find(&policy, POLICY_PAUSE, "report", "");
	cr_assert_not_null(item);
	cr_expect_eq(item->order, 1);
	cr_expect_eq(policy.last_order, 1);
	policy_expired(&policy);
	cr_expect_eq(item->order, 0);
	cr_expect_eq(policy.last_order, 0);
}

Test(policy, what_comes_and_goes_later_is_told)
{
	uint64_t edition;

	read_empty();
	edition = policy.edition;
	fires(STORE_CHILDREN_CHANGED, "policy");
	policy_watch(&policy, STORE_CHILDREN_CHANGED, ROOT "/policy");
	asks("list! policy", names("p1", NULL));
	asks("get policy/p1", packed(record_of(POLICY_PAUSE, "report", "")));
	cr_expect_str_eq(news, "pause");
	cr_expect_neq(policy.edition, edition);
	cr_expect_eq(policy_find(&policy, POLICY_PAUSE, "report", "")->seen_ms, host.now_ms);
	pass(1000);
	policy_watch(&policy, STORE_CHILDREN_CHANGED, ROOT "/policy");
	asks("list! policy", names(NULL));
	cr_expect_str_eq(news, "pause, no pause");
	cr_expect_null(policy_find(&policy, POLICY_PAUSE, "report", ""));
}

Test(policy, a_record_that_is_none_decides_nothing)
{
	policy_up(&policy);
	asks("list! policy", names("p1", "not an id", NULL));
	asks("get policy/not an id", packed(record_of(POLICY_PAUSE, "report", "")));
	asks("get policy/p1", holds("junk", 4, (struct store_stat){.czxid = 1}));
	cr_expect_eq(policy.n, 0);
	cr_expect(policy.folder.ready);
}

Test(policy, decisions_are_found_by_kind_task_and_node)
{
	read_empty();
	policy_watch(&policy, STORE_CHILDREN_CHANGED, ROOT "/policy");
	asks("list! policy", names("p1", "p2", "p3", "p4", NULL));
	asks("get policy/p1", packed(record_of(POLICY_RESIGN, "report", "host-b:/s")));
	asks("get policy/p2", packed(record_of(POLICY_RESIGN, "report", "host-a:/s")));
	asks("get policy/p3", packed(record_of(POLICY_PAUSE, "report", "")));
	asks("get policy/p4", packed(record_of(POLICY_DRAIN, "", "host-b:/s")));
	static const struct {
		enum policy_kind kind;
		const char *task, *node, *found;
	} cases[] = {
		{POLICY_RESIGN, "report", "host-a:/s", "p2"},
		{POLICY_RESIGN, "report", "host-b:/s", "p1"},
		{POLICY_RESIGN, "report", "host-c:/s", NULL},
		{POLICY_RESIGN, "backup", "host-a:/s", NULL},
		{POLICY_PAUSE, "report", "", "p3"},
		{POLICY_PIN, "report", "", NULL},
		{POLICY_DRAIN, "", "host-b:/s", "p4"},
	};
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		const struct policy_item *item =
			policy_find(&policy, cases[i].kind, cases[i].task, cases[i].node);
		cr_expect_str_eq(item ? item->name : "nothing",
				 cases[i].found ? cases[i].found : "nothing", "case %zu", i);
	}
	size_t first;
	cr_expect_eq(policy_of_task(&policy, POLICY_RESIGN, "report", &first), 2);
	cr_expect_str_eq(policy.items[first]->name, "p2");
	cr_expect_eq(policy_of_task(&policy, POLICY_RESIGN, "backup", &first), 0);
}

/* Two orders at once may leave two records. */
Test(policy, of_two_about_the_same_the_later_one_counts)
{
	struct policy_record early = record_of(POLICY_PIN, "report", "");
	struct policy_record late = early;

	snprintf(early.version, sizeof(early.version), "1.0");
	snprintf(late.version, sizeof(late.version), "2.0");
	late.since++;
	policy_up(&policy);
	asks("list! policy", names("p1", "p2", NULL));
	asks("get policy/p1", packed(late));
	asks("get policy/p2", packed(early));
	cr_expect_str_eq(policy_find(&policy, POLICY_PIN, "report", "")->record.version, "2.0");
}

/* --- deciding ------------------------------------------------------------------------------------------- */

Test(policy, an_order_writes_lists_and_then_decides)
{
	read_empty();
	put(record_of(POLICY_PAUSE, "report", ""));
	asks("check workers/me", ok()); /* what is listed behind it is no older */
	asks("list! policy", names(NULL));
	asks("create policy/new", ok());
	says(POLICY_DONE);
	idle();
	/* The decision is known without waiting for the watch. */
	cr_expect_not_null(policy_find(&policy, POLICY_PAUSE, "report", ""));
	cr_expect_str_eq(news, "pause");
}

/* The list may have been made before somebody else's order, of which ours may know. */
Test(policy, a_list_that_was_asked_for_before_the_order_is_too_old)
{
	read_empty();
	policy_watch(&policy, STORE_CHILDREN_CHANGED, ROOT "/policy");
	put(record_of(POLICY_PAUSE, "report", ""));
	asks("list! policy", names(NULL));
	asks("check workers/me", ok());
	pass(FOLDER_LIST_EVERY_MS);
	asks("list! policy", names(NULL));
	asks("create policy/new", ok());
	says(POLICY_DONE);
}

Test(policy, an_order_takes_the_place_of_those_about_the_same)
{
	read_empty();
	put(record_of(POLICY_PAUSE, "report", ""));
	asks("check workers/me", ok());
	asks("list! policy", names("p1", "p2", "p3", NULL));
	asks("get policy/p1", packed(record_of(POLICY_PAUSE, "report", "")));
	asks("get policy/p2", packed(record_of(POLICY_PAUSE, "backup", "")));
	asks("get policy/p3", packed(record_of(POLICY_PAUSE, "report", "")));
	asks("create policy/new, delete policy/p1, delete policy/p3", ok());
	says(POLICY_DONE);
	cr_expect_eq(policy.n, 2);
}

Test(policy, what_was_not_decided_is_not_taken_back)
{
	struct policy_record r = record_of(POLICY_PAUSE, "report", "");

	read_empty();
	policy_remove(&policy, &r, on_said, NULL);
	asks("check workers/me", ok());
	asks("list! policy", names(NULL));
	says(POLICY_NOTHING);
	idle();
}

Test(policy, taking_back_deletes_what_was_decided_about_the_same)
{
	struct policy_record r = record_of(POLICY_PAUSE, "report", "");

	read_empty();
	policy_remove(&policy, &r, on_said, NULL);
	asks("check workers/me", ok());
	asks("list! policy", names("p1", NULL));
	asks("get policy/p1", packed(r));
	asks("delete policy/p1, create policy/new", ok());
	says(POLICY_DONE);
	cr_expect_eq(policy.n, 0);
	cr_expect_str_eq(news, "pause, no pause");
}

/* An order about several tasks is one transaction: all of it is done, or nothing. */
Test(policy, an_order_about_several_is_one_transaction)
{
	struct policy_record r = record_of(POLICY_PAUSE, "", "");
	struct policy_part parts[] = {{"backup", false}, {"report", false}};

	read_empty();
	policy_change_all(&policy, &r, true, parts, 2, NULL, on_said, NULL);
	asks("check workers/me", ok());
	asks("list! policy", names("p1", NULL));
	asks("get policy/p1", packed(record_of(POLICY_PAUSE, "report", "")));
	asks("create policy/new, create policy/new, delete policy/p1", failed_at(STORE_FULL, 1));
	says(POLICY_FULL);
	cr_expect_eq(policy.n, 1);
	cr_expect_not(parts[0].done || parts[1].done);

	pass(1000);
	policy_change_all(&policy, &r, true, parts, 2, NULL, on_said, NULL);
	asks("check workers/me", ok());
	pass(FOLDER_LIST_EVERY_MS);
	asks("list! policy", names("p1", NULL));
	asks("create policy/new, create policy/new, delete policy/p1", ok());
	says(POLICY_DONE);
	cr_expect_eq(policy.n, 2);
	cr_expect_not_null(policy_find(&policy, POLICY_PAUSE, "backup", ""));
	cr_expect(parts[0].done && parts[1].done);
}

Test(policy, of_several_those_are_done_that_had_something_to_take_back)
{
	struct policy_record r = record_of(POLICY_PAUSE, "", "");
	struct policy_part parts[] = {{"backup", false}, {"report", false}};

	read_empty();
	policy_change_all(&policy, &r, false, parts, 2, NULL, on_said, NULL);
	asks("check workers/me", ok());
	asks("list! policy", names("p1", NULL));
	asks("get policy/p1", packed(record_of(POLICY_PAUSE, "report", "")));
	asks("delete policy/p1, create policy/new", ok());
	says(POLICY_DONE);
	cr_expect_eq(policy.n, 0);
	cr_expect(parts[1].done && !parts[0].done);
}

Test(policy, an_order_that_somebody_was_quicker_than_is_tried_again_on_a_new_list)
{
	struct policy_record r = record_of(POLICY_PAUSE, "report", "");

	read_empty();
	policy_remove(&policy, &r, on_said, NULL);
	asks("check workers/me", ok());
	asks("list! policy", names("p1", NULL));
	asks("get policy/p1", packed(r));
	asks("delete policy/p1, create policy/new", failed_at(STORE_NO_NODE, 0));
	asks("check workers/me", ok());
	pass(FOLDER_LIST_EVERY_MS);
	asks("list! policy", names(NULL));
	says(POLICY_NOTHING);
}

/* --- what may not be done ------------------------------------------------------------------------------- */

static bool may_now; /* as long as nothing else is decided */

static bool ask_may(void *arg)
{
	(void)arg;
	return may_now && policy.n == 0;
}

static void drain(struct policy_record *r, struct policy_part *part)
{
	*r = record_of(POLICY_DRAIN, "", "me:/run/s");
	read_empty();
	policy_change_all(&policy, r, true, part, 1, ask_may, on_said, NULL);
}

/* The second of two that see each other as the one that stays is asked anew. */
Test(policy, an_order_that_may_not_be_done_behind_another_is_asked_again)
{
	struct policy_record r;
	struct policy_part part = {"", false};

	may_now = true;
	drain(&r, &part);
	asks("get policy", holds("", 0, (struct store_stat){.version = 3}));
	asks("check workers/me", ok());
	asks("list! policy", names(NULL));
	asks("set policy v3, create policy/new", failed_at(STORE_BAD_VERSION, 0));
	asks("get policy", holds("", 0, (struct store_stat){.version = 4}));
	asks("check workers/me", ok());
	pass(FOLDER_LIST_EVERY_MS);
	asks("list! policy", names("p1", NULL));
	asks("get policy/p1", packed(record_of(POLICY_DRAIN, "", "you:/run/s")));
	says(POLICY_REFUSED);
	cr_expect_eq(policy.n, 1);
	cr_expect_not(part.done);
	idle();
}

Test(policy, an_order_that_may_not_be_done_is_not_sent)
{
	struct policy_record r;
	struct policy_part part = {"", false};

	may_now = false;
	drain(&r, &part);
	asks("get policy", failed(STORE_NO_NODE));
	asks("check workers/me", ok());
	asks("list! policy", names(NULL));
	says(POLICY_REFUSED);
	idle();
}

Test(policy, what_is_asked_before_it_is_sent_ends_with_the_connection)
{
	struct policy_record r;
	struct policy_part part = {"", false};

	drain(&r, &part);
	asks("get policy", failed(STORE_UNKNOWN));
	says(POLICY_UNKNOWN);
	idle();
}

Test(policy, how_an_order_ends_that_is_not_done)
{
	static const struct {
		enum store_code code;
		enum policy_result result;
	} cases[] = {
		{STORE_UNKNOWN, POLICY_UNKNOWN},
		{STORE_ABANDONED, POLICY_UNKNOWN},
		{STORE_NO_AUTH, POLICY_FAILED},
		{STORE_FAILED, POLICY_FAILED},
	};

	read_empty();
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		pass(1000);
		put(record_of(POLICY_PAUSE, "report", ""));
		while (store.n_open > 0 && strncmp(store.open[0].text, "create", 6) != 0)
			asks(store.open[0].text,
			     strncmp(store.open[0].text, "list!", 5) == 0 ? names(NULL) : ok());
		asks("create policy/new", failed(cases[i].code));
		says(cases[i].result);
		cr_expect_eq(policy.n, 0);
	}
}

Test(policy, an_order_that_waits_is_unknown_when_the_connection_goes)
{
	read_empty();
	put(record_of(POLICY_PAUSE, "report", ""));
	policy_cut(&policy);
	says(POLICY_UNKNOWN);
	asks("check workers/me", ok());
	asks("list! policy", names(NULL));
	idle();
	cr_expect_eq(policy.n, 0);
}

/* --- nodes ----------------------------------------------------------------------------------------------- */

Test(policy, what_is_about_a_node_is_about_all_its_workers_and_no_others)
{
	read_empty();
	struct member *b = joins("b", "1.0", 1), *c = joins("c", "1.0", 1);
	policy_watch(&policy, STORE_CHILDREN_CHANGED, ROOT "/policy");
	store.n_open = 0;
	policy.folder.listing = false;
	struct store_reply reply = packed(record_of(POLICY_DRAIN, "", "host-b:/s"));
	policy.folder.handlers.take(policy.folder.handlers.arg, "p1", &reply);
	const struct policy_item *item = policy_find(&policy, POLICY_DRAIN, "", "host-b:/s");
	cr_assert_not_null(item);
	cr_expect(policy_concerns(&policy, item, b->worker));
	cr_expect_not(policy_concerns(&policy, item, c->worker));
	cr_expect_eq(policy_find_node(&policy, POLICY_DRAIN, "", "host-b:/s", ""), item);
	cr_expect_null(policy_find_node(&policy, POLICY_DRAIN, "", "host-c:/s", ""));
}
