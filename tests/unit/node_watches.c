/* The budget of a session's watches: who gets one, who looks by time, and what is forgotten when. */
#include "node_script.h"

#include "node/session/watches.h"

static struct watches w;
static size_t told;
static char told_path[STORE_PATH_MAX];
static enum store_watch told_type;

static void on_fired(void *arg, enum store_watch type, const char *path)
{
	(void)arg;
	told++;
	told_type = type;
	snprintf(told_path, sizeof(told_path), "%s", path);
}

static void on_reply(void *arg, const struct store_reply *reply)
{
	(void)reply;
	if (arg)
		++*(int *)arg;
}

static void begin(size_t limit)
{
	watches_init(&w, &host, on_fired, NULL);
	watches_begin(&w, &store, limit);
	watches_set_up(&w, true);
}

static const char *path_of_length(size_t len, unsigned number)
{
	static char path[STORE_PATH_MAX];

	snprintf(path, sizeof(path), ROOT "/%0*u", (int)(len - strlen(ROOT "/")), number);
	return path;
}

/* Asks, and is answered so. True: with a watch. */
static bool gets(enum watch_class class, const char *path, const void *owner, enum store_code code)
{
	watches_get(&w, path, class, owner, on_reply, NULL);
	bool watched = strncmp(store.open[0].text, "get! ", 5) == 0;
	script_answer(0, failed(code));
	return watched;
}

static bool is_unwatched(const char *path)
{
	return strcmp(store.unwatched, path) == 0;
}

static void end(void)
{
	watches_done(&w);
	cr_expect_eq(store.n_open, 0);
}

/* SetWatches carries each path and four bytes for its length; those of children are apart. */
Test(watches, each_path_is_counted_once_for_each_kind)
{
	int owner, other;

	begin(1000);
	cr_expect(gets(WATCH_RECIPE, ROOT "/abc", &owner, STORE_OK));
	cr_expect(gets(WATCH_RECIPE, ROOT "/abc", &other, STORE_OK));
	cr_expect(gets(WATCH_RECIPE, ROOT "/abc", &owner, STORE_OK));
	cr_expect(w.count == 1 && w.bytes == strlen(ROOT "/abc") + 4);
	watches_children(&w, ROOT "/abc", WATCH_QUEUE, &owner, on_reply, NULL);
	asks("list! abc", ok());
	cr_expect(w.count == 2 && w.bytes == 2 * (strlen(ROOT "/abc") + 4));
	end();
}

Test(watches, what_was_not_set_is_not_counted)
{
	static const struct {
		const char *what;
		bool exists;
		enum store_code code;
		size_t count;
	} cases[] = {
		{"get", false, STORE_OK, 1},	     {"get of nothing", false, STORE_NO_NODE, 0},
		{"exists", true, STORE_OK, 1},	     {"exists not", true, STORE_NO_NODE, 1},
		{"refused", true, STORE_NO_AUTH, 0}, {"cut", false, STORE_UNKNOWN, 0},
	};
	int owner;

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		begin(1000);
		if (cases[i].exists)
			watches_exists(&w, ROOT "/a", WATCH_WAIT, &owner, on_reply, NULL);
		else
			watches_get(&w, ROOT "/a", WATCH_WAIT, &owner, on_reply, NULL);
		cr_expect_eq(w.count, 1, "%s: while it is asked for", cases[i].what);
		script_answer(0, failed(cases[i].code));
		cr_expect_eq(w.count, cases[i].count, "%s", cases[i].what);
		cr_expect_eq(w.bytes > 0, cases[i].count > 0, "%s", cases[i].what);
		end();
	}
}

Test(watches, what_has_fired_is_forgotten)
{
	static const struct {
		enum store_watch type;
		size_t left;
	} cases[] = {{STORE_NODE_CREATED, 1},
		     {STORE_NODE_CHANGED, 1},
		     {STORE_NODE_DELETED, 0},
		     {STORE_CHILDREN_CHANGED, 1}};
	int owner;

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		begin(1000);
		gets(WATCH_RECIPE, ROOT "/a", &owner, STORE_OK);
		watches_children(&w, ROOT "/a", WATCH_RECIPE, &owner, on_reply, NULL);
		asks("list! a", ok());
		watches_fired(&w, cases[i].type, ROOT "/a");
		cr_expect_eq(w.count, cases[i].left, "case %zu", i);
		end();
	}
	cr_expect_eq(store.n_unwatched, 0);
}

