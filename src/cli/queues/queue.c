/* zkleader queue: how many jobs of a queue wait and run, and on which nodes. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "api/json.h"
#include "cli/queues/queue_jobs.h"
#include "cli/ui/ask.h"
#include "cli/ui/command.h"
#include "cli/ui/live.h"
#include "cli/ui/table.h"

#define REFRESH_MS 1000

enum { OPTION_WATCH, OPTION_JOBS, OPTION_STATE, OPTION_NUMBER };

static const struct option_spec options[] = {
	{'W', "watch", NULL, "keep it as things are, until q, INT or TERM"},
	{300, "jobs", NULL, "its jobs, the newest first"},
	{301, "state", "S", "with --jobs: those in this state"},
	{'n', "number", "N", "with --jobs: so many at most (100)"},
	{0, NULL, NULL, NULL},
};

static const struct table_column columns[] = {
	{"QUEUE", TABLE_CUT},	  {"STATE", 0},
	{"QUEUED", TABLE_RIGHT},  {"OLDEST", TABLE_RIGHT},
	{"RUNNING", TABLE_RIGHT}, {"RATE", TABLE_RIGHT},
	{"DEAD", TABLE_RIGHT},
};

#define N_COLUMNS    (sizeof(columns) / sizeof(columns[0]))
#define COLUMN_STATE 1
#define COLUMN_DEAD  6
#define NAME_SIZE    600

/* The number of running jobs, "3", or with their limit, "3/10". */
static void of_most(const json_t *object, const char *most_key, char text[32])
{
	int64_t running = json_number(object, "running", 0);
	int64_t most = json_number(object, most_key, -1);

	if (most >= 0)
		snprintf(text, 32, "%" PRId64 "/%" PRId64, running, most);
	else
		snprintf(text, 32, "%" PRId64, running);
}

static void add_worker(struct table *t, const json_t *worker)
{
	char name[NAME_SIZE], running[32];
	const char *cells[N_COLUMNS] = {name, "", "", "", running, "", ""};

	snprintf(name, sizeof(name), "  %s", json_text(worker, "node", "-"));
	of_most(worker, "slots", running);
	table_row(t, cells, COLOR_DIM);
}

static void add_queue(struct table *t, const json_t *queue)
{
	char queued[24], oldest[OUTPUT_AGE_SIZE], running[32], dead[24];
	const char *state = json_text(queue, "state", "-");
	const char *cells[N_COLUMNS] = {
		json_text(queue, "queue", NULL), state, queued, oldest, running,
		json_text(queue, "rate", NULL),	 dead};
	const json_t *worker;
	size_t i;

	snprintf(queued, sizeof(queued), "%" PRId64, json_number(queue, "queued", 0));
	snprintf(dead, sizeof(dead), "%" PRId64, json_number(queue, "dead", 0));
	if (json_number(queue, "queued", 0) > 0)
		elapsed_text(json_number(queue, "oldest_ms", 0), oldest);
	else
		snprintf(oldest, sizeof(oldest), "-");
	of_most(queue, "concurrency", running);
	table_row(t, cells, COLOR_NONE);
	if (strcmp(state, "active") != 0)
		table_color(t, COLUMN_STATE, COLOR_YELLOW);
	if (json_number(queue, "dead", 0) > 0)
		table_color(t, COLUMN_DEAD, COLOR_RED);
	json_array_foreach(json_object_get(queue, "workers"), i, worker) add_worker(t, worker);
}

static void print_nothing(const struct context *c, const struct live_page *page)
{
	(void)c, (void)page;
}

static void print_table(const struct context *c, const struct live_page *page)
{
	const json_t *queue;
	struct table *t;
	size_t i;

	if (json_array_size(page->shown) == 0) {
		output_line(&c->output, COLOR_NONE,
			    json_array_size(page->all) == 0 ? "no queue is configured on this host"
							    : "no queue matches");
		return;
	}
	t = table_new(&c->output, columns, N_COLUMNS);
	json_array_foreach(page->shown, i, queue) add_queue(t, queue);
	table_print(t);
}

static json_t *take(const struct live_view *view, const json_t *queues)
{
	const char *name = view->arg;
	json_t *taken = json_array();
	json_t *queue;
	size_t i;

	json_array_foreach(queues, i, queue)
	{
		if (!name || strcmp(json_text(queue, "queue", ""), name) == 0)
			json_array_append(taken, queue);
	}
	return taken;
}

static int run(struct context *c)
{
	const struct live_view view = {.first = "queue",
				       .refresh_ms = REFRESH_MS,
				       .arg = c->n_args > 0 ? c->args[0] : NULL,
				       .take = take,
				       .above = print_nothing,
				       .table = print_table,
				       .below = print_nothing};
	json_auto_t *one = NULL, *list = NULL;
	bool jobs = c->values[OPTION_JOBS] != NULL;
	int code;

	if ((jobs && (c->n_args == 0 || c->values[OPTION_WATCH])) ||
	    (!jobs && (c->values[OPTION_STATE] || c->values[OPTION_NUMBER]))) {
		output_error(&c->output, "--jobs takes a QUEUE, --state and -n, and no --watch");
		return ZKLEADER_MISUSE;
	}
	if (jobs)
		return queue_jobs_print(c, c->values[OPTION_STATE], c->values[OPTION_NUMBER]);
	if (c->n_args == 0)
		return c->values[OPTION_WATCH] ? live_follow(c, &view) : live_once(c, &view);
	code = ask(c, "queue", JSON_OBJECT, &one); /* prints an error if there is no such queue */
	if (code != 0)
		return code;
	if (c->values[OPTION_WATCH]) {
		zkleader_close(c->z);
		c->z = NULL;
		return live_follow(c, &view);
	}
	if (c->output.json) {
		output_json(&c->output, one);
		return ZKLEADER_OK;
	}
	list = json_pack("[O]", one);
	print_table(c, &(struct live_page){list, list, NULL});
	return ZKLEADER_OK;
}

const struct command command_queue = {
	.name = "queue",
	.args = "[QUEUE]",
	.help = "what waits in a queue, what runs and where",
	.more = "QUEUED counts what has not begun, OLDEST is for how long the oldest that is due\n"
		"has waited, RUNNING what was given to workers, of as many as may be; below a\n"
		"queue its workers. STATE: active, paused, unserved (no worker is there for it)\n"
		"or full. Keys with --watch: arrows, page keys, / filters, q ends. --jobs: DUE is\n"
		"when a job that waits may begin, AGE the time since its submission.\n",
	.max_args = 1,
	.options = options,
	.run = run,
};
