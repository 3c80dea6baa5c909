/*
 * zkleader import-crontab: makes task files of the lines of a crontab. It asks no sidecar.
 * Schedules are parsed by core/, as in the sidecar, so that both accept the same ones.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "api/json.h"
#include "base/mem.h"
#include "base/text/name.h"
#include "base/text/printable.h"
#include "base/text/utf8.h"
#include "cli/run/crontab.h"
#include "cli/ui/command.h"
#include "core/time/schedule.h"

#define FILE_MAX     (1024 * 1024) /* bytes */
#define SHOWN_SIZE   200	   /* bytes of a crontab's line that are shown in a comment */
#define ZONEINFO     "/usr/share/zoneinfo/"
#define NEEDS_SHELL  "|&;<>()$`\\\"'*?[]#~{}!\n"
#define NO_UTF8	     "it is not UTF-8, which task files are in"
#define NO_USER_NAME "its user is not the name of a local user"
#define TOO_MANY_ENV "it has too many variables"
#define HAS_CONTROL \
	"it has a tab in quotes, or another control character: a task file can have none"

enum { OPTION_USER, OPTION_ZONE };

static const struct option_spec options[] = {
	{300, "user", "NAME", "it is the crontab of NAME; without, it has a column of users"},
	{301, "timezone", "ZONE", "by which cron goes (that of this host)"},
	{0, NULL, NULL, NULL},
};

struct import {
	const struct context *c;
	const char *zone;
	json_t *tasks, *refused, *notes;
	bool returns;  /* a line of the crontab ended with a carriage return */
	json_t *env;   /* the variables set by the lines so far: names and values, in their order */
	json_t *names; /* the task names that are used already */
};

/* --- notes and refusals --------------------------------------------------- */

static void say(json_t *list, int line, const char *text, size_t len, const char *why)
{
	mem_auto char *shown = printable_dup(text, len);

	json_array_append_new(
		list, json_pack("{s:i, s:s, s:s}", "line", line, "text", shown, "why", why));
}

/* --- the command ---------------------------------------------------------- */

static void add(json_t *words, const char *text)
{
	json_array_append_new(words, json_string(text));
}

/*
 * The crontab's variables are set by env(1). With HOME, env also changes to that folder, as cron
 * does.
 */
static void add_env(const struct import *m, json_t *words)
{
	const char *home = json_text(m->env, "HOME", NULL), *name;
	json_t *value;

	if (json_object_size(m->env) == 0)
		return;
	add(words, "/usr/bin/env");
	if (home) {
		add(words, "-C");
		add(words, home);
	}
	json_object_foreach(m->env, name, value)
	{
		mem_auto char *text = NULL;
		size_t size = strlen(name) + json_string_length(value) + 2;

		text = mem_alloc(size);
		snprintf(text, size, "%s=%s", name, json_string_value(value));
		add(words, text);
	}
}

/* Splits a command that needs no shell: an absolute path and plain words. False: it needs one. */
static bool add_plain(json_t *words, const char *command)
{
	if (command[0] != '/' || command[strcspn(command, NEEDS_SHELL)] != '\0')
		return false;
	while (*command) {
		size_t n = strcspn(command, " \t");
		mem_auto char *one = mem_strndup(command, n);

		add(words, one);
		command += n;
		command += strspn(command, " \t");
	}
	return true;
}

/* The text as a format for printf(1) within single quotes, on the heap. */
static char *format_of(const char *input)
{
	char *text = mem_alloc(4 * strlen(input) + 3);
	size_t n = 0;

	for (; *input; input++) {
		const char *put = *input == '\n'   ? "\\n"
				  : *input == '\t' ? "\\t"
				  : *input == '\\' ? "\\\\"
				  : *input == '%'  ? "%%"
				  : *input == '\'' ? "'\\''"
						   : NULL;

		if (put) {
			memcpy(text + n, put, strlen(put));
			n += strlen(put);
		} else {
			text[n++] = *input;
		}
	}
	/* Cron ends the last line of the input with a newline. */
	if (n < 2 || memcmp(text + n - 2, "\\n", 2) != 0) {
		text[n++] = '\\';
		text[n++] = 'n';
	}
	text[n] = '\0';
	return text;
}

