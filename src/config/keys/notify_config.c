#include "config/keys/notify_config.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/mem.h"
#include "base/text/name.h"
#include "base/text/nearest.h"
#include "config/keys/ping_url.h"
#include "config/text/textfile.h"
#include "config/text/words.h"

/* In the order of enum notify_template. */
static const char *const templates[] = {"json",	     "slack", "alertmanager",
					"pagerduty", "teams", NULL};
static const char *const repeats[] = {"all", "first", NULL};

#define PAGERDUTY_URL "https://events.pagerduty.com/v2/enqueue"

static const struct setting_key keys[] = {
	{"on", SETTING_LIST, NULL,
	 "the events: leader, failed, lost, missed, overdue, halted, dead, retrying, recovered, "
	 "disconnected, rollout; by default all but retrying",
	 0, 0, NULL},
	{"tasks", SETTING_LIST, NULL,
	 "patterns of the names of tasks and queues; by default all. Events that are about none "
	 "are told in any case",
	 0, 0, NULL},
	{"repeat", SETTING_CHOICE, "all",
	 "first: of failed, lost and missed only those where the one before was good, or there was "
	 "none",
	 0, 0, repeats},
	{"url", SETTING_TEXT, NULL,
	 "where each event is posted to; with template pagerduty by default " PAGERDUTY_URL, 0, 0,
	 NULL},
	{"template", SETTING_CHOICE, "json",
	 "what is posted: the event itself; slack: a line of text; alertmanager: an alert; "
	 "pagerduty: an event of its API, version 2; teams: a card for a workflow",
	 0, 0, templates},
	{"routing-key-file", SETTING_TEXT, NULL,
	 "with template pagerduty: a file whose first line is the integration key; readable by its "
	 "owner and group alone",
	 0, 0, NULL},
	{"headers", SETTING_LIST, NULL, "of the requests to url: each \"Name: value\"", 0, 0, NULL},
	{"headers-file", SETTING_TEXT, NULL,
	 "more of them, one a line; readable by its owner and group alone", 0, 0, NULL},
	{"command", SETTING_ARRAY, NULL,
	 "what is started with the event as JSON on its standard input: a program and its "
	 "arguments",
	 0, 0, NULL},
};

const struct settings_form notify_config_form = {
	.keys = keys,
	.n_keys = sizeof(keys) / sizeof(keys[0]),
	.section = "notify",
	.title_needed = TASK_NAME_FORM,
	.title_ok = name_is_task,
};

/* --- checking ------------------------------------------------------------- */

static void check_events(const struct settings *s, const struct setting *on,
			 struct problems *problems)
{
	enum notice_event event;

	for (size_t i = 0; i < on->n; i++) {
		const char *text = on->values[i];
		struct nearest nearest;

		if (notice_event_parse(text, strlen(text), &event))
			continue;
		nearest_init(&nearest, text, strlen(text));
		for (enum notice_event e = 0; e < NOTICE_EVENTS; e++)
			nearest_offer(&nearest, notice_event_name(e));
		if (nearest.best)
			problems_add(problems, s->file, on->line,
				     "on: there is no event \"%.64s\": did you mean \"%s\"?", text,
				     nearest.best);
		else
			problems_add(problems, s->file, on->line,
				     "on: there is no event \"%.64s\": they are leader, failed, "
				     "lost, missed, overdue, halted, dead, retrying, recovered, "
				     "disconnected, rollout",
				     text);
	}
}

static void check_patterns(const struct settings *s, const struct setting *tasks,
			   struct problems *problems)
{
	if (tasks->n > NOTICE_PATTERNS_MAX)
		problems_add(problems, s->file, tasks->line, "tasks: %zu patterns, more than %d",
			     tasks->n, NOTICE_PATTERNS_MAX);
	for (size_t i = 0; i < tasks->n; i++)
		if (strlen(tasks->values[i]) > NAME_ELECTION_MAX)
			problems_add(problems, s->file, tasks->line,
				     "tasks: \"%.64s...\" is longer than any name",
				     tasks->values[i]);
}

/* Headers that belong to the request itself. */
static const char *const request_headers[] = {"host", "content-length", "transfer-encoding",
					      "connection", NULL};

