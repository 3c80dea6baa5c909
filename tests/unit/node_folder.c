/* A folder of znodes that never change: what is listed, what is read once, and at what pace. */
#include "node_script.h"

#include "node/tree/folder.h"

static const struct node_settings settings = {.root = ROOT};
static struct session session;
static struct folder folder;
static char news[1000];
static bool hold;	/* new nodes are not read before they are released */
static int64_t list_of; /* the transaction that the last list was as of */

static void told(const char *what, const char *name)
{
	size_t used = strlen(news);

	snprintf(news + used, sizeof(news) - used, "%s%s ", what, name);
}

static void on_take(void *arg, const char *name, const struct store_reply *reply)
{
	(void)arg;
	told(reply->code == STORE_OK ? "+" : "?", name);
}

static void on_gone(void *arg, const char *name)
{
	(void)arg;
	told("-", name);
}

static void on_changed(void *arg)
{
	(void)arg;
	told(";", "");
}

static void on_missing(void *arg)
{
	(void)arg;
	told("missing", "");
}

static bool on_listed(void *arg)
{
	(void)arg;
	list_of = folder.zxid;
	return hold;
}

static void begin(void)
{
	static const struct folder_handlers handlers = {.take = on_take,
							.gone = on_gone,
							.changed = on_changed,
							.missing = on_missing,
							.listed = on_listed};

	session = (struct session){
		.settings = &settings, .store = &store, .host = &host, .state = SESSION_UP};
	folder_init(&folder, &session, ROOT "/folder", 3, &handlers);
	folder_up(&folder);
}

TestSuite(folder, .init = begin);

#define tells(expected) script_tells(expected, __LINE__)
static void script_tells(const char *expected, int line)
{
	cr_expect_str_eq(news, expected, "line %d: %s", line, news);
	news[0] = '\0';
}

static void changes(void)
{
	folder_watch(&folder, STORE_CHILDREN_CHANGED, ROOT "/folder");
}

Test(folder, each_node_is_read_once)
{
	asks("list! folder", names("b", "a", NULL));
	asks("get folder/a", ok());
	cr_expect_not(folder.ready);
	asks("get folder/b", ok());
	tells("+a +b ; ");
	cr_expect(folder_settled(&folder));
	pass(1000);
	changes();
	asks("list! folder", names("a", "c", NULL));
	tells("-b ");
	asks("get folder/c", failed(STORE_NO_AUTH));
	tells("?c ; ");
	pass(1000);
	changes();
	asks("list! folder", names("a", "c", NULL));
	tells("; "); /* who was told before it had settled hears again */
	idle();
}

Test(folder, a_node_that_goes_before_it_was_read_is_not_told)
{
	asks("list! folder", names("a", NULL));
	asks("get folder/a", failed(STORE_NO_NODE));
	tells("; ");
	cr_expect_eq(folder.n, 0);
}

Test(folder, names_beyond_the_limit_are_passed_over)
{
	asks("list! folder", names("a", "b", "c", "d", NULL));
	asks("get folder/a", ok());
	asks("get folder/b", ok());
	asks("get folder/c", ok());
	tells("+a +b +c ; ");
	idle();
}

Test(folder, what_we_made_ourselves_is_not_read)
{
	asks("list! folder", names(NULL));
	folder_add(&folder, "mine");
	pass(1000);
	changes();
	asks("list! folder", names("mine", NULL));
	idle();
	folder_remove(&folder, "mine");
	pass(1000);
	changes();
	asks("list! folder", names("mine", NULL));
	asks("get folder/mine", ok());
}

Test(folder, another_connection_asks_again_for_what_had_no_answer)
{
	asks("list! folder", names("a", "b", NULL));
	asks("get folder/a", ok());
	folder_cut(&folder);
	asks("get folder/b", failed(STORE_UNKNOWN));
	folder_up(&folder);
	asks("list! folder", names("a", "b", NULL));
	asks("get folder/b", ok());
	tells("+a +b ; ");
}

Test(folder, a_read_that_is_outstanding_is_not_sent_again)
{
	asks("list! folder", names("a", "b", NULL));
	pass(1000);
	changes();
	cr_expect_str_eq(store.open[2].text, "list! folder");
	script_answer(2, names("a", "b", NULL));
	cr_expect_eq(store.n_open, 2);
	asks("get folder/a", ok());
	asks("get folder/b", ok());
	idle();
}

