#include "web/page/page.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api/json.h"
#include "base/mem.h"
#include "base/text/names.h"
#include "web/page/html.h"
#include "web/page/page_parts.h"

/* --- at a glance ------------------------------------------------------------ */

struct counts {
	size_t workers, newest; /* newest: workers with the newest version */
	size_t tasks, led, by_newest, paused, overdue, failed;
	int64_t dead; /* dead letters of all queues */
	const char *version;
};

static bool is_state(const json_t *object, const char *state)
{
	return strcmp(json_text(object, "state", ""), state) == 0;
}

static bool last_failed(const json_t *task)
{
	const json_t *last = json_object_get(task, "last");
	const char *state = json_text(last, "state", NULL);

	return state && strcmp(state, "ok") != 0 && strcmp(state, "running") != 0 &&
	       strcmp(state, "claimed") != 0;
}

static struct counts count(const json_t *tasks, const json_t *workers, const json_t *queues)
{
	struct counts c = {.workers = json_array_size(workers), .tasks = json_array_size(tasks)};
	const json_t *entry;
	size_t i;

	c.version = json_text(json_array_get(workers, 0), "version", "");
	json_array_foreach(workers, i, entry) c.newest +=
		strcmp(json_text(entry, "version", ""), c.version) == 0;
	json_array_foreach(tasks, i, entry)
	{
		const json_t *leader = json_object_get(entry, "leader");

		c.led += json_is_object(leader) || json_number(entry, "led", 0) > 0;
		c.by_newest += strcmp(json_text(leader, "version", ""), c.version) == 0;
		c.paused += is_state(entry, "paused");
		c.overdue += json_flag(entry, "overdue");
		c.failed += last_failed(entry);
	}
	json_array_foreach(queues, i, entry) c.dead += json_number(entry, "dead", 0);
	return c;
}

static void figure(struct html *h, const char *class, size_t n, size_t of, const char *label)
{
	fprintf(h->out, "<li class=\"%s\"><b>%zu", class, n);
	if (of > 0)
		fprintf(h->out, "<small>/%zu</small>", of);
	fprintf(h->out, "</b> %s</li>\n", label);
}

static void glance(struct html *h, const struct counts *c, bool queues)
{
	html_raw(h, "<ul class=\"figures\" aria-label=\"At a glance\">\n");
	figure(h, "", c->workers, 0, c->workers == 1 ? "worker" : "workers");
	figure(h, c->led + c->paused < c->tasks ? "warn" : "ok", c->led, c->tasks, "tasks led");
	figure(h, c->overdue > 0 ? "bad" : "", c->overdue, 0, "overdue");
	figure(h, c->failed > 0 ? "bad" : "", c->failed, 0, "last run failed");
	figure(h, c->paused > 0 ? "warn" : "", c->paused, 0, "paused");
	if (queues)
		figure(h, c->dead > 0 ? "bad" : "", (size_t)c->dead, 0, "dead letters");
	html_raw(h, "</ul>\n");
	if (c->workers == 0 || c->newest == c->workers)
		return;
	html_raw(h, "<section class=\"rollout\"><h2>Rollout of ");
	html_text(h, c->version);
	fprintf(h->out,
		"</h2><progress value=\"%zu\" max=\"%zu\" aria-label=\"Workers with the newest "
		"version\"></progress><p>%zu of %zu workers have it, and lead %zu of %zu "
		"tasks.</p></section>\n",
		c->newest, c->workers, c->newest, c->workers, c->by_newest, c->tasks);
}

/* --- workers ---------------------------------------------------------------- */

