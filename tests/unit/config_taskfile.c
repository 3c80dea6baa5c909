#include <criterion/criterion.h>
#include <errno.h>
#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/text/marks.h"
#include "config/tasks/hints.h"
#include "config/tasks/task_zones.h"
#include "config/tasks/taskfile.h"
#include "settings_damage.h"

#define TEXT_MAX 65536

static char folder[64];
static char file[128];
static char task_dir[128];
static struct config config;
static struct problems problems;

static void setup(void)
{
	strcpy(folder, "/tmp/zkleader-tasks-XXXXXX");
	cr_assert(mkdtemp(folder));
	snprintf(file, sizeof(file), "%s/one", folder);
	snprintf(task_dir, sizeof(task_dir), "%s/conf.d", folder);
	cr_assert_eq(mkdir(task_dir, 0755), 0);
	config = (struct config){.task_dir = task_dir, .task_dir_line = 12};
	config.file = strdup("zkleader.conf");
	problems_init(&problems);
}

static int remove_one(const char *path, const struct stat *st, int type, struct FTW *ftw)
{
	(void)st, (void)type, (void)ftw;
	return remove(path);
}

static void teardown(void)
{
	problems_done(&problems);
	free(config.file);
	nftw(folder, remove_one, 8, FTW_DEPTH | FTW_PHYS);
}

TestSuite(taskfile, .init = setup, .fini = teardown, .timeout = 120);
TestSuite(taskdir, .init = setup, .fini = teardown, .timeout = 120);

static void write_bytes(const char *path, const char *text, size_t len)
{
	FILE *f = fopen(path, "w");

	cr_assert(f);
	cr_assert_eq(fwrite(text, 1, len, f), len);
	cr_assert_eq(fclose(f), 0);
}

/* Takes the test's own folder out of the text. */
static void without_folder(char *text)
{
	size_t len = strlen(folder) + 1;

	while ((text = strstr(text, folder)))
		memmove(text, text + len, strlen(text + len) + 1);
}

/* "FILE:LINE: message\n" for each problem, which are forgotten. */
static char *problems_text(void)
{
	static char text[TEXT_MAX];
	size_t used = 0;

	text[0] = '\0';
	for (size_t i = 0; i < problems.n; i++)
		used += (size_t)snprintf(text + used, sizeof(text) - used, "%s:%d: %s\n",
					 problems.list[i].file, problems.list[i].line,
					 problems.list[i].message);
	problems_done(&problems);
	without_folder(text);
	return text;
}

static struct task_config **good(const char *text, size_t expected)
{
	struct task_config **tasks;
	size_t n;

	write_bytes(file, text, strlen(text));
	cr_assert_eq(taskfile_load(file, "t", &tasks, &n, &problems), 0, "of:\n%s\nfound:\n%s",
		     text, problems_text());
	cr_assert_eq(n, expected);
	cr_expect_eq(problems.n, 0);
	return tasks;
}

Test(taskfile, defaults)
{
	struct task_config **tasks = good("\ntask \"a.b-c_1\" { }", 1);
	const struct task_config *t = tasks[0];

	cr_expect_str_eq(t->name, "a.b-c_1");
	cr_expect_str_eq(t->file, "t");
	cr_expect_eq(t->line, 2);
	cr_expect_null(t->description);
	cr_expect_eq(t->yield, ELECTION_YIELD_RANK);
	cr_expect_eq(t->rank_position, -1);
	cr_expect_null(t->min_version);
	cr_expect_eq(t->tick_ms, 60000);
	cr_expect_eq(t->wait_ms, 10000);
	cr_expect_eq(t->on_crash, TASK_ON_CRASH_SKIP);
	cr_expect_eq(t->overlap, TASK_OVERLAP_FORBID);
	cr_expect_not(t->index);
	cr_expect_eq(t->hold_max_ms, 24 * 3600 * 1000);
	cr_expect_eq(t->n_users, 0);
	cr_expect_eq(t->history, 50);
	taskfile_free(tasks, 1);
}

Test(taskfile, every_key)
{
	struct task_config **tasks =
		good("task first { yield = never }\n"
		     "task 'second' {\n"
		     "description = \"Größe: \\\"x\\\"\" yield = \"version\"\nrank-position = 4\n"
		     "min-version = \"1.4\" tick = \"1d\"\nwait = \"0s\"\non-crash = rerun\n"
		     "renamed-from = first\n"
		     "hold-max = \"1h\"\nusers = { app, \"rep.orts-2\", }\nhistory = 10000 }\n"
		     "task third { users = app rank-position = \"0\" }",
		     3);
	const struct task_config *t = tasks[1];

	cr_expect_eq(tasks[0]->yield, ELECTION_YIELD_NEVER);
	cr_expect_str_eq(t->name, "second");
	cr_expect_eq(t->line, 2);
	cr_expect_str_eq(t->description, "Größe: \"x\"");
	cr_expect_eq(t->yield, ELECTION_YIELD_VERSION);
	cr_expect_eq(t->rank_position, 4);
	cr_expect_str_eq(t->min_version, "1.4");
	cr_expect_str_eq(t->renamed_from, "first");
	cr_expect_eq(t->tick_ms, 24 * 3600 * 1000);
	cr_expect_eq(t->wait_ms, 0);
	cr_expect_eq(t->on_crash, TASK_ON_CRASH_RERUN);
	cr_expect_eq(t->hold_max_ms, 3600 * 1000);
	cr_expect_eq(t->n_users, 2);
	cr_expect_str_eq(t->users[0], "app");
	cr_expect_str_eq(t->users[1], "rep.orts-2");
	cr_expect_eq(t->history, 10000);
	cr_expect_eq(tasks[2]->n_users, 1);
	cr_expect_eq(tasks[2]->rank_position, 0);
	taskfile_free(tasks, 3);
}

Test(taskfile, partitions_and_groups)
{
	struct task_config **tasks =
		good("task a { partitions = 16 partition-limit = 4 partition-jobs = 2\n"
		     "version-policy = any }\n"
		     "task b { spread = 'group.1' }\ntask c { version-policy = oldest }\n",
		     3);

	cr_expect_eq(tasks[0]->partitions, 16);
	cr_expect_eq(tasks[0]->partition_limit, 4);
	cr_expect_eq(tasks[0]->partition_jobs, 2);
	cr_expect_eq(tasks[0]->version_policy, VERSION_ANY);
	cr_expect_null(tasks[0]->spread);
	cr_expect_eq(task_config_elections(tasks[0]), 16);
	cr_expect_eq(tasks[1]->partitions, 0);
	cr_expect_eq(tasks[1]->partition_limit, 0);
	cr_expect_eq(tasks[1]->partition_jobs, 0);
	cr_expect_eq(tasks[1]->version_policy, VERSION_NEWEST);
	cr_expect_str_eq(tasks[1]->spread, "group.1");
	cr_expect_eq(task_config_elections(tasks[1]), 1);
	cr_expect_eq(tasks[2]->version_policy, VERSION_OLDEST);
	taskfile_free(tasks, 3);
}

