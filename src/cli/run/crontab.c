#include "cli/run/crontab.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"

#define BLANKS	     " \t"
#define LINE_ENDS    " \t\r"
#define FIELDS	     5
#define EVERY	     "@every"
#define NO_FIELDS    "it has no five fields and a command"
#define NO_COMMAND   "there is no command behind the times"
#define NO_USER	     "there is no user in front of the command: is it a user's crontab? --user NAME"
#define BAD_VARIABLE "it is neither a variable nor five fields and a command"
#define AT_REBOOT    "no schedule knows @reboot: let systemd start it on each host"
#define SIX_FIELDS                                                                             \
	"it has six time fields, and a schedule five: leave out the seconds in front, or the " \
	"year "                                                                                \
	"behind; what is due every 30 seconds is written \"every 30s\""
#define SEVEN_FIELDS                                                                             \
	"it has seven time fields, and a schedule five: leave out the seconds in front and the " \
	"year "                                                                                  \
	"behind"
#define ZONE_IN_LINE                                                                               \
	"cron takes all of it for the value of a variable, also the times: write CRON_TZ=ZONE in " \
	"a "                                                                                       \
	"line of its own above it"
#define VARIABLE_IN_LINE                                                                           \
	"cron takes all of it for the value of a variable, also the times: write the variable in " \
	"a "                                                                                       \
	"line of its own above it"

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

/* --- words that are times ------------------------------------------------- */

static bool is_name_of_time(const char *p, size_t n)
{
	static const char names[] = "JAN FEB MAR APR MAY JUN JUL AUG SEP OCT NOV DEC "
				    "MON TUE WED THU FRI SAT SUN";
	char name[4];

	if (n == 1)
		return *p == 'L' || *p == 'W' || *p == 'H';
	if (n != 3)
		return false;
	memcpy(name, p, 3);
	name[3] = '\0';
	return strstr(names, name) != NULL;
}

/* Whether a word looks like a field of a crontab, also of other crons: with ? and names. */
static bool is_time(const char *p, size_t n)
{
	bool says = false;

	for (size_t i = 0; i < n; i++) {
		size_t letters = 0;

		while (i + letters < n && p[i + letters] >= 'A' && p[i + letters] <= 'Z')
			letters++;
		if (letters > 0 && !is_name_of_time(p + i, letters))
			return false;
		if (letters == 0 && !strchr("0123456789*/,-?~#", p[i]))
			return false;
		says |= letters > 0 || strchr("0123456789*?", p[i]);
		i += letters > 0 ? letters - 1 : 0;
	}
	return says;
}

/* The number of words at the beginning that look like fields, up to `most`. */
static int count_times(struct rest r, int most)
{
	int n = 0;

	for (; n < most && is_time(r.p, word(&r)); n++) {
		r.p += word(&r);
		skip_blanks(&r);
	}
	return n;
}

/* Whether the times of a job follow a variable in the same line. */
static bool has_times_behind(struct rest r)
{
	size_t n = word(&r);

	if (!memchr(r.p, '=', n))
		return false;
	r.p += n;
	skip_blanks(&r);
	return r.p < r.end && (*r.p == '@' || count_times(r, FIELDS) == FIELDS);
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
		/* Other crons have @every with a duration behind it, which belongs to it. */
		if (n == strlen(EVERY) && memcmp(from, EVERY, n) == 0) {
			struct rest length = {from + n, r->end};

			skip_blanks(&length);
			n = (size_t)(length.p - from) + word(&length);
		}
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
 * % stays, in both. Within the command of two backslashes one stays, and each escapes what is
 * behind it. Within the input it does not. All of the input counts, up to the newline; the blanks
 * at the end of a command do not.
 */
static void take_command(struct rest r, struct crontab_line *l)
{
	size_t len = (size_t)(r.end - r.p), n = 0;
	char *text = mem_calloc(len + 2, 1), *input = NULL;

	for (; r.p < r.end; r.p++) {
		if (*r.p == '\\' && r.p + 1 < r.end && r.p[1] == '%') {
			text[n++] = *++r.p;
		} else if (!input && *r.p == '\\' && r.p + 1 < r.end) {
			if (*++r.p != '\\')
				text[n++] = '\\';
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
	n = strlen(text);
	while (n > 0 && strchr(LINE_ENDS, text[n - 1]))
		n--;
	l->command = mem_strndup(text, n);
	free(text);
	if (n == 0)
		bad(l, NO_COMMAND);
}

static void parse_job(struct rest r, bool system, struct crontab_line *l)
{
	size_t n;
	int more;

	if (!parse_times(&r, l)) {
		bad(l, NO_FIELDS);
		return;
	}
	more = *l->schedule == '@' ? 0 : count_times(r, 2);
	if (more > 0) {
		bad(l, more == 1 ? SIX_FIELDS : SEVEN_FIELDS);
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
	else
		take_command(r, l);
}

void crontab_parse(const char *text, size_t len, bool system, struct crontab_line *ret)
{
	struct rest r = {text, text + len};

	*ret = (struct crontab_line){.kind = CRONTAB_NOTHING};
	const char *end = r.end;

	while (r.end > r.p && strchr(LINE_ENDS, r.end[-1]))
		r.end--;
	skip_blanks(&r);
	if (r.p == r.end || *r.p == '#')
		return;
	if (memchr(r.p, '\0', (size_t)(r.end - r.p))) {
		bad(ret, BAD_VARIABLE);
		return;
	}
	if (has_times_behind(r)) {
		bool zone = strncmp(r.p, "TZ=", 3) == 0 || strncmp(r.p, "CRON_TZ=", 8) == 0;

		bad(ret, zone ? ZONE_IN_LINE : VARIABLE_IN_LINE);
		return;
	}
	if (parse_variable(r, ret))
		return;
	crontab_line_done(ret);
	*ret = (struct crontab_line){.kind = CRONTAB_JOB};
	r.end = memchr(r.p, '%', (size_t)(r.end - r.p)) ? end : r.end;
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
