/* zkleader history: the recorded runs of a task, or of all tasks, and the ticks without a run. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api/json.h"
#include "base/clock.h"
#include "base/mem.h"
#include "base/text/duration.h"
#include "base/text/names.h"
#include "cli/look/history_kept.h"
#include "cli/ui/ask.h"
#include "cli/ui/command.h"
#include "cli/ui/outcome.h"
#include "cli/ui/table.h"

#define MISSED_SHOWN 5	   /* rows for one gap, and then one for all its further missing ticks */
#define MISSED_TOLD  10000 /* missing ticks of one gap, in JSON */
#define RECORDS_MIN  3	   /* fewer records cannot show that ticks are regular */

enum { OPTION_FAILED, OPTION_RUNNING, OPTION_SINCE };

static const struct option_spec options[] = {
	{300, "failed", NULL, "what failed, timed out or was lost"},
	{301, "running", NULL, "what goes on"},
	{302, "since", "D", "what began within the last D, such as 8h"},
	{0, NULL, NULL, NULL},
};

/* The first column is left out if there is only one task. */
static const struct table_column columns[] = {
	{"TASK", TABLE_CUT},
	{"TICK", 0},
	{"STATE", 0},
	{"NODE", TABLE_HOST},
	{"START", TABLE_DROP},
	{"DURATION", TABLE_RIGHT},
	{"ATTEMPT", TABLE_RIGHT | TABLE_DROP},
	{"EXIT", TABLE_RIGHT},
	{"TOKEN", TABLE_RIGHT | TABLE_DROP},
	/* Each is left out if no run has it: triggered by hand; or missed, or ended badly. */
	{"BY", TABLE_DROP},
	{"WHY", 0},
};

#define N_COLUMNS    (sizeof(columns) / sizeof(columns[0]))
#define COLUMN_STATE 2
#define COLUMN_BY    (N_COLUMNS - 2)

/* The runs that the command line asks for, and how to list them. */
struct wanted {
	bool failed, running; /* neither: runs in any state */
	int64_t since_ms;     /* ms since the epoch; INT64_MIN: from the first run on */
	bool many;	      /* several tasks in one table, newest run first */
	bool named;	      /* each row names its task: if there are several, or partitions */
};

struct row {
	const char *task; /* borrowed */
	json_t *record;	  /* of a missed tick: only its tick and its state */
	int64_t ms;	  /* the time of the tick */
};

struct rows {
	struct row *list;
	size_t n;
	struct history_kept kept;
};

/* --- which ticks are missing ---------------------------------------------- */

static int by_value(const void *a, const void *b)
{
	int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;

	return (x > y) - (x < y);
}

/* The tick of a record in ms; 0: it has none. */
static int64_t tick_ms(const json_t *record)
{
	const char *tick = json_text(record, "tick", NULL);
	int64_t ms = 0;

	return tick && clock_parse(tick, &ms) == 0 ? ms : 0;
}

/*
 * The distance between more than half of the neighbouring ticks, or 0: the ticks are not regular,
 * or those of a schedule, where each that was owed and not run has its record.
 */
static int64_t regular_distance(const json_t *history)
{
	size_t n = json_array_size(history), n_gaps = n > 0 ? n - 1 : 0, same = 0;
	mem_auto int64_t *gaps = NULL;
	int64_t middle;

	if (n < RECORDS_MIN || json_flag(json_array_get(history, n - 1), "scheduled"))
		return 0;
	gaps = mem_calloc(n_gaps, sizeof(*gaps));
	for (size_t i = 0; i < n_gaps; i++) {
		int64_t from = tick_ms(json_array_get(history, i));
		int64_t to = tick_ms(json_array_get(history, i + 1));

		gaps[i] = from > 0 && to > 0 ? to - from : 0;
	}
	qsort(gaps, n_gaps, sizeof(*gaps), by_value);
	/* A value that more than half of the gaps have is in the middle of the sorted list. */
	middle = gaps[n_gaps / 2];
	for (size_t i = 0; i < n_gaps; i++)
		same += gaps[i] == middle;
	return 2 * same > n_gaps && middle > 0 ? middle : 0;
}

/*
 * The number of ticks without a record between the ticks of two records. distance: between regular
 * ticks, or 0.
 */