Test(taskfile, no_tasks)
{
	taskfile_free(good("", 0), 0);
	taskfile_free(good("# nothing\r\n/* at all */", 0), 0);
	taskfile_free(good("\xef\xbb\xbf", 0), 0);
}

static void expect_equal(const char *a, const char *b, bool equal)
{
	struct task_config **x = good(a, 1), **y = good(b, 1);
	struct task_config *copy = task_config_copy(x[0]);

	cr_expect_eq(task_config_equal(x[0], y[0]), equal, "%s and %s", a, b);
	cr_expect(task_config_equal(x[0], copy), "%s and its copy", a);
	taskfile_free(x, 1);
	taskfile_free(y, 1);
	task_config_free(copy);
}

Test(taskfile, equal)
{
	static const char *const keys[] = {
		"description = x",
		"yield = never",
		"rank-position = 0",
		"min-version = 1",
		"tick = 2m",
		"wait = 2m",
		"on-crash = rerun",
		"hold-max = 2h",
		"renamed-from = b",
		"overlap = allow",
		"index = true",
		"users = {a, b}",
		"users = { a, c }",
		"history = 1",
		"version-policy = any",
		"partitions = 2",
		"partitions = 3",
		"spread = x",
		"spread = y",
		"partitions = 2 partition-limit = 2",
		"partitions = 2 partition-jobs = 2",
	};

	expect_equal("task a { tick = 60s }", "\n\ntask a { yield = rank }", true);
	expect_equal("task a { users = {} }", "task a {}", true);
	expect_equal("task a {}", "task b {}", false);
	for (size_t i = 0; i < sizeof(keys) / sizeof(keys[0]); i++) {
		char a[128], b[128];

		snprintf(a, sizeof(a), "task a { %s }", keys[i]);
		snprintf(b, sizeof(b), "task a { %s }",
			 i > 0 && strncmp(keys[i], keys[i - 1], 5) == 0 ? keys[i - 1] : "");
		expect_equal(a, a, true);
		expect_equal(a, b, false);
	}
}

struct bad_case {
	const char *text;
	const char *problems;
};

#define ONE(line, text)                                    \
	{                                                  \
		"task a {\n" line "\n}", "t:2: " text "\n" \
	}
#define DURATION(key, text)        \
	ONE(key " = \"" text "\"", \
	    key ": \"" text        \
		"\" is not a duration such as \"500ms\", \"10s\", \"5m\", \"2h\" or \"1d\"")
#define NAME_FORM \
	"up to 100 letters, digits, \".\", \"_\" and \"-\", beginning with a letter or digit"

static const struct bad_case bad_values[] = {
	ONE("description = \"\"", "description: is empty: give it a value or leave the key out"),
	ONE("description = \"a\\nb\"",
	    "description: \"a\\x0Ab\" has a control character in it, or is not UTF-8"),
	ONE("description = \"\x80\"",
	    "description: \"\\x80\" has a control character in it, or is not UTF-8"),
	ONE("description = {a, b}", "description: has one value, not a list: write it without { }"),
	ONE("yield = \"sometimes\"",
	    "yield: \"sometimes\" is not one of \"rank\", \"version\", \"never\""),
	ONE("rank-position = 5", "rank-position: \"5\" is above 4"),
	ONE("rank-position = -1", "rank-position: \"-1\" is not a number from 0 to 4"),
	ONE("rank-position = 0x1", "rank-position: \"0x1\" is not a number from 0 to 4"),
	ONE("rank-position = 1.0", "rank-position: \"1.0\" is not a number from 0 to 4"),
	ONE("rank-position = \"\"",
	    "rank-position: is empty: give it a value or leave the key out"),
	ONE("rank-position = 99999999999999999999999",
	    "rank-position: \"99999999999999999999999\" is not a number from 0 to 4"),
	ONE("history = 0", "history: \"0\" is below 1"),
	ONE("history = 10001", "history: \"10001\" is above 10000"),
	ONE("history = many", "history: \"many\" is not a number from 1 to 10000"),
	ONE("min-version = \" 1\"",
	    "min-version: \" 1\" is no version: that is up to 255 characters of printable ASCII"),
	ONE("renamed-from = \"a/b\"",
	    "renamed-from: \"a/b\" is no name of a task: that is " NAME_FORM),
	ONE("renamed-from = a",
	    "renamed-from: \"a\" is the name that it has: give its former name, "
	    "or leave it out"),
	DURATION("tick", "10"),
	DURATION("tick", "none"),
	DURATION("wait", "1 s"),
	DURATION("hold-max", "s"),
	ONE("tick = 500ms", "tick: \"500ms\" is below 1s"),
	ONE("tick = 1500ms",
	    "tick: \"1500ms\" is not a whole number of seconds, which a tick is named by"),
	ONE("tick = 25h", "tick: \"25h\" is above 1d"),
	ONE("wait = 2d", "wait: \"2d\" is above 1d"),
	ONE("hold-max = 0s", "hold-max: \"0s\" is below 1s"),
	ONE("hold-max = 31d", "hold-max: \"31d\" is above 30d"),
	ONE("on-crash = retry", "on-crash: \"retry\" is not one of \"skip\", \"rerun\""),
	ONE("version-policy = some",
	    "version-policy: \"some\" is not one of \"newest\", \"oldest\", \"any\""),
	ONE("partitions = 1", "partitions: \"1\" is below 2"),
	ONE("partitions = 257", "partitions: \"257\" is above 256"),
	ONE("partitions = 2 partition-limit = 0", "partition-limit: \"0\" is below 1"),
	ONE("partitions = 2 partition-jobs = 257", "partition-jobs: \"257\" is above 256"),
	ONE("partition-limit = 2",
	    "partition-limit: needs partitions, of which it is the limit: set "
	    "partitions too, or leave it out"),
	ONE("partition-jobs = 2", "partition-jobs: needs partitions, whose runs it limits: set "
				  "partitions too, or leave it out"),
	ONE("partitions = 2 rank-position = 0",
	    "rank-position: goes not together with partitions, which are spread over the hosts: "
	    "leave one of them out"),
	ONE("partitions = 2 spread = x",
	    "spread: goes not together with partitions, which are spread evenly by themselves: "
	    "leave one of them out"),
	ONE("spread = \"a:1\"", "spread: \"a:1\" is no name of a group: that is " NAME_FORM),
	ONE("users = { \"\" }", "users: is empty: give it a value or leave the key out"),
	ONE("users = { \"a b\" }", "users: \"a b\" is not the name of a local user"),
	ONE("users = { \"-a\" }", "users: \"-a\" is not the name of a local user"),
	ONE("users = { \"1000\" }", "users: \"1000\" is not the name of a local user"),
	ONE("users = { a, b, a }", "users: \"a\" is there twice: keep one"),
	ONE("users = { a,b,c,d,e,f,g,h,i,j,k,l,m,n,o,p,q,r,s,t,u,v,w,x,y,z,A,B,C,D,E,F,G }",
	    "users: 33 names, more than 32"),
	ONE("users += {b}", "users: nothing to add to: write = for +="),
	ONE("tcik = 1m", "unknown key \"tcik\": did you mean \"tick\"?"),
	ONE("on_crash = skip", "unknown key \"on_crash\": did you mean \"on-crash\"?"),
	ONE("scheduling = x", "unknown key \"scheduling\": the keys are description, yield, "
			      "rank-position, min-version, version-policy, "
			      "partitions, partition-limit, partition-jobs, spread, tick, wait, "
			      "on-crash, overlap, index, hold-max, users, alert-after, ping-url, "
			      "keep-output, renamed-from, history, "
			      "schedule, timezone, command, environment, directory, user,"
			      " catch-up, catch-up-window, splay, timeout,"
			      " retries, retry-delay, "
			      "health-command, health-file, health-interval, health-timeout, "
			      "health-fall, health-rise"),
	ONE("yield { }", "yield: is no section: write yield = ..."),
	ONE("more \"x\" { yield = z }",
	    "unknown key \"more\": the keys are description, yield, "
	    "rank-position, min-version, version-policy, partitions, "
	    "partition-limit, partition-jobs, spread, tick, "
	    "wait, on-crash, overlap, index, hold-max, users, alert-after, ping-url, "
	    "keep-output, renamed-from, history, "
	    "schedule, "
	    "timezone, "
	    "command, environment, directory, user,"
	    " catch-up, catch-up-window, splay, timeout,"
	    " retries, retry-delay, "
	    "health-command, health-file, health-interval, health-timeout, "
	    "health-fall, health-rise"),
	{"task a {\nyield = never\nyield = rank\n}\n",
	 "t:3: yield: is set in line 2 already: keep one of them\n"},
	{"task a {\nusers = {a}\nusers += {b}\n}\n",
	 "t:3: users: is set in line 2 already: keep one of them\n"},
};

