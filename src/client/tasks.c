#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/mem.h"
#include "client/command.h"
#include "client/decision.h"
#include "client/json.h"
#include "client/live.h"
#include "client/rollout.h"
#include "client/table.h"

enum { OPTION_WATCH };

static const struct option_spec options[] = {
	{'W', "watch", NULL, "keep it as things are, until INT or TERM"},
	{0, NULL, NULL, NULL},
};

static const struct table_column columns[] = {
	{"TASK", TABLE_CUT_LAST}, {"LEADER", TABLE_CUT},  {"VERSION", TABLE_CUT_LAST},
	{"SINCE", TABLE_RIGHT},	  {"TOKEN", TABLE_RIGHT}, {"STATE", 0},
};

#define N_COLUMNS    (sizeof(columns) / sizeof(columns[0]))
#define COLUMN_STATE 5

static enum color state_color(const char *state)
{
	static const struct {
		const char *state;
		enum color color;
	} colors[] = {
		{"leading", COLOR_GREEN},    {"contending", COLOR_YELLOW},
		{"paused", COLOR_YELLOW},    {"drained", COLOR_YELLOW},
		{"disconnected", COLOR_RED}, {"unhealthy", COLOR_YELLOW},
	};

	for (size_t i = 0; i < sizeof(colors) / sizeof(colors[0]); i++)
		if (strcmp(state, colors[i].state) == 0)
			return colors[i].color;
	return COLOR_NONE;
}

/* What this node is to the task: JSON's state, but for one that it would lead if it were well. */
static const char *state_of(const json_t *task)
{
	const char *state = json_text(task, "state", "-");

	return json_text(task, "unhealthy", NULL) && strcmp(state, "following") == 0 ? "unhealthy"
										     : state;
}

static void add_task(struct table *t, const struct context *c, const json_t *task)
{
	const json_t *leader = json_object_get(task, "leader");
	const char *state = state_of(task);
	const json_t *number = json_object_get(task, "token");
	char token[24], since[OUTPUT_AGE_SIZE];
	const char *cells[N_COLUMNS] = {
		json_text(task, "task", NULL),		json_worker_name(leader),
		json_text(leader, "version", NULL),	since,
		json_is_integer(number) ? token : NULL, state,
	};

	snprintf(token, sizeof(token), "%" PRId64, (int64_t)json_integer_value(number));
	age_text(json_text(task, "since", NULL), c->output.now_ms, since);
	table_row(t, cells, json_flag(task, "self") ? COLOR_BOLD : COLOR_NONE);
	table_color(t, COLUMN_STATE, state_color(state));
}

static void print_decision(const struct output *o, const char *what, const json_t *decision)
{
	mem_auto char *text = decision_text(decision, o->now_ms);

	output_line(o, COLOR_YELLOW, "%s: %s", what, text);
}

/* What the checks of health say: a line for each text, as a check of the node is of many tasks. */
static void print_unhealthy(const struct output *o, const json_t *tasks)
{
	json_auto_t *names = json_object(); /* arrays of them, by what is said */
	const char *says;
	json_t *list;

	for (size_t i = 0; i < json_array_size(tasks); i++) {
		const json_t *task = json_array_get(tasks, i);

		says = json_text(task, "unhealthy", NULL);
		if (!says)
			continue;
		if (!json_object_get(names, says))
			json_object_set_new(names, says, json_array());
		json_array_append(json_object_get(names, says), json_object_get(task, "task"));
	}
	json_object_foreach(names, says, list)
	{
		const char *first = json_string_value(json_array_get(list, 0));
		size_t more = json_array_size(list) - 1;

		if (more > 0)
			output_line(o, COLOR_YELLOW,
				    "%s and %zu more: this node is not healthy for them: %s",
				    first ? first : "-", more, says);
		else
			output_line(o, COLOR_YELLOW, "%s: this node is not healthy for it: %s",
				    first ? first : "-", says);
	}
}

static void print_below(const struct context *c, const json_t *tasks, const json_t *workers)
{
	const struct output *o = &c->output;

	print_unhealthy(o, tasks);
	for (size_t i = 0; i < json_array_size(tasks); i++) {
		const json_t *task = json_array_get(tasks, i);
		const json_t *decisions = json_object_get(task, "decisions");

		for (size_t j = 0; j < json_array_size(decisions); j++)
			print_decision(o, json_text(task, "task", "-"),
				       json_array_get(decisions, j));
	}
	for (size_t i = 0; i < json_array_size(workers); i++) {
		const json_t *worker = json_array_get(workers, i);
		const json_t *drain = json_object_get(worker, "drain");

		if (json_flag(worker, "self") && json_is_object(drain))
			print_decision(o, "this node", drain);
	}
	if (c->n_args == 0)
		rollout_print(o, workers);
}

static void print_tasks(struct context *c, const json_t *tasks, const json_t *workers)
{
	struct table *t;

	if (json_array_size(tasks) == 0) {
		output_line(&c->output, COLOR_NONE, "no tasks: the task-dir names none");
		return;
	}
	t = table_new(&c->output, columns, N_COLUMNS);
	for (size_t i = 0; i < json_array_size(tasks); i++)
		add_task(t, c, json_array_get(tasks, i));
	table_print(t);
	table_free(t);
	print_below(c, tasks, workers);
}

static int run(struct context *c)
{
	static const struct live_view view = {
		.first = "tasks", .second = "workers", .args = true, .print = print_tasks};

	return c->values[OPTION_WATCH] ? live_follow(c, &view) : live_once(c, &view);
}

const struct command command_tasks = {
	.name = "tasks",
	.args = "[TASK...]",
	.help = "each task: who leads it, and what this node is to it",
	.more = "STATE is this node's: leading, following, contending, paused, drained or\n"
		"disconnected, or unhealthy where a check of health keeps it from leading. TOKEN "
		"grows with each new leader of a task. Below the table: what "
		"has\n"
		"been decided, by whom and until when, and how far a new version has come.\n",
	.max_args = COMMAND_ARGS_ANY,
	.options = options,
	.run = run,
};
