#include "web/metrics.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api/json.h"
#include "base/buffer.h"
#include "base/mem.h"

#define MS_PER_S   1000
#define BOUND_SIZE 40
#define BOUNDS_MAX 32 /* bounds of a histogram whose texts are kept */
#define LINE_SIZE  400
/* Up to so many thousandths, "%.6f" of a double prints the same digits as integer arithmetic. */
#define EXACT_MAX 1000000000000

/* The text of a bound, which is the same in the histograms of all tasks. */
struct bound {
	int64_t le, unit;
	size_t len;
	char text[BOUND_SIZE];
};

/*
 * Writes the metrics. Those of 1,000 tasks are a megabyte in 25,000 lines, for which printf() would
 * take most of the time.
 */
struct writer {
	struct buffer out;
	struct buffer line; /* the beginning of all lines of a histogram */
	bool open;	    /* the format is OpenMetrics */
	struct bound bounds[BOUNDS_MAX];
};

static void put(struct buffer *b, const char *text)
{
	buffer_append(b, text, strlen(text));
}

__attribute__((format(printf, 2, 3))) static void say(struct buffer *b, const char *format, ...)
{
	char text[LINE_SIZE];
	va_list args;

	va_start(args, format);
	int len = vsnprintf(text, sizeof(text), format, args);
	va_end(args);
	buffer_append(b, text, (size_t)len < sizeof(text) ? (size_t)len : sizeof(text) - 1);
}

static void put_int(struct buffer *b, int64_t n)
{
	char digits[24], *p = digits + sizeof(digits);
	uint64_t left = n < 0 ? 0 - (uint64_t)n : (uint64_t)n;

	do
		*--p = (char)('0' + left % 10);
	while ((left /= 10) > 0);
	if (n < 0)
		*--p = '-';
	buffer_append(b, p, (size_t)(digits + sizeof(digits) - p));
}

/* Writes n / unit with six decimals. */
static void put_decimals(struct buffer *b, int64_t n, int64_t unit)
{
	char decimals[] = ".000000";

	if (unit != MS_PER_S || n < 0 || n > EXACT_MAX) {
		say(b, "%.6f", (double)n / (double)unit);
		return;
	}
	put_int(b, n / MS_PER_S);
	for (int64_t i = 3, rest = n % MS_PER_S; i > 0; i--, rest /= 10)
		decimals[i] = (char)('0' + rest % 10);
	put(b, decimals);
}

/* Writes n / unit exactly and without an exponent. All numbers are counts or thousandths. */
static void number(struct writer *w, int64_t n, int64_t unit)
{
	if (n % unit == 0)
		put_int(&w->out, n / unit);
	else
		put_decimals(&w->out, n, unit);
	put(&w->out, "\n");
}

/* Writes the head of a family. name: without the "_total" of a counter's samples. */
static void family(struct writer *w, const char *name, const char *type, const char *help)
{
	const char *suffix = !w->open && strcmp(type, "counter") == 0 ? "_total" : "";

	say(&w->out, "# HELP zkleader_%s%s %s\n", name, suffix, help);
	say(&w->out, "# TYPE zkleader_%s%s %s\n", name, suffix, type);
}

/* Writes a label's value, with the escapes that both formats require. */
static void value(struct buffer *b, const char *text)
{
	for (;;) {
		size_t plain = strcspn(text, "\n\\\"");

		buffer_append(b, text, plain);
		text += plain;
		if (!*text)
			return;
		put(b, *text == '\n' ? "\\n" : *text == '"' ? "\\\"" : "\\\\");
		text++;
	}
}

static void label(struct buffer *b, const char *before, const char *key, const char *text)
{
	put(b, before);
	put(b, key);
	put(b, "=\"");
	value(b, text);
	put(b, "\"");
}

/*
 * Begins a sample, up to its number: "zkleader_", the name, the suffix, and a label if there is
 * one.
 */
static void sample(struct writer *w, const char *name, const char *suffix, const char *key,
		   const char *text)
{
	put(&w->out, "zkleader_");
	put(&w->out, name);
	put(&w->out, suffix);
	if (key) {
		label(&w->out, "{", key, text);
		put(&w->out, "}");
	}
	put(&w->out, " ");
}

