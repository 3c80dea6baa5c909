#include "web/page/home_tasks.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api/json.h"
#include "base/mem.h"
#include "web/page/page_parts.h"
#include "web/page/strip.h"

#define ROW_BYTES     215 /* of a row, without its texts and its runs */
#define VERSION_BYTES 18  /* of a version, likewise */
#define NOTE_BYTES    120
#define OTHER_BYTES   360  /* of a row of the other tables */
#define FOOT_BYTES    1500 /* behind the table, without those rows */
#define RUNS_LEAST    3	   /* runs of a task that are shown, however many tasks there are */

void home_address(struct html *h, const struct query *q, const char *name, const char *value)
{
	const struct {
		const char *name, *value;
	} parts[] = {{"state", q->state}, {"leader", q->leader}, {"q", q->q}, {"sort", q->sort}};
	const char *before = "/?";

	for (size_t i = 0; i < sizeof(parts) / sizeof(parts[0]); i++) {
		const char *text = strcmp(parts[i].name, name) == 0 ? value : parts[i].value;

		if (!text[0])
			continue;
		fprintf(h->out, "%s%s=", before, parts[i].name);
		html_query(h, text);
		before = "&amp;";
	}
	if (before[0] == '/')
		html_raw(h, "/");
}

/* The data that all rows need. */
struct table {
	struct strips strips;
	size_t most;   /* runs of a task that are shown */
	bool versions; /* the workers have several: each leader's is shown */
};

/* Rows have no end tags of cells, which HTML does not need: 300 rows are to be short. */

/* --- cells ------------------------------------------------------------------------ */

static void name_cell(struct html *h, const json_t *t)
{
	const char *description = json_text(t, "description", NULL);

	html_raw(h, "<tr><th scope=\"row\">");
	html_task_link(h, json_text(t, "task", ""));
	if (description) {
		html_raw(h, "<small>");
		html_linked(h, description);
		html_raw(h, "</small>");
	}
}

static void leader_cell(struct html *h, const json_t *t, bool versions)
{
	const json_t *leader = json_object_get(t, "leader");
	int64_t partitions = json_number(t, "partitions", 0);

	html_raw(h, "<td>");
	if (partitions > 0)
		fprintf(h->out, "%" PRId64 " of %" PRId64 " partitions led",
			json_number(t, "led", 0), partitions);
	else if (versions || !json_is_object(leader))
		part_leader(h, leader);
	else
		html_text(h, part_node(leader));
}

static void notes_cell(struct html *h, const json_t *t)
{
	const char *unhealthy = json_text(t, "unhealthy", NULL);
	const char *problem = json_text(t, "problem", NULL);

	html_raw(h, "<td>");
	if (json_flag(t, "overdue"))
		html_badge(h, "bad", "overdue");
	part_decisions(h, json_object_get(t, "decisions"));
	if (unhealthy || problem) {
		html_badge(h, "bad", unhealthy ? "unhealthy here" : "refused here");
		html_raw(h, " <span class=\"why\">");
		html_text(h, unhealthy ? unhealthy : problem);
		html_raw(h, "</span>");
	}
	html_raw(h, "</tr>\n");
}

static void task_row(struct html *h, const json_t *t, const struct table *table)
{
	name_cell(h, t);
	leader_cell(h, t, table->versions);
	html_raw(h, "<td>");
	part_run(h, json_object_get(t, "last"));
	html_raw(h, "<td>");
	strip_put(h, &table->strips, json_text(t, "task", ""), table->most);
	html_raw(h, "<td>");
	html_until(h, json_text(t, "due", NULL));
	notes_cell(h, t);
}

/* --- the table -------------------------------------------------------------------- */

/* About how long a row is without its runs; no less than it is but for what is seldom. */
static size_t row_bytes(const json_t *t, bool versions)
{
	const json_t *leader = json_object_get(t, "leader"), *d;
	const char *description = json_text(t, "description", "");
	size_t i, bytes = ROW_BYTES + 2 * strlen(json_text(t, "task", "")) + strlen(description) +
			  strlen(leader ? part_node(leader) : "") +
			  strlen(json_text(t, "unhealthy", ""));

	if (versions)
		bytes += VERSION_BYTES + strlen(json_text(leader, "version", ""));
	if (strstr(description, "://"))
		bytes += strlen(description) + NOTE_BYTES;
	json_array_foreach(json_object_get(t, "decisions"), i, d) bytes +=
		NOTE_BYTES + strlen(json_text(d, "reason", ""));
	return bytes;
}

/* How many runs of each task are shown, so that the page of 300 tasks keeps within its bytes. */
static size_t runs_shown(const struct html *h, const struct table *table, const struct page_home *p,
			 const json_t *const *tasks, size_t n)
{
	size_t others = json_array_size(p->workers) + json_array_size(p->queues);
	size_t bytes = FOOT_BYTES + others * OTHER_BYTES;

	fflush(h->out);
	bytes += h->len;
	for (size_t i = 0; i < n; i++)
		bytes += row_bytes(tasks[i], table->versions);
	return strips_fit(h, &table->strips, bytes < HOME_BYTES ? HOME_BYTES - bytes : 0,
			  RUNS_LEAST);
}

static bool has_one_version(const json_t *workers)
{
	const char *first = json_text(json_array_get(workers, 0), "version", "");
	const json_t *w;
	size_t i;

	json_array_foreach(workers, i, w)
	{
		if (strcmp(json_text(w, "version", ""), first) != 0)
			return false;
	}
	return true;
}

/*
 * A column by which the table can be sorted; a second press turns the order round. By keyboard the
 * menu does the same, so that the first task follows the filter.
 */
static void sort_head(struct html *h, const struct query *q, const char *sort, const char *name)
{
	bool down = q->sort[0] == '-', here = strcmp(q->sort + down, sort) == 0;
	char other[QUERY_TEXT_MAX + 1];

	snprintf(other, sizeof(other), "%s%s", here && !down ? "-" : "", sort);
	fprintf(h->out, "<th scope=\"col\"%s><a tabindex=\"-1\" href=\"",
		!here  ? ""
		: down ? " aria-sort=\"descending\""
		       : " aria-sort=\"ascending\"");
	home_address(h, q, "sort", other);
	fprintf(h->out, "\">%s</a></th>", name);
}

void home_tasks(struct html *h, const struct page_home *p, const json_t *const *tasks, size_t n)
{
	struct table table = {.versions = !has_one_version(p->workers)};

	html_raw(h, "<div class=\"scroll wide\" tabindex=\"0\" role=\"region\" "
		    "aria-label=\"Tasks\"><table id=\"tasks\"><thead><tr>");
	sort_head(h, p->query, "name", "Task");
	sort_head(h, p->query, "leader", "Leader");
	sort_head(h, p->query, "last", "Last run");
	html_raw(h, "<th scope=\"col\">Runs, UTC</th>");
	sort_head(h, p->query, "next", "Next");
	html_raw(h, "<th scope=\"col\">Notes</th></tr></thead><tbody>\n");
	strips_init(&table.strips, p->runs);
	table.most = runs_shown(h, &table, p, tasks, n);
	for (size_t i = 0; i < n; i++)
		task_row(h, tasks[i], &table);
	strips_done(&table.strips);
	html_raw(h, "</tbody></table></div>\n");
}
