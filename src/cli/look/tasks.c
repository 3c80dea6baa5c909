#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "api/json.h"
#include "base/mem.h"
#include "base/text/name.h"
#include "cli/ui/ask.h"
#include "cli/ui/command.h"
#include "cli/ui/decision.h"
#include "cli/ui/live.h"
#include "cli/ui/outcome.h"
#include "cli/ui/rollout.h"
#include "cli/ui/selection.h"
#include "cli/ui/table.h"

#define REFRESH_MS 5000 /* with --watch: no notification tells of runs */

enum {
	OPTION_LONG,
	OPTION_WATCH,
	OPTION_MINE,
	OPTION_LEADER,
	OPTION_STATE,
	OPTION_NO_LEADER,
	OPTION_SORT
};

static const struct option_spec options[] = {
	{'l', "long", NULL, "with each task's description"},
	{'W', "watch", NULL, "keep it as things are, until q, INT or TERM"},
	{300, "mine", NULL, "what this node leads"},
	{301, "leader", "HOST", "what HOST leads: a name, with or without its domain,\nor a glob"},
	{302, "state", "STATE", "what this node is in that state to"},
	{303, "no-leader", NULL, "what nobody leads, paused or not"},
	{304, "sort", "BY", "name (the default), leader, since or last: the latest\nfirst"},
	{0, NULL, NULL, NULL},
};

static const struct table_column columns[] = {
	{"TASK", TABLE_CUT},
	{"LEADER", TABLE_HOST},
	{"VERSION", TABLE_CUT_LAST},
	{"SINCE", TABLE_RIGHT},
	{"TOKEN", TABLE_RIGHT | TABLE_DROP},
	{"STATE", 0},
	{"LAST", 0},
	{"DUE IN", TABLE_RIGHT},
	{"DESCRIPTION", TABLE_REST},
};

#define N_COLUMNS	   (sizeof(columns) / sizeof(columns[0]))
#define COLUMN_STATE	   5
#define COLUMN_LAST	   6
#define COLUMN_DUE	   7 /* shown if a task has a schedule */
#define COLUMN_DESCRIPTION 8 /* only with -l */

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

/* For a task with partitions: how many of them are led, and how many here. */
static void add_partitions(const json_t *task, const char *state, char led[24], char here[56])
{
	size_t n_here = json_array_size(json_object_get(task, "here"));

	snprintf(led, 24, "%" PRId64 " of %" PRId64, json_number(task, "led", 0),
		 json_number(task, "partitions", 0));
	if (n_here > 0)
		snprintf(here, 56, "%.30s %zu", state, n_here);
	else
		snprintf(here, 56, "%.30s", state);
}

static void add_task(struct table *t, const struct output *o, const json_t *task, bool due)
{
	const json_t *leader = json_object_get(task, "leader"),
		     *last = json_object_get(task, "last");
	const char *state = selection_state(task);
	const json_t *number = json_object_get(task, "token");
	char token[24], since[OUTPUT_AGE_SIZE], last_run[OUTCOME_TEXT_SIZE],
		run[OUTCOME_TEXT_SIZE + 10], led[24], here[56], until[OUTPUT_AGE_SIZE];
	const char *description = json_text(task, "description", "");
	bool overdue = json_flag(task, "overdue");
	bool whole = json_is_array(json_object_get(task, "owners"));
	const char *cells[N_COLUMNS] = {
		json_text(task, "task", NULL),
		whole ? led : json_worker_name(leader),
		json_text(leader, "version", NULL),
		since,
		json_is_integer(number) ? token : NULL,
		whole ? here : state,
		run,
		due ? until : description,
		description,
	};

	snprintf(token, sizeof(token), "%" PRId64, (int64_t)json_integer_value(number));
	add_partitions(task, state, led, here);
	age_text(json_text(task, "since", NULL), o->now_ms, since);
	until_text(json_text(task, "due", NULL), o->now_ms, until);
	outcome_last(last, o->now_ms, last_run);
	snprintf(run, sizeof(run), "%s%s", last_run, overdue ? " OVERDUE" : "");
	table_row(t, cells, json_flag(task, "self") ? COLOR_BOLD : COLOR_NONE);
	table_color(t, COLUMN_STATE, state_color(state));
	table_color(t, COLUMN_LAST,
		    overdue ? COLOR_RED : outcome_color(json_text(last, "state", "")));
}