static void gauge(struct writer *w, const char *name, const char *help, int64_t n, int64_t unit)
{
	family(w, name, "gauge", help);
	sample(w, name, "", NULL, NULL);
	number(w, n, unit);
}

/* --- histograms ----------------------------------------------------------- */

/* Makes the text of a bound. OpenMetrics requires "1.0" instead of "1". */
static void bound_text(const struct writer *w, struct bound *b, int64_t le, int64_t unit)
{
	double bound = (double)le / (double)unit;
	bool whole = bound == (double)(int64_t)bound;

	b->le = le;
	b->unit = unit;
	b->len = (size_t)snprintf(b->text, BOUND_SIZE, whole && w->open ? "%.1f" : "%g", bound);
}

static void put_bound(struct writer *w, size_t i, int64_t le, int64_t unit)
{
	struct bound once, *b = i < BOUNDS_MAX ? &w->bounds[i] : &once;

	if (b == &once || b->le != le || b->unit != unit)
		bound_text(w, b, le, unit);
	buffer_append(&w->out, b->text, b->len);
}

/*
 * Writes a histogram. h: {"counts": [within each bound, and above], "sum": S}, or NULL: nothing was
 * counted. Bounds and sum have the same unit, and so many of it as `unit` are a second.
 */
static void histogram(struct writer *w, const char *name, const json_t *bounds, const json_t *h,
		      int64_t unit, const char *key, const char *text)
{
	const json_t *counts = json_object_get(h, "counts");
	size_t n = json_array_size(bounds);
	int64_t count = 0;

	if (n == 0 || (counts && json_array_size(counts) != n + 1))
		return;
	buffer_clear(&w->line);
	put(&w->line, "zkleader_");
	put(&w->line, name);
	put(&w->line, "_bucket");
	if (key)
		label(&w->line, "{", key, text);
	put(&w->line, key ? ",le=\"" : "{le=\"");
	for (size_t i = 0; i <= n; i++) {
		count += json_integer_value(json_array_get(counts, i));
		buffer_append(&w->out, w->line.data, w->line.len);
		if (i < n)
			put_bound(w, i, json_integer_value(json_array_get(bounds, i)), unit);
		else
			put(&w->out, "+Inf");
		put(&w->out, "\"} ");
		put_int(&w->out, count);
		put(&w->out, "\n");
	}
	sample(w, name, "_sum", key, text);
	put_decimals(&w->out, json_number(h, "sum", 0), unit);
	put(&w->out, "\n");
	sample(w, name, "_count", key, text);
	number(w, count, 1);
}

/* --- tasks and queues ----------------------------------------------------- */

/*
 * Writes a family with a sample for each entry that has the key. scale: the number is divided by
 * it.
 */
static void each(struct writer *w, const char *name, const char *type, const char *help,
		 const json_t *entries, const char *of, const char *key, int64_t scale)
{
	const char *suffix = strcmp(type, "counter") == 0 ? "_total" : "";
	const json_t *entry;
	size_t i;

	family(w, name, type, help);
	json_array_foreach(entries, i, entry)
	{
		const json_t *n = json_object_get(entry, key);

		if (!n || json_is_null(n))
			continue;
		sample(w, name, suffix, of, json_text(entry, of, ""));
		if (json_is_boolean(n))
			number(w, json_is_true(n), 1);
		else
			number(w, json_integer_value(n), scale);
	}
}

static void runs(struct writer *w, const json_t *tasks, const json_t *bounds)
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
			put(&w->out, "zkleader_runs_total");
			label(&w->out, "{", "task", json_text(task, "task", ""));
			label(&w->out, ",", "state", state);
			put(&w->out, "} ");
			number(w, json_integer_value(n), 1);
		}
	}
	family(w, "run_seconds", "histogram", "How long the runs of tasks took on this node.");
	json_array_foreach(tasks, i, task)
		histogram(w, "run_seconds", bounds, json_object_get(task, "run_ms"), MS_PER_S,
			  "task", json_text(task, "task", ""));
}