/*
 * Has a shell run the command. Its input, which cron writes to its standard input, comes from
 * printf(1).
 */
static void add_shell(const struct import *m, json_t *words, const char *command, const char *input)
{
	const char *shell = json_text(m->env, "SHELL", "/bin/sh");
	mem_auto char *plain = mem_strdup(command), *format = NULL, *script = NULL;
	size_t size;

	for (char *p = plain; *p; p++)
		if (*p == '\t')
			*p = ' ';
	if (input) {
		format = format_of(input);
		size = strlen(format) + 40;
		script = mem_alloc(size);
		snprintf(script, size, "printf '%s' | \"$0\" -c \"$1\"", format);
		add(words, "/bin/sh");
		add(words, "-c");
		add(words, script);
		add(words, shell);
	} else {
		add(words, shell);
		add(words, "-c");
	}
	add(words, plain);
}

static json_t *words_of(const struct import *m, const char *command, const char *input)
{
	json_t *words = json_array();
	size_t before;

	add_env(m, words);
	before = json_array_size(words);
	if (input || !add_plain(words, command)) {
		while (json_array_size(words) > before)
			json_array_remove(words, json_array_size(words) - 1);
		add_shell(m, words, command, input);
	}
	return words;
}

/* --- one line ------------------------------------------------------------- */

/* Makes the name unique by a number at its end. */
static void number(struct import *m, char name[NAME_TASK_MAX + 1])
{
	char plain[NAME_TASK_MAX + 1];
	int64_t n;

	memcpy(plain, name, sizeof(plain));
	for (n = 1; json_object_get(m->names, name); n++)
		snprintf(name, NAME_TASK_MAX + 1, "%.80s-%" PRId64, plain, n + 1);
	json_object_set_new(m->names, name, json_true());
}

static bool has_control(const char *text, const char *but)
{
	for (; *text; text++)
		if (((unsigned char)*text < ' ' || *text == 0x7f) && !strchr(but, *text))
			return true;
	return false;
}

/* Checks a job. Returns NULL, or why it cannot be imported, which may be a text in `why`. */
static const char *check(const struct crontab_line *l, const char *user, const char *name,
			 char why[OPTIONS_WHY_SIZE])
{
	struct schedule_error error;
	struct schedule schedule;

	if (!name_is_user(user, strlen(user)))
		return NO_USER_NAME;
	if (has_control(l->command, "\t") || (l->input && has_control(l->input, "\t\n")) ||
	    (strchr(l->command, '\t') && l->command[strcspn(l->command, "\"'\\`$")]))
		return HAS_CONTROL;
	if (schedule_parse(l->schedule, name, &schedule, &error) == 0)
		return NULL;
	snprintf(why, OPTIONS_WHY_SIZE, "%s, at \"%.40s\"", error.why, l->schedule + error.at);
	return why;
}

static void take_job(struct import *m, const struct crontab_line *l, int line, const char *text,
		     size_t len)
{
	const char *user = m->c->values[OPTION_USER] ? m->c->values[OPTION_USER] : l->user;
	char name[NAME_TASK_MAX + 1] = "", why[OPTIONS_WHY_SIZE];
	const char *own = crontab_own(l->command, name), *wrong;
	mem_auto char *shown = printable_dup(text, len);

	if (!own)
		crontab_name(l->command, name);
	wrong = check(l, user, name, why);
	if (wrong) {
		say(m->refused, line, text, len, wrong);
		return;
	}
	if (own)
		say(m->notes, line, text, len,
		    "its task is in a file already, I suppose: these keys go there, and what "
		    "else the line says of the tick is the schedule's now");
	if (text[len - 1] == '\r' && !m->returns)
		say(m->notes, line, text, len,
		    "the carriage return at the end is left out, here and in other lines: cron "
		    "takes it for a part of the command");
	m->returns |= text[len - 1] == '\r';
	number(m, name);
	json_array_append_new(m->tasks,
			      json_pack("{s:s, s:i, s:s, s:s, s:s, s:s, s:o}", "task", name, "line",
					line, "text", shown, "schedule", l->schedule, "timezone",
					m->zone, "user", user, "command",
					words_of(m, own ? own : l->command, l->input)));
}