/* --- watches that go with their reason ---------------------------------------------------------------- */

Test(watches, it_goes_when_the_last_owner_has_dropped_it)
{
	int owner, other;

	begin(1000);
	gets(WATCH_WAIT, ROOT "/a", &owner, STORE_OK);
	gets(WATCH_WAIT, ROOT "/a", &other, STORE_OK);
	watches_drop(&w, ROOT "/a", WATCH_NODE, &owner);
	watches_drop(&w, ROOT "/a", WATCH_NODE, &owner);
	watches_drop(&w, ROOT "/a", WATCH_CHILDREN, &other);
	watches_drop(&w, ROOT "/b", WATCH_NODE, &other);
	pass(1);
	cr_expect(w.count == 1 && store.n_unwatched == 0);
	watches_drop(&w, ROOT "/a", WATCH_NODE, &other);
	cr_expect(is_unwatched(ROOT "/a"));
	cr_expect_eq(w.count, 1, "until the server has forgotten it");
	pass(1);
	cr_expect(w.count == 0 && w.bytes == 0);
	end();
}

/* Before the answer there is nothing that could be removed. */
Test(watches, one_that_is_dropped_while_it_is_asked_for_goes_behind_the_answer)
{
	int owner;

	begin(1000);
	watches_get(&w, ROOT "/a", WATCH_WAIT, &owner, on_reply, NULL);
	watches_drop(&w, ROOT "/a", WATCH_NODE, &owner);
	cr_expect_eq(store.n_unwatched, 0);
	script_answer(0, ok());
	cr_expect(is_unwatched(ROOT "/a"));
	pass(1);
	cr_expect_eq(w.count, 0);
	end();
}

Test(watches, one_that_is_wanted_again_before_that_stays)
{
	int owner;

	begin(1000);
	watches_get(&w, ROOT "/a", WATCH_WAIT, &owner, on_reply, NULL);
	watches_drop(&w, ROOT "/a", WATCH_NODE, &owner);
	watches_get(&w, ROOT "/a", WATCH_WAIT, &owner, on_reply, NULL);
	asks("get! a", ok());
	asks("get! a", ok());
	pass(1);
	cr_expect(w.count == 1 && store.n_unwatched == 0);
	/* The removal is behind the next request, as they are on their way to the server. */
	store.deaf = true;
	watches_drop(&w, ROOT "/a", WATCH_NODE, &owner);
	watches_get(&w, ROOT "/a", WATCH_WAIT, &owner, on_reply, NULL);
	store.deaf = false;
	pass(1);
	asks("get! a", ok());
	cr_expect_eq(w.count, 1);
	watches_drop(&w, ROOT "/a", WATCH_NODE, &owner);
	pass(1);
	cr_expect(w.count == 0 && store.n_unwatched == 2);
	end();
}

/* Before the answer of an owner the watch of an earlier one may fire. */
Test(watches, an_event_takes_no_watch_that_is_asked_for)
{
	int owner;

	begin(1000);
	gets(WATCH_WAIT, ROOT "/a", &owner, STORE_OK);
	watches_get(&w, ROOT "/a", WATCH_WAIT, &owner, on_reply, NULL);
	watches_fired(&w, STORE_NODE_CHANGED, ROOT "/a");
	script_answer(0, ok());
	cr_expect_eq(w.count, 1);
	watches_drop(&w, ROOT "/a", WATCH_NODE, &owner);
	pass(1);
	cr_expect(w.count == 0 && is_unwatched(ROOT "/a"));
	end();
}

