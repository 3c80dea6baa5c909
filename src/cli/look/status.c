#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "api/json.h"
#include "base/mem.h"
#include "base/text/duration.h"
#include "cli/ui/ask.h"
#include "cli/ui/command.h"
#include "cli/ui/decision.h"

#define TASKS_SHOWN 3 /* in a line about a key */
#define GROUP_SHOWN 3 /* nodes of a group in it */

enum { OPTION_LIVE, OPTION_READY };

static const struct option_spec options[] = {
	{300, "live", NULL, "for a probe: only whether the sidecar answers"},
	{301, "ready", NULL, "for a probe: only whether it has a confirmed session"},
	{0, NULL, NULL, NULL},
};

static void span_text(int64_t ms, char text[DURATION_TEXT_SIZE])
{
	duration_format(ms > 0 ? ms : 0, text);
}

/* The number under this key, or the length of the array. */
static int64_t count(const json_t *status, const char *key)
{
	const json_t *value = json_object_get(status, key);

	return json_is_array(value) ? (int64_t)json_array_size(value) : json_integer_value(value);
}

/* Prints what a server said last, in short: the problem has the rest. */
static void print_last_error(const struct output *o, const json_t *error)
{
	const char *message = json_text(error, "message", NULL);
	char age[OUTPUT_AGE_SIZE];

	if (!message)
		return;
	age_text(json_text(error, "time", NULL), o->now_ms, age);
	output_line(o, COLOR_YELLOW, "Last error %.*s, of %s %s ago", (int)strcspn(message, ":"),
		    message, json_text(error, "server", "a server"), age);
}

static void print_session(const struct output *o, const json_t *status)
{
	const json_t *session = json_object_get(status, "session");
	const char *server = json_text(session, "server", NULL);
	const char *id = json_text(session, "id", NULL);
	const char *since = json_text(session, "since", NULL);
	char timeout[DURATION_TEXT_SIZE], lease[DURATION_TEXT_SIZE], age[OUTPUT_AGE_SIZE];

	age_text(since, o->now_ms, age);
	span_text(json_number(session, "timeout_ms", 0), timeout);
	span_text(json_number(status, "lease_ms", 0), lease);
	output_line(o, COLOR_NONE, "ZooKeeper  %s, root %s", json_text(status, "zookeeper", "-"),
		    json_text(status, "root", "-"));
	if (id)
		output_line(o, COLOR_NONE, "Session    %s %s%s%s, timeout %s%s%s%s", id,
			    json_text(session, "state", "-"), server ? " to " : "",
			    server ? server : "", timeout, since ? ", " : "", since ? age : "",
			    since ? " old" : "");
	else
		output_line(o, COLOR_YELLOW, "Session    none (%s)",
			    json_text(session, "state", "-"));
	print_last_error(o, json_object_get(session, "last_error"));
	if (json_number(status, "lease_ms", 0) > 0)
		output_line(o, COLOR_NONE, "Lease      %s left", lease);
	else
		output_line(o, json_flag(status, "healthy") ? COLOR_NONE : COLOR_YELLOW,
			    "Lease      none");
}

static void print_watches(const struct output *o, const json_t *watches)
{
	int64_t by_time = json_number(watches, "by_time", 0);

	if (!watches)
		return; /* of a sidecar that does not tell */
	output_line(o, by_time > 0 ? COLOR_YELLOW : COLOR_NONE,
		    "Watches    %" PRId64 ", of %" PRId64 " bytes of %" PRId64 ", and %" PRId64
		    " paths looked at by time",
		    json_number(watches, "count", 0), json_number(watches, "bytes", 0),
		    json_number(watches, "limit", 0), by_time);
}

static void print_roll(const struct output *o, const json_t *roll)
{
	const char *state = json_text(roll, "state", "off");
	const char *keeper = json_text(roll, "keeper", NULL);

	if (strcmp(state, "off") != 0)
		output_line(o, COLOR_NONE, "Roll       %s, %" PRId64 " workers%s%s", state,
			    json_number(roll, "workers", 0), keeper ? ", kept by " : "",
			    keeper ? keeper : "");
}

