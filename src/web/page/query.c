#include "web/page/query.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "base/clock.h"
#include "base/text/duration.h"
#include "base/text/name.h"
#include "base/utf8.h"

#define TIME_TAKES "a time such as 2026-11-20T02:00:00Z, or how long ago, such as 12h (s, m, h, d)"
#define SECOND_MS  1000

static const char *const home_states[] = {
	"attention", "nobody",	   "overdue", "failed",	      "lost",	 "missed",  "halted",
	"paused",    "problems",   "ok",      "running",      "timeout", "claimed", "leading",
	"following", "contending", "drained", "disconnected", NULL};
static const char *const run_states[] = {"trouble", "ok",      "running", "failed", "lost",
					 "missed",  "timeout", "claimed", NULL};
static const char *const sorts[] = {"attention", "name", "leader", "since", "last", "next", NULL};

const char *const *query_states(enum query_page page)
{
	return page == QUERY_HOME ? home_states : run_states;
}

const char *const *query_sorts(void)
{
	return sorts;
}

/* --- what is wrong ---------------------------------------------------------------- */

static bool refuse(char *why, const char *name, const char *format, ...)
	__attribute__((format(printf, 3, 4)));
static bool refuse(char *why, const char *name, const char *format, ...)
{
	size_t used = (size_t)snprintf(why, QUERY_WHY_SIZE, "The parameter %s takes ", name);
	va_list args;

	va_start(args, format);
	vsnprintf(why + used, QUERY_WHY_SIZE - used, format, args);
	va_end(args);
	return false;
}

static bool refuse_word(char *why, const char *name, const char *const *words)
{
	char list[QUERY_WHY_SIZE / 2] = "";

	for (size_t i = 0; words[i]; i++) {
		size_t used = strlen(list);

		snprintf(list + used, sizeof(list) - used, "%s%s",
			 i == 0		? ""
			 : words[i + 1] ? ", "
					: " or ",
			 words[i]);
	}
	return refuse(why, name, "one of %s.", list);
}

/* --- each parameter --------------------------------------------------------------- */

/* The request, while its parameters are taken. */
struct taking {
	query_get_fn get;
	void *arg;
	char *why;
	int64_t now_ms;
};

static bool is_line(const char *text)
{
	for (const char *c = text; *c; c++)
		if ((unsigned char)*c < ' ' || *c == 0x7f)
			return false;
	return utf8_is_valid(text, strlen(text));
}

/* Copies a parameter; one that is not there, and an empty one, is "". */
static bool take_text(const struct taking *t, const char *name, const char *takes,
		      char to[QUERY_TEXT_MAX + 1])
{
	const char *text = t->get(t->arg, name);

	if (!text)
		return true;
	if (strlen(text) > QUERY_TEXT_MAX || !is_line(text))
		return refuse(t->why, name, "%s, at most %d bytes of UTF-8.", takes,
			      QUERY_TEXT_MAX);
	memcpy(to, text, strlen(text) + 1);
	return true;
}

static bool has_word(const char *const *words, const char *word)
{
	while (*words && strcmp(*words, word) != 0)
		words++;
	return *words != NULL;
}

static bool take_word(const struct taking *t, const char *name, const char *const *words,
		      char to[QUERY_TEXT_MAX + 1])
{
	const char *text = t->get(t->arg, name);

	if (!text || !*text)
		return true;
	if (!has_word(words, text))
		return refuse_word(t->why, name, words);
	memcpy(to, text, strlen(text) + 1);
	return true;
}

static bool is_pattern(const char *text)
{
	size_t len = strlen(text);

	return len <= NAME_ELECTION_MAX &&
	       strspn(text,
		      "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789._-:*?") ==
		       len;
}

static bool take_task(const struct taking *t, char to[QUERY_TEXT_MAX + 1])
{
	static const char takes[] = "the name of a task, or a pattern of it such as backup-*";

	if (!take_text(t, "task", takes, to))
		return false;
	if (!is_pattern(to) || (!strpbrk(to, "*?") && *to && !name_is_election(to, strlen(to))))
		return refuse(t->why, "task", "%s.", takes);
	return true;
}

