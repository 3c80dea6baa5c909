/* zkleader next: when tasks are due. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "api/call.h"
#include "api/json.h"
#include "base/clock.h"
#include "cli/ui/ask.h"
#include "cli/ui/command.h"
#include "cli/ui/table.h"
#include "wire/pack.h"

#define EACH_MAX     1000
#define DEFAULT_EACH 5
#define LEFT_SIZE    (OUTPUT_AGE_SIZE + 3)

enum { OPTION_NUMBER, OPTION_FROM };

static const struct option_spec options[] = {
	{'n', "number", "N", "so many of each task, up to 1000 (5)"},
	{300, "from", "T", "from that time on, as 2026-03-29T00:00:00Z (now)"},
	{0, NULL, NULL, NULL},
};

static const struct table_column columns[] = {
	{"TASK", TABLE_CUT},  {"DUE", 0},	    {"IN", TABLE_RIGHT},
	{"TICK", TABLE_DROP}, {"ZONE", TABLE_DROP},
};

#define N_COLUMNS (sizeof(columns) / sizeof(columns[0]))

static int take_number(const struct context *c, int64_t *ret_n)
{
	const char *text = c->values[OPTION_NUMBER];

	*ret_n = text ? options_number(text, EACH_MAX) : DEFAULT_EACH;
	if (*ret_n >= 1)
		return 0;
	output_error(&c->output, "-n \"%s\": a number from 1 to %d is needed", text, EACH_MAX);
	return -EINVAL;
}

/* Parses --from. It is rounded up to a second, as ticks are at whole seconds. -1: there is none. */
static int take_from(const struct context *c, int64_t *ret_s)
{
	const char *text = c->values[OPTION_FROM];
	int64_t ms;

	*ret_s = -1;
	if (!text)
		return 0;
	if (clock_parse(text, &ms) < 0 || ms < 0) {
		output_error(&c->output,
			     "--from \"%s\": a time is needed, as 2026-03-29T00:00:00Z or "
			     "2026-03-29T00:00:00+01:00",
			     text);
		return -EINVAL;
	}
	*ret_s = (ms + 999) / 1000;
	return 0;
}

static int by_tick(const void *a, const void *b)
{
	const json_t *x = *(json_t *const *)a, *y = *(json_t *const *)b;
	int order = strcmp(json_text(x, "tick", ""), json_text(y, "tick", ""));

	return order ? order : strcmp(json_text(x, "task", ""), json_text(y, "task", ""));
}

/* Sorts the ticks by time. The sidecar lists them task by task. */
static json_t *sorted(const json_t *list)
{
	size_t n = json_array_size(list);
	json_t **items = calloc(n + 1, sizeof(*items)), *result = json_array();

	if (!items)
		abort(); /* out of memory, as in base/mem.h */
	for (size_t i = 0; i < n; i++)
		items[i] = json_array_get(list, i);
	qsort(items, n, sizeof(*items), by_tick);
	for (size_t i = 0; i < n; i++)
		json_array_append(result, items[i]);
	free(items);
	return result;
}

static void add_row(struct table *t, const struct context *c, const json_t *instant)
{
	const char *tick = json_text(instant, "tick", "");
	char left[LEFT_SIZE] = "-";
	int64_t ms;

	if (clock_parse(tick, &ms) == 0 && ms >= c->output.now_ms)
		elapsed_text(ms - c->output.now_ms, left);
	const char *cells[N_COLUMNS] = {json_text(instant, "task", NULL),
					json_text(instant, "local", NULL), left, tick,
					json_text(instant, "timezone", NULL)};
	table_row(t, cells, COLOR_NONE);
}

static void print(const struct context *c, const json_t *list)
{
	struct table *t;
	const json_t *instant;
	size_t i;

	if (json_array_size(list) == 0) {
		output_line(&c->output, COLOR_NONE,
			    c->n_args > 0 ? "it is not due any more" : "no task has a schedule");
		return;
	}
	t = table_new(&c->output, columns, N_COLUMNS);
	json_array_foreach(list, i, instant) add_row(t, c, instant);
	table_print(t);
}

static int run(struct context *c)
{
	json_auto_t *json = NULL, *list = NULL;
	struct request request;
	int64_t each, from;
	size_t map;
	int code;

	if (take_number(c, &each) < 0 || take_from(c, &from) < 0)
		return ZKLEADER_MISUSE;
	struct pack *p = request_begin(&request, c->n_args + 1);
	for (size_t i = 0; i < c->n_args; i++)
		pack_str(p, c->args[i]);
	map = pack_open(p);
	pack_kv_int(p, "n", each);
	if (from >= 0)
		pack_kv_int(p, "from", from);
	pack_close(p, map);
	code = ask_packed(c, "next", &request, JSON_ARRAY, &json);
	if (code != 0)
		return code;
	list = sorted(json);
	if (c->output.json)
		output_json(&c->output, list);
	else
		print(c, list);
	return ZKLEADER_OK;
}

const struct command command_next = {
	.name = "next",
	.args = "[TASK...]",
	.help = "when tasks are due, by their schedules",
	.more = "Without TASK: of all that have a schedule. DUE is the time where the task's zone\n"
		"is, TICK the same in UTC, by which the run is named.\n",
	.min_args = 0,
	.max_args = COMMAND_ARGS_ANY,
	.options = options,
	.run = run,
};
