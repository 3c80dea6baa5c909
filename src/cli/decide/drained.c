#include "cli/decide/drained.h"

#include <inttypes.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api/json.h"
#include "base/clock.h"
#include "base/mem.h"
#include "base/text/names.h"
#include "cli/ui/ask.h"

#define ASK_EVERY_MS	    300
#define ASK_QUEUES_EVERY_MS 1000 /* jobs of queues alone are left: a look reads ZooKeeper */
#define NAMES_SHOWN	    5

/* The tasks and jobs that a drained node still leads and runs. */
struct rest {
	int64_t leads;	/* number of tasks, including those that this sidecar has no file for */
	json_t *names;	/* of the tasks among them that this sidecar has a file for */
	json_t *jobs;	/* the runs that go on here, as texts; NULL: it is another node */
	json_t *nodes;	/* the names under which its workers are listed */
	int64_t queued; /* jobs of queues; looked at once nothing else is left */
};

static void rest_done(struct rest *r)
{
	json_decref(r->names);
	json_decref(r->jobs);
	json_decref(r->nodes);
}

/* Counts the tasks that the node's workers lead: the workers whose drain has the node's name. */
static void count_leads(struct rest *r, const json_t *workers, const json_t *tasks,
			const char *node)
{
	for (size_t i = 0; i < json_array_size(workers); i++) {
		const json_t *w = json_array_get(workers, i);
		const char *id = json_text(w, "id", "");

		if (strcmp(json_text(json_object_get(w, "drain"), "node", ""), node) != 0)
			continue;
		r->leads += json_number(w, "leads", 0);
		json_array_append(r->nodes, json_object_get(w, "node"));
		if (json_flag(w, "self") && !r->jobs)
			r->jobs = json_array();
		for (size_t j = 0; j < json_array_size(tasks); j++) {
			const json_t *t = json_array_get(tasks, j);

			if (strcmp(json_text(json_object_get(t, "leader"), "id", ""), id) == 0)
				json_array_append(r->names, json_object_get(t, "task"));
		}
	}
}

static void add_jobs(struct rest *r, const json_t *jobs)
{
	for (size_t i = 0; r->jobs && i < json_array_size(jobs); i++) {
		const json_t *job = json_array_get(jobs, i);
		const char *tick = json_text(job, "tick", NULL);
		mem_auto char *text = NULL;

		if (asprintf(&text, "%s%s%s%s", json_text(job, "task", "-"), tick ? " (" : "",
			     tick ? tick : "", tick ? ")" : "") < 0)
			abort();
		json_array_append_new(r->jobs, json_string(text));
	}
}

static bool is_listed(const json_t *names, const char *name)
{
	for (size_t i = 0; i < json_array_size(names); i++)
		if (strcmp(json_string_value(json_array_get(names, i)), name) == 0)
			return true;
	return false;
}

/* Counts the jobs that the node has of the queues that this sidecar knows. */
static void count_queued(struct rest *r, const json_t *queues)
{
	for (size_t i = 0; i < json_array_size(queues); i++) {
		const json_t *workers = json_object_get(json_array_get(queues, i), "workers");

		for (size_t j = 0; j < json_array_size(workers); j++) {
			const json_t *w = json_array_get(workers, j);

			if (is_listed(r->nodes, json_text(w, "node", "")))
				r->queued += json_number(w, "running", 0);
		}
	}
}

static int no_answer(const struct context *c)
{
	output_error(&c->output, "the sidecar does not answer any more: %s",
		     zkleader_message(c->z));
	return ZKLEADER_CANNOT_TELL;
}

/*
 * Asks the sidecar what the node still leads and runs. 0, or an exit code after a line on the error
 * stream.
 */
