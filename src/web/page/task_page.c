/* The page of one task: when it is due, its last runs and what they wrote, and the ranking. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api/json.h"
#include "api/output.h"
#include "base/mem.h"
#include "web/page/html.h"
#include "web/page/page.h"
#include "web/page/page_parts.h"
#include "web/page/run_table.h"

#define RUNS_SHOWN 50
#define NEXT_SHOWN 5

/* The runs, newest first. The sidecar lists the oldest first. */
static void runs(struct html *h, const json_t *list, const char *task)
{
	const char *first = json_text(json_array_get(list, 0), "task", NULL);
	size_t n = json_array_size(list);
	mem_auto const json_t **newest = mem_calloc(n + 1, sizeof(const json_t *));

	html_raw(h, "<section><h2>Last runs</h2>");
	if (n == 0) {
		html_raw(h, "<p>None is recorded.</p></section>\n");
		return;
	}
	for (size_t i = 0; i < n; i++)
		newest[i] = json_array_get(list, n - 1 - i);
	run_table(h, newest, n < RUNS_SHOWN ? n : RUNS_SHOWN, first != NULL, task);
	html_raw(h, "<p><a href=\"/runs?task=");
	html_query(h, task);
	fprintf(h->out, "%s\">All runs of this task</a></p></section>\n", first ? ":*" : "");
}

static void fact(struct html *h, const char *name)
{
	fprintf(h->out, "<div><dt>%s</dt><dd>", name);
}

static void schedule(struct html *h, const json_t *explain, const json_t *next)
{
	const json_t *s = json_object_get(explain, "schedule"), *one;
	char local[sizeof("2026-11-21T02:00:00")]; /* without the zone's offset */
	char *day_end;
	size_t i;

	if (!json_is_object(s))
		return;
	html_raw(h, "<section id=\"schedule\"><h2>Schedule</h2><p class=\"words\">Runs ");
	html_text(h, json_text(s, "words", ""));
	html_raw(h, " <small>");
	html_text(h, json_text(s, "timezone", ""));
	html_raw(h, ", as <code>");
	html_text(h, json_text(s, "text", ""));
	html_raw(h, "</code></small></p>\n");
	if (json_array_size(next) > 0)
		html_raw(h, "<ol class=\"next\" aria-label=\"Next ticks\">\n");
	json_array_foreach(next, i, one)
	{
		if (i >= NEXT_SHOWN)
			break;
		html_raw(h, "<li><span class=\"num\">");
		/* In the zone that is named above. */
		snprintf(local, sizeof(local), "%s", json_text(one, "local", ""));
		if ((day_end = strchr(local, 'T')))
			*day_end = ' ';
		html_text(h, local);
		html_raw(h, "</span> <small>");
		html_until(h, json_text(one, "tick", NULL));
		html_raw(h, "</small></li>\n");
	}
	html_raw(h, json_array_size(next) > 0 ? "</ol></section>\n" : "</section>\n");
}

static void alert(struct html *h, const json_t *t, const json_t *explain)
{
	int64_t ms = json_number(explain, "alert_after_ms", 0);
	char text[OUTPUT_AGE_SIZE];

	fact(h, "Alert");
	if (ms > 0) {
		elapsed_text(ms, text);
		fprintf(h->out, "after %s without a good run ", text);
	} else {
		html_raw(h, "never");
	}
	if (json_flag(t, "overdue"))
		html_badge(h, "bad", "overdue");
	html_raw(h, "</dd></div>");
}

static void facts(struct html *h, const json_t *t, const json_t *explain)
{
	int64_t partitions = json_number(t, "partitions", 0);

	html_raw(h, "<dl class=\"facts\">");
	fact(h, "Leader");
	if (partitions > 0)
		fprintf(h->out, "%" PRId64 " of %" PRId64 " partitions led",
			json_number(t, "led", 0), partitions);
	else
		part_leader(h, json_object_get(t, "leader"));
	html_raw(h, "</dd></div>");
	fact(h, "Since");
	html_age(h, json_text(t, "since", NULL));
	html_raw(h, "</dd></div>");
	fact(h, "Last run");
	part_run(h, json_object_get(t, "last"));
	html_raw(h, "</dd></div>");
	fact(h, "Next");
	html_until(h, json_text(t, "due", NULL));
	html_raw(h, "</dd></div>");
	alert(h, t, explain);
	html_raw(h, "</dl>\n");
	if (json_array_size(json_object_get(t, "decisions")) == 0)
		return;
	html_raw(h, "<p>");
	part_decisions(h, json_object_get(t, "decisions"));
	html_raw(h, "</p>\n");
}

char *page_task(const struct page_task *p, size_t *ret_len)
{
	const json_t *t = json_array_get(p->tasks, 0);
	const char *name = json_text(t, "task", "");
	struct html h;

	part_begin(&h, name, NULL, json_text(t, "description", NULL), p->status);
	facts(&h, t, p->explain);
	schedule(&h, p->explain, p->next);
	runs(&h, p->runs, name);
	html_raw(&h, "<p>");
	html_text(&h, json_text(p->explain, "reason", ""));
	html_raw(&h, "</p>\n");
	part_ranking(&h, json_object_get(p->explain, "ranking"));
	return html_end(&h, ret_len);
}
