#include "cli/ui/news.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <wchar.h>

#include "api/json.h"
#include "base/mem.h"
#include "base/text/names.h"
#include "cli/ui/decision.h"

#define VACANT_MS    3000 /* time without a leader, before that is a line of its own */
#define LEFT_MS	     3000 /* time for a worker to come back */
#define JOINED_MS    500  /* time for the old registration to go after the new one has come */
#define FIRST_MS     1000 /* after the first leader of a task, to collect those of other tasks */
#define FIRST_MAX_MS 5000 /* the longest time to collect first leaders */
#define ALONE	     3	  /* up to so many first leaders get a line each */
#define MISSED	     10	  /* up to so many leaders that changed in an outage get a line each */

struct pending {
	enum kind { VACANT, LEFT, JOINED, FIRST, ANOTHER } kind;
	json_t *change; /* owned */
	int64_t since_ms, due_ms;
};

void news_init(struct news *n, const struct output *o)
{
	*n = (struct news){.output = o, .suffix = ""};
}

void news_done(struct news *n)
{
	for (size_t i = 0; i < n->n; i++)
		json_decref(n->list[i].change);
	free(n->list);
	n->list = NULL;
	n->n = 0;
}

void news_set_workers(struct news *n, const json_t *workers)
{
	const json_t *worker;
	size_t i;

	n->domain = (struct host_domain){.seen = n->output->width == 0};
	json_array_foreach(workers, i, worker)
	{
		const char *name = json_worker_name(worker);

		if (n->output->width > 0 && strcmp(name, "-") != 0)
			host_domain_add(&n->domain, name);
	}
}

/* --- held events ---------------------------------------------------------- */

static void hold(struct news *n, enum kind kind, json_t *change, int64_t now_ms, int64_t ms)
{
	n->list = mem_resize(n->list, n->n + 1, sizeof(*n->list));
	n->list[n->n++] = (struct pending){kind, json_copy(change), now_ms, now_ms + ms};
}

static void drop(struct news *n, size_t at)
{
	json_decref(n->list[at].change);
	n->n--;
	memmove(n->list + at, n->list + at + 1, (n->n - at) * sizeof(*n->list));
}

/* The index of the held event of that kind about the task; n->n: there is none. */
static size_t find(const struct news *n, enum kind kind, const char *task)
{
	size_t i = 0;

	while (i < n->n && (n->list[i].kind != kind ||
			    strcmp(json_text(n->list[i].change, "task", "-"), task) != 0))
		i++;
	return i;
}

int64_t news_due(const struct news *n)
{
	int64_t due = INT64_MAX;

	for (size_t i = 0; i < n->n; i++)
		due = n->list[i].due_ms < due ? n->list[i].due_ms : due;
	return due;
}

/* --- pieces of lines ------------------------------------------------------ */

static const char *arrow(void)
{
	return mbstowcs(NULL, "\xe2\x86\x92", 0) == 1 ? "\xe2\x86\x92" : "->";
}

static const char *time_of(const json_t *change)
{
	return json_text(change, "time", "-");
}

/* The host without the domain that all hosts share, for the caller to free. */
static char *host_text(const struct news *n, const char *host)
{
	char *text = mem_strdup(host);

	text[host_length(&n->domain, host)] = '\0';
	return text;
}

/* Names a leader, as "host4 (1.5.0)". For the caller to free. */
static char *leader_text(const struct news *n, const json_t *leader)
{
	const char *version = json_text(leader, "version", "");
	mem_auto char *name = host_text(n, json_worker_name(leader));
	char *text = NULL;

	if (asprintf(&text, "%s%s%s%s", name, version[0] ? " (" : "", version,
		     version[0] ? ")" : "") < 0)
		abort();
	return text;
}

/* --- leaders -------------------------------------------------------------- */

static void print_vacant(const struct news *n, const json_t *change)
{
	const char *reason = json_text(change, "reason", NULL);

	output_line(n->output, COLOR_YELLOW, "%s %s: nobody leads it%s%s%s", time_of(change),
		    json_text(change, "task", "-"), reason ? ", " : "", reason ? reason : "",
		    n->suffix);
}

static void print_led(const struct news *n, const json_t *change)
{
	mem_auto char *leader = leader_text(n, json_object_get(change, "leader"));

	output_line(n->output, json_flag(change, "self") ? COLOR_GREEN : COLOR_NONE,
		    "%s %s: led by %s%s", time_of(change), json_text(change, "task", "-"), leader,
		    n->suffix);
}

