/* Derives the name of a task from the command in a line of a crontab. */
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "base/text/name.h"
#include "cli/run/crontab.h"

#define WORD_ENDS " \t\n;&|(){}<>`'\"$"
#define NAMELESS  "job"

struct word {
	const char *p;
	size_t len;
};

static bool next_word(const char **at, struct word *w)
{
	*at += strspn(*at, WORD_ENDS);
	w->p = *at;
	w->len = strcspn(*at, WORD_ENDS);
	*at += w->len;
	return w->len > 0;
}

/* The last part of the path w: the name of the program. */
static struct word program_of(struct word w)
{
	for (size_t i = w.len; i > 0; i--)
		if (w.p[i - 1] == '/')
			return (struct word){w.p + i, w.len - i};
	return w;
}

static bool is_one_of(struct word w, const char *const *list)
{
	for (; *list; list++)
		if (strlen(*list) == w.len && memcmp(*list, w.p, w.len) == 0)
			return true;
	return false;
}

/* Whether the word says how something is run instead of what, such as nice, sh or VAR=value. */
static bool is_wrapper(struct word w)
{
	static const char *const list[] = {
		"env",	"nice", "ionice", "chronic", "flock",	    "timeout", "sudo",
		"su",	"time", "nohup",  "setsid",  "chrt",	    "exec",    "command",
		"sh",	"bash", "dash",	  "zsh",     "python",	    "python2", "python3",
		"perl", "php",	"ruby",	  "node",    "java",	    "if",      "then",
		"fi",	"set",	"umask",  "export",  "systemd-cat", "logger",  "sleep",
		"true", NULL};

	return is_one_of(w, list) || memchr(w.p, '=', w.len);
}

/*
 * Whether a command that begins with this word only prepares the work, such as cd or test. None of
 * its words is used for the name.
 */
static bool is_preamble(struct word w)
{
	static const char *const list[] = {"cd", "test", "[", "[[", "source", ".", NULL};

	return is_one_of(w, list);
}

/*
 * Whether the word is an option, a number or a duration, as nice and timeout take them, or the lock
 * file of flock.
 */
static bool is_argument(struct word w)
{
	static const char lock[] = ".lock";
	size_t len = strlen(lock);

	if (w.len > len && memcmp(w.p + w.len - len, lock, len) == 0)
		return true;
	return w.p[0] == '-' || w.p[0] == '+' || strspn(w.p, "0123456789.smhd") >= w.len;
}

static void clean(struct word w, char name[CRONTAB_NAME_MAX + 1])
{
	static const char *const endings[] = {".sh", ".py", ".pl", ".php", ".rb", ".jar", ".bash"};
	size_t n = 0;

	for (size_t i = 0; i < sizeof(endings) / sizeof(endings[0]); i++) {
		size_t len = strlen(endings[i]);

		if (w.len > len && memcmp(w.p + w.len - len, endings[i], len) == 0)
			w.len -= len;
	}
	for (size_t i = 0; i < w.len && n < CRONTAB_NAME_MAX; i++) {
		char letter[] = {'x', w.p[i]};

		/* The name has to begin with a letter or a digit. */
		if (n > 0 || name_is_task(w.p + i, 1))
			name[n++] = '-';
		if (n > 0 && name_is_task(letter, sizeof(letter)))
			name[n - 1] = w.p[i];
	}
	while (n > 0 && name[n - 1] == '-')
		n--;
	name[n] = '\0';
}

void crontab_name(const char *command, char name[CRONTAB_NAME_MAX + 1])
{
	struct word w;

	while (next_word(&command, &w)) {
		struct word program = program_of(w);

		if (is_preamble(program)) {
			command += strcspn(command, ";&|\n");
			continue;
		}
		if (program.len == 0 || is_wrapper(program) || is_argument(w))
			continue;
		clean(program, name);
		if (name[0])
			return;
	}
	snprintf(name, CRONTAB_NAME_MAX + 1, NAMELESS);
}

/* --- lines that call zkleader already ------------------------------------- */

/* Whether w is this program, in any folder. */
static bool is_program(struct word w, const char *program)
{
	const char *const list[] = {program, NULL};

	return is_one_of(program_of(w), list);
}

const char *crontab_own(const char *command, char name[CRONTAB_NAME_MAX + 1])
{
	const char *at = command, *rest = NULL;
	struct word w, task = {NULL, 0};
	bool check;

	if (!next_word(&at, &w))
		return NULL;
	check = is_program(w, "zkleader-check");
	if (!check && (!is_program(w, "zkleader") || !next_word(&at, &w) || !is_program(w, "run")))
		return NULL;
	rest = strstr(at, check ? "&&" : " -- ");
	if (!rest)
		return NULL;
	/* The task's name is the last word before && or --. Options and their values precede it. */
	while (next_word(&at, &w) && w.p < rest)
		if (w.p + w.len <= rest && !(w.len == 2 && memcmp(w.p, "--", 2) == 0))
			task = w;
	if (task.len == 0 || task.len > CRONTAB_NAME_MAX || !name_is_task(task.p, task.len))
		return NULL;
	memcpy(name, task.p, task.len);
	name[task.len] = '\0';
	rest += check ? 2 : 4;
	return rest + strspn(rest, " \t");
}