static bool take_time(const struct taking *t, const char *name, char to[QUERY_TEXT_MAX + 1],
		      int64_t *ret_ms)
{
	int64_t ago_ms;

	if (!take_text(t, name, TIME_TAKES, to))
		return false;
	if (!*to)
		return true;
	if (duration_parse(to, &ago_ms) == 0 && ago_ms < t->now_ms)
		*ret_ms = t->now_ms - ago_ms;
	else if (clock_parse(to, ret_ms) < 0 || *ret_ms <= 0)
		return refuse(t->why, name, TIME_TAKES ".");
	return true;
}

/* --- whole queries ---------------------------------------------------------------- */

static bool take_home(struct query *q, const struct taking *t)
{
	const char *text = t->get(t->arg, "sort");
	const char *state = t->get(t->arg, "state");

	/* The terminal's word for it is good here as well. */
	if (state && strcmp(state, "no-leader") == 0)
		strcpy(q->state, "nobody");
	else if (!take_word(t, "state", home_states, q->state))
		return false;
	if (!take_text(t, "leader", "the name of a node", q->leader) ||
	    !take_text(t, "q", "words to search for", q->q))
		return false;
	if (!text || !*text)
		return true;
	if (strlen(text) > QUERY_TEXT_MAX || !has_word(sorts, text + (*text == '-')))
		return refuse_word(t->why, "sort", sorts);
	memcpy(q->sort, text, strlen(text) + 1);
	return true;
}

static bool take_runs(struct query *q, const struct taking *t)
{
	char before[QUERY_TEXT_MAX + 1] = "";

	return take_word(t, "state", run_states, q->state) && take_task(t, q->task) &&
	       take_time(t, "since", q->since, &q->since_ms) &&
	       take_time(t, "before", before, &q->before_ms);
}

static bool take_night(struct query *q, const struct taking *t)
{
	q->to_ms = t->now_ms;
	if (!take_time(t, "to", q->to, &q->to_ms))
		return false;
	q->from_ms = q->to_ms - QUERY_WINDOW_MS;
	if (!take_time(t, "from", q->from, &q->from_ms))
		return false;
	if (q->from_ms > q->to_ms - QUERY_SHORTEST_MS)
		return refuse(t->why, "from",
			      TIME_TAKES ", a minute or more before to, which is now if it is not "
					 "given.");
	if (q->from_ms < q->to_ms - QUERY_LONGEST_MS)
		return refuse(t->why, "from", TIME_TAKES ", at most 31 days before to.");
	return true;
}

bool query_take(struct query *q, enum query_page page, int64_t now_ms, query_get_fn get, void *arg,
		char ret_why[QUERY_WHY_SIZE])
{
	struct taking t = {get, arg, ret_why, now_ms / SECOND_MS * SECOND_MS};

	memset(q, 0, sizeof(*q));
	switch (page) {
	case QUERY_HOME: return take_home(q, &t);
	case QUERY_RUNS: return take_runs(q, &t);
	case QUERY_NIGHT: return take_night(q, &t);
	}
	return false;
}

/* --- matching --------------------------------------------------------------------- */

bool query_is_name(const struct query *q)
{
	return q->task[0] && !strpbrk(q->task, "*?");
}

bool query_glob(const char *glob, const char *name)
{
	const char *star = NULL, *from = name;

	while (*name) {
		if (*glob == '*') {
			star = glob++;
			from = name;
		} else if (*glob == '?' || *glob == *name) {
			glob++;
			name++;
		} else if (star) {
			glob = star + 1;
			name = ++from;
		} else {
			return false;
		}
	}
	return glob[strspn(glob, "*")] == '\0';
}

bool query_has_words(const char *text, const char *words)
{
	while (*(words += strspn(words, " "))) {
		size_t len = strcspn(words, " ");
		const char *at = text;

		while (*at && strncasecmp(at, words, len) != 0)
			at++;
		if (!*at)
			return false;
		words += len;
	}
	return true;
}
