/* The sections notify of task files: what they say, and what is refused, with its place and remedy. */
#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "config/tasks/taskfile.h"

TestSuite(notify, .timeout = 60);

static struct problems problems;
static struct task_config **tasks;
static size_t n_tasks;
static struct notify_configs notifies;

/* 0, or that of taskfile_load_all(). */
static int load(const char *text)
{
	char name[] = "/tmp/zkleader-notify-XXXXXX";
	int fd = mkstemp(name), r;
	FILE *f;

	cr_assert(fd >= 0);
	f = fdopen(fd, "w");
	fputs(text, f);
	cr_assert_eq(fclose(f), 0);
	problems_init(&problems);
	n_tasks = 0;
	tasks = NULL;
	notifies = (struct notify_configs){NULL, 0};
	r = taskfile_load_all(name, "t", &tasks, &n_tasks, &notifies, &problems);
	unlink(name);
	return r;
}

static void forget(void)
{
	taskfile_free(tasks, n_tasks);
	notify_configs_done(&notifies);
	problems_done(&problems);
}

Test(notify, defaults)
{
	cr_assert_eq(load("notify chat { url = \"https://hooks.example/x\" }"), 0);
	cr_assert_eq(notifies.n, 1);
	const struct notify_config *c = &notifies.list[0];
	cr_expect_str_eq(c->name, "chat");
	cr_expect_eq(c->events, ((1U << NOTICE_EVENTS) - 1) & ~(1U << NOTICE_RETRYING),
		     "all of them but one");
	cr_expect_eq(c->n_tasks, 0);
	cr_expect_eq(c->form, NOTIFY_JSON);
	cr_expect_eq(c->n_command, 0);
	cr_expect_str_eq(c->file, "t");
	cr_expect_eq(c->line, 1);
	forget();
}

Test(notify, all_keys)
{
	cr_assert_eq(load("task a { }\nnotify \"chat\" {\n\ton = {failed, \"lost\"}\n"
			  "\ttasks = {\"night*\", b}\n\turl = \"http://u:p@h:8080/x?y=1\"\n"
			  "\ttemplate = alertmanager\n\tcommand = {\"/bin/mail\", \"a b\"}\n"
			  "\trepeat = first\n\theaders = {\"A: b\", \"X-Key: c d\"}\n"
			  "\theaders-file = \"/etc/h\"\n}\n"
			  "notify a { on = rollout command = {\"/bin/true\"} }\n"
			  "notify p { template = pagerduty routing-key-file = key }\n"),
		     0, "%s", problems.n ? problems.list[0].message : "");
	cr_assert_eq(n_tasks, 1);
	cr_assert_eq(notifies.n, 3);
	const struct notify_config *c = &notifies.list[0];
	cr_expect_eq(c->events, 1U << NOTICE_FAILED | 1U << NOTICE_LOST);
	cr_assert_eq(c->n_tasks, 2);
	cr_expect_str_eq(c->tasks[0], "night*");
	cr_expect_str_eq(c->url, "http://u:p@h:8080/x?y=1");
	cr_expect_eq(c->form, NOTIFY_ALERTMANAGER);
	cr_assert_eq(c->n_command, 2);
	cr_expect_str_eq(c->command[1], "a b");
	cr_expect_eq(c->line, 2);
	cr_expect(c->first);
	cr_assert_eq(c->n_headers, 2);
	cr_expect_str_eq(c->headers[1], "X-Key: c d");
	cr_expect_str_eq(c->headers_file, "/etc/h");
	cr_expect_not(notifies.list[1].first);
	cr_expect_eq(notifies.list[2].form, NOTIFY_PAGERDUTY);
	cr_expect_str_eq(notifies.list[2].url, "https://events.pagerduty.com/v2/enqueue");
	cr_expect_str_eq(notifies.list[2].routing_key_file, "key", "beside the file");
	cr_expect_eq(notifies.list[1].events, 1U << NOTICE_ROLLOUT);
	cr_expect_null(notifies.list[1].url);
	struct notify_configs copy = notify_configs_copy(&notifies);
	cr_expect(notify_configs_equal(&notifies, &copy));
	copy.list[0].command[1][0] = 'x';
	cr_expect_not(notify_configs_equal(&notifies, &copy));
	copy.list[0].command[1][0] = 'a';
	cr_expect(notify_configs_equal(&notifies, &copy));
	copy.list[0].headers[1][0] = 'Y';
	cr_expect_not(notify_configs_equal(&notifies, &copy));
	notify_configs_done(&copy);
	forget();
}

