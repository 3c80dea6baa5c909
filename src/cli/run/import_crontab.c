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
#include "base/utf8.h"
#include "cli/run/crontab.h"
#include "cli/ui/command.h"
#include "core/time/schedule.h"

#define WHY_SIZE     500
#define FILE_MAX     (1024 * 1024) /* bytes */
#define SHOWN_SIZE   200	   /* bytes of a crontab's line that are shown in a comment */
#define ZONEINFO     "/usr/share/zoneinfo/"
#define NO_UTF8	     "it is not UTF-8, which task files are in"
#define NO_USER_NAME "its user is not the name of a local user"
#define NAME_ROOM    80 /* bytes of a name that leave room for a number */
#define PREFIX_MAX   50
#define TOO_MANY_ENV "it has too many variables"
#define BAD_NAME                                                                                   \
	"a variable of a task has a name of letters, digits and \"_\" that begins with no digit: " \
	"set it in the command"
#define RELATIVE_HOME "a command starts in HOME: give it a path from / on"
#define NO_ZONE	      "the CRON_TZ above it is no zone of the tz database: correct that line"
#define NOTE_INPUT                                                                         \
	"what follows the % is the command's standard input, as in cron: write \\% where " \
	"the "                                                                             \
	"character is meant"
#define NOTE_ZONE                                                                             \
	"it is the timezone of the lines below it; Debian's cron goes by the host's all the " \
	"same, "                                                                              \
	"and takes it for a variable of the commands"
#define NOTE_OURS                                                                                  \
	"left out: the names that begin with ZKLEADER_ are set for each run. The runner's option " \
	"-s "                                                                                      \
	"names the socket"
#define HAS_CONTROL \
	"it has a tab in quotes, or another control character: a task file can have none"

enum { OPTION_USER, OPTION_ZONE, OPTION_PREFIX, OPTION_FORCE };

static const struct option_spec options[] = {
	{300, "user", "NAME", "it is the crontab of NAME; without, it has a column of\nusers"},
	{301, "timezone", "ZONE", "by which cron goes (that of this host)"},
	{302, "prefix", "P", "put before the name of each task"},
	{303, "force", NULL, "although it looks as if --user were wrong"},
	{0, NULL, NULL, NULL},
};

