/* zkleader history: the ledger of a task, and what is missing in it. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/mem.h"
#include "client/ask.h"
#include "client/command.h"
#include "client/json.h"
#include "client/outcome.h"
#include "client/table.h"

#define MISSED_SHOWN 5	   /* rows for one gap; then how many more there are */
#define MISSED_TOLD  10000 /* of one gap, in JSON */
#define RECORDS_MIN  3	   /* from which on ticks can be called regular */

static const struct table_column columns[] = {
	{"TICK", 0},
	{"STATE", 0},
	{"NODE", TABLE_HOST},
	{"START", 0},
	{"DURATION", TABLE_RIGHT},
	{"ATTEMPT", TABLE_RIGHT},
	{"EXIT", TABLE_RIGHT},
	{"TOKEN", TABLE_RIGHT | TABLE_DROP},
};

#define N_COLUMNS    (sizeof(columns) / sizeof(columns[0]))
#define COLUMN_STATE 1

/* --- which ticks are missing ------------------------------------------------------------------------ */

static int by_value(const void *a, const void *b)
{
	int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;

	return (x > y) - (x < y);
}

/* The tick of a record in ms; 0 where there is none. */
static int64_t tick_ms(const json_t *record)
{
	const char *tick = json_text(record, "tick", NULL);
	int64_t ms = 0;

	return tick && time_parse(tick, &ms) == 0 ? ms : 0;
}

/* The distance that more than half of the neighbours have, or 0: the ticks are not regular. */
static int64_t regular_distance(const json_t *history)
{
	size_t n = json_array_size(history), n_gaps = n > 0 ? n - 1 : 0, same = 0;
	mem_auto int64_t *gaps = NULL;
	int64_t middle;

	if (n < RECORDS_MIN)
		return 0;
	gaps = mem_calloc(n_gaps, sizeof(*gaps));
	for (size_t i = 0; i < n_gaps; i++) {
		int64_t from = tick_ms(json_array_get(history, i));
		int64_t to = tick_ms(json_array_get(history, i + 1));

		gaps[i] = from > 0 && to > 0 ? to - from : 0;
	}
	qsort(gaps, n_gaps, sizeof(*gaps), by_value);
	/* What more than half of them have is in the middle. */
	middle = gaps[n_gaps / 2];
	for (size_t i = 0; i < n_gaps; i++)
		same += gaps[i] == middle;
	return 2 * same > n_gaps && middle > 0 ? middle : 0;
}

/* How many ticks lie between those of two records and have none; distance: of regular ones, or 0. */
static int64_t count_missed(int64_t after, int64_t before, int64_t distance)
{
	int64_t gap = before - after;

	if (distance <= 0 || after <= 0 || gap <= 0 || gap % distance != 0)
		return 0;
	return gap / distance - 1;
}

static void add_missed(struct table *t, int64_t after, int64_t before, int64_t distance)
{
	int64_t missing = count_missed(after, before, distance);
	char tick[CLOCK_TEXT_SIZE], more[40];

	for (int64_t i = 0; i < missing; i++) {
		const char *cells[N_COLUMNS] = {tick, "missed"};

		clock_format(after + (i + 1) * distance, tick);
		if (i == MISSED_SHOWN - 1 && missing > MISSED_SHOWN) {
			snprintf(more, sizeof(more), "and %" PRId64 " more", missing - i);
			cells[0] = more;
			i = missing;
		}
		table_row(t, cells, COLOR_NONE);
		table_color(t, COLUMN_STATE, outcome_color("missed"));
	}
}

/* In JSON, where each element is a record, what is missing is a key of the one before it. */
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

/* --- the table -------------------------------------------------------------------------------------- */

static const char *number_text(const json_t *record, const char *key, char text[24])
{
	const json_t *value = json_object_get(record, key);

	if (!json_is_integer(value))
		return NULL;
	snprintf(text, 24, "%" PRId64, (int64_t)json_integer_value(value));
	return text;
}

static void add_record(struct table *t, const struct output *o, const json_t *record)
{
	const char *started = json_text(record, "started_at", NULL);
	const char *ended = json_text(record, "ended_at", NULL);
	const char *state = json_text(record, "state", "-");
	char attempt[24], exit_status[24], token[24], duration[OUTPUT_AGE_SIZE];
	bool running = strcmp(state, "running") == 0;
	int64_t end_ms = o->now_ms;
	const char *cells[N_COLUMNS] = {
		json_text(record, "tick", NULL),
		state,
		json_worker_name(record),
		started,
		duration,
		number_text(record, "attempt", attempt),
		number_text(record, "exit_status", exit_status),
		number_text(record, "token", token),
	};

	/* That of a run which goes on is what it has taken so far. */
	if ((ended && time_parse(ended, &end_ms) == 0) || running)
		age_text(started, end_ms, duration);
	else
		cells[4] = NULL;
	table_row(t, cells, COLOR_NONE);
	table_color(t, COLUMN_STATE, outcome_color(state));
}

static void print_history(const struct output *o, const char *task, const json_t *history)
{
	int64_t distance = regular_distance(history), last = 0;
	const json_t *record;
	struct table *t;
	size_t i;

	if (json_array_size(history) == 0) {
		output_line(o, COLOR_NONE, "no runs of %s are recorded", task);
		return;
	}
	t = table_new(o, columns, N_COLUMNS);
	json_array_foreach(history, i, record)
	{
		add_missed(t, last, tick_ms(record), distance);
		add_record(t, o, record);
		last = tick_ms(record);
	}
	table_print(t);
	table_free(t);
}

static int run(struct context *c)
{
	json_auto_t *history = NULL;
	int code = ask(c, "history", JSON_ARRAY, &history);

	if (code != 0)
		return code;
	if (c->output.json) {
		tell_missed(history);
		output_json(&c->output, history);
	} else {
		print_history(&c->output, c->args[0], history);
	}
	return 0;
}

const struct command command_history = {
	.name = "history",
	.args = "TASK",
	.help = "the last runs of TASK, and the ticks that were missed",
	.more = "STATE is running, ok, failed, lost (its node or its leadership went), claimed "
		"(by\n"
		"zkleader-check --once, which knows no more of it) or, where the ticks are "
		"regular,\n"
		"missed: no node claimed it.\n",
	.min_args = 1,
	.max_args = 1,
	.run = run,
};
