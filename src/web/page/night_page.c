/*
 * The night: a row for each task, and its runs on an axis of time. The bars are SVG in percent of
 * the row's width, so that the page is whole without JavaScript and without a style in it.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api/json.h"
#include "api/output.h"
#include "base/clock.h"
#include "base/mem.h"
#include "base/text/names.h"
#include "web/page/html.h"
#include "web/page/page.h"
#include "web/page/page_parts.h"
#include "web/page/run_select.h"
#include "web/page/strip.h"

#define BAR_LEAST  0.15	 /* of 100: the width of a run that took no time */
#define BARS_MAX   30000 /* of the whole page */
#define BAR_HEIGHT 18
#define LABELS_MAX 12 /* of the axis */
#define TEXT_SIZE  200
#define HOUR_MS	   INT64_C(3600000)

/* The axis of time. */
struct axis {
	int64_t from_ms, to_ms, step_ms;
	double least; /* of 100: bars that are closer become one */
	size_t bars;  /* drawn so far */
};

static double place(const struct axis *a, int64_t ms)
{
	double at = 100.0 * (double)(ms - a->from_ms) / (double)(a->to_ms - a->from_ms);

	return at < 0 ? 0 : at > 100 ? 100 : at;
}

static int64_t step_for(int64_t window_ms)
{
	static const int64_t minutes[] = {1, 5, 10, 15, 30, 60, 120, 180, 360, 720};

	for (size_t i = 0; i < sizeof(minutes) / sizeof(minutes[0]); i++)
		if (window_ms / (minutes[i] * 60000) <= LABELS_MAX)
			return minutes[i] * 60000;
	return (window_ms / LABELS_MAX / (24 * HOUR_MS) + 1) * 24 * HOUR_MS;
}

static int64_t first_label(const struct axis *a)
{
	return (a->from_ms + a->step_ms - 1) / a->step_ms * a->step_ms;
}

/* --- one bar ---------------------------------------------------------------------- */

/* A run, or several that are too close to be told apart. */
struct bar {
	const json_t *run; /* the worst of them */
	int64_t from_ms, to_ms;
	size_t n;
};

static int badness(const json_t *run)
{
	const char *class = part_run_class(json_text(run, "state", ""));

	return strcmp(class, "bad") == 0 ? 2 : strcmp(class, "idle") == 0;
}

static void bar_title(struct html *h, const struct bar *b)
{
	char text[TEXT_SIZE], until[HTML_CLOCK_SIZE];

	strip_text(h, b->run, text, sizeof(text));
	html_raw(h, "<title>");
	if (b->n > 1)
		fprintf(h->out, "%zu runs, %s ", b->n, badness(b->run) > 1 ? "the worst" : "all");
	html_text(h, text);
	if (b->n > 1) {
		html_clock_text(h, b->to_ms, false, until);
		fprintf(h->out, ", until %s", until);
	}
	if (json_text(b->run, "why", NULL)) {
		html_raw(h, ": ");
		html_text(h, json_text(b->run, "why", ""));
	}
	html_raw(h, "</title>");
}

static void put_bar(struct html *h, struct axis *a, const struct bar *b, const char *task)
{
	double from = place(a, b->from_ms), width = place(a, b->to_ms) - from;
	bool bad = badness(b->run) > 1;

	if (b->n == 0 || a->bars++ >= BARS_MAX)
		return;
	if (from > 100 - BAR_LEAST)
		from = 100 - BAR_LEAST;
	if (bad) { /* leads to what it wrote */
		html_raw(h, "<a href=\"/task/");
		html_text(h, task);
		html_raw(h, "#");
		html_text(h, json_text(b->run, "tick", ""));
		html_raw(h, "\">");
	}
	fprintf(h->out, "<rect class=\"%s\" x=\"%.2f%%\" width=\"%.2f%%\" height=\"%d\">",
		part_run_class(json_text(b->run, "state", "")), from,
		width < BAR_LEAST ? BAR_LEAST : width, BAR_HEIGHT);
	bar_title(h, b);
	html_raw(h, bad ? "</rect></a>" : "</rect>");
}

