/* The runs of all tasks, newest first. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api/json.h"
#include "base/clock.h"
#include "base/mem.h"
#include "web/page/html.h"
#include "web/page/page.h"
#include "web/page/page_parts.h"
#include "web/page/run_select.h"
#include "web/page/run_table.h"

#define RUNS_SHOWN 200

static void filter(struct html *h, const struct query *q, size_t n)
{
	html_raw(h, "<form class=\"filter\" method=\"get\" action=\"/runs\" role=\"search\">\n");
	part_state_menu(h, QUERY_RUNS, q->state);
	part_input(h, "Task", "task", q->task, "backup-*");
	part_input(h, "Since", "since", q->since, "12h");
	fprintf(h->out,
		"<button>Show</button> <span id=\"found\" role=\"status\">%zu "
		"run%s</span></form>\n",
		n, n == 1 ? "" : "s");
}

/* A link to the runs before the last one that is shown. */
static void older(struct html *h, const struct query *q, const json_t *last)
{
	html_raw(h, "<p><a href=\"/runs?");
	if (q->state[0])
		fprintf(h->out, "state=%s&amp;", q->state);
	if (q->task[0]) {
		html_raw(h, "task=");
		html_query(h, q->task);
		html_raw(h, "&amp;");
	}
	if (q->since[0]) {
		html_raw(h, "since=");
		html_query(h, q->since);
		html_raw(h, "&amp;");
	}
	html_raw(h, "before=");
	html_query(h, json_text(last, "tick", ""));
	html_raw(h, "\">Older runs</a></p>\n");
}

/* The number shown. Runs of one tick are not parted, as the next page begins with another tick. */
static size_t shown(const json_t *const *list, size_t n)
{
	size_t i = n < RUNS_SHOWN ? n : RUNS_SHOWN;

	while (i > 0 && i < n &&
	       strcmp(json_text(list[i], "tick", ""), json_text(list[i - 1], "tick", "")) == 0)
		i++;
	return i;
}

char *page_runs(const struct page_runs *p, size_t *ret_len)
{
	mem_auto const json_t **list = NULL;
	struct html h;
	size_t n, most;

	html_begin(&h, "Runs: zkleader", HTML_RUNS, true);
	html_raw(&h, "<h1>Runs <small>of all tasks, the newest first</small></h1>\n");
	part_stale(&h, p->status);
	list = run_select(p->runs, p->query, &n);
	most = shown(list, n);
	filter(&h, p->query, n);
	if (n > 0)
		run_table(&h, list, most, true, p->query->task);
	else
		html_raw(&h, "<p>No run is like that. <a href=\"/runs\">Show all</a></p>\n");
	if (n > most)
		older(&h, p->query, list[most - 1]);
	return html_end(&h, ret_len);
}
