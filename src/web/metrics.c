#include "web/metrics.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "client/json.h"

#define MS_PER_S   1000.0
#define BOUND_SIZE 40

struct writer {
	FILE *out;
	bool open; /* OpenMetrics */
};

/* The head of a family; name is without "_total", which a counter's samples have. */
static void family(const struct writer *w, const char *name, const char *type, const char *help)
{
	const char *suffix = !w->open && strcmp(type, "counter") == 0 ? "_total" : "";

	fprintf(w->out, "# HELP zkleader_%s%s %s\n# TYPE zkleader_%s%s %s\n", name, suffix, help,
		name, suffix, type);
}

/* A label's value: what both formats want escaped. */
static void value(FILE *out, const char *text)
{
	for (; *text; text++) {
		if (*text == '\n')
			fputs("\\n", out);
		else if (*text == '\\' || *text == '"')
			fprintf(out, "\\%c", *text);
		else
			fputc(*text, out);
	}
}

static void labels(FILE *out, const char *key, const char *text, const char *key2,
		   const char *text2)
{
	if (!key)
		return;
	fprintf(out, "{%s=\"", key);
	value(out, text);
	if (key2) {
		fprintf(out, "\",%s=\"", key2);
		value(out, text2);
	}
	fputs("\"}", out);
}

/* Shown without an exponent, and exact: numbers here are counts, or thousandths. */
static void number(FILE *out, double n)
{
	if (n == (double)(int64_t)n)
		fprintf(out, "%" PRId64 "\n", (int64_t)n);
	else
		fprintf(out, "%.6f\n", n);
}

static void gauge(const struct writer *w, const char *name, const char *help, double n)
{
	family(w, name, "gauge", help);
	fprintf(w->out, "zkleader_%s ", name);
	number(w->out, n);
}

static double number_of(const json_t *object, const char *key)
{
	return (double)json_number(object, key, 0);
}

/* --- histograms ----------------------------------------------------------- */

/* As OpenMetrics writes numbers: "1.0", and "0.005". */
static void bound_text(const struct writer *w, double bound, char text[BOUND_SIZE])
{
	bool whole = bound == (double)(int64_t)bound;

	snprintf(text, BOUND_SIZE, whole && w->open ? "%.1f" : "%g", bound);
}

/*
 * {"le": [bounds], "counts": [of each, and of what is above], "sum": in the bounds' unit}; `unit`
 * of them are a second.
 */
static void histogram(const struct writer *w, const char *name, const json_t *h, double unit,
		      const char *key, const char *text)
{
	const json_t *bounds = json_object_get(h, "le"), *counts = json_object_get(h, "counts");
	size_t n = json_array_size(bounds);
	int64_t count = 0;
	char bound[BOUND_SIZE];

	if (json_array_size(counts) != n + 1)
		return;
	for (size_t i = 0; i <= n; i++) {
		count += json_integer_value(json_array_get(counts, i));
		if (i < n)
			bound_text(w, (double)json_integer_value(json_array_get(bounds, i)) / unit,
				   bound);
		else
			snprintf(bound, sizeof(bound), "+Inf");
		fprintf(w->out, "zkleader_%s_bucket", name);
		labels(w->out, key ? key : "le", key ? text : bound, key ? "le" : NULL, bound);
		fprintf(w->out, " %" PRId64 "\n", count);
	}
	fprintf(w->out, "zkleader_%s_sum", name);
	labels(w->out, key, text, NULL, NULL);
	fprintf(w->out, " %.6f\n", number_of(h, "sum") / unit);
	fprintf(w->out, "zkleader_%s_count", name);
	labels(w->out, key, text, NULL, NULL);
	fprintf(w->out, " %" PRId64 "\n", count);
}

/* --- tasks and queues ----------------------------------------------------- */

/* One family over all entries that have the key. scale: of the number, what is a second. */
static void each(const struct writer *w, const char *name, const char *type, const char *help,
		 const json_t *entries, const char *label, const char *key, double scale)
{
	bool counter = strcmp(type, "counter") == 0;
	const json_t *entry;
	size_t i;

	family(w, name, type, help);
	json_array_foreach(entries, i, entry)
	{
		const json_t *n = json_object_get(entry, key);

		if (!n || json_is_null(n))
			continue;
		fprintf(w->out, "zkleader_%s%s", name, counter ? "_total" : "");
		labels(w->out, label, json_text(entry, label, ""), NULL, NULL);
		fputc(' ', w->out);
		number(w->out, json_is_boolean(n) ? json_is_true(n)
						  : (double)json_integer_value(n) / scale);
	}
}

static void runs(const struct writer *w, const json_t *tasks)
{
	const json_t *task;
	size_t i;

	family(w, "runs", "counter", "Runs of tasks that ended on this node, by how they ended.");
	json_array_foreach(tasks, i, task)
	{
		json_t *states = json_object_get(task, "runs"), *n;
		const char *state;

		json_object_foreach(states, state, n)
		{
			fputs("zkleader_runs_total", w->out);
			labels(w->out, "task", json_text(task, "task", ""), "state", state);
			fprintf(w->out, " %" PRId64 "\n", (int64_t)json_integer_value(n));
		}
	}
	family(w, "run_seconds", "histogram", "How long the runs of tasks took on this node.");
	json_array_foreach(tasks, i, task)
		histogram(w, "run_seconds", json_object_get(task, "run_ms"), MS_PER_S, "task",
			  json_text(task, "task", ""));
}

