/*
 * The newest run of each task, read from a store that the test answers for: which requests there are, how
 * many, and what is known behind them.
 */
#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buffer.h"
#include "base/log/log.h"
#include "node/ledger/last_run.h"
#include "node/election/leaders.h"

#define TASKS_MAX 1200
#define OLD	  "2026-11-20T01:00:00Z"
#define NEW	  "2026-11-20T02:00:00Z"

/* --- the machine and ZooKeeper: what is not asked here is not there ---------------------------------- */

static int64_t now_ms = 1000000;

int64_t host_now_ms(const struct host *h)
{
	(void)h;
	return now_ms;
}

static struct {
	char path[STORE_PATH_MAX];
	bool names; /* or what is in the node */
	store_reply_fn fn;
	void *arg;
} asked[TASKS_MAX];
static size_t n_asked, n_gets;

static void ask(const char *path, bool names, store_reply_fn fn, void *arg)
{
	cr_assert_lt(n_asked, TASKS_MAX);
	snprintf(asked[n_asked].path, sizeof(asked[n_asked].path), "%s", path);
	asked[n_asked].names = names;
	asked[n_asked].fn = fn;
	asked[n_asked++].arg = arg;
}

void store_children(struct store *s, const char *path, bool watch, store_reply_fn fn, void *arg)
{
	(void)s;
	cr_assert_not(watch);
	ask(path, true, fn, arg);
}

void store_get(struct store *s, const char *path, bool watch, store_reply_fn fn, void *arg)
{
	(void)s;
	cr_assert_not(watch);
	n_gets++;
	ask(path, false, fn, arg);
}

/* Stubs for what a node asks of host.h and store.h besides: nothing here does. */

int64_t host_wall_ms(const struct host *h)
{
	(void)h;
	return now_ms;
}

void host_random(struct host *h, void *bytes, size_t len)
{
	(void)h, (void)bytes, (void)len;
	cr_assert_fail("random");
}

void host_timer_init(struct host_timer *t, struct host *h, host_fn fn, void *arg)
{
	*t = (struct host_timer){.host = h, .fn = fn, .arg = arg};
}

void host_timer_start(struct host_timer *t, int64_t ms)
{
	(void)t, (void)ms;
}

void host_timer_stop(struct host_timer *t)
{
	(void)t;
}

bool host_timer_is_set(const struct host_timer *t)
{
	(void)t;
	return false;
}

void host_timer_done(struct host_timer *t)
{
	(void)t;
}

void host_turn_init(struct host_turn *t, struct host *h, host_fn fn, void *arg)
{
	(void)t, (void)h, (void)fn, (void)arg;
}

void host_turn_done(struct host_turn *t)
{
	(void)t;
}

int store_open(struct store **ret_store, struct host *host, const struct store_options *options,
	       const struct store_handlers *handlers)
{
	(void)host, (void)options, (void)handlers;
	*ret_store = NULL;
	return -1;
}

void store_close(struct store *s, void (*done)(void *arg), void *arg)
{
	(void)s;
	if (done)
		done(arg);
}

int64_t store_session(const struct store *s)
{
	(void)s;
	return 0;
}

int store_timeout(const struct store *s)
{
	(void)s;
	return 0;
}

const char *store_server(const struct store *s)
{
	(void)s;
	return "";
}

int store_local_address(const struct store *s, char *text, size_t size)
{
	(void)s, (void)text, (void)size;
	return -1;
}

int store_set_servers(struct store *s, const char *servers)
{
	(void)s, (void)servers;
	return 0;
}

void store_hang_up(struct store *s)
{
	(void)s;
}

void store_unwatch(struct store *s, const char *path, bool children, store_reply_fn fn, void *arg)
{
	(void)s, (void)path, (void)children, (void)fn, (void)arg;
	cr_assert_fail("a watch is removed");
}

void store_exists(struct store *s, const char *path, bool watch, store_reply_fn fn, void *arg)
{
	(void)s, (void)path, (void)watch, (void)fn, (void)arg;
	cr_assert_fail("exists");
}

void store_create(struct store *s, const char *path, store_reply_fn fn, void *arg)
{
	(void)s, (void)path, (void)fn, (void)arg;
	cr_assert_fail("create");
}

void store_multi(struct store *s, const struct store_op *ops, size_t n, store_reply_fn fn,
		 void *arg)
{
	(void)s, (void)ops, (void)n, (void)fn, (void)arg;
	cr_assert_fail("multi");
}

void store_lookup(struct host *host, void *world, const char *hosts, store_lookup_fn done,
		  void *arg)
{
	(void)host, (void)world, (void)hosts, (void)done, (void)arg;
	cr_assert_fail("lookup");
}

