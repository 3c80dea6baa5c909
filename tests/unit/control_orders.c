/* Orders about many tasks: what is looked up, how they are cut into transactions, and what is said of them. */
#include "control_site.h"

#include "config/tasks/taskfile.h"
#include "control/orders/order_last.h"

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

#define refuses(code, text, ...)                              \
	do {                                                  \
		request(alice, __VA_ARGS__);                  \
		is_refused(alice, code, text);                \
		is_free(alice);                               \
		cr_expect(SLIST_EMPTY(&node.policy.changes)); \
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
	cr_expect(SLIST_EMPTY(&node.policy.changes));
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

/* --- the drain of the last candidate of a task that has no file here -------------------------------------- */

#define MINIMUM "CkZ" /* the mark of min-version, without that of its value */

/* A worker that lists the task, and what its record says of it; version NULL: there is none. */
struct lister {
	const char *version;
	const char *marks; /* NULL: its release has none */
	bool unhealthy, drained;
	uint32_t digest;
	unsigned partitions, slots;
};

static void comes(const char *host_name, const struct lister *l)
{
	const char *const listed[] = {"only"};
	struct worker *w = worker_new();

	snprintf(w->id, sizeof(w->id), "%s", host_name);
	snprintf(w->node, sizeof(w->node), "%s", host_name);
	snprintf(w->hostname, sizeof(w->hostname), "%s", host_name);
	snprintf(w->version, sizeof(w->version), "%s", l->version);
	w->scheme = 1;
	worker_set_tasks(w, listed, 1);
	w->digests = mem_calloc(1, sizeof(*w->digests));
	w->digests[0] = l->digest;
	w->n_digests = 1;
	if (l->marks) {
		w->keys = mem_calloc(2, sizeof(*w->keys));
		w->keys[0] = mem_strdup(l->marks);
		w->n_keys = 1;
	}
	if (l->unhealthy) {
		char **names = mem_calloc(2, sizeof(*names));
		names[0] = mem_strdup("only");
		worker_take_unhealthy(w, names, 1);
	}
	if (l->partitions > 0) {
		w->splits = mem_calloc(1, sizeof(*w->splits));
		w->splits[0] = (struct worker_split){"only", l->partitions};
		w->n_splits = 1;
	}
	if (l->slots > 0) {
		w->queues = mem_calloc(1, sizeof(*w->queues));
		w->queues[0] = (struct worker_queue){"only", l->slots};
		w->n_queues = 1;
	}
	struct member *m = fleet_add(&node.registry.fleet, w, 100 + host_name[1], 0);
	cr_assert(m);
	fleet_set_drained(&node.registry.fleet, m, l->drained);
}

#define SURE	"without h1 nobody could lead 1 task: only; --force"
#define PERHAPS "without h1 perhaps nobody could lead 1 task: only (who may is in files"

static const char minimum[] = MINIMUM "aaa", other[] = MINIMUM "bbb";
static const struct {
	const char *what;
	struct lister own, besides;
	const char *said; /* NULL: nothing */
} last_cases[] = {
	{"alone", {.version = "1", .marks = ""}, {.marks = NULL}, SURE},
	{"of a queue",
	 {.version = "1", .marks = "", .slots = 2},
	 {.marks = NULL},
	 "nobody could lead 1 queue: only;"},
	{"it has none: unhealthy",
	 {.version = "1", .marks = "", .unhealthy = true},
	 {.marks = NULL},
	 NULL},
	{"it has none: drained",
	 {.version = "1", .marks = "", .drained = true},
	 {.marks = NULL},
	 NULL},
	{"with a minimum", {.version = "1", .marks = minimum}, {.marks = NULL}, PERHAPS},
	{"of an older release", {.version = "1", .marks = NULL}, {.marks = NULL}, PERHAPS},
	{"another may", {.version = "2", .marks = ""}, {.version = "1", .marks = ""}, NULL},
	{"another is unhealthy",
	 {.version = "1", .marks = ""},
	 {.version = "2", .marks = "", .unhealthy = true},
	 SURE},
	{"another is drained",
	 {.version = "1", .marks = ""},
	 {.version = "2", .marks = "", .drained = true},
	 SURE},
	{"another, whose minimum it may miss",
	 {.version = "2", .marks = ""},
	 {.version = "1", .marks = minimum, .digest = 5},
	 PERHAPS},
	{"one minimum, the same version",
	 {.version = "1", .marks = minimum},
	 {.version = "1.0", .marks = minimum},
	 NULL},
	{"one minimum, newer",
	 {.version = "1", .marks = minimum},
	 {.version = "2", .marks = minimum},
	 NULL},
	{"one minimum, older",
	 {.version = "2", .marks = minimum},
	 {.version = "1", .marks = minimum},
	 PERHAPS},
	{"an older release, newer",
	 {.version = "1", .marks = NULL},
	 {.version = "2", .marks = NULL},
	 NULL},
	{"two minimums",
	 {.version = "1", .marks = minimum},
	 {.version = "2", .marks = other, .digest = 5},
	 PERHAPS},
	{"none but here",
	 {.version = "2", .marks = minimum, .digest = 5},
	 {.version = "1", .marks = ""},
	 NULL},
	{"two numbers of partitions",
	 {.version = "1", .marks = "", .partitions = 2},
	 {.version = "1", .marks = "", .digest = 5, .partitions = 3},
	 PERHAPS},
};

Test(orders, the_last_candidate_of_a_task_without_a_file_here)
{
	const struct policy_record drain = {.kind = "drain", .node = "h1"};

	cr_assert_str_eq(taskfile_key_of(MINIMUM), "min-version");
	for (size_t i = 0; i < sizeof(last_cases) / sizeof(last_cases[0]); i++) {
		char text[EXPLAIN_TEXT_MAX] = "";

		comes("h1", &last_cases[i].own);
		if (last_cases[i].besides.version)
			comes("h2", &last_cases[i].besides);
		cr_expect_eq(order_say_last(&node, &drain, text), last_cases[i].said != NULL,
			     "%s: %s", last_cases[i].what, text);
		cr_expect(!last_cases[i].said || strstr(text, last_cases[i].said), "%s: %s",
			  last_cases[i].what, text);
		fleet_remove(&node.registry.fleet, "h1");
		fleet_remove(&node.registry.fleet, "h2");
	}
}
