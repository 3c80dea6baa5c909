/* Advice about lines of crontabs: equivalents of schedules, and notes on commands. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "cli/run/crontab.h"
#include "core/time/schedule.h"

#define FIELDS	  5
#define EVERY	  "@every"
#define PART_SIZE 32 /* bytes of a part of a field that is rewritten */

/* --- schedules of other crons --------------------------------------------- */

/* The bounds of the fields. */
static const int least[FIELDS] = {0, 0, 1, 1, 0}, most[FIELDS] = {59, 23, 31, 12, 6};

/* A duration such as 1h30m, of which the schedule takes one unit alone. */
static char *of_every(const char *text)
{
	int64_t seconds = 0;
	char every[PART_SIZE];

	while (*text) {
		size_t digits = strspn(text, "0123456789");
		int64_t unit = text[digits] == 'h' ? 3600 : text[digits] == 'm' ? 60 : 1;

		if (digits == 0 || digits > 6 || !text[digits] || !strchr("hms", text[digits]))
			return NULL;
		seconds += strtol(text, NULL, 10) * unit;
		text += digits + 1;
	}
	if (seconds > 0 && seconds % 3600 == 0)
		snprintf(every, sizeof(every), "every %" PRId64 "h", seconds / 3600);
	else if (seconds > 0 && seconds % 60 == 0)
		snprintf(every, sizeof(every), "every %" PRId64 "m", seconds / 60);
	else
		snprintf(every, sizeof(every), "every %" PRId64 "s", seconds);
	return mem_strdup(every);
}

/* Rewrites a part of a list: ?, a random number as in 0~30, and steps without a range as in 0/5. */
static void rewrite_part(int field, const char *part, size_t len, char to[PART_SIZE])
{
	char text[PART_SIZE];
	size_t n, rest;
	int from = least[field], up = most[field];

	snprintf(text, sizeof(text), "%.*s", (int)len, part);
	snprintf(to, PART_SIZE, "%s", text);
	n = strspn(text, "0123456789");
	rest = n + 1 + strspn(text + n + (text[n] != '\0'), "0123456789");
	if (strcmp(text, "?") == 0) {
		snprintf(to, PART_SIZE, "*");
	} else if (strcmp(text, "~") == 0) {
		snprintf(to, PART_SIZE, "H");
	} else if (text[n] == '~' && text[rest] == '\0') {
		from = n > 0 ? atoi(text) : from;
		up = rest > n + 1 ? atoi(text + n + 1) : up;
		snprintf(to, PART_SIZE, "H(%d-%d)", from, up);
	} else if (n > 0 && text[n] == '/') {
		from = atoi(text);
		if (from == least[field])
			snprintf(to, PART_SIZE, "*%s", text + n);
		else
			snprintf(to, PART_SIZE, "%d-%d%s", from, up, text + n);
	}
}

static char *of_fields(const char *text)
{
	char *all = mem_calloc(strlen(text) + 1, PART_SIZE), *end = all, part[PART_SIZE];
	int field = 0;

	while (*text && field < FIELDS) {
		size_t len = strcspn(text, ", ");

		if (len >= PART_SIZE - 8) {
			free(all);
			return NULL;
		}
		rewrite_part(field, text, len, part);
		end = stpcpy(end, part);
		text += len;
		if (*text)
			*end++ = *text;
		field += *text == ' ';
		text += *text != '\0';
		text += strspn(text, " ");
	}
	return all;
}

char *crontab_equivalent(const char *schedule, const char *task)
{
	size_t len = strlen(EVERY);
	bool every = strncmp(schedule, EVERY, len) == 0;
	char *other = every ? of_every(schedule + len + strspn(schedule + len, " "))
			    : of_fields(schedule);
	struct schedule_error error;
	struct schedule parsed;

	if (other && strcmp(other, schedule) != 0 &&
	    schedule_parse(other, task, &parsed, &error) == 0)
		return other;
	free(other);
	return NULL;
}

/* --- commands ------------------------------------------------------------- */

/* Whether the word is in the command, by itself. */
static bool has_word(const char *command, const char *word)
{
	static const char ends[] = " \t;&|()<>/'\"`";
	size_t len = strlen(word);

	for (const char *at = command; (at = strstr(at, word)); at += len)
		if ((at == command || strchr(ends, at[-1])) && (!at[len] || strchr(ends, at[len])))
			return true;
	return false;
}

/* Whether the command ends with a & that has it go on in the background. */
static bool ends_in_background(const char *command)
{
	size_t len = strlen(command);

	return len > 0 && command[len - 1] == '&' &&
	       (len == 1 || !strchr("&\\>", command[len - 2]));
}

static bool leaves_behind(const char *command)
{
	return has_word(command, "nohup") || has_word(command, "setsid") ||
	       has_word(command, "disown") || ends_in_background(command);
}

static bool is_hosts_own(const char *command)
{
	return has_word(command, "run-parts") || has_word(command, "anacron") ||
	       has_word(command, "logrotate") || strstr(command, "/etc/cron.");
}

const char *crontab_note(const char *command, size_t i)
{
	if (leaves_behind(command) && i-- == 0)
		return "it leaves something behind that is to go on (nohup, setsid, a & at the "
		       "end): "
		       "that is ended with the run, which ends as soon as its command has. Let "
		       "the command run in the foreground";
	if (is_hosts_own(command) && i == 0)
		return "it looks like a job of the host's own, which each host has to do for "
		       "itself "
		       "(run-parts, anacron, logrotate, /etc/cron.*): leave it to the host's cron";
	return NULL;
}