bool notify_header_is_good(const char *line)
{
	size_t name = strspn(line, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
				   "0123456789-_.!#$%&'*+^`|~");

	if (name == 0 || line[name] != ':' || strlen(line) > NOTIFY_HEADER_MAX)
		return false;
	for (size_t i = 0; request_headers[i]; i++)
		if (strncasecmp(line, request_headers[i], name) == 0 &&
		    strlen(request_headers[i]) == name)
			return false;
	for (const char *c = line + name; *c; c++)
		if ((unsigned char)*c < ' ' || *c == 0x7f)
			return false;
	return line[name + 1 + strspn(line + name + 1, " ")] != '\0';
}

/* A header may be a secret: no problem quotes its value. */
static void check_headers(const struct settings *s, const struct section *section,
			  struct problems *problems)
{
	const struct setting *headers = settings_get(s, section, "headers");
	const struct setting *file = settings_get(s, section, "headers-file");
	bool url = settings_get(s, section, "url")->line > 0 ||
		   settings_get(s, section, "template")->number == NOTIFY_PAGERDUTY;

	if (headers->n > NOTIFY_HEADERS_MAX)
		problems_add(problems, s->file, headers->line, "headers: %zu, more than %d",
			     headers->n, NOTIFY_HEADERS_MAX);
	for (size_t i = 0; i < headers->n; i++)
		if (!notify_header_is_good(headers->values[i]))
			problems_add(
				problems, s->file, headers->line,
				"headers: \"%.*s...\" is none: that is \"Name: value\", up to %d "
				"bytes, and not Host, Content-Length, Transfer-Encoding or "
				"Connection",
				(int)strcspn(headers->values[i], ":"), headers->values[i],
				NOTIFY_HEADER_MAX);
	if ((headers->line > 0 || file->line > 0) && !url)
		problems_add(problems, s->file, headers->line > 0 ? headers->line : file->line,
			     "%s: needs a url, to which they are sent",
			     headers->line > 0 ? "headers" : "headers-file");
}

static void check_pagerduty(const struct settings *s, const struct section *section,
			    struct problems *problems)
{
	const struct setting *template = settings_get(s, section, "template");
	const struct setting *file = settings_get(s, section, "routing-key-file");
	bool is = template->line > 0 && template->number == NOTIFY_PAGERDUTY;

	if (is && file->line == 0)
		problems_add(problems, s->file, template->line,
			     "template: pagerduty needs routing-key-file, a file with the "
			     "integration key");
	if (!is && file->line > 0)
		problems_add(problems, s->file, file->line,
			     "routing-key-file: is for template = \"pagerduty\" alone");
}

/* The URL may be a secret: no problem quotes it. */
static void check_channel(const struct settings *s, const struct section *section,
			  struct problems *problems)
{
	const struct setting *url = settings_get(s, section, "url");
	const struct setting *template = settings_get(s, section, "template");
	const struct setting *command = settings_get(s, section, "command");
	bool own_url = template->line > 0 && template->number == NOTIFY_PAGERDUTY;
	size_t bytes = 0;

	if (url->line == 0 && command->line == 0 && !own_url)
		problems_add(problems, s->file, section->line,
			     "notify \"%s\": has neither a url nor a command: nobody would be told",
			     section->title ? section->title : "");
	if (url->n && !ping_url_is_good(url->values[0]))
		problems_add(problems, s->file, url->line,
			     "url: is none: that is http:// or https:// and a host, up to %d "
			     "printable characters without blanks and without #",
			     PING_URL_MAX);
	if (template->line > 0 && url->line == 0 && !own_url)
		problems_add(problems, s->file, template->line,
			     "template: needs a url, to which it is posted: a command gets the "
			     "event's JSON");
	for (size_t i = 0; i < command->n; i++)
		bytes += strlen(command->values[i]) + 1;
	if (bytes > NOTIFY_COMMAND_MAX)
		problems_add(problems, s->file, command->line, "command: is over %d bytes long",
			     NOTIFY_COMMAND_MAX);
	if (command->n && command->values[0][0] != '/')
		problems_add(problems, s->file, command->line,
			     "command: \"%.100s\" is no absolute path of a program",
			     command->values[0]);
}

void notify_config_check(const struct settings *s, const struct section *section,
			 struct problems *problems)
{
	check_events(s, settings_get(s, section, "on"), problems);
	check_patterns(s, settings_get(s, section, "tasks"), problems);
	check_channel(s, section, problems);
	check_headers(s, section, problems);
	check_pagerduty(s, section, problems);
}