static void take_variable(struct import *m, const struct crontab_line *l, int line,
			  const char *text, size_t len)
{
	if (strcmp(l->name, "MAILTO") == 0 || strcmp(l->name, "MAILFROM") == 0) {
		say(m->notes, line, text, len,
		    "nothing is mailed: what a job writes goes to the journal, and zkleader "
		    "history --failed tells what went wrong");
		return;
	}
	if (strcmp(l->name, "LOGNAME") == 0)
		return; /* cron ignores it as well */
	if (strcmp(l->name, "CRON_TZ") == 0)
		say(m->notes, line, text, len,
		    "left as a variable: Debian's cron goes by the host's time zone all the same. "
		    "Where another cron went by it, say --timezone");
	if (has_control(l->name, "") || has_control(l->value, "") || strchr(l->name, '='))
		say(m->refused, line, text, len, HAS_CONTROL);
	else if (json_object_size(m->env) >= CRONTAB_ENV_MAX)
		say(m->refused, line, text, len, TOO_MANY_ENV);
	else
		json_object_set_new(m->env, l->name, json_string(l->value));
}

static void take_line(struct import *m, int line, const char *text, size_t len)
{
	struct crontab_line l;

	crontab_parse(text, len, !m->c->values[OPTION_USER], &l);
	if (l.kind != CRONTAB_NOTHING && !utf8_is_valid(text, len))
		say(m->refused, line, text, len, NO_UTF8);
	else if (l.kind == CRONTAB_BAD)
		say(m->refused, line, text, len, l.why);
	else if (l.kind == CRONTAB_VARIABLE)
		take_variable(m, &l, line, text, len);
	else if (l.kind == CRONTAB_JOB)
		take_job(m, &l, line, text, len);
	crontab_line_done(&l);
}

static void take_text(struct import *m, const char *text, size_t len)
{
	int line = 1;

	for (size_t at = 0; at < len; line++) {
		const char *end = memchr(text + at, '\n', len - at);
		size_t n = end ? (size_t)(end - text) - at : len - at;

		take_line(m, line, text + at, n);
		at += n + 1;
	}
}

/* --- printing ------------------------------------------------------------- */

/*
 * Prints a text as a string of a task file, and escapes ", \ and ${, which have a meaning there.
 * The text has no control characters.
 */
static void print_string(FILE *out, const char *text)
{
	fputc('"', out);
	for (; *text; text++) {
		unsigned char c = (unsigned char)*text;

		if (c == '"' || c == '\\' || (c == '$' && text[1] == '{'))
			fprintf(out, "\\%c", c);
		else
			fputc(c, out);
	}
	fputc('"', out);
}

static void print_key(FILE *out, const json_t *task, const char *key)
{
	fprintf(out, "\t%s = ", key);
	print_string(out, json_text(task, key, ""));
	fputc('\n', out);
}

static void print_task(FILE *out, const json_t *task)
{
	const json_t *words = json_object_get(task, "command"), *word;
	char shown[SHOWN_SIZE];
	size_t i;

	printable(shown, sizeof(shown), json_text(task, "text", ""),
		  strlen(json_text(task, "text", "")));
	fprintf(out, "# line %" PRId64 ": %s\ntask \"%s\" {\n", json_number(task, "line", 0), shown,
		json_text(task, "task", ""));
	print_key(out, task, "schedule");
	print_key(out, task, "timezone");
	print_key(out, task, "user");
	fputs("\tcommand = {", out);
	json_array_foreach(words, i, word)
	{
		fputs(i ? ", " : "", out);
		print_string(out, json_string_value(word));
	}
	fputs("}\n}\n\n", out);
}

static void print_said(const struct import *m, const json_t *list, const char *before)
{
	const json_t *one;
	size_t i;

	json_array_foreach(list, i, one)
		output_error(&m->c->output, "%s:%" PRId64 ": %s%s: %s", m->c->args[0],
			     json_number(one, "line", 0), before, json_text(one, "why", ""),
			     json_text(one, "text", ""));
}

