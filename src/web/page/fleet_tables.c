#include "web/page/fleet_tables.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api/json.h"
#include "web/page/page_parts.h"

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

void fleet_workers(struct html *h, const json_t *workers, const char *newest)
{
	const json_t *w;
	size_t i;

	html_raw(h, "<section id=\"workers-part\"><h2>Workers</h2><div class=\"scroll\" "
		    "tabindex=\"0\" role=\"region\" "
		    "aria-label=\"Workers\"><table id=\"workers\"><thead><tr><th "
		    "scope=\"col\">Node</th>"
		    "<th scope=\"col\">Version</th><th scope=\"col\">Address</th>"
		    "<th scope=\"col\">Leads</th><th scope=\"col\">State</th>"
		    "<th scope=\"col\">Since</th></tr></thead><tbody>\n");
	json_array_foreach(workers, i, w) worker_row(h, w, newest);
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

void fleet_queues(struct html *h, const json_t *queues)
{
	const json_t *q;
	size_t i;

	html_raw(h,
		 "<section id=\"queues-part\"><h2>Queues</h2><div class=\"scroll\" tabindex=\"0\" "
		 "role=\"region\" aria-label=\"Queues\"><table id=\"queues\"><thead><tr>"
		 "<th scope=\"col\">Queue</th><th scope=\"col\">State</th>"
		 "<th scope=\"col\">Waiting</th><th scope=\"col\">Oldest</th>"
		 "<th scope=\"col\">Running</th><th scope=\"col\">Dead letters</th>"
		 "<th scope=\"col\">Workers</th></tr></thead><tbody>\n");
	json_array_foreach(queues, i, q) queue_row(h, q);
	html_raw(h, "</tbody></table></div></section>\n");
}