/* --- above the table ------------------------------------------------------ */

static void print_totals(const struct output *o, const json_t *tasks, size_t shown)
{
	size_t n = json_array_size(tasks), i, led = 0, here = 0, paused = 0, vacant = 0, len;
	size_t overdue = 0;
	mem_auto char *text = NULL;
	FILE *f = mem_stream(&text, &len);
	const json_t *task;

	json_array_foreach(tasks, i, task)
	{
		bool is_led = selection_is_led(task);
		bool is_paused = strcmp(json_text(task, "state", ""), "paused") == 0;

		led += is_led;
		here += is_led && json_flag(task, "self");
		paused += is_paused;
		vacant += !is_led && !is_paused;
		overdue += json_flag(task, "overdue");
	}
	fprintf(f, "%zu %s: %zu led, %zu of them here", n, n == 1 ? "task" : "tasks", led, here);
	if (paused > 0)
		fprintf(f, "; %zu paused", paused);
	if (vacant > 0)
		fprintf(f, "; %zu without a leader", vacant);
	if (overdue > 0)
		fprintf(f, "; %zu overdue", overdue);
	if (shown < n)
		fprintf(f, "; %zu shown", shown);
	mem_stream_end(f);
	output_line(o, vacant > 0 || overdue > 0 ? COLOR_YELLOW : COLOR_NONE, "%s", text);
}

/*
 * Prints totals and the rollout, but not if tasks were asked for by name: the totals would count
 * only those.
 */
static void print_above(const struct context *c, const struct live_page *page)
{
	if (c->n_args > 0 || json_array_size(page->all) == 0)
		return;
	print_totals(&c->output, page->all, json_array_size(page->shown));
	rollout_print(&c->output, page->second);
	fputc('\n', c->output.out);
}

/* --- the table, and below it ---------------------------------------------- */

static void print_table(const struct context *c, const struct live_page *page)
{
	struct table_column shown[N_COLUMNS];
	const json_t *task;
	struct table *t;
	bool due = false;
	size_t i, n;

	if (json_array_size(page->all) == 0)
		output_line(&c->output, COLOR_NONE,
			    "no tasks: the task-dir names none, or zkleader status says why not");
	else if (json_array_size(page->shown) == 0)
		output_line(&c->output, COLOR_NONE, "no task matches");
	if (json_array_size(page->shown) == 0)
		return;
	for (i = 0; i < json_array_size(page->shown) && !due; i++)
		due = json_is_string(json_object_get(json_array_get(page->shown, i), "due"));
	memcpy(shown, columns, sizeof(shown));
	if (!due)
		shown[COLUMN_DUE] = columns[COLUMN_DESCRIPTION];
	n = due ? COLUMN_DUE + 1 : COLUMN_DUE;
	t = table_new(&c->output, shown, c->values[OPTION_LONG] ? n + 1 : n);
	json_array_foreach(page->shown, i, task) add_task(t, &c->output, task, due);
	table_print(t);
}

static void print_decision(const struct output *o, const char *what, const json_t *decision)
{
	mem_auto char *text = decision_text(decision, o->now_ms);

	output_line(o, COLOR_YELLOW, "%s: %s", what, text);
}

/*
 * Prints what failing health checks say. Tasks with the same text share a line, as a check of the
 * node concerns many tasks.
 */