static int look(struct context *c, const char *node, struct rest *r)
{
	json_auto_t *workers = ask_quietly(c, "workers", JSON_ARRAY);
	json_auto_t *tasks = ask_quietly(c, "tasks", JSON_ARRAY);
	json_auto_t *status = ask_quietly(c, "status", JSON_OBJECT);

	*r = (struct rest){.names = json_array(), .nodes = json_array()};
	if (!workers || !tasks || !status)
		return no_answer(c);
	if (json_text(status, "stale_since", NULL)) {
		output_error(&c->output, "the session with ZooKeeper was lost while waiting");
		return ZKLEADER_CANNOT_TELL;
	}
	count_leads(r, workers, tasks, node);
	add_jobs(r, json_object_get(status, "jobs"));
	if (r->leads > 0 || json_array_size(r->jobs) > 0)
		return 0;
	json_auto_t *queues = ask_quietly(c, "queue", JSON_ARRAY);

	if (!queues)
		return no_answer(c);
	count_queued(r, queues);
	return 0;
}

static int by_name(const void *a, const void *b)
{
	return names_natural(*(const char *const *)a, *(const char *const *)b);
}

static void put_names(FILE *f, const char *what, const json_t *names)
{
	size_t n = json_array_size(names);
	mem_auto const char **sorted = mem_calloc(n + 1, sizeof(*sorted));

	if (n == 0)
		return;
	for (size_t i = 0; i < n; i++)
		sorted[i] = json_string_value(json_array_get(names, i));
	qsort(sorted, n, sizeof(*sorted), by_name);
	fprintf(f, "%s", what);
	for (size_t i = 0; i < n && i < NAMES_SHOWN; i++)
		fprintf(f, "%s%s", i > 0 ? ", " : "", sorted[i]);
	if (n > NAMES_SHOWN)
		fprintf(f, " and %zu more", n - NAMES_SHOWN);
}

static void say_rest(const struct output *o, const char *name, const struct rest *r)
{
	mem_auto char *text = NULL;
	size_t len;
	FILE *f = mem_stream(&text, &len);

	fprintf(f, "waiting for %s: it still leads %" PRId64 " %s", name, r->leads,
		r->leads == 1 ? "task" : "tasks");
	put_names(f, ": ", r->names);
	put_names(f, "; jobs that run: ", r->jobs);
	if (r->queued > 0)
		fprintf(f, "; it has %" PRId64 " %s of queues", r->queued,
			r->queued == 1 ? "job" : "jobs");
	mem_stream_end(f);
	output_line(o, COLOR_NONE, "%s", text);
}

static int conclude(const struct context *c, json_t *result, const char *name, bool done)
{
	json_object_set_new(result, "drained", json_boolean(done));
	if (done && !c->output.json)
		output_line(&c->output, COLOR_NONE, "%s leads nothing, and no job runs there",
			    name);
	if (!done)
		output_error(&c->output, "%s is not done in time; the drain stays", name);
	return done ? ZKLEADER_OK : ZKLEADER_NOT_LEADER;
}

int drained_wait(struct context *c, json_t *result, int64_t wait_ms)
{
	const char *node = json_text(result, "node", ""), *name = json_text(result, "name", node);
	int64_t began_ms = clock_boot_ms(), told = -1, told_queued = 0;
	int code = 0;

	c->n_args = 0;
	for (;;) {
		struct rest r;
		bool late = clock_boot_ms() - began_ms >= wait_ms;

		code = look(c, node, &r);
		bool done =
			code == 0 && r.leads == 0 && json_array_size(r.jobs) == 0 && r.queued == 0;
		if (code == 0 && !done && !late && (r.leads != told || r.queued != told_queued) &&
		    !c->output.json) {
			say_rest(&c->output, name, &r);
			fflush(c->output.out);
			told = r.leads;
			told_queued = r.queued;
		}
		int pause_ms = r.queued > 0 ? ASK_QUEUES_EVERY_MS : ASK_EVERY_MS;

		rest_done(&r);
		if (code != 0 || done || late)
			return code != 0 ? code : conclude(c, result, name, done);
		poll(NULL, 0, pause_ms);
	}
}