static int64_t count_missed(int64_t after, int64_t before, int64_t distance)
{
	int64_t gap = before - after;

	if (distance <= 0 || after <= 0 || gap <= 0 || gap % distance != 0)
		return 0;
	return gap / distance - 1;
}

/*
 * For JSON, where each element is a record: adds the missing ticks to the record before them, as a
 * key.
 */
static void tell_missed(json_t *history)
{
	int64_t distance = regular_distance(history);
	char tick[CLOCK_TEXT_SIZE];

	for (size_t i = 0; i + 1 < json_array_size(history); i++) {
		json_t *record = json_array_get(history, i), *ticks = json_array();
		int64_t after = tick_ms(record);
		int64_t missing =
			count_missed(after, tick_ms(json_array_get(history, i + 1)), distance);
		for (int64_t k = 1; k <= missing && k <= MISSED_TOLD; k++) {
			clock_format(after + k * distance, tick);
			json_array_append_new(ticks, json_string(tick));
		}
		if (missing > 0)
			json_object_set(record, "missed_after", ticks);
		json_decref(ticks);
	}
}

/* --- the rows ------------------------------------------------------------- */

static bool is_wanted(const struct wanted *w, const struct row *row)
{
	const char *state = json_text(row->record, "state", "-");
	const char *started = json_text(row->record, "started_at", NULL);
	int64_t begun_ms = row->ms;
	bool failed = strcmp(state, "failed") == 0 || strcmp(state, "lost") == 0 ||
		      strcmp(state, "timeout") == 0;
	bool running = strcmp(state, "running") == 0;

	if (started)
		clock_parse(started, &begun_ms);
	return begun_ms >= w->since_ms &&
	       ((!w->failed && !w->running) || (w->failed && failed) || (w->running && running));
}

/* Takes ownership of the record. */
static void add_row(struct rows *rows, const struct wanted *w, const char *task, json_t *record,
		    int64_t ms)
{
	struct row row = {.record = record, .ms = ms};

	if (!is_wanted(w, &row)) {
		json_decref(record);
		return;
	}
	if (w->named && json_is_object(record) && !json_object_get(record, "task"))
		json_object_set_new(record, "task", json_string(task));
	row.task = w->named ? json_text(record, "task", task) : task;
	rows->list = mem_resize(rows->list, rows->n + 1, sizeof(*rows->list));
	rows->list[rows->n++] = row;
}

static void add_missed(struct rows *rows, const struct wanted *w, const char *task, int64_t after,
		       int64_t before, int64_t distance)
{
	int64_t missing = count_missed(after, before, distance);
	char tick[CLOCK_TEXT_SIZE], more[40];

	for (int64_t i = 0; i < missing; i++) {
		int64_t ms = after + (i + 1) * distance;
		const char *says = tick;

		clock_format(ms, tick);
		if (i == MISSED_SHOWN - 1 && missing > MISSED_SHOWN) {
			snprintf(more, sizeof(more), "and %" PRId64 " more", missing - i);
			says = more;
			i = missing;
		}
		add_row(rows, w, task, json_pack("{ss,ss}", "tick", says, "state", "missed"), ms);
	}
}

static void add_task(struct rows *rows, const struct wanted *w, const char *task, json_t *history,
		     bool as_json)
{
	int64_t distance = regular_distance(history), last = 0;
	json_t *record;
	size_t i;

	if (as_json)
		tell_missed(history);
	json_array_foreach(history, i, record)
	{
		int64_t ms = tick_ms(record);

		if (!as_json)
			add_missed(rows, w, task, last, ms, distance);
		history_kept_note(&rows->kept, task, record, w->since_ms);
		add_row(rows, w, task, json_incref(record), ms);
		last = ms;
	}
}

/*
 * The history of a task with partitions has the records of all partitions. Each partition becomes a
 * history of its own, since its ticks are counted separately.
 */