static void print_unhealthy(const struct output *o, const json_t *tasks)
{
	json_auto_t *names = json_object(); /* arrays of task names, by the text of the check */
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

/*
 * Prints why this node is no candidate for a task whose number of partitions in its file is not the
 * one in force.
 */
static void print_problems(const struct output *o, const json_t *tasks)
{
	for (size_t i = 0; i < json_array_size(tasks); i++) {
		const json_t *task = json_array_get(tasks, i);
		const char *problem = json_text(task, "problem", NULL);

		if (problem)
			output_line(o, COLOR_YELLOW, "%s: %s", json_text(task, "task", "-"),
				    problem);
	}
}

static void print_below(const struct context *c, const struct live_page *page)
{
	const struct output *o = &c->output;

	print_unhealthy(o, page->shown);
	print_problems(o, page->shown);
	for (size_t i = 0; i < json_array_size(page->shown); i++) {
		const json_t *task = json_array_get(page->shown, i);
		const json_t *decisions = json_object_get(task, "decisions");

		for (size_t j = 0; j < json_array_size(decisions); j++) {
			const json_t *decision = json_array_get(decisions, j);
			/* The decision may be about one partition instead of the task. */
			const char *about =
				json_text(decision, "task", json_text(task, "task", "-"));

			print_decision(o, about, decision);
		}
	}
	for (size_t i = 0; i < json_array_size(page->second); i++) {
		const json_t *worker = json_array_get(page->second, i);
		const json_t *drain = json_object_get(worker, "drain");

		if (json_flag(worker, "self") && json_is_object(drain))
			print_decision(o, "this node", drain);
	}
}

/* --- arguments ------------------------------------------------------------ */

static json_t *take(const struct live_view *view, const json_t *tasks)
{
	return selection_take(view->arg, tasks);
}

/*
 * With globs among the names, all tasks are asked for, and the wanted ones are selected in this
 * process. The plain names are asked for before that, so that the sidecar can refuse an unknown
 * one.
 */
static int check_names(struct context *c, struct selection *s)
{
	json_auto_t *known = NULL;
	mem_auto const char **plain = mem_calloc(c->n_args + 1, sizeof(*plain));
	size_t n_plain = 0, n = c->n_args;
	int code = 0;

	for (size_t i = 0; i < n; i++)
		if (!name_is_glob(c->args[i]))
			plain[n_plain++] = c->args[i];
	s->names = c->args;
	s->n_names = n;
	if (n_plain == n)
		return 0;
	if (n_plain > 0) {
		const char **args = c->args;

		c->args = plain;
		c->n_args = n_plain;
		code = ask(c, "tasks", JSON_ARRAY, &known);
		c->args = args;
	}
	c->n_args = 0;
	return code;
}

static int take_options(const struct context *c, struct selection *s)
{
	const char *state = c->values[OPTION_STATE], *sort = c->values[OPTION_SORT];

	s->mine = c->values[OPTION_MINE];
	s->leader = c->values[OPTION_LEADER];
	s->no_leader = c->values[OPTION_NO_LEADER];
	s->state = state;
	if (sort && selection_parse_order(sort, &s->order) < 0) {
		output_error(&c->output, "--sort \"%s\": it is name, leader, since or last", sort);
		return ZKLEADER_MISUSE;
	}
	if (state && selection_check_state(state) < 0) {
		output_error(
			&c->output,
			"--state \"%s\": it is leading, following, contending, paused, drained "
			"or disconnected",
			state);
		return ZKLEADER_MISUSE;
	}
	return 0;
}

static int run(struct context *c)
{
	struct selection selection = {.order = SELECTION_NAME};
	const struct live_view view = {.first = "tasks",
				       .second = "workers",
				       .args = true,
				       .refresh_ms = REFRESH_MS,
				       .arg = &selection,
				       .take = take,
				       .above = print_above,
				       .table = print_table,
				       .below = print_below};
	int code = take_options(c, &selection);

	if (code == 0)
		code = check_names(c, &selection);
	if (code != 0)
		return code;
	return c->values[OPTION_WATCH] ? live_follow(c, &view) : live_once(c, &view);
}

const struct command command_tasks = {
	.name = "tasks",
	.args = "[TASK|GLOB...]",
	.help = "each task: who leads it, and what this node is to it",
	.more = "STATE is this node's: leading, following, contending, paused, drained or\n"
		"disconnected, or unhealthy where a check of health keeps it from leading. TOKEN\n"
		"grows with each new leader of a task, LAST is how its last run ended and how\n"
		"long ago, and OVERDUE where no run ended well for the task's alert-after. Above\n"
		"the table: totals, and how far a new version has come; below it: what has been\n"
		"decided, by whom and until when. A filter that nothing matches is no error. Of a\n"
		"task with partitions LEADER is how many of them are led, and STATE how many of\n"
		"these here: see zkleader partitions. Keys with --watch: arrows, page keys, /\n"
		"filters, q ends.\n",
	.max_args = COMMAND_ARGS_ANY,
	.options = options,
	.run = run,
};