static const struct bad_case bad_files[] = {
	{"task { yield = x }\n",
	 "t:1: task: has no name: write task \"...\" { }, where the name is " NAME_FORM "\n"
	 "t:1: yield: \"x\" is not one of \"rank\", \"version\", \"never\"\n"},
	{"\ntask \"\" { }\n", "t:2: task: \"\" is not " NAME_FORM "\n"},
	{"task \"a b\" { }\ntask \"../x\" {\n\nyield = x }",
	 "t:1: task: \"a b\" is not " NAME_FORM "\n"
	 "t:2: task: \"../x\" is not " NAME_FORM "\n"
	 "t:4: yield: \"x\" is not one of \"rank\", \"version\", \"never\"\n"},
	{"task \"${HOME}\" { }\n", "t:1: task: \"${HOME}\" is not " NAME_FORM "\n"},
	{"task \"a\\x0Ab\" { }\n", "t:1: task: \"a\\x0Ab\" is not " NAME_FORM "\n"},
	{"task a {}\ntask b {}\ntask a { yield = x }\ntask b {}\ntask a {}\n",
	 "t:3: yield: \"x\" is not one of \"rank\", \"version\", \"never\"\n"
	 "t:3: task \"a\" is in line 1 already: keep one of them\n"
	 "t:4: task \"b\" is in line 2 already: keep one of them\n"
	 "t:5: task \"a\" is in line 1 already: keep one of them\n"},
	{"yield = never\ntask a {}\n",
	 "t:1: yield: stands outside of a section: it belongs within task \"...\" { }\n"},
	{"task = a\n", "t:1: task: is a section: write task \"...\" { }\n"},
	{"version = 1\nTask a { }\nxyz { task b { yield = z } }\n",
	 "t:1: unknown section \"version\": this file consists of defaults { } and task \"...\" { "
	 "} and "
	 "queue \"...\" { } and notify \"...\" { }\n"
	 "t:2: unknown section \"Task\": this file consists of defaults { } and task \"...\" { } "
	 "and "
	 "queue \"...\" { } and notify \"...\" { }\n"
	 "t:3: unknown section \"xyz\": this file consists of defaults { } and task \"...\" { } "
	 "and "
	 "queue \"...\" { } and notify \"...\" { }\n"},
	{"task a {\nyield = x\ntask b {\n}\n",
	 "t:1: the section task is not closed by \"}\"\n"
	 "t:2: yield: \"x\" is not one of \"rank\", \"version\", \"never\"\n"
	 "t:3: task within the task of line 1: is a \"}\" missing before it?\n"},
	{"task a {\nyield = x\n}\ntask b {\ntick = \"1m\nwait = q\n}\n",
	 "t:2: yield: \"x\" is not one of \"rank\", \"version\", \"never\"\n"
	 "t:5: the string is not closed by \" on its line\n"},
	{"task a {\nwait = q\nyield\n}\ntask b { yield = x }\n",
	 "t:2: wait: \"q\" is not a duration such as \"500ms\", \"10s\", \"5m\", \"2h\" or \"1d\"\n"
	 "t:3: \"=\" is missing after yield, or \"{\"\n"},
	{"task a\nyield = never\n}\n", "t:1: \"=\" is missing after task, or \"{\"\n"},
	{"task a { } }\n", "t:1: \"}\" closes nothing\n"},
	{"task a (\n", "t:1: \"(\": there are no functions here\n"},
	{"/* x */ # y\n// z\n/* \n*/ task a { /* 4 */\n# 5\nyield = 1 # 6\n/* 7\n8 */ tick =\n\n2 "
	 "wait = 3 }\n"
	 "task b { tick = 4 }",
	 "t:6: yield: \"1\" is not one of \"rank\", \"version\", \"never\"\n"
	 "t:8: tick: \"2\" is not a duration such as \"500ms\", \"10s\", \"5m\", \"2h\" or \"1d\"\n"
	 "t:10: wait: \"3\" is not a duration such as \"500ms\", \"10s\", \"5m\", \"2h\" or "
	 "\"1d\"\n"
	 "t:11: tick: \"4\" is not a duration such as \"500ms\", \"10s\", \"5m\", \"2h\" or "
	 "\"1d\"\n"},
};

static void expect_problems(const struct bad_case *c)
{
	struct task_config **tasks = NULL;
	const char *found;
	size_t n;

	write_bytes(file, c->text, strlen(c->text));
	cr_expect_eq(taskfile_load(file, "t", &tasks, &n, &problems), -EINVAL, "%s", c->text);
	cr_expect_null(tasks);
	found = problems_text();
	cr_expect_str_eq(found, c->problems, "of:\n%s\nfound:\n%sexpected:\n%s", c->text, found,
			 c->problems);
}