/* --- taking --------------------------------------------------------------- */

/* A path that is relative is beside the file that it stands in. */
static char *path_in(const struct settings *s, const struct section *section, const char *key)
{
	const char *path = settings_text(s, section, key);

	return path ? textfile_beside(s->file, path) : NULL;
}

void notify_configs_take(struct notify_configs *all, const struct settings *s,
			 const struct section *section)
{
	const struct setting *on = settings_get(s, section, "on");
	const struct setting *tasks = settings_get(s, section, "tasks");
	const struct setting *command = settings_get(s, section, "command");
	const struct setting *headers = settings_get(s, section, "headers");
	struct notify_config *c;
	enum notice_event event;

	all->list = mem_resize(all->list, all->n + 1, sizeof(*all->list));
	c = &all->list[all->n++];
	*c = (struct notify_config){
		.name = mem_strdup(section->title),
		.tasks = words_copy(tasks->values, tasks->n),
		.n_tasks = tasks->n,
		.first = settings_get(s, section, "repeat")->number == 1,
		.url = word_copy(settings_text(s, section, "url")),
		.form = (enum notify_template)settings_get(s, section, "template")->number,
		.headers = words_copy(headers->values, headers->n),
		.n_headers = headers->n,
		.headers_file = path_in(s, section, "headers-file"),
		.routing_key_file = path_in(s, section, "routing-key-file"),
		.command = words_copy(command->values, command->n),
		.n_command = command->n,
		.file = mem_strdup(s->file),
		.line = section->line};
	if (!c->url && c->form == NOTIFY_PAGERDUTY)
		c->url = mem_strdup(PAGERDUTY_URL);
	for (size_t i = 0; i < on->n; i++)
		if (notice_event_parse(on->values[i], strlen(on->values[i]), &event))
			c->events |= 1U << event;
	if (on->n == 0)
		c->events = NOTICE_BY_DEFAULT;
}

struct notify_configs notify_configs_copy(const struct notify_configs *all)
{
	struct notify_configs copy = {.list = mem_calloc(all->n + 1, sizeof(*copy.list))};

	for (; copy.n < all->n; copy.n++) {
		const struct notify_config *from = &all->list[copy.n];
		struct notify_config *c = &copy.list[copy.n];

		*c = *from;
		c->name = mem_strdup(from->name);
		c->tasks = words_copy(from->tasks, from->n_tasks);
		c->url = word_copy(from->url);
		c->command = words_copy(from->command, from->n_command);
		c->headers = words_copy(from->headers, from->n_headers);
		c->headers_file = word_copy(from->headers_file);
		c->routing_key_file = word_copy(from->routing_key_file);
		c->file = mem_strdup(from->file);
	}
	return copy;
}

bool notify_configs_equal(const struct notify_configs *a, const struct notify_configs *b)
{
	bool same = a->n == b->n;

	for (size_t i = 0; same && i < a->n; i++) {
		const struct notify_config *x = &a->list[i], *y = &b->list[i];

		same = word_same(x->name, y->name) && x->events == y->events &&
		       words_same(x->tasks, x->n_tasks, y->tasks, y->n_tasks) &&
		       word_same(x->url, y->url) && x->form == y->form && x->first == y->first &&
		       words_same(x->headers, x->n_headers, y->headers, y->n_headers) &&
		       word_same(x->headers_file, y->headers_file) &&
		       word_same(x->routing_key_file, y->routing_key_file) &&
		       words_same(x->command, x->n_command, y->command, y->n_command);
	}
	return same;
}

void notify_configs_done(struct notify_configs *all)
{
	for (size_t i = 0; i < all->n; i++) {
		struct notify_config *c = &all->list[i];

		free(c->name);
		words_free(c->tasks, c->n_tasks);
		free(c->url);
		words_free(c->command, c->n_command);
		words_free(c->headers, c->n_headers);
		free(c->headers_file);
		free(c->routing_key_file);
		free(c->file);
	}
	free(all->list);
	*all = (struct notify_configs){NULL, 0};
}

struct notice_rule notify_config_rule(const struct notify_config *c)
{
	return (struct notice_rule){.events = c->events,
				    .patterns = (const char *const *)c->tasks,
				    .n_patterns = c->n_tasks};
}