/* Prints "nightly-report: host2 (1.4.0) → host4 (1.5.0), newer version, 41 ms". */
static void print_handover(const struct news *n, const json_t *change, const json_t *previous)
{
	const json_t *leader = json_object_get(change, "leader");
	const char *reason = json_text(change, "reason", NULL);
	int64_t vacant_ms = json_number(change, "vacant_ms", -1);
	mem_auto char *from = leader_text(n, previous);
	mem_auto char *to = leader_text(n, leader);
	bool again = strcmp(json_text(previous, "id", "-"), json_text(leader, "id", "")) == 0;
	char duration[OUTPUT_AGE_SIZE] = "";

	if (vacant_ms >= 0)
		duration_text(vacant_ms, duration);
	if (again)
		output_line(n->output, COLOR_NONE, "%s %s: %s again%s%s%s", time_of(change),
			    json_text(change, "task", "-"), to,
			    vacant_ms >= 0 ? ", led by nobody for " : "", duration, n->suffix);
	else
		output_line(n->output, json_flag(change, "self") ? COLOR_GREEN : COLOR_NONE,
			    "%s %s: %s %s %s%s%s%s%s%s", time_of(change),
			    json_text(change, "task", "-"), from, arrow(), to, reason ? ", " : "",
			    reason ? reason : "", vacant_ms >= 0 ? ", " : "", duration, n->suffix);
}

static void print_leadership(const struct news *n, const json_t *change)
{
	const json_t *previous = json_object_get(change, "previous");

	if (!json_is_object(json_object_get(change, "leader")))
		print_vacant(n, change);
	else if (json_is_object(previous))
		print_handover(n, change, previous);
	else
		print_led(n, change);
}

/* Holds the first known leader of a task, so that those of many tasks can become one line. */
static void hold_first(struct news *n, json_t *change, int64_t now_ms)
{
	int64_t due = now_ms + FIRST_MS;

	hold(n, FIRST, change, now_ms, FIRST_MS);
	for (size_t i = 0; i < n->n; i++) {
		if (n->list[i].kind != FIRST)
			continue;
		/* The held events are sorted by time, so the oldest one limits all. */
		if (due > n->list[i].since_ms + FIRST_MAX_MS)
			due = n->list[i].since_ms + FIRST_MAX_MS;
		n->list[i].due_ms = due;
	}
}

struct count {
	char *leader;
	size_t n;
};

static int by_leader(const void *a, const void *b)
{
	return names_natural(((const struct count *)a)->leader, ((const struct count *)b)->leader);
}

/*
 * The number of tasks that each leads, by the held events of this kind: "host1 (1.4.0): 26, host2
 * (1.4.0): 24, nobody: 1", or only a name if one leads all. For the caller to free.
 */
static char *count_text(const struct news *n, enum kind kind)
{
	struct count *counts = mem_calloc(n->n, sizeof(*counts));
	size_t n_counts = 0, len;
	char *text = NULL;
	FILE *f;

	for (size_t i = 0; i < n->n; i++) {
		const json_t *leader = json_object_get(n->list[i].change, "leader");
		char *name;
		size_t at = 0;

		if (n->list[i].kind != kind)
			continue;
		name = json_is_object(leader) ? leader_text(n, leader) : mem_strdup("nobody");
		while (at < n_counts && strcmp(counts[at].leader, name) != 0)
			at++;
		if (at == n_counts)
			counts[n_counts++] = (struct count){mem_strdup(name), 0};
		counts[at].n++;
		free(name);
	}
	qsort(counts, n_counts, sizeof(*counts), by_leader);
	f = mem_stream(&text, &len);
	for (size_t i = 0; i < n_counts; i++) {
		fprintf(f, "%s%s", i > 0 ? ", " : "", counts[i].leader);
		if (n_counts > 1)
			fprintf(f, ": %zu", counts[i].n);
		free(counts[i].leader);
	}
	mem_stream_end(f);
	free(counts);
	return text;
}

/*
 * Prints all held events of this kind: each as a line if there are at most `few`, else one line
 * that says how many tasks each leads.
 */
static void tell_together(struct news *n, enum kind kind, size_t few)
{
	const char *words = kind == FIRST ? "are led by" : "have another leader now:";
	const json_t *last = NULL;
	size_t count = 0, kept = 0;

	for (size_t i = 0; i < n->n; i++) {
		if (n->list[i].kind != kind)
			continue;
		last = n->list[i].change;
		count++;
	}
	if (count > few) {
		mem_auto char *text = count_text(n, kind);
		output_line(n->output, COLOR_NONE, "%s %zu tasks %s %s%s", time_of(last), count,
			    words, text, n->suffix);
	}
	for (size_t i = 0; i < n->n; i++) {
		struct pending *p = &n->list[i];

		if (p->kind != kind) {
			n->list[kept++] = *p;
			continue;
		}
		if (count <= few)
			print_leadership(n, p->change);
		json_decref(p->change);
	}
	n->n = kept;
}

