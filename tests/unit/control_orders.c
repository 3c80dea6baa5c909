/* Orders about many tasks: what is looked up, how they are cut into transactions, and what is said of them. */
#include "control_site.h"

#define TASKS 120

static void many_are_configured(void)
{
	static struct task_settings list[TASKS];
	static char names_of[TASKS][16];

	control_is_up();
	for (size_t i = 0; i < TASKS; i++) {
		snprintf(names_of[i], sizeof(names_of[i]), "job-%03zu", i);
		list[i] = settings_of(names_of[i]);
	}
	node_configure(&node, &site_timing, list, TASKS);
	answer_all(STORE_ABANDONED);
	forget_answers(alice);
}

TestSuite(orders, .init = many_are_configured);

#define refuses(code, text, ...)                         \
	do {                                             \
		request(alice, __VA_ARGS__);             \
		is_refused(alice, code, text);           \
		is_free(alice);                          \
		cr_expect_eq(node.policy.changes, NULL); \
	} while (0)

Test(orders, all_words_are_looked_up_before_anything_is_done)
{
	refuses(RPC_MISUSE, "names: not from 1", "pause", 1, "(", N(0));
	refuses(RPC_MISUSE, "no task matches \"x*\", so nothing is done", "pause", 1, "(ss", N(2),
		"job-*", "x*");
	refuses(RPC_MISUSE, "unknown task \"jb-001\": did you mean \"job-001\"?", "pause", 1, "(ss",
		N(2), "job-*", "jb-001");
	refuses(RPC_MISUSE, "not the name of a task", "resume", 1, "(i", N(1), N(1));
	refuses(RPC_MISUSE, "dry_run: not of an order about a node", "drain", 1, "2sbsb", "dry_run",
		true, "force", true);
	refuses(RPC_MISUSE, "dry_run: not a bool", "pause", 2, "s1ss", "job-001", "dry_run", "yes");
	refuses(RPC_MISUSE, "has version 9", "pin", 2, "(ss", N(1), "job-*", "9");
	refuses(RPC_NOT_LEADER, "does not lead job-001", "resign", 1, "(s", N(1), "job-001");
	refuses(RPC_NOT_LEADER, "leads none of the tasks that \"job-*\" matches", "resign", 1, "(s",
		N(1), "job-*");
	refuses(RPC_MISUSE, "no node \"nowhere\" is known", "unresign", 1, "(ss", N(2), "job-*",
		"nowhere");
}

Test(orders, a_dry_run_asks_for_nothing)
{
	request(alice, "pause", 2, "(ss1sb", N(2), "job-*", "job-001", "dry_run", true);
	threads_end();
	cr_expect_eq(number_of(result_of(alice), "count"), TASKS);
	cr_expect_eq(length_of(result_of(alice), "names"), TASKS);
	cr_expect_eq(node.policy.changes, NULL);
}

/* Answers what waits: all but transactions, which are left. */
static size_t answer_looks(void)
{
	size_t n = 0;

	for (size_t turns = 0; turns < 20; turns++) {
		n = 0;
		for (size_t i = 0; i < store.n_open; i++)
			n += strncmp(store.open[i].text, "create policy", 13) == 0;
		if (n > 0)
			return n;
		if (store.n_open > 0 && strncmp(store.open[0].text, "list", 4) == 0)
			script_answer(0, names(NULL));
		else if (store.n_open > 0)
			script_answer(0, ok());
		pass(100);
	}
	return n;
}

Test(orders, are_cut_into_transactions_of_fifty_and_name_what_was_not_done)
{
	size_t at = 0;

	request(alice, "pause", 1, "(s", N(1), "job-*");
	threads_end();
	cr_expect_eq(answer_looks(), 3);
	for (size_t done = 0; done < 3; done++) {
		for (at = 0; strncmp(store.open[at].text, "create policy", 13) != 0; at++)
			cr_assert_lt(at, store.n_open);
		size_t ops = strlen(store.open[at].text) / strlen("create policy/new");
		cr_expect(ops / 20 == 1 || ops / 50 == 1, "%zu", ops);
		bool last = ops < 50;
		script_answer(at, last ? failed(STORE_FULL) : ok());
	}
	is_refused(alice, RPC_CANNOT_TELL,
		   "pause: 100 of 120 tasks are done; not done: 20 tasks (job-100, job-101, "
		   "job-102, job-103, job-104, "
		   "job-105, job-106, job-107, job-108, job-109 and 10 more): a quota of ZooKeeper "
		   "is used up");
	is_free(alice);
	cr_expect_eq(node.policy.n, 100);
}