Test(folder, a_refresh_says_which_list_is_new_enough)
{
	uint64_t due;

	/* The outstanding list may be older than what the caller knows. */
	due = folder_refresh(&folder);
	cr_expect_eq(due, folder.lists + 2);
	asks("list! folder", names(NULL));
	cr_expect_neq(folder.lists, due);
	pass(FOLDER_LIST_EVERY_MS);
	asks("list! folder", names(NULL));
	cr_expect_eq(folder.lists, due);
	pass(1000);
	due = folder_refresh(&folder);
	cr_expect_eq(due, folder.lists + 1);
	asks("list! folder", names(NULL));
	cr_expect_eq(folder.lists, due);
}

Test(folder, a_folder_that_is_missing_is_listed_again_after_a_second)
{
	asks("list! folder", failed(STORE_NO_NODE));
	tells("missing ");
	pass(999);
	idle();
	pass(1);
	asks("list! folder", names(NULL));
	cr_expect(folder.ready);
}

Test(folder, after_the_session_it_is_read_whole_before_it_is_ready)
{
	asks("list! folder", names("a", NULL));
	asks("get folder/a", ok());
	folder_expired(&folder);
	cr_expect_not(folder.ready);
	cr_expect(folder.known, "what comes since then is news");
	folder_up(&folder);
	asks("list! folder", names("a", NULL));
	cr_expect(folder.ready, "what is known stays");
}

Test(folder, watches_of_other_folders_are_none_of_it)
{
	asks("list! folder", names(NULL));
	pass(1000);
	folder_watch(&folder, STORE_CHILDREN_CHANGED, ROOT "/folders");
	folder_watch(&folder, STORE_NODE_CHANGED, ROOT "/folder");
	idle();
}

/* A hand has set an ACL, and takes it back: no watch says so. */
Test(folder, a_list_that_is_refused_is_done_again)
{
	asks("list! folder", failed(STORE_NO_AUTH));
	tells("");
	pass(9000);
	idle();
	pass(1000);
	asks("list! folder", failed(STORE_FAILED));
	pass(10000);
	asks("list! folder", names("a", NULL));
	asks("get folder/a", ok());
	tells("+a ; ");
	pass(20000);
	idle();
}

Test(folder, a_list_whose_answer_is_lost_waits_for_the_connection)
{
	asks("list! folder", failed(STORE_UNKNOWN));
	pass(20000);
	idle();
}

/* --- changes that somebody else tells --------------------------------------------------------------------- */

/* The folder is quiet, and a is known. */
static void quiet(void)
{
	asks("list! folder", names("a", NULL));
	asks("get folder/a", ok());
	tells("+a ; ");
	folder_quiet(&folder, true);
	pass(1000);
}

Test(folder, while_it_is_quiet_it_is_not_watched)
{
	quiet();
	changes();
	idle();
	uint64_t due = folder_refresh(&folder);
	asks("list folder", names("a", NULL));
	cr_expect_eq(folder.lists, due);
	tells("; ");
	pass(1000);
	changes();
	idle();
	folder_quiet(&folder, false);
	asks("list! folder", names("a", NULL));
	pass(1000);
	folder_quiet(&folder, false);
	idle();
	changes();
	asks("list! folder", names("a", NULL));
}

Test(folder, once_it_is_no_longer_quiet_a_list_without_a_watch_is_not_enough)
{
	quiet();
	(void)folder_refresh(&folder);
	folder_quiet(&folder, false);
	asks("list folder", names("a", NULL));
	cr_expect_not(folder_settled(&folder));
	pass(FOLDER_LIST_EVERY_MS);
	asks("list! folder", names("a", NULL));
	cr_expect(folder_settled(&folder));
}

/* Those who have seen that the folder is to be listed wait to be told of the end of that. */
Test(folder, a_list_for_a_change_that_somebody_else_tells_is_not_made)
{
	asks("list! folder", names("a", NULL));
	asks("get folder/a", ok());
	tells("+a ; ");
	changes();
	cr_expect_not(folder_settled(&folder));
	folder_quiet(&folder, true);
	cr_expect(folder_settled(&folder));
	tells("; ");
	pass(1000);
	idle();
}

Test(folder, a_list_that_was_asked_for_is_made_without_a_watch)
{
	asks("list! folder", names("a", NULL));
	asks("get folder/a", ok());
	tells("+a ; ");
	(void)folder_refresh(&folder);
	folder_quiet(&folder, true);
	cr_expect_not(folder_settled(&folder));
	pass(FOLDER_LIST_EVERY_MS);
	asks("list folder", names("a", NULL));
	cr_expect(folder_settled(&folder));
}

