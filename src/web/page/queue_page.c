/*
 * The page of one queue: the jobs that wait, the jobs that run and where, the dead letters, and
 * which worker assigns jobs.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api/json.h"
#include "base/mem.h"
#include "web/page/html.h"
#include "web/page/page.h"
#include "web/page/page_parts.h"

#define DEAD_SHOWN 50

/* Explanations of states other than "active", and commands that end them. */
static const struct {
	const char *state, *text, *command; /* command: of zkleader, for the queue; NULL: none */
} states[] = {
	{"paused", "Jobs are neither taken nor begun. To let it go on:", "resume"},
	{"unserved",
	 "No worker is there that may be given a job: healthy, not drained, of the "
	 "version that jobs go to. Jobs wait until one is.",
	 NULL},
	{"full", "As many jobs wait as may: submits are refused until fewer do.", NULL},
};

static void command(struct html *h, const char *words, const char *name)
{
	fprintf(h->out, "<code>zkleader %s ", words);
	html_text(h, name);
	html_raw(h, "</code>");
}

static void figure(struct html *h, bool bad, int64_t n, int64_t most, const char *label)
{
	fprintf(h->out, "<li class=\"%s\"><b>%" PRId64, bad ? "bad" : "", n);
	if (most > 0)
		fprintf(h->out, "<small>/%" PRId64 "</small>", most);
	fprintf(h->out, "</b> %s</li>\n", label);
}

static void glance(struct html *h, const json_t *q)
{
	const char *state = json_text(q, "state", ""), *rate = json_text(q, "rate", NULL);
	int64_t dead = json_number(q, "dead", 0);

	html_raw(h, "<ul id=\"queue\" class=\"figures\" aria-label=\"At a glance\">\n<li><b>");
	html_badge(h, strcmp(state, "active") == 0 ? "ok" : "warn", state);
	html_raw(h, "</b> state</li>\n");
	figure(h, false, json_number(q, "queued", 0), 0, "waiting");
	html_raw(h, "<li><b>");
	part_oldest(h, q);
	html_raw(h, "</b> the oldest waits</li>\n");
	figure(h, false, json_number(q, "running", 0), json_number(q, "concurrency", 0), "running");
	figure(h, dead > 0, dead, 0, dead == 1 ? "dead letter" : "dead letters");
	if (rate) {
		html_raw(h, "<li><b>");
		html_text(h, rate);
		html_raw(h, "</b> at most</li>\n");
	}
	html_raw(h, "</ul>\n");
}

static void remarks(struct html *h, const json_t *t, const char *name, const char *state)
{
	const json_t *decisions = json_object_get(t, "decisions");

	for (size_t i = 0; i < sizeof(states) / sizeof(states[0]); i++) {
		if (strcmp(state, states[i].state) != 0)
			continue;
		fprintf(h->out, "<section class=\"notice warn\"><p>%s ", states[i].text);
		if (states[i].command)
			command(h, states[i].command, name);
		html_raw(h, "</p></section>\n");
	}
	if (json_array_size(decisions) == 0)
		return;
	html_raw(h, "<p>");
	part_decisions(h, decisions);
	html_raw(h, "</p>\n");
}

static void running(struct html *h, const json_t *workers)
{
	const json_t *w;
	size_t i;

	html_raw(h, "<section><h2>Running, by worker</h2>");
	if (json_array_size(workers) == 0) {
		html_raw(h, "<p>No worker serves this queue.</p></section>\n");
		return;
	}
	html_raw(h, "<div class=\"scroll\" tabindex=\"0\" role=\"region\" aria-label=\"Running\">"
		    "<table id=\"running\"><thead><tr><th scope=\"col\">Node</th>"
		    "<th scope=\"col\">Running</th><th scope=\"col\">Slots</th></tr></thead>"
		    "<tbody>\n");
	json_array_foreach(workers, i, w)
	{
		html_raw(h, "<tr><th scope=\"row\">");
		html_text(h, json_text(w, "node", "-"));
		fprintf(h->out,
			"</th><td class=\"num\">%" PRId64 "</td><td class=\"num\">%" PRId64
			"</td></tr>\n",
			json_number(w, "running", 0), json_number(w, "slots", 0));
	}
	html_raw(h, "</tbody></table></div></section>\n");
}