static void print_clock(const struct output *o, const json_t *clock)
{
	const char *says = json_text(clock, "says", NULL);
	int64_t offset = json_number(clock, "offset_ms", 0);
	int64_t tolerance = json_number(clock, "tolerance_ms", 0);
	bool far = offset > tolerance || -offset > tolerance, off = json_flag(clock, "off");

	if (says)
		output_line(o,
			    off	  ? COLOR_RED
			    : far ? COLOR_YELLOW
				  : COLOR_NONE,
			    "Clock      %s%s", says, off ? " and most workers'" : "");
}

/* Prints the checks that fail, of the node and of tasks. What many say is printed once. */
static void print_health(const struct output *o, const json_t *health)
{
	const char *node = json_text(health, "node", NULL);
	const json_t *tasks = json_object_get(health, "tasks");

	if (node)
		output_line(o, COLOR_RED, "Health     this node fails its check: %s", node);
	for (size_t i = 0, n; i < json_array_size(tasks); i += n) {
		const char *task = json_text(json_array_get(tasks, i), "task", "-");
		const char *says = json_text(json_array_get(tasks, i), "says", "-");

		for (n = 1; i + n < json_array_size(tasks); n++)
			if (strcmp(json_text(json_array_get(tasks, i + n), "says", "-"), says) != 0)
				break;
		if (n == 1)
			output_line(o, COLOR_YELLOW, "Health     %s fails its check: %s", task,
				    says);
		else
			output_line(o, COLOR_YELLOW,
				    "Health     %s and %zu more fail their checks: %s", task, n - 1,
				    says);
	}
}

/* The first names of a list, and how many more there are. */
static void put_names(FILE *f, const json_t *names, size_t shown, int64_t count)
{
	size_t n = json_array_size(names) < shown ? json_array_size(names) : shown;

	for (size_t i = 0; i < n; i++)
		fprintf(f, "%s%s", i > 0 ? ", " : "", json_string_value(json_array_get(names, i)));
	if (count > (int64_t)n)
		fprintf(f, " and %" PRId64 " more", count - (int64_t)n);
}

/* The biggest group has what most have, unless the next is as big. */
static void put_groups(FILE *f, const json_t *groups)
{
	size_t first = json_array_size(json_array_get(groups, 0));
	bool most = first > json_array_size(json_array_get(groups, 1));

	for (size_t i = 0; i < json_array_size(groups); i++) {
		const json_t *group = json_array_get(groups, i);

		fprintf(f, "%s", i == 0 ? (most ? "most as " : "") : most ? ", not " : " | ");
		put_names(f, group, GROUP_SHOWN, (int64_t)json_array_size(group));
	}
}

/* Prints a line for each key in which hosts' files differ. */
static void print_disagreements(const struct output *o, const json_t *list)
{
	for (size_t i = 0; i < json_array_size(list); i++) {
		const json_t *one = json_array_get(list, i);
		int64_t tasks = json_number(one, "count", 0);
		mem_auto char *text = NULL;
		size_t len;
		FILE *f = mem_stream(&text, &len);

		fprintf(f, "Disagrees  %s of %" PRId64 " %s (", json_text(one, "key", "-"), tasks,
			tasks == 1 ? "task" : "tasks");
		put_names(f, json_object_get(one, "tasks"), TASKS_SHOWN, tasks);
		fprintf(f, "): ");
		put_groups(f, json_object_get(one, "groups"));
		mem_stream_end(f);
		output_line(o, COLOR_YELLOW, "%s", text);
	}
}

/* Prints since when the view of the fleet may be out of date. */
static void print_stale(const struct output *o, const char *since)
{
	char age[OUTPUT_AGE_SIZE];

	if (!since)
		return;
	age_text(since, o->now_ms, age);
	output_line(o, COLOR_YELLOW, "Confirmed  not since %s (%s ago)", since, age);
}

static void print_pending(const struct output *o, const json_t *keys)
{
	for (size_t i = 0; i < json_array_size(keys); i++) {
		const char *key = json_string_value(json_array_get(keys, i));

		output_line(o, COLOR_YELLOW, "Pending    %s takes effect with a restart",
			    key ? key : "-");
	}
}

/* Prints the node, as "app1 (192.0.2.7)" or "blue (app1, 192.0.2.7)". */
static void print_node(const struct output *o, const json_t *status)
{
	const char *hostname = json_text(status, "hostname", "-");
	const char *name = json_text(status, "node", hostname), *ip = json_text(status, "ip", NULL);
	const char *host = strcmp(name, hostname) == 0 ? "" : hostname;

	output_line(o, COLOR_NONE, "Node       %s%s%s%s%s%s", name, host[0] || ip ? " (" : "", host,
		    host[0] && ip ? ", " : "", ip ? ip : "", host[0] || ip ? ")" : "");
}