/* --- one row ---------------------------------------------------------------------- */

/* The runs of one task in the window, by time. */
struct row {
	const json_t **runs;
	size_t n, ok, bad, other;
};

static struct row row_of(const struct axis *a, const struct strips *s, const char *task,
			 int64_t now_ms)
{
	size_t from, to = strips_of(s, task, &from);
	struct row r = {.runs = mem_calloc(to - from + 1, sizeof(const json_t *))};
	int64_t from_ms, to_ms;

	for (size_t i = from; i < to; i++) {
		run_times(s->runs[i], now_ms, &from_ms, &to_ms);
		if (to_ms < a->from_ms || from_ms > a->to_ms)
			continue;
		r.runs[r.n++] = s->runs[i];
		r.ok += badness(s->runs[i]) == 0;
		r.other += badness(s->runs[i]) == 1;
		r.bad += badness(s->runs[i]) == 2;
	}
	return r;
}

static void put_bars(struct html *h, struct axis *a, const struct row *r, const char *task)
{
	struct bar b = {.n = 0};

	for (size_t i = 0; i < r->n; i++) {
		int64_t from_ms, to_ms;

		run_times(r->runs[i], h->now_ms, &from_ms, &to_ms);
		if (b.n > 0 && place(a, from_ms) < place(a, b.to_ms) + a->least &&
		    place(a, from_ms) < place(a, b.from_ms) + a->least) {
			b.n++;
			b.to_ms = to_ms > b.to_ms ? to_ms : b.to_ms;
			b.run = badness(r->runs[i]) > badness(b.run) ? r->runs[i] : b.run;
			continue;
		}
		put_bar(h, a, &b, task);
		b = (struct bar){r->runs[i], from_ms, to_ms, 1};
	}
	put_bar(h, a, &b, task);
}

static void say_count(struct html *h, size_t n, const char *word, const char **before)
{
	if (n == 0)
		return;
	fprintf(h->out, "%s%zu %s", *before, n, word);
	*before = ", ";
}

static void say_counts(struct html *h, const struct row *r)
{
	const char *before = "";

	say_count(h, r->bad, "bad", &before);
	say_count(h, r->ok, "ok", &before);
	say_count(h, r->other, "begun", &before);
	if (r->n == 0)
		html_raw(h, "none");
}

static void put_row(struct html *h, struct axis *a, const struct strips *s, const char *task)
{
	struct row r = row_of(a, s, task, h->now_ms);

	html_raw(h, "<tr><th scope=\"row\">");
	html_task_link(h, task);
	fprintf(h->out,
		"</th><td><svg width=\"100%%\" height=\"%d\" role=\"group\" "
		"aria-label=\"Runs of ",
		BAR_HEIGHT);
	html_text(h, task);
	html_raw(h, "\"><use href=\"#grid\"/>");
	put_bars(h, a, &r, task);
	fprintf(h->out, "</svg></td><td class=\"num%s\">", r.bad > 0 ? " bad" : "");
	say_counts(h, &r);
	html_raw(h, "</td></tr>\n");
	free(r.runs);
}

/* --- the page --------------------------------------------------------------------- */

static void head(struct html *h, const struct axis *a)
{
	char text[HTML_CLOCK_SIZE];

	html_raw(h, "<thead><tr><th scope=\"col\">Task</th><th scope=\"col\"><svg width=\"100%\" "
		    "height=\"20\" role=\"img\" aria-label=\"Time, UTC\"><defs><g id=\"grid\">");
	for (int64_t at = first_label(a); at <= a->to_ms; at += a->step_ms)
		fprintf(h->out, "<line x1=\"%.2f%%\" x2=\"%.2f%%\" y2=\"100%%\"/>", place(a, at),
			place(a, at));
	html_raw(h, "</g></defs>");
	for (int64_t at = first_label(a); at <= a->to_ms; at += a->step_ms) {
		/* A label at the end of the axis would be cut. */
		if (place(a, at) > 97)
			continue;
		html_clock_text(h, at, false, text);
		fprintf(h->out, "<text x=\"%.2f%%\" y=\"14\">%s</text>", place(a, at),
			at % (24 * HOUR_MS) != 0 && strrchr(text, ' ') ? strrchr(text, ' ') + 1
								       : text);
	}
	html_raw(h, "</svg></th><th scope=\"col\">Runs</th></tr></thead>\n");
}