/* --- what is there ----------------------------------------------------------------------------------- */

static const struct node_settings settings = {.root = "/r"};
static struct session session;
static struct registry registry;
static struct leaders leaders;
static struct last_runs runs;
static const struct task_settings no_settings;
static struct task *tasks[TASKS_MAX];
static int idle;

static void on_idle(void *arg)
{
	(void)arg;
	idle++;
}

static void begin(size_t n)
{
	log_setup(LOG_ERROR, LOG_TEXT, false);
	session.settings = &settings;
	session.state = SESSION_UP;
	leaders = (struct leaders){
		.session = &session, .registry = &registry, .tasks = tasks, .n_tasks = n};
	for (size_t i = 0; i < n; i++) {
		char name[32];
		snprintf(name, sizeof(name), "t%04zu", i);
		tasks[i] = calloc(1, sizeof(*tasks[i]) + sizeof(name));
		tasks[i]->settings = &no_settings;
		memcpy(tasks[i]->name, name, sizeof(name));
		tasks[i]->leaders = &leaders;
	}
	last_runs_init(&runs, &leaders);
	last_runs_on_idle(&runs, on_idle, NULL);
}

static struct run_record record_of(const char *state)
{
	struct run_record r = {.id = "11111111-2222-3333-4444-555555555555",
			       .hostname = "elsewhere",
			       .session = 7,
			       .token = 9,
			       .attempt = 1,
			       .started_at = 1000,
			       .exit_status = -1};

	snprintf(r.state, sizeof(r.state), "%s", state);
	if (strcmp(state, "running") != 0)
		r.ended_at = 2000;
	return r;
}

/* The ledger of every task: its ticks, and the state in all records; NULL: they are no records. */
struct ledger {
	char ticks[3][TICK_NAME_SIZE];
	const char *state;
};

static void answer(const struct ledger *l, enum store_code code)
{
	char ticks[3][TICK_NAME_SIZE], *names[3];
	struct store_reply reply = {.code = code, .names = names};
	struct buffer data;
	store_reply_fn fn = asked[0].fn;
	void *arg = asked[0].arg;
	bool is_names = asked[0].names;

	buffer_init(&data, RECORD_RUN_MAX);
	if (l)
		memcpy(ticks, l->ticks, sizeof(ticks));
	for (size_t i = 0; l && is_names && i < 3 && ticks[i][0]; i++)
		names[reply.n_names++] = ticks[i];
	if (l && is_names && reply.n_names == 0)
		reply.code = STORE_NO_NODE;
	if (l && !is_names && l->state) {
		struct run_record r = record_of(l->state);
		cr_assert_eq(record_pack_run(&data, &r), 0);
	}
	reply.data = data.data;
	reply.len = data.len;
	memmove(asked, asked + 1, --n_asked * sizeof(asked[0]));
	fn(arg, &reply);
	buffer_done(&data);
}

/* Answers until nothing is asked; how many tasks were read. */
static size_t answer_all(const struct ledger *l)
{
	size_t n = 0;

	for (; n_asked > 0; answer(l, STORE_OK)) {
		cr_assert_leq(n_asked, LAST_RUN_OUTSTANDING);
		n += asked[0].names;
	}
	cr_assert_not(last_runs_busy(&runs));
	return n;
}

static size_t ask_all(const struct ledger *l)
{
	last_runs_ask(&runs, tasks, leaders.n_tasks);
	return answer_all(l);
}

static void expect(const char *tick, const char *state, const char *what)
{
	const struct last_run *last = last_run_of(tasks[0]);

	cr_expect_str_eq(last->tick, tick, "%s: %s", what, last->tick);
	cr_expect_str_eq(last->state, state, "%s: %s", what, last->state);
	cr_expect_eq(last->ended_at, strcmp(state, "ok") == 0 ? 2000 : 0, "%s", what);
}

Test(last_run, is_that_of_the_newest_tick)
{
	static const struct {
		const char *what;
		struct ledger ledger;
		const char *tick, *state;
	} cases[] = {
		{"the newest, in whatever order", {{NEW, OLD}, "ok"}, NEW, "ok"},
		{"it goes on", {{OLD, NEW}, "running"}, NEW, "running"},
		{"other nodes are no ticks", {{OLD, "zzz"}, "ok"}, OLD, "ok"},
		{"none", {{""}, NULL}, "", ""},
		{"no ticks", {{"zzz"}, NULL}, "", ""},
		{"what is no record", {{OLD}, NULL}, "", ""},
	};

	begin(1);
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		last_run_forget(tasks[0]);
		idle = 0;
		cr_expect_eq(ask_all(&cases[i].ledger), 1, "%s", cases[i].what);
		cr_expect_eq(idle, 1, "%s", cases[i].what);
		expect(cases[i].tick, cases[i].state, cases[i].what);
	}
}