static void print_worker(const struct output *o, const json_t *status)
{
	const char *registered = json_text(status, "registered_at", NULL);
	const char *id = json_text(status, "id", NULL);
	char age[OUTPUT_AGE_SIZE];

	age_text(registered, o->now_ms, age);
	output_line(o, COLOR_NONE, "Worker     %s%s%s%s", id ? id : "not in the fleet",
		    registered ? ", registered " : "", registered ? age : "",
		    registered ? " ago" : "");
}

static void print_status(const struct output *o, const json_t *status)
{
	const json_t *problems = json_object_get(status, "problems");
	const json_t *warnings = json_object_get(status, "warnings");
	const char *started = json_text(status, "started_at", NULL);
	const json_t *drain = json_object_get(status, "drain");
	char age[OUTPUT_AGE_SIZE];

	age_text(started, o->now_ms, age);
	if (json_flag(status, "healthy"))
		output_line(o, COLOR_GREEN, "Healthy    yes");
	else
		output_line(o, COLOR_RED, "Healthy    no: %s", json_text(status, "why", "unknown"));
	print_node(o, status);
	output_line(o, COLOR_NONE, "Version    %s", json_text(status, "version", "-"));
	print_worker(o, status);
	print_session(o, status);
	print_watches(o, json_object_get(status, "watches"));
	print_roll(o, json_object_get(status, "roll"));
	print_stale(o, json_text(status, "stale_since", NULL));
	output_line(o, COLOR_NONE, "Leads      %" PRId64 " of %" PRId64 " tasks",
		    count(status, "leads"), count(status, "tasks"));
	if (json_is_object(drain)) {
		mem_auto char *text = decision_text(drain, o->now_ms);
		output_line(o, COLOR_YELLOW, "State      %s", text);
	}
	output_line(o, COLOR_NONE, "Sidecar    %s, up %s (since %s)",
		    json_text(status, "sidecar_version", "-"), age, started ? started : "-");
	print_pending(o, json_object_get(status, "pending_restart"));
	print_clock(o, json_object_get(status, "clock"));
	print_health(o, json_object_get(status, "health"));
	print_disagreements(o, json_object_get(status, "disagreements"));
	if (json_array_size(problems) > 0)
		output_line(o, COLOR_RED, "Problems   %zu:", json_array_size(problems));
	else
		output_line(o, COLOR_NONE, "Problems   none");
	output_problems(o->out, "", problems);
	if (json_array_size(warnings) > 0)
		output_line(o, COLOR_YELLOW, "Warnings   in the configuration:");
	output_problems(o->out, "", warnings);
}

/* The check of --ready: prints nothing if the sidecar is ready, or if --ready is not given. */
static int probe(const struct context *c, const json_t *status)
{
	const json_t *session = json_object_get(status, "session");
	const char *why = json_text(status, "why", NULL);

	if (!c->values[OPTION_READY] || strcmp(json_text(session, "state", ""), "connected") == 0)
		return ZKLEADER_OK;
	output_error(&c->output, "not ready: %s", why ? why : "no confirmed session");
	return ZKLEADER_CANNOT_TELL;
}

static int run(struct context *c)
{
	json_auto_t *status = NULL;
	int code = ask(c, "status", JSON_OBJECT, &status);

	if (code != 0)
		return code;
	if (c->values[OPTION_LIVE] || c->values[OPTION_READY])
		return probe(c, status);
	if (c->output.json)
		output_json(&c->output, status);
	else
		print_status(&c->output, status);
	return json_flag(status, "healthy") ? ZKLEADER_OK : ZKLEADER_CANNOT_TELL;
}

const struct command command_status = {
	.name = "status",
	.args = "",
	.help = "this sidecar: session, lease, tasks led, problems",
	.more = "For probes --live and --ready say less: a mistake in a file is none of theirs.\n",
	.exits = "0 the sidecar is healthy (--live: answers; --ready: has a confirmed\n"
		 "      session), 2 it is not, or does not answer, 3 misuse",
	.options = options,
	.run = run,
};
