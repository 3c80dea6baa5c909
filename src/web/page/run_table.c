#include "web/page/run_table.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "api/json.h"
#include "web/page/page_parts.h"
#include "web/page/strip.h"

#define COLUMNS	      8 /* without the task */
#define DURATION_SIZE 60

static void state_cell(struct html *h, const json_t *run)
{
	const char *state = json_text(run, "state", "");

	html_raw(h, "<td>");
	html_badge(h, part_run_class(state), state);
	html_raw(h, "</td>");
}

/* The begin, the duration, the exit status and the attempt; a run that never began has none. */
static void time_cells(struct html *h, const json_t *run)
{
	const char *started = json_text(run, "started_at", NULL);
	bool missed = strcmp(json_text(run, "state", ""), "missed") == 0;
	char took[DURATION_SIZE];

	strip_duration(h, run, took, sizeof(took));
	html_raw(h, "<td class=\"num\">");
	html_clock(h, missed ? NULL : started);
	html_raw(h, "</td>");
	html_cell(h, "num", missed ? NULL : took);
	part_status(h, run);
	if (missed)
		html_cell(h, "num", NULL);
	else
		fprintf(h->out, "<td class=\"num\">%" PRId64 "</td>",
			json_number(run, "attempt", 0));
}

static void why_cell(struct html *h, const json_t *run)
{
	const char *why = json_text(run, "why", NULL), *detail = json_text(run, "detail", NULL);
	const char *by = json_text(run, "by", NULL);

	html_raw(h, "<td>");
	if (why) {
		html_raw(h, "<b>");
		html_text(h, why);
		html_raw(h, "</b> ");
	}
	if (detail) {
		html_raw(h, "<span class=\"why\">");
		html_text(h, detail);
		html_raw(h, "</span>");
	}
	if (by) {
		html_raw(h, " <span class=\"why\">triggered by ");
		html_text(h, by);
		html_raw(h, "</span>");
	}
	html_raw(h, "</td></tr>\n");
}

static void run_row(struct html *h, const json_t *run, bool named, const char *task)
{
	const char *tick = json_text(run, "tick", "");

	html_raw(h, "<tr");
	if (!named) { /* so that a link can lead to it */
		html_raw(h, " id=\"");
		html_text(h, tick);
		html_raw(h, "\"");
	}
	html_raw(h, "><th scope=\"row\" class=\"num\">");
	if (named) {
		html_task_link(h, json_text(run, "task", task));
		html_raw(h, "</th><td class=\"num\">");
	}
	html_text(h, tick);
	html_raw(h, named ? "</td>" : "</th>");
	state_cell(h, run);
	time_cells(h, run);
	html_cell(h, NULL, part_node(run));
	why_cell(h, run);
	part_output(h, run, COLUMNS + named);
}

void run_table(struct html *h, const json_t *const *runs, size_t n, bool named, const char *task)
{
	fprintf(h->out,
		"<div class=\"scroll wide\" tabindex=\"0\" role=\"region\" aria-label=\"Runs\">"
		"<table class=\"runs%s\"><thead><tr>%s<th scope=\"col\">Tick</th>"
		"<th scope=\"col\">Outcome</th><th scope=\"col\">Start, UTC</th>"
		"<th scope=\"col\">Duration</th><th scope=\"col\">Exit</th>"
		"<th scope=\"col\">Attempt</th><th scope=\"col\">Node</th>"
		"<th scope=\"col\">Why</th></tr></thead><tbody>\n",
		named ? " named" : "", named ? "<th scope=\"col\">Task</th>" : "");
	for (size_t i = 0; i < n; i++)
		run_row(h, runs[i], named, task);
	html_raw(h, "</tbody></table></div>\n");
}
