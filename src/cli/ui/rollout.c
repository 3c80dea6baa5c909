#include "cli/ui/rollout.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api/json.h"
#include "base/clock.h"
#include "base/mem.h"

/* The workers with one version. */
struct group {
	int64_t workers, drained;
	uint64_t leads; /* unsigned, so that no sum of the sidecar's numbers overflows */
};

static struct group group_of(const json_t *workers, const char *version)
{
	struct group g = {0};

	for (size_t i = 0; i < json_array_size(workers); i++) {
		const json_t *w = json_array_get(workers, i);

		if (strcmp(json_text(w, "version", ""), version) != 0)
			continue;
		g.workers++;
		g.drained += strcmp(json_text(w, "state", ""), "drained") == 0;
		g.leads += (uint64_t)json_number(w, "leads", 0);
	}
	return g;
}

/* Whether no worker before this one has its version. */
static bool is_first(const json_t *workers, size_t at)
{
	const char *version = json_text(json_array_get(workers, at), "version", "");

	for (size_t i = 0; i < at; i++)
		if (strcmp(json_text(json_array_get(workers, i), "version", ""), version) == 0)
			return false;
	return true;
}

/* The numbers of tasks that any worker lists, and of all their partitions. */
struct led {
	size_t tasks, partitions;
};

static struct led count_led(const json_t *workers)
{
	json_auto_t *split = json_object(), *names = json_object();
	struct led led = {0};
	const char *name;
	json_t *n;

	for (size_t i = 0; i < json_array_size(workers); i++) {
		const json_t *w = json_array_get(workers, i), *tasks = json_object_get(w, "tasks");

		json_object_update(split, json_object_get(w, "partitions"));
		for (size_t j = 0; j < json_array_size(tasks); j++) {
			name = json_string_value(json_array_get(tasks, j));
			if (name)
				json_object_set_new(names, name, json_true());
		}
	}
	json_object_foreach(split, name, n)
	{
		if (json_object_del(names, name) == 0)
			led.partitions += (size_t)json_integer_value(n);
	}
	led.tasks = json_object_size(names);
	return led;
}

static void put_led(FILE *f, struct led led)
{
	if (led.tasks > 0 || led.partitions == 0)
		fprintf(f, "%zu %s", led.tasks, led.tasks == 1 ? "task" : "tasks");
	if (led.partitions > 0)
		fprintf(f, "%s%zu partitions", led.tasks > 0 ? " and " : "", led.partitions);
}

static void put_group(FILE *f, const json_t *workers, const char *version, bool first)
{
	struct group g = group_of(workers, version);

	fprintf(f, "%s%s: %" PRId64, first ? "" : "; ", version, g.workers);
	if (first)
		fprintf(f, " of %zu", json_array_size(workers));
	fprintf(f, " %s", !first && g.workers == 1 ? "worker" : "workers");
	if (g.drained > 0)
		fprintf(f, " (%" PRId64 " drained)", g.drained);
	fprintf(f, ", leads %" PRId64, (int64_t)g.leads);
	if (first) {
		fputs(" of ", f);
		put_led(f, count_led(workers));
	}
}

char *rollout_text(const json_t *workers)
{
	char *text = NULL;
	size_t len, n = 0;
	FILE *f = mem_stream(&text, &len);

	for (size_t i = 0; i < json_array_size(workers); i++)
		if (is_first(workers, i))
			put_group(f, workers, json_text(json_array_get(workers, i), "version", ""),
				  n++ == 0);
	mem_stream_end(f);
	if (n > 1)
		return text;
	free(text);
	return NULL;
}

/* When the first of the present workers registered, ms since the epoch; 0: not known. */
static int64_t first_since(const json_t *workers)
{
	int64_t first = 0;

	for (size_t i = 0; i < json_array_size(workers); i++) {
		const char *since = json_text(json_array_get(workers, i), "since", NULL);
		int64_t ms;

		if (since && clock_parse(since, &ms) == 0 && (first == 0 || ms < first))
			first = ms;
	}
	return first;
}

char *rollout_complete(const json_t *workers, int64_t ended_ms)
{
	const char *version = json_text(json_array_get(workers, 0), "version", "");
	struct group g = group_of(workers, version);
	size_t all = json_array_size(workers);
	int64_t began_ms = first_since(workers);
	char took[OUTPUT_AGE_SIZE], *text = NULL;

	if (all == 0 || (size_t)g.workers != all)
		return NULL;
	duration_text(began_ms > 0 ? ended_ms - began_ms : 0, took);
	if (asprintf(&text, "rollout of %s complete: %zu of %zu workers, %" PRIu64 " %s, %s",
		     version, all, all, g.leads,
		     count_led(workers).partitions > 0 ? "tasks and partitions"
		     : g.leads == 1		       ? "task"
						       : "tasks",
		     took) < 0)
		abort();
	return text;
}

bool rollout_print(const struct output *o, const json_t *workers)
{
	mem_auto char *text = rollout_text(workers);

	if (text)
		output_line(o, COLOR_NONE, "%s", text);
	return text != NULL;
}
