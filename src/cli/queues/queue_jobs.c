#include "cli/queues/queue_jobs.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "api/call.h"
#include "api/json.h"
#include "cli/queues/job_text.h"
#include "cli/ui/ask.h"
#include "cli/ui/table.h"
#include "wire/pack.h"

#define DEFAULT_JOBS  100
#define JOBS_MAX      9999999
#define MORE_TEXT_MAX 100

static const struct table_column columns[] = {
	{"JOB", 0},	      {"STATE", 0},
	{"AGE", TABLE_RIGHT}, {"ATTEMPT", TABLE_RIGHT | TABLE_DROP},
	{"NODE", TABLE_HOST}, {"DUE", TABLE_RIGHT},
	{"KEY", TABLE_CUT},   {"WHY", TABLE_DROP},
};

#define N_COLUMNS    (sizeof(columns) / sizeof(columns[0]))
#define COLUMN_STATE 1

static bool take_number(const struct context *c, const char *text, int64_t *ret_n)
{
	*ret_n = text ? options_number(text, JOBS_MAX) : DEFAULT_JOBS;
	if (*ret_n >= 1)
		return true;
	output_error(&c->output, "-n \"%s\": a number from 1 to 9999999 is needed", text);
	return false;
}

static int ask_page(struct context *c, const char *state, int64_t limit, const char *after,
		    json_t **ret_page)
{
	struct request request;
	struct pack *p = request_begin(&request, 2);
	size_t map;

	pack_str(p, c->args[0]);
	map = pack_open(p);
	pack_kv_int(p, "limit", limit);
	if (state)
		pack_kv_str(p, "state", state);
	if (after[0])
		pack_kv_str(p, "after", after);
	pack_close(p, map);
	return ask_packed(c, "jobs", &request, JSON_OBJECT, ret_page);
}

/* An answer has only some of the jobs, so this asks until it has all. */
static int ask_all(struct context *c, const char *state, int64_t most, json_t *all)
{
	char after[MORE_TEXT_MAX] = "";

	for (;;) {
		json_auto_t *page = NULL;
		int64_t left = most - (int64_t)json_array_size(all);
		int code = ask_page(c, state, left, after, &page);

		if (code != 0)
			return code;
		json_array_extend(all, json_object_get(page, "jobs"));
		const char *more = json_text(page, "more", "");
		if (!more[0] || strcmp(more, after) == 0 || strlen(more) >= sizeof(after) ||
		    (int64_t)json_array_size(all) >= most)
			return 0;
		snprintf(after, sizeof(after), "%s", more);
	}
}

static void add_row(struct table *t, const struct output *o, const json_t *job)
{
	const char *state = json_text(job, "state", "-");
	char age[OUTPUT_AGE_SIZE], due[OUTPUT_AGE_SIZE] = "-", attempt[24];
	const char *cells[N_COLUMNS] = {json_text(job, "id", NULL),
					state,
					age,
					attempt,
					json_text(job, "node", NULL),
					due,
					json_text(job, "key", NULL),
					json_text(job, "why", NULL)};

	age_text(json_text(job, "submitted", NULL), o->now_ms, age);
	snprintf(attempt, sizeof(attempt), "%" PRId64, json_number(job, "attempt", 0));
	if (strcmp(state, "queued") == 0)
		until_text(json_text(job, "due", NULL), o->now_ms, due);
	table_row(t, cells, COLOR_NONE);
	table_color(t, COLUMN_STATE, job_text_color(state));
}

int queue_jobs_print(struct context *c, const char *state, const char *number)
{
	const struct output *o = &c->output;
	json_auto_t *jobs = json_array();
	const json_t *job;
	int64_t most;
	size_t i;
	int code;

	if (!take_number(c, number, &most))
		return ZKLEADER_MISUSE;
	code = ask_all(c, state, most, jobs);
	if (code != 0)
		return code;
	if (o->json) {
		output_json(o, jobs);
		return ZKLEADER_OK;
	}
	if (json_array_size(jobs) == 0) {
		output_line(o, COLOR_NONE, "%s has no jobs%s%s", c->args[0],
			    state ? " that are " : "", state ? state : "");
		return ZKLEADER_OK;
	}
	bool why = false; /* the last column is left out where nothing is in it */
	json_array_foreach(jobs, i, job) why |= json_text(job, "why", NULL) != NULL;
	struct table *t = table_new(o, columns, N_COLUMNS - !why);
	json_array_foreach(jobs, i, job) add_row(t, o, job);
	table_print(t);
	return ZKLEADER_OK;
}
