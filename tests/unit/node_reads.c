/* Reads of leader nodes: how many there are at a time, and what one listing does in the place of many. */
#include "node_script.h"

#include "node/tree/reads.h"

#define TASKS 400

static const struct node_settings settings = {.root = ROOT};
static struct session session;
static struct reads reads;
static struct reads_item tasks[TASKS];
static char task_names[TASKS][8];
static bool still[TASKS];    /* its watch has not fired */
static char log_text[20000]; /* what was told of the tasks */

static void told(const char *what, const struct reads_item *t)
{
	size_t used = strlen(log_text);

	snprintf(log_text + used, sizeof(log_text) - used, "%s%s %s", used ? ", " : "", what,
		 t->name);
}

static bool on_still(struct reads_item *t)
{
	if (still[t - tasks])
		told("still", t);
	return still[t - tasks];
}

static void on_free(struct reads_item *t)
{
	told("free", t);
}

static void on_failed(struct reads_item *t)
{
	told("failed", t);
}

static void on_node(void *arg, const struct store_reply *reply)
{
	struct reads_item *t = arg;

	reads_answered(&reads);
	told(reply->code == STORE_OK ? "there" : "gone", t);
	if (reply->code == STORE_NO_NODE)
		reads_list_again(&reads);
}

static void on_read(struct reads_item *t)
{
	char path[STORE_PATH_MAX];

	snprintf(path, sizeof(path), ROOT "/leaders/%s", t->name);
	store_get(&store, path, true, on_node, t);
}

static void begin(void)
{
	log_setup(LOG_ERROR, LOG_TEXT, false);
	session = (struct session){.settings = &settings, .store = &store, .host = &host};
	reads_init(
		&reads, &session,
		&(struct reads_handlers){
			.still = on_still, .free = on_free, .read = on_read, .failed = on_failed});
	reads_reserve(&reads, TASKS);
	for (unsigned i = 0; i < TASKS; i++) {
		snprintf(task_names[i], sizeof(task_names[i]), "t%03u", i);
		reads_item_init(&tasks[i], task_names[i]);
		still[i] = true;
	}
}

TestSuite(reads, .init = begin);

#define tells(expected) script_tells(expected, __LINE__)
static void script_tells(const char *expected, int line)
{
	cr_expect_str_eq(log_text, expected, "line %d: %s", line, log_text);
	log_text[0] = '\0';
}

static void none_pending(void)
{
	for (size_t i = 0; i < TASKS; i++)
		cr_assert_eq(tasks[i].pending, 0, "%zu", i);
}

Test(reads, single_ones_are_sent_at_once_and_200_are_outstanding_at_the_most)
{
	for (size_t i = 0; i < READS_MAX + 2; i++)
		reads_single(&reads, &tasks[i]);
	cr_expect_eq(store.n_open, READS_MAX);
	cr_expect_eq(tasks[READS_MAX].pending, 1, "it waits");
	asks("get! leaders/t000", ok());
	cr_expect_eq(store.n_open, READS_MAX, "the next has gone out");
	cr_expect_eq(tasks[READS_MAX].pending, 0);
	for (size_t i = 1; i < READS_MAX + 2; i++)
		asks(store.open[0].text, ok());
	idle();
	none_pending();
}

Test(reads, watched_nodes_of_a_turn_are_still_what_they_were_by_one_request)
{
	reads_unchanged(&reads, &tasks[0]);
	reads_unchanged(&reads, &tasks[1]);
	cr_expect_eq(store.n_open, 0);
	turn();
	still[1] = false; /* its watch fires before the answer */
	asks("exists leaders", ok());
	tells("still t000");
	asks("get! leaders/t001", ok());
	tells("there t001");
	none_pending();
}

Test(reads, a_single_watched_node_is_read_by_itself)
{
	reads_unchanged(&reads, &tasks[0]);
	turn();
	asks("get! leaders/t000", ok());
	tells("there t000");
}

Test(reads, a_look_that_fails_has_failed_for_all_of_them)
{
	reads_unchanged(&reads, &tasks[0]);
	reads_unchanged(&reads, &tasks[1]);
	turn();
	asks("exists leaders", failed(STORE_UNKNOWN));
	tells("failed t000, failed t001");
}

