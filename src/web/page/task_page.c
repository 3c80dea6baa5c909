/* The page of one task: the ranking of its candidates, and its history. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api/json.h"
#include "web/page/html.h"
#include "web/page/page.h"
#include "web/page/page_parts.h"

#define RUNS_SHOWN 50

static void run_row(struct html *h, const json_t *run)
{
	html_raw(h, "<tr><th scope=\"row\" class=\"num\">");
	html_text(h, json_text(run, "tick", ""));
	html_raw(h, "</th><td>");
	part_run(h, run);
	html_raw(h, "</td>");
	html_cell(h, NULL, part_node(run));
	part_status(h, run);
	fprintf(h->out, "<td class=\"num\">%" PRId64 "</td></tr>\n",
		json_number(run, "attempt", 0));
	part_output(h, run, 5);
}

/* Prints the last runs, newest first. The sidecar lists the oldest first. */
static void runs(struct html *h, const json_t *list)
{
	size_t n = json_array_size(list);

	html_raw(h, "<section><h2>Last runs</h2>");
	if (n == 0) {
		html_raw(h, "<p>None is recorded.</p></section>\n");
		return;
	}
	html_raw(h, "<div class=\"scroll\" tabindex=\"0\" role=\"region\" aria-label=\"Last runs\">"
		    "<table><thead><tr><th scope=\"col\">Tick</th><th scope=\"col\">Outcome</th>"
		    "<th scope=\"col\">Node</th><th scope=\"col\">Exit</th>"
		    "<th scope=\"col\">Attempt</th></tr></thead><tbody>\n");
	for (size_t i = n; i > 0 && n - i < RUNS_SHOWN; i--)
		run_row(h, json_array_get(list, i - 1));
	html_raw(h, "</tbody></table></div></section>\n");
}

static void facts(struct html *h, const json_t *t, const json_t *explain)
{
	html_raw(h, "<dl class=\"facts\"><div><dt>Leader</dt><dd>");
	part_leader(h, json_object_get(t, "leader"));
	html_raw(h, "</dd></div><div><dt>Since</dt><dd>");
	html_age(h, json_text(t, "since", NULL));
	html_raw(h, "</dd></div><div><dt>Last run</dt><dd>");
	part_run(h, json_object_get(t, "last"));
	html_raw(h, "</dd></div></dl>\n<p>");
	html_text(h, json_text(explain, "reason", ""));
	html_raw(h, "</p>\n<p>");
	if (json_flag(t, "overdue"))
		html_badge(h, "bad", "overdue");
	part_decisions(h, json_object_get(t, "decisions"));
	html_raw(h, "</p>\n");
}

char *page_task(const json_t *tasks, const json_t *explain, const json_t *history,
		const json_t *status, size_t *ret_len)
{
	const json_t *t = json_array_get(tasks, 0);
	const char *name = json_text(t, "task", "");
	const char *description = json_text(t, "description", NULL);
	struct html h;

	part_begin(&h, name, NULL, description, status);
	facts(&h, t, explain);
	part_ranking(&h, json_object_get(explain, "ranking"));
	runs(&h, history);
	return html_end(&h, ret_len);
}
