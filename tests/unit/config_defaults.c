/* The section `defaults { }` of a task file, and the keys of a command. */
#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "config/tasks/taskfile.h"

static char file[64];
static struct problems problems;
static struct task_config **tasks;
static size_t n_tasks;

static void setup(void)
{
	int fd;

	strcpy(file, "/tmp/zkleader-defaults-XXXXXX");
	fd = mkstemp(file);
	cr_assert(fd >= 0);
	close(fd);
	problems_init(&problems);
}

static void teardown(void)
{
	taskfile_free(tasks, n_tasks);
	problems_done(&problems);
	unlink(file);
}

TestSuite(defaults, .init = setup, .fini = teardown, .timeout = 60);

static int load(const char *text)
{
	FILE *f = fopen(file, "w");

	cr_assert(f && fputs(text, f) >= 0 && fclose(f) == 0);
	taskfile_free(tasks, n_tasks);
	tasks = NULL;
	n_tasks = 0;
	problems_done(&problems);
	return taskfile_load(file, "t", &tasks, &n_tasks, &problems);
}

static const char *found(void)
{
	static char text[8192];
	size_t used = 0;

	text[0] = '\0';
	for (size_t i = 0; i < problems.n; i++)
		used += (size_t)snprintf(text + used, sizeof(text) - used, "%d: %s\n",
					 problems.list[i].line, problems.list[i].message);
	return text;
}

static void good(const char *text, size_t n)
{
	cr_assert_eq(load(text), 0, "of:\n%s\nfound:\n%s", text, found());
	cr_assert_eq(n_tasks, n);
	cr_expect_eq(problems.n_warnings, 0, "%s",
		     problems.n_warnings ? problems.warnings[0].message : "");
}

static void bad(const char *text, const char *expected)
{
	cr_assert_neq(load(text), 0, "taken:\n%s", text);
	cr_expect_str_eq(found(), expected);
}

#define WORK "schedule = \"@daily\" command = {\"/bin/true\"} user = \"root\" "

Test(defaults, are_for_tasks_and_queues_and_own_keys_win)
{
	good("defaults {\n"
	     "  wait = \"3s\" users = {\"a\", \"b\"} timezone = \"Europe/Berlin\"\n"
	     "  timeout = \"7m\" attempts = 9 on-crash = \"skip\" health-interval = \"1s\"\n"
	     "  overlap = \"allow\" user = \"batch\" retries = 2 min-version = \"1.2\"\n"
	     "}\n"
	     "task \"a\" { schedule = \"@daily\" command = {\"/bin/true\"} }\n"
	     "task \"b\" { wait = \"4s\" users = {\"c\"} on-crash = \"rerun\" }\n"
	     "queue \"q\" { command = {\"/bin/true\"} timeout = \"8m\" }\n",
	     3);
	cr_expect_eq(tasks[0]->wait_ms, 3000);
	cr_expect_eq(tasks[0]->n_users, 2);
	cr_expect_eq(tasks[0]->users_line, 2);
	cr_expect_eq(tasks[0]->overlap, TASK_OVERLAP_ALLOW);
	cr_expect_str_eq(tasks[0]->min_version, "1.2");
	cr_expect_str_eq(tasks[0]->schedule->user, "batch");
	cr_expect_str_eq(tasks[0]->schedule->timezone, "Europe/Berlin");
	cr_expect_eq(tasks[0]->schedule->timeout_ms, 420000);
	cr_expect_eq(tasks[0]->schedule->retries, 2);
	cr_expect_eq(tasks[0]->health.interval_ms, 1000);
	cr_expect_eq(tasks[1]->wait_ms, 4000);
	cr_expect_eq(tasks[1]->n_users, 1);
	cr_expect_str_eq(tasks[1]->users[0], "c");
	cr_expect_eq(tasks[1]->on_crash, TASK_ON_CRASH_RERUN);
	cr_expect_null(tasks[1]->schedule);
	cr_expect_eq(tasks[2]->queue->told.attempts, 9);
	cr_expect_eq(tasks[2]->queue->told.timeout_ms, 480000);
	cr_expect_not(tasks[2]->queue->told.rerun);
	cr_expect_str_eq(tasks[2]->queue->user, "batch");
	cr_expect_eq(tasks[2]->n_users, 0); /* its key is submitters */
}