Test(taskfile, bad_values)
{
	for (size_t i = 0; i < sizeof(bad_values) / sizeof(bad_values[0]); i++)
		expect_problems(&bad_values[i]);
}

Test(taskfile, bad_files)
{
	for (size_t i = 0; i < sizeof(bad_files) / sizeof(bad_files[0]); i++)
		expect_problems(&bad_files[i]);
}

Test(taskfile, long_texts)
{
	char name[TEXT_MAX], text[TEXT_MAX];

	memset(name, 'x', sizeof(name));
	snprintf(text, sizeof(text), "task %.100s { description = \"%.500s\" users = %.32s }", name,
		 name, name);
	taskfile_free(good(text, 1), 1);
	snprintf(text, sizeof(text), "task %.101s {}", name);
	write_bytes(file, text, strlen(text));
	cr_expect_eq(
		taskfile_load(file, "t", &(struct task_config **){NULL}, &(size_t){0}, &problems),
		-EINVAL);
	problems_done(&problems);
	snprintf(text, sizeof(text), "task a { description = \"%.501s\"\nusers = %.33s }", name,
		 name);
	snprintf(name, sizeof(name),
		 "t:1: description: is over 500 bytes long: shorten it\n"
		 "t:2: users: \"%.33s\" is not the name of a local user\n",
		 "xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx");
	expect_problems(&(struct bad_case){text, name});
}

Test(taskfile, many_tasks)
{
	size_t size = SETTINGS_FILE_MAX, used = 0, n;
	char *text = malloc(size);
	struct task_config **tasks;

	cr_assert(text);
	for (int i = 0; i < SETTINGS_SECTIONS_MAX; i++)
		used += (size_t)snprintf(text + used, size - used, "task t%d { yield = never }\n",
					 i);
	tasks = good(text, SETTINGS_SECTIONS_MAX);
	cr_expect_str_eq(tasks[9999]->name, "t9999");
	cr_expect_eq(tasks[9999]->line, 10000);
	taskfile_free(tasks, SETTINGS_SECTIONS_MAX);
	snprintf(text + used, size - used, "task more { yield = x }\n");
	write_bytes(file, text, strlen(text));
	cr_expect_eq(taskfile_load(file, "t", &tasks, &n, &problems), -EINVAL);
	cr_expect_str_eq(problems_text(), "t:10001: more than 10000 sections in one file\n");
	free(text);
}

/* The commented example says of every key what the default is. */
Test(taskfile, example_file)
{
	static char text[TEXT_MAX];
	struct task_config **tasks;
	FILE *f = fopen("conf.d/example.conf", "r");
	const struct setting_key *keys;
	size_t n;

	if (!f)
		cr_skip("not run from the top of the source tree");
	text[fread(text, 1, sizeof(text) - 1, f)] = '\0';
	fclose(f);
	cr_assert_eq(taskfile_load("conf.d/example.conf", "x", &tasks, &n, &problems), 0);
	cr_expect_eq(n, 1);
	cr_expect_str_eq(tasks[0]->name, "nightly-report");
	taskfile_free(tasks, n);
	keys = taskfile_keys(&n);
	for (size_t i = 0; i < n; i++) {
		const char *quote = keys[i].type == SETTING_INTEGER ? "" : "\"";
		char line[256];

		cr_expect(keys[i].help && keys[i].help[0]);
		if (keys[i].preset)
			snprintf(line, sizeof(line), "\n\t# %s = %s%s%s\n", keys[i].name, quote,
				 keys[i].preset, quote);
		else
			snprintf(line, sizeof(line), "\n\t# %s = ", keys[i].name);
		cr_expect(strstr(text, line), "conf.d/example.conf lacks%s", line);
	}
}

/* Random damage is told, with a line of the file, and never does harm. */
Test(taskfile, mutations)
{
	static const char start[] =
		"# x\ntask \"a\" { yield = \"rank\" users = {a, \"b\"} /* y\n */\n}\n"
		"task b {\n\ttick = '1m' // z\n\tdescription = \"${HOME:-1}\\x31\"\n}\n"
		"task \"a\" { x { y = 1 } }\ntask c { rank-position = 1 }\n";
	const char *many = getenv("ZKLEADER_MUTATIONS");
	long rounds = many ? atol(many) : 3000;

	for (long i = 0; i < rounds; i++) {
		char text[sizeof(start) + 64];
		struct task_config **tasks;
		size_t len, n;
		int lines = 1, r;

		memcpy(text, start, sizeof(start));
		len = damage(text, sizeof(start) - 1);
		write_bytes(file, text, len);
		for (size_t k = 0; k < len; k++)
			lines += text[k] == '\n';
		r = taskfile_load(file, "t", &tasks, &n, &problems);
		cr_assert_eq(r == 0, problems.n == 0);
		for (size_t k = 0; k < problems.n; k++) {
			cr_assert(problems.list[k].line >= 1 && problems.list[k].line <= lines);
			cr_assert(!is_of_libconfuse(problems.list[k].message), "%s of: %.*s",
				  problems.list[k].message, (int)len, text);
		}
		problems_done(&problems);
		if (r == 0)
			taskfile_free(tasks, n);
	}
}

/* --- the folder ------------------------------------------------------------------------------------ */

static const char *in_folder(const char *name)
{
	static char path[512];

	snprintf(path, sizeof(path), "%s/%s", task_dir, name);
	return path;
}

static void put(const char *name, const char *text)
{
	write_bytes(in_folder(name), text, strlen(text));
}

/* "a.conf:x,y!b.conf:" where "!" marks a refused file. */
static const char *files_text(const struct task_files *files)
{
	static char text[TEXT_MAX];
	size_t used = 0;

	text[0] = '\0';
	for (size_t i = 0; i < files->n; i++) {
		const struct task_file *f = &files->list[i];

		used += (size_t)snprintf(text + used, sizeof(text) - used, "%s%s%s:", i ? " " : "",
					 f->refused ? "!" : "", f->name);
		for (size_t j = 0; j < f->n_tasks; j++)
			used += (size_t)snprintf(text + used, sizeof(text) - used, "%s%s",
						 j ? "," : "", f->tasks[j]->name);
	}
	return text;
}

static void load(struct task_files *files, const char *expected, const char *expected_problems)
{
	size_t n = taskdir_load(&config, files, &problems);
	const char *found;

	cr_expect_eq(n, problems.n);
	found = problems_text();
	cr_expect_str_eq(found, expected_problems, "found:\n%sexpected:\n%s", found,
			 expected_problems);
	cr_expect_str_eq(files_text(files), expected);
}