/* Each is refused, at its line, in words that say what to do. */
Test(notify, refused)
{
	static const struct {
		const char *text;
		int line;
		const char *message;
	} cases[] = {
		{"\nnotify x { }", 2,
		 "notify \"x\": has neither a url nor a command: nobody would"},
		{"notify x {\n on = {fail}\n url = \"http://h/\" }", 2,
		 "on: there is no event \"fail\": did you mean \"failed\"?"},
		{"notify x {\n on = {failed, weather}\n url = \"http://h/\" }", 2,
		 "on: there is no event \"weather\": they are leader, failed, lost, missed, "},
		{"notify x {\n url = \"nowhere\" }", 2,
		 "url: is none: that is http:// or https://"},
		{"notify x {\n url = \"ftp://h/\" }", 2, "url: is none: "},
		{"notify x {\n url = \"http://h/a b\" }", 2, "url: is none: "},
		{"notify x {\n url = \"http://h/#a\" }", 2, "url: is none: "},
		{"notify x {\n url = \"http://h/\"\n template = email }", 3,
		 "template: \"email\" is not one of \"json\", \"slack\", \"alertmanager\""},
		{"notify x {\n template = slack\n command = {\"/bin/true\"} }", 2,
		 "template: needs a url, to which it is posted: "},
		{"notify x {\n command = {\"/bin/true\"}\n headers = {\"A: b\"} }", 3,
		 "headers: needs a url, to which they are sent"},
		{"notify x {\n url = \"http://h/\"\n headers = {\"A b\"} }", 3,
		 "headers: \"A b...\" is none: that is \"Name: value\""},
		{"notify x {\n url = \"http://h/\"\n headers = {\"content-Length: 3\"} }", 3,
		 "headers: \"content-Length...\" is none: "},
		{"notify x {\n url = \"http://h/\"\n repeat = once }", 3,
		 "repeat: \"once\" is not one of \"all\", \"first\""},
		{"notify x {\n template = pagerduty }", 2,
		 "template: pagerduty needs routing-key-file"},
		{"notify x {\n url = \"http://h/\"\n routing-key-file = k }", 3,
		 "routing-key-file: is for template = \"pagerduty\" alone"},
		{"notify x {\n command = {mail} }", 2,
		 "command: \"mail\" is no absolute path of a program"},
		{"notify x {\n command = \"/bin/mail\" }", 2, "command: is an array"},
		{"notify x {\n uri = \"http://h/\" }", 2,
		 "unknown key \"uri\": did you mean \"url\"?"},
		{"notify x { url = \"http://h/\" }\nnotify x { url = \"http://h/\" }", 2,
		 "notify \"x\" is in line 1 already: keep one of them"},
		{"notify { url = \"http://h/\" }", 1, "notify: has no name: "},
		{"notify \"a/b\" { url = \"http://h/\" }", 1, "notify: \"a/b\" is not up to 100 "},
		{"task a {\nnotify b { url = \"http://h/\" }\n}", 2,
		 "notify within the task of line 1: is a \"}\" missing before it?"},
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		size_t len = strlen(cases[i].message);
		bool found = false;

		cr_assert_neq(load(cases[i].text), 0, "of:\n%s", cases[i].text);
		for (size_t j = 0; j < problems.n && !found; j++)
			found = problems.list[j].line == cases[i].line &&
				strncmp(problems.list[j].message, cases[i].message, len) == 0;
		cr_expect(found, "of:\n%s\nfound: %d: %s", cases[i].text, problems.list[0].line,
			  problems.list[0].message);
		forget();
	}
}

/* The text of a URL or command may be a secret. */
Test(notify, a_url_is_not_repeated)
{
	cr_assert_neq(load("notify x { url = \"http://secret h/\" }"), 0);
	for (size_t i = 0; i < problems.n; i++)
		cr_expect_null(strstr(problems.list[i].message, "secret"));
	forget();
}

Test(notify, bounds)
{
	static char text[200000];
	size_t at = 0;

	at += (size_t)sprintf(text, "notify x {\n url = \"http://h/\"\n tasks = {a0");
	for (int i = 1; i <= NOTICE_PATTERNS_MAX; i++)
		at += (size_t)sprintf(text + at, ", a%d", i);
	sprintf(text + at, "} }");
	cr_assert_neq(load(text), 0);
	cr_expect_eq(problems.list[0].line, 3);
	cr_expect_str_eq(problems.list[0].message, "tasks: 101 patterns, more than 100");
	forget();
	sprintf(text, "notify x {\n url = \"http://h/\"\n tasks = {%0200d} }", 0);
	cr_assert_neq(load(text), 0);
	cr_expect(strstr(problems.list[0].message, "is longer than any name"));
	forget();
}