Test(defaults, are_left_out_where_they_mean_nothing)
{
	good("defaults { spread = \"g\" partition-jobs = 2 directory = \"/srv\" splay = \"1m\"\n"
	     "           environment = {\"A=1\"} }\n"
	     "task \"split\" { partitions = 4 }\n"
	     "task \"plain\" { }\n"
	     "task \"ranked\" { rank-position = 1 }\n"
	     "queue \"q\" { url = \"http://localhost/\" user = \"root\" }\n",
	     4);
	cr_expect_null(tasks[0]->spread);
	cr_expect_eq(tasks[0]->partition_jobs, 2);
	cr_expect_str_eq(tasks[1]->spread, "g");
	cr_expect_eq(tasks[1]->partition_jobs, 0);
	cr_expect_null(tasks[2]->spread);
	cr_expect_eq(tasks[2]->rank_position, 1);
	cr_expect_null(tasks[3]->queue->command.directory);
	cr_expect_eq(tasks[3]->queue->command.n_environment, 0);
}

Test(defaults, environment_adds_to_it)
{
	good("defaults { environment = {\"A=1\", \"B=2\", \"AB=3\"} directory = \"/srv\" }\n"
	     "task \"a\" { " WORK "environment = {\"B=own\", \"C=\"} }\n"
	     "task \"b\" { " WORK "directory = \"/tmp\" }\n"
	     "queue \"q\" { command = {\"/bin/true\"} user = \"root\" environment = {\"D=4\"} }\n",
	     3);
	const struct command_config *a = &tasks[0]->schedule->command;
	cr_assert_eq(a->n_environment, 4);
	cr_expect_str_eq(a->environment[0], "B=own");
	cr_expect_str_eq(a->environment[1], "C=");
	cr_expect_str_eq(a->environment[2], "A=1");
	cr_expect_str_eq(a->environment[3], "AB=3");
	cr_expect_str_eq(a->directory, "/srv");
	cr_expect_eq(tasks[1]->schedule->command.n_environment, 3);
	cr_expect_str_eq(tasks[1]->schedule->command.directory, "/tmp");
	cr_expect_eq(tasks[2]->queue->command.n_environment, 4);
	cr_expect_str_eq(tasks[2]->queue->command.environment[0], "D=4");
	cr_expect_str_eq(tasks[2]->queue->command.directory, "/srv");
	struct task_config *copy = task_config_copy(tasks[0]);
	cr_expect(task_config_equal(copy, tasks[0]));
	copy->schedule->command.environment[3][0] = 'X';
	cr_expect_not(task_config_equal(copy, tasks[0]));
	task_config_free(copy);
}

Test(defaults, have_a_place_and_no_name)
{
	bad("task \"a\" { }\ndefaults { }\n",
	    "2: defaults: stands behind the task of line 1: put it before all of them\n");
	bad("queue \"q\" { slots = 0 }\ndefaults { }\n",
	    "2: defaults: stands behind the queue of line 1: put it before all of them\n");
	bad("defaults { }\ndefaults { }\n",
	    "2: defaults: is in line 1 already: write its keys there\n");
	bad("defaults \"x\" { }\n", "1: defaults: has no name: write defaults { }\n");
	bad("defaults = \"x\"\n", "1: defaults: is a section: write defaults { }\n");
	bad("defaults {\ndescription = \"x\"\nschedule = \"@daily\"\ncommand = {\"/x\"}\n"
	    "url = \"http://x\"\npartitions = 3 }",
	    "2: description: has no default: write it in each task of its own\n"
	    "3: schedule: has no default: write it in each task of its own\n"
	    "4: command: has no default: write it in each task of its own\n"
	    "5: url: has no default: write it in each queue of its own\n"
	    "6: partitions: has no default: write it in each task of its own\n");
	bad("defaults { wiat = \"3s\" }", "1: unknown key \"wiat\": did you mean \"wait\"?\n");
	bad("defaults { wait = \"1s\"\nwait = \"2s\" }",
	    "2: wait: is set in line 1 already: keep one of them\n");
	bad("wait = \"3s\"\n",
	    "1: wait: stands outside of a section: it belongs within task \"...\" { }\n");
	good("notify \"n\" { url = \"http://localhost/\" }\ndefaults { }\ntask \"a\" { }\n", 1);
	good("defaults { wait = \"3s\" }\n", 0);
}

