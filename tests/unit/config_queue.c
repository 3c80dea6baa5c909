/* The sections of queues in task files, and where a job's end may be posted to. */
#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "config/keys/callback_url.h"
#include "config/tasks/hints.h"
#include "config/tasks/taskfile.h"

TestSuite(queue, .timeout = 60);

#define WORK "command = {\"/bin/true\"} user = app "

static char path[] = "/tmp/zkleader-queue-XXXXXX";
static struct problems problems;
static struct task_config **tasks;
static size_t n_tasks;

/* 0, or that of taskfile_load(). */
static int load(const char *text)
{
	char name[sizeof(path)];
	FILE *f;
	int fd, r;

	strcpy(name, path);
	fd = mkstemp(name);
	cr_assert(fd >= 0);
	f = fdopen(fd, "w");
	fputs(text, f);
	cr_assert_eq(fclose(f), 0);
	problems_init(&problems);
	n_tasks = 0;
	tasks = NULL;
	r = taskfile_load(name, "t", &tasks, &n_tasks, &problems);
	unlink(name);
	return r;
}

static void forget(void)
{
	taskfile_free(tasks, n_tasks);
	problems_done(&problems);
}

static struct queue_settings told(const char *keys)
{
	struct queue_settings s;
	char text[1000];

	snprintf(text, sizeof(text), "queue q { %s }", keys);
	cr_assert_eq(load(text), 0, "of %s: %s", keys, problems.n ? problems.list[0].message : "");
	cr_assert_eq(n_tasks, 1);
	cr_assert_not_null(tasks[0]->queue);
	s = tasks[0]->queue->told;
	forget();
	return s;
}

Test(queue, defaults)
{
	struct queue_settings s = told(WORK);

	cr_expect_not(s.is_url);
	cr_expect(s.slots >= 1 && s.slots <= QUEUE_SLOTS_MAX);
	cr_expect_eq(s.assign, QUEUE_ASSIGN_LEAST);
	cr_expect_eq(s.concurrency, 0);
	cr_expect_eq(s.rate, 0);
	cr_expect_eq(s.attempts, 5);
	cr_expect_eq(s.backoff_ms, 5000);
	cr_expect_eq(s.backoff_max_ms, 3600000);
	cr_expect(s.rerun);
	cr_expect_eq(s.timeout_ms, 3600000);
	cr_expect_eq(s.keep_ms, 86400000);
	cr_expect_eq(s.keep_dead_ms, 7 * 86400000);
	cr_expect_eq(s.max_queued, 10000);
}

Test(queue, all_keys)
{
	cr_assert_eq(load("task a { tick = 1d }\n"
			  "queue \"thumbs\" {\n"
			  "\turl = \"https://u:p@host:8443/in?x=1\"\n\tuser = app\n\tslots = 3\n"
			  "\tassign = round-robin\n\tversion-policy = any\n\tmin-version = 1.2\n"
			  "\tconcurrency = 4\n\trate = \"100/1m\"\n\tattempts = 7\n"
			  "\tbackoff = 1s\n\tbackoff-max = 2m\n\ton-crash = skip\n"
			  "\ttimeout = 10s\n\tkeep = 1h\n\tkeep-dead = 2d\n\tmax-queued = 50000\n"
			  "\tsubmitters = {www, alice}\n"
			  "\tcallback-allow = {\"https://h/a/\", \"http://[::1]:8080\"}\n"
			  "\tdescription = x\n\tyield = never\n\trank-position = 2\n}\n"
			  "task b { }\n"),
		     0, "%s", problems.n ? problems.list[0].message : "");
	cr_assert_eq(n_tasks, 3);
	cr_expect_str_eq(tasks[0]->name, "a");
	cr_expect_eq(tasks[0]->tick_ms, 86400000);
	cr_expect_null(tasks[0]->queue);
	cr_expect_str_eq(tasks[2]->name, "b");
	const struct task_config *t = tasks[1];
	const struct queue_config *q = t->queue;
	cr_expect_str_eq(t->name, "thumbs");
	cr_expect_eq(t->line, 2);
	cr_expect_str_eq(t->description, "x");
	cr_expect_eq(t->yield, ELECTION_YIELD_NEVER);
	cr_expect_eq(t->rank_position, 2);
	cr_expect_str_eq(t->min_version, "1.2");
	cr_expect_eq(t->version_policy, VERSION_ANY);
	cr_expect_eq(t->n_users, 2);
	cr_expect_str_eq(t->users[1], "alice");
	cr_expect_str_eq(q->url, "https://u:p@host:8443/in?x=1");
	cr_expect_str_eq(q->user, "app");
	cr_expect_eq(q->n_callback_allow, 2);
	cr_expect(q->told.is_url);
	cr_expect_eq(q->told.slots, 3);
	cr_expect_eq(q->told.assign, QUEUE_ASSIGN_ROUND_ROBIN);
	cr_expect_eq(q->told.concurrency, 4);
	cr_expect_eq(q->told.rate, 100);
	cr_expect_eq(q->told.rate_ms, 60000);
	cr_expect_eq(q->told.attempts, 7);
	cr_expect_eq(q->told.backoff_ms, 1000);
	cr_expect_eq(q->told.backoff_max_ms, 120000);
	cr_expect_not(q->told.rerun);
	cr_expect_eq(q->told.timeout_ms, 10000);
	cr_expect_eq(q->told.keep_ms, 3600000);
	cr_expect_eq(q->told.keep_dead_ms, 2 * 86400000);
	cr_expect_eq(q->told.max_queued, 50000);
	cr_expect_str_eq(task_config_user(t), "app");
	struct task_config *copy = task_config_copy(t);
	cr_expect(task_config_equal(t, copy));
	copy->queue->told.attempts = 8;
	cr_expect_not(task_config_equal(t, copy));
	task_config_free(copy);
	forget();
}