/* --- dead letters --------------------------------------------------------- */

static void dead_row(struct html *h, const json_t *job)
{
	html_raw(h, "<tr><th scope=\"row\" class=\"id\">");
	html_text(h, json_text(job, "id", ""));
	html_raw(h, "</th><td>");
	html_badge(h, "bad", json_text(job, "state", ""));
	html_raw(h, " ");
	html_age(h, json_text(job, "ended", NULL));
	fprintf(h->out, "</td><td class=\"num\">%" PRId64 "</td>", json_number(job, "attempt", 0));
	part_status(h, job);
	html_cell(h, NULL, json_text(job, "node", NULL));
	html_raw(h, "</tr>\n");
	part_output(h, job, 5);
}

static int newest_first(const void *a, const void *b)
{
	return strcmp(json_text(*(const json_t *const *)b, "ended", ""),
		      json_text(*(const json_t *const *)a, "ended", ""));
}

static void dead_rows(struct html *h, const json_t *dead)
{
	const json_t **sorted = part_sorted(dead, newest_first);

	for (size_t i = 0; i < json_array_size(dead) && i < DEAD_SHOWN; i++)
		dead_row(h, sorted[i]);
	free(sorted);
}

static void dead_letters(struct html *h, const char *name, const json_t *dead, int64_t n)
{
	html_raw(h, "<section><h2>Dead letters</h2>");
	if (n == 0) {
		html_raw(h, "<p>None.</p></section>\n");
		return;
	}
	html_raw(h, "<div class=\"scroll\" tabindex=\"0\" role=\"region\" "
		    "aria-label=\"Dead letters\"><table id=\"dead\"><thead><tr>"
		    "<th scope=\"col\">Job</th><th scope=\"col\">Ended</th>"
		    "<th scope=\"col\">Attempts</th><th scope=\"col\">Exit</th>"
		    "<th scope=\"col\">Node</th></tr></thead><tbody>\n");
	dead_rows(h, dead);
	html_raw(h, "</tbody></table></div>\n<ul class=\"how\">\n");
	html_raw(h,
		 "<li>One tried anew: <code>zkleader requeue JOB</code></li>\n<li>All of them: ");
	command(h, "requeue --all", name);
	html_raw(h, "</li>\n<li>What is known of one: <code>zkleader job JOB</code></li>\n<li>");
	/*
	 * If there are more dead letters than one answer holds, it has the oldest ones, so the
	 * newest are not among those shown.
	 */
	if (n > DEAD_SHOWN)
		fprintf(h->out, "%s %d of %" PRId64 " are shown; more: ",
			(int64_t)json_array_size(dead) < n ? "Some" : "The newest", DEAD_SHOWN, n);
	else
		html_raw(h, "The list: ");
	command(h, "dead", name);
	html_raw(h, "</li>\n<li>To delete them all: ");
	command(h, "purge", name);
	html_raw(h, "</li>\n</ul></section>\n");
}

/* --- the worker that assigns jobs ----------------------------------------- */

static void leader(struct html *h, const json_t *t, const json_t *explain)
{
	const json_t *l = json_object_get(t, "leader");

	html_raw(h, "<section><h2>Who assigns its jobs</h2><p>");
	part_leader(h, l);
	if (json_is_object(l)) {
		html_raw(h, "<small>, for </small>");
		html_age(h, json_text(t, "since", NULL));
	}
	html_raw(h, "</p>\n<p>");
	html_text(h, json_text(explain, "reason", ""));
	html_raw(h, "</p></section>\n");
	part_ranking(h, json_object_get(explain, "ranking"));
}

char *page_queue(const json_t *tasks, const json_t *explain, const json_t *status,
		 const json_t *queue, const json_t *dead, size_t *ret_len)
{
	const json_t *t = json_array_get(tasks, 0);
	const char *name = json_text(queue, "queue", "");
	struct html h;

	part_begin(&h, name, "queue", json_text(t, "description", NULL), status);
	glance(&h, queue);
	remarks(&h, t, name, json_text(queue, "state", ""));
	running(&h, json_object_get(queue, "workers"));
	dead_letters(&h, name, dead, json_number(queue, "dead", 0));
	leader(&h, t, explain);
	return html_end(&h, ret_len);
}