Test(last_run, is_read_when_asked_for_and_not_again_for_a_while)
{
	static const struct ledger ran = {{OLD}, "ok"}, goes_on = {{OLD, NEW}, "running"},
				   ended = {{OLD, NEW}, "ok"};

	begin(1);
	cr_expect_eq(ask_all(&ran), 1);
	now_ms += LAST_RUN_AGE_MS - 1;
	cr_expect_eq(ask_all(&goes_on), 0);
	expect(OLD, "ok", "as it was");
	now_ms++;
	cr_expect_eq(ask_all(&goes_on), 1);
	expect(NEW, "running", "the next one");
	now_ms += LAST_RUN_AGE_MS;
	cr_expect_eq(ask_all(&ended), 1);
	expect(NEW, "ok", "it has ended");
	n_gets = 0;
	now_ms += LAST_RUN_AGE_MS;
	cr_expect_eq(ask_all(&ended), 1);
	cr_expect_eq(n_gets, 0, "a record of what is over does not change");
}

Test(last_run, keeps_what_is_known_while_the_connection_is_gone)
{
	static const struct ledger ran = {{OLD}, "ok"}, next = {{OLD, NEW}, "ok"};

	begin(2);
	ask_all(&ran);
	now_ms += LAST_RUN_AGE_MS;
	last_runs_ask(&runs, tasks, 2);
	session.state = SESSION_CONNECTING;
	last_runs_cut(&runs);
	while (n_asked > 0)
		answer(NULL, STORE_UNKNOWN);
	cr_expect_not(last_runs_busy(&runs));
	expect(OLD, "ok", "cached");
	cr_expect_eq(ask_all(&next), 0, "nobody is there to be asked");
	session.state = SESSION_UP;
	cr_expect_eq(ask_all(&next), 2, "at once, however short it was");
	expect(NEW, "ok", "read anew");
}

Test(last_run, of_this_node_is_known_at_once_and_not_undone_by_an_older_read)
{
	static const struct ledger before = {{OLD}, "ok"};
	struct run_record r = record_of("running");

	begin(1);
	last_runs_ask(&runs, tasks, 1);
	last_run_note(tasks[0], NEW, &r);
	expect(NEW, "running", "our own");
	answer_all(&before);
	expect(NEW, "running", "the read had been asked before");
	r = record_of("ok");
	last_run_note(tasks[0], OLD, &r);
	expect(NEW, "running", "the end of an older one");
	last_run_note(tasks[0], NEW, &r);
	expect(NEW, "ok", "the end");
}

Test(last_run, of_many_tasks_is_read_in_turns_however_many_ask)
{
	static const struct ledger ran = {{OLD}, "ok"};
	size_t read, known = 0;

	begin(TASKS_MAX);
	last_runs_ask(&runs, tasks, TASKS_MAX);
	cr_expect_eq(n_asked, LAST_RUN_OUTSTANDING);
	last_runs_ask(&runs, tasks, TASKS_MAX);
	cr_expect_eq(n_asked, LAST_RUN_OUTSTANDING);
	read = answer_all(&ran);
	cr_expect_eq(read, LAST_RUN_BURST);
	for (int i = 0; i < 1000; i++)
		read += ask_all(&ran);
	cr_expect_eq(read, LAST_RUN_BURST, "nothing is left for now");
	for (int i = 0; i < 15000; i += 10, now_ms += 10)
		read += ask_all(&ran);
	cr_expect_leq(read, LAST_RUN_BURST + 15000 / LAST_RUN_COST_MS);
	for (size_t i = 0; i < TASKS_MAX; i++)
		known += last_run_of(tasks[i])->tick[0] != '\0';
	cr_expect_eq(known, TASKS_MAX, "the longest ago come first: %zu", known);
}

Test(last_run, of_a_task_that_has_gone_and_of_a_handle_that_is_closed)
{
	static const struct ledger ran = {{OLD}, "ok"};

	begin(TASKS_MAX);
	last_runs_ask(&runs, tasks, TASKS_MAX);
	leaders.n_tasks = 0;
	answer_all(&ran);
	expect("", "", "nobody looks for it");
	leaders.n_tasks = TASKS_MAX;
	now_ms += (int64_t)LAST_RUN_BURST * LAST_RUN_COST_MS;
	last_runs_ask(&runs, tasks, TASKS_MAX);
	idle = 0;
	while (n_asked > 0)
		answer(NULL, STORE_ABANDONED);
	cr_expect_not(last_runs_busy(&runs));
	cr_expect_eq(idle, 0, "nothing follows from it");
	last_runs_done(&runs);
}
