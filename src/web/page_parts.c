#include "web/page_parts.h"

#include <inttypes.h>
#include <string.h>

#include "client/json.h"

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

void part_notices(struct html *h, const json_t *status)
{
	const char *stale = json_text(status, "stale_since", NULL);

	if (stale) {
		html_raw(h, "<section class=\"notice bad\" role=\"alert\"><h2>Last known, ");
		html_age(h, stale);
		html_raw(h, " ago</h2><p>This node has no confirmed session with ZooKeeper: ");
		html_text(h, json_text(status, "why", "it is connecting"));
		html_raw(h, ".</p></section>\n");
	}
	problems(h, json_object_get(status, "problems"), "bad", "Problems on this node");
	problems(h, json_object_get(status, "warnings"), "warn", "Warnings on this node");
}

const char *part_node(const json_t *worker)
{
	const char *node = json_text(worker, "node", NULL);

	return node ? node : json_worker_name(worker);
}

void part_run(struct html *h, const json_t *last)
{
	const char *state = json_text(last, "state", NULL);
	const char *ended = json_text(last, "ended_at", NULL);

	if (!state) {
		html_raw(h, "–");
		return;
	}
	bool ok = strcmp(state, "ok") == 0, now = strcmp(state, "running") == 0;
	html_badge(h, ok ? "ok" : now || strcmp(state, "claimed") == 0 ? "idle" : "bad", state);
	html_raw(h, " ");
	html_age(h, ended ? ended : json_text(last, "tick", NULL));
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
