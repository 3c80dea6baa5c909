#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "api/json.h"
#include "base/mem.h"
#include "cli/ui/command.h"
#include "cli/ui/decision.h"
#include "cli/ui/live.h"
#include "cli/ui/rollout.h"
#include "cli/ui/table.h"

#define SHORT_ID 8

enum { OPTION_WIDE, OPTION_WATCH };

static const struct option_spec options[] = {
	{'w', "wide", NULL, "whole ids, and nothing is cut to the terminal's width"},
	{'W', "watch", NULL, "keep it as things are, until q, INT or TERM"},
	{0, NULL, NULL, NULL},
};

static const struct table_column columns[] = {
	{"", 0},
	{"VERSION", TABLE_CUT_LAST},
	{"IP", TABLE_CUT_LAST},
	{"NODE", TABLE_HOST},
	{"LEADS", TABLE_RIGHT},
	{"TASKS", TABLE_RIGHT},
	{"STATE", 0},
	{"SINCE", TABLE_RIGHT},
	{"ID", TABLE_DROP},
};

#define N_COLUMNS    (sizeof(columns) / sizeof(columns[0]))
#define COLUMN_STATE 6

static enum color row_color(const json_t *worker, const char *newest)
{
	if (json_flag(worker, "self"))
		return COLOR_BOLD;
	return strcmp(json_text(worker, "version", ""), newest) == 0 ? COLOR_NONE : COLOR_DIM;
}

static void add_worker(struct table *t, const struct context *c, const json_t *worker,
		       const char *newest)
{
	char leads[24], tasks[24], since[OUTPUT_AGE_SIZE], id[100];
	const char *state = json_text(worker, "state", "-");
	const char *cells[N_COLUMNS] = {
		json_flag(worker, "self") ? "*" : "",
		json_text(worker, "version", NULL),
		json_text(worker, "ip", NULL),
		json_worker_name(worker),
		leads,
		tasks,
		state,
		since,
		id,
	};

	snprintf(leads, sizeof(leads), "%" PRId64, json_number(worker, "leads", 0));
	snprintf(tasks, sizeof(tasks), "%zu", json_array_size(json_object_get(worker, "tasks")));
	age_text(json_text(worker, "since", NULL), c->output.now_ms, since);
	snprintf(id, c->values[OPTION_WIDE] ? sizeof(id) : SHORT_ID + 1, "%s",
		 json_text(worker, "id", "-"));
	table_row(t, cells, row_color(worker, newest));
	if (strcmp(state, "active") != 0)
		table_color(t, COLUMN_STATE, COLOR_YELLOW);
}

static void print_above(const struct context *c, const struct live_page *page)
{
	if (rollout_print(&c->output, page->all))
		fputc('\n', c->output.out);
}

static void print_table(const struct context *c, const struct live_page *page)
{
	const char *newest = json_text(json_array_get(page->all, 0), "version", "");
	struct output output = c->output;
	const json_t *worker;
	struct table *t;
	size_t i;

	if (json_array_size(page->all) == 0) {
		output_line(
			&output, COLOR_NONE,
			"no workers are known: this one has not joined the fleet, zkleader status "
			"says why");
		return;
	}
	if (json_array_size(page->shown) == 0) { /* only a filter that was typed can hide all */
		output_line(&output, COLOR_NONE, "no worker matches");
		return;
	}
	if (c->values[OPTION_WIDE])
		output.width = 0;
	t = table_new(&output, columns, N_COLUMNS);
	json_array_foreach(page->shown, i, worker) add_worker(t, c, worker, newest);
	table_print(t);
}

static void print_below(const struct context *c, const struct live_page *page)
{
	const struct output *o = &c->output;
	const json_t *worker;
	size_t i;

	json_array_foreach(page->shown, i, worker)
	{
		const json_t *drain = json_object_get(worker, "drain");

		if (json_is_object(drain)) {
			mem_auto char *text = decision_text(drain, o->now_ms);
			output_line(o, COLOR_YELLOW, "%s: %s", json_worker_name(worker), text);
		}
	}
}

static int run(struct context *c)
{
	static const struct live_view view = {.first = "workers",
					      .above = print_above,
					      .table = print_table,
					      .below = print_below};

	return c->values[OPTION_WATCH] ? live_follow(c, &view) : live_once(c, &view);
}

const struct command command_list = {
	.name = "list",
	.args = "",
	.help = "the workers of the fleet, newest version first",
	.more = "\"*\" marks this node. LEADS counts the tasks that a worker leads, TASKS those\n"
		"that it is there for, SINCE is the time since it started. Above the table: how\n"
		"far a new version has come; below it: who is drained, why and until when. Keys\n"
		"with --watch: arrows, page keys, / filters, q ends.\n",
	.options = options,
	.run = run,
};