static void add_history(struct rows *rows, struct wanted *w, const char *task, json_t *history,
			bool as_json)
{
	json_auto_t *parts = json_object();
	json_t *record, *part;
	const char *name;
	size_t i;

	json_array_foreach(history, i, record)
	{
		name = json_text(record, "task", NULL);
		if (!name)
			continue;
		if (!json_object_get(parts, name))
			json_object_set_new(parts, name, json_array());
		json_array_append(json_object_get(parts, name), record);
	}
	if (json_object_size(parts) == 0) {
		add_task(rows, w, task, history, as_json);
		return;
	}
	w->named = true;
	json_object_foreach(parts, name, part) add_task(rows, w, name, part, as_json);
}

static int oldest_first(const void *a, const void *b)
{
	const struct row *x = a, *y = b;

	return x->ms != y->ms ? (x->ms > y->ms) - (x->ms < y->ms) : names_natural(x->task, y->task);
}

static int newest_first(const void *a, const void *b)
{
	const struct row *x = a, *y = b;

	return x->ms != y->ms ? (x->ms < y->ms) - (x->ms > y->ms) : names_natural(x->task, y->task);
}

static void rows_done(struct rows *rows)
{
	for (size_t i = 0; i < rows->n; i++)
		json_decref(rows->list[i].record);
	free(rows->list);
	history_kept_done(&rows->kept);
}

/* --- the table ------------------------------------------------------------ */

static const char *number_text(const json_t *record, const char *key, char text[24])
{
	const json_t *value = json_object_get(record, key);

	if (!json_is_integer(value))
		return NULL;
	snprintf(text, 24, "%" PRId64, (int64_t)json_integer_value(value));
	return text;
}

/* The shown columns: the first and the last ones are left out if they are empty. */
struct shown {
	size_t first;
	bool by, why;
};

/* Copies those columns, or their cells, and returns how many there are. */
static size_t last_columns(const struct shown *s, const void *all, void *to, size_t size)
{
	size_t n = COLUMN_BY - s->first;
	const char *from = all;

	memcpy(to, from + s->first * size, n * size);
	if (s->by)
		memcpy((char *)to + n++ * size, from + COLUMN_BY * size, size);
	if (s->why)
		memcpy((char *)to + n++ * size, from + (COLUMN_BY + 1) * size, size);
	return n;
}

static void print_row(struct table *t, const struct output *o, const struct row *row,
		      const struct shown *shown)
{
	const json_t *record = row->record;
	const char *state = json_text(record, "state", "-");
	bool missed = strcmp(state, "missed") == 0;
	const char *started = missed ? NULL : json_text(record, "started_at", NULL);
	const char *ended = json_text(record, "ended_at", NULL);
	char attempt[24], exit_status[24], token[24], duration[OUTPUT_AGE_SIZE] = "-";
	int64_t end_ms = o->now_ms;
	const char *cells[N_COLUMNS] = {
		row->task,
		json_text(record, "tick", NULL),
		state,
		json_worker_name(record),
		started,
		duration,
		missed ? NULL : number_text(record, "attempt", attempt),
		number_text(record, "exit_status", exit_status),
		number_text(record, "token", token),
		json_text(record, "by", NULL),
		json_text(record, "why", NULL),
	};
	const char *told[N_COLUMNS];

	/* The duration of a run that is still going on is the time since its start. */
	if ((ended && clock_parse(ended, &end_ms) == 0) || strcmp(state, "running") == 0)
		age_text(started, end_ms, duration);
	last_columns(shown, cells, told, sizeof(*cells));
	table_row(t, told, COLOR_NONE);
	table_color(t, COLUMN_STATE - shown->first, outcome_color(state));
}

static bool is_any(const struct rows *rows, const char *key)
{
	for (size_t i = 0; i < rows->n; i++)
		if (json_text(rows->list[i].record, key, NULL))
			return true;
	return false;
}

static void print_rows(const struct context *c, const struct wanted *w, struct rows *rows)
{
	const struct output *o = &c->output;
	struct shown shown = {w->named ? 0 : 1, is_any(rows, "by"), is_any(rows, "why")};
	struct table_column told[N_COLUMNS];
	struct table *t;

	if (rows->n == 0 && (w->failed || w->running || w->since_ms != INT64_MIN))
		output_line(o, COLOR_NONE, "no run matches");
	else if (rows->n == 0 && w->many)
		output_line(o, COLOR_NONE, "no runs are recorded");
	else if (rows->n == 0)
		output_line(o, COLOR_NONE, "no runs of %s are recorded", c->args[0]);
	if (rows->n == 0) {
		history_kept_print(o, &rows->kept);
		return;
	}
	t = table_new(o, told, last_columns(&shown, columns, told, sizeof(*columns)));
	for (size_t i = 0; i < rows->n; i++)
		print_row(t, o, &rows->list[i], &shown);
	table_print(t);
	history_kept_print(o, &rows->kept);
}