Test(taskdir, files_by_name)
{
	struct task_files files;
	const struct task_config **tasks;
	size_t n;

	put("b.conf", "task two {}\ntask one {}\n");
	put("a.conf", "\ntask three {}\n");
	put("empty.conf", "");
	put(".hidden.conf", "task four {}");
	put(".conf", "task five {}");
	put("c.conf~", "task six {}");
	put("c.txt", "task seven {}");
	load(&files, "a.conf:three b.conf:two,one empty.conf:", "");
	cr_expect_str_eq(files.list[0].path, in_folder("a.conf"));
	cr_expect_str_eq(files.list[0].tasks[0]->file, in_folder("a.conf"));
	cr_expect_eq(files.list[0].tasks[0]->line, 2);
	tasks = task_files_tasks(&files, &n);
	cr_expect_eq(n, 3);
	cr_expect_str_eq(tasks[0]->name, "one");
	cr_expect_str_eq(tasks[1]->name, "three");
	cr_expect_str_eq(tasks[2]->name, "two");
	free(tasks);
	task_files_done(&files);
	tasks = task_files_tasks(&files, &n);
	cr_expect_eq(n, 0);
	free(tasks);
}

Test(taskdir, each_file_alone)
{
	struct task_files files;

	put("a.conf", "task a {}\n");
	put("b.conf", "task b { yield = x }\ntask b2 {\n");
	put("c.conf", "task c {}\n\ntask a { }\n");
	put("d.conf", "task c {}\n"); /* c.conf is refused, so nobody has it */
	cr_assert_eq(mkdir(in_folder("e.conf"), 0755), 0);
	cr_assert_eq(mkfifo(in_folder("f.conf"), 0644), 0);
	cr_assert_eq(symlink("/nonexistent", in_folder("g.conf")), 0);
	cr_assert_eq(symlink("a.conf", in_folder("h.conf")), 0);
	put("i\n.conf", "task i {}\n");
	put("j.conf", "task j {}\n");
	load(&files,
	     "a.conf:a !b.conf: !c.conf: d.conf:c !e.conf: !f.conf: !g.conf: !h.conf: !i\n.conf: "
	     "j.conf:j",
	     "conf.d/b.conf:1: yield: \"x\" is not one of \"rank\", \"version\", \"never\"\n"
	     "conf.d/b.conf:2: the section task is not closed by \"}\"\n"
	     "conf.d/c.conf:3: task \"a\" is in conf.d/a.conf:1 already: keep one of them\n"
	     "conf.d/e.conf:0: is a folder, not a file\n"
	     "conf.d/f.conf:0: is not a regular file\n"
	     "conf.d/g.conf:0: does not exist\n"
	     "conf.d/h.conf:1: task \"a\" is in conf.d/a.conf:1 already: keep one of them\n"
	     "conf.d/i\\x0A.conf:1: its name has a control character in it, or is not UTF-8: "
	     "rename it\n");
	task_files_done(&files);
}

#define SCHEDULED "schedule = \"@daily\" command = {\"/bin/true\"} user = root"

Test(taskdir, the_fields_of_a_schedule_may_be_apart_by_tabs)
{
	struct task_files files;

	put("a.conf",
	    "task one { schedule = \"0\t2 \t*\t*\tMON\" command = {\"/bin/true\"} user = root }\n");
	load(&files, "a.conf:one", "");
	cr_expect_str_eq(files.list[0].tasks[0]->schedule->text, "0 2  * * MON");
	task_files_done(&files);
}

/* Such as while the package of the zones is replaced. */
Test(taskdir, a_zone_that_goes_after_its_file_was_checked)
{
	struct task_files files, before, now;
	char zone[256];

	snprintf(zone, sizeof(zone), "%s/Here", folder);
	cr_assert_eq(symlink("/usr/share/zoneinfo/Europe/Berlin", zone), 0);
	setenv("TZDIR", folder, 1);
	put("a.conf", "task one { " SCHEDULED " timezone = Here }\n");
	put("b.conf", "task two {}\n");
	load(&files, "a.conf:one b.conf:two", "");
	cr_expect_str_eq(files.list[0].tasks[0]->schedule->told.timezone, "Here");
	task_files_init(&before);
	taskdir_merge(&before, &files, &now);

	cr_assert_eq(unlink(zone), 0);
	task_zones_set(&config, &files, &problems);
	cr_expect_str_eq(files_text(&files), "!a.conf: b.conf:two");
	cr_expect_eq(problems.n, 1);
	cr_expect(strstr(problems.list[0].message, "timezone: \"Here\""), "%s",
		  problems.list[0].message);
	task_files_done(&before);
	before = now;
	taskdir_merge(&before, &files, &now);
	cr_expect_str_eq(files_text(&now), "!a.conf:one b.conf:two");
	cr_expect_str_eq(now.list[0].tasks[0]->schedule->told.timezone, "Here");
	task_files_done(&files);
	task_files_done(&before);
	task_files_done(&now);
}

/* config_examine() gives such a configuration to runners, to the notifier and to zkleaderd -t. */
Test(taskdir, a_bad_zone_of_the_main_file)
{
	struct task_files files;
	struct task_config *copy;

	cr_assert_null(config.timezone);
	put("a.conf", "task one { " SCHEDULED " }\n");
	load(&files, "a.conf:one", "");
	cr_expect_null(files.list[0].tasks[0]->schedule->told.zone);
	copy = task_config_copy(files.list[0].tasks[0]);
	cr_expect(task_config_equal(copy, files.list[0].tasks[0]));
	task_config_free(copy);
	task_files_done(&files);
}

Test(taskdir, no_folder)
{
	struct task_files files;
	char expected[512];

	cr_assert_eq(rmdir(task_dir), 0);
	snprintf(expected, sizeof(expected),
		 "zkleader.conf:12: task-dir: \"conf.d\" does not exist\n");
	load(&files, "", expected);
	cr_expect(!files.unreadable);
	task_files_done(&files);
	write_bytes(task_dir, "", 0);
	snprintf(expected, sizeof(expected),
		 "zkleader.conf:12: task-dir: \"conf.d\" is not a folder\n");
	load(&files, "", expected);
	cr_expect(!files.unreadable);
	task_files_done(&files);
	cr_assert_eq(remove(task_dir), 0);
	cr_assert_eq(symlink("conf.d", task_dir), 0); /* a loop: it may be there some time */
	snprintf(expected, sizeof(expected), "zkleader.conf:12: task-dir: \"conf.d\" %s\n",
		 strerror(ELOOP));
	load(&files, "", expected);
	cr_expect(files.unreadable);
	task_files_done(&files);
}