static void print(const struct import *m)
{
	const json_t *task;
	size_t i;

	if (m->c->output.json) {
		json_auto_t *all = json_pack("{s:O, s:O, s:O}", "tasks", m->tasks, "refused",
					     m->refused, "notes", m->notes);
		output_json(&m->c->output, all);
		return;
	}
	json_array_foreach(m->tasks, i, task) print_task(m->c->output.out, task);
	print_said(m, m->notes, "note: ");
	print_said(m, m->refused, "not taken over: ");
}

/* --- the command ---------------------------------------------------------- */

/* The time zone of this host by /etc/localtime, or UTC. */
static const char *own_zone(char zone[256])
{
	ssize_t n = readlink("/etc/localtime", zone, 255);
	const char *name;

	if (n <= 0)
		return "UTC";
	zone[n] = '\0';
	name = strstr(zone, "zoneinfo/");
	return name ? name + strlen("zoneinfo/") : "UTC";
}

static bool is_zone(const char *zone)
{
	char path[300];
	int n = snprintf(path, sizeof(path), ZONEINFO "%s", zone);

	return zone[0] && zone[0] != '/' && !strstr(zone, "..") && n < (int)sizeof(path) &&
	       access(path, R_OK) == 0;
}

/* Reads all of the file; "-" is standard input. NULL after a line on the error stream. */
static char *read_all(const struct context *c, size_t *ret_len)
{
	FILE *file = strcmp(c->args[0], "-") == 0 ? stdin : fopen(c->args[0], "re");
	char *text = file ? mem_alloc(FILE_MAX + 1) : NULL;

	*ret_len = file ? fread(text, 1, FILE_MAX + 1, file) : 0;
	if (!file || ferror(file) || *ret_len > FILE_MAX) {
		output_error(&c->output, "%s: %s", c->args[0],
			     file && *ret_len > FILE_MAX ? "it is too big for a crontab"
							 : strerror(errno));
		free(text);
		text = NULL;
	}
	if (file && file != stdin)
		fclose(file);
	return text;
}

static int run(struct context *c)
{
	char zone[256];
	struct import m = {.c = c, .zone = c->values[OPTION_ZONE]};
	char *text;
	size_t len;
	int code;

	if (c->values[OPTION_USER] &&
	    !name_is_user(c->values[OPTION_USER], strlen(c->values[OPTION_USER]))) {
		output_error(&c->output, "\"%s\" is not the name of a user",
			     c->values[OPTION_USER]);
		return ZKLEADER_MISUSE;
	}
	if (!m.zone)
		m.zone = own_zone(zone);
	else if (!is_zone(m.zone)) {
		output_error(&c->output, "\"%s\" is not a zone of the tz database", m.zone);
		return ZKLEADER_MISUSE;
	}
	text = read_all(c, &len);
	if (!text)
		return ZKLEADER_MISUSE;
	m.tasks = json_array();
	m.refused = json_array();
	m.notes = json_array();
	m.env = json_object();
	m.names = json_object();
	take_text(&m, text, len);
	print(&m);
	code = json_array_size(m.refused) > 0 ? ZKLEADER_NOT_LEADER : ZKLEADER_OK;
	json_decref(m.tasks);
	json_decref(m.refused);
	json_decref(m.notes);
	json_decref(m.env);
	json_decref(m.names);
	free(text);
	return code;
}

const struct command command_import_crontab = {
	.name = "import-crontab",
	.args = "FILE",
	.help = "print task files for the lines of a crontab",
	.more = "FILE: as /etc/crontab, with a column of users; --user NAME for what crontab -l\n"
		"says; \"-\" is standard input. What cannot be taken over, and why, is on "
		"standard\n"
		"error. Asks no sidecar, and changes nothing.\n",
	.exits = "0 all of it was taken over, 1 not all of it was, 3 misuse",
	.min_args = 1,
	.max_args = 1,
	.options = options,
	.run = run,
};