static void other_window(struct html *h, const struct axis *a, int64_t by_ms, const char *name)
{
	char from[CLOCK_TEXT_SIZE], to[CLOCK_TEXT_SIZE];

	clock_format(a->from_ms + by_ms, from);
	clock_format(a->to_ms + by_ms, to);
	fprintf(h->out, "<a href=\"/night?from=%s&amp;to=%s\">%s</a>\n", from, to, name);
}

static void choose(struct html *h, const struct query *q, const struct axis *a)
{
	static const char *const windows[] = {"1h", "12h", "24h", "7d"};
	int64_t window_ms = a->to_ms - a->from_ms;

	html_raw(h, "<form class=\"filter\" method=\"get\" action=\"/night\">\n");
	part_input(h, "From", "from", q->from, "24h");
	part_input(h, "To", "to", q->to, "now");
	html_raw(h, "<button>Show</button></form>\n<p class=\"windows\">");
	other_window(h, a, -window_ms, "Earlier");
	if (a->to_ms + window_ms <= h->now_ms)
		other_window(h, a, window_ms, "Later");
	for (size_t i = 0; i < sizeof(windows) / sizeof(windows[0]); i++)
		fprintf(h->out, "<a href=\"/night?from=%s\">%s</a>\n", windows[i], windows[i]);
	html_raw(h,
		 "<span class=\"key\"><i class=\"ok\"></i> ok <i class=\"bad\"></i> failed, lost "
		 "or missed <i class=\"idle\"></i> running or claimed</span></p>\n");
}

static int by_name(const void *a, const void *b)
{
	return names_natural(json_text(*(const json_t *const *)a, "task", ""),
			     json_text(*(const json_t *const *)b, "task", ""));
}

static void chart(struct html *h, const struct page_runs *p, struct axis *a)
{
	mem_auto const json_t **tasks = part_sorted(p->tasks, by_name);
	struct strips strips;

	html_raw(h,
		 "<div class=\"scroll wide\" tabindex=\"0\" role=\"region\" aria-label=\"Runs by "
		 "time\"><table id=\"night\">");
	head(h, a);
	html_raw(h, "<tbody>\n");
	strips_init(&strips, p->runs);
	for (size_t i = 0; i < json_array_size(p->tasks); i++)
		put_row(h, a, &strips, json_text(tasks[i], "task", ""));
	strips_done(&strips);
	html_raw(h, "</tbody></table></div>\n");
	if (a->bars > BARS_MAX)
		html_raw(h, "<p>There are more runs than are drawn: choose a shorter time.</p>\n");
}

char *page_night(const struct page_runs *p, size_t *ret_len)
{
	const struct query *q = p->query;
	struct axis a = {.from_ms = q->from_ms, .to_ms = q->to_ms};
	char from[HTML_CLOCK_SIZE], to[HTML_CLOCK_SIZE];
	struct html h;

	a.step_ms = step_for(a.to_ms - a.from_ms);
	a.least = BAR_LEAST + (double)json_array_size(p->tasks) / 1000;
	html_begin(&h, "Night: zkleader", HTML_NIGHT, true);
	html_clock_text(&h, a.from_ms, false, from);
	html_clock_text(&h, a.to_ms, false, to);
	fprintf(h.out, "<h1>Night <small>%s to %s, UTC</small></h1>\n", from, to);
	part_stale(&h, p->status);
	choose(&h, q, &a);
	if (json_array_size(p->tasks) > 0)
		chart(&h, p, &a);
	else
		html_raw(&h, "<p>No task is configured on this node.</p>\n");
	return html_end(&h, ret_len);
}