/* A queue without slots takes submits alone: nobody has to do a job here. */
Test(queue, no_slots)
{
	cr_assert_eq(load("queue q { slots = 0 }\nqueue r { slots = 0 " WORK "}"), 0);
	cr_expect_eq(tasks[0]->queue->told.slots, 0);
	cr_expect_null(task_config_user(tasks[0]));
	cr_expect_null(task_config_user(tasks[1]));
	forget();
}

Test(queue, rates)
{
	static const struct {
		const char *text;
		unsigned rate;
		int64_t ms;
	} cases[] = {{"1/100ms", 1, 100}, {"1000000/30d", 1000000, 30 * INT64_C(86400000)},
		     {"0/1m", 0, 0},	  {"1000001/1m", 0, 0},
		     {"5/99ms", 0, 0},	  {"5/31d", 0, 0},
		     {"5", 0, 0},	  {"/1m", 0, 0},
		     {"5/", 0, 0},	  {"5 / 1m", 0, 0},
		     {"-5/1m", 0, 0},	  {"5/1m/2", 0, 0}};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		char text[200];
		bool good = cases[i].rate > 0;

		snprintf(text, sizeof(text), "queue q { " WORK "rate = \"%s\" }", cases[i].text);
		cr_expect_eq(load(text) == 0, good, "of %s", cases[i].text);
		if (n_tasks == 1) {
			cr_expect_eq(tasks[0]->queue->told.rate, cases[i].rate);
			cr_expect_eq(tasks[0]->queue->told.rate_ms, cases[i].ms);
		} else {
			cr_expect(strstr(problems.list[0].message, "as \"100/1m\""));
		}
		forget();
	}
}