void news_leadership(struct news *n, json_t *change, int64_t now_ms)
{
	const char *task = json_text(change, "task", "-");
	size_t vacant;

	if (n->suffix[0]) {
		hold(n, ANOTHER, change, now_ms, FIRST_MS);
		return;
	}
	if (find(n, FIRST, task) < n->n)
		/* The first leader of this task is printed before its next change. */
		tell_together(n, FIRST, ALONE);
	vacant = find(n, VACANT, task);
	if (vacant < n->n)
		drop(n, vacant);
	if (!json_is_object(json_object_get(change, "leader")))
		hold(n, VACANT, change, now_ms, VACANT_MS);
	else if (json_is_object(json_object_get(change, "previous")))
		print_leadership(n, change);
	else
		hold_first(n, change, now_ms);
}

/* --- workers -------------------------------------------------------------- */

static void print_membership(const struct news *n, const json_t *change)
{
	const char *event = json_text(change, "event", "-");
	mem_auto char *name = host_text(n, json_worker_name(change));

	output_line(n->output, strcmp(event, "left") == 0 ? COLOR_YELLOW : COLOR_NONE,
		    "%s %s (%s, version %s) %s%s%s", time_of(change), name,
		    json_text(change, "ip", "-"), json_text(change, "version", "-"), event,
		    json_flag(change, "self") ? ", this node" : "", n->suffix);
}

/* Prints that a node has registered anew, as "host3: 1.4.0 → 1.5.0". */
static void print_return(const struct news *n, const json_t *left, const json_t *joined)
{
	const char *from = json_text(left, "version", "-"), *to = json_text(joined, "version", "-");
	mem_auto char *name = host_text(n, json_worker_name(joined));

	if (strcmp(from, to) == 0)
		output_line(n->output, COLOR_NONE, "%s %s: registered anew (%s)%s", time_of(joined),
			    name, to, n->suffix);
	else
		output_line(n->output, COLOR_BOLD, "%s %s: %s %s %s%s", time_of(joined), name, from,
			    arrow(), to, n->suffix);
}

/*
 * A worker that leaves and another one that joins on the same node become one line: the node has
 * registered anew.
 */
void news_membership(struct news *n, json_t *change, int64_t now_ms)
{
	bool left = strcmp(json_text(change, "event", ""), "left") == 0;
	const char *node = json_worker_name(change);
	size_t other = 0;

	while (other < n->n && (n->list[other].kind != (left ? JOINED : LEFT) ||
				strcmp(json_worker_name(n->list[other].change), node) != 0))
		other++;
	if (other == n->n) {
		hold(n, left ? LEFT : JOINED, change, now_ms, left ? LEFT_MS : JOINED_MS);
		return;
	}
	print_return(n, left ? change : n->list[other].change,
		     left ? n->list[other].change : change);
	drop(n, other);
}

/* --- decisions and the connection ----------------------------------------- */

void news_decision(struct news *n, const json_t *change)
{
	const char *host = json_text(change, "host", "-");
	const char *task = json_text(change, "task", NULL);
	const char *until = json_text(change, "until", NULL);
	const char *reason = json_text(change, "reason", NULL);
	mem_auto char *word = decision_word(change);
	mem_auto char *at = host_text(n, host);
	mem_auto char *name = mem_strdup(json_text(change, "node", host)); /* HOSTNAME:SOCKET */
	mem_auto char *what = NULL;

	/* A sidecar of 0.1.0 sends no "name", and the socket is no part of what is shown. */
	name[strcspn(name, ":")] = '\0';
	if (n->suffix[0])
		news_tell(n, INT64_MAX); /* workers that joined and left come first */
	what = task ? mem_strdup(task) : host_text(n, json_text(change, "name", name));
	if (strcmp(json_text(change, "event", ""), "ended") == 0)
		output_line(n->output, COLOR_NONE, "%s %s: no longer %s%s", time_of(change), what,
			    word, n->suffix);
	else
		output_line(n->output, COLOR_YELLOW, "%s %s: %s by %s at %s%s%s%s%s%s",
			    time_of(change), what, word, json_text(change, "by", "-"), at,
			    until ? " until " : "", until ? until : "", reason ? ": " : "",
			    reason ? reason : "", n->suffix);
}

void news_connection(struct news *n, const json_t *change)
{
	if (json_flag(change, "confirmed"))
		output_line(n->output, COLOR_GREEN, "%s connected", time_of(change));
	else
		output_line(n->output, COLOR_RED,
			    "%s disconnected: this node has no confirmed session with ZooKeeper",
			    time_of(change));
}

void news_tell(struct news *n, int64_t now_ms)
{
	for (size_t i = 0; i < n->n;) {
		struct pending *p = &n->list[i];

		if (p->due_ms > now_ms) {
			i++;
			continue;
		}
		switch (p->kind) {
		case VACANT: print_vacant(n, p->change); break;
		case LEFT:
		case JOINED: print_membership(n, p->change); break;
		case FIRST:
		case ANOTHER:
			tell_together(n, p->kind, p->kind == FIRST ? ALONE : MISSED);
			i = 0; /* all of them are removed, including this one */
			continue;
		}
		drop(n, i);
	}
}