Test(taskdir, limits)
{
	struct task_files files;
	char *text = malloc(SETTINGS_FILE_MAX);
	char expected[512], name[32];
	size_t used = 0;

	cr_assert(text);
	for (int i = 0; i < 9999; i++)
		used += (size_t)snprintf(text + used, SETTINGS_FILE_MAX - used, "task a%d {}\n", i);
	put("a.conf", text);
	free(text);
	put("b.conf", "task b1 {}\ntask b2 {}\n");
	put("c.conf", "task c {}\n");
	taskdir_load(&config, &files, &problems);
	cr_expect_str_eq(
		problems_text(),
		"conf.d/b.conf:1: has 2 tasks where there are 9999 in the files before it: no "
		"more than 10000 are allowed\n");
	cr_expect_eq(files.list[0].n_tasks, 9999);
	cr_expect(files.list[1].refused);
	cr_expect_eq(files.list[2].n_tasks, 1);
	task_files_done(&files);
	for (int i = 0; i < TASKDIR_FILES_MAX; i++) {
		snprintf(name, sizeof(name), "a%04d.conf", i);
		put(name, "");
	}
	taskdir_load(&config, &files, &problems);
	cr_expect_eq(files.n, TASKDIR_FILES_MAX);
	snprintf(expected, sizeof(expected),
		 "zkleader.conf:12: task-dir: \"conf.d\" has more than 1000 files: those after "
		 "\"%s\" "
		 "are not "
		 "read\n",
		 "a0998.conf");
	cr_expect_str_eq(problems_text(), expected);
	task_files_done(&files);
}

/* Names of 100 bytes: those that fit, and the file that goes beyond. */
Test(taskdir, the_sum_of_the_paths_is_bounded)
{
	size_t each = strlen("/leaders/") + 100, most = TASKDIR_PATHS_MAX / each;
	struct task_files files, effective, none;
	char expected[400];

	FILE *f = fopen(in_folder("a.conf"), "w");
	cr_assert(f);
	for (size_t i = 0; i < most; i++)
		fprintf(f, "task a%099zu {}\n", i);
	cr_assert_eq(fclose(f), 0);
	put("b.conf", "task b {}\n");
	f = fopen(in_folder("c.conf"), "w");
	cr_assert(f);
	fprintf(f, "task c%099d {}\n", 1);
	cr_assert_eq(fclose(f), 0);
	taskdir_load(&config, &files, &problems);
	snprintf(expected, sizeof(expected),
		 "conf.d/c.conf:1: with its tasks the paths of all leader znodes have %zu bytes, "
		 "and no "
		 "more than 524288 are allowed: give the tasks shorter names, or spread them over "
		 "more "
		 "sidecars\n",
		 most * each + strlen("/leaders/b") + each);
	cr_expect_str_eq(problems_text(), expected);
	cr_expect_eq(files.list[0].n_tasks, most);
	cr_expect_eq(files.list[1].n_tasks, 1);
	cr_expect(files.list[2].refused);
	task_files_init(&none);
	taskdir_merge(&none, &files, &effective);
	cr_expect_eq(effective.list[2].n_tasks, 0);
	task_files_done(&effective);
	task_files_done(&files);
}

Test(taskdir, each_partition_counts_as_a_task)
{
	struct task_files files, effective, none;

	FILE *f = fopen(in_folder("a.conf"), "w");
	cr_assert(f);
	for (int i = 0; i < 39; i++)
		fprintf(f, "task a%d { partitions = 256 }\n", i);
	fprintf(f, "task b { partitions = 15 }\n");
	cr_assert_eq(fclose(f), 0);
	put("b.conf", "task c { partitions = 2 }\n");
	put("c.conf", "task d {}\n");
	taskdir_load(&config, &files, &problems);
	cr_expect_str_eq(
		problems_text(),
		"conf.d/b.conf:1: has 2 tasks with their partitions where there are 9999 in "
		"the files before it: no more than 10000 are allowed\n");
	cr_expect(files.list[1].refused);
	cr_expect_eq(files.list[2].n_tasks, 1);
	task_files_init(&none);
	taskdir_merge(&none, &files, &effective);
	cr_expect_eq(effective.list[0].n_tasks, 40);
	task_files_done(&effective);
	task_files_done(&files);
}

/* The paths of 256 partitions with one, two and three digits. */
Test(taskdir, the_paths_of_partitions_count)
{
	size_t each = strlen("/leaders/") + 100;
	size_t all = 256 * each + 10 * 2 + 90 * 3 + 156 * 4, most = TASKDIR_PATHS_MAX / all;
	struct task_files files;
	char expected[400];

	FILE *f = fopen(in_folder("a.conf"), "w");
	cr_assert(f);
	for (size_t i = 0; i < most; i++)
		fprintf(f, "task a%099zu { partitions = 256 }\n", i);
	cr_assert_eq(fclose(f), 0);
	f = fopen(in_folder("b.conf"), "w");
	cr_assert(f);
	fprintf(f, "task b%099d { partitions = 256 }\n", 1);
	cr_assert_eq(fclose(f), 0);
	taskdir_load(&config, &files, &problems);
	snprintf(expected, sizeof(expected),
		 "conf.d/b.conf:1: with its tasks the paths of all leader znodes have %zu bytes, "
		 "and no "
		 "more than 524288 are allowed: give the tasks shorter names, or spread them over "
		 "more "
		 "sidecars\n",
		 (most + 1) * all);
	cr_expect_str_eq(problems_text(), expected);
	cr_expect_eq(files.list[0].n_tasks, most);
	task_files_done(&files);
}

/* Tasks, each in a group of 100 bytes, and one more with a name of `length`. */
static void put_record(size_t n, size_t length)
{
	FILE *f = fopen(in_folder("a.conf"), "w");

	cr_assert(f);
	for (size_t i = 0; i < n; i++)
		fprintf(f, "task a%031zu { spread = g%099zu }\n", i, i);
	fprintf(f, "task b%0*d {}\n", (int)length - 1, 0);
	cr_assert_eq(fclose(f), 0);
}

