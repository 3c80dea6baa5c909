/* The first page: what needs attention, and then the fleet: tasks, queues and workers. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api/json.h"
#include "base/mem.h"
#include "base/text/names.h"
#include "web/page/fleet_tables.h"
#include "web/page/home_select.h"
#include "web/page/home_tasks.h"
#include "web/page/html.h"
#include "web/page/page.h"
#include "web/page/page_parts.h"

#define LEADERS_MAX 200 /* in the menu */

/* --- at a glance ------------------------------------------------------------------ */

struct counts {
	size_t workers, newest; /* newest: workers with the newest version */
	size_t tasks, led, by_newest;
	size_t troubles[HOME_TROUBLES];
	const char *version;
};

static void count_task(struct counts *c, const json_t *t, const json_t *status)
{
	const json_t *leader = json_object_get(t, "leader");

	c->led += json_is_object(leader) || json_number(t, "led", 0) > 0;
	c->by_newest += strcmp(json_text(leader, "version", ""), c->version) == 0;
	for (enum home_trouble i = 0; i < HOME_TROUBLES; i++)
		c->troubles[i] += home_has(t, status, i);
}

static struct counts count(const struct page_home *p)
{
	struct counts c = {.workers = json_array_size(p->workers),
			   .tasks = json_array_size(p->tasks)};
	size_t i, problems = json_array_size(json_object_get(p->status, "problems"));
	const json_t *entry;

	c.version = json_text(json_array_get(p->workers, 0), "version", "");
	json_array_foreach(p->workers, i, entry) c.newest +=
		strcmp(json_text(entry, "version", ""), c.version) == 0;
	json_array_foreach(p->tasks, i, entry) count_task(&c, entry, p->status);
	c.troubles[HOME_HALTED] = json_array_size(json_object_get(p->status, "halted"));
	if (c.troubles[HOME_PROBLEMS] < problems)
		c.troubles[HOME_PROBLEMS] = problems;
	return c;
}

/* A number that shows, if it is pressed, the tasks that it counts. */
static void tile(struct html *h, const struct page_home *p, const struct counts *c,
		 enum home_trouble trouble)
{
	static const struct {
		const char *label, *class;
	} tiles[HOME_TROUBLES] = {
		[HOME_NOBODY] = {"nobody leads", "bad"},
		[HOME_OVERDUE] = {"overdue", "bad"},
		[HOME_FAILED] = {"last run failed", "bad"},
		[HOME_LOST] = {"last run lost", "bad"},
		[HOME_MISSED] = {"last run missed", "bad"},
		[HOME_HALTED] = {"rolling halted", "bad"},
		[HOME_PAUSED] = {"paused", "warn"},
		[HOME_PROBLEMS] = {"problems", "bad"},
	};
	const char *word = home_trouble_words[trouble];
	bool here = strcmp(p->query->state, word) == 0;

	fprintf(h->out, "<li class=\"%s\"><a href=\"",
		c->troubles[trouble] > 0 ? tiles[trouble].class : "none");
	home_address(h, p->query, "state", here ? "" : word);
	fprintf(h->out, "\"%s><b>%zu</b> %s</a></li>\n", here ? " aria-current=\"true\"" : "",
		c->troubles[trouble], tiles[trouble].label);
}

static void glance(struct html *h, const struct page_home *p, const struct counts *c)
{
	size_t sum = 0;

	for (enum home_trouble i = 0; i < HOME_TROUBLES; i++)
		sum += c->troubles[i];
	fprintf(h->out, "<p class=\"sum\"><b>%s</b> %zu of %zu tasks led, %zu worker%s, version ",
		sum > 0 ? "Needs attention." : "All is well.", c->led, c->tasks, c->workers,
		c->workers == 1 ? "" : "s");
	html_text(h, c->version[0] ? c->version : "unknown");
	html_raw(h, "</p>\n<ul class=\"figures tiles\" aria-label=\"What needs attention\">\n");
	for (enum home_trouble i = 0; i < HOME_TROUBLES; i++)
		tile(h, p, c, i);
	html_raw(h, "</ul>\n");
}