static void worker_row(struct html *h, const json_t *w, const char *newest)
{
	const json_t *drain = json_object_get(w, "drain");
	const char *version = json_text(w, "version", "");
	json_auto_t *drains = json_is_object(drain) ? json_pack("[O]", drain) : NULL;

	fprintf(h->out, "<tr%s><th scope=\"row\">", json_flag(w, "self") ? " class=\"self\"" : "");
	html_text(h, part_node(w));
	if (json_flag(w, "self"))
		html_raw(h, " <small>this node</small>");
	html_raw(h, "</th>");
	html_cell(h, strcmp(version, newest) == 0 ? "num" : "num old", version);
	html_cell(h, "num", json_text(w, "ip", NULL));
	fprintf(h->out, "<td class=\"num\">%" PRId64 "</td><td>", json_number(w, "leads", 0));
	if (drains)
		part_decisions(h, drains);
	else if (json_is_false(json_object_get(w, "healthy")))
		html_badge(h, "bad", "unhealthy");
	else
		html_badge(h, "ok", json_text(w, "state", "-"));
	html_raw(h, "</td><td>");
	html_age(h, json_text(w, "since", NULL));
	html_raw(h, "</td></tr>\n");
}

static void worker_table(struct html *h, const json_t *workers, const char *newest)
{
	const json_t *w;
	size_t i;

	html_raw(h, "<section><h2>Workers</h2><div class=\"scroll\" tabindex=\"0\" role=\"region\" "
		    "aria-label=\"Workers\"><table id=\"workers\"><thead><tr><th "
		    "scope=\"col\">Node</th>"
		    "<th scope=\"col\">Version</th><th scope=\"col\">Address</th>"
		    "<th scope=\"col\">Leads</th><th scope=\"col\">State</th>"
		    "<th scope=\"col\">Since</th></tr></thead><tbody>\n");
	json_array_foreach(workers, i, w) worker_row(h, w, newest);
	html_raw(h, "</tbody></table></div></section>\n");
}

/* --- tasks ------------------------------------------------------------------ */

static void leader_cells(struct html *h, const json_t *t)
{
	const json_t *leader = json_object_get(t, "leader");
	int64_t partitions = json_number(t, "partitions", 0);

	if (partitions > 0) {
		fprintf(h->out,
			"<td>%" PRId64 " of %" PRId64
			" partitions led</td><td class=\"num\">–</td>",
			json_number(t, "led", 0), partitions);
	} else if (json_is_object(leader)) {
		html_cell(h, NULL, part_node(leader));
		html_cell(h, "num", json_text(leader, "version", NULL));
	} else {
		html_raw(h, "<td>");
		html_badge(h, "warn", "nobody");
		html_raw(h, "</td><td class=\"num\">–</td>");
	}
	html_raw(h, "<td>");
	html_age(h, json_text(t, "since", NULL));
	html_raw(h, "</td>");
}

static void task_row(struct html *h, const json_t *t)
{
	const char *unhealthy = json_text(t, "unhealthy", NULL);
	const char *description = json_text(t, "description", NULL);

	fprintf(h->out, "<tr%s><th scope=\"row\">", json_flag(t, "self") ? " class=\"self\"" : "");
	html_task_link(h, json_text(t, "task", ""));
	if (description) {
		html_raw(h, "<small class=\"what\">");
		html_text(h, description);
		html_raw(h, "</small>");
	}
	html_raw(h, "</th>");
	leader_cells(h, t);
	html_raw(h, "<td>");
	part_run(h, json_object_get(t, "last"));
	html_raw(h, "</td><td>");
	html_until(h, json_text(t, "due", NULL));
	html_raw(h, "</td><td>");
	if (json_flag(t, "overdue"))
		html_badge(h, "bad", "overdue");
	part_decisions(h, json_object_get(t, "decisions"));
	if (unhealthy) {
		html_badge(h, "bad", "unhealthy here");
		html_raw(h, " <span class=\"why\">");
		html_text(h, unhealthy);
		html_raw(h, "</span>");
	}
	html_raw(h, "</td></tr>\n");
}

static int by_name(const void *a, const void *b)
{
	return names_natural(json_text(*(const json_t *const *)a, "task", ""),
			     json_text(*(const json_t *const *)b, "task", ""));
}

static void task_rows(struct html *h, const json_t *tasks)
{
	const json_t **sorted = part_sorted(tasks, by_name);

	for (size_t i = 0; i < json_array_size(tasks); i++)
		task_row(h, sorted[i]);
	free(sorted);
}