Test(watches, what_could_not_be_removed_is_removed_on_the_next_connection)
{
	int owner;

	begin(1000);
	gets(WATCH_WAIT, ROOT "/a", &owner, STORE_OK);
	store.deaf = true;
	watches_drop(&w, ROOT "/a", WATCH_NODE, &owner);
	watches_set_up(&w, false);
	script_unwatch(STORE_UNKNOWN);
	gets(WATCH_WAIT, ROOT "/b", &owner, STORE_OK);
	watches_drop(&w, ROOT "/b", WATCH_NODE, &owner);
	cr_expect(w.count == 2 && store.n_unwatched == 1, "nothing is asked of nobody");
	store.deaf = false;
	watches_set_up(&w, true);
	pass(1);
	cr_expect(w.count == 0 && store.n_unwatched == 3);
	end();
}

/* A server that hangs up on what it does not know is not asked again and again. */
Test(watches, where_each_removal_costs_a_connection_one_is_tried_after_a_while)
{
	int owner, other;

	begin(1000);
	gets(WATCH_WAIT, ROOT "/a", &owner, STORE_OK);
	store.deaf = true;
	watches_drop(&w, ROOT "/a", WATCH_NODE, &owner);
	for (int i = 0; i < 10; i++) {
		watches_set_up(&w, false);
		script_unwatch(STORE_UNKNOWN);
		watches_set_up(&w, true);
	}
	cr_expect_eq(store.n_unwatched, WATCH_LOST_MAX);
	cr_expect_eq(w.count, 1, "it may be there");
	cr_expect(gets(WATCH_WAIT, ROOT "/b", &owner, STORE_OK), "all else goes on");
	watches_fired(&w, STORE_NODE_CHANGED, ROOT "/a");
	cr_expect_eq(w.count, 1);
	gets(WATCH_WAIT, ROOT "/c", &other, STORE_OK);
	pass(WATCH_LOST_MS);
	watches_drop(&w, ROOT "/b", WATCH_NODE, &owner);
	watches_drop(&w, ROOT "/c", WATCH_NODE, &other);
	cr_expect_eq(store.n_unwatched, WATCH_LOST_MAX + 1, "one");
	watches_set_up(&w, false);
	script_unwatch(STORE_UNKNOWN);
	watches_set_up(&w, true);
	cr_expect_eq(store.n_unwatched, WATCH_LOST_MAX + 1, "and none behind it");
	pass(WATCH_LOST_MS);
	store.deaf = false;
	gets(WATCH_WAIT, ROOT "/d", &owner, STORE_OK);
	watches_drop(&w, ROOT "/d", WATCH_NODE, &owner);
	pass(1);
	pass(1);
	cr_expect_eq(w.count, 0, "all, once one was answered");
	end();
}

/* Not thousands at a time: urgent requests wait behind them. */
Test(watches, few_are_removed_at_a_time)
{
	static char owners[200];

	begin(WATCHES_MAX);
	for (unsigned i = 0; i < 200; i++)
		gets(WATCH_WAIT, path_of_length(50, i), &owners[i], STORE_OK);
	store.deaf = true;
	for (unsigned i = 0; i < 200; i++)
		watches_drop(&w, path_of_length(50, i), WATCH_NODE, &owners[i]);
	cr_expect_eq(store.n_unwatches, WATCH_REMOVALS_MAX);
	store.deaf = false;
	for (int i = 0; i < 10; i++)
		pass(1);
	cr_expect(w.count == 0 && store.n_unwatched == 200);
	end();
}

/* --- the budget --------------------------------------------------------------------------------------- */

/* Each class of what leader nodes leave: 100 paths of 96 and four bytes. */
Test(watches, what_matters_less_has_a_smaller_share)
{
	static const struct {
		enum watch_class class;
		unsigned most;
	} cases[] = {{WATCH_WAIT, 25}, {WATCH_RUN, 50}, {WATCH_QUEUE, 75}, {WATCH_RECIPE, 100}};
	unsigned number = 0, in = 0;
	int owner;

	begin(10000);
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		for (unsigned k = 0; k < 110; k++)
			in += gets(cases[i].class, path_of_length(96, number++), &owner, STORE_OK);
		cr_expect_eq(in, cases[i].most, "class %d: %u", cases[i].class, in);
	}
	cr_expect_eq(w.bytes, 10000);
	cr_expect_eq(w.n_looks, number - 100);
	end();
}