/* Each is refused, at its line, in words that say what to do. */
Test(queue, refused)
{
	static const struct {
		const char *text;
		int line;
		const char *message;
	} cases[] = {
		{"queue q {\n " WORK "\n max-queued = 50001 }", 3,
		 "max-queued: \"50001\" is above 50000"},
		{"queue q {\n " WORK "\n max-queued = 0 }", 3, "max-queued: \"0\" is below 1"},
		{"queue q {\n slots = 1001\n " WORK "}", 2, "slots: \"1001\" is above 1000"},
		{"queue q {\n attempts = 0\n " WORK "}", 2, "attempts: \"0\" is below 1"},
		{"queue q {\n timeout = 0s\n " WORK "}", 2, "timeout: \"0s\" is below 100ms"},
		{"queue q {\n backoff = 31d\n " WORK "}", 2, "backoff: \"31d\" is above 30d"},
		{"queue q {\n keep = 91d\n " WORK "}", 2, "keep: \"91d\" is above 90d"},
		{"queue q {\n assign = most\n " WORK "}", 2,
		 "assign: \"most\" is not one of \"least\", \"round-robin\", \"random\""},
		{"queue q {\n version-policy = oldest\n " WORK "}", 2,
		 "version-policy: \"oldest\" is not one of \"newest\", \"any\""},
		{"queue q {\n slot = 1\n " WORK "}", 2,
		 "unknown key \"slot\": did you mean \"slots\"?"},
		{"queue q {\n backof-max = 1s\n " WORK "}", 2,
		 "unknown key \"backof-max\": did you mean \"backoff-max\"?"},
		{"queue q {\n schedule = \"@daily\"\n " WORK "}", 2, "unknown key \"schedule\": "},
		{"queue q {\n partitions = 2\n " WORK "}", 2, "unknown key \"partitions\": "},
		{"task q {\n slots = 2\n }", 2, "unknown key \"slots\": "},
		{"slots = 2", 1, "slots: stands outside of a section: it belongs within queue"},
		{"\nqueue q { user = app }", 2, "queue: needs a command, "},
		{"\nqueue q { command = {\"/bin/true\"} }", 2, "queue: needs a user, "},
		{"queue q {\n " WORK "\n url = \"http://h/\" }", 3,
		 "url: goes not together with command: "},
		{"queue q { user = app\n url = \"ftp://h/\" }", 2, "url: is none: "},
		{"queue q { user = app\n command = {true} }", 2,
		 "command: \"true\": the first word"},
		{"queue q { user = app\n command = \"/bin/true\" }", 2, "command: is an array"},
		{"queue q { user = app\n command = {} }", 2, "command: is empty"},
		{"queue q { user = \"a b\"\n command = {\"/bin/true\"} }", 1,
		 "user: \"a b\" is not the name of a local user"},
		{"queue q {\n submitters = {a, a}\n " WORK "}", 2,
		 "submitters: \"a\" is there twice: keep one"},
		{"queue q {\n callback-allow = {\"http://h/?a\"}\n " WORK "}", 2,
		 "callback-allow: \"http://h/?a\" is no beginning of a URL: it has a query"},
		{"task a { }\nqueue a { " WORK "}", 2,
		 "queue \"a\" has the name of the task in line 1: give one of them another"},
		{"queue a { " WORK "}\ntask a { }", 2,
		 "task \"a\" has the name of the queue in line 1: give one of them another"},
		{"queue a { " WORK "}\nqueue a { " WORK "}", 2,
		 "queue \"a\" is in line 1 already: keep one of them"},
		{"queue { " WORK "}", 1, "queue: has no name: write queue \"...\" { }, "},
		{"queue \"a/b\" { " WORK "}", 1, "queue: \"a/b\" is not up to 100 letters"},
		{"task a {\nqueue b { " WORK "}\n}", 2,
		 "queue within the task of line 1: is a \"}\" missing before it?"},
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		size_t len = strlen(cases[i].message);

		cr_assert_neq(load(cases[i].text), 0, "of:\n%s", cases[i].text);
		cr_expect_eq(problems.list[0].line, cases[i].line, "of:\n%s", cases[i].text);
		cr_expect_eq(strncmp(problems.list[0].message, cases[i].message, len), 0,
			     "of:\n%s\nfound: %s", cases[i].text, problems.list[0].message);
		forget();
	}
}

Test(queue, odd)
{
	cr_assert_eq(load("queue q {\n " WORK "\n keep = 1m\n backoff = 2h }"), 0);
	cr_assert_eq(problems.n_warnings, 2);
	cr_expect(strstr(problems.warnings[1].message, "keep: records are kept for 10m"));
	cr_expect(strstr(problems.warnings[0].message, "backoff: is longer than backoff-max"));
	forget();
}