/* A listing has the names of all the fleet's tasks. */
Test(reads, a_listing_is_asked_for_where_it_is_worth_it)
{
	static const struct {
		size_t configured, wanted;
		bool lists;
	} cases[] = {
		{READS_LIST_MIN, READS_LIST_MIN, true},
		{READS_LIST_MIN, READS_LIST_MIN - 1, false},
		{READS_LIST_SHARE * READS_LIST_MIN, READS_LIST_MIN, true},
		{READS_LIST_SHARE * READS_LIST_MIN + 1, READS_LIST_MIN, false},
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		reads_reserve(&reads, cases[i].configured);
		for (size_t j = 0; j < cases[i].wanted; j++)
			reads_led(&reads, &tasks[j]);
		turn();
		cr_expect_eq(store.n_open, cases[i].lists ? 1 : cases[i].wanted, "case %zu", i);
		cr_expect_str_eq(store.open[0].text,
				 cases[i].lists ? "list leaders" : "get! leaders/t000", "case %zu",
				 i);
		answer_all(STORE_ABANDONED);
		reads_forget(&reads);
		store.n_open = 0;
	}
}

static void want_all_led(size_t n)
{
	reads_reserve(&reads, n);
	for (size_t i = 0; i < n; i++)
		reads_led(&reads, &tasks[i]);
	turn();
}

Test(reads, what_a_listing_has_not_is_free_and_what_it_has_is_read)
{
	want_all_led(READS_LIST_MIN);
	asks("list leaders", names("t001", "t003", "of-another", NULL));
	cr_expect_eq(strncmp(log_text, "free t000, free t002, free t004, ", 33), 0, "%s", log_text);
	log_text[0] = '\0';
	asks("get! leaders/t001", ok());
	asks("get! leaders/t003", ok());
	tells("there t001, there t003");
	idle();
	none_pending();
}

Test(reads, listed_nodes_come_before_others_that_wait)
{
	for (size_t i = 100; i < 100 + READS_MAX + 1; i++)
		reads_single(&reads, &tasks[i]);
	want_all_led(READS_LIST_MIN);
	cr_expect_eq(store.n_open, READS_MAX + 1);
	/* The listing is answered before the reads. */
	script_answer(READS_MAX, names("t007", NULL));
	asks("get! leaders/t100", ok());
	cr_expect_str_eq(store.open[READS_MAX - 1].text, "get! leaders/t007");
}

Test(reads, where_a_listed_node_is_gone_what_is_left_is_listed_once_more)
{
	char *all[TASKS];
	struct store_reply listed = {.code = STORE_OK, .names = all, .failed_op = -1};

	for (size_t i = 0; i < TASKS; i++)
		all[i] = task_names[i];
	listed.n_names = TASKS;
	want_all_led(TASKS);
	asks("list leaders", listed);
	cr_assert_eq(store.n_open, READS_MAX);
	asks("get! leaders/t000", failed(STORE_NO_NODE));
	tells("gone t000");
	/* Those that are read already are not listed again. */
	cr_expect_eq(store.n_open, READS_MAX);
	cr_expect_str_eq(store.open[READS_MAX - 1].text, "list leaders");
	script_answer(READS_MAX - 1, names(NULL));
	cr_expect_eq(strncmp(log_text, "free t200, free t201", 20), 0, "%.40s", log_text);
}

Test(reads, a_task_that_is_wanted_twice_is_read_twice)
{
	reads_single(&reads, &tasks[0]);
	reads_single(&reads, &tasks[0]);
	asks("get! leaders/t000", ok());
	asks("get! leaders/t000", ok());
	tells("there t000, there t000");
	none_pending();
}

Test(reads, nothing_is_sent_and_nothing_pending_once_the_session_has_ended)
{
	for (size_t i = 0; i < READS_MAX + 2; i++)
		reads_single(&reads, &tasks[i]);
	reads_unchanged(&reads, &tasks[300]);
	reads_led(&reads, &tasks[301]);
	reads_forget(&reads);
	none_pending();
	turn();
	cr_expect_eq(store.n_open, READS_MAX, "those that were sent are answered");
}