Test(watches, folders_and_leader_nodes_are_always_watched)
{
	unsigned number = 0;
	int owner;

	begin(1000);
	while (number < 10)
		cr_expect(gets(WATCH_RECIPE, path_of_length(96, number++), &owner, STORE_OK));
	cr_expect(gets(WATCH_FOLDER, ROOT "/workers", &owner, STORE_OK));
	for (unsigned i = 0; i < 20; i++)
		cr_expect(gets(WATCH_LEADER, path_of_length(96, number++), &owner, STORE_OK));
	pass(1);
	cr_expect_eq(w.count, 21, "the others have made room");
	cr_expect_eq(w.n_looks, 10);
	end();
}

/* A task that is configured will want its leader node watched, whatever is waited for by then. */
Test(watches, leader_nodes_that_are_configured_have_their_room_reserved)
{
	int owner;

	begin(10000);
	watches_reserve(&w, 9000);
	for (unsigned i = 0; i < 20; i++)
		gets(WATCH_RECIPE, path_of_length(96, i), &owner, STORE_OK);
	cr_expect(w.count == 10 && w.n_looks == 10);
	for (unsigned i = 0; i < 90; i++)
		gets(WATCH_LEADER, path_of_length(96, 1000 + i), &owner, STORE_OK);
	pass(1);
	cr_expect(w.bytes == 10000 && w.count == 100, "%zu bytes", w.bytes);
	end();
}

Test(watches, where_more_is_reserved_the_least_important_go)
{
	static const enum watch_class classes[] = {WATCH_RECIPE, WATCH_QUEUE, WATCH_RUN,
						   WATCH_WAIT};
	unsigned number = 0;
	int owner;

	begin(10000);
	for (size_t i = 0; i < 4; i++)
		for (unsigned k = 0; k < 10; k++)
			cr_assert(gets(classes[i], path_of_length(96, number++), &owner, STORE_OK));
	watches_reserve(&w, 7500);
	pass(1);
	cr_expect(w.count == 25 && w.n_looks == 15);
	cr_expect(w.used[WATCH_RECIPE] == 1000 && w.used[WATCH_QUEUE] == 1000);
	cr_expect(w.used[WATCH_RUN] == 500 && w.used[WATCH_WAIT] == 0);
	watches_reserve(&w, 20000);
	pass(1);
	cr_expect(w.count == 0 && w.n_looks == 40, "%zu", w.count);
	end();
}

/* --- by time ------------------------------------------------------------------------------------------ */

Test(watches, who_gets_none_is_told_to_look_again)
{
	int owner;

	begin(0);
	cr_expect_not(gets(WATCH_WAIT, ROOT "/a", &owner, STORE_OK));
	cr_expect(w.n_looks == 1 && w.count == 0);
	pass(WATCH_LOOK_MS - 1);
	cr_expect_eq(told, 0);
	pass(1);
	cr_expect_eq(told, 1);
	cr_expect_eq(told_type, STORE_NODE_CHANGED);
	cr_expect_str_eq(told_path, ROOT "/a");
	cr_expect_eq(w.n_looks, 0, "as a watch that has fired");
	pass(10 * WATCH_LOOK_MS);
	cr_expect_eq(told, 1);
	watches_children(&w, ROOT "/a", WATCH_WAIT, &owner, on_reply, NULL);
	asks("list a", ok());
	pass(WATCH_LOOK_MS);
	cr_expect_eq(told, 2);
	cr_expect_eq(told_type, STORE_CHILDREN_CHANGED);
	end();
}

Test(watches, who_does_not_wait_any_more_is_not_told)
{
	int owner;

	begin(0);
	gets(WATCH_WAIT, ROOT "/a", &owner, STORE_OK);
	watches_drop(&w, ROOT "/a", WATCH_NODE, &owner);
	cr_expect_eq(w.n_looks, 0);
	pass(2 * WATCH_LOOK_MS);
	cr_expect(told == 0 && store.n_unwatched == 0);
	end();
}