static void tasks(struct writer *w, const json_t *metrics)
{
	const json_t *list = json_object_get(metrics, "tasks");

	each(w, "leaderships", "counter", "Leaderships that began on this node.", list, "task",
	     "leaderships", 1);
	each(w, "task_leads", "gauge", "Whether this node leads the task.", list, "task", "leads",
	     1);
	each(w, "task_paused", "gauge", "Whether operators let nobody lead the task.", list, "task",
	     "paused", 1);
	runs(w, list, json_object_get(metrics, "run_le"));
	each(w, "ticks_missed", "counter", "Ticks that this node, leading, recorded as missed.",
	     list, "task", "missed", 1);
	each(w, "last_ok_timestamp_seconds", "gauge",
	     "When the last run ended well, from the task's leader alone.", list, "task",
	     "last_ok_ms", MS_PER_S);
	each(w, "task_overdue", "gauge",
	     "Whether no run has ended well for alert-after, from the task's leader alone.", list,
	     "task", "overdue", 1);
}

static void queues(struct writer *w, const json_t *metrics)
{
	const json_t *list = json_object_get(metrics, "queues");

	each(w, "queued", "gauge", "Jobs that wait, from the queue's leader alone.", list, "queue",
	     "queued", 1);
	each(w, "oldest_seconds", "gauge", "For how long the oldest waits, likewise.", list,
	     "queue", "oldest_ms", MS_PER_S);
	each(w, "dead", "gauge", "Dead letters, likewise.", list, "queue", "dead", 1);
}

/* --- the node ------------------------------------------------------------- */

static void requests(struct writer *w, const json_t *metrics)
{
	json_t *methods = json_object_get(metrics, "requests"), *n;
	const json_t *answered = json_object_get(metrics, "zookeeper_ms");
	const char *method;

	family(w, "zookeeper_request_seconds", "histogram",
	       "From a request to ZooKeeper to its answer.");
	histogram(w, "zookeeper_request_seconds", json_object_get(answered, "le"), answered,
		  MS_PER_S, NULL, NULL);
	family(w, "requests", "counter", "Requests to the sidecar, by method.");
	json_object_foreach(methods, method, n)
	{
		sample(w, "requests", "_total", "method", method);
		number(w, json_integer_value(n), 1);
	}
}

static void workers(struct writer *w, const json_t *list)
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
		sample(w, "workers", "", "version", version);
		number(w, json_integer_value(n), 1);
	}
}

static void node(struct writer *w, const json_t *status)
{
	const json_t *session = json_object_get(status, "session");
	const json_t *offset = json_object_get(json_object_get(status, "clock"), "offset_ms");

	gauge(w, "session_confirmed", "Whether the quorum has confirmed the session.",
	      strcmp(json_text(session, "state", ""), "connected") == 0, 1);
	gauge(w, "lease_seconds", "What is left of the lease; 0 is normal while nothing is led.",
	      json_number(status, "lease_ms", 0), MS_PER_S);
	gauge(w, "leads", "Tasks that this node leads.", json_number(status, "leads", 0), 1);
	gauge(w, "problems", "Problems that status names.",
	      (int64_t)json_array_size(json_object_get(status, "problems")), 1);
	gauge(w, "disagreements", "Keys of tasks that are different in files of other workers.",
	      (int64_t)json_array_size(json_object_get(status, "disagreements")), 1);
	if (json_is_integer(offset))
		gauge(w, "clock_offset_seconds",
		      "By how much this node's clock is ahead of the ZooKeeper server's.",
		      json_integer_value(offset), MS_PER_S);
}

char *metrics_text(const json_t *metrics, const json_t *status, const json_t *list, bool open,
		   size_t *ret_len)
{
	struct writer w = {.open = open};

	buffer_init(&w.out, BUFFER_LIMIT_MAX);
	buffer_init(&w.line, BUFFER_LIMIT_MAX);
	gauge(&w, "up", "Whether the sidecar answers.", status != NULL, 1);
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
		put(&w.out, "# EOF\n");
	buffer_done(&w.line);
	*ret_len = w.out.len;
	/*
	 * The text is the whole buffer, as nothing was consumed. The unused memory behind it is
	 * freed.
	 */
	return mem_resize(w.out.base, w.out.len, 1);
}