/* Anybody who can write to ZooKeeper can submit. */
Test(queue, without_auth_file)
{
	char file_name[] = "a";
	struct task_file file = {.name = file_name};
	struct task_files files = {.list = &file, .n = 1};
	char dir[] = "/nonexistent", auth[] = "x", main_file[] = "zkleader.conf";
	struct config config = {.task_dir = dir, .file = main_file};

	cr_assert_eq(load("task a { }\nqueue q { " WORK "submitters = {root} }"), 0);
	file.tasks = tasks;
	file.n_tasks = n_tasks;
	hints_warn(&config, &files, &problems);
	cr_assert_gt(problems.n_warnings, 0);
	cr_expect_eq(problems.warnings[problems.n_warnings - 1].line, 2);
	cr_expect(
		strstr(problems.warnings[problems.n_warnings - 1].message, "without an auth-file"));
	config.auth_file = auth;
	size_t before = problems.n_warnings;
	hints_warn(&config, &files, &problems);
	cr_expect_eq(problems.n_warnings, before);
	forget();
}

/* --- callbacks ------------------------------------------------------------------------------- */

Test(queue, callbacks)
{
	char a[] = "https://h.example/ci/", b[] = "http://127.0.0.1:8080", c[] = "http://x/hook";
	char *allow[] = {a, b, c};
	static const struct {
		const char *url;
		bool good;
	} cases[] = {
		{"https://h.example/ci/", true},
		{"https://h.example/ci/done?id=1", true},
		{"HTTPS://H.Example:443/ci/x", true},
		{"https://h.example/ci", false},
		{"https://h.example/cix", false},
		{"https://h.example/CI/x", false},
		{"http://h.example/ci/x", false},
		{"https://h.example:8443/ci/x", false},
		{"https://h.example.evil/ci/x", false},
		{"https://u@h.example/ci/x", false},
		{"https://h.example/ci/../x", false},
		{"https://h.example/ci/..", false},
		{"https://h.example/ci/./x", false},
		{"https://h.example/ci/%2e%2E/x", false},
		{"https://h.example/ci/.%2e/x", false},
		{"https://h.example/ci/x%2f../y", false},
		{"https://h.example/ci/x%5c..%5cy", false},
		{"https://h.example/ci/..;a=b/x", false},
		{"https://h.example/ci/...", true},
		{"https://h.example/ci/a..b/.c", true},
		{"https://h.example/ci/?../x", true},
		{"https://h.example/ci/x#y", false},
		{"https://h.example/ci/x y", false},
		{"https://h.example/ci/x\\y", false},
		{"https://h.example/ci/x\ny", false},
		{"https://h.example\\@evil/ci/x", false},
		{"http://127.0.0.1:8080", true},
		{"http://127.0.0.1:8080/", true},
		{"http://127.0.0.1:8080?x", true},
		{"http://127.0.0.1:8080/a/b", true},
		{"http://127.0.0.1:08080/", true},
		{"http://127.0.0.1:80801/", false},
		{"http://127.0.0.1:/", false},
		{"http://127.0.0.1:8080x/", false},
		{"http://127.0.0.1/", false},
		{"http://x/hook/1", true},
		{"http://x/hook", false},
		{"http://x/hooks/1", false},
		{"http:///hook/1", false},
		{"//x/hook/1", false},
		{"ftp://x/hook/1", false},
		{"", false},
	};
	char longest[CALLBACK_URL_MAX + 2] = "http://x/hook/";

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		const char *why = callback_url_problem(cases[i].url, allow, 3);

		cr_expect_eq(why == NULL, cases[i].good, "%s: %s", cases[i].url,
			     why ? why : "good");
	}
	memset(longest + strlen(longest), 'a', sizeof(longest) - 1 - strlen(longest));
	longest[CALLBACK_URL_MAX + 1] = '\0';
	cr_expect(callback_url_problem(longest, allow, 3));
	longest[CALLBACK_URL_MAX] = '\0';
	cr_expect_null(callback_url_problem(longest, allow, 3));
	cr_expect(callback_url_problem("http://x/hook/1", NULL, 0));
}

Test(queue, callback_entries)
{
	cr_expect_null(callback_allow_problem("http://h"));
	cr_expect_null(callback_allow_problem("https://[2001:db8::1]:8443/x/"));
	cr_expect(callback_allow_problem("h/"));
	cr_expect(callback_allow_problem("http://"));
	cr_expect(callback_allow_problem("http://h/a/../"));
	cr_expect(callback_allow_problem("http://[::1/"));
	cr_expect(callback_allow_problem("http://[::1]x/"));
	cr_expect(callback_allow_problem("http://h:0/"));
	cr_expect(callback_allow_problem("http://h:65536/"));
	cr_expect(callback_allow_problem("http://u:p@h/"));
}