/* A bad default is a problem of its own line, told once however many tasks there are. */
Test(defaults, bad_values_are_told_once)
{
	bad("defaults {\nwait = \"x\" }\ntask \"a\" { }\ntask \"b\" { }\ntask \"c\" { wait = "
	    "\"1s\" }",
	    "2: wait: \"x\" is not a duration such as \"500ms\", \"10s\", \"5m\", \"2h\" or "
	    "\"1d\"\n");
	bad("defaults {\nwait = \"x\" }\n",
	    "2: wait: \"x\" is not a duration such as \"500ms\", \"10s\", \"5m\", \"2h\" or "
	    "\"1d\"\n");
	bad("defaults {\nping-url = \"x\"\nusers = {\"a b\"} }\ntask \"a\" { }\ntask \"b\" { }",
	    "2: ping-url: is none: that is http:// or https:// and a host, up to 1000 printable "
	    "characters without blanks and without #\n"
	    "3: users: \"a b\" is not the name of a local user\n");
	/* The bounds of tasks are narrower than those of queues. */
	good("defaults { timeout = \"500ms\" }\nqueue \"q\" { command = {\"/x\"} user = \"root\" }",
	     1);
	bad("defaults { timeout = \"500ms\" }\ntask \"a\" { " WORK "}",
	    "1: timeout: \"500ms\" is below 1s\n");
	bad("defaults { version-policy = \"oldest\" }\ntask \"a\" { }\nqueue \"q\" { slots = 0 }",
	    "1: version-policy: \"oldest\" is not one of \"newest\", \"any\"\n");
}

Test(defaults, warnings_are_told_once)
{
	cr_assert_eq(load("defaults { tick = \"7s\" users = {\"${ZKLEADER_NO_SUCH}x\"} }\n"
			  "task \"a\" { }\ntask \"b\" { }\n"),
		     0);
	cr_expect_eq(problems.n_warnings, 2);
}

Test(defaults, environment_and_directory_are_checked)
{
	bad("task \"a\" { " WORK "environment = {\"A\", \"1A=x\", \"A-B=x\", \"=x\"} }",
	    "1: environment: \"A\" is not NAME=VALUE with a NAME of letters, digits and \"_\" that "
	    "begins with no digit\n"
	    "1: environment: \"1A=x\" is not NAME=VALUE with a NAME of letters, digits and \"_\" "
	    "that "
	    "begins with no digit\n"
	    "1: environment: \"A-B=x\" is not NAME=VALUE with a NAME of letters, digits and \"_\" "
	    "that begins with no digit\n"
	    "1: environment: \"=x\" is not NAME=VALUE with a NAME of letters, digits and \"_\" "
	    "that "
	    "begins with no digit\n");
	bad("task \"a\" { " WORK "environment = {\"ZKLEADER_TASK=x\"} }",
	    "1: environment: \"ZKLEADER_TASK=x\": the names that begin with ZKLEADER_ are set for "
	    "each run: give it another\n");
	bad("task \"a\" { " WORK "environment = {\"A=1\", \"AB=2\", \"A=3\"} }",
	    "1: environment: A is there twice: keep one of them\n");
	bad("task \"a\" { " WORK "environment = \"A=1\" }",
	    "1: environment: is an array, as no shell reads it: write environment = {\"...\"}\n");
	bad("task \"a\" { environment = {\"A=1\"}\ndirectory = \"/x\" }",
	    "1: environment: means nothing without a schedule: set schedule too, or leave it out\n"
	    "2: directory: means nothing without a schedule: set schedule too, or leave it out\n");
	bad("queue \"q\" { url = \"http://localhost/\" user = \"root\"\nenvironment = {\"A=1\"} }",
	    "2: environment: means nothing without a command: set command too, or leave it out\n");
	bad("task \"a\" { " WORK "directory = \"srv\" }",
	    "1: directory: \"srv\" is not a path from / on: write it whole\n");
	good("task \"a\" { " WORK "environment = {\"_a1=x=y z\"} directory = \"/\" keep-output = "
	     "\"true\" }",
	     1);
	cr_expect(tasks[0]->keep_output);
}

Test(defaults, environment_is_bounded)
{
	char text[4096] = "task \"a\" { " WORK "environment = {\"V=1\"";

	for (int i = 0; i < SETTINGS_PAIRS_MAX; i++)
		sprintf(text + strlen(text), ", \"V%d=1\"", i);
	strcat(text, "} }");
	cr_assert_neq(load(text), 0);
	cr_expect(strstr(found(), "environment: has 101 variables"), "%s", found());
}
