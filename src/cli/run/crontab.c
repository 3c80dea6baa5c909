#include "cli/run/crontab.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"

#define BLANKS	     " \t"
#define FIELDS	     5
#define NO_FIELDS    "it has no five fields and a command"
#define NO_COMMAND   "there is no command behind the times"
#define NO_USER	     "there is no user in front of the command: is it a user's crontab? --user NAME"
#define BAD_VARIABLE "it is neither a variable nor five fields and a command"
#define AT_REBOOT    "no schedule knows @reboot: let systemd start it on each host"

/* The part of a line that is not parsed yet. */
struct rest {
	const char *p, *end;
};

static void skip_blanks(struct rest *r)
{
	while (r->p < r->end && strchr(BLANKS, *r->p))
		r->p++;
}

/* The length of the word at the beginning, up to the next blank. */
static size_t word(const struct rest *r)
{
	size_t n = 0;

	while (r->p + n < r->end && !strchr(BLANKS, r->p[n]))
		n++;
	return n;
}

static void bad(struct crontab_line *l, const char *why)
{
	l->kind = CRONTAB_BAD;
	l->why = why;
}

/* --- variables ------------------------------------------------------------ */

/*
 * Takes a text that may be in quotes, and returns it without them. NULL: the closing quote is
 * missing.
 */
static char *take_quoted(struct rest *r, const char *stops)
{
	const char *from = r->p, *to;

	if (r->p < r->end && (*r->p == '"' || *r->p == '\'')) {
		to = memchr(from + 1, *from, (size_t)(r->end - from) - 1);
		if (!to)
			return NULL;
		r->p = to + 1;
		return mem_strndup(from + 1, (size_t)(to - from) - 1);
	}
	while (r->p < r->end && !strchr(stops, *r->p))
		r->p++;
	to = r->p;
	while (to > from && strchr(BLANKS, to[-1]))
		to--;
	return mem_strndup(from, (size_t)(to - from));
}

/* Parses a line NAME = value. False: it is not one, so it has to be the line of a job. */
static bool parse_variable(struct rest r, struct crontab_line *l)
{
	l->name = take_quoted(&r, "= \t");
	skip_blanks(&r);
	if (!l->name || !l->name[0] || r.p == r.end || *r.p != '=')
		return false;
	r.p++;
	skip_blanks(&r);
	l->value = take_quoted(&r, "");
	skip_blanks(&r);
	if (!l->value || r.p < r.end)
		return false;
	l->kind = CRONTAB_VARIABLE;
	return true;
}

/* --- jobs ----------------------------------------------------------------- */

static bool parse_times(struct rest *r, struct crontab_line *l)
{
	const char *from = r->p;
	size_t n = 0;

	if (*r->p == '@') {
		n = word(r);
	} else {
		for (int i = 0; i < FIELDS; i++) {
			struct rest field = {from + n, r->end};

			skip_blanks(&field);
			if (word(&field) == 0)
				return false;
			n = (size_t)(field.p - from) + word(&field);
		}
	}
	l->schedule = mem_strndup(from, n);
	for (char *p = l->schedule; *p; p++)
		if (*p == '\t')
			*p = ' ';
	r->p += n;
	skip_blanks(r);
	return true;
}

/*
 * Takes the command, and its standard input. As in cron, a % that no backslash escapes ends the
 * command. The rest of the line is the input, and each further % in it is a newline. Of \% only the
 * % stays, in both. Within the command a backslash also escapes any other character, and both are
 * kept. Within the input it does not.
 */
static void take_command(struct rest r, struct crontab_line *l)
{
	size_t len = (size_t)(r.end - r.p), n = 0;
	char *text = mem_calloc(len + 2, 1), *input = NULL;

	for (; r.p < r.end; r.p++) {
		if (*r.p == '\\' && r.p + 1 < r.end && r.p[1] == '%') {
			text[n++] = *++r.p;
		} else if (!input && *r.p == '\\' && r.p + 1 < r.end) {
			text[n++] = *r.p++;
			text[n++] = *r.p;
		} else if (*r.p != '%') {
			text[n++] = *r.p;
		} else if (!input) {
			text[n++] = '\0';
			input = text + n;
		} else {
			text[n++] = '\n';
		}
	}
	l->input = input ? mem_strdup(input) : NULL;
	l->command = mem_strdup(text);
	free(text);
}

static void parse_job(struct rest r, bool system, struct crontab_line *l)
{
	size_t n;

	if (!parse_times(&r, l)) {
		bad(l, NO_FIELDS);
		return;
	}
	if (system) {
		n = word(&r);
		l->user = mem_strndup(r.p, n);
		r.p += n;
		skip_blanks(&r);
	}
	if (strcmp(l->schedule, "@reboot") == 0)
		bad(l, AT_REBOOT);
	else if (system && r.p == r.end)
		bad(l, l->user[0] ? NO_USER : NO_COMMAND);
	else if (r.p == r.end || *r.p == '%')
		bad(l, NO_COMMAND);
	else
		take_command(r, l);
}

void crontab_parse(const char *text, size_t len, bool system, struct crontab_line *ret)
{
	struct rest r = {text, text + len};

	*ret = (struct crontab_line){.kind = CRONTAB_NOTHING};
	while (r.end > r.p && strchr(" \t\r", r.end[-1]))
		r.end--;
	skip_blanks(&r);
	if (r.p == r.end || *r.p == '#')
		return;
	if (memchr(r.p, '\0', (size_t)(r.end - r.p))) {
		bad(ret, BAD_VARIABLE);
		return;
	}
	if (parse_variable(r, ret))
		return;
	crontab_line_done(ret);
	*ret = (struct crontab_line){.kind = CRONTAB_JOB};
	parse_job(r, system, ret);
}

void crontab_line_done(struct crontab_line *l)
{
	free(l->name);
	free(l->value);
	free(l->schedule);
	free(l->user);
	free(l->command);
	free(l->input);
}