/* The worker's record: at the limit, and a byte above it. What is in force stays. */
Test(taskdir, the_bytes_of_the_record_are_bounded)
{
	const char group[] =
		"0123456789012345678901234567890123456789012345678901234567890123456789"
		"012345678901234567890123456789";
	size_t each = worker_task_bytes(32, 0, group, false, NULL) + 1 + MARK_LEN,
	       n = WORKER_TASK_BYTES_MAX / each, left = WORKER_TASK_BYTES_MAX - n * each, length;
	struct task_files good, bad, none, first, second;
	char expected[400];

	if (left < worker_task_bytes(1, 0, NULL, false, NULL) ||
	    (left - worker_task_bytes(0, 0, NULL, false, NULL)) % 2) {
		n--;
		left += each;
	}
	length = (left - worker_task_bytes(0, 0, NULL, false, NULL)) / 2;
	cr_assert(length > 0 && length < NAME_TASK_MAX);
	put_record(n, length);
	taskdir_load(&config, &good, &problems);
	cr_expect_str_eq(problems_text(), "");
	cr_expect_eq(good.list[0].n_tasks, n + 1);
	put_record(n, length + 1);
	taskdir_load(&config, &bad, &problems);
	snprintf(expected, sizeof(expected),
		 "conf.d/a.conf:1: with its tasks this worker's record says up to %d bytes of "
		 "them, and no more than %d are allowed: give the tasks and their groups in spread "
		 "shorter names, or spread them over more sidecars\n",
		 WORKER_TASK_BYTES_MAX + 2 -
			 (int)(left - worker_task_bytes(length, 0, NULL, false, NULL)),
		 WORKER_TASK_BYTES_MAX);
	cr_expect_str_eq(problems_text(), expected);
	cr_expect(bad.list[0].refused);
	task_files_init(&none);
	taskdir_merge(&none, &good, &first);
	taskdir_merge(&first, &bad, &second);
	cr_expect_eq(second.list[0].n_tasks, n + 1, "the last good one goes on");
	task_files_done(&good);
	task_files_done(&bad);
	task_files_done(&first);
	task_files_done(&second);
}

static void put_queues(const char *name, int from, int to)
{
	FILE *f = fopen(in_folder(name), "w");

	cr_assert(f);
	for (int i = from; i < to; i++)
		fprintf(f, "queue q%d { user = app url = \"http://127.0.0.1/\" slots = 1 }\n", i);
	cr_assert_eq(fclose(f), 0);
}

/* A record with more is refused by all workers. */
Test(taskdir, the_queues_that_are_served_are_bounded)
{
	struct task_files files;

	put_queues("a.conf", 0, WORKER_QUEUES_MAX);
	put_queues("b.conf", 1000, 1001);
	put("c.conf", "queue s { slots = 0 }\n");
	taskdir_load(&config, &files, &problems);
	cr_expect_str_eq(problems_text(),
			 "conf.d/b.conf:1: with its queues this worker serves 1001, and no more "
			 "than 1000 are allowed: spread them over more sidecars\n");
	cr_expect_eq(files.list[0].n_tasks, WORKER_QUEUES_MAX);
	cr_expect(files.list[1].refused);
	cr_expect_eq(files.list[2].n_tasks, 1);
	task_files_done(&files);
}

static void put_group(const char *name, int from, int to)
{
	FILE *f = fopen(in_folder(name), "w");

	cr_assert(f);
	for (int i = from; i < to; i++)
		fprintf(f, "task g%d { spread = x }\n", i);
	cr_assert_eq(fclose(f), 0);
}

Test(taskdir, a_group_has_a_limit)
{
	struct task_files files, again, effective;

	put_group("a.conf", 0, 999);
	put_group("b.conf", 999, 1001);
	put_group("c.conf", 999, 1000);
	put("d.conf", "task d { spread = y }\n");
	taskdir_load(&config, &files, &problems);
	cr_expect_str_eq(
		problems_text(),
		"conf.d/b.conf:2: task \"g1000\": the group \"x\" has 1001 tasks with it: no "
		"more than 1000 are allowed, give some of them another group in spread\n");
	cr_expect(files.list[1].refused);
	cr_expect_eq(files.list[2].n_tasks, 1);
	cr_expect_eq(files.list[3].n_tasks, 1);
	/* The last good form of a refused file fits in, too, or is left out. */
	put_group("d.conf", 3000, 3002);
	put("c.conf", "task c { spread = }\n");
	put_group("e.conf", 3003, 3004);
	taskdir_load(&config, &again, &problems);
	problems_done(&problems);
	taskdir_merge(&files, &again, &effective);
	cr_expect_str_eq(effective.list[2].name, "c.conf");
	cr_expect_eq(effective.list[2].n_tasks, 0);
	cr_expect_eq(effective.list[3].n_tasks, 1);
	cr_expect_str_eq(effective.list[3].tasks[0]->name, "d");
	cr_expect_eq(effective.list[4].n_tasks, 1);
	task_files_done(&effective);
	task_files_done(&again);
	task_files_done(&files);
}

/* --- what is in force ------------------------------------------------------------------------------ */

/* Loads the folder, merges it with what is in force, which becomes the result. */
static void reload(struct task_files *in_force, const char *expected)
{
	struct task_files loaded, effective;

	taskdir_load(&config, &loaded, &problems);
	problems_done(&problems);
	taskdir_merge(in_force, &loaded, &effective);
	task_files_done(&loaded);
	task_files_done(in_force);
	*in_force = effective;
	cr_expect_str_eq(files_text(in_force), expected, "found %s, expected %s",
			 files_text(in_force), expected);
}

Test(taskdir, a_refused_file_keeps_its_last_good_form)
{
	struct task_files in_force;

	task_files_init(&in_force);
	put("a.conf", "task a1 { yield = never }\ntask a2 {}\n");
	put("b.conf", "task b {}\n");
	put("c.conf", "task c { yield = x }\n");
	reload(&in_force, "a.conf:a1,a2 b.conf:b !c.conf:");
	put("a.conf", "task a1 { yield = x }\n");
	put("c.conf", "task c { }\n");
	reload(&in_force, "!a.conf:a1,a2 b.conf:b c.conf:c");
	cr_expect_eq(in_force.list[0].tasks[0]->yield, ELECTION_YIELD_NEVER);
	/* Also when it is refused again and again; a file that has gone has none. */
	cr_assert_eq(remove(in_folder("b.conf")), 0);
	reload(&in_force, "!a.conf:a1,a2 c.conf:c");
	put("a.conf", "task a1 {\n");
	reload(&in_force, "!a.conf:a1,a2 c.conf:c");
	/* A good file wins a name, whatever its own name is. */
	put("d.conf", "task a2 { yield = version }\n");
	reload(&in_force, "!a.conf:a1 c.conf:c d.conf:a2");
	put("a.conf", "task a3 {}\n");
	reload(&in_force, "a.conf:a3 c.conf:c d.conf:a2");
	cr_assert_eq(remove(in_folder("a.conf")), 0);
	reload(&in_force, "c.conf:c d.conf:a2");
	task_files_done(&in_force);
}

Test(taskdir, a_name_taken_by_an_earlier_file)
{
	struct task_files in_force;

	task_files_init(&in_force);
	put("b.conf", "task x {}\ntask y {}\n");
	reload(&in_force, "b.conf:x,y");
	put("a.conf", "task x {}\n");
	reload(&in_force, "a.conf:x !b.conf:y");
	cr_assert_eq(remove(in_folder("a.conf")), 0);
	reload(&in_force, "b.conf:x,y");
	task_files_done(&in_force);
}

