#include "web/page/page_parts.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "api/json.h"
#include "base/clock.h"
#include "base/mem.h"

static void problems(struct html *h, const json_t *list, const char *class, const char *title)
{
	const json_t *p;
	size_t i;

	if (json_array_size(list) == 0)
		return;
	fprintf(h->out, "<section class=\"notice %s\"><h2>%s</h2><ul>\n", class, title);
	json_array_foreach(list, i, p)
	{
		int64_t line = json_number(p, "line", 0);

		html_raw(h, "<li>");
		html_text(h, json_text(p, "file", ""));
		if (line > 0)
			fprintf(h->out, ":%" PRId64, line);
		html_raw(h, ": ");
		html_text(h, json_text(p, "message", ""));
		html_raw(h, "</li>\n");
	}
	html_raw(h, "</ul></section>\n");
}

void part_stale(struct html *h, const json_t *status)
{
	const char *stale = json_text(status, "stale_since", NULL);

	if (stale) {
		html_raw(h, "<section class=\"notice bad\" role=\"alert\"><h2>Last known, ");
		html_age(h, stale);
		html_raw(h, " ago</h2><p>This node has no confirmed session with ZooKeeper: ");
		html_text(h, json_text(status, "why", "it is connecting"));
		html_raw(h, ".</p></section>\n");
	}
}

void part_problems(struct html *h, const json_t *status)
{
	problems(h, json_object_get(status, "problems"), "bad", "Problems on this node");
	problems(h, json_object_get(status, "warnings"), "warn", "Warnings on this node");
}

const char *part_node(const json_t *worker)
{
	const char *node = json_text(worker, "node", NULL);

	return node ? node : json_worker_name(worker);
}

const char *part_run_class(const char *state)
{
	if (strcmp(state, "ok") == 0)
		return "ok";
	return strcmp(state, "running") == 0 || strcmp(state, "claimed") == 0 ? "idle" : "bad";
}

void part_state_menu(struct html *h, enum query_page page, const char *chosen)
{
	const char *const *states = query_states(page);

	html_raw(h, "<label>State <select name=\"state\"><option value=\"\">any</option>");
	for (size_t i = 0; states[i]; i++)
		fprintf(h->out, "<option%s>%s</option>",
			strcmp(states[i], chosen) == 0 ? " selected" : "", states[i]);
	html_raw(h, "</select></label>\n");
}

void part_input(struct html *h, const char *label, const char *name, const char *value,
		const char *example)
{
	fprintf(h->out,
		"<label>%s <input name=\"%s\" maxlength=\"200\" placeholder=\"%s\" value=\"", label,
		name, example);
	html_text(h, value);
	html_raw(h, "\"></label>\n");
}

void part_run(struct html *h, const json_t *last)
{
	const char *state = json_text(last, "state", NULL);
	const char *ended = json_text(last, "ended_at", NULL);

	if (!state) {
		html_raw(h, "–");
		return;
	}
	html_badge(h, part_run_class(state), state);
	html_raw(h, " ");
	html_age(h, ended ? ended : json_text(last, "tick", NULL));
	if (json_text(last, "detail", NULL)) {
		html_raw(h, " <span class=\"why\">");
		html_text(h, json_text(last, "detail", ""));
		html_raw(h, "</span>");
	}
}

void part_decisions(struct html *h, const json_t *decisions)
{
	const json_t *d;
	size_t i;

	json_array_foreach(decisions, i, d)
	{
		const char *version = json_text(d, "version", NULL);
		const char *reason = json_text(d, "reason", NULL);
		const char *node = json_text(d, "node", NULL);

		html_badge(h, "warn", json_text(d, "kind", ""));
		html_raw(h, " <span class=\"why\">");
		if (version)
			html_text(h, version);
		else if (node)
			html_text(h, node);
		html_raw(h, " by ");
		html_text(h, json_text(d, "by", "?"));
		html_raw(h, " at ");
		html_text(h, json_text(d, "host", "?"));
		if (reason) {
			html_raw(h, ": ");
			html_text(h, reason);
		}
		html_raw(h, "</span> ");
	}
}

void part_leader(struct html *h, const json_t *leader)
{
	if (!json_is_object(leader)) {
		html_badge(h, "warn", "nobody");
		return;
	}
	html_text(h, part_node(leader));
	html_raw(h, " <small>");
	html_text(h, json_text(leader, "version", ""));
	html_raw(h, "</small>");
}

void part_status(struct html *h, const json_t *run)
{
	const json_t *status = json_object_get(run, "exit_status");

	if (json_is_integer(status))
		fprintf(h->out, "<td class=\"num\">%" PRId64 "</td>",
			(int64_t)json_integer_value(status));
	else
		html_cell(h, "num", NULL);
}

void part_output(struct html *h, const json_t *run, unsigned columns)
{
	mem_auto char *output = json_output(run);

	if (!output)
		return;
	fprintf(h->out, "<tr class=\"output\"><td colspan=\"%u\"><pre>", columns);
	html_text(h, output);
	html_raw(h, "</pre></td></tr>\n");
}

void part_ranking(struct html *h, const json_t *list)
{
	const json_t *r;
	size_t i;

	html_raw(h, "<section><h2>Ranking</h2><div class=\"scroll\" tabindex=\"0\" role=\"region\" "
		    "aria-label=\"Ranking\"><table><thead><tr><th scope=\"col\">Place</th>"
		    "<th scope=\"col\">Node</th><th scope=\"col\">Version</th>"
		    "<th scope=\"col\">Why</th></tr></thead><tbody>\n");
	json_array_foreach(list, i, r)
	{
		fprintf(h->out, "<tr%s>", json_flag(r, "self") ? " class=\"self\"" : "");
		if (json_flag(r, "candidate"))
			fprintf(h->out, "<td class=\"num\">%zu</td>", i + 1);
		else
			html_raw(h, "<td class=\"num\">–</td>");
		html_raw(h, "<th scope=\"row\">");
		html_text(h, part_node(r));
		html_raw(h, "</th>");
		html_cell(h, "num", json_text(r, "version", NULL));
		html_cell(h, NULL, json_text(r, "why", NULL));
		html_raw(h, "</tr>\n");
	}
	html_raw(h, "</tbody></table></div></section>\n");
}

void part_begin(struct html *h, const char *name, const char *kind, const char *description,
		const json_t *status)
{
	char title[200];

	snprintf(title, sizeof(title), "%s: zkleader", name);
	html_begin(h, title, HTML_ELSEWHERE, true);
	html_raw(h, "<h1>");
	html_text(h, name);
	if (kind)
		fprintf(h->out, " <small>%s</small>", kind);
	html_raw(h, "</h1>\n");
	if (description) {
		html_raw(h, "<p class=\"what\">");
		html_linked(h, description);
		html_raw(h, "</p>\n");
	}
	part_stale(h, status);
	part_problems(h, status);
}

void part_oldest(struct html *h, const json_t *queue)
{
	int64_t ms = json_number(queue, "oldest_ms", 0);
	char since[CLOCK_TEXT_SIZE];

	if (ms > 0)
		clock_format(h->now_ms - ms, since);
	html_age(h, ms > 0 ? since : NULL);
}

const json_t **part_sorted(const json_t *list, int (*order)(const void *a, const void *b))
{
	size_t n = json_array_size(list);
	const json_t **sorted = mem_calloc(n, sizeof(const json_t *));

	for (size_t i = 0; i < n; i++)
		sorted[i] = json_array_get(list, i);
	qsort(sorted, n, sizeof(const json_t *), order);
	return sorted;
}