static void tasks(const struct writer *w, const json_t *metrics)
{
	const json_t *list = json_object_get(metrics, "tasks");

	each(w, "leaderships", "counter", "Leaderships that began on this node.", list, "task",
	     "leaderships", 1);
	each(w, "task_leads", "gauge", "Whether this node leads the task.", list, "task", "leads",
	     1);
	each(w, "task_paused", "gauge", "Whether operators let nobody lead the task.", list, "task",
	     "paused", 1);
	runs(w, list);
	each(w, "ticks_missed", "counter", "Ticks that this node, leading, recorded as missed.",
	     list, "task", "missed", 1);
	each(w, "last_ok_timestamp_seconds", "gauge",
	     "When the last run ended well, from the task's leader alone.", list, "task",
	     "last_ok_ms", MS_PER_S);
	each(w, "task_overdue", "gauge",
	     "Whether no run has ended well for alert-after, from the task's leader alone.", list,
	     "task", "overdue", 1);
}

static void queues(const struct writer *w, const json_t *metrics)
{
	const json_t *list = json_object_get(metrics, "queues");

	each(w, "queued", "gauge", "Jobs that wait, from the queue's leader alone.", list, "queue",
	     "queued", 1);
	each(w, "oldest_seconds", "gauge", "For how long the oldest waits, likewise.", list,
	     "queue", "oldest_ms", MS_PER_S);
	each(w, "dead", "gauge", "Dead letters, likewise.", list, "queue", "dead", 1);
}

/* --- the node ------------------------------------------------------------- */

static void requests(const struct writer *w, const json_t *metrics)
{
	json_t *methods = json_object_get(metrics, "requests"), *n;
	const char *method;

	family(w, "zookeeper_request_seconds", "histogram",
	       "From a request to ZooKeeper to its answer.");
	histogram(w, "zookeeper_request_seconds", json_object_get(metrics, "zookeeper_ms"),
		  MS_PER_S, NULL, NULL);
	family(w, "requests", "counter", "Requests to the sidecar, by method.");
	json_object_foreach(methods, method, n)
	{
		fputs("zkleader_requests_total", w->out);
		labels(w->out, "method", method, NULL, NULL);
		fprintf(w->out, " %" PRId64 "\n", (int64_t)json_integer_value(n));
	}
}

static void workers(const struct writer *w, const json_t *list)
{
	json_auto_t *counts = json_object();
	const json_t *worker;
	const char *version;
	json_t *n;
	size_t i;

	json_array_foreach(list, i, worker)
	{
		version = json_text(worker, "version", "");
		json_object_set_new(counts, version,
				    json_integer(json_number(counts, version, 0) + 1));
	}
	family(w, "workers", "gauge", "Workers of the fleet as this node sees it, by version.");
	json_object_foreach(counts, version, n)
	{
		fputs("zkleader_workers", w->out);
		labels(w->out, "version", version, NULL, NULL);
		fprintf(w->out, " %" PRId64 "\n", (int64_t)json_integer_value(n));
	}
}

static void node(const struct writer *w, const json_t *status)
{
	const json_t *session = json_object_get(status, "session");
	const json_t *offset = json_object_get(json_object_get(status, "clock"), "offset_ms");

	gauge(w, "session_confirmed", "Whether the quorum has confirmed the session.",
	      strcmp(json_text(session, "state", ""), "connected") == 0);
	gauge(w, "lease_seconds", "What is left of the lease; 0 is normal while nothing is led.",
	      number_of(status, "lease_ms") / MS_PER_S);
	gauge(w, "leads", "Tasks that this node leads.", number_of(status, "leads"));
	gauge(w, "problems", "Problems that status names.",
	      (double)json_array_size(json_object_get(status, "problems")));
	gauge(w, "disagreements", "Workers and tasks whose files say something else elsewhere.",
	      (double)json_array_size(json_object_get(status, "disagreements")));
	if (json_is_integer(offset))
		gauge(w, "clock_offset_seconds",
		      "By how much this node's clock is ahead of the ZooKeeper server's.",
		      (double)json_integer_value(offset) / MS_PER_S);
}

char *metrics_text(const json_t *metrics, const json_t *status, const json_t *list, bool open,
		   size_t *ret_len)
{
	char *text = NULL;
	struct writer w = {.out = open_memstream(&text, ret_len), .open = open};

	if (!w.out)
		abort(); /* no memory */
	gauge(&w, "up", "Whether the sidecar answers.", status != NULL);
	if (status)
		node(&w, status);
	if (list)
		workers(&w, list);
	if (metrics) {
		requests(&w, metrics);
		tasks(&w, metrics);
		queues(&w, metrics);
	}
	if (open)
		fputs("# EOF\n", w.out);
	fclose(w.out);
	return text;
}