Test(taskdir, a_folder_that_cannot_be_read_for_now)
{
	struct task_files in_force;
	char moved[256];

	snprintf(moved, sizeof(moved), "%s/moved", folder);
	task_files_init(&in_force);
	put("a.conf", "task a {}\n");
	put("b.conf", "task b { yield = x }\n");
	reload(&in_force, "a.conf:a !b.conf:");
	cr_assert_eq(rename(task_dir, moved), 0);
	cr_assert_eq(symlink("conf.d", task_dir), 0);
	reload(&in_force, "!a.conf:a !b.conf:");
	reload(&in_force, "!a.conf:a !b.conf:");
	cr_assert_eq(remove(task_dir), 0);
	cr_assert_eq(rename(moved, task_dir), 0);
	reload(&in_force, "a.conf:a !b.conf:");
	cr_assert_eq(rename(task_dir, moved), 0);
	reload(&in_force, "");
	task_files_done(&in_force);
}

static struct task_files made_of(struct task_file *list, size_t n)
{
	return (struct task_files){.list = list, .n = n};
}

/* Tasks that are kept of refused files count towards the limit of tasks as well. */
Test(taskdir, merge_limit)
{
	static struct task_config made[WORKER_TASKS_MAX + 2];
	static struct task_config *tasks[WORKER_TASKS_MAX + 2];
	static char names[WORKER_TASKS_MAX + 2][16];
	static char text[] = "f";
	struct task_file before = {.name = text, .path = text, .tasks = tasks, .n_tasks = 3};
	struct task_file now[] = {{.name = text, .path = text, .refused = true},
				  {.name = (char[]){"g"},
				   .path = text,
				   .tasks = tasks + 3,
				   .n_tasks = WORKER_TASKS_MAX - 1}};
	struct task_files previous = made_of(&before, 1), loaded = made_of(now, 2), effective;

	for (size_t i = 0; i < WORKER_TASKS_MAX + 2; i++) {
		snprintf(names[i], sizeof(names[i]), "t%zu", i);
		made[i] = (struct task_config){.name = names[i], .file = text};
		tasks[i] = &made[i];
	}
	taskdir_merge(&previous, &loaded, &effective);
	cr_expect_eq(effective.list[0].n_tasks, 1);
	cr_expect_eq(effective.list[1].n_tasks, WORKER_TASKS_MAX - 1);
	task_files_done(&effective);
}

/* --- hints ------------------------------------------------------------------------------------- */

static void expect_hints(const char *expected)
{
	struct task_files files;
	char text[2000] = "";
	size_t used = 0;

	taskdir_load(&config, &files, &problems);
	hints_warn(&config, &files, &problems);
	for (size_t i = 0; i < problems.n_warnings; i++)
		used += (size_t)snprintf(text + used, sizeof(text) - used, "%s:%d: %s\n",
					 problems.warnings[i].file, problems.warnings[i].line,
					 problems.warnings[i].message);
	without_folder(text);
	cr_expect_str_eq(text, expected);
	task_files_done(&files);
	problems_done(&problems);
}

Test(taskdir, hints)
{
	expect_hints("zkleader.conf:12: task-dir: no *.conf in \"conf.d\" has a task or a queue: "
		     "this host will "
		     "lead nothing\n");
	put("a.cfg", "task a {}\n");
	put("README", "not meant\n");
	put(".b.cfg", "nor this\n");
	put("c.conf~", "nor this\n");
	put("d.conf", "task d {}\n");
	expect_hints("conf.d/a.cfg:0: is not read: its name does not end with .conf\n");
	cr_assert_eq(unlink(in_folder("a.cfg")), 0);
	put("d.conf", "task d {\n users = { root, \"zkl-no-such\" }\n tick = \"7m\"\n}\n");
	expect_hints(
		"conf.d/d.conf:3: tick: \"7m\" does not divide a day: ticks begin at other times "
		"of day every day\n"
		"conf.d/d.conf:1: task \"d\": users: there is no user \"zkl-no-such\" on this "
		"host\n");
	put("d.conf", "task d { tick = 90m }\n");
	expect_hints("");
	put("d.conf", "task d { spread = x\n rank-position = 1 }\n");
	expect_hints(
		"conf.d/d.conf:2: rank-position: has no effect on a task with spread: leave one "
		"of them out\n");
	put("d.conf", "task d { tick = }\n");
	expect_hints("");
}

#define DUE "schedule = \"@daily\" "

static void put_mode(const char *name, mode_t mode)
{
	put(name, "");
	cr_assert_eq(chmod(in_folder(name), mode), 0);
}

/* Commands that cannot be started are warned of. */
Test(taskdir, hints_about_commands)
{
	char text[4000];

	put_mode("open", 0755);
	put_mode("roots", 0700);
	put_mode("text", 0644);
	cr_assert_eq(chmod(folder, 0755), 0);
	snprintf(text, sizeof(text),
		 "task good { " DUE "user = nobody command = {\"%s/open\"} directory = \"/\" }\n"
		 "task gone { " DUE "user = root command = {\"%s/none\"} }\n"
		 "task text { " DUE "user = root command = {\"%s/text\"} }\n"
		 "task dir { " DUE "user = root command = {\"/etc\"} }\n"
		 "task who { " DUE "user = zkl-no-such command = {\"%s/open\"} }\n"
		 "task roots { " DUE "user = nobody command = {\"%s/roots\"} }\n"
		 "queue q { user = zkl-no-such command = {\"%s/none/x\"} }\n"
		 "queue far { user = zkl-no-such slots = 0 command = {\"%s/none\"} }\n"
		 "task where { " DUE
		 "user = nobody command = {\"%s/open\"} directory = \"%s/no\" }\n"
		 "task file { " DUE
		 "user = nobody command = {\"%s/open\"} directory = \"%s/open\" }\n",
		 task_dir, task_dir, task_dir, task_dir, task_dir, task_dir, task_dir, task_dir,
		 task_dir, task_dir, task_dir);
	put("d.conf", text);
	config.auth_file = task_dir;
	expect_hints(
		"conf.d/d.conf:2: task \"gone\": command: \"conf.d/none\" is not there\n"
		"conf.d/d.conf:3: task \"text\": command: \"conf.d/text\" is not executable by its "
		"user\n"
		"conf.d/d.conf:4: task \"dir\": command: \"/etc\" is no program\n"
		"conf.d/d.conf:5: task \"who\": user: there is no user \"zkl-no-such\" on this "
		"host\n"
		"conf.d/d.conf:6: task \"roots\": command: \"conf.d/roots\" is not executable by "
		"its "
		"user\n"
		"conf.d/d.conf:7: queue \"q\": user: there is no user \"zkl-no-such\" on this "
		"host\n"
		"conf.d/d.conf:7: queue \"q\": command: \"conf.d/none/x\" is not there\n"
		"conf.d/d.conf:9: task \"where\": directory: \"conf.d/no\" is not there\n"
		"conf.d/d.conf:10: task \"file\": directory: \"conf.d/open\" is not a folder\n");
	config.auth_file = NULL;
}