static void rollout(struct html *h, const struct counts *c)
{
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

/* --- the filter ------------------------------------------------------------------- */

static void option(struct html *h, const char *value, const char *text, const char *chosen)
{
	html_raw(h, "<option value=\"");
	html_text(h, value);
	fprintf(h->out, "\"%s>", strcmp(value, chosen) == 0 ? " selected" : "");
	html_text(h, text);
	html_raw(h, "</option>");
}

static void leader_menu(struct html *h, const struct page_home *p)
{
	const char *chosen = p->query->leader;
	bool there = !chosen[0];
	const json_t *w;
	size_t i;

	html_raw(h, "<label>Leader <select name=\"leader\">");
	option(h, "", "any", chosen);
	json_array_foreach(p->workers, i, w)
	{
		if (i >= LEADERS_MAX)
			break;
		option(h, part_node(w), part_node(w), chosen);
		there = there || strcmp(part_node(w), chosen) == 0;
	}
	if (!there)
		option(h, chosen, chosen, chosen);
	html_raw(h, "</select></label>\n");
}

static void sort_menu(struct html *h, const char *chosen)
{
	const char *const *sorts = query_sorts();
	char value[QUERY_TEXT_MAX + 1], text[QUERY_TEXT_MAX + 1];

	html_raw(h, "<label>Sort by <select name=\"sort\">");
	option(h, "", sorts[0], chosen);
	for (size_t i = 1; sorts[i]; i++) {
		snprintf(value, sizeof(value), "-%s", sorts[i]);
		snprintf(text, sizeof(text), "%s, reversed", sorts[i]);
		option(h, sorts[i], sorts[i], chosen);
		option(h, value, text, chosen);
	}
	html_raw(h, "</select></label>\n");
}

static void filter(struct html *h, const struct page_home *p, size_t n)
{
	const struct query *q = p->query;
	bool any = q->state[0] || q->leader[0] || q->q[0];

	html_raw(h, "<form class=\"filter\" method=\"get\" action=\"/\" role=\"search\">"
		    "<label>Search <input name=\"q\" type=\"search\" maxlength=\"200\" "
		    "autocomplete=\"off\" aria-keyshortcuts=\"/\" value=\"");
	html_text(h, q->q);
	html_raw(h, "\"></label>\n");
	part_state_menu(h, QUERY_HOME, q->state);
	leader_menu(h, p);
	sort_menu(h, q->sort);
	html_raw(h, "<button>Show</button>");
	if (any)
		html_raw(h, " <a href=\"/\">Show all</a>");
	html_raw(h, " <span id=\"found\" role=\"status\">");
	if (any)
		fprintf(h->out, "%zu of %zu", n, json_array_size(p->tasks));
	html_raw(h, "</span></form>\n");
}

/* --- the page --------------------------------------------------------------------- */

static void halted(struct html *h, const json_t *list)
{
	const json_t *one;
	size_t i;

	json_array_foreach(list, i, one)
	{
		html_raw(h, "<section class=\"notice bad\"><p>The rolling restart <b>");
		html_text(h, json_text(one, "group", ""));
		html_raw(h, "</b> is halted by ");
		html_text(h, json_text(one, "node", "?"));
		html_raw(h, ": ");
		html_text(h, json_text(one, "reason", "no reason is known"));
		html_raw(h, ". To go on: <code>zkleader rolling ");
		html_text(h, json_text(one, "group", ""));
		html_raw(h, " --resume</code></p></section>\n");
	}
}

static void tasks(struct html *h, const struct page_home *p)
{
	mem_auto const json_t **list = NULL;
	size_t n;

	html_raw(h, "<section id=\"tasks-part\"><h2>Tasks</h2>\n");
	list = home_select(p, &n);
	if (json_array_size(p->tasks) == 0) {
		html_raw(h, "<p>None is configured on this node: a file in <code>conf.d</code> "
			    "makes one.</p></section>\n");
		return;
	}
	filter(h, p, n);
	if (n > 0)
		home_tasks(h, p, list, n);
	else if (strcmp(p->query->state, "halted") == 0)
		html_raw(h, "<p>Rolling restarts halt nodes, not tasks: those that are halted are "
			    "named above.</p>\n");
	else if (strcmp(p->query->state, "problems") == 0)
		html_raw(h, "<p>No single task has a problem: those of this node are named "
			    "above.</p>\n");
	else
		html_raw(h, "<p>No task is like that. <a href=\"/\">Show all</a></p>\n");
	html_raw(h, "</section>\n");
}

char *page_fleet(const struct page_home *p, size_t *ret_len)
{
	struct counts c = count(p);
	struct html h;

	html_begin(&h, "zkleader: the fleet", HTML_HOME, true);
	html_raw(&h, "<h1>The fleet <small>as ");
	html_text(&h, part_node(p->status));
	html_raw(&h, " sees it</small></h1>\n");
	part_stale(&h, p->status);
	glance(&h, p, &c);
	halted(&h, json_object_get(p->status, "halted"));
	part_problems(&h, p->status);
	rollout(&h, &c);
	tasks(&h, p);
	if (json_array_size(p->queues) > 0)
		fleet_queues(&h, p->queues);
	else
		html_raw(&h, "<section id=\"queues-part\"><h2>Queues</h2><p>None is configured on "
			     "this node.</p></section>\n");
	fleet_workers(&h, p->workers, c.version);
	if (p->again)
		html_raw(&h, "<span id=\"again\" hidden></span>\n");
	return html_end(&h, ret_len);
}

char *page_failure(const char *why, bool unknown, size_t *ret_len)
{
	struct html h;

	html_begin(&h, "zkleader: nothing to show", HTML_ELSEWHERE, !unknown);
	html_raw(&h, unknown ? "<h1>Not here</h1>\n<section class=\"notice bad\"><p>"
			     : "<h1>The sidecar does not answer</h1>\n"
			       "<section class=\"notice bad\" role=\"alert\"><p>");
	html_text(&h, why);
	html_raw(&h, "</p></section>\n<p><a href=\"/\">The fleet</a></p>\n");
	return html_end(&h, ret_len);
}

char *page_refusal(const char *why, size_t *ret_len)
{
	struct html h;

	html_begin(&h, "zkleader: not understood", HTML_ELSEWHERE, false);
	html_raw(&h, "<h1>That address is not understood</h1>\n<section class=\"notice bad\"><p>");
	html_text(&h, why);
	html_raw(&h, "</p></section>\n<p><a href=\"/\">The fleet</a></p>\n");
	return html_end(&h, ret_len);
}
