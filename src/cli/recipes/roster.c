/* zkleader roster, forget: every node that has ever joined the fleet, with its number. */
#include <inttypes.h>
#include <stdio.h>

#include "api/json.h"
#include "cli/ui/ask.h"
#include "cli/ui/command.h"
#include "cli/ui/table.h"

static const struct table_column columns[] = {
	{"INDEX", TABLE_RIGHT}, {"NODE", TABLE_CUT}, {"HOSTNAME", TABLE_HOST},
	{"SINCE", 0},		{"DEPARTED", 0},
};

#define N_COLUMNS (sizeof(columns) / sizeof(columns[0]))

static void show_roster(const struct context *c, const json_t *roster)
{
	struct table *t;
	const json_t *entry;
	size_t i;

	if (json_array_size(roster) == 0) {
		output_line(&c->output, COLOR_NONE, "no node has a number yet");
		return;
	}
	t = table_new(&c->output, columns, N_COLUMNS);
	json_array_foreach(roster, i, entry)
	{
		const char *departed = json_text(entry, "departed", NULL);
		char index[24];
		const char *cells[N_COLUMNS] = {index, json_text(entry, "node", NULL),
						json_text(entry, "hostname", NULL),
						json_text(entry, "since", NULL), departed};

		int64_t number = json_number(entry, "index", -1);
		snprintf(index, sizeof(index), "%" PRId64, number);
		if (number < 0) /* its entry cannot be read */
			snprintf(index, sizeof(index), "?");
		table_row(t, cells, departed ? COLOR_DIM : COLOR_NONE);
	}
	table_print(t);
}

static int run_roster(struct context *c)
{
	return ask_and_show(c, "roster", JSON_ARRAY, show_roster);
}

static void show_forgotten(const struct context *c, const json_t *result)
{
	(void)result;
	output_line(&c->output, COLOR_NONE, "%s is forgotten, its number is free", c->args[0]);
}

static int run_forget(struct context *c)
{
	return ask_and_show(c, "forget", JSON_OBJECT, show_forgotten);
}

const struct command command_roster = {
	.name = "roster",
	.args = "",
	.help = "every node that ever was, with its number",
	.more = "SINCE is when it got the number, DEPARTED when it went. A node that comes back\n"
		"has its number again; forget frees that of one that does not.\n",
	.run = run_roster,
};

const struct command command_forget = {
	.name = "forget",
	.args = "NODE",
	.help = "free the number of a node that is gone",
	.more = "The next new node gets the smallest that is free.\n",
	.exits = "0 done, 2 no sidecar or no answer, 3 it is there, or unknown, or misuse",
	.min_args = 1,
	.max_args = 1,
	.run = run_forget,
};