Test(folder, another_connection_lists_with_a_watch)
{
	quiet();
	folder_cut(&folder);
	folder_up(&folder);
	asks("list! folder", names("a", NULL));
	folder_quiet(&folder, true);
	folder_expired(&folder);
	folder_up(&folder);
	asks("list! folder", names("a", NULL));
}

Test(folder, who_joins_is_known_or_read)
{
	struct store_reply reply = ok();

	quiet();
	folder_joined(&folder, "b", &reply);
	tells("+b ");
	folder_joined(&folder, "b", NULL);
	folder_joined(&folder, "a", &reply);
	idle();
	tells("");
	folder_touch(&folder);
	tells("; ");
	folder_joined(&folder, "c", NULL);
	folder_joined(&folder, "c", NULL);
	cr_expect_not(folder_settled(&folder));
	folder_touch(&folder);
	tells("");
	asks("get folder/c", ok());
	tells("+c ; ");
	cr_expect(folder_settled(&folder));
	idle();
}

Test(folder, who_joins_beyond_the_limit_is_passed_over)
{
	struct store_reply reply = ok();

	quiet();
	folder_joined(&folder, "b", &reply);
	folder_joined(&folder, "c", NULL);
	folder_joined(&folder, "d", NULL);
	folder_joined(&folder, "e", &reply);
	folder_joined(&folder, "c", &reply);
	tells("+b +c ");
	cr_expect_eq(folder.n, 3);
}

Test(folder, who_leaves_is_forgotten)
{
	quiet();
	folder_left(&folder, "b");
	tells("");
	folder_left(&folder, "a");
	tells("-a ");
	cr_expect_eq(folder.n, 0);
	folder_touch(&folder);
	tells("; ");
}

Test(folder, who_leaves_before_it_was_read_is_not_told)
{
	quiet();
	folder_joined(&folder, "b", NULL);
	folder_left(&folder, "b");
	cr_expect(folder_settled(&folder));
	folder_touch(&folder);
	tells("; ");
	asks("get folder/b", ok());
	tells("");
	cr_expect_eq(folder.n, 1);
	folder_joined(&folder, "b", NULL);
	asks("get folder/b", ok());
	tells("+b ; ");
}

Test(folder, who_is_told_while_it_is_read_is_taken_once)
{
	struct store_reply reply = ok();

	quiet();
	folder_joined(&folder, "b", NULL);
	folder_joined(&folder, "b", &reply);
	tells("+b ");
	asks("get folder/b", failed(STORE_NO_NODE));
	tells("; ");
	cr_expect_eq(folder.n, 2);
}

Test(folder, new_nodes_that_are_held_are_supplied_or_read)
{
	struct store_reply list = names("a", "b", "c", NULL), reply = ok();

	hold = true;
	list.stat.pzxid = 12;
	asks("list! folder", list);
	cr_expect_eq(list_of, 12);
	idle();
	cr_expect_not(folder_settled(&folder));
	folder_supply(&folder, "b", &reply);
	folder_supply(&folder, "none", &reply);
	folder_joined(&folder, "d", NULL);
	folder_left(&folder, "c");
	tells("+b ");
	idle();
	folder_release(&folder);
	folder_supply(&folder, "a", &reply);
	tells("");
	asks("get folder/a", ok());
	tells("+a ; ");
	folder_release(&folder);
	idle();
}

Test(folder, once_all_are_supplied_it_is_read_whole)
{
	struct store_reply reply = ok();

	hold = true;
	asks("list! folder", names("a", NULL));
	folder_supply(&folder, "a", &reply);
	tells("+a ");
	cr_expect_not(folder.ready);
	folder_release(&folder);
	tells("; ");
	cr_expect(folder.ready && folder_settled(&folder));
	pass(1000);
	changes();
	hold = false;
	asks("list! folder", names("a", "b", NULL));
	asks("get folder/b", ok());
	tells("+b ; ");
}

Test(folder, a_name_has_a_place)
{
	asks("list! folder", names("b", "d", NULL));
	asks("get folder/b", ok());
	asks("get folder/d", ok());
	cr_expect_eq(folder_place(&folder, "a"), 0);
	cr_expect_eq(folder_place(&folder, "b"), 0);
	cr_expect_eq(folder_place(&folder, "c"), 1);
	cr_expect_eq(folder_place(&folder, "d"), 1);
	cr_expect_eq(folder_place(&folder, "e"), 2);
}