static void print_json(const struct output *o, const struct rows *rows)
{
	json_auto_t *all = json_array();

	for (size_t i = 0; i < rows->n; i++)
		json_array_append(all, rows->list[i].record);
	output_json(o, all);
}

/* --- asking the sidecar --------------------------------------------------- */

static int read_task(struct context *c, struct wanted *w, const char *task, struct rows *rows)
{
	json_auto_t *history = NULL;
	const char **args = c->args;
	size_t n_args = c->n_args;
	int code;

	c->args = &task;
	c->n_args = 1;
	code = ask(c, "history", JSON_ARRAY, &history);
	c->args = args;
	c->n_args = n_args;
	if (code == 0)
		add_history(rows, w, task, history, c->output.json);
	return code;
}

static bool is_repeated(const struct context *c, size_t i)
{
	for (size_t j = 0; j < i; j++)
		if (strcmp(c->args[i], c->args[j]) == 0)
			return true;
	return false;
}

/*
 * Asks for one task after the other, so that only one whole history is in memory at a time. tasks:
 * the answer to the method `tasks`, if no task was named.
 */
static int read_all(struct context *c, struct wanted *w, const json_t *tasks, struct rows *rows)
{
	const json_t *task;
	int code = 0;
	size_t i;

	for (i = 0; i < c->n_args && code == 0; i++)
		if (!is_repeated(c, i))
			code = read_task(c, w, c->args[i], rows);
	json_array_foreach(tasks, i, task)
	{
		const char *name = json_text(task, "task", NULL);

		if (name && code == 0)
			code = read_task(c, w, name, rows);
	}
	return code;
}

static int take_options(const struct context *c, struct wanted *w)
{
	char why[OPTIONS_WHY_SIZE];
	int64_t since_ms;

	*w = (struct wanted){.failed = c->values[OPTION_FAILED],
			     .running = c->values[OPTION_RUNNING],
			     .since_ms = INT64_MIN,
			     .many = c->n_args != 1,
			     .named = c->n_args != 1};
	if (!c->values[OPTION_SINCE])
		return 0;
	if (options_duration("--since", c->values[OPTION_SINCE], DURATION_MAX_MS, &since_ms, why) <
	    0) {
		output_error(&c->output, "%s", why);
		return ZKLEADER_MISUSE;
	}
	w->since_ms = c->output.now_ms - since_ms;
	return 0;
}

static int run(struct context *c)
{
	json_auto_t *tasks = NULL;
	struct rows rows = {NULL, 0, {NULL, 0}};
	struct wanted wanted;
	int code = take_options(c, &wanted);

	if (code == 0 && c->n_args == 0)
		code = ask(c, "tasks", JSON_ARRAY, &tasks);
	if (code == 0)
		code = read_all(c, &wanted, tasks, &rows);
	if (wanted.named && rows.n > 0)
		qsort(rows.list, rows.n, sizeof(*rows.list),
		      wanted.many ? newest_first : oldest_first);
	if (code == 0 && c->output.json)
		print_json(&c->output, &rows);
	else if (code == 0)
		print_rows(c, &wanted, &rows);
	rows_done(&rows);
	return code;
}

const struct command command_history = {
	.name = "history",
	.args = "[TASK...]",
	.help = "the last runs, and the ticks that were missed",
	.more = "Of one TASK newest last; otherwise those of several in one table, newest first.\n"
		"STATE is running, ok, failed, timeout, lost (its node or its leadership went),\n"
		"claimed (by zkleader-check --once, which knows no more of it) or missed: by a\n"
		"schedule, it was decided not to run it; without one, where the ticks are\n"
		"regular, no node claimed it.\n",
	.max_args = COMMAND_ARGS_ANY,
	.options = options,
	.run = run,
};