struct import {
	const struct context *c;
	const char *zone; /* of the lines that follow; NULL: CRON_TZ names none that there is */
	const char *own_zone;
	json_t *tasks, *refused, *notes;
	bool returns;  /* a line of the crontab ended with a carriage return */
	json_t *zones; /* those of CRON_TZ: names to the same texts */
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

/* --- the environment ------------------------------------------------------ */

/* The variables of the lines so far, as "NAME=VALUE". */
static json_t *environment_of(const struct import *m)
{
	json_t *all = json_array(), *value;
	const char *name;

	json_object_foreach(m->env, name, value)
	{
		size_t size = strlen(name) + json_string_length(value) + 2;
		mem_auto char *text = mem_alloc(size);

		snprintf(text, size, "%s=%s", name, json_string_value(value));
		json_array_append_new(all, json_string(text));
	}
	return all;
}

/* --- one line ------------------------------------------------------------- */

/* Makes the name unique by a number at its end. */
static void number(struct import *m, char name[NAME_TASK_MAX + 1])
{
	char plain[NAME_TASK_MAX + 1];
	int64_t n;

	memcpy(plain, name, sizeof(plain));
	for (n = 1; json_object_get(m->names, name); n++)
		snprintf(name, NAME_TASK_MAX + 1, "%.*s-%" PRId64, NAME_ROOM, plain, n + 1);
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
static const char *check(const struct import *m, const struct crontab_line *l, const char *user,
			 const char *name, char why[WHY_SIZE])
{
	struct schedule_error error;
	struct schedule schedule;
	mem_auto char *other = NULL;

	if (!name_is_user(user, strlen(user)))
		return NO_USER_NAME;
	if (!m->zone)
		return NO_ZONE;
	if (has_control(l->command, "\t") ||
	    (strchr(l->command, '\t') && l->command[strcspn(l->command, "\"'\\`$")]))
		return HAS_CONTROL;
	if (schedule_parse(l->schedule, name, &schedule, &error) == 0)
		return NULL;
	other = crontab_equivalent(l->schedule, name);
	snprintf(why, WHY_SIZE, "%s, at \"%.40s\"%s%s%s", error.why, l->schedule + error.at,
		 other ? ": it is written schedule = \"" : "", other ? other : "",
		 other ? "\"" : "");
	return why;
}

/* Names the task by its command; own: the name of the one that the command names itself. */
static void name_task(const struct import *m, const char *command, char name[NAME_TASK_MAX + 1])
{
	const char *prefix = m->c->values[OPTION_PREFIX];
	char plain[CRONTAB_NAME_MAX + 1];
	int room = NAME_ROOM;

	crontab_name(command, plain);
	room -= prefix ? (int)strlen(prefix) : 0;
	snprintf(name, NAME_TASK_MAX + 1, "%s%.*s", prefix ? prefix : "", room, plain);
}

/* Says what people should know of a job that is taken over. */
static void note_job(struct import *m, const struct crontab_line *l, bool own, int line,
		     const char *text, size_t len)
{
	bool returns = text[len - 1] == '\r' && !l->input;
	const char *note;

	if (own)
		say(m->notes, line, text, len,
		    "its task is in a file already, I suppose: these keys go there, and what "
		    "else the line says of the tick is the schedule's now");
	if (returns && !m->returns)
		say(m->notes, line, text, len,
		    "the carriage return at the end is left out, here and in other lines: cron "
		    "takes it for a part of the command");
	m->returns |= returns;
	if (l->input)
		say(m->notes, line, text, len, NOTE_INPUT);
	for (size_t i = 0; (note = crontab_note(l->command, i)); i++)
		say(m->notes, line, text, len, note);
}

static void take_job(struct import *m, const struct crontab_line *l, int line, const char *text,
		     size_t len)
{
	const char *user = m->c->values[OPTION_USER] ? m->c->values[OPTION_USER] : l->user;
	const char *shell = json_text(m->env, "SHELL", "/bin/sh"), *home;
	char name[NAME_TASK_MAX + 1] = "", why[WHY_SIZE];
	const char *own = crontab_own(l->command, name), *wrong;
	mem_auto char *shown = printable_dup(text, len);
	json_t *task;

	if (!own)
		name_task(m, l->command, name);
	wrong = check(m, l, user, name, why);
	if (wrong) {
		say(m->refused, line, text, len, wrong);
		return;
	}
	note_job(m, l, own != NULL, line, text, len);
	number(m, name);
	task = json_pack("{s:s, s:i, s:s, s:s, s:s, s:s, s:o, s:o}", "task", name, "line", line,
			 "text", shown, "schedule", l->schedule, "timezone", m->zone, "user", user,
			 "command", crontab_words(shell, own ? own : l->command, l->input),
			 "environment", environment_of(m));
	home = json_text(m->env, "HOME", "");
	if (home[0])
		json_object_set_new(task, "directory", json_string(home));
	json_array_append_new(m->tasks, task);
}

static bool is_variable(const char *name)
{
	size_t len =
		strspn(name, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_0123456789");

	return len > 0 && !name[len] && (name[0] < '0' || name[0] > '9');
}

static bool is_zone(const char *zone)
{
	char path[300];
	int n = snprintf(path, sizeof(path), ZONEINFO "%s", zone);

	return zone[0] && zone[0] != '/' && !strstr(zone, "..") && n < (int)sizeof(path) &&
	       access(path, R_OK) == 0;
}

/* CRON_TZ, for the lines below it; empty: that of the host again. */
static void take_zone(struct import *m, const char *zone, int line, const char *text, size_t len)
{
	if (zone[0] && !is_zone(zone)) {
		m->zone = NULL;
		say(m->refused, line, text, len, "it is not a zone of the tz database");
		return;
	}
	/* The list of the names keeps the text for as long as all of this lasts. */
	json_object_set_new(m->zones, zone, json_string(zone));
	m->zone = zone[0] ? json_text(m->zones, zone, "") : m->own_zone;
	say(m->notes, line, text, len, NOTE_ZONE);
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
		take_zone(m, l->value, line, text, len);
	else if (strncmp(l->name, "ZKLEADER_", 9) == 0)
		say(m->notes, line, text, len, NOTE_OURS);
	else if (has_control(l->name, "") || has_control(l->value, ""))
		say(m->refused, line, text, len, HAS_CONTROL);
	else if (!is_variable(l->name))
		say(m->refused, line, text, len, BAD_NAME);
	else if (strcmp(l->name, "HOME") == 0 && l->value[0] && l->value[0] != '/')
		say(m->refused, line, text, len, RELATIVE_HOME);
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

static void print_array(FILE *out, const json_t *task, const char *key)
{
	const json_t *words = json_object_get(task, key), *word;
	size_t i;

	fprintf(out, "\t%s = {", key);
	json_array_foreach(words, i, word)
	{
		fputs(i ? ", " : "", out);
		print_string(out, json_string_value(word));
	}
	fputs("}\n", out);
}

static void print_task(FILE *out, const json_t *task)
{
	char shown[SHOWN_SIZE];

	printable(shown, sizeof(shown), json_text(task, "text", ""),
		  strlen(json_text(task, "text", "")));
	fprintf(out, "# line %" PRId64 ": %s\ntask \"%s\" {\n", json_number(task, "line", 0), shown,
		json_text(task, "task", ""));
	print_key(out, task, "schedule");
	print_key(out, task, "timezone");
	print_key(out, task, "user");
	if (json_object_get(task, "directory"))
		print_key(out, task, "directory");
	if (json_array_size(json_object_get(task, "environment")) > 0)
		print_array(out, task, "environment");
	print_array(out, task, "command");
	fputs("}\n\n", out);
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

/* Checks the options. False after a line on the error stream. */
static bool check_options(const struct context *c)
{
	const char *user = c->values[OPTION_USER], *zone = c->values[OPTION_ZONE],
		   *prefix = c->values[OPTION_PREFIX];

	if (user && !name_is_user(user, strlen(user)))
		output_error(&c->output, "\"%s\" is not the name of a user", user);
	else if (zone && !is_zone(zone))
		output_error(&c->output, "\"%s\" is not a zone of the tz database", zone);
	else if (prefix && (!name_is_task(prefix, strlen(prefix)) || strlen(prefix) > PREFIX_MAX))
		output_error(
			&c->output,
			"\"%s\" is not the beginning of a task's name: that is up to %d "
			"letters, digits, \".\", \"_\" and \"-\", beginning with a letter or digit",
			prefix, PREFIX_MAX);
	else
		return true;
	return false;
}

static int run(struct context *c)
{
	char zone[256];
	struct import m = {.c = c, .own_zone = c->values[OPTION_ZONE]};
	char *text;
	size_t len;
	int code;

	if (!check_options(c))
		return ZKLEADER_MISUSE;
	if (!m.own_zone)
		m.own_zone = own_zone(zone);
	m.zone = m.own_zone;
	text = read_all(c, &len);
	if (!text)
		return ZKLEADER_MISUSE;
	if (!c->values[OPTION_FORCE] &&
	    !crontab_column_fits(c, text, len, c->values[OPTION_USER])) {
		free(text);
		return ZKLEADER_MISUSE;
	}
	m.tasks = json_array();
	m.refused = json_array();
	m.notes = json_array();
	m.env = json_object();
	m.zones = json_object();
	m.names = json_object();
	take_text(&m, text, len);
	print(&m);
	code = json_array_size(m.refused) > 0 ? ZKLEADER_NOT_LEADER : ZKLEADER_OK;
	json_decref(m.tasks);
	json_decref(m.refused);
	json_decref(m.notes);
	json_decref(m.env);
	json_decref(m.zones);
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