static void task_table(struct html *h, const json_t *tasks)
{
	html_raw(h,
		 "<section><h2>Tasks</h2><p class=\"search\" hidden><label>Search "
		 "<input id=\"search\" type=\"search\" autocomplete=\"off\" "
		 "aria-keyshortcuts=\"/\"></label> <span id=\"found\" role=\"status\"></span></p>"
		 "<div class=\"scroll\" tabindex=\"0\" role=\"region\" aria-label=\"Tasks\">"
		 "<table id=\"tasks\"><thead><tr><th scope=\"col\">Task</th>"
		 "<th scope=\"col\">Leader</th><th scope=\"col\">Version</th>"
		 "<th scope=\"col\">Since</th><th scope=\"col\">Last run</th>"
		 "<th scope=\"col\">Next</th><th scope=\"col\">Notes</th></tr></thead><tbody>\n");
	task_rows(h, tasks);
	html_raw(h, "</tbody></table></div></section>\n");
}

/* --- queues ----------------------------------------------------------------- */

static void queue_row(struct html *h, const json_t *q)
{
	const char *state = json_text(q, "state", "");
	int64_t dead = json_number(q, "dead", 0);

	html_raw(h, "<tr><th scope=\"row\">");
	html_task_link(h, json_text(q, "queue", ""));
	html_raw(h, "</th><td>");
	html_badge(h, strcmp(state, "active") == 0 ? "ok" : "warn", state);
	fprintf(h->out, "</td><td class=\"num\">%" PRId64 "</td><td class=\"num\">",
		json_number(q, "queued", 0));
	part_oldest(h, q);
	fprintf(h->out, "</td><td class=\"num\">%" PRId64 "</td><td class=\"num\">",
		json_number(q, "running", 0));
	if (dead > 0) {
		char text[24];

		snprintf(text, sizeof(text), "%" PRId64, dead);
		html_badge(h, "bad", text);
	} else {
		html_raw(h, "0");
	}
	fprintf(h->out, "</td><td class=\"num\">%zu</td></tr>\n",
		json_array_size(json_object_get(q, "workers")));
}

static void queue_table(struct html *h, const json_t *queues)
{
	const json_t *q;
	size_t i;

	html_raw(h, "<section><h2>Queues</h2><div class=\"scroll\" tabindex=\"0\" "
		    "role=\"region\" aria-label=\"Queues\"><table id=\"queues\"><thead><tr>"
		    "<th scope=\"col\">Queue</th><th scope=\"col\">State</th>"
		    "<th scope=\"col\">Waiting</th><th scope=\"col\">Oldest</th>"
		    "<th scope=\"col\">Running</th><th scope=\"col\">Dead letters</th>"
		    "<th scope=\"col\">Workers</th></tr></thead><tbody>\n");
	json_array_foreach(queues, i, q) queue_row(h, q);
	html_raw(h, "</tbody></table></div></section>\n");
}

char *page_fleet(const json_t *tasks, const json_t *workers, const json_t *status,
		 const json_t *queues, size_t *ret_len)
{
	struct counts c = count(tasks, workers, queues);
	struct html h;

	html_begin(&h, "zkleader: the fleet", 1);
	html_raw(&h, "<h1>The fleet <small>as ");
	html_text(&h, part_node(status));
	html_raw(&h, " sees it</small></h1>\n");
	part_notices(&h, status);
	glance(&h, &c, json_array_size(queues) > 0);
	if (c.tasks > 0)
		task_table(&h, tasks);
	else
		html_raw(&h, "<section><h2>Tasks</h2><p>None is configured on this node: a file in "
			     "<code>conf.d</code> makes one.</p></section>\n");
	if (json_array_size(queues) > 0)
		queue_table(&h, queues);
	worker_table(&h, workers, c.version);
	return html_end(&h, ret_len);
}

char *page_failure(const char *why, bool unknown, size_t *ret_len)
{
	struct html h;

	html_begin(&h, "zkleader: nothing to show", !unknown);
	html_raw(&h, unknown ? "<h1>Not here</h1>\n<section class=\"notice bad\"><p>"
			     : "<h1>The sidecar does not answer</h1>\n"
			       "<section class=\"notice bad\" role=\"alert\"><p>");
	html_text(&h, why);
	html_raw(&h, "</p></section>\n<p><a href=\"/\">The fleet</a></p>\n");
	return html_end(&h, ret_len);
}