Test(watches, few_look_at_a_time)
{
	int owner;

	begin(0);
	for (unsigned i = 0; i < 1000; i++)
		gets(WATCH_WAIT, path_of_length(50, i), &owner, STORE_OK);
	pass(WATCH_LOOK_MS);
	cr_expect_leq(told, WATCH_LOOKS_AT_ONCE);
	pass(1000);
	cr_expect_leq(told, 11 * WATCH_LOOKS_AT_ONCE);
	pass(10000);
	cr_expect_eq(told, 1000);
	end();
}

/* Nobody could read. */
Test(watches, without_a_connection_nobody_is_told)
{
	int owner;

	begin(0);
	gets(WATCH_WAIT, ROOT "/a", &owner, STORE_OK);
	watches_set_up(&w, false);
	pass(3 * WATCH_LOOK_MS);
	cr_expect_eq(told, 0);
	watches_set_up(&w, true);
	pass(WATCH_LOOK_MS);
	cr_expect_eq(told, 1);
	end();
}

/* --- the end ------------------------------------------------------------------------------------------ */

Test(watches, with_the_session_all_are_gone)
{
	int owner, answers = 0;

	begin(250);
	gets(WATCH_RECIPE, path_of_length(96, 1), &owner, STORE_OK);
	gets(WATCH_RECIPE, path_of_length(96, 2), &owner, STORE_OK);
	gets(WATCH_RECIPE, path_of_length(96, 3), &owner, STORE_OK);
	store.deaf = true;
	watches_drop(&w, path_of_length(96, 1), WATCH_NODE, &owner);
	watches_get(&w, path_of_length(96, 2), WATCH_RECIPE, &owner, on_reply, &answers);
	cr_assert(w.count == 2 && w.n_looks == 1);
	watches_end(&w);
	cr_expect(w.count == 0 && w.bytes == 0 && w.n_looks == 0);
	watches_drop(&w, path_of_length(96, 2), WATCH_NODE, &owner);
	answer_all(STORE_ABANDONED);
	script_unwatch(STORE_ABANDONED);
	cr_expect_eq(answers, 1, "each request is answered all the same");
	pass(2 * WATCH_LOOK_MS);
	cr_expect_eq(told, 0);
	watches_begin(&w, &store, 250);
	cr_expect(gets(WATCH_RECIPE, path_of_length(96, 4), &owner, STORE_OK));
	end();
}

/* Whatever is asked for in whatever order: the packet stays within the budget, and the sums are right. */
Test(watches, nothing_makes_the_packet_too_big)
{
	unsigned seed = 7;
	char owners[4];

	begin(20000);
	for (int step = 0; step < 20000; step++) {
		seed = seed * 1103515245 + 12345;
		const char *path = path_of_length(96, (seed >> 4) % 400);
		const void *owner = &owners[(seed >> 20) % 4];
		enum watch_class class = WATCH_RECIPE + (seed >> 14) % 4;
		switch ((seed >> 24) % 8) {
		case 0: watches_fired(&w, STORE_NODE_DELETED, path); break;
		case 1: watches_drop(&w, path, WATCH_NODE, owner); break;
		case 2: watches_reserve(&w, (seed >> 8) % 25000); break;
		case 3: watches_set_up(&w, (seed >> 9) % 4 > 0); break;
		default:
			gets(class, path, owner, (seed >> 9) % 5 ? STORE_OK : STORE_NO_NODE);
			break;
		}
		if ((seed >> 11) % 3 == 0)
			pass(1);
		cr_assert_leq(w.bytes, 20000, "step %d", step);
		cr_assert_eq(w.bytes, w.count * 100, "step %d", step);
	}
	watches_set_up(&w, true);
	for (unsigned i = 0; i < 400; i++)
		for (int k = 0; k < 4; k++)
			watches_drop(&w, path_of_length(96, i), WATCH_NODE, &owners[k]);
	for (int i = 0; i < 20; i++)
		pass(1);
	cr_expect(w.count == 0 && w.n_looks == 0 && w.n_entries == 0, "%zu are left", w.n_entries);
	cr_expect(w.leaving == 0 && w.removing == 0);
	end();
}
