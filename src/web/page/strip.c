#include "web/page/strip.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api/json.h"
#include "api/output.h"
#include "base/clock.h"
#include "base/mem.h"
#include "base/sort.h"

#define TEXT_SIZE 120
#define RUN_BYTES 13 /* of the page, besides its text */

/* The task of a run: that of a partition counts for its task. */
static size_t task_length(const char *name)
{
	return strcspn(name, ":");
}

static int compare_names(const char *a, size_t a_len, const char *b, size_t b_len)
{
	int order = memcmp(a, b, a_len < b_len ? a_len : b_len);

	return order ? order : (a_len > b_len) - (a_len < b_len);
}

static int by_task(const void *a, const void *b)
{
	const json_t *x = *(const json_t *const *)a, *y = *(const json_t *const *)b;
	const char *s = json_text(x, "task", ""), *t = json_text(y, "task", "");
	int order = compare_names(s, task_length(s), t, task_length(t));

	return order ? order : strcmp(json_text(x, "tick", ""), json_text(y, "tick", ""));
}

static bool same_task(const json_t *a, const json_t *b)
{
	const char *s = json_text(a, "task", ""), *t = json_text(b, "task", "");

	return compare_names(s, task_length(s), t, task_length(t)) == 0;
}

void strips_init(struct strips *s, const json_t *runs)
{
	s->n = json_array_size(runs);
	s->runs = mem_calloc(s->n + 1, sizeof(const json_t *));
	for (size_t i = 0; i < s->n; i++)
		s->runs[i] = json_array_get(runs, i);
	qsort(s->runs, s->n, sizeof(*s->runs), by_task);
}

void strips_done(struct strips *s)
{
	free(s->runs);
}

struct strip_place {
	const char *name;
	bool behind; /* all runs of that task */
};

static int by_place(const void *place, const void *run)
{
	const struct strip_place *p = place;
	const char *task = json_text(*(const json_t *const *)run, "task", "");
	int order = compare_names(p->name, task_length(p->name), task, task_length(task));

	return order ? order : p->behind;
}

/* The place of the first run whose task is not before the name; behind: of the first behind it. */
static size_t find(const struct strips *s, const char *name, bool behind)
{
	const struct strip_place key = {name, behind};

	return sort_place(&key, s->runs, s->n, sizeof(*s->runs), by_place);
}

/* NULL: it never began; the record of a missed one says when that was decided. */
static const char *begun_at(const json_t *run)
{
	bool missed = strcmp(json_text(run, "state", ""), "missed") == 0;

	return missed ? NULL : json_text(run, "started_at", NULL);
}

void strip_duration(const struct html *h, const json_t *run, char *text, size_t size)
{
	const char *started = begun_at(run);
	const char *ended = json_text(run, "ended_at", NULL);
	int64_t from, to = h->now_ms;
	char took[OUTPUT_AGE_SIZE];

	text[0] = '\0';
	if (!started || clock_parse(started, &from) < 0 || (ended && clock_parse(ended, &to) < 0))
		return;
	if (!ended && strcmp(json_text(run, "state", ""), "running") != 0)
		return;
	elapsed_text(to - from, took); /* both are whole seconds */
	snprintf(text, size, "%s", took);
}

void strip_text(const struct html *h, const json_t *run, char *text, size_t size)
{
	const char *started = begun_at(run), *state = json_text(run, "state", "");
	char at[HTML_CLOCK_SIZE] = "", took[TEXT_SIZE];
	int64_t ms;

	if (clock_parse(started ? started : json_text(run, "tick", ""), &ms) == 0)
		html_clock_text(h, ms, false, at);
	strip_duration(h, run, took, sizeof(took));
	snprintf(text, size, "%s %s%s%s", state, at, took[0] ? ", " : "", took);
}

size_t strips_fit(const struct html *h, const struct strips *s, size_t bytes, size_t least)
{
	size_t sums[STRIP_MOST] = {0}, most = 0, place = 0; /* place: among the runs of its task */
	char text[TEXT_SIZE];

	for (size_t i = s->n; i > 0; i--) {
		const json_t *run = s->runs[i - 1], *next = i < s->n ? s->runs[i] : NULL;

		place = next && same_task(run, next) ? place + 1 : 0;
		if (place >= STRIP_MOST)
			continue;
		strip_text(h, run, text, sizeof(text));
		sums[place] += strlen(text) + RUN_BYTES;
	}
	while (most < STRIP_MOST && (most < least || sums[most] <= bytes)) {
		bytes -= sums[most] < bytes ? sums[most] : bytes;
		most++;
	}
	return most;
}

size_t strips_of(const struct strips *s, const char *task, size_t *ret_first)
{
	*ret_first = find(s, task, false);
	return find(s, task, true);
}

void strip_put(struct html *h, const struct strips *s, const char *task, size_t most)
{
	size_t from, to = strips_of(s, task, &from);
	char text[TEXT_SIZE];

	if (from == to)
		return;
	html_raw(h, "<ol>");
	for (size_t i = to - from > most ? to - most : from; i < to; i++) {
		strip_text(h, s->runs[i], text, sizeof(text));
		html_raw(h, "<li title=\"");
		html_text(h, text);
		html_raw(h, "\">");
	}
	html_raw(h, "</ol>");
}
